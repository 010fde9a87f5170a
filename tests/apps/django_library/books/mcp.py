"""What an assistant of the library's staff may do."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.shortcuts import get_object_or_404

from mcp_wsgi import Context, ToolError
from mcp_wsgi.django import non_atomic, server

from .models import Book, Loan


@dataclass
class Found:
    """A book that was found."""

    id: int
    title: str
    copies: int


@dataclass
class Confirmation:
    """Whether the last copy may go."""

    sure: bool


def may_lend(ctx: Context) -> bool:
    return bool(ctx.request.raw.user.has_perm("books.lend"))


@server.tool(read_only=True)
def find_books(text: str = "") -> list[Found]:
    """Find books by a part of their title."""
    return [
        Found(book.pk, book.title, book.copies) for book in Book.objects.filter(title__contains=text).order_by("pk")
    ]


@server.tool
def lend_book(book_id: int, reader: str, ctx: Context) -> str:
    """Lend a copy of a book to a reader."""
    if not may_lend(ctx):
        raise PermissionDenied("Your account may not lend books")
    book = get_object_or_404(Book.objects.select_for_update(), pk=book_id)
    Loan.objects.create(book=book, reader=reader, lent_by=ctx.request.raw.user)
    if book.copies == 0:
        raise ToolError("No copy is left")
    if book.copies == 1 and ctx.client_capabilities.get("elicitation") is not None:
        answer = ctx.elicit(f"Lend the last copy of {book.title}?", Confirmation)
        if answer.data is None or not answer.data.sure:
            raise ToolError("The last copy stays here")
    Book.objects.filter(pk=book.pk).update(copies=F("copies") - 1)
    return f"{book.title} is lent to {reader}"


@server.tool(visible=lambda ctx: ctx.request.raw.user.is_superuser)
@non_atomic
def import_books(titles: list[str], ctx: Context) -> int:
    """Add books, each by itself."""
    for number, title in enumerate(titles, 1):
        if not title:
            raise ToolError(f"Title {number} is empty")
        Book.objects.create(title=title)
        ctx.report_progress(number, len(titles), title)
    return len(titles)


@server.tool(read_only=True)
async def count_books() -> int:
    """Count the titles."""
    return await Book.objects.acount()


@server.resource("library://books/{book_id}", mime_type="application/json")
def book(book_id: int) -> Found:
    """Read one book."""
    found = get_object_or_404(Book, pk=book_id)
    return Found(found.pk, found.title, found.copies)


@server.prompt
def recommend(reader: str) -> str:
    """Recommend a book to a reader."""
    return f"Find a book in the library that {reader} may like."
