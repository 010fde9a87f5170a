"""Rounds of one request: what a handler asks, what a client answers (2026-07-28, basic/patterns/mrtr)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

from mcp_wsgi import (
    Context,
    InputRequired,
    MissingClientCapabilityError,
    Server,
    elicit_request,
    elicit_url_request,
    roots_request,
    sample_request,
)
from mcp_wsgi.server.interaction import MAX_STATE

from .wire import FORMS, ask, call, error_of, result_of, text_of

ALL: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {}}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def serve(body: Any, **options: Any) -> Server:
    server = Server("s", keys=["k"], **options)

    def t(ctx: Context, x: int = 0) -> Any:
        return body(ctx)

    server.tool(t)
    return server


def step(server: Server, before: dict[str, Any] | None = None, answers: Any = None, **options: Any) -> dict[str, Any]:
    """Do one round: the first, or the one that answers what the round before asked."""
    options.setdefault("caps", ALL)
    more: dict[str, Any] = {}
    if before is not None:
        more["requestState"] = before["requestState"]
    if answers is not None:
        more["inputResponses"] = answers
    return call(server, "t", more=more, **options)


def refused(server: Server, before: dict[str, Any] | None, answers: Any, **options: Any) -> dict[str, Any]:
    options.setdefault("caps", ALL)
    params: dict[str, Any] = {"name": "t", "inputResponses": answers}
    if before is not None:
        params["requestState"] = before["requestState"]
    return error_of(server, "tools/call", params, **options)


# One question


@dataclass
class AsDataclass:
    name: str


class AsStruct(msgspec.Struct):
    name: str


class AsDict(TypedDict):
    name: str


class AsModel(pydantic.BaseModel):
    name: str


@pytest.mark.parametrize("schema", [AsDataclass, AsStruct, AsDict, AsModel, FORM])
def test_a_form_is_asked_and_answered(schema: Any) -> None:
    def body(ctx: Context) -> str:
        answer = ctx.elicit("Who?", schema)
        data: Any = answer.data
        assert answer.accepted
        return data["name"] if isinstance(data, dict) else data.name

    server = serve(body)
    first = step(server)
    assert first["resultType"] == "input_required"
    assert list(first["inputRequests"]) == ["elicit-1"]
    question = first["inputRequests"]["elicit-1"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["mode"] == "form"
    assert question["params"]["requestedSchema"] == FORM
    last = step(server, first, {"elicit-1": accept(name="Ada")})
    assert last["resultType"] == "complete"
    assert text_of(last) == "Ada"


@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("content", [{}, {"content": {"name": 5}}, {"content": None}])
def test_a_refusal_is_an_answer_too(action: str, content: dict[str, Any]) -> None:
    def body(ctx: Context) -> list[Any]:
        answer = ctx.elicit("Who?", FORM)
        return [answer.action, answer.data, answer.accepted]

    server = serve(body)
    result = step(server, step(server), {"elicit-1": {"action": action, **content}})
    assert result["structuredContent"] == [action, None, False]


def test_a_url_is_asked_and_answered() -> None:
    server = serve(lambda ctx: ctx.elicit_url("Sign in", "https://example.com/in").action)
    first = step(server)
    assert first["inputRequests"] == {"elicit-url-1": elicit_url_request("Sign in", "https://example.com/in")}
    assert text_of(step(server, first, {"elicit-url-1": {"action": "accept"}})) == "accept"


def test_a_model_is_asked_and_answers() -> None:
    def body(ctx: Context) -> list[Any]:
        answer = ctx.sample("Hi", max_tokens=5, system_prompt="Be kind")
        return [answer.text, answer.model, answer.role, answer.stop_reason]

    server = serve(body)
    first = step(server)
    assert first["inputRequests"] == {"sample-1": sample_request("Hi", max_tokens=5, systemPrompt="Be kind")}
    answer = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello"}, "stopReason": "endTurn"}
    result = step(server, first, {"sample-1": answer})
    assert result["structuredContent"] == ["Hello", "m", "assistant", "endTurn"]


def test_roots_are_asked_and_answered() -> None:
    server = serve(lambda ctx: [[root.uri, root.name] for root in ctx.list_roots()])
    first = step(server)
    assert first["inputRequests"] == {"roots-1": {"method": "roots/list"}}
    answer = {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}
    assert step(server, first, {"roots-1": answer})["structuredContent"] == [["file:///a", "A"], ["file:///b", None]]


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "p", "arguments": {"a": "1"}}), ("resources/read", {"uri": "r://1"})],
)
def test_prompts_and_resources_ask_as_well(method: str, params: dict[str, Any]) -> None:
    server = Server("s", keys=["k"])

    def asks(ctx: Context, a: str) -> str:
        return f"{a} {ctx.elicit('Who?', FORM).action}"

    server.prompt(name="p")(asks)
    server.resource("r://{a}")(asks)
    first = result_of(server, method, params, caps=FORMS)
    second = {**params, "requestState": first["requestState"], "inputResponses": {"elicit-1": {"action": "decline"}}}
    assert "1 decline" in str(result_of(server, method, second, caps=FORMS))
    assert error_of(server, method, {**second, "uri": "r://2", "arguments": {"a": "2"}}, caps=FORMS)["code"] == -32602


# Several rounds


def test_earlier_answers_travel_in_the_state_and_are_not_asked_again() -> None:
    runs: list[int] = []

    def body(ctx: Context) -> str:
        runs.append(1)
        names = [ctx.elicit(f"Name {number}?", AsDataclass).data for number in range(3)]
        return " ".join(name.name for name in names if name)

    server = serve(body)
    result = step(server)
    for number in range(3):
        assert list(result["inputRequests"]) == [f"elicit-{number + 1}"]
        other_worker = serve(body)
        result = step(other_worker, result, {f"elicit-{number + 1}": accept(name=f"n{number}")})
    assert text_of(result) == "n0 n1 n2"
    assert len(runs) == 4


def test_different_kinds_of_questions_are_counted_apart() -> None:
    def body(ctx: Context) -> str:
        ctx.elicit("a", FORM)
        ctx.list_roots()
        ctx.elicit("b", FORM)
        return "done"

    server = serve(body)
    first = step(server)
    second = step(server, first, {"elicit-1": {"action": "cancel"}})
    third = step(server, second, {"roots-1": {"roots": []}})
    assert [list(each["inputRequests"]) for each in (first, second, third)] == [["elicit-1"], ["roots-1"], ["elicit-2"]]
    assert text_of(step(server, third, {"elicit-2": {"action": "cancel"}})) == "done"


def test_a_question_may_have_a_name_of_its_own() -> None:
    def body(ctx: Context) -> str:
        ctx.elicit("a", FORM, key="who")
        ctx.elicit_url("b", "https://x", key="where")
        ctx.sample("c", key="what")
        ctx.list_roots(key="roots")
        return "done"

    server = serve(body)
    result, seen = step(server), []
    answers = {
        "who": {"action": "cancel"},
        "where": {"action": "cancel"},
        "what": {"role": "user", "model": "m", "content": []},
        "roots": {"roots": []},
    }
    while "inputRequests" in result:
        (key,) = result["inputRequests"]
        seen.append(key)
        result = step(server, result, {key: answers[key]})
    assert seen == list(answers)


def test_two_questions_under_one_key_are_the_handler_s_mistake(caplog: pytest.LogCaptureFixture) -> None:
    def body(ctx: Context) -> None:
        ctx.elicit("a", FORM, key="k")
        ctx.elicit("b", FORM, key="k")

    server = serve(body)
    result = step(server, step(server), {"k": {"action": "cancel"}})
    assert result["isError"] is True
    assert "two questions under the key 'k'" in caplog.text


def test_a_question_whose_text_changed_is_asked_again() -> None:
    """The user agreed to something else."""
    price = [10]

    def body(ctx: Context) -> str:
        return ctx.elicit(f"Pay {price[0]}?", FORM).action

    server = serve(body)
    first = step(server)
    price[0] = 1000
    second = step(server, first, {"elicit-1": accept(name="yes")})
    assert second["inputRequests"]["elicit-1"]["params"]["message"] == "Pay 1000?"
    assert text_of(step(server, second, {"elicit-1": {"action": "decline"}})) == "decline"


def test_an_answer_from_an_earlier_round_counts_only_for_the_same_question() -> None:
    price = [10]

    def body(ctx: Context) -> str:
        ctx.elicit(f"Pay {price[0]}?", FORM, key="pay")
        ctx.elicit("Sure?", FORM, key="sure")
        return "paid"

    server = serve(body)
    second = step(server, step(server), {"pay": accept(name="yes")})
    assert list(second["inputRequests"]) == ["sure"]
    price[0] = 1000
    third = step(server, second, {"sure": accept(name="yes")})
    assert list(third["inputRequests"]) == ["pay"]
    fourth = step(server, third, {"pay": accept(name="yes")})
    assert text_of(fourth) == "paid"


def test_an_except_exception_in_the_handler_does_not_swallow_a_question() -> None:
    def body(ctx: Context) -> str:
        try:
            return ctx.elicit("Who?", FORM).action
        except Exception:
            return "swallowed"

    assert "inputRequests" in step(serve(body))


def test_a_handler_may_go_on_where_the_client_cannot_be_asked() -> None:
    def body(ctx: Context) -> str:
        try:
            return ctx.elicit("Who?", FORM).action
        except MissingClientCapabilityError:
            return "guest"

    assert text_of(step(serve(body), caps={})) == "guest"


# Answers that are missing, extra or malformed (B94)


@pytest.mark.parametrize("answers", [None, {}, {"other": {"action": "accept"}}, {"elicit-2": accept(name="x")}])
def test_a_missing_answer_is_asked_for_again_and_extra_ones_are_ignored(answers: Any) -> None:
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    first = step(server)
    again = step(server, first, answers)
    assert again["inputRequests"] == first["inputRequests"]
    assert text_of(step(server, again, {"elicit-1": {"action": "cancel"}, "other": 5})) == "cancel"


def test_answers_without_a_state_answer_nothing() -> None:
    """Nothing was asked: such an answer is unexpected."""
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    assert "inputRequests" in step(server, None, {"elicit-1": accept(name="Ada")})
    assert "inputRequests" in step(server, None, {"elicit-1": 5})


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (None, "object"),
        ("yes", "object"),
        ([], "object"),
        ({}, "action"),
        ({"action": "yes"}, "action"),
        ({"action": "accept"}, "content"),
        ({"action": "accept", "content": None}, "content"),
        (accept(), "name"),
        (accept(name=5), "name: expected string, got integer"),
    ],
)
def test_a_malformed_answer_is_an_invalid_parameter(answer: Any, named: str) -> None:
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    first = step(server)
    error = refused(server, first, {"elicit-1": answer})
    assert error["code"] == -32602
    assert "elicit-1" in error["message"]
    assert named in error["message"]
    assert text_of(step(server, first, {"elicit-1": accept(name="Ada")})) == "accept"


@pytest.mark.parametrize("responses", [[], "x", 5, True, [{"elicit-1": {}}]])
def test_answers_are_an_object(responses: Any) -> None:
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    for before in (None, step(server)):
        assert refused(server, before, responses)["message"] == '"inputResponses" must be an object'


@dataclass
class Dated:
    day: dt.date


def test_what_only_the_form_s_type_can_tell_is_an_invalid_parameter_too() -> None:
    server = serve(lambda ctx: str(ctx.elicit("When?", Dated).data))
    first = step(server)
    error = refused(server, first, {"elicit-1": accept(day="yesterday")})
    assert error["code"] == -32602
    assert "day" in error["message"]
    assert "2026" in text_of(step(server, first, {"elicit-1": accept(day="2026-01-01")}))


def test_answers_may_hold_any_text() -> None:
    """B53: also half of a surrogate pair, in every later round."""

    def body(ctx: Context) -> str:
        name = ctx.elicit("Who?", FORM).data
        ctx.elicit("Sure?", FORM)
        return str((name or {})["name"])

    server = serve(body)
    second = step(server, step(server), {"elicit-1": accept(name="a\ud800\u2028b")})
    assert text_of(step(server, second, {"elicit-2": {"action": "cancel"}})) == "a\ud800\u2028b"


# Capabilities


@pytest.mark.parametrize(
    ("question", "caps", "missing"),
    [
        ("form", {}, {"elicitation": {"form": {}}}),
        ("form", {"elicitation": {}}, None),
        ("form", {"elicitation": {"form": {}}}, None),
        ("form", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("url", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("url", {"elicitation": {"url": {}}}, None),
        ("sample", {"elicitation": {}}, {"sampling": {}}),
        ("sample", {"sampling": {}}, None),
        ("tools", {"sampling": {}}, {"sampling": {"tools": {}}}),
        ("tools", {"sampling": {"tools": {}}}, None),
        ("roots", {}, {"roots": {}}),
        ("roots", {"roots": {}}, None),
    ],
)
@pytest.mark.parametrize("built", [True, False])
def test_only_what_the_client_declares_is_asked(
    question: str, caps: dict[str, Any], missing: dict[str, Any] | None, built: bool
) -> None:
    """2026-07-28, basic/index: -32021 with ``data.requiredCapabilities``, an object (B81, B94)."""
    requests = {
        "form": elicit_request("?", FORM),
        "url": elicit_url_request("?", "https://x"),
        "sample": sample_request("?"),
        "tools": sample_request("?", tools=[]),
        "roots": roots_request(),
    }

    def body(ctx: Context) -> Any:
        if built:
            return InputRequired({"k": requests[question]})
        return {
            "form": lambda: ctx.elicit("?", FORM),
            "url": lambda: ctx.elicit_url("?", "https://x"),
            "sample": lambda: ctx.sample("?"),
            "tools": lambda: ctx.sample("?", tools=[]),
            "roots": ctx.list_roots,
        }[question]()

    answer = ask(serve(body), "tools/call", {"name": "t"}, caps=caps)
    if missing is None:
        assert answer["result"]["resultType"] == "input_required"
    else:
        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": missing}


def test_capabilities_are_those_of_each_request() -> None:
    """ "Servers MUST NOT infer capabilities from prior requests." """
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    first = step(server)
    assert refused(server, first, {"elicit-1": {"action": "cancel"}}, caps={})["code"] == -32021


@pytest.mark.parametrize("question", ["elicit", "url", "sample", "roots"])
def test_a_legacy_client_gets_a_clear_error_at_once(question: str) -> None:
    """python-sdk#3195: it can answer nothing over a plain response, so nothing may wait for it."""

    def body(ctx: Context) -> Any:
        return {
            "elicit": lambda: ctx.elicit("?", FORM),
            "url": lambda: ctx.elicit_url("?", "https://x"),
            "sample": lambda: ctx.sample("?"),
            "roots": ctx.list_roots,
        }[question]()

    result = call(serve(body), "t", era="legacy")
    assert result["isError"] is True
    assert "cannot be asked over this connection" in text_of(result)
    assert "resultType" not in result


