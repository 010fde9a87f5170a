"""The commands that speak with servers, against a real one over HTTP and over stdio."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import LOOPBACK_HOSTS, AuthenticationError, HTTPPolicy, HTTPRequest, public
from mcp_wsgi.cli import main
from mcp_wsgi.cli.output import Output
from mcp_wsgi.wsgi import WSGIApp
from tests.cli.bad_server import serving
from tests.cli.shop import server
from tests.cli.terminal import terminal
from tests.cli.test_serving import SECONDS, environ, status_of

PROGRAM = ["--", sys.executable, "-m", "mcp_wsgi", "stdio", "tests.cli.shop:server"]

Printed = tuple[int, str, str]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    # Tests leave subscriptions without a word.
    policy = HTTPPolicy(allowed_hosts=LOOPBACK_HOSTS, max_listens=20, keep_alive=1)
    with serving(WSGIApp(server, auth=public, policy=policy)) as found:
        yield found
    server.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command in this process, without a terminal."""

    def run(*words: str, stdin: str = "") -> Printed:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        status = status_of(list(words))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture(params=["http", "stdio"])
def ask(request: pytest.FixtureRequest, run: Any, url: str) -> Any:
    """Run a command for the shop, over either transport."""

    def ask(command: str, *words: str) -> Printed:
        if request.param == "http":
            return run(command, url, *words)
        return run(command, *words, *PROGRAM)

    return ask


# Looking


def test_inspect_says_what_a_server_is(ask: Any) -> None:
    status, out, err = ask("inspect")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Server:     The shop (shop 1.0)"
    assert "Speaks:     2026-07-28, no handshake (modern)" in lines
    assert "Resources:  shop://orders" in lines
    assert "            shop://logo" in lines
    assert "Templates:  shop://orders/{number}" in lines
    assert "Prompts:    letter" in lines
    assert lines[-2:] == ["For models: Ask about orders.", "            Be kind."]
    assert any(line.startswith("Can do:     tools (listChanged), resources (") for line in lines)


def test_inspect_for_a_program_is_one_document(ask: Any) -> None:
    status, out, err = ask("inspect", "--json", "--protocol-version", "2025-11-25")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["era"] == "legacy"
    assert found["protocolVersion"] == "2025-11-25"
    assert found["supportedVersions"] == ["2025-11-25"]
    assert found["serverInfo"]["name"] == "shop"
    assert found["instructions"] == "Ask about orders.\nBe kind."
    assert found["offers"]["prompts"] == ["letter"]
    assert "tools" in found["capabilities"]


def test_a_list_of_one_kind_has_a_line_for_each(ask: Any) -> None:
    status, out, err = ask("list", "tools")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "add\ta: integer, [b: number]\tAdd two numbers."
    assert "hostile\t\tSay what a terminal would obey: \\x1b[31m[red]." in out.splitlines()


def test_a_list_of_all_kinds_names_the_kind(ask: Any) -> None:
    status, out, err = ask("list")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert "resources\tshop://orders\torders\ttext/plain\tList the orders." in lines
    assert "templates\tshop://orders/{number}\tone_order\t\tShow one order." in lines
    assert "prompts\tletter\tto, [tone]\tWrite a letter." in lines


def test_options_may_stand_among_the_words(run: Any, url: str) -> None:
    status, out, _ = run("list", url, "prompts", "--json", "templates")
    assert status == 0
    found = json.loads(out)
    assert [entry["name"] for entry in found["prompts"]] == ["letter"]
    assert [entry["uriTemplate"] for entry in found["templates"]] == ["shop://orders/{number}"]


def test_a_server_may_offer_nothing(run: Any) -> None:
    from mcp_wsgi import Server

    with serving(WSGIApp(Server("empty"), auth=public)) as empty:
        assert run("list", empty) == (0, "", "The server offers nothing.\n")
        assert run("list", empty, "tools") == (0, "", "The server has no tools.\n")
        status, out, _ = run("inspect", empty)
        assert status == 0
        assert "Can do:  logging\n" in out
        assert json.loads(run("inspect", empty, "--json")[1])["offers"]["tools"] is None


