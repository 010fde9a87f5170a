"""What a client knows of a server's tools: which arguments are mirrored into headers, what their results must fit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..protocol.param_headers import ParamHeader, collect_param_headers
from .forks import begin_anew_after_fork
from .results import CallResult, ToolInfo
from .schemas import output_checker

__all__ = ["KnownTool", "KnownTools"]

#: Tools beyond these are not remembered; calling them works, and costs a second request where they mirror arguments.
MAX_TOOLS = 10_000


@dataclass(frozen=True, slots=True)
class KnownTool:
    """Hold a tool as it was last listed."""

    info: ToolInfo
    param_headers: tuple[ParamHeader, ...]

    def checker(self) -> Callable[[CallResult], None] | None:
        """Give what checks a result against the output schema, ``None`` where there is none."""
        return output_checker(self.info)


class KnownTools:
    """Remember tools by their names, for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, KnownTool] = {}
        begin_anew_after_fork(self)

    def begin_anew(self) -> None:
        """Take another lock in a forked process."""
        self._lock = threading.Lock()

    def remember(self, tools: Iterable[ToolInfo], *, mirrored: bool) -> None:
        """Take note of listed tools, in place of what was known under their names.

        Args:
            tools: The tools.
            mirrored: Whether their annotations were checked, so that headers can be made of them.
        """
        found = {
            tool.name: KnownTool(tool, collect_param_headers(tool.input_schema) if mirrored else ()) for tool in tools
        }
        with self._lock:
            for name, tool in found.items():
                if len(self._tools) < MAX_TOOLS or name in self._tools:
                    self._tools[name] = tool

    def find(self, name: str) -> KnownTool | None:
        """Give the tool of that name, as far as it is known."""
        return self._tools.get(name)

    def forget(self) -> None:
        """Forget all of them: the list has changed."""
        with self._lock:
            self._tools.clear()