# Questions that a handler builds itself


def test_a_handler_may_ask_several_at_once_and_keep_a_state() -> None:
    def body(ctx: Context) -> Any:
        if ctx.request_state is None:
            assert ctx.input_responses == {}
            return InputRequired({"a": elicit_request("A?", FORM), "b": roots_request()}, state="asked \ud800")
        return {"state": ctx.request_state, **ctx.input_responses}

    server = serve(body)
    first = step(server)
    assert list(first["inputRequests"]) == ["a", "b"]
    answers = {"a": accept(name="x"), "b": {"roots": []}}
    last = step(server, first, {**answers, "c": 5})
    assert last["structuredContent"] == {"state": "asked \ud800", **answers}
    partial = step(server, first, {"b": {"roots": []}})
    assert partial["structuredContent"] == {"state": "asked \ud800", "b": {"roots": []}}
    assert refused(server, first, {"a": {"action": "?"}})["code"] == -32602


def test_a_round_may_carry_a_state_only() -> None:
    def body(ctx: Context) -> Any:
        count = int(ctx.request_state or 0)
        return InputRequired({}, state=str(count + 1)) if count < 3 else count

    server = serve(body)
    result = step(server)
    for _ in range(3):
        assert "inputRequests" not in result
        result = step(server, result)
    assert text_of(result) == "3"


