"""The stdio transport: whose message is whose, and how every bad server ends.

2026-07-28, basic/transports/stdio.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_wsgi import ConfigurationError
from mcp_wsgi.exceptions import (
    ClientClosedError,
    EncodeError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    ServerExitedError,
    TransportError,
)
from mcp_wsgi.protocol.meta import SUBSCRIPTION_ID
from mcp_wsgi.transport import stdio as stdio_module
from mcp_wsgi.transport.base import Deadline, Exchange
from mcp_wsgi.transport.stdio import StdioTransport
from tests.clock import Clock
from tests.transport.stdio_support import MARK, exchange, is_alive, leaves_nothing, program, request, until

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def _check_what_is_left() -> Iterator[None]:
    with leaves_nothing():
        yield


def a_transport(name="talker", *arguments, seconds=1.0, env=None, **options):
    return StdioTransport(program(name, *arguments), env={**MARK, **(env or {})}, stop_seconds=seconds, **options)


@pytest.fixture
def waits_for_the_end(monkeypatch) -> None:
    """Let the end of a process, and of what it says, be waited for however long it takes."""
    monkeypatch.setattr(stdio_module, "_MOMENT", 30.0)


@pytest.fixture
def talker() -> Iterator[StdioTransport]:
    transport = a_transport()
    yield transport
    transport.close()


def lines(*messages):
    return [(json.dumps(message) + "\n").encode().hex() for message in messages]


def raw(*messages):
    """Make a request that is answered with exactly these messages."""
    return request(1, "raw", chunks=lines(*({"jsonrpc": "2.0", **message} for message in messages)))


def let_say(transport, *messages):
    """Let the server write these messages, and return once all of them are read."""
    chunks = lines(*({"jsonrpc": "2.0", **message} for message in (*messages, {"id": "said", "result": {}})))
    transport.request(request("said", "raw", chunks=chunks), exchange())


def in_thread(function):
    """Run it aside; what is returned waits for its value, or raises what it raised."""
    outcome = []

    def run():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()

    def result():
        thread.join(100)
        value, error = outcome[0]
        if error is not None:
            raise error
        return value

    return result


def until_waiting(transport, count=1):
    """Wait until so many requests are under way."""
    until(lambda: transport._connection is not None and len(transport._connection._router._pending) == count)


# Requests and answers


def test_a_request_starts_the_process_and_gets_its_answer(talker):
    assert talker.pid is None
    assert talker.request(request(0, "echo", a="é"), exchange()) == {"jsonrpc": "2.0", "id": 0, "result": {"a": "é"}}
    pid = talker.pid
    assert talker.request(request("x", "echo"), exchange())["id"] == "x"
    assert talker.pid == pid


def test_an_error_is_an_answer(talker):
    error = {"code": -32601, "message": "no"}
    assert talker.request(raw({"id": 1, "error": error}), exchange())["error"] == error


def test_answers_come_in_any_order(talker):
    slow = in_thread(lambda: talker.request(request(1, "nothing"), exchange()))
    until_waiting(talker)
    assert talker.request(request(2, "echo"), exchange())["id"] == 2
    let_say(talker, {"id": 1, "result": {"late": 1}})
    assert slow()["result"] == {"late": 1}


def test_fifty_threads_share_one_process_without_a_mix_up(talker):
    def work(number):
        for turn in range(10):
            said = []
            message = request(f"{number}-{turn}", "progress", steps=3)
            answer = talker.request(message, exchange(60, said.append))
            assert answer["id"] == message["id"]
            assert [each["params"] for each in said] == [
                {"progressToken": message["id"], "progress": step} for step in range(3)
            ]
            assert talker.request(request(number * 100 + turn, "echo", n=number), exchange(60))["result"] == {
                "n": number
            }

    for result in [in_thread(lambda number=number: work(number)) for number in range(50)]:
        result()


def test_what_belongs_to_a_request_comes_in_order_and_in_its_thread(talker):
    said, threads = [], set()

    def take(message):
        said.append(message)
        threads.add(threading.current_thread())

    change = {"method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION_ID: 1}}}
    progress = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    talker.request(raw(change, progress, change, {"id": 1, "result": {}}), exchange(on_message=take))
    assert [message["method"] for message in said] == [each["method"] for each in (change, progress, change)]
    assert threads == {threading.current_thread()}


def test_everything_else_goes_to_the_inbox(talker):
    box = []
    talker.inbox = box.append
    others = [
        {"method": "notifications/message", "params": {"level": "info", "data": 1}},
        {"method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}},
        {"method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION_ID: [1]}}},
        {"method": "roots/list", "id": 1},
    ]
    talker.request(raw(*others, {"id": 1, "result": {}}), exchange())
    assert [(each["method"], each.get("id")) for each in box] == [(each["method"], each.get("id")) for each in others]


def test_an_inbox_that_fails_stops_nothing(talker, caplog):
    talker.inbox = lambda message: 1 / 0
    assert talker.request(raw({"method": "x"}, {"id": 1, "result": {}}), exchange())["result"] == {}
    assert "inbox failed" in caplog.text


def test_what_on_message_raises_ends_the_exchange(talker):
    def refuse(message):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        talker.request(request(1, "progress", steps=1), exchange(on_message=refuse))
    assert talker.request(request(1, "echo"), exchange())["id"] == 1


def test_numbers_that_come_back_as_strings_are_understood(talker, caplog):
    said = []
    progress = {"method": "notifications/progress", "params": {"progressToken": "1", "progress": 1}}
    answer = talker.request(raw(progress, {"id": "1", "result": {}}), exchange(on_message=said.append))
    assert answer["id"] == 1
    assert len(said) == 1
    assert caplog.text.count("as strings") == 1


def test_a_string_that_is_another_request_is_that_request(talker):
    silent = in_thread(lambda: talker.request(request("1", "nothing"), exchange()))
    until_waiting(talker)
    number = in_thread(lambda: talker.request(request(1, "nothing"), exchange()))
    until_waiting(talker, 2)
    let_say(talker, {"id": "1", "result": {"for": "text"}})
    assert silent() == {"jsonrpc": "2.0", "id": "1", "result": {"for": "text"}}
    until_waiting(talker)
    let_say(talker, {"id": 1, "result": {"for": "number"}})
    assert number() == {"jsonrpc": "2.0", "id": 1, "result": {"for": "number"}}


@pytest.mark.parametrize("text", ["01", "-0", "+1", "1.0", " 1", "\u0661", "x", "1" * 30])
def test_a_string_that_is_no_plain_number_is_not_understood(talker, text):
    answers = [{"id": each, "result": {"to": each}} for each in (text, 1)]
    assert talker.request(raw(*answers), exchange())["result"] == {"to": 1}


@pytest.mark.parametrize("without", [{}, {"id": None}])
def test_an_error_without_id_belongs_to_the_only_request(talker, without):
    error = {"code": -32700, "message": "what?"}
    answer = talker.request(raw({**without, "error": error}), exchange())
    assert answer == {"jsonrpc": "2.0", "id": 1, "error": error}


def test_an_error_without_id_is_nobodys_where_several_wait(talker):
    other = in_thread(lambda: talker.request(request(2, "nothing"), exchange()))
    until_waiting(talker)
    answers = [{"id": each, "result": {"to": each}} for each in (1, 2)]
    answer = talker.request(raw({"error": {"code": 1, "message": "whose?"}}, *answers), exchange())
    assert (answer["result"], other()["result"]) == ({"to": 1}, {"to": 2})


def test_a_late_answer_is_dropped(talker, caplog):
    caplog.set_level(logging.DEBUG, "mcp_wsgi.client")
    with pytest.raises(RequestTimeoutError, match=r"within 0\.1 seconds"):
        talker.request(request(1, "nothing"), exchange(0.1))
    let_say(talker, {"id": 1, "result": {}})
    assert "not under way" in caplog.text
    assert talker.request(request(2, "echo"), exchange())["id"] == 2


def test_an_id_that_is_under_way_is_refused(talker):
    waits = in_thread(lambda: talker.request(request(1, "nothing"), exchange()))
    until_waiting(talker)
    with pytest.raises(ValueError, match="under way"):
        talker.request(request(1, "echo"), exchange())
    let_say(talker, {"id": 1, "result": {"late": 1}})
    assert waits()["result"] == {"late": 1}


def test_what_is_no_json_is_not_sent(talker):
    with pytest.raises(EncodeError):
        talker.request(request(1, "echo", value=float("nan")), exchange())
    assert talker.pid is None


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":1,"result":NaN}',
        '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}',
        '{"jsonrpc":"2.0","id":1,"result":5}',
        '{"jsonrpc":"2.0","id":1,"result":{},"error":null}',
        '{"id":1,"result":{}}',
        '{"jsonrpc":"2.0","id":"1","error":{"code":"x"}}',
    ],
)
def test_an_answer_that_cannot_be_read_is_said_to_be_so(talker, line):
    with pytest.raises(RemoteProtocolError, match="cannot be read"):
        talker.request(request(1, "raw", chunks=[(line + "\n").encode().hex()]), exchange())
    assert talker.request(request(1, "echo"), exchange())["id"] == 1


# Notifications


def test_notifications_reach_the_server_in_order(talker):
    talker.request(request(1, "echo"), exchange())
    for name in ("a", "b"):
        talker.post({"jsonrpc": "2.0", "method": name}, Deadline(30))
    assert talker.request(request(2, "about"), exchange())["result"]["notes"] == ["a", "b"]


def test_a_notification_starts_no_process(talker):
    with pytest.raises(TransportError, match="not been started"):
        talker.post({"jsonrpc": "2.0", "method": "a"}, Deadline(30))


# Time, and giving up


def test_a_server_that_never_answers_runs_into_the_deadline(talker):
    start = time.monotonic()
    with pytest.raises(RequestTimeoutError):
        talker.request(request(1, "nothing"), exchange(0.2))
    assert time.monotonic() - start < 15
    with pytest.raises(RequestTimeoutError):
        talker.request(request(1, "nothing"), exchange(0))


@pytest.mark.parametrize("extends", [True, False])
def test_progress_extends_the_deadline_where_the_client_lets_it(talker, extends):
    clock, said = Clock(), []
    waiting = Exchange(Deadline(30, None, clock), on_message=said.append)
    if extends:
        waiting.on_message = lambda message: (waiting.deadline.extend(), said.append(message))
    result = in_thread(lambda: talker.request(request(1, "nothing"), waiting))
    until_waiting(talker)
    progress = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    for step in range(1, 5 if extends else 2):
        clock.now += 20
        let_say(talker, progress)
        until(lambda step=step: len(said) == step)
    clock.now += 20
    if extends:
        let_say(talker, {"id": 1, "result": {}})
        assert result()["result"] == {}
    else:
        let_say(talker, progress)
        with pytest.raises(RequestTimeoutError):
            result()


def test_a_flood_of_progress_does_not_hold_up_the_end():
    transport = a_transport(seconds=0.2)
    said = []
    waiting = exchange(None)
    waiting.deadline = Deadline(30, 0.6)
    waiting.on_message = lambda message: (waiting.deadline.extend(), said.append(message))
    with pytest.raises(RequestTimeoutError, match="longest time"):
        transport.request(request(1, "progress", steps=10_000, pause=0.01), waiting)
    assert len(said) < 9_000
    transport.close()


def test_a_request_is_given_up_from_another_thread(talker):
    waiting = exchange(None)
    result = in_thread(lambda: talker.request(request(1, "nothing"), waiting))
    until_waiting(talker)
    waiting.cancel()
    with pytest.raises(RequestCancelledError):
        result()
    with pytest.raises(RequestCancelledError):
        talker.request(request(1, "echo"), waiting)
    assert talker.request(request(1, "echo"), exchange())["id"] == 1


def test_what_comes_too_fast_is_dropped_oldest_first(talker, caplog):
    said = []

    def take(message):
        if not said:
            (mailbox,) = talker._connection._router._pending.values()
            until(lambda: mailbox._answer is not None, 30)
        said.append(message["params"]["progress"])

    answer = talker.request(request(1, "progress", steps=3000), exchange(60, take))
    assert answer["result"] == {"steps": 3000}
    assert len(said) <= 1001 + 1
    assert said == sorted(said)
    assert said[-1] == 2999
    assert caplog.text.count("are dropped") == 1


# Servers that misbehave


def test_a_banner_is_skipped_and_logged(caplog):
    transport = a_transport("banner")
    for number in range(10):
        assert transport.request(request(number, "x"), exchange())["result"] == {"ok": True}
    transport.close()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 5
    assert warnings[0].endswith(": Welcome to the server")
    assert "not shown" in warnings[4]


def test_ten_megabytes_on_standard_error_block_nothing():
    transport = a_transport("noisy")
    assert transport.request(request(1, "x"), exchange(60))["result"] == {}
    until(lambda: transport.stderr.endswith("x"))
    transport.close()
    assert len(transport.stderr) <= 8192
    assert transport.stderr.startswith("0102")


def test_a_server_that_dies_mid_call_is_quoted(talker, waits_for_the_end):
    with pytest.raises(ServerExitedError) as caught:
        talker.request(request(1, "die", status=7, stderr="first\n\x1b[31mno database\x1b[0m\a\n"), exchange())
    assert (caught.value.returncode, caught.value.stderr) == (7, "first\nno database")
    assert "status 7" in str(caught.value)


def test_all_that_wait_for_a_server_that_dies_are_told(talker, waits_for_the_end):
    waiting = [
        in_thread(lambda number=number: talker.request(request(number, "nothing"), exchange())) for number in range(5)
    ]
    until_waiting(talker, 5)
    with pytest.raises(ServerExitedError):
        talker.request(request(9, "die", signal=int(signal.SIGKILL)), exchange())
    errors = []
    for result in waiting:
        with pytest.raises(ServerExitedError) as caught:
            result()
        errors.append(caught.value)
    assert {error.returncode for error in errors} == {-signal.SIGKILL}
    assert len(set(map(id, errors))) == 5


def test_a_dead_server_stays_dead_until_it_is_restarted(talker):
    for _ in range(2):
        with pytest.raises(ServerExitedError):
            talker.request(request(1, "die", status=1), exchange())
    with pytest.raises(ServerExitedError):
        talker.post({"jsonrpc": "2.0", "method": "x"}, Deadline(30))
    talker.restart()
    assert talker.request(request(1, "echo"), exchange())["id"] == 1


def test_a_transport_says_whether_it_has_to_be_restarted(talker):
    assert not talker.failed
    talker.request(request(1, "echo"), exchange())
    assert not talker.failed
    os.kill(talker.pid, signal.SIGKILL)
    until(lambda: talker.failed)
    talker.restart()
    assert not talker.failed
    assert talker.request(request(1, "echo"), exchange())["id"] == 1


def test_a_server_that_dies_while_what_it_started_holds_its_pipes_is_found_out(talker):
    start = time.monotonic()
    with pytest.raises(ServerExitedError) as caught:
        talker.request(request(1, "orphan", stubborn=True), exchange())
    assert caught.value.returncode == 3
    assert time.monotonic() - start < 20


def test_a_server_that_closes_its_output_is_ended(talker):
    with pytest.raises(ServerExitedError, match="has ended"):
        talker.request(request(1, "close", descriptor=1), exchange())
    until(lambda: not is_alive(talker.pid))


def test_a_server_that_closes_its_input_is_told_from_one_that_is_slow(talker):
    assert talker.request(request(1, "close", descriptor=0), exchange())["result"] == {}
    assert not talker.failed
    with pytest.raises(TransportError, match="closed its standard input"):
        talker.request(request(2, "echo"), exchange())


@pytest.mark.parametrize("last", [b'{"jsonrpc":"2.0","id":1,"result":{"last":true}}', b'{"jsonrpc":"2.0","id":1,'])
def test_a_last_line_without_an_end_counts_if_it_is_a_message(last):
    code = f"import os; os.read(0, 1); os.write(1, {last!r})"
    transport = StdioTransport([sys.executable, "-S", "-E", "-c", code], env=MARK)
    if last.endswith(b"}}"):
        assert transport.request(request(1, "x"), exchange())["result"] == {"last": True}
    else:
        with pytest.raises(ServerExitedError):
            transport.request(request(1, "x"), exchange())
    transport.close()


def test_a_server_that_never_reads_ends_in_the_deadline():
    transport = a_transport("deaf", seconds=0.2)
    for number in range(3):
        start = time.monotonic()
        with pytest.raises(RequestTimeoutError):
            transport.request(request(number, "echo", data="x" * 1024 * 1024), exchange(0.3))
        assert time.monotonic() - start < 15
    start = time.monotonic()
    transport.close()
    assert time.monotonic() - start < 15


def test_a_server_that_does_not_read_for_a_while_gets_every_line_whole(talker, caplog, tmp_path):
    caplog.set_level(logging.DEBUG, "mcp_wsgi.client")
    idle = tmp_path / "idle"
    busy = in_thread(lambda: talker.request(request(0, "busy", until=str(idle)), exchange()))
    until_waiting(talker)
    text = "x" * 1024 * 1024
    begun = exchange(None)
    first = in_thread(lambda: talker.request(request(1, "echo", text=text), begun))
    until(lambda: 0 < len(talker._connection.process._input._rest) < len(text))
    begun.cancel()
    with pytest.raises(RequestCancelledError):
        first()
    with pytest.raises(RequestTimeoutError):
        talker.request(request(2, "echo", never="begun"), exchange(0.1))
    cancelled = exchange(None)
    other = in_thread(lambda: talker.request(request(3, "echo", never="begun"), cancelled))
    until_waiting(talker, 2)
    cancelled.cancel()
    with pytest.raises(RequestCancelledError):
        other()
    idle.touch()
    assert talker.request(request(4, "echo", text=text), exchange())["result"] == {"text": text}
    assert busy()["result"] == {}
    assert caplog.text.count("not under way") == 1


def test_who_waits_for_a_blocked_writer_waits_no_longer_than_it_may():
    transport = a_transport("deaf", seconds=0.2)
    blocked = in_thread(lambda: transport.request(request(1, "echo", data="x" * 1024 * 1024), exchange(None)))
    until(lambda: transport._connection is not None and transport._connection.process._input._lock.locked())
    cancelled = exchange(None)
    other = in_thread(lambda: transport.request(request(2, "echo"), cancelled))
    with pytest.raises(RequestTimeoutError):
        transport.post({"jsonrpc": "2.0", "method": "x"}, Deadline(0.3))
    cancelled.cancel()
    with pytest.raises(RequestCancelledError):
        other()
    transport.close()
    with pytest.raises(ClientClosedError):
        blocked()


def test_reading_goes_on_while_a_large_message_is_written(talker):
    text = "x" * (4 * 1024 * 1024)
    results = [in_thread(lambda n=n: talker.request(request(n, "echo", text=text), exchange(60))) for n in range(3)]
    assert [len(result()["result"]["text"]) for result in results] == [len(text)] * 3


def test_a_message_over_the_limit_names_the_option():
    transport = a_transport(max_message_size=1000)
    assert transport.request(request(1, "echo", text="x" * 900), exchange())["id"] == 1
    with pytest.raises(RemoteProtocolError, match="more than 1000 bytes; raise max_message_size"):
        transport.request(request(2, "echo", text="x" * 1000), exchange())
    transport.restart()
    two = [b'{"jsonrpc":"2.0","id":1,"result":{}}\n' + b"x" * 2000]
    answer = transport.request(request(1, "raw", chunks=[each.hex() for each in two]), exchange())
    assert answer["result"] == {}
    with pytest.raises(RemoteProtocolError, match="max_message_size"):
        transport.request(request(2, "echo"), exchange())
    transport.close()


@pytest.mark.parametrize(
    ("data", "times"), [(b"x" * 5000 + b"\n", 1), (b"log\n", 1000), (b"\n", 60000), (b"{}\r\n\r\n", 100)]
)
def test_endless_output_that_is_no_message_ends_the_connection(data, times):
    transport = a_transport("endless", data.hex(), str(times), seconds=0.2)
    with pytest.raises(TransportError, match="no messages of this protocol"):
        transport.request(request(1, "x"), exchange())
    until(lambda: not is_alive(transport.pid))
    transport.close()


def test_an_endless_line_ends_the_connection_at_the_limit():
    transport = a_transport("endless", b"x".hex(), "65536", max_message_size=1024 * 1024, seconds=0.2)
    with pytest.raises(RemoteProtocolError, match="more than 1048576 bytes"):
        transport.request(request(1, "x"), exchange())
    transport.close()


# Closing


def test_a_server_that_ignores_the_end_of_its_input_and_sigterm_is_killed():
    transport = a_transport("talker", "stubborn", seconds=0.3)
    pid = transport.request(request(1, "about"), exchange())["result"]["pid"]
    start = time.monotonic()
    transport.close()
    assert 0.5 < time.monotonic() - start < 15
    assert not is_alive(pid)


def test_closing_wakes_all_that_wait(talker):
    waiting = [in_thread(lambda n=n: talker.request(request(n, "nothing"), exchange(None))) for n in range(5)]
    until_waiting(talker, 5)
    talker.close()
    for result in waiting:
        with pytest.raises(ClientClosedError):
            result()


def test_closing_is_idempotent_and_final(talker):
    talker.request(request(1, "echo"), exchange())
    for result in [in_thread(talker.close) for _ in range(5)]:
        result()
    talker.close()
    talker.restart()
    with pytest.raises(ClientClosedError):
        talker.request(request(1, "echo"), exchange())
    with pytest.raises(ClientClosedError):
        talker.post({"jsonrpc": "2.0", "method": "x"}, Deadline(30))


def test_what_was_never_started_is_closed_and_restarted_too():
    transport = a_transport()
    transport.restart()
    transport.close()


def test_closing_in_the_inbox_ends_too(talker):
    closed = threading.Event()

    def close(message):
        talker.close()
        closed.set()

    talker.inbox = close
    with pytest.raises(ClientClosedError):
        talker.request(raw({"method": "x"}), exchange())
    assert closed.wait(30)


def test_a_server_that_finishes_what_it_writes_is_let():
    transport = a_transport(seconds=30)
    transport.request(request(1, "echo"), exchange())
    waits = in_thread(lambda: transport.request(request(2, "later", seconds=0.3), exchange()))
    until_waiting(transport)
    connection = transport._connection
    transport.close()
    with pytest.raises(ClientClosedError):
        waits()
    assert connection.process.wait(0) == 0


def test_fifty_restarts_leave_one_process():
    transport = a_transport()
    pids = set()
    for _ in range(50):
        pids.add(transport.request(request(1, "about"), exchange())["result"]["pid"])
        transport.restart()
    assert len(pids) == 50
    assert not any(map(is_alive, pids))
    until(lambda: not [each for each in threading.enumerate() if each.name.startswith("mcp_wsgi stdio")])
    transport.close()


def test_restarting_fails_what_is_under_way(talker):
    waits = in_thread(lambda: talker.request(request(1, "nothing"), exchange(None)))
    until_waiting(talker)
    talker.restart()
    with pytest.raises(TransportError, match="begin anew"):
        waits()


def test_a_transport_that_nobody_holds_ends_its_process():
    transport = a_transport()
    transport.request(request(1, "echo"), exchange())
    pid = transport.pid
    del transport
    gc.collect()
    until(lambda: not is_alive(pid))


def test_threads_that_ask_restart_and_give_up_at_once_end_in_answers_or_clear_errors():
    transport = a_transport(seconds=0.3)
    end = time.monotonic() + 1.5

    def work(number):
        chance = random.Random(number)
        count = 0
        while time.monotonic() < end:
            count += 1
            if not number:
                time.sleep(chance.random() * 0.2)
                transport.restart()
                continue
            method = chance.choice(["echo", "echo", "progress", "nothing", "die" if chance.random() < 0.1 else "later"])
            message = request(f"{number}-{count}", method, seconds=0.01, steps=3, number=number, data="x" * 100_000)
            waiting = exchange(chance.choice([0.01, 0.1, 5]) if method != "nothing" else 0.05)
            if chance.random() < 0.2:
                threading.Timer(chance.random() * 0.05, waiting.cancel).start()
            with suppress(TransportError):
                answer = transport.request(message, waiting)
                assert answer["id"] == message["id"]
                assert method != "echo" or answer["result"]["number"] == number

    for result in [in_thread(lambda n=n: work(n)) for n in range(8)]:
        result()
    transport.close()


# The process


def test_the_address_holds_no_argument():
    one = StdioTransport(["/opt/bin/server", "--token", "secret"])
    assert one.address.startswith("stdio:server:")
    assert "secret" not in one.address
    assert StdioTransport(["/opt/bin/server", "--token", "secret"]).address == one.address
    others = [["/opt/bin/server", "--token secret"], ["/opt/server", "--token", "secret"]]
    addresses = {StdioTransport(other).address for other in others} | {StdioTransport(["s"], cwd="/").address}
    assert len(addresses | {one.address, StdioTransport(["s"]).address}) == 5


def test_the_working_directory_is_set(tmp_path):
    transport = a_transport(cwd=tmp_path)
    assert transport.request(request(1, "about"), exchange())["result"]["cwd"] == str(tmp_path)
    transport.close()


@pytest.mark.parametrize("command", ["server --flag", b"x", [], [""], [1], ["a\0b"], None, {"a"}])
def test_a_command_that_is_none_is_refused(command):
    with pytest.raises(ConfigurationError, match="command"):
        StdioTransport(command)


@pytest.mark.parametrize("env", [{"A": 1}, {1: "A"}, {"": "A"}, {"A=B": "C"}, {"A": "\0"}])
def test_an_environment_that_is_none_is_refused(env):
    with pytest.raises(ConfigurationError, match="env"):
        StdioTransport(["server"], env=env)


@pytest.mark.parametrize("options", [{"max_message_size": 0}, {"stop_seconds": -1}])
def test_limits_that_are_none_are_refused(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        StdioTransport(["server"], **options)


def test_a_command_may_hold_paths():
    python, *rest = program("talker")
    transport = StdioTransport([Path(python), *rest], env=MARK)
    assert transport.request(request(1, "echo"), exchange())["id"] == 1
    transport.close()


def test_a_command_that_does_not_exist_is_named_each_time():
    transport = StdioTransport(["no-such-server", "secret"])
    for _ in range(2):
        with pytest.raises(TransportError, match="Cannot start no-such-server: there is no such program") as caught:
            transport.request(request(1, "x"), exchange())
        assert "secret" not in str(caught.value)
    assert transport.stderr == ""
    transport.close()


# The end of the interpreter, and forks

SCRIPT = """
import os, sys, threading
from mcp_wsgi.exceptions import TransportError
from mcp_wsgi.transport.base import Deadline, Exchange
from mcp_wsgi.transport.stdio import StdioTransport

