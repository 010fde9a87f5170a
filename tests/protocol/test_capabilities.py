from __future__ import annotations

import pytest

from mcp_wsgi.protocol.capabilities import missing_capabilities


@pytest.mark.parametrize(
    ("declared", "required", "missing"),
    [
        ({}, {}, {}),
        ({"roots": {}}, {"roots": {}}, {}),
        ({"roots": {"listChanged": True}}, {"roots": {}}, {}),
        ({}, {"roots": {}}, {"roots": {}}),
        ({"roots": None}, {"roots": {}}, {"roots": {}}),
        ({"sampling": {}}, {"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"sampling": {"context": {}}}, {"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}, {}),
        ({"roots": {}}, {"roots": {}, "sampling": {}}, {"sampling": {}}),
    ],
)
def test_what_is_missing_is_named_in_the_shape_of_the_requirement(declared, required, missing):
    """2026-07-28, basic/index: the error's ``data.requiredCapabilities`` is a ``ClientCapabilities`` object."""
    assert missing_capabilities(declared, required) == missing


@pytest.mark.parametrize(
    ("declared", "mode", "supported"),
    [
        ({}, "form", True),
        ({}, "url", False),
        ({"form": {}}, "form", True),
        ({"form": {}}, "url", False),
        ({"url": {}}, "form", False),
        ({"url": {}}, "url", True),
        ({"form": {}, "url": {}}, "url", True),
    ],
)
def test_an_empty_elicitation_declares_forms(declared, mode, supported):
    """2026-07-28, client/elicitation, Capabilities: an empty object is equivalent to form mode alone."""
    required = {"elicitation": {mode: {}}}
    assert missing_capabilities({"elicitation": declared}, required) == ({} if supported else required)


def test_the_requirement_is_not_handed_out():
    required = {"sampling": {"tools": {}}}
    missing = missing_capabilities({}, required)
    missing["sampling"].clear()
    assert required == {"sampling": {"tools": {}}}
