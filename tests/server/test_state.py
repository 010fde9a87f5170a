"""Signed state: what it is bound to, keys, expiry, forks (2026-07-28, basic/patterns/mrtr, Server Requirements)."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import pytest

from mcp_wsgi import ConfigurationError, InvalidParamsError
from mcp_wsgi.server.state import StateSigner, request_digest
from tests.clock import Clock


def test_what_was_signed_comes_back() -> None:
    signer = StateSigner("p", ["k"])
    payload = {"a": {"x": [1, "\ud800", None]}, "q": {}}
    state = signer.sign(payload, "d")
    assert state.isascii()
    assert signer.unsign(state, "d") == payload


def test_another_worker_with_the_same_key_reads_it() -> None:
    assert StateSigner("p", "k").unsign(StateSigner("p", [b"k"]).sign({}, "d"), "d") == {}


@pytest.mark.parametrize(
    "other", [StateSigner("p", ["other"]), StateSigner("q", ["k"]), StateSigner("p", ["k", "other"][1:])]
)
def test_a_foreign_key_or_purpose_is_not_accepted(other: StateSigner) -> None:
    with pytest.raises(InvalidParamsError, match="requestState"):
        StateSigner("p", ["k"]).unsign(other.sign({}, "d"), "d")


def test_state_is_for_one_request() -> None:
    signer = StateSigner("p", ["k"])
    with pytest.raises(InvalidParamsError):
        signer.unsign(signer.sign({}, "d"), "e")


def test_state_expires() -> None:
    clock = Clock(1_000_000.9)
    signer = StateSigner("p", ["k"], ttl=10, clock=clock)
    state = signer.sign({}, "d")
    for later in (0, 5, 9.9):
        clock.now = 1_000_000.9 + later
        assert signer.unsign(state, "d") == {}
    clock.now += 2
    with pytest.raises(InvalidParamsError, match="send the request again without it"):
        signer.unsign(state, "d")


def test_a_worker_whose_clock_is_behind_takes_it_too() -> None:
    state = StateSigner("p", ["k"], clock=Clock(1000)).sign({}, "d")
    assert StateSigner("p", ["k"], clock=Clock(990)).unsign(state, "d") == {}


def test_after_a_rotation_old_keys_are_accepted_and_the_newest_signs() -> None:
    old, both, new = StateSigner("p", ["old"]), StateSigner("p", ["new", "old"]), StateSigner("p", ["new"])
    assert both.unsign(old.sign({}, "d"), "d") == {}
    assert new.unsign(both.sign({}, "d"), "d") == {}
    with pytest.raises(InvalidParamsError):
        old.unsign(both.sign({}, "d"), "d")


@pytest.mark.parametrize("state", ["", ".", "a.b", "a.b.c", "\ud800", "é.é", "=" * 50, "." * 50, "a" * 100_000])
def test_what_was_never_signed_is_refused(state: str) -> None:
    with pytest.raises(InvalidParamsError):
        StateSigner("p", ["k"]).unsign(state, "d")


@pytest.mark.parametrize("keys", [[""], [b""], [None], ["k", ""], [5]])
def test_keys_are_text_or_bytes(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match="key"):
        StateSigner("p", keys)


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
def test_a_lifetime_is_positive(ttl: float) -> None:
    with pytest.raises(ConfigurationError, match="lifetime"):
        StateSigner("p", ttl=ttl)


def test_a_random_key_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    signer = StateSigner("p")
    assert caplog.records == []
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        for _ in range(3):
            assert signer.unsign(signer.sign({}, "d"), "d") == {}
    assert len(caplog.records) == 1
    assert "keys=" in caplog.text
    with pytest.raises(InvalidParamsError):
        StateSigner("p").unsign(signer.sign({}, "d"), "d")


def test_given_keys_warn_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    StateSigner("p", ["k"]).sign({}, "d")
    assert caplog.records == []


def test_threads_that_begin_at_once_share_one_random_key(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        signer = StateSigner("p")
        barrier = threading.Barrier(4)
        states: list[str] = []

        def sign(signer: StateSigner = signer, barrier: Any = barrier, states: list[str] = states) -> None:
            barrier.wait()
            states.append(signer.sign({}, "d"))

        threads = [threading.Thread(target=sign) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [signer.unsign(state, "d") for state in states] == [{}] * 4
    assert len(caplog.records) == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("keys", "same"), [((), False), (("k",), True)])
def test_a_forked_worker_has_a_random_key_of_its_own(keys: tuple[str, ...], same: bool) -> None:
    """A preloading server would else share one silently until a worker is replaced."""
    signer = StateSigner("p", keys)
    state = signer.sign({}, "d")
    warnings: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = warnings.append  # type: ignore[method-assign]
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - another process
        logging.getLogger("mcp_wsgi").addHandler(handler)
        try:
            signer.unsign(state, "d")
            verdict = "accepted"
        except InvalidParamsError:
            verdict = "refused"
        signer.sign({}, "d")
        os.write(write, f"{verdict} {len(warnings)}".encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as answers:
        assert answers.read() == ("accepted 0" if same else "refused 1")
    assert signer.unsign(state, "d") == {}


def test_a_request_is_digested_with_all_that_stays_the_same_between_rounds() -> None:
    params = {"name": "t", "arguments": {"a": 1, "b": 2}}
    digest = request_digest("tools/call", params, "ada")
    reordered = {"arguments": {"b": 2, "a": 1}, "name": "t"}
    more = {**reordered, "_meta": {"x": 1}, "inputResponses": {}, "requestState": "s"}
    assert request_digest("tools/call", more, "ada") == digest
    others = [
        request_digest("prompts/get", params, "ada"),
        request_digest("tools/call", params, "eve"),
        request_digest("tools/call", params, None),
        request_digest("tools/call", {**params, "name": "u"}, "ada"),
        request_digest("tools/call", {**params, "arguments": {"a": 1, "b": "2"}}, "ada"),
        request_digest("tools/call", {"name": "t"}, "ada"),
    ]
    assert len({digest, *others}) == 7
