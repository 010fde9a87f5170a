"""Origins and hosts: 2026-07-28, basic/transports/streamable-http, Security; field reports B10, B11."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_wsgi import LOOPBACK_HOSTS, LOOPBACK_ORIGINS, ConfigurationError
from mcp_wsgi.http.origin import HostMatcher, Origin, OriginMatcher, parse_origin

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
hosts = st.lists(labels, min_size=1, max_size=3).map(".".join)
schemes = st.sampled_from(["http", "https", "vscode-webview", "chrome-extension"])
ports = st.integers(0, 65535)


@st.composite
def origins(draw: st.DrawFn) -> str:
    port = draw(st.none() | ports)
    return f"{draw(schemes)}://{draw(hosts)}" + ("" if port is None else f":{port}")


@st.composite
def cases(draw: st.DrawFn, text: str) -> str:
    """Change the case of any letter."""
    flips = draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
    return "".join(char.upper() if flip else char for char, flip in zip(text, flips, strict=True))


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://a.example", ("https", "a.example", 443)),
        ("http://a.example", ("http", "a.example", 80)),
        ("HTTPS://A.Example:8443", ("https", "a.example", 8443)),
        ("http://[::1]:80", ("http", "[::1]", 80)),
        ("http://127.0.0.1:0", ("http", "127.0.0.1", 0)),
        ("vscode-webview://abc", ("vscode-webview", "abc", None)),
    ],
)
def test_an_origin_is_scheme_host_and_port(text: str, origin: tuple[str, str, int | None]) -> None:
    assert parse_origin(text) == Origin(*origin)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "*",
        "a.example",
        "//a.example",
        "https://",
        "https://a.example/",
        "https://a.example/path",
        "https://a.example?x",
        "https://a.example#x",
        "https://user@a.example",
        "https://a.example:",
        "https://a.example:port",
        "https://a.example:123456",
        "https://a.example\n",
        " https://a.example",
        "https://a.example, https://a.example",
        "https://a.example https://b.example",
        "https://bücher.example",
        "https://\u212aelvin.example",
        "https://a.example\xa0",
        "https://a。example",
        "https://::1",
    ],
)
def test_anything_else_is_no_origin(text: str) -> None:
    assert parse_origin(text) is None


@given(origins().flatmap(lambda text: st.tuples(st.just(text), cases(text))))
def test_the_case_of_an_origin_does_not_matter(pair: tuple[str, str]) -> None:
    rule, sent = pair
    assert OriginMatcher([rule]).allows(sent)
    assert OriginMatcher([sent]).allows(rule)


@given(schemes, hosts)
def test_the_port_of_a_scheme_may_be_left_out(scheme: str, host: str) -> None:
    port = {"http": 80, "https": 443}.get(scheme)
    assume(port is not None)
    assert OriginMatcher([f"{scheme}://{host}"]).allows(f"{scheme}://{host}:{port}")
    assert OriginMatcher([f"{scheme}://{host}:{port}"]).allows(f"{scheme}://{host}")


@st.composite
def near_misses(draw: st.DrawFn) -> tuple[str, str]:
    """Give an origin and another one that only looks like it."""
    scheme, host, port, more = draw(schemes), draw(hosts), draw(st.integers(1024, 65534)), draw(labels)
    sent = draw(
        st.sampled_from(
            [
                f"{scheme}://{more}.{host}:{port}",
                f"{scheme}://{more}{host}:{port}",
                f"{scheme}://{host}.{more}:{port}",
                f"{scheme}://{host}{more}:{port}",
                f"{scheme}://{host}.:{port}",
                f"{scheme}://.{host}:{port}",
                f"{scheme}://{host}:{port + 1}",
                f"{scheme}://{host}:{port}0",
                f"{scheme}://{host}",
                f"{scheme}://{host}:{port}/",
                f"{scheme}://{host}:{port}@{more}.example",
                f"{scheme}://{host}@{more}:{port}",
                f"{scheme}://{more}@{host}:{port}",
                f"{scheme}://{more}:{host}:{port}",
                f"{scheme}x://{host}:{port}",
                f"{scheme}:{host}:{port}",
                f"{host}:{port}",
                f" {scheme}://{host}:{port}",
                f"{scheme}://{host}:{port}\n",
                f"{scheme}://{host}:{port}\x00",
                f"{scheme}://{host}:{port},{scheme}://{host}:{port}",
                f"{scheme}://{host}:{port} {scheme}://{host}:{port}",
                f"{scheme}://{host}\u200b:{port}",
                f"{scheme}://{host}\u3002:{port}",
                "null",
                "",
                "*",
            ]
        )
    )
    return f"{scheme}://{host}:{port}", sent


@given(near_misses())
def test_nothing_that_only_looks_like_an_allowed_origin_is_allowed(pair: tuple[str, str]) -> None:
    rule, sent = pair
    assert not OriginMatcher([rule]).allows(sent)


@given(st.lists(origins(), max_size=4), st.text() | origins())
def test_an_origin_is_allowed_only_if_it_parses_to_an_allowed_one(rules: list[str], sent: str) -> None:
    parsed = parse_origin(sent)
    assert OriginMatcher(rules).allows(sent) == (parsed is not None and parsed in map(parse_origin, rules))


@given(st.text())
def test_what_a_letter_becomes_in_lower_case_is_never_taken_for_ascii(text: str) -> None:
    assume(not text.isascii())
    assert parse_origin(f"https://{text}") is None
    assert not HostMatcher([".example"]).allows(text + ".example")


def test_no_rules_allow_nothing() -> None:
    matcher = OriginMatcher([])
    assert not matcher
    assert not matcher.allows("https://a.example")


def test_null_is_allowed_only_where_it_is_listed() -> None:
    assert OriginMatcher(["null"]).allows("null")
    assert not OriginMatcher(["https://a.example", re.compile(".*"), lambda origin: True]).allows("null")


def test_a_pattern_has_to_match_in_full() -> None:
    matcher = OriginMatcher([re.compile(r"https://[a-z]+\.example")])
    assert matcher
    assert matcher.allows("https://a.example")
    assert not matcher.allows("https://a.example.evil")
    assert not matcher.allows("https://a.example:8443")
    assert not matcher.allows("xhttps://a.example")


def test_a_predicate_is_asked_with_the_text_of_a_real_origin_only() -> None:
    asked = []

    def allowed(origin: str) -> bool:
        asked.append(origin)
        return origin.endswith(":1")

    matcher = OriginMatcher([allowed])
    assert matcher
    assert matcher.allows("https://A.example:1")
    assert not matcher.allows("https://a.example:2")
    assert not matcher.allows("https://a.example/:1")
    assert asked == ["https://A.example:1", "https://a.example:2"]


@pytest.mark.parametrize(
    "origin", ["http://localhost", "https://localhost:6274", "http://127.0.0.1:1", "http://[::1]:9"]
)
def test_the_loopback_pattern_allows_any_port_of_this_machine(origin: str) -> None:
    assert OriginMatcher(LOOPBACK_ORIGINS).allows(origin)


@pytest.mark.parametrize(
    "origin", ["http://localhost.evil.example", "http://127.0.0.10", "http://evil@localhost", "ftp://localhost"]
)
def test_the_loopback_pattern_allows_nothing_else(origin: str) -> None:
    assert not OriginMatcher(LOOPBACK_ORIGINS).allows(origin)


@pytest.mark.parametrize("rules", ["https://a.example", re.compile("x"), lambda origin: True, None, 5])
def test_rules_come_as_a_list(rules: object) -> None:
    with pytest.raises(ConfigurationError, match="is a list"):
        OriginMatcher(rules)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["*", "a.example", "https://a.example/", "https://*.a.example", "", 5, None])
def test_a_rule_that_is_no_origin_is_refused(rule: object) -> None:
    with pytest.raises(ConfigurationError, match=r"is no origin|An origin is"):
        OriginMatcher([rule])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("rule", "host"),
    [
        ("api.example.com", "api.example.com"),
        ("api.example.com", "API.example.COM:8443"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1:8000"),
        ("localhost:9000", "LOCALHOST:9000"),
        ("[::1]", "[::1]:8000"),
        ("LocalHost", "localhost"),
        (".example.com", "example.com"),
        (".example.com", "a.b.example.com:1"),
    ],
)
def test_a_host_matches_with_and_without_its_port_in_any_case(rule: str, host: str) -> None:
    assert HostMatcher([rule]).allows(host)


@pytest.mark.parametrize(
    ("rule", "host"),
    [
        ("api.example.com", "evil.example.com"),
        ("api.example.com", "api.example.com.evil"),
        ("api.example.com", "xapi.example.com"),
        ("api.example.com", "api.example.com."),
        ("api.example.com", "api.example.com:"),
        ("api.example.com", "api.example.com, evil"),
        ("api.example.com", "api.example.com\n"),
        ("api.example.com", "user@api.example.com"),
        ("localhost:9000", "localhost"),
        ("localhost:9000", "localhost:9001"),
        (".example.com", "evilexample.com"),
        (".example.com", "example.com.evil"),
        ("localhost", ""),
        ("localhost", None),
        ("kelvin", "\u212aelvin"),
    ],
)
def test_nothing_else_matches_a_host(rule: str, host: str | None) -> None:
    assert not HostMatcher([rule]).allows(host)


def test_the_loopback_hosts_are_those_of_this_machine() -> None:
    matcher = HostMatcher(LOOPBACK_HOSTS)
    assert all(matcher.allows(host) for host in ("localhost:8000", "127.0.0.1", "[::1]:1"))
    assert not matcher.allows("evil.example")


@pytest.mark.parametrize("hosts", ["localhost", 5, None])
def test_hosts_come_as_a_list(hosts: object) -> None:
    with pytest.raises(ConfigurationError, match="is a list"):
        HostMatcher(hosts)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["", "http://a", "a/b", "a b", "*", "::1", "é", 5, None])
def test_an_entry_that_is_no_host_is_refused(host: object) -> None:
    with pytest.raises(ConfigurationError, match="is no host"):
        HostMatcher([host])  # type: ignore[list-item]


@pytest.mark.parametrize("host", [".", ".example.com:80"])
def test_an_entry_that_could_never_match_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="matches nothing"):
        HostMatcher([host])
