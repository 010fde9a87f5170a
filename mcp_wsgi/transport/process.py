"""The process of a stdio server: how it is started, and how it ends with all that it started.

2026-07-28, basic/transports/stdio, Shutdown. Whatever the server does, it is asked before it is forced, each step takes
a bounded time, and at the end there is no process, no thread and no descriptor of it left.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ..exceptions import TransportError
from .environment import build_environment
from .pipes import TICK, PipeWriter, Tail, printable, pump

__all__ = ["ServerProcess"]

logger = logging.getLogger("mcp_wsgi.client")

#: How long what has let go of its pipes may take to end, in seconds. It may also be dead, and only not yet collected by
#: whose child it is.
_REST = 0.25
_JOIN = 5.0

_running: set[ServerProcess] = set()


class ServerProcess:
    """Run one server, from its start to its certain end.

    Args:
        command: The program and its arguments.
        name: What names the server in messages; it holds no secret.
        env: What to add to the environment.
        cwd: The directory to run it in.
        own_group: Whether it gets a session and process group of its own, so that all that it starts ends with it
            (POSIX).
        stop_seconds: The most time that each step of stopping takes.

    Raises:
        TransportError: It cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        own_group: bool = True,
        stop_seconds: float = 2.0,
    ) -> None:
        self.name = name
        self.stop_seconds = stop_seconds
        self._owner = os.getpid()
        self._grouped = own_group and hasattr(os, "killpg")
        #: Whether it is being stopped, or was.
        self.stopping = False
        self._finished = False
        self._exited_at = 0.0
        self._stop_lock = threading.Lock()
        self._threads: tuple[threading.Thread, ...] = ()
        self._tail = Tail(name)
        self._popen = _spawn(command, env, cwd, self._grouped)
        assert self._popen.stdin is not None  # noqa: S101 - for the type checker
        self._input = PipeWriter(self._popen.stdin)
        _running.add(self)

    @property
    def pid(self) -> int:
        """The id of the process, and of its group."""
        return self._popen.pid

    @property
    def stderr(self) -> str:
        """The end of what it has written to its standard error."""
        return self._tail.text

    def run(self, take: Callable[[bytes], None], over: Callable[[], bool], ended: Callable[[], None]) -> None:
        """Begin to read what it writes, in two threads.

        Args:
            take: Called with each chunk of its standard output.
            over: Says that it is no longer wanted.
            ended: Called at the end of its output, before it is stopped.
        """
        out, err = self._popen.stdout, self._popen.stderr
        assert out is not None  # noqa: S101 - for the type checker
        assert err is not None  # noqa: S101 - for the type checker

        def read() -> None:
            try:
                # What is stopped is still read, or it could not finish what it writes.
                pump(out, take, lambda: self._finished or over(), self.has_exited)
            finally:
                ended()
                self.stop()

        def drain() -> None:
            pump(err, self._tail.take, lambda: self._finished)

        self._threads = tuple(
            threading.Thread(target=target, name=f"mcp_wsgi {self.name}", daemon=True) for target in (drain, read)
        )
        started = 0
        try:
            for thread in self._threads:
                thread.start()
                started += 1
        except RuntimeError:
            self._threads = self._threads[:started]
            self.stop()
            for file in (err, out)[started:]:
                file.close()
            raise TransportError(f"Cannot start a thread to read from {self.name}") from None

    def write(self, data: bytes, check: Callable[[], float | None]) -> bool:
        """Write to its standard input; see :meth:`~mcp_wsgi.transport.pipes.PipeWriter.write`."""
        return self._input.write(data, check)

    def has_exited(self) -> bool:
        """Say whether it has ended, whatever the processes do that it started."""
        if self._popen.poll() is None:
            return False
        self._exited_at = self._exited_at or time.monotonic()
        return True

    def wait(self, seconds: float) -> int | None:
        """Wait for it to end, and a little for the end of what it says.

        Returns:
            Its exit status, ``None`` where it still runs.
        """
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        self._threads[0].join(seconds)
        return self._popen.returncode

    def stop(self) -> None:
        """End it: close its input, wait, SIGTERM, wait, SIGKILL, and collect it. Once, however often it is called.

        Each step takes at most ``stop_seconds``. The signals go to its group.
        """
        if self._owner != os.getpid():
            return
        self.stopping = True
        inside = threading.current_thread() in self._threads
        # Whoever stops it waits for its threads, so these do not wait for whoever stops it.
        if self._stop_lock.acquire(blocking=not inside):
            try:
                _climb([self])
            finally:
                self._stop_lock.release()
        self._join()

    def _join(self) -> None:
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_JOIN)

    def disown(self) -> None:
        """Let go of it in a forked process: it belongs to the one that started it."""
        _running.discard(self)
        for file in filter(None, (self._popen.stdin, self._popen.stdout, self._popen.stderr)):
            file.close()
        self._popen.returncode = 0  # else it would be collected, and warned of, as a child of this process

    # The steps of stopping

    def gone(self) -> bool:
        """Say whether it has ended with all of its group, as far as that can be ended."""
        # What is over is not looked at again: by now the number of the group may be another's.
        return self.has_exited() and (self._finished or not self._group_lives())

    def _group_lives(self) -> bool:
        if not self._grouped:
            return False
        try:
            # The number of a group is not given to another process while the group has members.
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def waits_until(self, start: float, *, killed: bool) -> float:
        """Give the time at which a step of stopping is over, in seconds of the monotonic clock."""
        end = start + self.stop_seconds
        if self.has_exited():
            if killed:
                return start  # nothing more can be done for the others
            if all(file.closed for file in filter(None, (self._popen.stdout, self._popen.stderr))):
                return min(end, max(start, self._exited_at) + _REST)
        return end

    def close_input(self) -> None:
        """Tell it that nothing more comes."""
        self._input.close()

    def terminate(self) -> None:
        """Ask all of its group to end."""
        if self._grouped:
            self._signal_group(signal.SIGTERM)
        else:
            self._popen.terminate()

    def kill(self) -> None:
        """End all of its group."""
        if self._grouped:
            self._signal_group(signal.SIGKILL)
        else:
            self._popen.kill()

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def finish(self) -> None:
        """Let its threads end and close what is theirs."""
        self._finished = True
        _running.discard(self)
        if not self.has_exited():
            logger.warning("%s does not end: process %d", self.name, self.pid)


