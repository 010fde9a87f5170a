"""Real processes: their streams, their signals, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi.stdio.serving import CANCEL_SECONDS, SIGNAL_SECONDS
from tests.modern import message
from tests.patience import least, wait_until
from tests.stdio_door.client import LONG, PATIENCE, Client, initialize, legacy, notice

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-W", "error", "-m", "tests.stdio_door.program"]
#: As most clients start it: what is printed waits in a buffer.
ENVIRON = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


class Running:
    """A program and a client of it."""

    def __init__(self, process: subprocess.Popen[bytes], client: Client, errors: Path) -> None:
        self.process = process
        self.client = client
        self._errors = errors

    @property
    def stderr(self) -> str:
        return self._errors.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until the program has written something to its standard error."""
        wait_until(lambda: text in self.stderr, PATIENCE)

    def wait(self) -> int:
        """Wait for the end of the program and return its exit status."""
        status = self.process.wait(PATIENCE)
        self.client.join()
        return status

    def finish(self) -> int:
        """End the input, and wait."""
        self.client.end_input()
        return self.wait()


@contextmanager
def running(tmp_path: Path, *arguments: str) -> Iterator[Running]:
    errors = tmp_path / "stderr.txt"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
            env=ENVIRON,
        )
    assert process.stdin
    assert process.stdout
    # The descriptors are the client's from now on.
    client = Client(os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno()))
    process.stdin.close()
    process.stdout.close()
    try:
        yield Running(process, client, errors)
    finally:
        process.kill()
        process.wait(PATIENCE)
        client.end_input()
        client.join()


