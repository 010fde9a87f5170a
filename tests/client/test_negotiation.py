"""Which era a server speaks, decided by what it answers (2026-07-28, basic/versioning; both transports)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import ErrorCode, MCPError
from mcp_wsgi.client.negotiation import Discover, Handshake, Negotiation, OldTransport, Settled, Step
from mcp_wsgi.exceptions import (
    ClientClosedError,
    ClientError,
    HTTPStatusError,
    NegotiationError,
    RemoteProtocolError,
    RequestTimeoutError,
    ServerExitedError,
    SessionExpiredError,
    TransportError,
    UnauthorizedError,
)

MODERN, LEGACY = "2026-07-28", "2025-11-25"
LATER = "2027-01-01"


def discovered(*versions: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": list(versions), "capabilities": {}}}


def shaken(version: Any = LEGACY) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "result": {"protocolVersion": version, "capabilities": {}}}


def refused(code: int, data: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": "No", "data": data}}


def unsupported(*versions: Any) -> dict[str, Any]:
    return refused(-32022, {"supported": list(versions), "requested": MODERN})


def after(*happened: dict[str, Any] | ClientError, **options: Any) -> Step:
    """Give the step that follows when these things happen one after the other."""
    negotiation = Negotiation(**options)
    step = negotiation.start()
    for each in happened:
        step = negotiation.failed(each) if isinstance(each, ClientError) else negotiation.answered(each)
    return step


def test_the_first_question_is_one_discovery_at_the_newest_modern_version() -> None:
    assert after() == Discover(MODERN)
    assert after(modern=(MODERN, LATER)) == Discover(LATER)


def test_a_discovery_with_our_version_is_modern_and_its_result_is_kept() -> None:
    answer = discovered("2024-10-07", MODERN, LEGACY)
    assert after(answer) == Settled(MODERN, modern=True, result=answer["result"])


def test_a_discovery_without_our_version_goes_on_at_another_modern_one_that_both_know() -> None:
    assert after(discovered(MODERN), modern=(MODERN, LATER)) == Discover(MODERN)
    assert after(discovered(MODERN), discovered(MODERN), modern=(MODERN, LATER)) == Settled(
        MODERN, modern=True, result=discovered(MODERN)["result"]
    )


@pytest.mark.parametrize("versions", [(), (LEGACY,), ("2099-01-01",), (None, 5, [MODERN])])
def test_a_discovery_without_a_modern_version_that_both_know_shakes_hands(versions: tuple[Any, ...]) -> None:
    assert after(discovered(*versions)) == Handshake(LEGACY)


@pytest.mark.parametrize("result", [{}, {"supportedVersions": MODERN}, {"supportedVersions": None}, None, [MODERN]])
def test_a_result_that_names_no_versions_is_no_proof(result: Any) -> None:
    assert after({"jsonrpc": "2.0", "id": 1, "result": result}) == Handshake(LEGACY)


def test_unsupported_version_goes_on_with_what_the_server_names() -> None:
    assert after(unsupported(MODERN)) == Discover(MODERN)  # the same one: asked once more, and not for ever
    with pytest.raises(RemoteProtocolError, match="supported, and refuses it"):
        after(unsupported(MODERN), unsupported(MODERN))
    assert after(unsupported(MODERN), modern=(MODERN, LATER)) == Discover(MODERN)
    assert after(unsupported(LEGACY)) == Handshake(LEGACY)


@pytest.mark.parametrize("data", [None, [], "x", {}, {"supported": None}, {"supported": [1]}])
def test_unsupported_version_without_versions_shakes_hands(data: Any) -> None:
    assert after(refused(-32022, data)) == Handshake(LEGACY)


@pytest.mark.parametrize("code", [-32020, -32021])
def test_the_other_modern_errors_are_raised_as_they_are(code: int) -> None:
    with pytest.raises(MCPError) as caught:
        after(refused(code, {"a": 1}))
    assert (caught.value.code, caught.value.data) == (code, {"a": 1})


@pytest.mark.parametrize("code", [-32600, -32601, -32602, -32603, -32700, -32000, -32002, -32001, 0, 1, 404])
def test_any_other_error_shakes_hands_whatever_its_code(code: int) -> None:
    assert after(refused(code)) == Handshake(LEGACY)


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415, 422, 429, 499])
def test_a_refusal_by_http_status_shakes_hands(status: int) -> None:
    assert after(HTTPStatusError(status, "text/html")) == Handshake(LEGACY)


@pytest.mark.parametrize(
    "error",
    [
        UnauthorizedError(401),
        UnauthorizedError(403),
        HTTPStatusError(500),
        HTTPStatusError(503),
        HTTPStatusError(302),
        SessionExpiredError(404),
        TransportError("refused"),
        RemoteProtocolError("a page"),
        ClientClosedError("closed"),
        ServerExitedError(1),
    ],
)
def test_what_says_nothing_of_the_era_is_raised(error: ClientError) -> None:
    with pytest.raises(type(error)) as caught:
        after(error)
    assert caught.value is error
    with pytest.raises(type(error)):
        after(refused(-32601), error)


def test_silence_shakes_hands_and_starts_a_process_anew() -> None:
    assert after(RequestTimeoutError("silence")) == Handshake(LEGACY)
    assert after(RequestTimeoutError("silence"), restartable=True) == Handshake(LEGACY, restart=True)


def test_what_is_taken_from_silence_is_a_guess() -> None:
    for error, guessed in ((RequestTimeoutError("silence"), True), (HTTPStatusError(400), False)):
        negotiation = Negotiation()
        negotiation.start()
        negotiation.failed(error)
        assert negotiation.guessed is guessed


def test_a_process_that_dies_of_the_probe_is_started_anew() -> None:
    assert after(ServerExitedError(1), restartable=True) == Handshake(LEGACY, restart=True)
    assert after(refused(-32602), ServerExitedError(1), restartable=True) == Handshake(LEGACY, restart=True)
    assert after(refused(-32602), RequestTimeoutError("silence"), restartable=True) == Handshake(LEGACY, restart=True)


def test_it_is_started_anew_only_once() -> None:
    for error in (ServerExitedError(1), RequestTimeoutError("silence")):
        with pytest.raises(type(error)):
            after(error, error, restartable=True)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY])
def test_a_handshake_settles_on_the_version_that_the_server_chooses(version: str) -> None:
    answer = shaken(version)
    assert after(refused(-32601), answer) == Settled(version, modern=False, result=answer["result"])


@pytest.mark.parametrize("version", [MODERN, "2024-10-07", None, 5])
def test_a_handshake_at_a_version_that_is_not_spoken_is_an_error(version: Any) -> None:
    with pytest.raises(NegotiationError, match="No protocol version in common"):
        after(refused(-32601), shaken(version))


def test_a_handshake_refused_with_a_modern_version_asks_again() -> None:
    # The probe met silence, or was lost; the refusal is proof.
    assert after(RequestTimeoutError("silence"), unsupported(MODERN)) == Discover(MODERN)
    assert after(RequestTimeoutError("silence"), unsupported(MODERN), discovered(MODERN)) == Settled(
        MODERN, modern=True, result=discovered(MODERN)["result"]
    )
    with pytest.raises(NegotiationError) as caught:
        after(refused(-32601), unsupported("2099-01-01"))
    assert caught.value.supported == ("2099-01-01",)


def test_any_other_refusal_of_the_handshake_is_raised_with_that_of_the_probe_as_its_cause() -> None:
    with pytest.raises(MCPError) as caught:
        after(refused(-32601), refused(-32603))
    assert caught.value.code == ErrorCode.INTERNAL_ERROR
    assert isinstance(caught.value.__cause__, MCPError)
    with pytest.raises(HTTPStatusError):
        after(refused(-32601), HTTPStatusError(400))


def test_a_handshake_refused_by_status_goes_over_to_the_old_transport_once() -> None:
    wrong = HTTPStatusError(405, "text/plain")
    assert after(HTTPStatusError(405), wrong, old_transport=True) == OldTransport(LEGACY)
    answer = shaken("2024-11-05")
    assert after(HTTPStatusError(404), wrong, answer, old_transport=True) == Settled(
        "2024-11-05", modern=False, result=answer["result"]
    )
    for failure in (HTTPStatusError(404), TransportError("refused"), RequestTimeoutError("silence")):
        with pytest.raises(HTTPStatusError) as caught:
            after(HTTPStatusError(405), wrong, failure, old_transport=True)
        assert caught.value is wrong  # what the server said to the handshake says more than a GET that failed
    with pytest.raises(MCPError):
        after(HTTPStatusError(405), wrong, refused(-32603), old_transport=True)
    with pytest.raises(MCPError):
        after(HTTPStatusError(405), refused(-32603), old_transport=True)


def test_what_is_remembered_spares_the_probe() -> None:
    assert after(remembered=MODERN) == Settled(MODERN, modern=True)
    assert after(remembered="2025-06-18") == Handshake("2025-06-18")
    assert after(remembered="2099-01-01") == Discover(MODERN)


@pytest.mark.parametrize("wrong", [refused(-32601), refused(-32020), HTTPStatusError(400)])
def test_what_is_remembered_is_dropped_when_it_proves_wrong(wrong: Any) -> None:
    assert after(wrong, remembered=LEGACY) == Discover(MODERN)
    assert after(unsupported(MODERN), remembered=LEGACY) == Discover(MODERN)


def test_a_pinned_version_is_spoken_without_a_question() -> None:
    assert after(pinned=MODERN) == Settled(MODERN, modern=True)
    assert after(pinned="2025-06-18", remembered=MODERN) == Handshake("2025-06-18")
    assert after(shaken("2025-06-18"), pinned="2025-06-18").version == "2025-06-18"
    with pytest.raises(NegotiationError, match="here 2025-06-18; the server: 2025-03-26"):
        after(shaken("2025-03-26"), pinned="2025-06-18")
    with pytest.raises(MCPError):
        after(unsupported(MODERN), pinned=LEGACY)
    with pytest.raises(NegotiationError, match="'1' is not spoken here"):
        after(pinned="1")
