"""A library of books, its members and their loans, in an SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from os import PathLike

from .books import BOOKS, LOANS, MEMBERS

__all__ = ["Book", "Library", "LibraryError", "Loan", "Member", "Statistics"]

_SCHEMA = """
CREATE TABLE book (
    isbn TEXT PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL,
    year INTEGER NOT NULL, genre TEXT NOT NULL, copies INTEGER NOT NULL
);
CREATE TABLE member (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE loan (
    id INTEGER PRIMARY KEY,
    isbn TEXT NOT NULL REFERENCES book (isbn),
    member INTEGER NOT NULL REFERENCES member (id),
    due TEXT NOT NULL, returned TEXT
);
"""
_BOOKS = """
SELECT isbn, title, author, year, genre, copies,
    copies - (SELECT count(*) FROM loan WHERE loan.isbn = book.isbn AND returned IS NULL) AS available
FROM book
"""
_LOANS = """
SELECT loan.id, loan.isbn, title, name AS member, due, returned
FROM loan JOIN book ON book.isbn = loan.isbn JOIN member ON member.id = loan.member
"""
# One statement looks and lends: of two people who want the last copy, one gets it.
_LEND = f"INSERT INTO loan (isbn, member, due) SELECT isbn, ?, ? FROM ({_BOOKS}) WHERE isbn = ? AND available > 0"  # noqa: S608 - constants


class LibraryError(Exception):
    """Say why the library refuses something."""


@dataclass(frozen=True, kw_only=True)
class Book:
    """A title of the library, and how many of its copies are there to be lent."""

    isbn: str
    title: str
    author: str
    year: int
    genre: str
    copies: int
    available: int


@dataclass(frozen=True, kw_only=True)
class Member:
    """Somebody who may borrow books."""

    id: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Loan:
    """A copy of a book that a member has, or had."""

    id: int
    isbn: str
    title: str
    member: str
    due: date
    returned: date | None = None


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """The library in numbers."""

    titles: int
    copies: int
    on_loan: int
    overdue: int


class Library:
    """Keep books, members and loans. Every method may be called from any thread.

    Args:
        path: The file of the database; it is made, and filled with some books, if it is not there or empty.
        today: The date of today.
    """

    def __init__(self, path: str | PathLike[str], *, today: Callable[[], date] = date.today) -> None:
        self._path = path
        self._today = today
        with self._open() as database:
            if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                database.executescript(_SCHEMA)
                self._fill(database)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction in a connection of its own, which no other thread sees."""
        with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA foreign_keys = ON")
            yield database

    def _fill(self, database: sqlite3.Connection) -> None:
        database.executemany("INSERT INTO book VALUES (?, ?, ?, ?, ?, ?)", BOOKS)
        database.executemany("INSERT INTO member (name) VALUES (?)", [(name,) for name in MEMBERS])
        today = self._today()
        loans = [(isbn, member, (today + timedelta(days)).isoformat()) for isbn, member, days in LOANS]
        database.executemany("INSERT INTO loan (isbn, member, due) VALUES (?, ?, ?)", loans)

    def search(self, text: str = "", *, genre: str | None = None, only_available: bool = False) -> list[Book]:
        """Find books whose title or author contains a text, in the order of their titles."""
        with self._open() as database:
            rows = database.execute(_BOOKS + "ORDER BY title").fetchall()
        books = [Book(**row) for row in rows]
        wanted = text.casefold()
        return [
            book
            for book in books
            if (wanted in book.title.casefold() or wanted in book.author.casefold())
            and (genre is None or book.genre == genre)
            and (book.available > 0 or not only_available)
        ]

    def find_book(self, isbn: str) -> Book | None:
        """Find the book with an ISBN, written with or without hyphens."""
        number = _bare(isbn)
        if not _is_isbn(number):
            return None
        with self._open() as database:
            row = database.execute(_BOOKS + "WHERE isbn = ?", (number,)).fetchone()
        return Book(**row) if row is not None else None

    def book(self, isbn: str) -> Book:
        """Give the book with an ISBN.

        Raises:
            LibraryError: The library has none.
        """
        found = self.find_book(isbn)
        if found is None:
            raise LibraryError(f"There is no book with the ISBN {isbn[:40]!r}; search_books finds ISBNs")
        return found

    def genres(self) -> list[str]:
        """List the genres of all books."""
        with self._open() as database:
            return [genre for (genre,) in database.execute("SELECT DISTINCT genre FROM book ORDER BY genre")]

    def members(self, name: str = "") -> list[Member]:
        """Find members by a part of their name."""
        with self._open() as database:
            rows = database.execute("SELECT id, name FROM member ORDER BY name").fetchall()
        return [Member(**row) for row in rows if name.casefold() in row["name"].casefold()]

    def member(self, number: int) -> Member:
        """Give a member by number.

        Raises:
            LibraryError: There is none.
        """
        for member in self.members():
            if member.id == number:
                return member
        raise LibraryError(f"There is no member {number}; find_members finds their numbers")

    def loans(self, *, member: int | None = None, overdue: bool = False) -> list[Loan]:
        """List the loans that are not returned yet, the oldest first."""
        query, values = _LOANS + "WHERE returned IS NULL", list[int | str]()
        if member is not None:
            query += " AND loan.member = ?"
            values.append(member)
        if overdue:
            query += " AND due < ?"
            values.append(self._today().isoformat())
        with self._open() as database:
            return [_loan(row) for row in database.execute(query + " ORDER BY due, loan.id", values)]

    def add(self, *, isbn: str, title: str, author: str, year: int, genre: str, copies: int = 1) -> Book:
        """Take a new book in.

        Raises:
            LibraryError: The ISBN is wrong, or the library has the book.
        """
        number = _bare(isbn)
        if not _is_isbn(number):
            raise LibraryError(f"{isbn[:40]!r} is no ISBN of 13 digits, or its last digit is wrong")
        try:
            with self._open() as database:
                values = (number, title, author, year, genre, copies)
                database.execute("INSERT INTO book VALUES (?, ?, ?, ?, ?, ?)", values)
        except sqlite3.IntegrityError:
            raise LibraryError(f"The library has the book {number} already") from None
        return self.book(number)

    def lend(self, isbn: str, member: int, days: int) -> Loan:
        """Lend a copy of a book to a member.

        Raises:
            LibraryError: There is no such book or member, or all copies are lent.
        """
        book, borrower = self.book(isbn), self.member(member)
        due = self._today() + timedelta(days)
        with self._open() as database:
            cursor = database.execute(_LEND, (borrower.id, due.isoformat(), book.isbn))
            if not cursor.rowcount:
                raise LibraryError(f"All copies of {book.title!r} are lent")
            return _loan(database.execute(_LOANS + "WHERE loan.id = ?", (cursor.lastrowid,)).fetchone())

    def give_back(self, loan: int) -> Loan:
        """End a loan; ending it again changes nothing.

        Raises:
            LibraryError: There is no such loan.
        """
        with self._open() as database:
            today = self._today().isoformat()
            database.execute("UPDATE loan SET returned = ? WHERE id = ? AND returned IS NULL", (today, loan))
            row = database.execute(_LOANS + "WHERE loan.id = ?", (loan,)).fetchone()
        if row is None:
            raise LibraryError(f"There is no loan {loan}")
        return _loan(row)

    def statistics(self) -> Statistics:
        """Count everything."""
        books, loans = self.search(), self.loans()
        return Statistics(
            titles=len(books),
            copies=sum(book.copies for book in books),
            on_loan=len(loans),
            overdue=sum(loan.due < self._today() for loan in loans),
        )


def _loan(row: sqlite3.Row) -> Loan:
    returned = date.fromisoformat(row["returned"]) if row["returned"] else None
    return Loan(**{**row, "due": date.fromisoformat(row["due"]), "returned": returned})


def _bare(isbn: str) -> str:
    return isbn.replace("-", "").replace(" ", "")


def _is_isbn(number: str) -> bool:
    if not (len(number) == 13 and number.isascii() and number.isdigit()):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(number)) % 10 == 0
