"""What a handler may do while it runs: progress, logs, cancellation, and what it knows of its request."""

from __future__ import annotations

import decimal
import fractions
import itertools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Cancellation, CancelledError, Context, Server
from mcp_wsgi.protocol.codec import encode
from mcp_wsgi.protocol.meta import LOG_LEVELS

from .wire import ERAS, call, request, result_of, text_of


def run(body: Any, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run a handler; give its result and what it sent."""
    server = Server("s", keys=["k"])
    sent: list[dict[str, Any]] = []

    def t(ctx: Context) -> Any:
        return body(ctx)

    server.tool(t)

    def notify(message: dict[str, Any]) -> None:
        encode(message)
        sent.append(message)

    return call(server, "t", notify=notify, **options), sent


# Progress (basic/patterns/progress)


@ERAS
@pytest.mark.parametrize("token", ["a", "", 0, 1, -1, 2**60])
def test_progress_carries_the_token_of_the_request(era: str, token: str | int) -> None:
    """B45: ``0`` and ``""`` are tokens."""
    _, sent = run(lambda ctx: ctx.report_progress(1, 2, "half"), era=era, token=token)
    assert sent == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1, "total": 2, "message": "half"},
        }
    ]
    assert type(sent[0]["params"]["progressToken"]) is type(token)


@ERAS
def test_without_a_token_there_is_no_progress(era: str) -> None:
    assert run(lambda ctx: ctx.report_progress(1), era=era)[1] == []


@given(st.lists(st.integers(-5, 5) | st.floats(-5, 5), max_size=12))
def test_progress_increases_strictly(values: list[float]) -> None:
    """ "The progress value MUST increase with each notification, even if the total is unknown." """

    def body(ctx: Context) -> None:
        for value in values:
            ctx.report_progress(value)

    _, sent = run(body, token=1)
    reported = [each["params"]["progress"] for each in sent]
    assert all(later > earlier for earlier, later in itertools.pairwise(reported))
    assert max(values, default=None) == (reported[-1] if reported else None)
    assert all("total" not in each["params"] and "message" not in each["params"] for each in sent)


def test_progress_from_many_threads_increases_strictly() -> None:
    def body(ctx: Context) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ctx.report_progress, range(500)))

    _, sent = run(body, token=1)
    reported = [each["params"]["progress"] for each in sent]
    assert reported == sorted(set(reported))
    assert reported[-1] == 499


@pytest.mark.parametrize("value", [decimal.Decimal("0.5"), fractions.Fraction(1, 2), True, 2**70])
def test_other_kinds_of_numbers_become_json(value: Any) -> None:
    _, sent = run(lambda ctx: ctx.report_progress(value, value), token=1)
    assert sent[0]["params"]["progress"] == value
    assert type(sent[0]["params"]["progress"]) in (int, float)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, decimal.Decimal("NaN"), 10**400, "x", None])
@pytest.mark.parametrize("as_total", [True, False])
def test_progress_is_a_finite_number(value: Any, as_total: bool) -> None:
    def body(ctx: Context) -> str:
        if as_total and value is None:
            return "refused"
        with pytest.raises(ValueError, match="finite"):
            ctx.report_progress(*((1, value) if as_total else (value,)))
        return "refused"

    result, sent = run(body, token=1)
    assert (text_of(result), sent) == ("refused", [])


# Logs (server/utilities/logging)


@pytest.mark.parametrize("wanted", [*LOG_LEVELS, None])
def test_logs_at_or_above_the_level_of_the_request_are_sent(wanted: str | None) -> None:
    """B90."""

    def body(ctx: Context) -> None:
        for level in LOG_LEVELS:
            ctx.log(level, {"at": level})

    _, sent = run(body, log_level=wanted)
    expected = LOG_LEVELS[LOG_LEVELS.index(wanted) :] if wanted else ()
    assert [each["params"] for each in sent] == [{"level": level, "data": {"at": level}} for level in expected]
    assert all(each["method"] == "notifications/message" for each in sent)


def test_a_logger_may_be_named_and_four_levels_have_their_own_method() -> None:
    def body(ctx: Context) -> None:
        ctx.log("notice", "x", logger="db")
        ctx.debug(1)
        ctx.info(2)
        ctx.warning(3)
        ctx.error(4)

    _, sent = run(body, log_level="debug")
    assert sent[0]["params"] == {"level": "notice", "data": "x", "logger": "db"}
    assert [each["params"]["level"] for each in sent[1:]] == ["debug", "info", "warning", "error"]


def test_what_is_no_json_is_logged_as_its_text() -> None:
    """A log call never costs the result."""

    def body(ctx: Context) -> str:
        ctx.error(ValueError("too late"))
        ctx.info({"amount": decimal.Decimal("1.5"), "tags": {"a"}})
        return "done"

    result, sent = run(body, log_level="debug")
    assert text_of(result) == "done"
    assert [each["params"]["data"] for each in sent] == ["too late", {"amount": "1.5", "tags": ["a"]}]


def test_an_unknown_level_is_the_handler_s_mistake_also_when_nobody_listens() -> None:
    def body(ctx: Context) -> str:
        with pytest.raises(ValueError, match="debug, info"):
            ctx.log("verbose", "x")
        return "refused"

    assert text_of(run(body)[0]) == "refused"


@ERAS
def test_without_a_transport_for_them_notifications_are_dropped(era: str) -> None:
    server = Server("s")

    @server.tool
    def t(ctx: Context) -> bool:
        ctx.report_progress(1)
        ctx.error("x")
        return ctx.can_notify

    assert text_of(call(server, "t", era=era, token=1, log_level="debug" if era == "modern" else None)) == "false"


def test_nothing_is_sent_after_the_result() -> None:
    kept: list[Context] = []
    _, sent = run(kept.append, token=1, log_level="debug")
    kept[0].report_progress(1)
    kept[0].error("late")
    assert sent == []


def test_a_thread_that_outlives_its_handler_sends_nothing_after_the_result() -> None:
    server = Server("s")
    sent: list[Any] = []
    begun, stop = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    @server.tool
    def t(ctx: Context) -> str:
        def work() -> None:
            number = 0
            while not stop.is_set():
                ctx.report_progress(number := number + 1)
                begun.set()

        threads.append(threading.Thread(target=work))
        threads[0].start()
        begun.wait(10)
        return "ok"

    call(server, "t", token=1, notify=sent.append)
    count = len(sent)
    assert count > 0
    stop.wait(0.02)
    stop.set()
    threads[0].join()
    assert len(sent) == count


def test_a_transport_may_report_in_turn() -> None:
    """The lock that keeps the order does not stand in its own thread's way."""
    server = Server("s")
    sent: list[Any] = []
    contexts: list[Context] = []

    @server.tool
    def t(ctx: Context) -> None:
        contexts.append(ctx)
        ctx.report_progress(1)

    def notify(message: dict[str, Any]) -> None:
        sent.append(message)
        if len(sent) < 3:
            contexts[0].report_progress(len(sent) + 1)

    call(server, "t", token=1, notify=notify)
    assert [each["params"]["progress"] for each in sent] == [1, 2, 3]


# Cancellation


def test_a_cancelled_request_says_so_and_sends_nothing_more() -> None:
    flag = Cancellation()

    def body(ctx: Context) -> str:
        before = ctx.cancelled
        ctx.raise_if_cancelled()
        ctx.report_progress(1)
        flag.cancel()
        ctx.report_progress(2)
        ctx.error("late")
        with pytest.raises(CancelledError):
            ctx.raise_if_cancelled()
        return f"{before} {ctx.cancelled}"

    result, sent = run(body, cancellation=flag, token=1, log_level="debug")
    assert text_of(result) == "False True"
    assert len(sent) == 1


def test_without_a_flag_nothing_is_cancelled() -> None:
    assert text_of(run(lambda ctx: ctx.cancelled)[0]) == "false"


def test_what_waits_for_the_flag_is_called_once_at_once() -> None:
    flag, called = Cancellation(), []
    with flag.calling(lambda: called.append("first")), flag.calling(lambda: called.append("second")):
        assert called == []
        flag.cancel()
        flag.cancel()
        assert called == ["first", "second"]
    with flag.calling(lambda: called.append("late")):
        assert called == ["first", "second", "late"]


def test_what_no_longer_waits_is_not_called() -> None:
    flag, called = Cancellation(), []
    with flag.calling(lambda: called.append("called")):
        pass
    flag.cancel()
    assert called == []


def test_a_handler_can_wait_for_a_flag_that_its_transport_sets_later() -> None:
    called = []

    def body(ctx: Context) -> bool:
        with ctx.cancellation.calling(lambda: called.append("called")):
            ctx.cancel()
        return ctx.cancelled and ctx.cancellation is ctx.cancellation

    assert text_of(run(body)[0]) == "true"
    assert called == ["called"]


# What it knows


def test_a_modern_request_tells_who_asks_with_what() -> None:
    def body(ctx: Context) -> list[Any]:
        return [ctx.protocol_version, dict(ctx.client_info), dict(ctx.client_capabilities), sorted(ctx.meta)]

    server = Server("s")
    server.tool(name="t")(with_context(body))
    result = result_of(server, "tools/call", {"name": "t"}, caps={"roots": {}})
    version, info, capabilities, meta = result["structuredContent"]
    assert (version, info, capabilities) == ("2026-07-28", {}, {"roots": {}})
    assert len(meta) == 2


def with_context(body: Any) -> Any:
    def t(ctx: Context) -> Any:
        return body(ctx)

    return t


def test_a_legacy_request_carries_none_of_it() -> None:
    def body(ctx: Context) -> dict[str, Any]:
        return {
            "known": [ctx.protocol_version, ctx.client_info, ctx.client_capabilities, ctx.meta],
            "asked": [ctx.input_responses, ctx.request_state],
        }

    server = Server("s")
    server.tool(name="t")(with_context(body))
    result = call(server, "t", era="legacy")
    assert result["structuredContent"] == {"known": [None, {}, {}, {}], "asked": [{}, None]}
    result = call(server, "t", era="legacy", token=5)
    assert result["structuredContent"]["known"][3] == {"progressToken": 5}


def test_the_client_s_name_is_what_it_says() -> None:
    server = Server("s")
    server.tool(name="t")(with_context(lambda ctx: ctx.client_info["name"]))
    message = request("tools/call", {"name": "t"})
    message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": "inspector", "version": "1"}
    answer = server.handle_message(message)
    assert answer is not None
    assert text_of(answer["result"]) == "inspector"
