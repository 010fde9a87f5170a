"""What the doctor finds, and how a check says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .patient import Patient

__all__ = [
    "Check",
    "Finding",
    "Opinion",
    "Verdict",
    "broken",
    "check",
    "fine",
    "note",
    "skipped",
    "some",
    "worst",
]


class Verdict(Enum):
    """What a finding means."""

    OK = "ok"
    #: Nothing fails, but it is worth knowing.
    NOTE = "note"
    #: Clients that are in use fail.
    SOME = "fails-for-some"
    #: Every client fails, or a rule is broken that protects the server or its users.
    BROKEN = "broken"
    #: It does not apply, or could not be found out.
    SKIPPED = "not-checked"

    @property
    def is_fault(self) -> bool:
        """Whether something has to be changed."""
        return self in (Verdict.SOME, Verdict.BROKEN)


_ORDER = (Verdict.SKIPPED, Verdict.OK, Verdict.NOTE, Verdict.SOME, Verdict.BROKEN)


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What one check thinks: one plain sentence, what to change, and who is affected."""

    verdict: Verdict
    says: str
    change: str = ""
    whom: tuple[str, ...] = ()
    #: What was sent and what came; the last exchange of the check where they are empty.
    sent: str = ""
    came: str = ""


@dataclass(frozen=True, kw_only=True)
class Finding(Opinion):
    """What a check found."""

    check: str
    title: str

    def to_json(self) -> dict[str, Any]:
        """Give the finding as JSON has it."""
        return {
            "check": self.check,
            "title": self.title,
            "verdict": self.verdict.value,
            "says": self.says,
            "change": self.change,
            "whom": list(self.whom),
            "sent": self.sent,
            "came": self.came,
        }


def fine(says: str) -> Opinion:
    """Find nothing wrong."""
    return Opinion(verdict=Verdict.OK, says=says)


def note(says: str, change: str = "") -> Opinion:
    """Find something worth knowing."""
    return Opinion(verdict=Verdict.NOTE, says=says, change=change)


def some(says: str, change: str, *whom: str) -> Opinion:
    """Find something that fails for some clients."""
    return Opinion(verdict=Verdict.SOME, says=says, change=change, whom=whom)


def broken(says: str, change: str, *whom: str) -> Opinion:
    """Find something that fails for all, or a rule that protects and is broken."""
    return Opinion(verdict=Verdict.BROKEN, says=says, change=change, whom=whom)


def skipped(says: str) -> Opinion:
    """Say why something was not checked."""
    return Opinion(verdict=Verdict.SKIPPED, says=says)


def worst(opinions: Iterable[Opinion]) -> Opinion:
    """Give the gravest of several opinions, the first of several as grave; all that are affected are named."""
    found = list(opinions)
    gravest = max(found, key=lambda each: _ORDER.index(each.verdict))
    whom = dict.fromkeys(name for each in found if each.verdict is gravest.verdict for name in each.whom)
    return replace(gravest, whom=tuple(whom))


#: Which era a server has to speak for a check to make sense; ``none``: it need not even let us in.
Era = Literal["none", "any", "modern", "legacy"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that the doctor looks at."""

    id: str
    title: str
    era: Era
    look: Callable[[Patient], Opinion]


def check(
    registry: list[Check], name: str, title: str, *, era: Era = "any"
) -> Callable[[Callable[[Patient], Opinion]], Callable[[Patient], Opinion]]:
    """Make a function a check of a module's list."""

    def register(look: Callable[[Patient], Opinion]) -> Callable[[Patient], Opinion]:
        registry.append(Check(id=name, title=title, era=era, look=look))
        return look

    return register