def ask(transport, method="about"):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
    return transport.request(message, Exchange(Deadline(30)))["result"]["pid"]

transport = StdioTransport(sys.argv[1:], stop_seconds=0.3, env={"MCP_WSGI_TEST": os.environ["MCP_WSGI_TEST"]})
"""


def run_script(code, *arguments, before=""):
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", before + SCRIPT + code]
    done = subprocess.run(
        [*command, *program("talker", *arguments)],
        cwd=ROOT,
        env={**os.environ, **MARK},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return list(map(int, done.stdout.split()))


@pytest.mark.parametrize("arguments", [(), ("stubborn",)])
@pytest.mark.parametrize("before", ["", "other = StdioTransport(sys.argv[1:], stop_seconds=0.3); print(ask(other))"])
def test_a_program_that_ends_without_closing_leaves_no_process(before, arguments):
    pids = run_script(f"{before}\nprint(ask(transport))", *arguments)
    until(lambda: not any(map(is_alive, pids)), 30)


def test_a_program_ends_while_a_thread_still_waits():
    code = """
print(ask(transport), flush=True)
def wait():
    try:
        ask(transport, "nothing")
    except TransportError:
        pass

threading.Thread(target=wait, daemon=True).start()
while not transport._connection._router._pending:
    pass
"""
    run_script(code)


def test_a_forked_process_leaves_the_server_alone_and_starts_its_own():
    code = """
