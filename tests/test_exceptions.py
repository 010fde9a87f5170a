from __future__ import annotations

import copy
import pickle

import pytest

from mcp_wsgi import exceptions
from mcp_wsgi.errors import ErrorCode
from mcp_wsgi.exceptions import (
    ArgumentError,
    EncodeError,
    HeaderMismatchError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MCPError,
    MethodNotFoundError,
    MissingClientCapabilityError,
    ParseError,
    ResourceNotFoundError,
    ToolError,
    UnsupportedVersionError,
)

FIXED = [
    (ParseError("m"), -32700),
    (InvalidRequestError("m"), -32600),
    (MethodNotFoundError("m"), -32601),
    (InvalidParamsError("m"), -32602),
    (ResourceNotFoundError("x:y", "m"), -32602),
    (InternalError("m"), -32603),
    (HeaderMismatchError("m"), -32020),
]


@pytest.mark.parametrize(("error", "code"), FIXED, ids=lambda value: type(value).__name__)
def test_each_class_has_its_code(error, code):
    """JSON-RPC 2.0, section 5.1; 2026-07-28, basic/index, Error Codes."""
    assert isinstance(error, MCPError)
    assert (error.code, error.message, str(error)) == (code, "m", f"m ({code})")
    assert type(error.code) is int
    assert error.request_id is None


def test_an_error_of_one_s_own_keeps_code_message_and_data():
    error = MCPError(ErrorCode.RESOURCE_NOT_FOUND, "gone", {"a": 1})
    assert (error.code, error.message, error.data) == (-32002, "gone", {"a": 1})
    assert type(error.code) is int
    assert MCPError(1, "m").data is None


def test_a_missing_capability_is_named_as_an_object():
    """2026-07-28, basic/index: ``data.requiredCapabilities`` is a ``ClientCapabilities`` object. (B81)"""
    error = MissingClientCapabilityError({"sampling": {}, "elicitation": {"url": {}}})
    assert error.code == -32021
    assert error.data == {"requiredCapabilities": {"elicitation": {"url": {}}, "sampling": {}}}
    assert error.message.endswith(": elicitation, sampling")


def test_an_unsupported_version_names_what_is_supported():
    """2026-07-28, basic/versioning; B74"""
    error = UnsupportedVersionError("1900-01-01", ("2026-07-28", "2025-11-25"))
    assert error.code == -32022
    assert error.data == {"supported": ["2026-07-28", "2025-11-25"], "requested": "1900-01-01"}
    assert error.message == "Unsupported protocol version '1900-01-01'; this server supports: 2026-07-28, 2025-11-25"


def test_a_resource_that_is_not_found_repeats_its_uri():
    error = ResourceNotFoundError("x:y")
    assert (error.uri, error.data, error.message) == ("x:y", {"uri": "x:y"}, "Resource not found")


def test_an_invalid_request_may_know_the_id():
    assert InvalidRequestError("m", [1], request_id=0).request_id == 0
    assert InvalidRequestError("m", [1]).data == [1]


@pytest.mark.parametrize("kind", [ArgumentError, EncodeError])
def test_a_path_stands_before_the_reason(kind):
    error = kind("items[2].price", "expected a number")
    assert isinstance(error, ValueError)
    assert (error.path, error.reason) == ("items[2].price", "expected a number")
    assert str(error) == "items[2].price: expected a number"
    assert str(kind("", "expected an object")) == "expected an object"


EVERY_KIND = [
    *(error for error, _ in FIXED),
    MCPError(7, "m", [1]),
    InvalidRequestError("m", request_id="a"),
    MissingClientCapabilityError({"roots": {}}),
    UnsupportedVersionError("v", ["w"]),
    ArgumentError("a", "b"),
    EncodeError("a", "b"),
    ToolError("m"),
]


@pytest.mark.parametrize("error", EVERY_KIND, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_and_copying(error):
    """Handlers may run in another process."""
    for again in pickle.loads(pickle.dumps(error)), copy.copy(error):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_every_class_is_exported():
    defined = {
        name
        for name, value in vars(exceptions).items()
        if isinstance(value, type) and issubclass(value, Exception) and not name.startswith("_")
    }
    assert defined == set(exceptions.__all__)
