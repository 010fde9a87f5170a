"""What the doctor says of good servers and of bad ones."""

from __future__ import annotations

import re

import pytest

from mcp_wsgi import HTTPRequest, public
from mcp_wsgi.cli import main
from mcp_wsgi.cli.doctor import overall, wellknown
from mcp_wsgi.cli.doctor.examination import CHECKS, _redirected
from mcp_wsgi.cli.doctor.findings import Verdict
from mcp_wsgi.cli.doctor.patient import Patient
from mcp_wsgi.cli.doctor.raw import Answer, Sent, Wire
from mcp_wsgi.cli.doctor.web import is_loopback
from mcp_wsgi.wsgi import WSGIApp
from tests.cli import bad_server
from tests.cli.bad_server import FAULTS, WORST, running, serving
from tests.cli.examining import PATIENCE, examine
from tests.cli.terminal import terminal
from tests.cli.test_serving import status_of

OK, NOTE, SOME, BROKEN, SKIPPED = Verdict.OK, Verdict.NOTE, Verdict.SOME, Verdict.BROKEN, Verdict.SKIPPED

pytestmark = pytest.mark.usefixtures("patient_doctor")

#: The limits as they are, which tests have more time than.
LIMITS = (wellknown._SLOW_SECONDS, overall._SLOW_SECONDS, overall._TOO_SLOW_SECONDS)


def test_a_good_server_has_nothing_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    with running() as url:
        status, findings = examine(capsys, url)
    assert status == 0
    assert [each for each in findings.values() if each["verdict"] not in ("ok", "not-checked")] == []
    assert {name for name, each in findings.items() if each["verdict"] == "not-checked"} == {
        *("session-missing", "session-id", "event-stream-headers")
    }
    assert findings.keys() == {check.id for check in CHECKS}


