"""Questions: results of the request for modern clients, requests of the server's own for legacy ones."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_wsgi import Context, InputRequired, Server, ToolError, elicit_request, roots_request
from mcp_wsgi.stdio import connection
from tests.modern import message
from tests.stdio_door.client import PATIENCE, initialize, legacy, notice, serving

ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
ACCEPTED = {"action": "accept", "content": {"row": 12}}


@dataclass
class Seat:
    row: int


def a_server(**options):
    server = Server("test", version="1", **options)
    server.booked = []  # type: ignore[attr-defined]

    @server.tool
    def book(city: str, ctx: Context) -> str:
        ctx.report_progress(1)
        answer = ctx.elicit(f"Which seat to {city}?", Seat)
        if answer.data is None:
            raise ToolError(f"The user said {answer.action}")
        ctx.report_progress(2)
        server.booked.append(city)  # type: ignore[attr-defined]
        return f"row {answer.data.row} to {city}"

    @server.tool
    def pay(ctx: Context) -> str:
        return ctx.elicit_url("Pay, please", "https://example.com/pay").action

    @server.tool
    def think(ctx: Context) -> str:
        return ctx.sample("What is six times seven?", max_tokens=5).text

    @server.tool
    def folders(ctx: Context) -> list[str]:
        return [root.uri for root in ctx.list_roots()]

    @server.tool
    def both(ctx: Context) -> Any:
        if len(ctx.input_responses) < 2:
            questions = {"seat": elicit_request("Which seat?", Seat), "roots": roots_request()}
            return InputRequired(questions, state="asked")
        return f"{ctx.request_state}: {sorted(ctx.input_responses)}"

    @server.tool
    def forever(ctx: Context) -> Any:
        return InputRequired({}, state="again")

    @server.prompt
    def greet(ctx: Context) -> str:
        return f"Hello, row {ctx.elicit('Which seat?', Seat).data}"

    return server


def call(request_id, tool, **arguments):
    return legacy(request_id, "tools/call", name=tool, arguments=arguments)


def result(request_id, value):
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def test_a_legacy_client_is_asked_in_the_middle_of_its_call(caplog):
    server = a_server()
    with caplog.at_level(logging.WARNING), serving(server) as client:
        client.handshake(capabilities={"elicitation": {}})
        request = call(1, "book", city="Oslo")
        request["params"]["_meta"] = {"progressToken": "t"}
        client.send(request)
        assert client.read()["params"]["progress"] == 1
        question = client.read()
        assert question["method"] == "elicitation/create"
        assert question["params"]["mode"] == "form"
        assert question["params"]["message"] == "Which seat to Oslo?"
        assert question["params"]["requestedSchema"]["properties"] == {"row": {"type": "integer"}}
        assert client.is_quiet()
        client.send(result(question["id"], ACCEPTED))
        # The handler ran again from its top; to the client it is one call, whose progress only goes up.
        assert client.read()["params"]["progress"] == 2
        assert text_of(client.read()) == "row 12 to Oslo"
    assert server.booked == ["Oslo"]
    assert caplog.text == ""


def test_a_modern_client_is_answered_with_the_question(caplog):
    server = a_server()
    arguments = {"name": "book", "arguments": {"city": "Oslo"}, "capabilities": {"elicitation": {}}}
    with caplog.at_level(logging.WARNING), serving(server) as client:
        first = client.ask(message("tools/call", request_id=1, **arguments))["result"]
        assert first["resultType"] == "input_required"
        answers = {"inputResponses": {"elicit-1": ACCEPTED}, "requestState": first["requestState"]}
        second = client.ask(message("tools/call", request_id=2, **arguments, **answers))
        assert text_of(second) == "row 12 to Oslo"
    assert caplog.text == ""  # about keys: what this process signs comes back to it


def test_the_keys_of_the_server_are_used_where_it_has_some():
    server = a_server(keys=["k" * 32])
    arguments = {"name": "book", "arguments": {"city": "Oslo"}, "capabilities": {"elicitation": {}}}
    with serving(server, principal="ada") as client:
        first = client.ask(message("tools/call", request_id=1, **arguments))["result"]
    with serving(server, principal="ada") as client:
        answers = {"inputResponses": {"elicit-1": ACCEPTED}, "requestState": first["requestState"]}
        assert text_of(client.ask(message("tools/call", request_id=2, **arguments, **answers))) == "row 12 to Oslo"


@pytest.mark.parametrize(
    ("version", "mode"), [("2025-11-25", "form"), ("2025-06-18", "absent"), ("2025-03-26", "absent")]
)
def test_a_form_has_a_mode_where_the_version_has_modes(version, mode):
    with serving(a_server()) as client:
        client.handshake(version=version, capabilities=ALL)
        client.send(call(1, "book", city="Oslo"))
        question = client.read()
        assert question["params"].get("mode", "absent") == mode
        client.send(result(question["id"], {"action": "decline"}))
        answer = client.read()
        assert (answer["result"]["isError"], text_of(answer)) == (True, "The user said decline")


def test_a_question_at_a_url_has_an_id_of_its_own():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "pay"))
        question = client.read()
        assert (question["params"]["mode"], question["params"]["url"]) == ("url", "https://example.com/pay")
        assert len(question["params"]["elicitationId"]) == 32
        client.send(result(question["id"], {"action": "accept"}))
        assert text_of(client.read()) == "accept"


def test_the_clients_model_and_its_roots_are_asked():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "think"))
        question = client.read()
        assert (question["method"], question["params"]["maxTokens"]) == ("sampling/createMessage", 5)
        client.send(
            result(question["id"], {"role": "assistant", "model": "m", "content": {"type": "text", "text": "42"}})
        )
        assert text_of(client.read()) == "42"
        client.send(call(2, "folders"))
        question = client.read()
        assert question == {"jsonrpc": "2.0", "id": question["id"], "method": "roots/list"}
        client.send(result(question["id"], {"roots": [{"uri": "file:///a"}]}))
        assert client.read()["result"]["structuredContent"] == {"result": ["file:///a"]}


def test_a_handler_may_ask_several_questions_itself():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "both"))
        answers = {"elicitation/create": ACCEPTED, "roots/list": {"roots": []}}
        for _ in range(2):
            question = client.read()
            client.send(result(question["id"], answers[question["method"]]))
        assert text_of(client.read()) == "asked: ['roots', 'seat']"


def test_questions_of_many_calls_are_not_mixed_up():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(*[call(number, "book", city=f"{number}") for number in range(20)])
        for question in [client.read() for _ in range(20)]:
            row = int(question["params"]["message"].rpartition(" ")[2].rstrip("?"))
            client.send(result(question["id"], {"action": "accept", "content": {"row": row}}))
        answers = client.answers(20)
        assert {number: text_of(answer) for number, answer in answers.items()} == {
            number: f"row {number} to {number}" for number in range(20)
        }


@pytest.mark.parametrize("handshake", [True, False])
def test_a_client_that_does_not_say_it_can_be_asked_is_not(handshake):
    with serving(a_server()) as client:
        if handshake:
            client.handshake(capabilities={"roots": {}})
        for tool in ("book", "both"):
            answer = client.ask(call(1, tool, **({"city": "Oslo"} if tool == "book" else {})))
            assert answer["result"]["isError"]
            assert "elicitation" in text_of(answer)
        error = client.ask(legacy(2, "prompts/get", name="greet"))["error"]
        assert (error["code"], "elicitation" in error["message"]) == (-32602, True)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"error": {"code": -1, "message": "User rejected"}}, "refused a question (elicitation/create): User rejected"),
        ({"result": "no object"}, "refused a question (elicitation/create): A result needs"),
        ({"error": {"code": "x"}}, 'refused a question (elicitation/create): "error" needs'),
    ],
)
def test_a_refused_question_is_told_to_the_model(answer, told):
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "book", city="Oslo"))
        client.send({"jsonrpc": "2.0", "id": client.read()["id"], **answer})
        refused = client.read()
        assert refused["result"]["isError"]
        assert told in text_of(refused)


def test_a_refused_question_of_a_prompt_is_an_error():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(legacy(1, "prompts/get", name="greet"))
        client.send({"jsonrpc": "2.0", "id": client.read()["id"], "error": {"code": -1, "message": "No"}})
        error = client.read()["error"]
        assert (error["code"], error["message"]) == (
            -32602,
            "The client refused a question (elicitation/create): No",
        )


@pytest.mark.parametrize("wrong", [{}, {"action": "maybe"}, {"action": "accept"}, {"action": "accept", "content": {}}])
def test_an_answer_of_another_shape_is_refused(wrong):
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "book", city="Oslo"))
        client.send(result(client.read()["id"], wrong))
        assert client.read()["error"]["code"] == -32602


def test_only_the_first_answer_to_a_question_counts():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "book", city="Oslo"))
        question = client.read()["id"]
        second = {"action": "accept", "content": {"row": 13}}
        client.send(result(question, ACCEPTED), result(question, second), result(0, second))
        assert text_of(client.read()) == "row 12 to Oslo"
        assert client.is_quiet()


def test_what_a_legacy_client_says_of_rounds_is_not_read():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        request = call(1, "book", city="Oslo")
        request["params"] |= {"requestState": "forged", "inputResponses": {"elicit-1": ACCEPTED}}
        client.send(request)
        client.send(result(client.read()["id"], {"action": "cancel"}))
        assert text_of(client.read()) == "The user said cancel"


def test_cancelling_a_call_cancels_its_question():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "book", city="Oslo"))
        question = client.read()["id"]
        client.send(notice("notifications/cancelled", requestId=1))
        assert client.read() == notice("notifications/cancelled", requestId=question)
        assert client.is_quiet()


def test_the_end_of_the_input_ends_questions():
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "book", city="Oslo"))
        client.read()
        client.end_input()
        cancelled, answer = client.rest()
        assert cancelled["method"] == "notifications/cancelled"
        assert text_of(answer) == "The client did not answer a question"


def test_nobody_is_asked_who_sends_nothing_any_more():
    server, gate = a_server(), threading.Event()

    @server.tool
    def late(ctx: Context) -> str:
        gate.wait(PATIENCE)
        return str(ctx.list_roots())

    with serving(server) as client:
        client.handshake(capabilities=ALL)
        client.send(call(1, "late"), call(2, "book", city="Oslo"))
        question = client.read()
        client.end_input()
        # With this the server has seen the end.
        assert client.read() == notice("notifications/cancelled", requestId=question["id"])
        assert client.read()["id"] == 2
        gate.set()
        (answer,) = client.rest()
        assert text_of(answer) == "The client has gone"


def test_a_handler_that_never_stops_asking_is_stopped(monkeypatch):
    monkeypatch.setattr(connection, "MAX_ROUNDS", 5)
    with serving(a_server()) as client:
        client.handshake(capabilities=ALL)
        assert "asked more than 5 times" in text_of(client.ask(call(1, "forever")))


def test_what_is_asked_right_after_the_handshake_waits_for_it():
    with serving(a_server()) as client:
        client.send(initialize(0, capabilities=ALL), call(1, "book", city="Oslo"))
        assert client.read()["id"] == 0
        assert client.read()["method"] == "elicitation/create"