print(ask(transport), flush=True)
unused = StdioTransport(sys.argv[1:])
transport._lock.acquire()
child = os.fork()
if child == 0:
    print(ask(transport), flush=True)
    ask(unused)
    sys.exit()
transport._lock.release()
assert os.waitpid(child, 0)[1] == 0
print(ask(transport))
transport.close()
"""
    mine, of_child, again = run_script(code)
    assert mine == again != of_child
    until(lambda: not is_alive(of_child), 30)


def test_a_fork_does_not_keep_the_input_of_the_server_open():
    code = """
patient = StdioTransport(sys.argv[1:], stop_seconds=20, env={"MCP_WSGI_TEST": os.environ["MCP_WSGI_TEST"]})
print(ask(patient), flush=True)
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(writer)
    os.read(reader, 1)
    os._exit(0)
process = patient._connection.process
patient.close()
assert process.wait(0) == 0, process.wait(0)
os.close(writer)
os.waitpid(child, 0)
"""
    run_script(code)


def test_greenlets_share_a_server_as_threads_do():
    pytest.importorskip("gevent")
    code = """
answers = []

def work(number):
    message = {"jsonrpc": "2.0", "id": number, "method": "later", "params": {"seconds": 0.2}}
    answers.append(transport.request(message, Exchange(Deadline(30)))["id"])

threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
transport.close()
print(*sorted(answers))
"""
    before = "from gevent import monkey\nmonkey.patch_all()\n"
    assert run_script(code, before=before) == list(range(20))


def test_every_part_is_said_to_be_stdio():
    assert (StdioTransport.kind, StdioTransport.cancels_by_message) == ("stdio", True)
    assert stdio_module.__all__ == ["StdioTransport"]