def test_answers_to_built_questions_are_kept_for_later_rounds() -> None:
    def body(ctx: Context) -> Any:
        for key in ("a", "b"):
            if key not in ctx.input_responses:
                return InputRequired({key: roots_request()})
        return sorted(ctx.input_responses)

    server = serve(body)
    second = step(server, step(server), {"a": {"roots": []}})
    assert list(second["inputRequests"]) == ["b"]
    assert step(server, second, {"b": {"roots": []}})["structuredContent"] == ["a", "b"]


def test_a_handler_s_state_outlives_the_questions_of_its_context() -> None:
    def body(ctx: Context) -> Any:
        if ctx.request_state is None:
            return InputRequired({}, state="order 5")
        ctx.elicit("Sure?", FORM)
        ctx.elicit("Really?", FORM)
        return ctx.request_state

    server = serve(body)
    second = step(server, step(server))
    third = step(server, second, {"elicit-1": {"action": "cancel"}})
    assert text_of(step(server, third, {"elicit-2": {"action": "cancel"}})) == "order 5"


def test_a_handler_that_asks_without_end_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    def body(ctx: Context) -> None:
        while True:
            ctx.elicit("Again?", FORM)

    server = serve(body)
    result = step(server)
    rounds = 0
    while "inputRequests" in result:
        (key,) = result["inputRequests"]
        params = {"name": "t", "requestState": result["requestState"], "inputResponses": {key: {"action": "cancel"}}}
        answer = ask(server, "tools/call", params, caps=FORMS)
        result = answer.get("result", {})
        rounds += 1
    assert rounds == 100
    assert answer["error"]["code"] == -32603
    assert "more than 100 questions" in caplog.text


