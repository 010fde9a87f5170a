"""A shop as a user would write it: an application factory, a database opened on demand, a login, and an MCP server."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g, request
from flask_login import LoginManager, UserMixin, current_user

from mcp_wsgi import Context, HTTPPolicy, Server, ToolError
from mcp_wsgi.flask import MCP

__all__ = ["application", "create_app"]

FOLDER = os.environ.get("SHOP_FOLDER")
if FOLDER is None:
    FOLDER = tempfile.mkdtemp(prefix="mcp-wsgi-shop-")
    atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

SCHEMA = """
CREATE TABLE IF NOT EXISTS user (name TEXT PRIMARY KEY, token TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, owner TEXT, status TEXT);
DELETE FROM user;
DELETE FROM orders;
INSERT INTO user VALUES ('ann', 'token-of-ann'), ('bob', 'token-of-bob');
INSERT INTO orders VALUES (1, 'ann', 'open'), (2, 'ann', 'open'), (3, 'bob', 'open');
"""


# The database


def get_db() -> sqlite3.Connection:
    if "db" not in g:
        g.db = sqlite3.connect(current_app.config["DATABASE"], timeout=10)
        g.db.row_factory = sqlite3.Row
        current_app.config["OPENED"].append(g.db)
    db: sqlite3.Connection = g.db
    return db


def close_db(error: BaseException | None) -> None:
    db = g.pop("db", None)
    if db is not None:
        db.close()
        current_app.config["CLOSED"].append(db)


# The login

login_manager = LoginManager()


class User(UserMixin):
    def __init__(self, name: str) -> None:
        self.id = name


@login_manager.request_loader
def load_user(request: Any) -> User | None:
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    row = get_db().execute("SELECT name FROM user WHERE token = ?", [token]).fetchone()
    return User(row["name"]) if row is not None else None


# The MCP server

server = Server("shop", version="1.0", instructions="Look after the orders of the user.")


def current_name(_: Any) -> str | None:
    """Say who asks; nobody is answered 401."""
    return current_user.get_id() if current_user.is_authenticated else None


@server.tool
def list_orders(status: str = "open") -> list[int]:
    """List the numbers of the user's orders."""
    rows = get_db().execute("SELECT id FROM orders WHERE owner = ? AND status = ?", [current_user.id, status])
    return [row["id"] for row in rows]


@server.tool
def ship_orders(ctx: Context) -> int:
    """Ship all open orders of the user."""
    numbers = list_orders()
    for count, number in enumerate(numbers, 1):
        with get_db() as db:
            db.execute("UPDATE orders SET status = 'shipped' WHERE id = ?", [number])
        ctx.report_progress(count, len(numbers), f"Order {number} for {request.headers['User-Agent'][:10]}")
    return len(numbers)


@server.tool
def cancel_order(number: int, ctx: Context) -> str:
    """Cancel an order, if the user agrees."""
    if number not in list_orders():
        raise ToolError(f"You have no open order {number}")
    form = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
    answer = ctx.elicit(f"Cancel order {number}?", form)
    if answer.data is None or not answer.data["sure"]:
        return "The order is kept"
    with get_db() as db:
        db.execute("DELETE FROM orders WHERE id = ?", [number])
    return f"Order {number} is cancelled"


@server.tool
async def greet() -> str:
    """Greet the user."""
    return f"Hello {current_user.id}, this is {current_app.config['SHOP_NAME']}"


@server.tool
def pack(steps: int, seconds: float, ctx: Context) -> str:
    """Pack parcels, slowly; say when each was packed."""
    for step in range(1, steps + 1):
        time.sleep(seconds)
        if ctx.cancelled:
            print(f"packing stopped at {time.monotonic()}", file=sys.stderr, flush=True)
            return "stopped"
        ctx.report_progress(step, steps, str(time.monotonic()))
    return f"{steps} packed for {current_user.id} with {len(list_orders())} orders"


@server.tool
def wait(seconds: float, ctx: Context) -> str:
    """Do something long without a word."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not ctx.cancelled:
        time.sleep(0.02)
    print(f"waiting ended at {time.monotonic()}", file=sys.stderr, flush=True)
    return "done"


mcp = MCP(server, auth=current_name, policy=HTTPPolicy(keep_alive=float(os.environ.get("SHOP_KEEP_ALIVE", "1"))))


def create_app(**config: Any) -> Flask:
    """Make the application."""
    app = Flask("shop")
    app.config |= {
        "SECRET_KEY": "a long random text",
        "SHOP_NAME": "the shop",
        "DATABASE": str(Path(FOLDER) / "shop.db"),
        "OPENED": [],
        "CLOSED": [],
        **config,
    }
    login_manager.init_app(app)
    mcp.init_app(app)
    app.teardown_appcontext(close_db)
    db = sqlite3.connect(app.config["DATABASE"])
    db.executescript(SCHEMA)
    db.close()

    @app.get("/")
    def index() -> str:
        return "Welcome"

    return app


application = create_app()