def call(request_id: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", request_id=request_id, name=tool, arguments=arguments)


def text_of(answer: Any) -> str:
    return answer["result"]["content"][0]["text"]  # type: ignore[no-any-return]


def test_whatever_is_printed_only_messages_reach_the_client(tmp_path):
    """B106, the commonest fault of all."""
    with running(tmp_path) as program:
        assert text_of(program.client.ask(call(1, "shout"))) == "said"
        assert text_of(program.client.ask(call(2, "later", text="x"))) == "x"
        assert program.client.is_quiet()
        assert program.finish() == 0
        for text in (
            "A banner",
            "printed\n",
            "printed to what was the output",
            "written",
            "written to the descriptor",
            "printed by a child",
            "printed by a shell",
        ):
            assert text in program.stderr
        assert "left: [] 0" in program.stderr


def test_nobody_else_reads_what_the_client_sends(tmp_path):
    with running(tmp_path) as program:
        program.client.send(call(1, "listen"), legacy(2, "ping"))
        answers = program.client.answers(2)
        assert text_of(answers[1]) == "'' '' b''"
        assert answers[2]["result"] == {}
        assert program.finish() == 0


def test_a_forked_child_neither_speaks_to_the_client_nor_keeps_it_waiting(tmp_path):
    with running(tmp_path) as program:
        forking = call(1, "fork")
        forking["params"]["_meta"]["progressToken"] = "p"
        child = int(text_of(program.client.ask(forking)))
        try:
            assert program.client.is_quiet()
            assert program.finish() == 0  # long before the child
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_streams_are_given_back_at_the_end(tmp_path):
    with running(tmp_path, "afterwards") as program:
        assert program.client.is_quiet()
        program.client.end_input()
        assert program.client.line() == b"printed afterwards\n"
        assert program.wait() == 0


def test_both_eras_in_one_process(tmp_path):
    with running(tmp_path) as program:
        client = program.client
        assert client.ask(message("server/discover", request_id=0))["result"]["supportedVersions"]
        assert client.ask(initialize(1))["result"]["protocolVersion"] == "2025-11-25"
        client.send(notice("notifications/initialized"))
        assert text_of(client.ask(legacy(2, "tools/call", name="later", arguments={"text": "x"}))) == "x"
        assert text_of(client.ask(call(3, "later", text="y"))) == "y"
        assert program.finish() == 0


def test_what_runs_at_the_end_of_the_input_is_answered(tmp_path):
    with running(tmp_path) as program:
        program.client.send(call(1, "wait", seconds=0.3), call(2, "big", size=5 << 20))
        program.client.end_input()
        answers = {answer["id"]: text_of(answer) for answer in program.client.rest()}
        assert answers == {1: "done", 2: "x" * (5 << 20)}
        assert program.wait() == 0
        assert "left: [] 0" in program.stderr


def test_lines_from_a_file_are_answered_to_a_file(tmp_path):
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    requests.write_text("".join(json.dumps(each) + "\n" for each in (initialize(0), call(1, "later", text="x"))))
    with requests.open("rb") as stdin, answers.open("wb") as stdout:
        null = subprocess.DEVNULL
        subprocess.run(PROGRAM, stdin=stdin, stdout=stdout, stderr=null, cwd=ROOT, env=ENVIRON, timeout=60, check=True)
    assert {json.loads(line)["id"] for line in answers.read_text().splitlines()} == {0, 1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server_quietly(tmp_path, number):
    with running(tmp_path) as program:
        assert program.client.is_quiet()
        program.process.send_signal(number)
        assert program.wait() == 0
        assert "Traceback" not in program.stderr
        assert "left: [] 0" in program.stderr


def test_a_signal_lets_a_short_call_end_and_ends_subscriptions(tmp_path):
    with running(tmp_path) as program:
        program.client.send(message("subscriptions/listen", request_id="l", notifications={"toolsListChanged": True}))
        assert "acknowledged" in program.client.read()["method"]
        program.client.send(call(1, "wait", seconds=0.3))
        program.wait_for("waiting")
        program.process.send_signal(signal.SIGTERM)
        answered, cancelled, completed = program.client.rest()
        assert (answered["id"], text_of(answered)) == (1, "done")
        assert cancelled["params"] == {"requestId": "l"}
        assert completed["result"]["resultType"] == "complete"
        assert program.wait() == 0


def test_a_signal_lets_a_long_call_know(tmp_path):
    with running(tmp_path, "", "SIGNAL_SECONDS=0.2") as program:
        program.client.send(call(1, "wait", seconds=LONG))
        program.wait_for("waiting")
        program.process.send_signal(signal.SIGTERM)
        assert [text_of(answer) for answer in program.client.rest()] == ["cancelled"]
        assert program.wait() == 0


def test_a_signal_waits_for_no_long_call(tmp_path):
    """Clients kill a server that is still there two seconds after the signal."""
    assert SIGNAL_SECONDS + CANCEL_SECONDS < 2

    def measure() -> float:
        words = (f"SIGNAL_SECONDS={SIGNAL_SECONDS}", f"CANCEL_SECONDS={CANCEL_SECONDS}")
        with running(tmp_path, "", *words) as program:
            program.client.send(call(1, "hang"))
            program.wait_for("waiting")
            begin = time.monotonic()
            program.process.send_signal(signal.SIGTERM)
            assert program.client.rest() == []
            assert program.wait() == 0
            return time.monotonic() - begin

    assert least(measure, 4) < 4


def begin_to_end(program: Running, how: Callable[[], None]) -> None:
    """Have a long call and a question under way, tell the program to end, and wait until it is about to."""
    client = program.client
    client.handshake(capabilities={"roots": {}})
    client.send(call(1, "wait", seconds=LONG), legacy(2, "tools/call", name="ask"))
    question = client.read()
    program.wait_for("waiting")
    how()
    # A question ends at once: nobody would be heard who answers it.
    assert client.read() == notice("notifications/cancelled", requestId=question["id"])
    assert client.read()["id"] == 2


def test_a_second_signal_waits_for_nothing(tmp_path):
    with running(tmp_path) as program:
        begin_to_end(program, lambda: program.process.send_signal(signal.SIGTERM))
        program.process.send_signal(signal.SIGTERM)
        assert [text_of(answer) for answer in program.client.rest()] == ["cancelled"]
        assert program.wait() == 0


def test_a_signal_during_the_end_of_the_input_shortens_it(tmp_path):
    with running(tmp_path, "", "SIGNAL_SECONDS=0.2") as program:
        begin_to_end(program, program.client.end_input)
        program.process.send_signal(signal.SIGTERM)
        assert [text_of(answer) for answer in program.client.rest()] == ["cancelled"]
        assert program.wait() == 0


def test_a_handler_of_the_program_is_left_alone(tmp_path):
    with running(tmp_path, "own handler") as program:
        assert program.client.is_quiet()
        program.process.send_signal(signal.SIGTERM)
        assert program.wait() == 7
        assert "Traceback" not in program.stderr


def test_an_output_that_is_closed_ends_the_server_quietly(tmp_path):
    """B110: a write to a broken pipe is no traceback, and no endless loop."""
    with (tmp_path / "stderr.txt").open("wb") as stderr:
        process = subprocess.Popen(
            PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT, env=ENVIRON
        )
    assert process.stdin
    assert process.stdout
    with process.stdin, process.stdout:
        process.stdin.write(json.dumps(call(1, "big", size=5 << 20)).encode() + b"\n")
        process.stdin.flush()
        process.stdout.read(1000)
        process.stdout.close()
        assert process.wait(PATIENCE) == 0
    assert "Traceback" not in (tmp_path / "stderr.txt").read_text()


def test_a_server_whose_parent_is_killed_ends(tmp_path):
    pid_file = tmp_path / "pid"
    parent = f"""
import subprocess, sys, time
child = subprocess.Popen({PROGRAM!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
child.stdin.write(b'{{"jsonrpc":"2.0","id":1,"method":"ping"}}\\n')
child.stdin.flush()
child.stdout.readline()
open({str(pid_file)!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", parent], cwd=ROOT)
    wait_until(lambda: pid_file.exists() and pid_file.read_text(), PATIENCE)
    child = int(pid_file.read_text())
    process.kill()
    process.wait(PATIENCE)
    wait_until(lambda: not _is_running(child), PATIENCE)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Where nobody reaps orphans, it stays as a zombie.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_another_thread_than_the_main_one_may_serve(tmp_path):
    """It just cannot take signals."""
    with running(tmp_path, "thread") as program:
        assert text_of(program.client.ask(call(1, "shout"))) == "said"
        assert program.finish() == 0


@pytest.mark.parametrize("redirection", ["<&-", ">&-"])
def test_a_process_without_streams_is_told(redirection):
    script = f"exec {sys.executable} -m tests.apps.interop_stdio {redirection}"
    ran = subprocess.run(
        ["sh", "-c", script], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert b"no standard input and output" in ran.stderr


def test_a_process_without_a_standard_error_serves():
    script = f"exec {sys.executable} -m tests.stdio_door.program 2>&-"
    ran = subprocess.run(
        ["sh", "-c", script],
        input=json.dumps(call(1, "shout")).encode(),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=ENVIRON,
        timeout=60,
        check=False,
    )
    assert text_of(json.loads(ran.stdout.splitlines()[0])) == "said"