@pytest.mark.parametrize(
    "requests",
    [{"k": {"method": "tools/call"}}, {"k": {}}, {"k": elicit_request(float("nan"), FORM)}],  # type: ignore[arg-type]
)
def test_a_built_question_that_cannot_be_asked_is_the_handler_s_mistake(requests: Any) -> None:
    def body(ctx: Context) -> Any:
        raise InputRequired(requests)

    answer = ask(serve(body), "tools/call", {"name": "t"}, caps=ALL)
    assert answer["error"]["code"] == -32603


def test_a_form_that_is_not_flat_is_found_in_the_first_round(caplog: pytest.LogCaptureFixture) -> None:
    server = serve(lambda ctx: ctx.elicit("?", {"type": "object", "properties": {"a": {"type": "object"}}}))
    assert step(server)["isError"] is True
    assert "A form schema: 'a' must be" in caplog.text


# State (B92)


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": {"x": 2}},
        {"arguments": {}},
        {"name": "u"},
        {"extra": 1},
    ],
)
def test_a_state_is_for_the_same_call_only(change: dict[str, Any]) -> None:
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    server.tool(name="u")(lambda x=0: "other")
    first = call(server, "t", {"x": 1}, caps=ALL, principal="ada")
    params = {"name": "t", "arguments": {"x": 1}, "requestState": first["requestState"]}
    answered = {**params, "inputResponses": {"elicit-1": {"action": "cancel"}}}
    assert "isError" not in result_of(server, "tools/call", answered, caps=ALL, principal="ada")
    error = error_of(server, "tools/call", {**answered, **change}, caps=ALL, principal="ada")
    assert error["code"] == -32602
    assert "requestState" in error["message"]


