"""The era decision against servers that answer in every way, in every order, and change meanwhile.

A verdict is never wrong: after a call that worked, the client speaks an era that the server speaks. It never sticks
when it should not: what says nothing of the era leaves none, and one that is no longer true goes with the next call.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import ClientError, MCPError, TransportError
from mcp_wsgi.transport.base import Deadline, Exchange, Message
from tests.client.peers import LEGACY, MODERN, PROGRAM, Fault, Refusal, Way, answer_to, http_peer

# Servers that are silent cost time in every example.
pytestmark = pytest.mark.timeout(600)

SOON = 0.1  # when a client gives up on what a server never answers
PATIENCE = 30.0  # for all that is answered, however busy the machine is
CODES = (-32600, -32601, -32602, -32603, -32700, -32000, -32001, -32002, 0)

errors = st.builds(
    Refusal,
    status=st.sampled_from([200, 400, 404, 405, 422]),
    code=st.sampled_from(CODES),
    identity=st.sampled_from(["own", "null", "absent", "other"]),
)
pages = st.builds(
    Refusal, status=st.sampled_from([400, 404, 405, 406, 415, 422]), text=st.sampled_from(["", "No", "<h1>No</h1>"])
)
silences = st.sampled_from([Refusal(silent=True), Refusal(late=True, code=-32601)])


http_refusals = st.one_of(errors, pages, silences)
stdio_refusals = st.one_of(
    st.builds(Refusal, code=st.sampled_from(CODES), identity=st.sampled_from(["own", "null", "absent"])), silences
)
faults = st.one_of(
    st.builds(Fault, status=st.sampled_from([401, 403, 500, 502, 503, 504]), as_error=st.booleans()),
    st.just(Fault(status=0)),
)


def ways(refusals: st.SearchStrategy[Refusal], dying: list[str]) -> st.SearchStrategy[Way]:
    modern = st.builds(Way, modern=st.just(True), legacy=st.booleans(), names_versions_first=st.booleans())
    legacy = st.builds(
        Way, modern=st.just(False), legacy=st.just(True), refusal=refusals, dies=st.sampled_from(["", *dying])
    )
    return modern | legacy


class Eras(RuleBasedStateMachine):
    """What is common to both transports: clients that share what they remember, and one server."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.verdicts: dict[str, str] = {}
        self.clients: list[Client] = []
        self.way = Way(modern=True, legacy=False)

    def teardown(self) -> None:
        for client in self.clients:
            client.close()
        self.stack.close()

    def make(self, **options: Any) -> Client:
        raise NotImplementedError

    def become(self, way: Way) -> None:
        raise NotImplementedError

    def client(self, **options: Any) -> Client:
        client = self.make(verdicts=self.verdicts, probe_timeout=PATIENCE, timeout=PATIENCE, **options)
        self.hurry(client)
        self.clients.append(client)
        return client

    def hurry(self, client: Client) -> None:
        """Let a client wait for a short time only where the server is silent."""
        transport = client._session.transports[0]
        ask = transport.request

        def request(message: Message, exchange: Exchange) -> Message:
            if self.meets_silence(message):
                exchange.deadline = Deadline(SOON)
            return ask(message, exchange)

        transport.request = request  # type: ignore[method-assign]

    def meets_silence(self, message: Message) -> bool:
        way = self.way
        is_silent = way.refusal.silent or way.refusal.late or way.dies == "handshake"
        return is_silent and way.dies != "probe" and answer_to(way, message) is None

    @precondition(lambda self: len(self.clients) < 4)
    @rule()
    def a_client_comes(self) -> None:
        client = self.client()
        # What is remembered of a server that meets it with silence, or dies, is forgotten with the first call.
        self.bear(client, 1)
        self.use(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def a_client_calls(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients))
        # A server that turned silent cannot be told from one that is busy, until two calls have had no answer.
        self.bear(client, 2)
        self.use(client)

    @rule()
    def a_guess_is_not_remembered(self) -> None:
        way = self.way
        if not way.modern and not way.dies and (way.refusal.silent or way.refusal.late) and not self.verdicts:
            client = self.client()
            self.use(client)
            assert self.verdicts == {}

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def a_client_goes(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients))
        self.clients.remove(client)
        client.close()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def a_client_forgets(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients))
        client.forget()
        assert self.verdicts == {}

    @rule(version=st.sampled_from([MODERN, LEGACY, "2025-06-18"]))
    def a_client_that_speaks_one_version_only(self, version: str) -> None:
        before = dict(self.verdicts)
        one = self.make(verdicts=self.verdicts, protocol_version=version, timeout=PATIENCE, probe_timeout=PATIENCE)
        self.hurry(one)
        try:
            found = one.list_tools()
        except (MCPError, ClientError):
            assert version not in self.way.supported or self.way.names_versions_first
        else:
            assert [tool.name for tool in found] == ["now"]
            assert version in self.way.supported
        finally:
            one.close()
        assert self.verdicts == before

    def bear(self, client: Client, times: int) -> None:
        """Call a legacy server that does not refuse but is silent or dies, and that may have been a modern one."""
        way = self.way
        if not way.modern and (way.refusal.silent or way.refusal.late or way.dies):
            for _ in range(times):
                with suppress(TransportError):
                    client.list_tools()

    def use(self, client: Client) -> None:
        found = client.list_tools()
        assert [tool.name for tool in found] == ["now"]
        self.is_right(client)

    def is_right(self, client: Client) -> None:
        note(f"{client.era} {client.protocol_version} from {self.way}")
        assert client.protocol_version in self.way.supported
        assert (client.era == "modern") == (client.protocol_version == MODERN)

    @invariant()
    def what_is_remembered_is_a_version(self) -> None:
        assert set(self.verdicts.values()) <= {MODERN, LEGACY, "2025-06-18"}
        assert len(self.verdicts) <= 1