#: Each fault, the check that finds it, what it says of it.
FOUND: list[tuple[str, str, Verdict, str]] = [
    ("any-origin", "hostile-origin", NOTE, "The Origin is not checked"),
    ("any-origin access-for-all", "hostile-origin", BROKEN, "Any web page"),
    ("access-for-all", "hostile-origin", OK, "refused with HTTP 403"),
    ("any-host", "hostile-host", NOTE, "the Host is not"),
    ("any-origin any-host", "hostile-host", BROKEN, "DNS rebinding"),
    ("any-type", "content-type-text", BROKEN, "The type text/plain is served"),
    ("untyped", "content-type-text", NOTE, "without a type"),
    *(
        ("headers-unread", f"header-{name}", BROKEN, "what a proxy let pass is not what the server executes")
        for name in (
            *("version-mismatch", "version-missing", "version-twice", "method-mismatch", "method-missing"),
            *("method-twice", "name-mismatch", "name-missing", "name-twice"),
        )
    ),
    ("first-line-taken", "header-version-repeated", NOTE, "another of the lines"),
    ("first-line-taken", "header-version-twice", OK, "-32020"),
    ("last-key-taken", "duplicate-keys", NOTE, "It is served"),
    ("last-key-taken no-modern", "duplicate-keys", NOTE, "It is served"),
    ("no-modern", "duplicate-keys", OK, "-32700"),
    ("envelope-not-needed", "envelope-missing", NOTE, "does not say what its client can do"),
    ("envelope-refused-otherwise", "envelope-missing", NOTE, "not with 400"),
    ("chunks-unread", "chunked", SOME, "answered with HTTP 400"),
    ("length-needed", "chunked", NOTE, "411"),
    ("null-id-is-none", "null-id", SOME, "taken for a notification"),
    ("null-id-served", "null-id", NOTE, "It is answered"),
    ("no-modern", "modern-discover", NOTE, "does not speak 2026-07-28"),
    ("no-modern", "modern-unknown-method", SKIPPED, "does not speak the modern era"),
    ("no-modern-by-200", "modern-discover", SOME, "take this answer for a failure"),
    ("discover-lacks", "modern-discover", SOME, "lacks capabilities"),
    ("untyped-result", "modern-discover", SOME, "no resultType"),
    ("no-legacy", "legacy-initialize", SOME, "refuses the older handshake, and says so"),
    ("no-legacy-unsaid", "legacy-initialize", SOME, "does not speak the versions with a handshake"),
    ("no-legacy", "legacy-ping", SKIPPED, "does not speak the legacy era"),
    ("own-version", "legacy-initialize", SOME, "answers the version '1.0"),
    ("parrot", "legacy-newer-version", NOTE, "a version that does not exist"),
    ("exact-version", "legacy-newer-version", SOME, "newer than the server is refused"),
    ("no-header-on-initialize", "legacy-version-header", SOME, "is refused"),
    ("any-version-header", "legacy-unknown-header", NOTE, "HTTP 200; 400 is"),
    ("notification-answered", "notification", SOME, "an answer with a body"),
    ("notification-204", "notification", SOME, "204"),
    ("notification-refused", "notification", BROKEN, "refused with HTTP 400"),
    ("ids-as-text", "ids", BROKEN, "The id 0 comes back as '0'"),
    ("unknown-method-200", "modern-unknown-method", NOTE, "The status is 200"),
    ("unknown-method-page", "modern-unknown-method", SOME, "no error -32601"),
    ("unknown-method-404", "legacy-unknown-method", SOME, "the session has ended"),
    ("unknown-method-400", "legacy-unknown-method", SOME, "400 looks like a broken connection"),
    ("unknown-method-other-code", "legacy-unknown-method", NOTE, "-32602"),
    ("unknown-method-page", "legacy-unknown-method", SOME, "no JSON-RPC error"),
    ("unknown-method-page", "html", SOME, "unexpected token <"),
    ("unknown-tool-500", "unknown-tool", NOTE, "HTTP 500"),
    ("unknown-tool-works", "unknown-tool", NOTE, "is said to have worked"),
    ("unknown-tool-page", "unknown-tool", SOME, "neither a result nor"),
    ("no-ping", "legacy-ping", SOME, "ping is not answered"),
    ("version-unknown-unsaid", "version-unknown", SOME, "does not say which versions"),
    ("version-unknown-other", "version-unknown", SOME, "no error -32022"),
    ("version-unknown-200", "version-unknown", NOTE, "The status is 200"),
    ("mismatch-200", "header-version-missing", NOTE, "with HTTP 200 in place of 400"),
    ("mismatch-other", "header-version-missing", NOTE, "not with -32020"),
    ("mismatch-500", "header-version-missing", SOME, "neither served nor refused"),
    ("get-page", "get", BROKEN, "200 and text/html"),
    ("get-stream", "get", OK, "event stream"),
    ("get-login", "get", SOME, "a login where POST does not"),
    ("get-404", "get", SOME, "HTTP 404"),
    ("get-unallowed", "get", NOTE, "without an Allow header"),
    ("head-hangs", "head", SOME, "did not answer in time"),
    ("head-500", "head", SOME, "HTTP 500"),
    ("slash-redirects", "path-slash", SOME, "/mcp/ redirects"),
    ("slash-404", "path-slash", NOTE, "/mcp/ is answered with HTTP 404"),
    ("slash-500", "path-slash", SOME, "/mcp/ makes the server fail"),
    ("bare-redirects", "redirect", SOME, "The URL redirects"),
    ("bare-redirects", "path-slash", SOME, "/mcp?... redirects"),
    ("redirects-away", "redirect", BROKEN, "to another server"),
    ("options-login", "preflight", SOME, "browsers send no credentials"),
    ("no-pages-allowed", "preflight", NOTE, "may not call"),
    ("options-for-all any-origin", "preflight", SOME, "and without access to it"),
    ("post-without-access", "preflight", SOME, "the POST is answered with HTTP 200"),
    ("options-credentials", "preflight", SOME, "browsers refuse"),
    ("options-few-headers", "preflight", SOME, "may not send: authorization, mcp-protocol-version"),
    ("options-no-params", "preflight", NOTE, "Mcp-Param-*"),
    ("no-vary", "preflight", NOTE, "depends on Origin"),
    ("sessions nothing-exposed", "preflight", SOME, "may not read the session id"),
    ("hostile-origin-400", "hostile-origin", OK, "HTTP 400"),
    ("only-both-accepted", "accept-any", SOME, "HTTP 406 (modern)"),
    ("only-both-accepted", "accept-json", SOME, "HTTP 406"),
    ("only-both-accepted", "accept-events", SOME, "HTTP 406"),
    ("only-both-accepted", "accept-none", SOME, "HTTP 406"),
    ("exact-type", "content-type-charset", SOME, "HTTP 415"),
    ("exact-type", "content-type-case", SOME, "HTTP 415"),
    ("parse-500", "invalid-json", BROKEN, "Half a JSON object makes the server fail with HTTP 500"),
    ("parse-200", "invalid-json", NOTE, "on HTTP 200 in place of 400"),
    ("parse-silent", "invalid-json", NOTE, "without a JSON-RPC error"),
    ("parse-accepted", "invalid-json", SOME, "HTTP 202 and no error"),
    ("batches", "batch", NOTE, "Batches are served"),
    ("pages", "html", SOME, "HTML page"),
    ("sessions", "session-unknown", OK, "begin a new one"),
    ("sessions", "session-missing", OK, "400"),
    ("sessions", "session-id", OK, "long"),
    ("sessions-400", "session-unknown", SOME, "HTTP 400, so clients do not begin a new session"),
    ("sessions-any", "session-unknown", NOTE, "was never given out is accepted"),
    ("sessions-any", "session-missing", OK, "It is served"),
    ("sessions-403", "session-missing", NOTE, "HTTP 403"),
    ("sessions-short", "session-id", NOTE, "short enough to be guessed"),
    ("sessions-unprintable", "session-id", SOME, "characters that headers do not carry"),
    ("session-unexpected", "session-unknown", SOME, "a session id is refused"),
    ("unshared-workers", "session-workers", BROKEN, "workers do not share their sessions"),
    ("lost-sessions", "session-workers", BROKEN, "No request after initialize"),
    ("no-tools", "tools-list", NOTE, "no tools"),
    ("no-tools", "tools-schemas", SKIPPED, "no tools"),
    ("no-tools", "tools-pages", SKIPPED, "no tools"),
    ("empty-tools", "tools-schemas", SKIPPED, "no tools"),
    ("tools-fail", "tools-list", BROKEN, "cannot be listed"),
    ("tool-unnamed", "tools-schemas", BROKEN, "no name"),
    ("tool-untyped", "tools-schemas", BROKEN, "not of type object"),
    ("tool-odd-name", "tools-schemas", SOME, "other characters"),
    ("tool-dotted-name", "tools-schemas", NOTE, "a dot or slash"),
    ("tool-union", "tools-schemas", NOTE, "several types"),
    ("endless-pages", "tools-pages", SOME, "ask on for ever"),
    ("several-pages", "tools-pages", NOTE, "several pages"),
    ("catch-all", "well-known", SOME, "200 and text/html that is no JSON"),
    ("well-known-login", "well-known", SOME, "HTTP 401"),
    ("well-known-slow", "well-known", SOME, " s; clients give up."),
    ("login", "login", NOTE, "not at the usual paths"),
    ("login-bare", "login", NOTE, "no metadata"),
    ("login-unsaid", "login", SOME, "does not say what it wants"),
    ("login metadata", "login", OK, "names this URL"),
    ("login metadata-slash", "login", SOME, "by a slash"),
    ("login metadata-inner", "login", SOME, "is not this URL"),
    ("login metadata-empty", "login", SOME, "lacks resource"),
    ("login", "preflight", OK, "without a login"),
    ("login options-login", "preflight", SOME, "browsers send no credentials"),
    ("login", "legacy-ping", SKIPPED, "does not let us in"),
    ("login", "ids", SKIPPED, "does not let us in"),
    ("slow", "time", NOTE, "The slowest answer took "),
    ("limited", "legacy-ping", SKIPPED, "limits how often"),
    ("web-site", "protocol", BROKEN, "a web page, not an MCP server"),
    ("nothing", "protocol", BROKEN, "No MCP server answers"),
    ("old-transport", "protocol", SOME, "Only the transport of 2024-11-05"),
    ("stream", "event-stream-headers", OK, "not to hold them back"),
    ("stream-cached", "event-stream-headers", NOTE, "Cache-Control"),
    ("stream-buffered", "event-stream-headers", NOTE, "X-Accel-Buffering"),
]
_send = Wire.send


