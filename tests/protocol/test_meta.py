from __future__ import annotations

import pytest

from mcp_wsgi.exceptions import InvalidParamsError
from mcp_wsgi.protocol.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    LOG_LEVELS,
    PROTOCOL_VERSION,
    Envelope,
    build_meta,
    has_envelope,
    read_envelope,
    read_progress_token,
)

LEAST = {PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: {}}


def refused(meta):
    with pytest.raises(InvalidParamsError) as caught:
        read_envelope({"_meta": meta})
    return caught.value.message


# 2026-07-28, basic/index, Per-request protocol fields


def test_version_and_capabilities_are_enough():
    """B82: clientInfo is optional."""
    assert read_envelope({"_meta": LEAST}) == Envelope("2026-07-28", {}, None, None, None, LEAST)


def test_every_field_is_read():
    capabilities = {"elicitation": {"url": {}}, "x": 1}
    info = {"name": "", "version": "", "title": None}
    meta = build_meta(
        version="v",
        capabilities=capabilities,
        client_info=info,
        log_level="error",
        progress_token=0,
        extra={"com.example/a": 1},
    )
    assert read_envelope({"_meta": meta}) == Envelope("v", capabilities, info, "error", 0, meta)
    assert meta["com.example/a"] == 1


def test_own_fields_win_over_extra_ones():
    meta = build_meta(version="v", capabilities={}, extra={PROTOCOL_VERSION: "other"})
    assert meta == {PROTOCOL_VERSION: "v", CLIENT_CAPABILITIES: {}}


@pytest.mark.parametrize("params", [{}, {"_meta": None}])
def test_without_meta_a_modern_request_is_refused(params):
    """B47, B82"""
    with pytest.raises(InvalidParamsError, match=r'"params._meta" is missing'):
        read_envelope(params)


@pytest.mark.parametrize("meta", [[], "x", 0, True])
def test_meta_of_another_type_is_refused(meta):
    assert '"params._meta" must be an object' in refused(meta)


@pytest.mark.parametrize("name", [PROTOCOL_VERSION, CLIENT_CAPABILITIES])
def test_a_missing_required_field_is_named(name):
    meta = dict(LEAST)
    del meta[name]
    assert refused(meta) == f'"_meta" field "{name}" is missing'


@pytest.mark.parametrize("value", [None, 5, [], {}, True])
def test_the_version_is_a_string(value):
    assert refused({**LEAST, PROTOCOL_VERSION: value}) == f'"_meta" field "{PROTOCOL_VERSION}" must be a string'


@pytest.mark.parametrize("value", [None, 5, [], "x", True])
def test_the_capabilities_are_an_object(value):
    assert refused({**LEAST, CLIENT_CAPABILITIES: value}) == f'"_meta" field "{CLIENT_CAPABILITIES}" must be an object'


@pytest.mark.parametrize("name", ["elicitation", "sampling", "roots", "extensions", "experimental"])
@pytest.mark.parametrize("value", [None, True, [], "x"])
def test_each_known_capability_is_an_object(name, value):
    assert refused({**LEAST, CLIENT_CAPABILITIES: {name: value}}).endswith(f'"{name}" must be an object')


@pytest.mark.parametrize("info", [5, [], "x", {}, {"name": "a"}, {"version": "1"}, {"name": 1, "version": "1"}])
def test_junk_client_info_is_refused(info):
    """B82"""
    assert CLIENT_INFO in refused({**LEAST, CLIENT_INFO: info})


@pytest.mark.parametrize("level", LOG_LEVELS)
def test_each_log_level_is_known(level):
    assert read_envelope({"_meta": {**LEAST, LOG_LEVEL: level}}).log_level == level


@pytest.mark.parametrize("level", ["", "INFO", "trace", 3, [], True])
def test_another_log_level_is_refused(level):
    assert "must be one of: debug, info" in refused({**LEAST, LOG_LEVEL: level})


def test_optional_fields_that_are_null_are_absent():
    meta = {**LEAST, CLIENT_INFO: None, LOG_LEVEL: None, "progressToken": None}
    assert read_envelope({"_meta": meta}) == Envelope("2026-07-28", {}, None, None, None, meta)


# Progress tokens: 2026-07-28, basic/patterns/progress


@pytest.mark.parametrize("token", [0, -1, 5, "", "a"])
def test_a_progress_token_is_a_string_or_an_integer(token):
    """B45: 0 and "" are tokens."""
    assert read_progress_token({"_meta": {"progressToken": token}}) == token
    assert read_envelope({"_meta": {**LEAST, "progressToken": token}}).progress_token == token


@pytest.mark.parametrize("token", [True, 1.5, [], {}])
def test_a_progress_token_of_another_type_is_refused(token):
    assert refused({**LEAST, "progressToken": token}) == '"_meta" field "progressToken" must be a string or an integer'


@pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": {}}, {"_meta": {"progressToken": None}}])
def test_without_a_progress_token_there_is_none(params):
    """B47: on legacy ``_meta: null`` is the same as none."""
    assert read_progress_token(params) is None


@pytest.mark.parametrize("meta", [[], "x", 5])
def test_a_legacy_meta_of_another_type_is_refused(meta):
    with pytest.raises(InvalidParamsError, match=r'"params._meta" must be an object'):
        read_progress_token({"_meta": meta})


@pytest.mark.parametrize(
    ("params", "modern"),
    [
        ({"_meta": LEAST}, True),
        ({"_meta": {PROTOCOL_VERSION: None}}, True),
        ({"_meta": {}}, False),
        ({"_meta": None}, False),
        ({"_meta": [PROTOCOL_VERSION]}, False),
        ({"_meta": PROTOCOL_VERSION}, False),
        ({}, False),
        ({"protocolVersion": "2026-07-28"}, False),
    ],
)
def test_a_version_in_meta_makes_a_request_modern(params, modern):
    """2026-07-28, basic/versioning"""
    assert has_envelope(params) is modern


def test_a_progress_token_of_megabytes_is_refused():
    """It would come back in each report: 20 reports made 216 megabytes of a body of four."""
    assert refused({**LEAST, "progressToken": "x" * 1_001}) == (
        '"_meta" field "progressToken" is longer than 1000 characters'
    )
    assert read_progress_token({"_meta": {"progressToken": "x" * 1_000}}) == "x" * 1_000