def test_in_a_terminal_lists_are_tables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = terminal(monkeypatch, columns=100)
    assert main(["list", url]) == 0
    shown = out.getvalue()
    for title in ("Tools", "Resources", "Templates", "Prompts"):
        assert title in shown
    assert "\x1b[36m" in shown
    assert "\\x1b[31m[red]" in shown
    assert err.getvalue() == ""


@pytest.mark.parametrize("plain", ["--plain", "NO_COLOR", "TERM", "rich"])
def test_a_terminal_may_be_asked_for_plain_text(url: str, monkeypatch: pytest.MonkeyPatch, plain: str) -> None:
    out, _ = terminal(monkeypatch)
    if plain == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    elif plain == "TERM":
        monkeypatch.setenv("TERM", "dumb")
    elif plain == "rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["list", url, "prompts", *([plain] if plain == "--plain" else [])]) == 0
    assert out.getvalue() == "letter\tto, [tone]\tWrite a letter.\n"


def test_in_a_terminal_inspect_is_wrapped(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = terminal(monkeypatch, columns=40)
    assert main(["inspect", url]) == 0
    assert "\x1b[1mServer " in out.getvalue()
    assert max(len(line) for line in out.getvalue().splitlines()) < 60


# Calling


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["add", "a=2"], "2.5\n"),
        (["add", "a=2", "b=3"], "5.0\n"),
        (["add", '{"a": 2, "b": 3.5}'], "5.5\n"),
        (["add", "a:=2"], "2.5\n"),
    ],
)
def test_a_tool_is_called(ask: Any, words: list[str], out: str) -> None:
    assert ask("call", *words) == (0, out, "")


def test_values_have_the_types_of_the_schema(run: Any, url: str) -> None:
    words = ["text=5", "count=5", "ratio=5", "flag=true", 'tags=["a"]', 'mapping:={"b": 1}']
    status, out, _ = run("call", url, "describe", *words)
    assert status == 0
    assert json.loads(out) == {"text": "5", "count": 5, "ratio": 5, "flag": True, "tags": ["a"], "mapping": {"b": 1}}


def test_arguments_may_come_by_standard_input(run: Any, url: str) -> None:
    assert run("call", url, "add", "-", "--plain", "b=1", stdin='{"a": 4}') == (0, "5.0\n", "")


def test_for_a_program_the_whole_result_is_printed(run: Any, url: str) -> None:
    status, out, err = run("call", url, "add", "--json", '{"a": 1}')
    assert (status, err) == (0, "")
    assert json.loads(out)["structuredContent"] == 1.5


def test_content_of_every_kind_is_shown(run: Any, url: str) -> None:
    assert run("call", url, "media") == (
        0,
        "a text\n[image: image/png, 3 bytes]\n[link: shop://orders orders]\ninside\n[image/gif: shop://b, 1 bytes]\n",
        "",
    )


def test_a_tool_that_fails_has_a_status_of_its_own(ask: Any) -> None:
    assert ask("call", "fail") == (1, "There is no stock\n", "mcp-wsgi: the tool says that it failed.\n")
    status, out, _ = ask("call", "fail", "--json")
    assert (status, json.loads(out)["isError"]) == (1, True)


def test_what_the_server_refuses_has_another(ask: Any) -> None:
    status, out, err = ask("call", "nothing", "a=b")
    assert (status, out) == (4, "")
    assert err == "mcp-wsgi: the server refuses (-32602): Unknown tool: nothing.\n"


def test_with_v_progress_logs_and_causes_are_told(run: Any, url: str) -> None:
    status, out, err = run("call", url, "count", "to=2", "-v")
    assert (status, out) == (0, "counted to 2\n")
    assert err == (
        "1/2 at 1\n2/2 at 2\nmcp-wsgi: server, warning: {'counted': 2}\nmcp-wsgi: server, info: done \\x1b[1m\n"
    )
    status, out, err = run("call", url, "nothing", "-v")
    assert status == 4
    assert "InvalidParamsError: " in err
    assert run("call", url, "count", "to=2") == (0, "counted to 2\n", "")


