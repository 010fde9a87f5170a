"""The process of a server: what it inherits, how it starts, and that all of it ends.

2026-07-28, basic/transports/stdio, Shutdown.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from mcp_wsgi.exceptions import RequestCancelledError, ServerExitedError, TransportError
from mcp_wsgi.transport.process import ServerProcess
from mcp_wsgi.transport.stdio import StdioTransport
from tests.transport.stdio_support import MARK, exchange, is_alive, leaves_nothing, program, request, until


@pytest.fixture(autouse=True)
def _check_what_is_left() -> Iterator[None]:
    with leaves_nothing():
        yield


def a_transport(name="talker", *arguments, env=None, seconds=1.0, **options):
    return StdioTransport(program(name, *arguments), env={**MARK, **(env or {})}, stop_seconds=seconds, **options)


def about(transport):
    return transport.request(request(1, "about"), exchange())["result"]


# What it inherits


def test_what_is_added_wins_and_reaches_the_server(monkeypatch):
    monkeypatch.setenv("API_TOKEN", "secret")
    transport = a_transport(env={"HOME": "/elsewhere", "OWN_TOKEN": "mine"})
    environment = about(transport)["env"]
    transport.close()
    assert environment["HOME"] == "/elsewhere"
    assert environment["OWN_TOKEN"] == "mine"
    assert "API_TOKEN" not in environment


def test_a_server_inherits_no_descriptor():
    read, write = os.pipe()
    os.set_inheritable(write, True)
    transport = a_transport()
    pid = about(transport)["pid"]
    targets = {os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")}
    assert os.readlink(f"/proc/self/fd/{write}") not in targets
    transport.close()
    os.close(read)
    os.close(write)


# How it starts


def test_a_program_that_cannot_be_run_is_named(tmp_path):
    script = tmp_path / "no-program"
    script.write_text("text")
    with pytest.raises(TransportError, match="no-program: it is not executable"):
        StdioTransport([script]).request(request(1, "x"), exchange())
    script.chmod(0o755)
    script.write_text("#!/no/such/interpreter\n")
    with pytest.raises(TransportError, match="no-program: what its first line names does not exist"):
        StdioTransport([script]).request(request(1, "x"), exchange())
    script.write_text("text")
    with pytest.raises(TransportError, match="no-program: Exec format error"):
        StdioTransport([script]).request(request(1, "x"), exchange())
    with pytest.raises(TransportError, match="Argument list too long"):
        StdioTransport([sys.executable, "x" * 4_000_000]).request(request(1, "x"), exchange())
    with pytest.raises(TransportError, match="cannot be encoded"):
        StdioTransport([sys.executable, "\ud800"]).request(request(1, "x"), exchange())
    with pytest.raises(TransportError, match="working directory does not exist"):
        StdioTransport([sys.executable], cwd=tmp_path / "nowhere").request(request(1, "x"), exchange())


def test_a_program_is_looked_for_in_the_path_that_it_gets(tmp_path):
    script = tmp_path / "a-server-of-its-own"
    script.write_text(f"#!/bin/sh\nexec {' '.join(program('talker'))}\n")
    script.chmod(0o755)
    transport = StdioTransport([script.name], env={**MARK, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    assert about(transport)["notes"] == []
    transport.close()


@pytest.mark.parametrize("most", [0, 1])
def test_a_process_whose_threads_cannot_start_is_ended(monkeypatch, most):
    start, started = threading.Thread.start, []

    def refuse(thread):
        if len(started) >= most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    transport = a_transport()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(TransportError, match="Cannot start a thread"):
        transport.request(request(1, "echo"), exchange())
    transport.close()


# How it ends


def test_a_server_has_a_group_of_its_own_unless_told_otherwise():
    transport = a_transport()
    facts = about(transport)
    transport.close()
    assert facts["group"] == facts["pid"]
    transport = a_transport(start_new_session=False)
    facts = about(transport)
    transport.close()
    assert facts["group"] == os.getpgrp()
    transport = a_transport("talker", "stubborn", start_new_session=False, seconds=0.2)
    pid = about(transport)["pid"]
    transport.close()
    assert not is_alive(pid)


def test_a_good_server_is_let_end_by_itself():
    transport = a_transport(seconds=60)
    about(transport)
    process = transport._connection.process
    start = time.monotonic()
    transport.close()
    assert time.monotonic() - start < 30
    assert process.wait(0) == 0


@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("holds", [False, True])
def test_what_the_server_started_ends_with_it(stubborn, holds):
    transport = a_transport(seconds=0.3)
    pid = transport.request(request(1, "spawn", stubborn=stubborn, holds=holds), exchange())["result"]["pid"]
    assert is_alive(pid)
    start = time.monotonic()
    transport.close()
    assert time.monotonic() - start < 15
    until(lambda: not is_alive(pid))


def test_a_wrapper_takes_the_server_with_it(caplog):
    transport = a_transport("wrapper", seconds=0.3)
    waiting = exchange(60)
    thread = threading.Thread(target=lambda: (until(lambda: "ready" in caplog.text, 30), waiting.cancel()))
    thread.start()
    with pytest.raises(RequestCancelledError):
        transport.request(request(1, "x"), waiting)
    thread.join()
    transport.close()


def test_a_process_that_left_the_group_keeps_no_thread_and_no_descriptor():
    transport = a_transport(seconds=0.2)
    pid = transport.request(request(1, "spawn", detached=True), exchange())["result"]["pid"]
    transport.close()
    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_what_a_dead_server_started_ends_too():
    transport = a_transport(seconds=0.2)
    pid = transport.request(request(1, "spawn", stubborn=True), exchange())["result"]["pid"]
    with pytest.raises(ServerExitedError):
        transport.request(request(2, "die"), exchange())
    until(lambda: not is_alive(pid))
    transport.close()


def test_a_stopped_server_is_killed():
    transport = a_transport(seconds=0.2)
    pid = about(transport)["pid"]
    os.kill(pid, signal.SIGSTOP)
    transport.close()
    assert not is_alive(pid)


def test_who_interrupts_the_end_does_not_wait_for_it():
    transport = a_transport("talker", "stubborn", seconds=30)
    pid = about(transport)["pid"]
    main = threading.main_thread().ident

    def interrupt():
        until(lambda: transport._connection.process._input._file.closed, 30)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        transport.close()
    thread.join()
    assert time.monotonic() - start < 20
    assert not is_alive(pid)


def test_nothing_is_signalled_once_a_server_has_ended(monkeypatch):
    transport = a_transport()
    about(transport)
    with pytest.raises(ServerExitedError):
        transport.request(request(1, "die"), exchange())
    until(lambda: transport._connection.process._finished)
    # The number may be another's by then.
    monkeypatch.setattr(os, "killpg", lambda group, number: pytest.fail("signalled"))
    transport.close()
    transport.close()


def test_a_process_of_another_owner_is_left_alone():
    transport = a_transport()
    pid = about(transport)["pid"]
    process = transport._connection.process
    process._owner = -1
    process.stop()
    assert is_alive(pid)
    process._owner = os.getpid()
    transport.close()


def test_a_process_that_does_not_end_is_told_of(caplog, monkeypatch):
    transport = a_transport(seconds=0.1)
    pid = about(transport)["pid"]
    with monkeypatch.context() as patch:
        # As for a process that hangs in the kernel.
        patch.setattr(os, "killpg", lambda group, number: None)
        os.kill(pid, signal.SIGSTOP)
        transport.close()
    assert f"does not end: process {pid}" in caplog.text
    os.kill(pid, signal.SIGKILL)
    transport._connection.process._popen.wait()


def test_a_group_that_may_not_be_signalled_is_no_error(monkeypatch):
    transport = a_transport()
    about(transport)

    def refuse(group, number):
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refuse)
    transport.close()


def test_stopping_in_several_threads_is_stopping_once():
    process = ServerProcess(program("talker"), name="stdio:test", env=MARK)
    process.run(lambda chunk: None, lambda: False, lambda: None)
    threads = [threading.Thread(target=process.stop) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert process.has_exited()
