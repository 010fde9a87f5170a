"""The handler of a remote tool: one call of it, for a program or for the client of a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..client import Cancel, Client, InputRequiredResult, Progress
from ..client.wire import LOGGER, shown
from ..errors import ErrorCode
from ..exceptions import (
    ClientClosedError,
    ClientError,
    MCPError,
    RequestCancelledError,
    RequestTimeoutError,
    ToolError,
    UnauthorizedError,
)
from ..server.context import CancelledError, Context
from .forms import Form, shaped, tool_result

__all__ = ["RemoteTool"]

#: W3C Trace Context: of a request's ``_meta`` only this goes on to another server (SEP-414).
_TRACE = ("traceparent", "tracestate", "baggage")
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
        cancel = Cancel()
        try:
            with ctx.cancellation.calling(cancel.cancel):
                result = self.client.call_tool(
                    self.name,
                    arguments,
                    on_progress=_progress_to(ctx) if ctx.meta.get("progressToken") is not None else None,
                    meta={key: ctx.meta[key] for key in _TRACE if key in ctx.meta},
                    cancel=cancel,
                )
        except MCPError as error:
            if _concerns_the_client(error):
                raise
            raise ToolError(error.message or "The tool failed.") from error
        except RequestCancelledError as error:
            raise CancelledError("The client cancelled the request") from error
        except ClientError as error:
            self._unreachable(error)
        if isinstance(result, InputRequiredResult):
            raise ToolError("The tool asks for something that nobody here can answer.")
        return tool_result(result, has_schema=self.has_schema)

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


def _concerns_the_client(error: MCPError) -> bool:
    """Say whether the program behind the client has to act on an error; a model would only read it.

    Those are what it may have to declare or do first, and an application's own codes: outside of JSON-RPC's range.
    """
    if error.code in (ErrorCode.MISSING_CLIENT_CAPABILITY, _URL_ELICITATION_REQUIRED):
        return True
    return not -32768 <= error.code <= -32000


def _progress_to(ctx: Context) -> Callable[[Progress], None]:
    return lambda report: ctx.report_progress(report.progress, report.total, report.message)
