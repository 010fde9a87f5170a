"""What a server's process inherits, and what may be added."""

from __future__ import annotations

import os

import pytest

from mcp_wsgi import ConfigurationError
from mcp_wsgi.transport.environment import build_environment, check_environment


def test_a_server_inherits_where_it_is_and_no_secret(monkeypatch):
    for name, value in {"TZ": "UTC", "LC_TIME": "C", "HOME": "/home", "API_TOKEN": "secret", "LC": "x"}.items():
        monkeypatch.setenv(name, value)
    environment = build_environment({"A": "1"})
    assert environment["PATH"] == os.environ["PATH"]
    assert {name: environment[name] for name in ("TZ", "LC_TIME", "HOME", "A")} == {
        "TZ": "UTC",
        "LC_TIME": "C",
        "HOME": "/home",
        "A": "1",
    }
    assert not {"API_TOKEN", "LC", "PYTHONPATH", "LD_PRELOAD", "VIRTUAL_ENV", "HTTPS_PROXY"} & set(environment)


@pytest.mark.parametrize("env", [{"A": 1}, {1: "A"}, {"": "A"}, {"A=B": "C"}, {"A": "\0"}])
def test_an_environment_that_is_none_is_refused(env):
    with pytest.raises(ConfigurationError, match="env"):
        check_environment(env)