def only_heads_are_given_up(wire: Wire, sent: Sent) -> Answer:
    """Send a request, with no patience for what is never answered and with all for what is."""
    wire.timeout = 0.3 if sent.method == "HEAD" else PATIENCE
    return _send(wire, sent)


#: The checks that need those before them.
AFTER_OTHERS = {"html", "time", "event-stream-headers"}
BEGINNING = {"redirect", "protocol", "login"}


@pytest.mark.parametrize(
    ("faults", "check", "verdict", "says"), FOUND, ids=[f"{faults}: {check}" for faults, check, *_ in FOUND]
)
def test_a_fault_is_found(
    faults: str,
    check: str,
    verdict: Verdict,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "slow" in faults:  # which takes longer than this on any machine
        monkeypatch.setattr("mcp_wsgi.cli.doctor.wellknown._SLOW_SECONDS", bad_server.SLOW_SECONDS / 2)
        monkeypatch.setattr("mcp_wsgi.cli.doctor.overall._SLOW_SECONDS", bad_server.SLOW_SECONDS / 2)
    if "hangs" in faults:
        monkeypatch.setattr(Wire, "send", only_heads_are_given_up)
    only = [] if check in AFTER_OTHERS else ["--check", "head" if check in BEGINNING else check]
    with running(*faults.split()) as url:
        status, findings = examine(capsys, url, *only)
    found = findings[check]
    assert (found["verdict"], says in found["says"]) == (verdict.value, True), found
    if verdict.is_fault:
        assert status in (1, 5)
        assert found["change"]
    if verdict not in (OK, SKIPPED):
        assert found["sent"]
        assert found["came"]


def test_every_fault_of_the_bad_server_is_used() -> None:
    assert {name for faults, *_ in FOUND for name in faults.split()} == set(FAULTS)


def test_what_is_slow_is_what_clients_do_not_wait_for() -> None:
    assert LIMITS == (3.0, 2.0, 8.0)


def test_the_slowest_answer_may_be_too_slow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_wsgi.cli.doctor.overall._TOO_SLOW_SECONDS", bad_server.SLOW_SECONDS / 2)
    with running("slow") as url:
        status, findings = examine(capsys, url, "--check", "time")
    assert (status, findings["time"]["verdict"]) == (1, "fails-for-some")


def test_the_worst_server_is_told_off_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    with running(*WORST) as url:
        assert main(["doctor", url]) == 1
    told = capsys.readouterr().out
    assert told.startswith(f"{url}\nbad 1.0, speaks 2026-07-28 and the versions before it, with sessions\n")
    assert "\nbroken: " in told
    assert "\nfails for some: " in told
    assert "\nnote: " in told
    assert "\nok: " not in told
    assert "\nAffected\n" in told
    assert "\n  every client: " in told
    assert told.index("\nbroken: ") < told.index("\nfails for some: ") < told.index("\nnote: ")
    assert max(len(line) for line in told.splitlines()) <= 110
    assert "Traceback" not in told.replace('"Traceback: no"', "")


@pytest.mark.parametrize(
    ("fault", "spoken"),
    [
        ("no-legacy", "bad 1.0, speaks 2026-07-28\n"),
        ("no-modern", "bad 1.0, speaks versions up to 2025-11-25, without sessions\n"),
        ("nothing", "speaks no version that is known\n"),
    ],
)
def test_the_report_says_what_is_spoken(fault: str, spoken: str, capsys: pytest.CaptureFixture[str]) -> None:
    with running(fault) as url:
        main(["doctor", url, "--check", "head"])
    assert capsys.readouterr().out.startswith(f"{url}\n{spoken}")


def test_with_v_what_is_fine_is_listed_too(capsys: pytest.CaptureFixture[str]) -> None:
    with running() as url:
        assert main(["doctor", url, "-v", "--check", "legacy-ping", "--check", "session-id"]) == 0
    assert capsys.readouterr().out == (
        f"{url}\n"
        "bad 1.0, speaks 2026-07-28 and the versions before it, without sessions\n"
        "not checked: the session id itself [session-id]\n"
        "  There are no sessions.\n"
        "ok: ping [legacy-ping]\n"
        "  It is answered.\n"
        "\n"
        "2 checks: 1 ok, 1 not checked.\n"
    )


def test_a_login_ends_with_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running("login", "metadata") as url:
        assert main(["doctor", url]) == 5
        told = capsys.readouterr().out
        assert "The server wants a login" in told
        monkeypatch.setenv("TOKEN", "secret")
        assert main(["doctor", url, "--bearer-env", "TOKEN", "--header", "X-Tenant: a"]) == 5
    assert "secret" not in "".join(capsys.readouterr())


def test_what_a_server_says_is_harmless_in_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    with running("own-version") as url:
        main(["doctor", url])
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "1.0\\x1b[31m" in told


def test_a_report_holds_no_query(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("-v", "--json"):
        with running() as url:
            main(["doctor", f"{url}?key=s3cret", option])
        told = capsys.readouterr().out
        assert "POST /mcp?...: " in told or option == "-v"
        assert "s3cret" not in told


@pytest.mark.parametrize("command", ["doctor", "inspect"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["ftp://ada:s3cret@127.0.0.1:1/mcp?key=s3cret"],
        ["http://127.0.0.1:s3cret/mcp"],
        ["http://ada:s3cret@[127.0.0.1/mcp?key=s3cret"],
        ["http://127.0.0.1:1/mcp?key=s3cret", "-v"],
        ["http://127.0.0.1:1/mcp", "--bearer-env", "s3cret"],
    ],
)
def test_errors_hold_no_secrets(command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, *arguments]) != 0
    told = capsys.readouterr()
    assert "s3cret" not in told.out + told.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["ftp://example.com/mcp"], 2, "This is no URL of an MCP endpoint: it does not begin with http"),
        (["example.com"], 2, "is no URL"),
        (["http://ada:s3cret@127.0.0.1:1/mcp"], 2, "it holds a password; use --header or --bearer-env."),
        (["http://127.0.0.1:99999/mcp"], 2, "is no URL"),
        (["http://127.0.0.1:1/mcp"], 3, "The server at 127.0.0.1:1 cannot be reached: "),
        (["http://nowhere.invalid/mcp"], 3, "The server at nowhere.invalid has a name that is not known"),
        (["http://127.0.0.1:1/mcp", "--check", "no"], 2, "There is no check 'no'. There are: modern-discover, "),
        (
            ["http://127.0.0.1:1/mcp", "--bearer-env", "NO_SUCH_VARIABLE"],
            2,
            "--bearer-env takes the name of an environment variable",
        ),
        (["http://127.0.0.1:1/mcp", "--header", "X"], 2, "a header is written 'Name: value'"),
        (["http://127.0.0.1:1/mcp", "--header", "X Y: 1"], 2, "a header is written 'Name: value'"),
        (["http://127.0.0.1:1/mcp", "--header", "X: a\nb"], 2, "holds a control character"),
        (["http://127.0.0.1:1/mcp", "--timeout", "0"], 2, "is not a number of seconds"),
        (["http://127.0.0.1:1/mcp", "--timeout", "soon"], 2, "'soon' is not a number of seconds"),
        ([], 2, "the following arguments are required: URL"),
    ],
)
def test_what_cannot_be_examined_is_explained(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["doctor", *arguments]) == status
    told = capsys.readouterr()
    assert message in told.err
    assert "s3cret" not in told.err
    assert told.out == ""