def _spawn(
    command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, own_group: bool
) -> subprocess.Popen[bytes]:
    shown = printable(command[0].encode("utf-8", "replace"), 200)
    if cwd is not None and not os.path.isdir(cwd):
        raise TransportError(f"Cannot start {shown}: the working directory does not exist")
    try:
        return subprocess.Popen(  # noqa: S603 - to run this command is what it is for
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=build_environment(env),
            cwd=cwd,
            start_new_session=own_group,
        )
    except FileNotFoundError:
        reason = (
            "what its first line names does not exist" if os.path.exists(command[0]) else "there is no such program"
        )
        raise TransportError(f"Cannot start {shown}: {reason}") from None
    except PermissionError:
        raise TransportError(f"Cannot start {shown}: it is not executable") from None
    except OSError as error:
        raise TransportError(f"Cannot start {shown}: {error.strerror}") from None
    except ValueError:
        raise TransportError(f"Cannot start {shown}: its arguments or environment cannot be encoded") from None


def _climb(processes: Sequence[ServerProcess]) -> None:
    """Take all of them up the ladder together."""
    steps = (ServerProcess.close_input, ServerProcess.terminate, ServerProcess.kill)
    try:
        for step in steps:
            left = [process for process in processes if not process.gone()]
            for process in left:
                step(process)
            _await(left, killed=step is steps[-1])
    except BaseException:
        # Whoever interrupts this does not want to wait, nor to leave anything behind.
        left = [process for process in processes if not process.gone()]
        for process in left:
            process.kill()
        _await(left, killed=True)
        raise
    finally:
        for process in processes:
            process.close_input()
            process.finish()


def _await(processes: Sequence[ServerProcess], *, killed: bool) -> None:
    start, pause = time.monotonic(), 0.001
    while any(not each.gone() and time.monotonic() < each.waits_until(start, killed=killed) for each in processes):
        time.sleep(pause)
        pause = min(pause * 2, TICK / 20)


def _stop_all() -> None:
    # The threads are not waited for before: those that are left are daemons, and one of them may be stopping its own.
    left = [process for process in list(_running) if process._owner == os.getpid()]
    for process in left:
        process.stopping = True
    _climb(left)
    for process in left:
        process._join()


atexit.register(_stop_all)
