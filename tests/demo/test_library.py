"""The demo's library keeps its books, members and loans straight."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest

from mcp_wsgi.demo.library import Library, LibraryError, Statistics

TODAY = date(2026, 8, 1)
EMMA, DRACULA, PRIDE = "9780141439587", "9780141439846", "9780141439518"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library.sqlite", today=lambda: TODAY)


def test_it_begins_with_some_books_and_loans(library: Library) -> None:
    assert library.statistics() == Statistics(titles=12, copies=18, on_loan=4, overdue=2)


def test_it_finds_its_file_again(library: Library, tmp_path: Path) -> None:
    library.give_back(1)
    again = Library(tmp_path / "library.sqlite", today=lambda: TODAY)
    assert again.statistics().on_loan == 3


@pytest.mark.parametrize("text", ["austen", "AUSTEN", "Jane A"])
def test_a_search_looks_at_titles_and_authors_in_any_case(library: Library, text: str) -> None:
    assert [book.title for book in library.search(text)] == ["Emma", "Pride and Prejudice"]
    assert [book.title for book in library.search("brontë")] == ["Jane Eyre", "Wuthering Heights"]


def test_a_search_can_leave_out_what_is_lent(library: Library) -> None:
    assert [book.isbn for book in library.search("dracula")] == [DRACULA]
    assert library.search("dracula", only_available=True) == []


@pytest.mark.parametrize("isbn", [EMMA, "978-0-14-143958-7", "978 0141439587"])
def test_an_isbn_may_have_hyphens_and_spaces(library: Library, isbn: str) -> None:
    assert library.book(isbn).title == "Emma"


@pytest.mark.parametrize("isbn", ["", "9780141439580", "978014143958", "٩780141439587", "\ud800", "x" * 500])
def test_what_is_no_isbn_is_no_book_and_cannot_become_one(library: Library, isbn: str) -> None:
    assert library.find_book(isbn) is None
    with pytest.raises(LibraryError, match="There is no book"):
        library.book(isbn)
    with pytest.raises(LibraryError, match="no ISBN of 13 digits"):
        library.add(isbn=isbn, title="T", author="A", year=2000, genre="g")


def test_a_book_can_be_added_once(library: Library) -> None:
    book = library.add(isbn="978-0-14-044924-2", title="The Brothers Karamazov", author="F. D.", year=1880, genre="x")
    assert (book.copies, book.available) == (1, 1)
    assert library.genres() == ["adventure", "gothic", "science fiction", "society", "x"]
    with pytest.raises(LibraryError, match="already"):
        library.add(isbn=book.isbn, title="Again", author="F. D.", year=1880, genre="x")


def test_members_are_found_by_name_and_number(library: Library) -> None:
    assert [member.id for member in library.members("zoë")] == [4]
    assert library.member(3).name == "李雷"
    with pytest.raises(LibraryError, match="no member 99"):
        library.member(99)


def test_a_lent_copy_is_missing_until_it_comes_back(library: Library) -> None:
    loan = library.lend(EMMA, 1, 14)
    assert (loan.member, loan.due, loan.returned) == ("Amina Diallo", date(2026, 8, 15), None)
    assert library.book(EMMA).available == 0
    with pytest.raises(LibraryError, match="All copies of 'Emma' are lent"):
        library.lend(EMMA, 2, 14)
    assert library.give_back(loan.id).returned == TODAY
    assert library.give_back(loan.id).returned == TODAY
    assert library.book(EMMA).available == 1
    with pytest.raises(LibraryError, match="no loan 99"):
        library.give_back(99)


def test_loans_are_listed_for_a_member_or_where_they_are_late(library: Library) -> None:
    assert [loan.title for loan in library.loans(overdue=True)] == ["Dracula", "Pride and Prejudice"]
    assert [loan.title for loan in library.loans(member=4)] == ["The Odyssey"]
    assert library.loans(member=4, overdue=True) == []


def test_of_many_who_want_the_last_copies_at_once_only_some_get_one(library: Library) -> None:
    got: list[int] = []

    def want() -> None:
        with suppress(LibraryError):
            got.append(library.lend(PRIDE, 1, 7).id)

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 2
    assert library.book(PRIDE).available == 0