@pytest.mark.parametrize(
    ("faults", "check", "verdict", "says"),
    [
        ("any-origin access-for-all", "hostile-origin", NOTE, "only right for a server that is open to all"),
        ("any-origin any-host", "hostile-host", SKIPPED, "on loopback only"),
    ],
)
def test_beyond_loopback_pages_of_any_origin_may_be_meant(
    faults: str,
    check: str,
    verdict: Verdict,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_wsgi.cli.doctor.web.is_loopback", lambda _: False)
    with running(*faults.split()) as url:
        _, findings = examine(capsys, url, "--check", check)
    assert findings[check]["verdict"] == verdict.value
    assert says in findings[check]["says"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True), ("a.localhost", True)),
        *(("10.0.0.1", False), ("example.com", False), ("localhost.example.com", False)),
    ],
)
def test_loopback_is_known_by_name_and_address(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_an_endpoint_at_the_root_has_one_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(WSGIApp(bad_server.good, auth=public, path="/")) as url:
        _, findings = examine(capsys, url.removesuffix("/mcp"), "--check", "path-slash")
    assert findings["path-slash"]["verdict"] == "not-checked"


def test_our_door_with_a_login_is_clean_with_the_token_and_clear_without(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def who(request: HTTPRequest) -> str | None:
        return "ada" if request.header("Authorization") == "Bearer s3cret" else None

    monkeypatch.setenv("TOKEN", "s3cret")
    with serving(WSGIApp(bad_server.good, auth=who, policy=bad_server.POLICY)) as url:
        status, findings = examine(capsys, url, "--bearer-env", "TOKEN")
        # The standard library's server does not know chunks, and the door says so.
        assert {name for name, each in findings.items() if each["verdict"] not in ("ok", "not-checked")} == {"chunked"}
        assert status == 0
        status, findings = examine(capsys, url)
    assert status == 5
    assert {
        name: each["verdict"] for name, each in findings.items() if each["verdict"] not in ("ok", "not-checked")
    } == {"login": "note"}


def test_an_examination_is_bounded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wsgi.cli.doctor.examination._SLOW_ANSWERS", -1)
    monkeypatch.setattr("mcp_wsgi.cli.doctor.sessions._SECONDS", -1)
    with running("sessions") as url:
        status, findings = examine(capsys, url)
    assert status == 0
    assert {each["verdict"] for each in findings.values()} == {"not-checked"}


def test_in_a_terminal_the_report_has_colours_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = terminal(monkeypatch, columns=60)
    with running(*WORST) as url:
        assert main(["doctor", url]) == 1
    shown = out.getvalue()
    assert "\x1b[1;31mbroken: " in shown
    assert "\x1b[1;33mfails for some: " in shown
    assert "doctor: " in err.getvalue()
    for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines():
        assert len(line) < 60 or line.startswith(("broken: ", "fails for some: ", "note: ", "bad ", "52 checks: "))


def test_a_token_has_to_be_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "a\x01b")
    assert main(["doctor", "http://127.0.0.1:1/", "--bearer-env", "TOKEN"]) == 2
    assert capsys.readouterr().err == "mcp-wsgi: What 'TOKEN' holds is no bearer token.\n"


def test_a_redirect_that_leaves_https_is_named() -> None:
    wire = Wire("https://shop.example/mcp")
    answer = Answer(status=301, headers=[("location", "http://shop.example/mcp/")])
    opinion = _redirected(Patient(wire=wire, path=wire.path), answer)
    assert opinion.verdict is BROKEN
    assert "from https to http" in opinion.says