@pytest.mark.parametrize("principal", [None, "eve", ""])
def test_a_state_is_for_the_same_caller_only(principal: str | None) -> None:
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    first = step(server, principal="ada")
    assert refused(server, first, {}, principal=principal)["code"] == -32602


def test_a_state_expires_by_the_server_s_clock() -> None:
    now = [1000.0]
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action, state_ttl=60, clock=lambda: now[0])
    first = step(server)
    now[0] += 59
    assert text_of(step(server, first, {"elicit-1": {"action": "cancel"}})) == "cancel"
    now[0] += 2
    assert refused(server, first, {"elicit-1": {"action": "cancel"}})["code"] == -32602


def test_a_state_is_not_secret_and_says_so_nowhere_else() -> None:
    """It is signed, not encrypted: what comes back is only ever what was sent."""
    server = serve(lambda ctx: ctx.elicit("Who?", FORM).action)
    first = step(server)
    assert first["requestState"].isascii()
    assert set(first) == {"resultType", "inputRequests", "requestState", "_meta"}


def test_answers_that_are_too_large_for_a_state_are_refused():
    server = Server("shop", keys=["k"])

    @server.tool
    def ask_twice(ctx: Context) -> str:
        ctx.elicit("First?", {"type": "object", "properties": {"text": {"type": "string"}}})
        ctx.elicit("Second?", {"type": "object", "properties": {"more": {"type": "string"}}})
        return "done"

    capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", **capable}

    def send(**more: Any) -> dict[str, Any]:
        params = {"name": "ask_twice", "_meta": meta, **more}
        answer = server.handle_message({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert answer is not None
        return answer

    first = send()["result"]
    large = {"elicit-1": {"action": "accept", "content": {"text": "x" * (MAX_STATE + 1)}}}
    refused = send(requestState=first["requestState"], inputResponses=large)
    assert refused["error"]["code"] == -32602
    assert "larger than" in refused["error"]["message"]