def test_in_a_terminal_progress_is_a_bar(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = terminal(monkeypatch)
    assert main(["call", url, "count", "to=3"]) == 0
    assert out.getvalue() == "counted to 3\n"
    assert "count: at 3" in err.getvalue()
    assert "100%" in err.getvalue()


def test_what_a_server_says_is_harmless_in_a_terminal(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = terminal(monkeypatch)
    assert main(["call", url, "hostile"]) == 0
    shown = out.getvalue()
    assert "\\x1b[2J\\x1b]0;title\\x07[bold red]red[/] \\u202ekcab\\x9b31m\\ud800\n[link=file:///]x[/link]" in shown
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown


def test_a_question_to_a_model_cannot_be_answered(run: Any, url: str) -> None:
    status, out, err = run("call", url, "think")
    assert (status, out) == (4, "")
    assert "-32021" in err


def asking(*methods: str) -> Any:
    """Make an application whose tools ask whatever is allowed."""

    def application(environ: Any, start_response: Any) -> list[bytes]:
        message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        result: dict[str, Any] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}
        if message["method"] == "tools/call":
            asked = {str(number): {"method": method, "params": {}} for number, method in enumerate(methods)}
            result = {"resultType": "input_required", "inputRequests": asked, "requestState": "x"}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return application


def test_what_a_server_asks_and_nobody_answers_is_named(run: Any) -> None:
    with serving(asking("sampling/createMessage", "roots/list")) as found:
        status, out, err = run("call", found, "tool")
    assert (status, out) == (1, "")
    assert err == (
        "mcp-wsgi: The server asks for something that this command cannot give: roots/list, sampling/createMessage.\n"
    )


# Reading, prompts, completion


def test_a_resource_goes_out_byte_by_byte(tmp_path: Path, url: str) -> None:
    def read(uri: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "mcp_wsgi", "read", url, uri, *words]
        return subprocess.run(command, env=environ(tmp_path), capture_output=True, timeout=SECONDS, check=False)

    assert read("shop://logo").stdout == b"\x89PNG\x00"
    assert read("shop://orders").stdout == b"1 lamp\n2 chairs \x1b[31m\n"
    assert json.loads(read("shop://orders/7", "--json").stdout)["contents"][0]["text"] == "order 7"


def test_a_resource_is_written_into_a_file(run: Any, url: str, tmp_path: Path) -> None:
    file = tmp_path / "logo.png"
    assert run("read", url, "shop://logo", "--output", str(file)) == (0, "", "")
    assert file.read_bytes() == b"\x89PNG\x00"
    status, out, _ = run("read", url, "shop://orders", "-o", str(file), "--json")
    assert (status, file.read_bytes()) == (0, b"1 lamp\n2 chairs \x1b[31m\n")
    assert json.loads(out)["contents"]
    status, _, err = run("read", url, "shop://logo", "-o", str(tmp_path))
    assert (status, err) == (1, f"mcp-wsgi: {str(tmp_path)!r} cannot be written: Is a directory.\n")


def test_in_a_terminal_a_resource_is_harmless(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = terminal(monkeypatch)
    assert main(["read", url, "shop://orders"]) == 0
    assert "2 chairs \\x1b[31m" in out.getvalue()
    assert main(["read", url, "shop://logo"]) == 0
    assert "[image/png: shop://logo, 5 bytes]" in out.getvalue()


def test_a_resource_that_does_not_exist_is_refused(ask: Any) -> None:
    status, out, err = ask("read", "shop://none")
    assert (status, out) == (4, "")
    assert "-32602" in err


def reading(*contents: Any) -> Any:
    def application(environ: Any, start_response: Any) -> list[bytes]:
        message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "contents": contents}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return application


def test_contents_that_cannot_be_read_are_named(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(reading({"uri": "a:b", "blob": "?"}, {"uri": "a:c", "text": "x"})) as found:
        assert run("read", found, "a:b")[0] == 3
        assert "has 2 contents, not one" in run("read", found, "a:b", "-o", str(tmp_path / "x"))[2]
        out, _ = terminal(monkeypatch)
        assert main(["read", found, "a:b"]) == 0
    assert '{"uri": "a:b", "blob": "?"}\n' in out.getvalue()


def test_a_prompt_is_filled_in(ask: Any) -> None:
    assert ask("prompt", "letter", "to=Ada", "tone=cold") == (0, "user:\nWrite a cold letter to Ada.\n", "")
    status, out, _ = ask("prompt", "letter", "to=Ada", "--json")
    assert (status, json.loads(out)["messages"][0]["role"]) == (0, "user")
    assert ask("prompt", "letter")[0] == 4


def test_a_value_is_completed(ask: Any) -> None:
    assert ask("complete", "prompt:letter", "to", "a") == (0, "ada\nalan\n", "")
    assert ask("complete", "prompt:letter", "to") == (0, "ada\nalan\ngrace\n", "")
    assert ask("complete", "prompt:letter", "to", "--context", "tone=cold") == (0, "ajax\n", "")
    status, out, _ = ask("complete", "prompt:letter", "to", "g", "--json")
    assert (status, json.loads(out)["completion"]["values"]) == (0, ["grace"])


def test_an_entry_of_a_server_cannot_pass_for_several(run: Any) -> None:
    def odd(message: dict[str, Any]) -> dict[str, Any]:
        results: dict[str, dict[str, Any]] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"completions": {}, "resources": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            },
            "completion/complete": {"completion": {"values": ["one\ntwo"]}},
            "resources/list": {"resources": [{"uri": "a://b\nc://d", "name": "e"}]},
            "resources/templates/list": {"resourceTemplates": []},
        }
        return {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            start_response("405 Method Not Allowed", [])
            return []
        message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        body = json.dumps(odd(message)).encode() if "id" in message else b""
        start_response("200 OK" if body else "202 Accepted", [("Content-Type", "application/json")])
        return [body]

    with serving(application) as found:
        pinned = ("--protocol-version", "2025-11-25")
        assert run("complete", found, "prompt:p", "a", *pinned) == (0, "one\\ntwo\n", "")
        assert "a://b\\nc://d\n" in run("inspect", found, *pinned)[1]


def test_a_server_may_complete_nothing(run: Any) -> None:
    from mcp_wsgi import Server

    with serving(WSGIApp(Server("empty"), auth=public)) as found:
        status, out, err = run("complete", found, "prompt:letter", "to")
    assert (status, out) == (4, "")
    assert err.endswith(" It does not have this method; `mcp-wsgi inspect` shows what it offers.\n")


def test_that_there_are_more_values_is_said(run: Any) -> None:
    def application(environ: Any, start_response: Any) -> list[bytes]:
        message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        result = {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "completion": {"values": ["a"], "total": 2},
        }
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    with serving(application) as found:
        assert run("complete", found, "resource:a:{b}", "b") == (0, "a\n", "There are more.\n")


# Listening


def test_changes_are_told_as_they_happen(tmp_path: Path, url: str) -> None:
    command = [sys.executable, "-m", "mcp_wsgi", "listen", url, "--tools", "--resource", "shop://orders", "--json"]
    process = subprocess.Popen(
        command, env=environ(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert process.stderr.readline() == "Listening: toolsListChanged, resourceSubscriptions\n"
        assert main(["call", url, "change"]) == 0
        lines = [json.loads(process.stdout.readline())["method"] for _ in range(2)]
        assert sorted(lines) == ["notifications/resources/updated", "notifications/tools/list_changed"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert errors == "mcp-wsgi: interrupted\n"


def test_listening_ends_after_the_seconds_that_are_given(ask: Any) -> None:
    status, out, err = ask("listen", "--seconds", "0.3")
    assert (status, out) == (0, "")
    assert err == "Listening: toolsListChanged, promptsListChanged, resourcesListChanged\n"


def test_changes_are_told_in_words(url: str, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    note = Output.note

    def change(output: Output, text: str) -> None:
        note(output, text)
        if text.startswith("Listening: "):
            server.notify_resource_updated("shop://orders")
            server.notify_prompts_changed()
            server.close()  # ends the subscription, but not before all is told

    monkeypatch.setattr(Output, "note", change)
    status, out, _ = run("listen", url, "--prompts", "--resource", "shop://orders")
    assert status == 0
    assert sorted(out.splitlines()) == ["prompts: list changed", "resources: updated shop://orders"]


def test_that_the_server_ends_the_subscription_is_said(run: Any) -> None:
    with serving(WSGIApp(server, auth=public, policy=HTTPPolicy(listen_lifetime=0.3))) as found:
        assert run("listen", found, "--tools") == (
            0,
            "",
            "Listening: toolsListChanged\nThe server has ended the subscription.\n",
        )


def test_a_server_that_tells_of_nothing_is_named(run: Any) -> None:
    from mcp_wsgi import Server

    with serving(WSGIApp(Server("empty"), auth=public, policy=HTTPPolicy(keep_alive=1))) as found:
        status, _, err = run("listen", found, "--resource", "a:b")
    assert (status, err) == (1, "mcp-wsgi: The server tells of none of these changes.\n")


# What goes wrong


def only_ada(request: HTTPRequest) -> str:
    header = request.header("Authorization") or ""
    if header == "Bearer wrong":
        raise AuthenticationError("No", status=403)
    if header != "Bearer s3cret" or request.header("X-Tenant") != "a, b":
        raise AuthenticationError("Who?")
    return "ada"


def test_a_server_may_want_to_know_who_calls(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    monkeypatch.setenv("WRONG", "wrong")
    tenant = ["--header", "X-Tenant: a", "--header", "X-Tenant: b"]
    with serving(WSGIApp(server, auth=only_ada)) as found:
        assert run("call", found, "add", "a=1", "--bearer-env", "TOKEN", *tenant) == (0, "1.5\n", "")
        status, _, err = run("list", found)
        assert (status, err) == (
            5,
            f"mcp-wsgi: {found}: the server wants to know who calls (HTTP 401). Give a token: --bearer-env NAME.\n",
        )
        status, _, err = run("list", found, "--bearer-env", "TOKEN")
        assert status == 5
        assert "does not take the token" in err
        assert "s3cret" not in err
        status, _, err = run("list", found, "--bearer-env", "WRONG")
        assert status == 5
        assert "does not allow this (HTTP 403)" in err


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["list", "http://127.0.0.1:1/mcp"], 3, "http://127.0.0.1:1/mcp: "),
        (["list", "http://127.0.0.1:1/mcp", "-v"], 3, "Error: "),
        (["list", "tools", "URL"], 2, "'tools' is no URL. Name the server first by its URL, or last by its command"),
        (["list", "http://"], 2, "http://"),
        (["list", "URL", "tolls"], 2, "There is no kind 'tolls'. There are: tools, resources, templates, prompts."),
        (["list", "URL", "--protocol-version", "1.0"], 2, "invalid choice: '1.0'"),
        (["list", "URL", "--env", "A=1"], 2, "--env and --cwd are for a command, not for a URL."),
        (["list", "URL", "--env", "A"], 2, "an environment variable is written NAME=value"),
        (["list", "--header", "A: b", "--", "x"], 2, "--header and --bearer-env are for a URL, not for a command."),
        (["list", "--"], 2, "the command of the server is missing behind --"),
        (["serve", "a:b", "--", "x"], 2, "serve takes no command behind --"),
        (["doctor", "URL", "--", "x"], 2, "doctor takes no command behind --"),
        (["list", "URL", "--wrong"], 2, "unrecognized arguments: --wrong"),
        (["inspect", "URL", "more"], 2, "unrecognized arguments: more"),
        (["call", "URL"], 2, "the following arguments are required: TOOL"),
        (["call", "URL", "add", "a=x"], 2, "The argument 'a' is of type integer; 'x' is none."),
        (["call", "URL", "add", "x"], 2, "An argument is written name=value"),
        (["complete", "URL", "letter", "to"], 2, "Write prompt:NAME or resource:TEMPLATE"),
        (["complete", "URL", "prompt:letter", "to", "--context", "x"], 2, "An argument of --context is written"),
        (["prompt", "URL", "letter", "x"], 2, "An argument is written name=value"),
        (["listen", "URL", "--seconds", "-1"], 2, "not a number of seconds"),
    ],
)
def test_what_goes_wrong_is_told_in_a_line(run: Any, url: str, words: list[str], status: int, message: str) -> None:
    found, out, err = run(*(url if word == "URL" else word for word in words))
    assert (found, out) == (status, "")
    assert message in err
    assert "Traceback" not in err or "-v" in words


def test_passwords_and_queries_are_not_shown(run: Any) -> None:
    status, out, err = run("list", "http://ada:s3cret@127.0.0.1:1/mcp?token=s3cret")
    assert (status, out) == (3, "")
    assert err.startswith("mcp-wsgi: http://127.0.0.1:1/mcp: ")
    assert "s3cret" not in err
    status, _, err = run("list", "http://[s3cret")
    assert status in (2, 3)
    assert "Traceback" not in err


def test_a_silent_server_is_given_up(run: Any) -> None:
    over = threading.Event()

    def application(environ: Any, start_response: Any) -> list[bytes]:
        over.wait(30)
        start_response("500 No", [])
        return []

    with serving(application) as found:
        status, _, err = run("list", found, "--timeout", "0.2", "--protocol-version", "2026-07-28")
        over.set()
    assert status == 3
    assert "Allow it more time with --timeout." in err


def test_a_page_is_no_server(run: Any) -> None:
    def application(environ: Any, start_response: Any) -> list[bytes]:
        start_response("500 No", [("Content-Type", "text/html")])
        return [b"<h1>Sorry \x1b[31m</h1>"]

    with serving(application) as found:
        status, _, err = run("list", found)
    assert status == 3
    assert "HTTP 500 (text/html)" in err
    assert "doctor" in err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([sys.executable, "-c", "import sys; sys.exit('no \x1b[31mdatabase')"], "Does the command run by itself?"),
        (["no-such-command-anywhere"], "no-such-command-anywhere"),
    ],
)
def test_a_command_that_does_not_run_is_named(
    run: Any, monkeypatch: pytest.MonkeyPatch, command: list[str], message: str
) -> None:
    # However late it is seen that the command has ended, that is what is told, and not that it took nothing more.
    monkeypatch.setattr("mcp_wsgi.transport.stdio._MOMENT", 10.0)
    status, out, err = run("list", "tools", "--", *command)
    assert (status, out) == (3, "")
    assert message in err
    assert "\x1b" not in err
    assert "Traceback" not in err


def test_a_command_has_the_folder_and_environment_that_are_given(run: Any, tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text(
        "import os\nfrom mcp_wsgi import Server\nserver = Server('where')\n"
        "@server.tool\ndef where() -> str:\n    return os.path.basename(os.getcwd()) + os.environ['A']\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    program = ["--", sys.executable, "-m", "mcp_wsgi", "stdio", "where:server"]
    words = ["--cwd", str(tmp_path), "--env", "A=1", "--env", f"PYTHONPATH={root}"]
    assert run("call", "where", *words, *program) == (0, f"{tmp_path.name}1\n", "")


def test_warnings_of_the_client_are_told_in_a_line(run: Any) -> None:
    def application(environ: Any, start_response: Any) -> list[bytes]:
        message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        result["tools"] = [{"name": ""}, {"name": "a", "inputSchema": {"type": "object"}}]
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    with serving(application) as found:
        status, out, err = run("list", found, "tools")
    assert (status, out) == (0, "a\t\t\n")
    assert err.startswith("mcp-wsgi: warning: ")
    assert len(err.splitlines()) == 1


def test_a_reader_that_leaves_is_no_error(tmp_path: Path, url: str) -> None:
    command = [sys.executable, "-m", "mcp_wsgi", "listen", url, "--tools"]
    process = subprocess.Popen(
        command, env=environ(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.readline()
        process.stdout.close()
        server.notify_tools_changed()
        assert process.stderr.read() == ""
        assert process.wait(SECONDS) == 1
