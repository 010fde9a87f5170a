"""Both spellings of an endpoint's path are the endpoint."""

from __future__ import annotations

import pytest

from mcp_wsgi import ConfigurationError
from mcp_wsgi.http.paths import EndpointPaths


@pytest.mark.parametrize("given", ["/mcp", "/mcp/"])
def test_the_path_is_there_with_and_without_a_slash(given):
    paths = EndpointPaths(given)
    assert paths.is_endpoint("/mcp", mounted=False)
    assert paths.is_endpoint("/mcp/", mounted=False)
    assert not paths.is_endpoint("/mcp/x", mounted=False)
    assert not paths.is_endpoint("/mcpx", mounted=False)
    assert not paths.is_endpoint("/", mounted=False)
    assert not paths.is_root


@pytest.mark.parametrize("path", ["", "/"])
def test_where_it_is_mounted_the_mount_point_is_the_endpoint_too(path):
    paths = EndpointPaths("/mcp")
    assert paths.is_endpoint(path, mounted=True)
    assert not paths.is_endpoint(path, mounted=False)


def test_the_root_can_be_the_endpoint():
    paths = EndpointPaths("/")
    assert paths.is_root
    assert paths.is_endpoint("/", mounted=False)
    assert paths.is_endpoint("", mounted=False)


def test_what_is_below_belongs_to_the_endpoint_but_not_what_only_begins_alike():
    paths = EndpointPaths("/mcp")
    assert paths.contains("/mcp")
    assert paths.contains("/mcp/")
    assert paths.contains("/mcp/.well-known/x")
    assert not paths.contains("/mcpx")


def test_a_path_without_a_leading_slash_is_refused():
    with pytest.raises(ConfigurationError, match="begin with"):
        EndpointPaths("mcp")