class HTTPEras(Eras):
    def __init__(self) -> None:
        super().__init__()
        self.peer = self.stack.enter_context(http_peer())

    def make(self, **options: Any) -> Client:
        return Client(self.peer.url, **options)

    def meets_silence(self, message: Message) -> bool:
        return not self.peer.faults and super().meets_silence(message)

    @rule(way=ways(http_refusals, []))
    def the_server_becomes_another_one(self, way: Way) -> None:
        self.way = way
        self.peer.become(way)

    @rule(fault=faults)
    def a_new_client_meets_a_fault(self, fault: Fault) -> None:
        before = dict(self.verdicts)
        # A connection that closes is tried again by nobody; each request that a new client makes first meets the fault.
        self.peer.faults = [fault]
        client = self.client()
        with pytest.raises(TransportError) as caught:
            client.list_tools()
        self.peer.faults = []
        if fault.status:
            assert getattr(caught.value, "status", None) == fault.status
            assert self.verdicts == before
        else:  # a server that does not answer may also have become another one: what was remembered may go
            assert self.verdicts in ({}, before)
        self.bear(client, 1)  # what is only remembered is given up after one silence
        self.use(client)


class StdioEras(Eras):
    def __init__(self) -> None:
        super().__init__()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="mcp-wsgi-eras-")))
        self.file = folder / "way.json"
        self.file.write_text(self.way.to_json())

    def make(self, **options: Any) -> Client:
        return Client([sys.executable, "-S", "-E", str(PROGRAM), str(self.file)], **options)

    @rule(way=ways(stdio_refusals, ["probe", "handshake"]))
    def the_server_becomes_another_one(self, way: Way) -> None:
        """A process serves in the way in which it began; so the clients of the old one go with it."""
        for client in self.clients:
            client.close()
        self.clients.clear()
        self.way = way
        self.file.write_text(way.to_json())


def machine(kind: type[Eras], share: float, least: int) -> Callable[[], type]:
    case = kind.TestCase
    profile = settings()
    case.settings = settings(
        max_examples=max(least, int(profile.max_examples * share)),
        stateful_step_count=12,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        # Each attempt at a smaller example takes seconds.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    return case


def test_only_the_question_for_the_era_has_the_time_of_a_probe() -> None:
    """The machines below hurry clients that meet silence, and so do not see how long these would have waited."""
    given = []
    with http_peer() as peer:
        peer.become(Way(modern=False, legacy=True))
        client = Client(peer.url, verdicts={}, probe_timeout=40, timeout=50)
        transport = client._session.transports[0]
        ask = transport.request

        def request(message: Message, exchange: Exchange) -> Message:
            given.append((message["method"], exchange.deadline.timeout))
            return ask(message, exchange)

        transport.request = request  # type: ignore[method-assign]
        client.list_tools()
        client.close()
    assert given == [("server/discover", 40), ("initialize", 50), ("tools/list", 50)]


TestHTTPEras = machine(HTTPEras, 0.2, 40)
TestStdioEras = machine(StdioEras, 0.05, 10)
