"""Resources, templates and prompts: how they are registered, listed, found and called."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from mcp_wsgi import Annotations, Context, Icon, RegistrationError, Server
from mcp_wsgi.server.resources import Prompt, Resource

from .wire import ERAS, error_of, result_of


def read(server: Server, uri: str, **options: Any) -> str:
    contents = result_of(server, "resources/read", {"uri": uri}, **options)["contents"]
    assert [each["uri"] for each in contents] == [uri]
    text: str = contents[0]["text"]
    return text


@ERAS
def test_a_resource_is_listed_with_all_its_options(era: str) -> None:
    server = Server("s")
    server.resource(
        "docs://intro",
        name="intro",
        title="Intro",
        description="Read me",
        mime_type="text/markdown",
        size=12,
        icons=[Icon("https://example.com/i.png")],
        annotations=Annotations(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z"),
        meta={"example.com/x": 1},
    )(lambda: "Welcome")
    assert result_of(server, "resources/list", era=era)["resources"] == [
        {
            "uri": "docs://intro",
            "name": "intro",
            "title": "Intro",
            "description": "Read me",
            "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"},
            "icons": [{"src": "https://example.com/i.png"}],
            "_meta": {"example.com/x": 1},
            "mimeType": "text/markdown",
            "size": 12,
        }
    ]
    assert result_of(server, "resources/templates/list", era=era)["resourceTemplates"] == []
    contents = result_of(server, "resources/read", {"uri": "docs://intro"}, era=era)["contents"]
    assert contents == [{"uri": "docs://intro", "mimeType": "text/markdown", "text": "Welcome"}]


@ERAS
def test_a_template_is_listed_apart_and_without_a_size(era: str) -> None:
    server = Server("s")

    @server.resource("orders://{order_id}", size=5)
    def order(order_id: str) -> str:
        """Read an order."""
        return order_id

    assert result_of(server, "resources/list", era=era)["resources"] == []
    assert result_of(server, "resources/templates/list", era=era)["resourceTemplates"] == [
        {"uriTemplate": "orders://{order_id}", "name": "order", "description": "Read an order."}
    ]


@pytest.mark.parametrize("uri", ["x:y", "file:relative", "http://h", "urn:a:b", "Custom+Scheme://É", "docs://a b"])
def test_a_uri_is_an_opaque_string_byte_for_byte(uri: str) -> None:
    """B134."""
    server = Server("s")
    server.resource(uri, name="r")(lambda: "ok")
    assert result_of(server, "resources/list")["resources"][0]["uri"] == uri
    assert read(server, uri) == "ok"
    for other in (uri + "/", uri.swapcase(), uri.upper() + "x"):
        assert error_of(server, "resources/read", {"uri": other})["data"] == {"uri": other}


def test_variables_are_decoded_once_and_typed() -> None:
    server = Server("s")

    @server.resource("shop://{kind}/{number}")
    def thing(kind: Literal["order", "a/b"], number: int, ctx: Context) -> str:
        return f"{kind} {number + 1} {ctx.method}"

    assert read(server, "shop://order/41") == "order 42 resources/read"
    assert read(server, "shop://a%2Fb/1") == "a/b 2 resources/read"
    for uri in ("shop://order/x", "shop://other/1", "shop://a%252Fb/1"):
        assert error_of(server, "resources/read", {"uri": uri})["code"] == -32602


def test_a_resource_goes_before_a_template_and_the_first_template_before_the_next() -> None:
    server = Server("s")
    server.resource("r://{a}", name="one")(lambda a: f"one {a}")
    server.resource("r://{b}", name="two")(lambda b: f"two {b}")
    server.resource("r://x", name="exact")(lambda: "exact")
    assert read(server, "r://x") == "exact"
    assert read(server, "r://y") == "one y"
    server.remove_resource("r://{a}")
    assert read(server, "r://y") == "two y"
    server.remove_resource("r://x")
    assert read(server, "r://x") == "two x"
    with pytest.raises(KeyError):
        server.remove_resource("r://x")


def test_optional_variables_need_defaults() -> None:
    server = Server("s")
    server.resource("r://list{?page}", name="list")(lambda page=1: str(page))
    assert read(server, "r://list") == "1"
    assert read(server, "r://list?page=2") == "2"
    with pytest.raises(RegistrationError, match="optional in the URI"):
        server.resource("r://other{?page}", name="list")(lambda page: "")


@pytest.mark.parametrize(
    ("uri", "function", "named"),
    [
        ("intro", lambda: "", "scheme"),
        ("", lambda: "", "scheme"),
        ("r://x", lambda a: "", "not in the URI"),
        ("r://{a}", lambda: "", "lacks the parameters"),
        ("r://{a}", lambda b: "", "not in the URI"),
        ("r://{a", lambda a: "", "r://"),
        ("r://x", "text", "function"),
    ],
)
def test_a_handler_that_does_not_fit_its_uri_is_refused(uri: str, function: Any, named: str) -> None:
    with pytest.raises(RegistrationError, match=named):
        Server("s").resource(uri, name="r")(function)


def test_a_decorator_without_its_uri_is_refused_at_once() -> None:
    def intro() -> str:
        return ""

    with pytest.raises(RegistrationError, match="needs its URI"):
        Server("s").resource(intro)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{"ttl_ms": -1}, {"annotations": {"priority": 1}}, {"icons": ["x"]}, {"mime_type": 5}, {"meta": {"x": object()}}],
)
def test_options_are_checked_at_registration(options: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError):
        Resource(lambda: "", "r://x", name="x", **options)


def test_a_taken_uri_is_refused() -> None:
    server = Server("s")
    server.resource("r://x", name="x")(lambda: "")
    with pytest.raises(RegistrationError, match="already a resource 'r://x'"):
        server.resource("r://x", name="y")(lambda: "")


def test_a_single_resource_matches_no_template() -> None:
    assert Resource(lambda: "", "r://x", name="x").match("r://x") is None


# Prompts


@ERAS
def test_a_prompt_lists_its_arguments(era: str) -> None:
    server = Server("s")

    @server.prompt(title="Greeting", icons=[Icon("https://example.com/i.png")], meta={"example.com/x": 1})
    def greet(name: str, ctx: Context, tone: str = "warm") -> str:
        """Greet somebody.

        Args:
            name: Whom.
        """
        return f"{tone} hello {name} {ctx.method}"

    assert result_of(server, "prompts/list", era=era)["prompts"] == [
        {
            "name": "greet",
            "title": "Greeting",
            "description": "Greet somebody.",
            "icons": [{"src": "https://example.com/i.png"}],
            "_meta": {"example.com/x": 1},
            "arguments": [
                {"name": "name", "description": "Whom.", "required": True},
                {"name": "tone", "required": False},
            ],
        }
    ]
    result = result_of(server, "prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}, era=era)
    assert result["description"] == "Greet somebody."
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "warm hello Ada prompts/get"}}]


def test_a_prompt_without_arguments_lists_none() -> None:
    assert Prompt(lambda: "x", name="p").to_wire(modern=True) == {"name": "p"}


def test_prompt_arguments_are_text_that_is_read_for_typed_parameters() -> None:
    server = Server("s")

    @server.prompt
    def p(count: int, names: list[str] | None = None) -> str:
        return f"{count + 1} {names}"

    def get(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"name": "p", "arguments": arguments}

    messages = result_of(server, "prompts/get", get({"count": "1", "names": '["a"]'}))["messages"]
    assert messages[0]["content"]["text"] == "2 ['a']"
    for arguments, named in (
        ({}, "count"),
        ({"count": "x"}, "count"),
        ({"count": 1}, "'count'"),
        ({"a" * 99: []}, "a" * 80),
    ):
        error = error_of(server, "prompts/get", get(arguments))
        assert error["code"] == -32602
        assert named in error["message"]


@pytest.mark.parametrize("name", ["", "a\n", 5])
def test_a_prompt_s_name_is_checked(name: Any) -> None:
    with pytest.raises(RegistrationError, match="name of a prompt"):
        Server("s").prompt(name=name)(lambda: "")


def test_what_is_no_function_is_no_prompt() -> None:
    with pytest.raises(RegistrationError, match="options go by name"):
        Server("s").prompt("greet")  # type: ignore[call-overload]


def test_prompts_come_and_go() -> None:
    server = Server("s")
    server.prompt(name="p")(lambda: "")
    with pytest.raises(RegistrationError, match="already a prompt 'p'"):
        server.prompt(name="p")(lambda: "")
    server.remove_prompt("p")
    assert error_of(server, "prompts/get", {"name": "p"})["message"] == "Unknown prompt: p"
    with pytest.raises(KeyError):
        server.remove_prompt("p")
