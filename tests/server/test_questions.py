"""Questions as they stand on the wire, what they need of a client, and what an answer looks like."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import (
    Elicited,
    Image,
    InputRequired,
    InvalidParamsError,
    Message,
    RegistrationError,
    Root,
    Sampled,
    Text,
    elicit_request,
    elicit_url_request,
    roots_request,
    sample_request,
)
from mcp_wsgi.server.questions import check_form, check_shape, required_capabilities

FORM = {"type": "object", "properties": {"age": {"type": "integer"}}}


def test_a_form_question() -> None:
    assert elicit_request("How old?", FORM) == {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "How old?", "requestedSchema": FORM},
    }
    with pytest.raises(RegistrationError, match="A form schema"):
        elicit_request("?", {"type": "object", "properties": {"a": {"type": "object"}}})


def test_a_url_question() -> None:
    assert elicit_url_request("Sign in", "https://example.com") == {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign in", "url": "https://example.com"},
    }


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("Hi", [("user", {"type": "text", "text": "Hi"})]),
        (
            ["Hi", Message("Yes?", "assistant")],
            [("user", {"type": "text", "text": "Hi"}), ("assistant", {"type": "text", "text": "Yes?"})],
        ),
        (
            [Text("a"), Image(b"")],
            [("user", {"type": "text", "text": "a"}), ("user", {"type": "image", "data": "", "mimeType": "image/png"})],
        ),
    ],
)
def test_a_sampling_question(messages: Any, expected: Any) -> None:
    request = sample_request(messages, max_tokens=5, systemPrompt="Be kind", stop_sequences=["."])
    assert request["method"] == "sampling/createMessage"
    params = request["params"]
    assert [(each["role"], each["content"]) for each in params.pop("messages")] == expected
    assert params == {"maxTokens": 5, "systemPrompt": "Be kind", "stopSequences": ["."]}


@pytest.mark.parametrize("name", ["system", "systemprompt", "SystemPrompt", "maxTokens", "temp"])
def test_an_unknown_member_of_a_sampling_question_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        sample_request("Hi", **{name: 1})


@pytest.mark.parametrize(
    ("request_", "needed"),
    [
        (elicit_request("?", FORM), {"elicitation": {"form": {}}}),
        ({"method": "elicitation/create", "params": {"message": "?"}}, {"elicitation": {"form": {}}}),
        (elicit_url_request("?", "https://x"), {"elicitation": {"url": {}}}),
        (sample_request("?"), {"sampling": {}}),
        (sample_request("?", includeContext="none"), {"sampling": {}}),
        (sample_request("?", include_context="thisServer"), {"sampling": {"context": {}}}),
        (sample_request("?", tools=[]), {"sampling": {"tools": {}}}),
        (sample_request("?", tool_choice={}), {"sampling": {"tools": {}}}),
        (roots_request(), {"roots": {}}),
    ],
)
def test_a_question_needs_its_capability(request_: dict[str, Any], needed: dict[str, Any]) -> None:
    """2026-07-28, basic/patterns/mrtr: "Servers MUST NOT send an input request" that was not declared."""
    assert required_capabilities(request_) == needed


@pytest.mark.parametrize("request_", [{}, {"method": "tools/call"}, {"method": None}])
def test_anything_else_cannot_be_asked(request_: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match="cannot be asked"):
        required_capabilities(request_)


GOOD: list[tuple[str, str | None, Any]] = [
    ("elicitation/create", "form", {"action": "accept", "content": {}}),
    ("elicitation/create", "form", {"action": "decline"}),
    ("elicitation/create", "form", {"action": "cancel", "content": None}),
    ("elicitation/create", "url", {"action": "accept"}),
    ("sampling/createMessage", None, {"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}}),
    ("sampling/createMessage", None, {"role": "user", "model": "m", "content": [{"type": "text"}]}),
    ("roots/list", None, {"roots": []}),
    ("roots/list", None, {"roots": [{"uri": "file:///a"}]}),
]
BAD: list[tuple[str, str | None, Any, str]] = [
    *[(method, mode, bad, "object") for method, mode, _ in GOOD[::3] for bad in (None, [], "x", 5)],
    ("elicitation/create", "form", {}, "action"),
    ("elicitation/create", "form", {"action": "ok"}, "action"),
    ("elicitation/create", "form", {"action": ["accept"]}, "action"),
    ("elicitation/create", "form", {"action": "accept"}, "content"),
    ("elicitation/create", None, {"action": "accept", "content": []}, "content"),
    ("sampling/createMessage", None, {}, "role"),
    ("sampling/createMessage", None, {"role": "system", "model": "m", "content": {"type": "text"}}, "role"),
    ("sampling/createMessage", None, {"role": ["user"], "model": "m", "content": {"type": "text"}}, "role"),
    ("sampling/createMessage", None, {"role": "user", "model": 5, "content": {"type": "text"}}, "model"),
    ("sampling/createMessage", None, {"role": "user", "model": "m"}, "content"),
    ("sampling/createMessage", None, {"role": "user", "model": "m", "content": "x"}, "content"),
    ("sampling/createMessage", None, {"role": "user", "model": "m", "content": [{"text": "x"}]}, "content"),
    ("roots/list", None, {}, "roots"),
    ("roots/list", None, {"roots": [{}]}, "uri"),
    ("roots/list", None, {"roots": ["file:///a"]}, "uri"),
    ("roots/list", None, {"roots": {"uri": "x"}}, "roots"),
]


@pytest.mark.parametrize(("method", "mode", "answer"), GOOD)
def test_an_answer_of_the_right_shape_passes(method: str, mode: str | None, answer: Any) -> None:
    check_shape("k", method, mode, answer)


@pytest.mark.parametrize(("method", "mode", "answer", "named"), BAD)
def test_another_shape_is_refused_by_its_key(method: str, mode: str | None, answer: Any, named: str) -> None:
    with pytest.raises(InvalidParamsError, match=rf"\"inputResponses\" entry 'k': .*{named}"):
        check_shape("k", method, mode, answer)


def test_a_long_key_is_not_repeated() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        check_shape("k" * 5000, "roots/list", None, 5)
    assert len(caught.value.message) < 200


def test_accepted_content_has_to_fit_its_form() -> None:
    check_form("k", elicit_request("?", FORM), {"action": "accept", "content": {"age": 5}})
    check_form("k", elicit_request("?", FORM), {"action": "decline", "content": {"age": "x"}})
    check_form("k", roots_request(), {"roots": []})
    with pytest.raises(InvalidParamsError, match="'k': age: expected integer, got string"):
        check_form("k", elicit_request("?", FORM), {"action": "accept", "content": {"age": "x"}})


def test_an_input_required_has_something_to_ask_or_to_remember() -> None:
    assert InputRequired({}, state="s").state == "s"
    assert InputRequired({"k": roots_request()}).requests == {"k": {"method": "roots/list"}}
    with pytest.raises(ValueError, match="requests or a state"):
        InputRequired({})
    assert not isinstance(InputRequired({}, state=""), Exception)


def test_answers_are_values() -> None:
    assert Elicited("accept", 5).accepted
    assert not Elicited("decline").accepted
    assert Root("file:///a") == Root("file:///a", None)
    text = {"type": "text", "text": "a"}
    assert Sampled(text, "m", "assistant").text == "a"
    assert Sampled([text, {"type": "image"}, text], "m", "assistant").text == "aa"
