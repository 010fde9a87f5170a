"""A notebook as a user would write it with FastAPI: a JSON API, bearer tokens, and an MCP server beside it."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel

from mcp_wsgi import Context, HTTPPolicy, HTTPRequest, Server, ToolError
from mcp_wsgi.asgi import ASGIMiddleware

__all__ = ["Notebook", "app", "create_app"]

TOKENS = {"token-of-ann": "ann", "token-of-bob": "bob"}


class Note(BaseModel):
    """One note; the API and the tools speak of the same model."""

    number: int
    text: str
    tags: list[str] = []


class Notebook:
    """Hold everybody's notes. The API's handlers run on the loop, the sync tools in threads: hence the lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: dict[str, list[Note]] = {}

    def add(self, owner: str, text: str, tags: list[str]) -> Note:
        with self._lock:
            notes = self._notes.setdefault(owner, [])
            notes.append(Note(number=len(notes) + 1, text=text, tags=tags))
            return notes[-1]

    def find(self, owner: str, text: str = "") -> list[Note]:
        with self._lock:
            return [note for note in self._notes.get(owner, []) if text.lower() in note.text.lower()]


def principal(request: HTTPRequest) -> str | None:
    """Name who holds the token of a request: the same tokens as the API's."""
    return TOKENS.get((request.header("Authorization") or "").removeprefix("Bearer "))


def create_server(notebook: Notebook) -> Server:
    server = Server("notes", version="1.0", instructions="Takes and finds the user's notes.")

    @server.tool
    def add_note(text: str, ctx: Context, tags: list[str] | None = None) -> Note:
        """Write a note down.

        Args:
            text: What to remember.
            tags: Words to find it by.
        """
        if not text.strip():
            raise ToolError("An empty note helps nobody.")
        note = notebook.add(str(ctx.principal), text, tags or [])
        server.notify_resource_updated("notes://mine")
        return note

    @server.tool(read_only=True)
    async def find_notes(ctx: Context, text: str = "") -> list[Note]:
        """Find notes by a part of their text."""
        await asyncio.sleep(0)
        return notebook.find(str(ctx.principal), text)

    @server.tool(read_only=True)
    async def review(ctx: Context) -> str:
        """Go through all notes, one after the other."""
        notes = notebook.find(str(ctx.principal))
        for done, note in enumerate(notes, start=1):
            await asyncio.sleep(0.01)
            ctx.report_progress(done, len(notes), note.text)
        return f"{len(notes)} notes"

    @server.resource("notes://mine", mime_type="application/json")
    def mine(ctx: Context) -> list[Note]:
        """All notes of the user."""
        return notebook.find(str(ctx.principal))

    return server


def user(authorization: Annotated[str, Header()] = "") -> str:
    """Name who calls the API."""
    name = TOKENS.get(authorization.removeprefix("Bearer "))
    if name is None:
        raise HTTPException(401, "Who are you?")
    return name


def create_app() -> FastAPI:
    notebook = Notebook()
    server = create_server(notebook)
    application = FastAPI()

    @application.get("/notes")
    async def list_notes(owner: Annotated[str, Depends(user)]) -> list[Note]:
        return notebook.find(owner)

    policy = HTTPPolicy(allowed_origins=["https://notes.example"], keep_alive=1)
    # Not application.mount("/mcp", ...): Starlette redirects from /mcp to /mcp/, and clients do not follow with a POST.
    application.add_middleware(ASGIMiddleware, server=server, path="/mcp", auth=principal, policy=policy)
    return application


app = create_app()
