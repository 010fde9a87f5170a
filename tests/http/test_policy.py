"""One policy for every door: CORS, hosts and limits (field reports B10, B11, B13)."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import ConfigurationError, HTTPPolicy

ORIGIN = "https://app.example"
TOKEN = set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


def test_the_defaults_open_nothing() -> None:
    policy = HTTPPolicy()
    assert not policy.allows_origin(ORIGIN)
    assert policy.allows_host("anything") is policy.allows_host(None) is True
    assert policy.cors_headers(None) == []
    assert policy.body_limit == 4 * 1024 * 1024
    assert not policy.tolerate_version_header


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"body_limit": 0}, "at least 1"),
        ({"body_limit": "4 MiB"}, "number of bytes"),
        ({"allowed_headers": "x-a"}, "is a list"),
        ({"allowed_headers": None}, "is a list"),
        ({"allowed_headers": ["x-a", "x b"]}, "'x b' in allowed_headers"),
        ({"allowed_headers": ["x\r\nset-cookie"]}, "is no name"),
        ({"allowed_headers": [5]}, "5 in allowed_headers"),
        ({"allowed_origins": ORIGIN}, "is a list"),
        ({"allowed_origins": ["*"]}, "is no origin"),
        ({"allowed_hosts": "localhost"}, "is a list"),
        ({"allowed_hosts": ["http://localhost"]}, "is no host"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        HTTPPolicy(**options)  # type: ignore[arg-type]


def test_options_may_come_from_generators_and_are_kept() -> None:
    policy = HTTPPolicy(
        allowed_origins=(origin for origin in [ORIGIN]),
        allowed_headers=(name for name in ["X-Trace"]),
        allowed_hosts=(host for host in ["localhost"]),
    )
    assert (policy.allowed_origins, policy.allowed_headers, policy.allowed_hosts) == (
        (ORIGIN,),
        ("X-Trace",),
        ("localhost",),
    )
    assert policy.allows_origin(ORIGIN) is policy.allows_origin(ORIGIN) is True
    assert policy.allows_host("localhost:1")


def test_policies_are_values() -> None:
    assert HTTPPolicy(allowed_origins=[ORIGIN]) == HTTPPolicy(allowed_origins=(ORIGIN,))
    assert hash(HTTPPolicy(allowed_origins=[ORIGIN])) == hash(HTTPPolicy(allowed_origins=[ORIGIN]))
    assert HTTPPolicy() != HTTPPolicy(body_limit=1)


def test_a_refusal_names_the_setting_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    policy = HTTPPolicy(allowed_hosts=["localhost"])
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        for _ in range(3):
            assert not policy.allows_origin("https://evil.example" + "x" * 5000)
            assert not policy.allows_host("evil.example\r\nforged line")
            assert not policy.allows_host(None)
    assert len(caplog.messages) == 2
    assert "HTTPPolicy(allowed_origins=...)" in caplog.messages[0]
    assert "HTTPPolicy(allowed_hosts=...)" in caplog.messages[1]
    assert all(len(line) < 400 and "\n" not in line for line in caplog.messages)


def test_an_answer_says_that_it_varies_and_what_may_be_read() -> None:
    policy = HTTPPolicy(allowed_origins=[ORIGIN])
    assert policy.cors_headers(None) == [("Vary", "Origin")]
    headers = dict(policy.cors_headers(ORIGIN))
    assert headers["Access-Control-Allow-Origin"] == ORIGIN
    exposed = {name.strip().lower() for name in headers["Access-Control-Expose-Headers"].split(",")}
    assert {"mcp-session-id", "www-authenticate"} <= exposed
    assert "Access-Control-Allow-Credentials" not in headers


def test_credentials_are_granted_to_one_origin_and_never_to_all() -> None:
    policy = HTTPPolicy(allowed_origins=[ORIGIN], allow_credentials=True)
    for headers in (policy.cors_headers(ORIGIN), policy.preflight_headers(ORIGIN, "")):
        assert dict(headers)["Access-Control-Allow-Credentials"] == "true"
        assert dict(headers)["Access-Control-Allow-Origin"] == ORIGIN
    for headers in (policy.cors_headers(None), policy.preflight_headers(None, "")):
        assert not any(name.startswith("Access-Control") for name, _ in headers)


def test_a_preflight_grants_every_header_that_a_client_sends() -> None:
    # B13: the headers of one real preflight.
    wanted = (
        "authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name,mcp-param-region,"
        "last-event-id"
    )
    headers = dict(HTTPPolicy(allowed_origins=[ORIGIN], allowed_headers=["X-Trace"]).preflight_headers(ORIGIN, wanted))
    granted = headers["Access-Control-Allow-Headers"].split(", ")
    assert set(wanted.split(",")) | {"x-trace"} <= set(granted)
    assert "*" not in granted
    assert headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"
    assert int(headers["Access-Control-Max-Age"]) > 0
    assert "Origin" in headers["Vary"]


def test_a_preflight_does_not_grant_headers_that_are_nobodys() -> None:
    headers = dict(
        HTTPPolicy(allowed_origins=[ORIGIN]).preflight_headers(ORIGIN, "cookie, x-evil, mcp-params, mcp-param-é")
    )
    granted = headers["Access-Control-Allow-Headers"].split(", ")
    assert not {"cookie", "x-evil", "mcp-params", "mcp-param-é"} & set(granted)


@given(st.text() | st.lists(st.text().map(lambda name: "mcp-param-" + name)).map(",".join))
def test_whatever_is_requested_the_grant_is_a_list_of_names(requested: str) -> None:
    headers = dict(HTTPPolicy(allowed_origins=[ORIGIN]).preflight_headers(ORIGIN, requested))
    names = headers["Access-Control-Allow-Headers"].split(", ")
    assert len(names) == len(set(names))
    assert all(name and set(name) <= TOKEN for name in names)
