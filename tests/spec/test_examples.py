"""Every example of the specification is read, and what it denotes is accepted."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from mcp_wsgi import (
    Annotations,
    Audio,
    EmbeddedResource,
    Icon,
    Image,
    InputRequired,
    Message,
    ResourceContents,
    ResourceLink,
    Server,
    Text,
    elicit_request,
    elicit_url_request,
    expected_headers,
    sample_request,
)
from mcp_wsgi.protocol.codec import decode, encode
from mcp_wsgi.protocol.jsonrpc import Notification, Request, Response, notification, parse_message, request
from mcp_wsgi.protocol.meta import CLIENT_CAPABILITIES, build_meta, read_envelope
from mcp_wsgi.server.questions import check_shape, required_capabilities
from tests.spec.validate import ValidatedServer, spec_folder
from tests.strategies import same_json

VERSION = "2026-07-28"
DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "spec"
FOLDER = Path(os.environ.get("MCP_WSGI_SPEC") or DEFAULT) / VERSION / "examples"
EXAMPLES = sorted(FOLDER.glob("*/*.json"))


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


def load(path):
    return json.loads(path.read_bytes())


def examples(*folders):
    """Parametrise by the examples of folders, named exactly or by their end (``*Result``)."""
    paths = [path for path in EXAMPLES if any(path.parent.match(folder) for folder in folders)]
    if not EXAMPLES:
        # The specification is not here: one case, for the fixture that skips it with the reason.
        paths = [FOLDER / "none" / "none.json"]
    assert paths, f"no examples in {folders}"
    return pytest.mark.parametrize("path", paths, ids=name_of)


def all_capabilities():
    return {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}


def call(**params):
    meta = build_meta(version=VERSION, capabilities=all_capabilities())
    return request(1, "tools/call", {"_meta": meta, "name": "asks", **params})


def test_the_examples_are_where_the_specification_is():
    assert spec_folder() / VERSION / "examples" == FOLDER
    assert len(EXAMPLES) > 100


@examples("*")
def test_every_example_is_read_and_written_equal(path):
    value = decode(path.read_bytes())
    assert same_json(value, load(path))
    assert same_json(decode(encode(value)), value)


# Messages

#: What clients ask each other for inside a result has no id and is no message.
EMBEDDED = ("CreateMessageRequest", "ElicitRequest", "ListRootsRequest")


@examples("*Request")
def test_every_request_is_a_message_with_headers(path):
    value = load(path)
    if path.parent.name in EMBEDDED:
        return
    parsed = parse_message(value)
    assert parsed == Request(value["id"], value["method"], value["params"])
    assert read_envelope(parsed.params).version == VERSION
    headers = dict(expected_headers(value))
    assert headers.pop("MCP-Protocol-Version") == VERSION
    assert headers.pop("Mcp-Method") == value["method"]
    name = value["params"].get("name", value["params"].get("uri"))
    assert headers == ({"Mcp-Name": name} if name else {})


@examples("*Notification")
def test_every_notification_is_a_message_without_an_answer(path):
    value = load(path)
    assert parse_message(value) == Notification(value["method"], value["params"])
    assert expected_headers(value) == [("Mcp-Method", value["method"])]
    assert example_server().handle_message(value) is None


@examples("*ResultResponse", "*Result")
def test_every_result_is_a_response(path):
    value = load(path)
    if not path.parent.name.endswith("Response"):
        value = {"jsonrpc": "2.0", "id": 1, "result": value}
    assert parse_message(value) == Response(value["id"], value["result"], None)


@examples("*Error")
def test_every_error_is_a_response(path):
    value = load(path)
    if "error" not in value:
        value = {"jsonrpc": "2.0", "id": 1, "error": value}
    assert parse_message(value) == Response(value["id"], None, value["error"])


PARAMS_OF = {
    "CallToolRequestParams": "tools/call",
    "CompleteRequestParams": "completion/complete",
    "GetPromptRequestParams": "prompts/get",
    "PaginatedRequestParams": "tools/list",
    "CancelledNotificationParams": None,
    "LoggingMessageNotificationParams": None,
    "ProgressNotificationParams": None,
    "ResourceUpdatedNotificationParams": None,
}


@examples(*PARAMS_OF)
def test_all_params_are_those_of_a_message(path):
    params, method = load(path), PARAMS_OF[path.parent.name]
    if method is None:
        assert parse_message(notification("x", params)).params == params
    else:
        assert parse_message(request(1, method, params)).params == params
        assert read_envelope(params).meta == params["_meta"]


# What a server is asked


def example_server():
    server = Server("examples", version="1")

    @server.tool
    def get_weather(location: str) -> str:
        return f"Current weather in {location}"

    @server.tool
    def build_simulation(city: str) -> str:
        return city

    @server.prompt
    def code_review(code: str, language: str = "", framework: str = "") -> str:
        return code

    @server.completion("code_review", "language")
    def complete_language(value: str) -> list[str]:
        return [value + "thon"]

    @server.completion("code_review", "framework")
    def complete_framework(value: str, arguments: dict[str, str]) -> list[str]:
        return [value + "sk " + arguments["language"]]

    @server.resource("file:///project/src/{name}")
    def source(name: str) -> str:
        return name

    return server


def result_of(method, params):
    answer = ValidatedServer(example_server(), VERSION).handle_message(request(1, method, params))
    assert answer is not None
    return answer["result"]


@examples("*Request")
def test_every_request_that_a_server_gets_is_answered(path):
    value = load(path)
    if path.parent.name in (*EMBEDDED, "SubscriptionsListenRequest"):
        return
    answer = ValidatedServer(example_server(), VERSION).handle_message(value)
    assert answer["id"] == value["id"]
    assert answer["result"]["resultType"] == "complete"
    assert "isError" not in answer["result"]


@examples("CallToolRequestParams", "CompleteRequestParams", "GetPromptRequestParams")
def test_all_params_that_a_server_gets_are_accepted(path):
    result = result_of(PARAMS_OF[path.parent.name], load(path))
    assert "isError" not in result
    if path.stem == "prompt-argument-completion-with-context":
        assert result["completion"]["values"] == ["flask python"]


@examples("PaginatedRequestParams")
def test_a_cursor_of_somebody_else_is_refused(path):
    answer = example_server().handle_message(request(1, "tools/list", load(path)))
    assert answer["error"]["code"] == -32602


@examples("ClientCapabilities")
def test_all_client_capabilities_are_read(path):
    meta = build_meta(version=VERSION, capabilities=load(path))
    assert read_envelope({"_meta": meta}).capabilities == meta[CLIENT_CAPABILITIES] == load(path)


# What a server says


@examples("Tool")
def test_every_tool_can_be_registered_and_is_listed_as_it_is(path):
    tool = load(path)
    server = Server("x", tools=[{**tool, "handler": lambda arguments, ctx: None}])
    listing = request(1, "tools/list", {"_meta": build_meta(version=VERSION, capabilities={})})
    answer = ValidatedServer(server, VERSION).handle_message(listing)
    assert answer["result"]["tools"] == [tool]


def annotations_of(value):
    given = value.get("annotations")
    if given is None:
        return None
    return Annotations(
        audience=given.get("audience"), priority=given.get("priority"), last_modified=given.get("lastModified")
    )


def contents_of(value):
    data = value["text"] if "text" in value else base64.b64decode(value["blob"], validate=True)
    return ResourceContents(data, value["uri"], value.get("mimeType"), value.get("_meta"))


def icons_of(value):
    icons = value.get("icons")
    return icons and [Icon(icon["src"], icon.get("mimeType"), icon.get("sizes"), icon.get("theme")) for icon in icons]


def content_of(value):
    notes, kind = annotations_of(value), value["type"]
    if kind == "text":
        return Text(value["text"], annotations=notes)
    if kind == "resource":
        return EmbeddedResource(contents_of(value["resource"]), annotations=notes)
    if kind == "resource_link":
        details = [value.get(name) for name in ("title", "description", "mimeType", "size")]
        return ResourceLink(value["uri"], value["name"], *details, icons_of(value), annotations=notes)
    make = {"image": Image, "audio": Audio}[kind]
    return make(base64.b64decode(value["data"], validate=True), value["mimeType"], annotations=notes)


@examples("TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")
def test_all_content_can_be_written(path):
    value = load(path)
    assert content_of(value).to_wire() == value
    server = Server("x", tools=[{"name": "asks", "handler": lambda arguments, ctx: content_of(value)}])
    assert ValidatedServer(server, VERSION).handle_message(call())["result"]["content"] == [value]


@examples("TextResourceContents", "BlobResourceContents")
def test_all_resource_contents_can_be_written(path):
    assert contents_of(load(path)).to_wire() == load(path)


@examples("Resource")
def test_every_resource_can_be_registered_and_is_listed_as_it_is(path):
    value = load(path)
    server = Server("x")
    options = {key: value.get(wire) for key, wire in (("mime_type", "mimeType"), ("size", "size"))}
    options |= {key: value.get(key) for key in ("name", "title", "description")}
    server.resource(value["uri"], annotations=annotations_of(value), icons=icons_of(value), **options)(lambda: "text")
    listing = request(1, "resources/list", {"_meta": build_meta(version=VERSION, capabilities={})})
    assert ValidatedServer(server, VERSION).handle_message(listing)["result"]["resources"] == [value]


# What a client is asked


def ask(questions, **params):
    """Ask questions in a tool call; give the result of the round."""
    state = "asked"
    server = Server("x", keys=["a key"])

    def handler(arguments, ctx):
        return InputRequired(questions, state=state) if ctx.request_state is None else repr(dict(ctx.input_responses))

    server.add_tool({"name": "asks", "handler": handler})
    wrapped = ValidatedServer(server, VERSION)
    result = wrapped.handle_message(call())["result"]
    assert result["resultType"] == "input_required"
    if params:
        params["requestState"] = result["requestState"]
        return wrapped.handle_message(call(**params))["result"]
    return result


@examples(*EMBEDDED)
def test_every_question_can_be_asked(path):
    question = {key: value for key, value in load(path).items() if key in ("method", "params")}
    assert required_capabilities(question)
    assert ask({"q": question})["inputRequests"] == {"q": question}


@examples("ElicitRequestFormParams")
def test_every_form_can_be_asked(path):
    params = load(path)
    question = elicit_request(params["message"], params["requestedSchema"])
    assert question["params"] == params
    assert ask({"q": question})["inputRequests"]["q"]["params"] == params


@examples("ElicitRequestURLParams")
def test_every_url_can_be_asked(path):
    params = load(path)
    assert elicit_url_request(params["message"], params["url"])["params"] == params


@examples("CreateMessageRequestParams")
def test_a_model_can_be_asked(path):
    params = load(path)
    more = {key: value for key, value in params.items() if key not in ("messages", "maxTokens")}
    question = sample_request("x", max_tokens=params["maxTokens"], **more)
    question["params"]["messages"] = params["messages"]
    assert ask({"q": question})["inputRequests"]["q"]["params"] == params


@examples("ModelPreferences")
def test_models_can_be_preferred(path):
    question = sample_request([Message("x")], modelPreferences=load(path))
    assert ask({"q": question})["inputRequests"]["q"]["params"]["modelPreferences"] == load(path)


@examples("*Schema")
def test_every_field_can_stand_in_a_form(path):
    question = elicit_request("x", {"type": "object", "properties": {"field": load(path)}})
    assert ask({"q": question})["inputRequests"] == {"q": question}
    declined = ask({"q": question}, inputResponses={"q": {"action": "decline"}})
    assert "isError" not in declined


ANSWERS = {
    "ElicitResult": "elicitation/create",
    "CreateMessageResult": "sampling/createMessage",
    "ListRootsResult": "roots/list",
}


@examples(*ANSWERS)
def test_every_answer_of_a_client_is_accepted(path):
    mode = "url" if path.stem == "accept-url-mode-no-content" else "form"
    check_shape("q", ANSWERS[path.parent.name], mode, load(path))


@examples("InputResponses")
def test_the_answers_to_the_questions_are_accepted(path):
    questions = load(FOLDER / "InputRequests" / "elicitation-and-sampling-input-requests.json")
    result = ask(questions, inputResponses=load(path))
    assert result["resultType"] == "complete"
    assert "isError" not in result


@examples("InputRequiredResult")
def test_every_round_can_be_built(path):
    questions = load(path).get("inputRequests", {})
    assert ask(questions).get("inputRequests", {}) == questions
