"""The example project, tested as its own authors would: with Django's test cases and clients."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import TestCase

from tests.apps.django_library.books.keys import digest_of
from tests.apps.django_library.books.models import Book, Key, Loan
from tests.django_door.wire import acall, call, events_of, post, result_of
from tests.modern import message

pytestmark = pytest.mark.usefixtures("_databases")


class Library(TestCase):
    """Each test sees a librarian, a guest and a book."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.book = Book.objects.create(title="Emma", copies=2)
        cls.librarian = User.objects.create_user("ann")
        cls.librarian.user_permissions.add(Permission.objects.get(codename="lend"))
        cls.root = User.objects.create_superuser("root")
        for user in (cls.librarian, cls.root, User.objects.create_user("guest")):
            Key.objects.create(user=user, digest=digest_of(f"key of {user}"))

    def call(self, tool: str, arguments: dict[str, Any] | None = None, *, user: str = "ann") -> Any:
        return call(self.client, tool, arguments, headers=self.key(user))

    def key(self, user: str) -> dict[str, str]:
        return {"Authorization": f"Bearer key of {user}"}

    def test_a_book_is_found(self) -> None:
        found = self.call("find_books", {"text": "mm"})["structuredContent"]
        assert found == [{"id": self.book.pk, "title": "Emma", "copies": 2}]

    def test_a_key_is_needed(self) -> None:
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "Basic eDp5"}):
            response = post(self.client, message("tools/list"), headers=headers)
            assert response.status_code == 401
            assert response["WWW-Authenticate"] == "Bearer"

    def test_a_librarian_lends_a_book(self) -> None:
        result = self.call("lend_book", {"book_id": self.book.pk, "reader": "Jane"})
        assert result["content"][0]["text"] == "Emma is lent to Jane"
        self.book.refresh_from_db()
        assert self.book.copies == 1
        assert Loan.objects.get().lent_by == self.librarian

    def test_a_guest_does_not(self) -> None:
        result = self.call("lend_book", {"book_id": self.book.pk, "reader": "Jane"}, user="guest")
        assert result["isError"] is True
        assert result["content"][0]["text"] == "Your account may not lend books"

    def test_a_book_that_does_not_exist(self) -> None:
        result = self.call("lend_book", {"book_id": 99, "reader": "Jane"})
        assert "No Book matches" in result["content"][0]["text"]

    def test_a_loan_that_cannot_be_is_rolled_back(self) -> None:
        Book.objects.update(copies=0)
        result = self.call("lend_book", {"book_id": self.book.pk, "reader": "Jane"})
        assert result["content"][0]["text"] == "No copy is left"
        assert not Loan.objects.exists()

    def test_before_the_last_copy_goes_the_user_is_asked(self) -> None:
        Book.objects.update(copies=1)
        arguments = {"book_id": self.book.pk, "reader": "Jane"}
        capabilities = {"elicitation": {"form": {}}}
        sent = message("tools/call", name="lend_book", arguments=arguments, capabilities=capabilities)
        asked = result_of(post(self.client, sent, headers=self.key("ann")))
        (key,) = asked["inputRequests"]
        assert not Loan.objects.exists()
        answers = {key: {"action": "accept", "content": {"sure": True}}}
        sent["params"] |= {"requestState": asked["requestState"], "inputResponses": answers}
        done = result_of(post(self.client, sent, headers=self.key("ann")))
        assert done["content"][0]["text"] == "Emma is lent to Jane"
        assert Loan.objects.count() == 1

    def test_tools_for_administrators_exist_for_them_only(self) -> None:
        names = {user: {tool["name"] for tool in result_of(self.listed(user))["tools"]} for user in ("ann", "root")}
        assert names["root"] - names["ann"] == {"import_books"}

    def listed(self, user: str) -> Any:
        return post(self.client, message("tools/list"), headers=self.key(user))

    def test_an_import_reports_and_keeps_what_came_before_a_mistake(self) -> None:
        sent = message("tools/call", name="import_books", arguments={"titles": ["A", "B", ""]}, progress_token=1)
        response = post(self.client, sent, headers=self.key("root"))
        events = events_of(b"".join(response.streaming_content))
        assert [event["params"]["message"] for event in events[:-1]] == ["A", "B"]
        assert events[-1]["result"]["isError"] is True
        assert Book.objects.filter(title__in="AB").count() == 2

    def test_a_book_is_a_resource(self) -> None:
        sent = message("resources/read", uri=f"library://books/{self.book.pk}")
        contents = result_of(post(self.client, sent, headers=self.key("guest")))["contents"]
        assert json.loads(contents[0]["text"])["title"] == "Emma"

    def test_an_async_tool_counts(self) -> None:
        assert self.call("count_books")["structuredContent"] == 1

    async def test_all_the_same_under_asgi(self) -> None:
        key = self.key("ann")
        found = await acall(self.async_client, "find_books", {"text": "mm"}, headers=key)
        assert found["structuredContent"][0]["title"] == "Emma"
        arguments = {"book_id": self.book.pk, "reader": "Jane"}
        lent = await acall(self.async_client, "lend_book", arguments, headers=key)
        assert lent["content"][0]["text"] == "Emma is lent to Jane"
        counted = await acall(self.async_client, "count_books", headers=key)
        assert counted["structuredContent"] == 1

    def test_the_site_itself_is_as_it_was(self) -> None:
        assert self.client.get("/").content == b"<h1>Library</h1>"
