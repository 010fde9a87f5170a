"""The library as an MCP server: tools, resources, prompts and completions."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from .. import __version__
from ..exceptions import ToolError
from ..server import Context, Server
from .library import Book, Library, LibraryError, Loan, Member, Statistics

__all__ = ["create_server"]

Days = Annotated[int, Meta(ge=1, le=60, description="For how many days, at most 60")]
#: Of members and loans: what SQLite can hold, and far more than there are.
Number = Annotated[int, Meta(ge=1, le=999_999)]
Year = Annotated[int, Meta(ge=-3000, le=3000)]
Line = Annotated[str, Meta(min_length=1, max_length=200)]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the user is asked before a book is lent."""

    days: Days = 21


def create_server(library: Library) -> Server:
    """Make the server of a library."""
    server = Server(
        "library",
        version=__version__,
        title="A small library",
        instructions="Search the library's books, lend them to members and take them back.",
        # One process serves the demo, and its data does not outlive it: neither has the key to.
        keys=[secrets.token_bytes(32)],
        # The model may read why the library refuses something.
        tool_errors=[LibraryError],
    )
    _add_reading_tools(server, library)
    _add_writing_tools(server, library)
    _add_resources(server, library)
    _add_prompts(server, library)
    return server


def _add_reading_tools(server: Server, library: Library) -> None:
    @server.tool(title="Search books", read_only=True)
    def search_books(text: str = "", only_available: bool = False) -> list[Book]:
        """Find books by a part of their title or author.

        Args:
            text: What the title or the author contains; without it all books are listed.
            only_available: Leave out the books of which all copies are lent.
        """
        return library.search(text, only_available=only_available)

    @server.tool(title="Find members", read_only=True)
    def find_members(name: str = "") -> list[Member]:
        """Find members and their numbers by a part of their name."""
        return library.members(name)

    @server.tool(title="List loans", read_only=True)
    def list_loans(member: Number | None = None, overdue: bool = False) -> list[Loan]:
        """List the loans that are not returned yet.

        Args:
            member: The number of a member, to list only their loans.
            overdue: List only the loans that are late.
        """
        return library.loans(member=member, overdue=overdue)

    @server.tool(title="Statistics", read_only=True)
    def statistics() -> Statistics:
        """Count titles, copies and loans."""
        return library.statistics()

    @server.tool(title="Take stock", read_only=True)
    def take_stock(ctx: Context) -> str:
        """Go through the shelves, book by book, and report how many copies are there."""
        books = library.search()
        for number, book in enumerate(books, start=1):
            ctx.raise_if_cancelled()
            ctx.report_progress(number, len(books), book.title)
        present = sum(book.available for book in books)
        return f"{present} of {sum(book.copies for book in books)} copies are on the shelves."


def _add_writing_tools(server: Server, library: Library) -> None:
    @server.tool(title="Lend a book", destructive=False)
    def lend_book(isbn: str, member: Number, ctx: Context, days: Days | None = None) -> Loan:
        """Lend a copy of a book to a member.

        Args:
            isbn: The ISBN of the book.
            member: The number of the member.
            ctx: Asks the user; no argument of the tool.
            days: For how long. Without it the user is asked, which needs a client that can ask.
        """
        book, borrower = library.book(isbn), library.member(member)
        if days is None:
            # The tool runs once more, from its top, with the answer: nothing has been written so far.
            answer = ctx.elicit(f"Lend {book.title!r} to {borrower.name}?", Terms)
            if answer.data is None:
                raise ToolError("The user did not agree to lend the book")
            days = answer.data.days
        return library.lend(book.isbn, borrower.id, days)

    @server.tool(title="Return a book", destructive=False, idempotent=True)
    def return_book(loan: Number) -> Loan:
        """Take a lent book back.

        Args:
            loan: The number of the loan, as list_loans tells it.
        """
        return library.give_back(loan)

    @server.tool(title="Add a book", destructive=False)
    def add_book(
        isbn: str, title: Line, author: Line, year: Year, genre: Line, copies: Annotated[int, Meta(ge=1, le=100)] = 1
    ) -> Book:
        """Take a new book into the library.

        Args:
            isbn: Its ISBN of 13 digits, with or without hyphens.
            title: Its title.
            author: Who wrote it.
            year: When it was first published; negative before our era.
            genre: Its genre.
            copies: How many copies the library has of it.
        """
        return library.add(isbn=isbn, title=title, author=author, year=year, genre=genre, copies=copies)


def _add_resources(server: Server, library: Library) -> None:
    @server.resource("books://catalogue", title="Catalogue", mime_type="application/json")
    def catalogue() -> list[Book]:
        """All books of the library."""
        return library.search()

    @server.resource("book://{isbn}", title="A book", mime_type="application/json")
    def book(isbn: str) -> Book | None:
        """One book of the library."""
        return library.find_book(isbn)

    @server.completion("book://{isbn}", "isbn")
    def complete_isbn(text: str) -> list[str]:
        """Complete the beginning of an ISBN, or a part of a title or author."""
        starting = [book.isbn for book in library.search() if book.isbn.startswith(text)]
        return starting or [book.isbn for book in library.search(text)]


def _add_prompts(server: Server, library: Library) -> None:
    @server.prompt(title="Recommend a book")
    def recommend(genre: str, liked: str = "") -> str:
        """Ask for a book to read next.

        Args:
            genre: The genre to choose from.
            liked: A book that the reader liked.
        """
        titles = [f"{book.title} by {book.author}" for book in library.search(genre=genre, only_available=True)]
        choice = "; ".join(titles) or "nothing at the moment"
        taste = f" I liked {liked}." if liked else ""
        return f"Recommend me one book to read next, in two sentences.{taste} The library has: {choice}."

    @server.completion("recommend", "genre")
    def complete_genre(text: str) -> list[str]:
        """Complete a genre."""
        return [genre for genre in library.genres() if genre.startswith(text.lower())]

    @server.prompt(title="Letter about late books")
    def overdue_letter(member: Number) -> str:
        """Ask for a friendly letter to a member who is late.

        Args:
            member: The number of the member.
        """
        name = library.member(member).name
        late = [f"{loan.title} (due {loan.due})" for loan in library.loans(member=member, overdue=True)]
        if not late:
            raise ToolError(f"{name} has no late books")
        return f"Write a short, friendly letter to {name}, who should return: {'; '.join(late)}."

    @server.completion("overdue_letter", "member")
    def complete_late_member(text: str) -> list[str]:
        """Complete the number of a member who is late."""
        numbers = [str(each.id) for each in library.members() if library.loans(member=each.id, overdue=True)]
        return [number for number in numbers if number.startswith(text)]
