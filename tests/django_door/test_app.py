"""The installable app: settings, checks, discovery, commands."""

from __future__ import annotations

import importlib
import io
import json
from typing import Any

import pytest
from django.core.checks import Error
from django.core.management import CommandError, call_command
from django.test import Client, modify_settings, override_settings
from django.urls import path, re_path, reverse

import mcp_wsgi.django
from mcp_wsgi import ConfigurationError, Server, public
from mcp_wsgi.django import mcp_urls, mcp_view, urls, user_auth
from mcp_wsgi.django.checks import check_all
from mcp_wsgi.django.conf import KEYS, conf
from tests.apps.django_library import settings as library
from tests.apps.django_probe.tools import server
from tests.django_door.wire import post, result_of
from tests.modern import message

DISCOVER = message("server/discover")


def ids(**mcp: Any) -> list[str]:
    with override_settings(MCP=mcp):
        return sorted(each.id for each in check_all())


# Settings


def test_the_default_server_is_named_by_the_settings_and_made_once() -> None:
    assert mcp_wsgi.django.server is mcp_wsgi.django.server is conf.server
    assert conf.server.info == {"name": "library", "version": "1.2"}
    assert conf.server.instructions == "Look a book up before you lend it."


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'serve'"):
        mcp_wsgi.django.serve  # noqa: B018


def test_every_option_of_the_policy_is_a_setting() -> None:
    options = {
        "ALLOWED_ORIGINS": ["https://a.example"],
        "ALLOW_CREDENTIALS": True,
        "ALLOWED_HEADERS": ["X-One"],
        "ALLOWED_HOSTS": ["a.example"],
        "BODY_LIMIT": 1000,
        "KEEP_ALIVE": 5.0,
        "MAX_LISTENS": 3,
        "LISTEN_LIFETIME": 60.0,
        "TOLERATE_VERSION_HEADER": True,
    }
    assert set(options) == KEYS - {"SERVER", "AUTH", "PATH", "NAME", "VERSION", "INSTRUCTIONS"}
    with override_settings(MCP=options):
        assert conf.policy.body_limit == 1000
        assert conf.policy.allows_origin("https://a.example")
        assert conf.policy.tolerate_version_header


def test_settings_have_defaults() -> None:
    with override_settings(ROOT_URLCONF="shop.urls"):
        from django.conf import settings

        del settings.MCP
        assert (conf.path, conf.name, conf.version, conf.instructions) == ("mcp", "shop", "0", None)
        assert conf.policy.allowed_origins == ()
    with override_settings(MCP={}, ROOT_URLCONF=None):
        del settings.ROOT_URLCONF
        assert conf.name == "django"


def test_server_and_auth_are_dotted_paths_or_the_things_themselves() -> None:
    with override_settings(MCP={"SERVER": "tests.apps.django_probe.tools.server", "AUTH": "public"}):
        assert conf.server is server
        assert conf.auth is public
    with override_settings(MCP={"SERVER": server, "AUTH": "mcp_wsgi.django.user_auth"}):
        assert conf.server is server
        assert conf.auth is user_auth
    with override_settings(MCP={"AUTH": user_auth}):
        assert conf.auth is user_auth


@pytest.mark.parametrize("key", ["NAME", "VERSION", "INSTRUCTIONS", "PATH"])
def test_a_text_that_is_none_is_refused(key: str) -> None:
    with override_settings(MCP={key: 1}), pytest.raises(ConfigurationError, match=f'MCP."{key}".'):
        getattr(conf, key.lower())


# URLs


def test_the_included_endpoint_has_a_name() -> None:
    assert reverse("mcp_wsgi:mcp") in ("/mcp", "/mcp/")


@pytest.mark.usefixtures("_databases")
def test_the_included_endpoint_answers_401_without_a_key() -> None:
    assert post(Client(), DISCOVER).status_code == 401
    assert post(Client(), DISCOVER, path="/mcp/").status_code == 401


