"""The contexts of Flask in handlers: the same in the request's thread and in that of a streamed answer.

Each tool runs both ways: answered in JSON, and with a progress token, which gives it a thread of its own.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask, Response, current_app, flash, g, request, session

from mcp_wsgi import Context, HTTPPolicy, Server, ToolError, public
from mcp_wsgi.flask import MCP
from tests.flask_door.wire import call, messages, post, result, text

WAYS = pytest.mark.parametrize("token", [None, "t"], ids=["json", "stream"])


class Kit:
    """An application with one tool, and what was seen of it."""

    def __init__(self, tool: Callable[..., Any] | None = None, **config: Any) -> None:
        self.server = Server("contexts")
        self.app = Flask("contexts")
        self.app.config |= {"TESTING": True, "SECRET_KEY": "x", **config}
        self.seen: list[Any] = []
        # Long: a handler that is silent for a fifth of it is answered with a stream.
        MCP(self.server, self.app, auth=public, policy=HTTPPolicy(keep_alive=600))
        if tool is not None:
            self.tool(tool)

    def tool(self, function: Callable[..., Any]) -> None:
        self.server.add_tool({"name": "run", "parameters": {"type": "object"}, "handler": lambda _, ctx: function(ctx)})

    def run(self, token: str | None = None, client: Any = None, **headers: str) -> Any:
        return post(client or self.app.test_client(), call("run", token=token), **headers)


def reporting(ctx: Context) -> None:
    """Make the answer a stream, if it can be one."""
    ctx.report_progress(1)


@WAYS
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_handler_finds_request_g_and_the_application(token: str | None, is_async: bool) -> None:
    def look(ctx: Context) -> str:
        reporting(ctx)
        g.own = 1
        assert ctx.request.raw is request._get_current_object()  # type: ignore[attr-defined]
        return f"{request.headers['X-Say']} {g.user} {current_app.name} {request.endpoint}"

    async def look_async(ctx: Context) -> str:
        return look(ctx)

    kit = Kit(look_async if is_async else look)
    kit.app.before_request(lambda: setattr(g, "user", request.headers["X-User"]))
    for user in ("ann", "bob"):
        assert text(kit.run(token, X_Say="hi", X_User=user)) == f"hi {user} contexts mcp.endpoint"


def test_a_stream_is_a_stream_and_its_handler_has_a_thread_of_its_own() -> None:
    def where(ctx: Context) -> str:
        reporting(ctx)
        return str(threading.get_ident())

    kit = Kit(where)
    streamed = kit.run("t")
    assert streamed.mimetype == "text/event-stream"
    assert [message.get("method") for message in messages(streamed.data)] == ["notifications/progress", None]
    assert text(streamed) != str(threading.get_ident())
    assert text(kit.run()) == str(threading.get_ident())


def databases(kit: Kit, *, eager: bool = False) -> None:
    """Open SQLite connections on demand, each only usable in its thread, and close them at the end."""
    opened: list[sqlite3.Connection] = []
    kit.seen = opened

    def get_db() -> sqlite3.Connection:
        if "db" not in g:
            g.db = sqlite3.connect(":memory:")
            opened.append(g.db)
        db: sqlite3.Connection = g.db
        return db

    @kit.app.teardown_appcontext
    def close(error: BaseException | None) -> None:
        db = g.pop("db", None)
        if db is not None:
            db.close()

    def query(ctx: Context) -> str:
        reporting(ctx)
        return str(get_db().execute("SELECT 1").fetchone()[0])

    kit.tool(query)
    if eager:
        kit.app.before_request(lambda: get_db() and None)
        kit.app.after_request(lambda response: get_db().execute("SELECT 1") and response)


def all_closed(connections: list[sqlite3.Connection]) -> bool:
    def is_closed(connection: sqlite3.Connection) -> bool:
        try:
            return connection.total_changes < 0  # the one that does not care about the thread
        except sqlite3.ProgrammingError:
            return True

    return all(is_closed(each) for each in connections)


@WAYS
@pytest.mark.parametrize("eager", [False, True], ids=["on-demand", "hooks-too"])
def test_connections_of_sqlite_are_opened_and_closed_in_the_thread_that_uses_them(
    token: str | None, eager: bool, caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit()
    databases(kit, eager=eager)
    assert text(kit.run(token)) == "1"
    assert len(kit.seen) == (2 if eager and token else 1)
    assert all_closed(kit.seen)
    assert not caplog.records


class Resource:
    """A connection that any thread may use, until it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def use(self) -> str:
        assert not self.closed
        return "used"

    def close(self) -> None:
        self.closed += 1


