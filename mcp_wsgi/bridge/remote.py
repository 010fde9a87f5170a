"""The handler of a remote tool: one call of it, for a program or for the client of a gateway."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from ..client import Cancel, Client, InputRequiredResult, LogMessage, Progress, Relay
from ..client.wire import LOGGER
from ..errors import ErrorCode
from ..exceptions import (
    ClientClosedError,
    ClientError,
    InvalidParamsError,
    MCPError,
    RequestCancelledError,
    RequestTimeoutError,
    ToolError,
    UnauthorizedError,
)
from ..server.context import CancelledError, Context
from ..server.questions import InputRequired
from ..server.reasons import shown
from .forms import Form, shaped, tool_result

__all__ = ["RemoteTool"]

#: W3C Trace Context: of a request's ``_meta`` only this goes on to another server (SEP-414).
_TRACE = ("traceparent", "tracestate", "baggage")
#: The longest that any of it may be (W3C Baggage, Limits).
_LONGEST_TRACE = 8_192
#: The questions that another server may ask through a gateway.
_ASKABLE = ("elicitation", "sampling", "roots")
#: 2025-11-25: the user has to visit a URL first; what the client needs for it is in the error's data.
_URL_ELICITATION_REQUIRED = -32042


class RemoteTool:
    """Call a tool of another server. Any number of threads may do so at once.

    Called with the :class:`~mcp_wsgi.Context` of our own server, as in a gateway, it gives back the whole result; the
    gateway's client gets progress, logs and questions of the other server, and can cancel. Else it gives the form
    that was chosen.

    Args:
        client: The client of the other server.
        server: What the other server is called.
        name: The tool's name there.
        form: What a result becomes.
        has_schema: Whether the tool has an output schema.
        questions: Whether what the other server asks may reach the client of a gateway.
    """

    __slots__ = ("client", "form", "has_schema", "name", "questions", "server")

    def __init__(
        self, client: Client, server: str, name: str, *, form: Form, has_schema: bool = False, questions: bool = True
    ) -> None:
        self.client = client
        self.server = server
        self.name = name
        self.form: Form = form
        self.has_schema = has_schema
        self.questions = questions

    def __repr__(self) -> str:
        return f"<remote tool {self.name!r} of {self.server!r}>"

    def __call__(
        self,
        arguments: Mapping[str, Any] | None = None,
        ctx: Any = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> Any:
        """Call the tool.

        Args:
            arguments: Its arguments.
            ctx: The context of the request of our own server that it is called for.
            on_progress: Called with each report of progress, where there is no such context.

        Raises:
            ToolError: The tool failed, or could not be called; the text is for the model, the reason its cause.
            InputRequired: Only with a context: the other server asks something before it answers.
            MCPError: Only with a context: an error that the program behind the gateway's client has to act on.
        """
        if isinstance(ctx, Context):
            return self._relay(dict(arguments or {}), ctx)
        try:
            result = self.client.call_tool(self.name, arguments, on_progress=on_progress)
        except MCPError as error:
            raise ToolError(error.message or "The tool failed.") from error
        except ClientError as error:
            self._unreachable(error)
        if isinstance(result, InputRequiredResult):
            raise ToolError("The tool asks for something that nobody here can answer.")
        return shaped(result, self.form)

    def _relay(self, arguments: dict[str, Any], ctx: Context) -> Any:
        cancel, relay = Cancel(), self._for_client_of(ctx)
        try:
            with ctx.cancellation.calling(cancel.cancel):
                result = self.client.call_tool(
                    self.name,
                    arguments,
                    on_progress=_progress_to(ctx) if ctx.meta.get("progressToken") is not None else None,
                    meta=_trace_of(ctx),
                    cancel=cancel,
                    relay=relay,
                )
        except MCPError as error:
            if self._concerns_the_client(error):
                raise
            raise ToolError(error.message or "The tool failed.") from error
        except RequestCancelledError as error:
            raise CancelledError("The client cancelled the request") from error
        except ClientError as error:
            self._unreachable(error)
        if isinstance(result, InputRequiredResult):
            raise InputRequired(result.requests, state=_write_state(self.server, self.name, result))
        return tool_result(result, has_schema=self.has_schema)

    def _for_client_of(self, ctx: Context) -> Relay:
        """Say what the gateway's client can be asked and wants to read, and what it answered before."""
        declared = ctx.client_capabilities if self.questions else {}
        log_level = ctx.envelope.log_level if ctx.envelope is not None else None
        relay = Relay(
            capabilities={name: declared[name] for name in _ASKABLE if name in declared},
            log_level=log_level,
            on_log=None if log_level is None else _logs_to(ctx),
        )
        # The state is not to be looked at without need: that takes the keys that it is signed with.
        if ctx.params.get("requestState") is None:
            return relay
        asked = _read_state(self.server, self.name, ctx.request_state)
        answers = ctx.input_responses
        responses = {key: answers[key] for key in asked["keys"] if key in answers}
        return replace(relay, responses=responses or None, state=asked["state"])

    def _concerns_the_client(self, error: MCPError) -> bool:
        """Say whether the program behind the client has to act on an error; a model would only read it.

        Those are what it may have to declare or do first, and an application's own codes: outside of JSON-RPC's range.
        """
        if error.code in (ErrorCode.MISSING_CLIENT_CAPABILITY, _URL_ELICITATION_REQUIRED):
            return self.questions  # else declaring it would not help, and to send the user somewhere is to ask
        return not -32768 <= error.code <= -32000

    def _unreachable(self, error: ClientError) -> NoReturn:
        """Say that the other server did not answer. What exactly happened stays here: it may hold addresses."""
        LOGGER.warning("The tool %s of the server %r: %s", shown(self.name), self.server, shown(str(error), 300))
        raise ToolError(f"{_reason(error)}: the server {self.server!r}.") from error


def _reason(error: ClientError) -> str:
    if isinstance(error, RequestTimeoutError):
        return "This took too long"
    if isinstance(error, UnauthorizedError):
        return "This is not allowed"
    if isinstance(error, ClientClosedError):
        return "This is not available any more"
    return "This could not be reached, or gave no valid answer"


def _trace_of(ctx: Context) -> dict[str, str]:
    values = ((key, ctx.meta.get(key)) for key in _TRACE)
    return {key: value for key, value in values if isinstance(value, str) and len(value) <= _LONGEST_TRACE}


def _progress_to(ctx: Context) -> Callable[[Progress], None]:
    return lambda report: ctx.report_progress(report.progress, report.total, report.message)


def _logs_to(ctx: Context) -> Callable[[LogMessage], None]:
    def take(message: LogMessage) -> None:
        try:
            ctx.log(message.level, message.data, message.logger)
        except ValueError:
            ctx.log("info", message.data, message.logger)  # a level of its own

    return take


def _write_state(server: str, name: str, result: InputRequiredResult) -> str:
    """Write what the next round has to bring back to the other server; our own server signs it."""
    return json.dumps(
        {"server": server, "tool": name, "state": result.state, "keys": list(result.requests)}, separators=(",", ":")
    )


def _read_state(server: str, name: str, text: str | None) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(text or "{}")
    if (state.get("server"), state.get("tool")) != (server, name):
        raise InvalidParamsError('"requestState" belongs to another tool')
    return state