@pytest.mark.parametrize("mcp", [{}, {"AUTH": "no.such.thing"}, {"AUTH": "public", "PATH": 1}, {"AUTH": 7}, 5])
def test_an_endpoint_that_is_not_configured_is_closed(mcp: Any, site: Any, caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(MCP=mcp):
        try:
            patterns = importlib.reload(urls).urlpatterns
            assert "manage.py check" in caplog.text
            site(patterns)
            for spelling in ("/mcp", "/mcp/"):
                response = post(Client(), DISCOVER, path=spelling)
                assert response.status_code == 500
                assert json.loads(response.content)["error"]["code"] == -32603
        finally:
            _restore()


def _restore() -> None:
    with override_settings(MCP=library.MCP):
        importlib.reload(urls)


def test_the_endpoint_can_be_elsewhere(site: Any) -> None:
    with override_settings(MCP={"AUTH": "public", "PATH": "tools/mcp"}):
        try:
            site(importlib.reload(urls).urlpatterns)
            assert "supportedVersions" in result_of(post(Client(), DISCOVER, path="/tools/mcp"))
        finally:
            _restore()


# Checks


def test_the_library_passes_the_checks() -> None:
    assert check_all() == []
    call_command("check")


def test_a_missing_auth_is_an_error_where_the_urls_are_included(site: Any) -> None:
    site(urls.urlpatterns)
    assert ids() == ["mcp_wsgi.E001"]
    site([])
    assert ids() == []


@pytest.mark.parametrize(
    ("mcp", "found"),
    [
        ({"SERVER": "no.such.server"}, "mcp_wsgi.E002"),
        ({"SERVER": "json.dumps"}, "mcp_wsgi.E002"),
        ({"ALLOWED_ORIGINS": ["example.com"]}, "mcp_wsgi.E003"),
        ({"ALLOWED_ORIGINS": ["https://example.com/path"]}, "mcp_wsgi.E003"),
        ({"ALLOWED_ORIGINS": "https://example.com"}, "mcp_wsgi.E003"),
        ({"ALLOWED_ORIGINS": [None]}, "mcp_wsgi.E003"),
        ({"ALLOWED_HOSTS": ["https://a"]}, "mcp_wsgi.E003"),
        ({"ALLOWED_HOSTS": [1]}, "mcp_wsgi.E003"),
        ({"BODY_LIMIT": 0}, "mcp_wsgi.E003"),
        ({"BODY_LIMIT": "much"}, "mcp_wsgi.E003"),
        ({"PATH": 3}, "mcp_wsgi.E003"),
        ({"ALLOWED_ORIGIN": []}, "mcp_wsgi.E004"),
        ({"auth": "public"}, "mcp_wsgi.E004"),
        ({"AUTH": "no.such.function"}, "mcp_wsgi.E005"),
        ({"AUTH": 5}, "mcp_wsgi.E005"),
    ],
)
def test_a_mistake_in_the_settings_has_its_id(site: Any, mcp: dict[str, Any], found: str) -> None:
    site([])
    assert ids(**mcp) == [found]


def test_settings_that_are_no_dictionary_are_an_error() -> None:
    with override_settings(MCP=["AUTH"]):
        assert [each.id for each in check_all()] == ["mcp_wsgi.E004"]


def test_two_mistakes_are_told_at_once(site: Any) -> None:
    site([])
    assert ids(BODY_LIMIT=0, KEEP_ALIVE=-1) == ["mcp_wsgi.E003", "mcp_wsgi.E003"]


def test_errors_say_what_to_do(site: Any) -> None:
    site(urls.urlpatterns)
    with override_settings(MCP={}):
        (error,) = check_all()
    assert isinstance(error, Error)
    assert "user_auth" in error.hint


def test_user_auth_without_its_middleware_is_an_error(site: Any) -> None:
    site([], MIDDLEWARE=[])
    assert ids(AUTH="mcp_wsgi.django.user_auth") == ["mcp_wsgi.E006"]


def test_a_public_endpoint_with_cookies_of_other_sites_is_a_warning(site: Any) -> None:
    site([])
    assert ids(AUTH="public", ALLOW_CREDENTIALS=True) == ["mcp_wsgi.W001"]


def test_an_endpoint_with_one_spelling_is_a_warning(site: Any) -> None:
    for route in ("mcp", "mcp/"):
        site([path(route, mcp_view(server, auth=public))])
        assert ids() == ["mcp_wsgi.W002"]
    for good in (mcp_urls(server, auth=public), mcp_urls(server, "", auth=public)):
        site(good)
        assert ids() == []
    site([re_path("^mcp/?$", mcp_view(server, auth=public)), path("", mcp_view(server, auth=public))])
    assert ids() == []


def test_a_server_with_nothing_registered_is_a_warning(site: Any) -> None:
    site(urls.urlpatterns)
    assert ids(AUTH="public", SERVER=Server("empty")) == ["mcp_wsgi.W003"]


def test_a_project_without_urls_can_be_checked() -> None:
    with override_settings(ROOT_URLCONF=None):
        assert check_all() == []


# Commands


def run(*words: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("mcp", *words, stdout=out, stderr=options.pop("stderr", io.StringIO()), **options)
    return out.getvalue()


def test_list_names_what_mcp_modules_registered() -> None:
    printed = run("list")
    assert "find_books  Find books by a part of their title." in printed
    assert "library://books/{book_id}  Read one book." in printed
    assert "recommend" in printed
    assert "resources:" not in printed


def test_list_can_be_json() -> None:
    listed = json.loads(run("list", "--json"))
    assert "find_books" in {tool["name"] for tool in listed["tools"]}
    assert listed["resources"] == []


def test_list_shows_all_pages() -> None:
    many = Server("many", page_size=2)
    for number in range(5):
        many.add_tool({"name": f"tool_{number}", "handler": lambda arguments, ctx: ""})
    with override_settings(MCP={"SERVER": many}):
        assert run("list").split() == ["tools:", *(f"tool_{number}" for number in range(5))]


def test_call_prints_the_text_of_a_tool(database: None) -> None:
    from tests.apps.django_library.books.models import Book

    Book.objects.create(title="Emma")
    assert '"title": "Emma"' in run("call", "find_books", '{"text": "Em"}')
    assert json.loads(run("call", "find_books", "--json"))["structuredContent"]


def test_call_can_be_for_a_user_and_shows_progress(database: None) -> None:
    from django.contrib.auth.models import User

    User.objects.create_superuser("root")
    said = io.StringIO()
    arguments = json.dumps({"titles": ["Emma", "Persuasion"]})
    assert run("call", "import_books", arguments, "--user", "root", stderr=said).strip() == "2"
    assert said.getvalue().splitlines() == ["1/2 Emma", "2/2 Persuasion"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["call", "no_tool"], "Unknown tool"),
        (["call", "find_books", "{"], "no JSON"),
        (["call", "find_books", "[]"], "JSON object"),
        (["call", "find_books", '{"text": 1}'], "Invalid arguments"),
        (["call", "find_books", "--user", "nobody"], "no user 'nobody'"),
    ],
)
def test_call_says_what_is_wrong(database: None, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run(*words)


def test_call_shows_other_content_and_logs_and_refuses_questions(database: None) -> None:
    from mcp_wsgi import Context, Image

    own = Server("own")

    @own.tool
    def picture(ctx: Context) -> Image:
        """Show a picture."""
        ctx.info("painting")
        ctx.report_progress(1)
        return Image(data=b"x", mime_type="image/png")

    @own.tool
    def ask(ctx: Context) -> str:
        """Ask."""
        from mcp_wsgi import InputRequired

        raise InputRequired({}, state="later")

    said = io.StringIO()
    with override_settings(MCP={"SERVER": own}):
        assert run("call", "picture", stderr=said) == "[image]\n"
        assert said.getvalue().splitlines() == ["painting", "1"]
        with pytest.raises(CommandError, match="question"):
            run("call", "ask")


def test_a_server_that_cannot_be_had_ends_the_command() -> None:
    with override_settings(MCP={"SERVER": "no.such"}), pytest.raises(CommandError, match="cannot be imported"):
        run("list")


def test_without_the_auth_app_nobody_calls() -> None:
    with override_settings(MCP={"SERVER": server}), modify_settings(INSTALLED_APPS={"remove": "django.contrib.auth"}):
        assert run("call", "add", '{"a": 1, "b": 2}').strip() == "3"
        with pytest.raises(CommandError, match=r"needs django\.contrib\.auth"):
            run("call", "add", "--user", "ann")


def test_discovery_has_found_the_module_of_the_library() -> None:
    assert "tools" in mcp_wsgi.django.server.declared