@WAYS
@pytest.mark.parametrize("teardown", ["teardown_request", "teardown_appcontext"])
@pytest.mark.parametrize("careful", [True, False])
def test_what_a_hook_opened_is_usable_in_the_handler_and_closed_once_at_the_end(
    token: str | None, teardown: str, careful: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def use(ctx: Context) -> str:
        reporting(ctx)
        found: str = g.resource.use()
        return found

    kit = Kit(use)
    resource = Resource()

    def close(error: BaseException | None) -> None:
        if careful:
            found = g.pop("resource", None)
            if found is not None:
                found.close()
        else:
            g.resource.close()

    kit.app.before_request(lambda: setattr(g, "resource", resource))
    getattr(kit.app, teardown)(close)
    response = kit.run(token)
    assert resource.closed == (0 if token else 1)
    assert text(response) == "used"
    assert resource.closed == 1
    assert not [record for record in caplog.records if record.levelno >= logging.INFO]


@WAYS
def test_a_connection_of_sqlite_that_any_thread_may_use_is_shared(token: str | None) -> None:
    def query(ctx: Context) -> str:
        reporting(ctx)
        return str(g.db.execute("SELECT 1").fetchone()[0])

    kit = Kit(query)
    kit.app.before_request(lambda: setattr(g, "db", sqlite3.connect(":memory:", check_same_thread=False)))
    kit.app.teardown_request(lambda error: g.pop("db").close() if "db" in g else None)
    assert text(kit.run(token)) == "1"


def test_a_stream_that_is_not_read_to_its_end_closes_what_a_hook_opened() -> None:
    def use(ctx: Context) -> str:
        reporting(ctx)
        return "used"

    kit = Kit(use)
    resource = Resource()
    kit.app.before_request(lambda: setattr(g, "resource", resource))
    kit.app.teardown_request(lambda error: g.pop("resource").close() if "resource" in g else None)
    response = kit.run("t")
    next(iter(response.response))
    assert not resource.closed
    response.close()
    assert resource.closed == 1
    assert not current_app


def test_teardown_functions_run_once_for_the_request_and_once_for_the_handlers_thread() -> None:
    kit = Kit(reporting)
    kit.app.teardown_request(lambda error: kit.seen.append(("request", threading.get_ident())))
    kit.app.teardown_appcontext(lambda error: kit.seen.append(("app", threading.get_ident())))
    here = threading.get_ident()
    kit.run()
    assert kit.seen == [("request", here), ("app", here)]
    kit.seen.clear()
    response = kit.run("t")
    messages(response.data)
    assert [what for what, _ in kit.seen] == ["request", "app"] * 2
    assert [where == here for _, where in kit.seen] == [False, False, True, True]


def test_what_teardown_functions_read_is_there_in_both_threads(caplog: pytest.LogCaptureFixture) -> None:
    kit = Kit(reporting)
    kit.app.before_request(lambda: setattr(g, "start", 1.5))
    kit.app.teardown_request(lambda error: kit.seen.append(g.start))
    kit.run("t").get_data()
    assert kit.seen == [1.5, 1.5]
    assert not caplog.records


def test_what_the_handler_replaces_is_torn_down_in_its_thread() -> None:
    own = Resource()

    def replace(ctx: Context) -> None:
        reporting(ctx)
        del g.gone
        g.resource = own

    kit = Kit(replace)
    first = Resource()

    @kit.app.before_request
    def prepare() -> None:
        g.resource, g.gone = first, object()

    kit.app.teardown_request(lambda error: g.resource.close())
    kit.run("t").get_data()
    assert (own.closed, first.closed) == (1, 1)


def test_a_failing_teardown_function_does_not_spoil_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    here = threading.get_ident()

    def answer(ctx: Context) -> str:
        reporting(ctx)
        return "fine"

    kit = Kit(answer)

    @kit.app.teardown_request
    def fail(error: BaseException | None) -> None:
        if threading.get_ident() != here:
            raise RuntimeError("teardown")

    kit.app.teardown_appcontext(lambda error: kit.seen.append(1))
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        assert text(kit.run("t")) == "fine"
    assert "A teardown function failed" in caplog.text
    assert kit.seen == [1, 1]


@WAYS
def test_a_failing_tool_ends_its_contexts_too(token: str | None) -> None:
    def fail(ctx: Context) -> None:
        reporting(ctx)
        raise ToolError("no")

    kit = Kit(fail)
    kit.app.teardown_appcontext(kit.seen.append)
    assert result(kit.run(token))["isError"]
    assert kit.seen == [None] * (2 if token else 1)
    assert not current_app


@WAYS
def test_the_session_is_readable_and_keeps_what_is_written_before_the_answer_begins(token: str | None) -> None:
    def visit(ctx: Context) -> str:
        session["visits"] = session.get("visits", 0) + 1
        flash("hello")
        reporting(ctx) if request.headers.get("X-Report") else None
        return str(session["visits"])

    kit = Kit(visit)
    client = kit.app.test_client()
    assert text(kit.run(token, client)) == "1"
    assert text(kit.run(token, client)) == "2"
    assert text(kit.run(token, client, X_Report="1")) == "3"
    # The cookie was sent with the head of a stream, as it was then.
    assert text(kit.run(token, client)) in ("3", "4")


@WAYS
def test_flask_login_knows_the_user(token: str | None) -> None:
    flask_login = pytest.importorskip("flask_login")

    def who(ctx: Context) -> str:
        reporting(ctx)
        return str(flask_login.current_user.get_id())

    kit = Kit(who)

    class User(flask_login.UserMixin):  # type: ignore[misc, name-defined]
        def __init__(self, name: str) -> None:
            self.id = name

    manager = flask_login.LoginManager(kit.app)
    manager.request_loader(lambda request: User(request.headers["X-User"]))
    kit.app.before_request(lambda: kit.seen.append(flask_login.current_user.id))
    assert [text(kit.run(token, X_User=user)) for user in ("ann", "bob")] == ["ann", "bob"]


@WAYS
@pytest.mark.parametrize("in_hook", [False, True])
def test_flask_sqlalchemy_gives_each_thread_its_session_and_returns_its_connections(
    token: str | None, in_hook: bool, tmp_path: Any
) -> None:
    flask_sqlalchemy = pytest.importorskip("flask_sqlalchemy")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    db = flask_sqlalchemy.SQLAlchemy()
    one = sqlalchemy.text("SELECT 1")

    def query(ctx: Context) -> str:
        reporting(ctx)
        return str(db.session.execute(one).scalar())

    kit = Kit(query, SQLALCHEMY_DATABASE_URI=f"sqlite:///{tmp_path}/test.db")
    db.init_app(kit.app)
    if in_hook:
        kit.app.before_request(lambda: db.session.execute(one) and None)
    for _ in range(20):
        assert text(kit.run(token)) == "1"
    with kit.app.app_context():
        assert db.engine.pool.checkedout() == 0
        db.engine.dispose()


@WAYS
def test_a_plain_scoped_session_is_removed_in_the_thread_that_used_it(token: str | None, tmp_path: Any) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/test.db")
    sessions = orm.scoped_session(orm.sessionmaker(engine))

    def query(ctx: Context) -> str:
        reporting(ctx)
        return str(sessions.execute(sqlalchemy.text("SELECT 1")).scalar())

    kit = Kit(query)
    kit.app.teardown_appcontext(lambda error: sessions.remove())
    for _ in range(20):
        assert text(kit.run(token)) == "1"
    assert engine.pool.checkedout() == 0
    engine.dispose()


@pytest.fixture
def pushed() -> Iterator[Flask]:
    kit = Kit(reporting)
    kit.app.teardown_appcontext(kit.seen.append)
    with kit.app.app_context():
        yield kit.app


def test_an_application_context_of_the_test_around_the_request_stays(pushed: Flask) -> None:
    response = post(pushed.test_client(), call("run", token="t"))
    assert messages(response.data)[-1]["id"] == 1
    assert current_app.name == "contexts"


def test_the_clients_context_is_kept_for_the_test() -> None:
    kit = Kit(reporting)
    kit.app.before_request(lambda: setattr(g, "user", "ann"))
    with kit.app.test_client() as client:
        kit.run("t", client).get_data()
        assert request.path == "/mcp"
        assert g.user == "ann"


def test_hooks_that_run_after_the_request_see_streams_too() -> None:
    kit = Kit(reporting)

    @kit.app.after_request
    def mark(response: Response) -> Response:
        response.headers["X-Streamed"] = str(response.is_streamed)
        return response

    assert kit.run("t").headers["X-Streamed"] == "True"
    assert kit.run().headers["X-Streamed"] == "False"
