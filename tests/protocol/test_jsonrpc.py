from __future__ import annotations

import pytest

from mcp_wsgi.exceptions import InvalidParamsError, InvalidRequestError, MCPError
from mcp_wsgi.protocol.jsonrpc import (
    MAX_ID_LENGTH,
    Notification,
    Request,
    Response,
    error_response,
    notification,
    parse_message,
    request,
    result_response,
)


def refused(value, kind=InvalidRequestError):
    with pytest.raises(kind) as caught:
        parse_message(value)
    assert type(caught.value) is kind
    return caught.value


# Requests and notifications: 2026-07-28, basic/index, Requests and Notifications


@pytest.mark.parametrize("request_id", [0, -5, 7, 2**70, "", "0", "1", "001", "init-1", "\ud800"])
def test_an_id_keeps_its_type_and_value(request_id):
    """B43, B45: 0 and "" are ids, and "1" is not 1."""
    message = parse_message({"jsonrpc": "2.0", "id": request_id, "method": "ping"})
    assert message == Request(request_id, "ping", {})
    assert type(message.id) is type(request_id)


@pytest.mark.parametrize("request_id", [None, True, False, 1.0, 1.5, [], {}, [1]])
def test_an_id_of_another_type_is_refused_without_an_id(request_id):
    """B42: "the ID MUST NOT be null"; the presence of the member decides, not its truth."""
    error = refused({"jsonrpc": "2.0", "id": request_id, "method": "tools/list"})
    assert error.request_id is None
    assert str(error) == '"id" must be a string or an integer (-32600)'


def test_without_an_id_it_is_a_notification():
    assert parse_message({"jsonrpc": "2.0", "method": "x", "params": {"a": 1}}) == Notification("x", {"a": 1})


@pytest.mark.parametrize("member", [{}, {"params": None}, {"params": {}}])
def test_absent_null_and_empty_params_are_an_empty_object(member):
    """B47"""
    assert parse_message({"jsonrpc": "2.0", "id": 1, "method": "tools/list", **member}).params == {}
    assert parse_message({"jsonrpc": "2.0", "method": "x", **member}).params == {}


@pytest.mark.parametrize("params", [[], [1], "x", 0, False, True, 1.5])
def test_params_of_another_type_are_invalid_params(params):
    """B47"""
    error = refused({"jsonrpc": "2.0", "id": 0, "method": "x", "params": params}, InvalidParamsError)
    assert (error.request_id, error.message) == (0, '"params" must be an object')
    assert refused({"jsonrpc": "2.0", "method": "x", "params": params}, InvalidParamsError).request_id is None


@pytest.mark.parametrize("value", [[], [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], [[]]])
def test_a_batch_is_refused(value):
    """B49; 2026-07-28, basic/transports/streamable-http, Sending Messages: a single request or notification."""
    error = refused(value)
    assert error.request_id is None
    assert "batches are not supported" in error.message


@pytest.mark.parametrize("value", ["str", 5, None, True, 1.5])
def test_a_scalar_is_refused(value):
    """B49"""
    assert "not an object" in refused(value).message


@pytest.mark.parametrize("version", ["1.0", "2", 2.0, 2, None, "", "2.0 "])
def test_another_jsonrpc_version_is_refused_with_the_id(version):
    error = refused({"jsonrpc": version, "id": "a", "method": "x"})
    assert (error.request_id, error.message) == ("a", '"jsonrpc" must be "2.0"')
    assert refused({"id": 1.5, "method": "x"}).request_id is None


@pytest.mark.parametrize("method", [None, "", 1, ["x"], {}])
def test_a_method_that_is_no_name_is_refused_with_the_id(method):
    error = refused({"jsonrpc": "2.0", "id": 3, "method": method})
    assert (error.request_id, error.message) == (3, '"method" must be a non-empty string')


def test_an_object_without_method_result_or_error_lacks_a_method():
    error = refused({"jsonrpc": "2.0", "id": 4})
    assert (error.request_id, error.message) == (4, '"method" is missing')
    assert refused({}).request_id is None


# Responses: 2026-07-28, basic/index, Responses


def test_a_result_is_a_response():
    assert parse_message({"jsonrpc": "2.0", "id": 0, "result": {"a": 1}}) == Response(0, {"a": 1}, None)


@pytest.mark.parametrize("member", [{}, {"id": None}])
def test_an_error_may_lack_an_id(member):
    error = {"code": -32700, "message": "no"}
    assert parse_message({"jsonrpc": "2.0", "error": error, **member}) == Response(None, None, error)


def test_an_error_keeps_its_id_and_data():
    error = {"code": 1, "message": "", "data": [1]}
    assert parse_message({"jsonrpc": "2.0", "id": "", "error": error}) == Response("", None, error)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"id": 1, "result": {}, "error": {"code": 1, "message": ""}}, "not both"),
        ({"id": 1, "result": []}, "an object as"),
        ({"id": 1, "result": None}, "an object as"),
        ({"result": {}}, 'needs an "id"'),
        ({"id": None, "result": {}}, 'needs an "id"'),
        ({"id": True, "error": {"code": 1, "message": ""}}, '"id" must be'),
        ({"id": 1, "error": "x"}, '"error" needs'),
        ({"id": 1, "error": {"code": True, "message": ""}}, '"error" needs'),
        ({"id": 1, "error": {"code": "1", "message": ""}}, '"error" needs'),
        ({"id": 1, "error": {"code": 1}}, '"error" needs'),
        ({"id": 1, "error": {"code": 1, "message": None}}, '"error" needs'),
    ],
)
def test_a_malformed_response_is_refused(members, reason):
    assert reason in refused({"jsonrpc": "2.0", **members}).message


def test_a_response_of_another_jsonrpc_version_is_refused():
    assert refused({"id": 1, "result": {}}).message == '"jsonrpc" must be "2.0"'


# Builders


def test_builders_leave_absent_params_out():
    assert request(0, "ping") == {"jsonrpc": "2.0", "id": 0, "method": "ping"}
    assert notification("x") == {"jsonrpc": "2.0", "method": "x"}


def test_builders_copy_the_params():
    params = {"a": 1}
    for message in request("1", "x", params), notification("x", params):
        assert message["params"] == params
        assert message["params"] is not params


def test_answers_are_built_with_their_id():
    assert result_response("", {}) == {"jsonrpc": "2.0", "id": "", "result": {}}
    assert error_response(0, MCPError(5, "no", [1])) == {
        "jsonrpc": "2.0",
        "id": 0,
        "error": {"code": 5, "message": "no", "data": [1]},
    }


def test_an_error_without_a_readable_id_has_no_id_member():
    """2026-07-28, basic/index, Error Responses: the schema's ``id`` is optional and never null. (B42)"""
    assert error_response(None, MCPError(5, "no")) == {"jsonrpc": "2.0", "error": {"code": 5, "message": "no"}}


@pytest.mark.parametrize("rest", [{"method": "ping"}, {"error": {"code": 1, "message": ""}}])
def test_an_id_of_megabytes_is_refused_and_not_sent_back(rest):
    """It would come back in each message about its request."""
    error = refused({"jsonrpc": "2.0", "id": "x" * (MAX_ID_LENGTH + 1), **rest})
    assert (error.request_id, error.message) == (None, f'"id" is longer than {MAX_ID_LENGTH} characters')
    assert parse_message({"jsonrpc": "2.0", "id": "x" * MAX_ID_LENGTH, **rest}).id == "x" * MAX_ID_LENGTH
