"""Tampered, replayed, expired or foreign ``requestState`` is never accepted (issue 2, Must show 3f)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Context, InvalidParamsError, Server
from mcp_wsgi.server.state import StateSigner, request_digest

from .wire import FORMS, ask

FORM = {"type": "object", "properties": {}}
ANSWERED = {"elicit-1": {"action": "accept", "content": {}}}
_ALPHABET = st.sampled_from("AZaz09-_.=+/ \n\0") | st.characters()


def serve(name: str = "s", keys: Any = ("k",), now: float = 1000.0, **options: Any) -> Server:
    server = Server(name, keys=keys, clock=lambda: now, **options)

    def pay(ctx: Context, amount: int = 0, to: str = "") -> str:
        return ctx.elicit(f"Pay {amount} to {to}?", FORM).action

    server.tool(pay)
    server.tool(name="other")(pay)
    server.prompt(name="pay")(pay)
    return server


def start(server: Server, params: dict[str, Any], **options: Any) -> str:
    state: str = ask(server, "tools/call", params, caps=FORMS, **options)["result"]["requestState"]
    return state


def is_accepted(server: Server, state: str, params: dict[str, Any], method: str = "tools/call", **options: Any) -> bool:
    answer = ask(server, method, {**params, "requestState": state, "inputResponses": ANSWERED}, caps=FORMS, **options)
    if "error" in answer:
        assert answer["error"]["code"] == -32602
        assert "requestState" in answer["error"]["message"]
        return False
    return "inputRequests" not in answer["result"]


PARAMS: dict[str, Any] = {"name": "pay", "arguments": {"amount": 5, "to": "ada"}}
SERVER = serve()
STATE = start(SERVER, PARAMS)


def test_the_state_itself_is_accepted() -> None:
    assert is_accepted(SERVER, STATE, PARAMS)


@given(st.integers(0, len(STATE) - 1), _ALPHABET)
def test_a_changed_character_is_never_accepted(index: int, character: str) -> None:
    changed = STATE[:index] + character + STATE[index + 1 :]
    assert is_accepted(SERVER, changed, PARAMS) is (changed == STATE)


@given(st.integers(0, len(STATE) - 1), st.integers(0, 7))
def test_a_flipped_bit_is_never_accepted(index: int, bit: int) -> None:
    changed = STATE[:index] + chr(ord(STATE[index]) ^ (1 << bit)) + STATE[index + 1 :]
    assert not is_accepted(SERVER, changed, PARAMS)


def test_every_other_last_character_is_refused() -> None:
    """Base64 has unused bits: one signature must not have four spellings."""
    for code in range(128):
        changed = STATE[:-1] + chr(code)
        assert is_accepted(SERVER, changed, PARAMS) is (changed == STATE)


@given(st.integers(0, len(STATE)), st.integers(0, len(STATE)))
def test_a_part_is_never_accepted(begin: int, end: int) -> None:
    part = STATE[begin:end]
    assert is_accepted(SERVER, part, PARAMS) is (part == STATE)
    without = STATE[:begin] + STATE[max(begin, end) :]
    assert is_accepted(SERVER, without, PARAMS) is (without == STATE)


@given(st.integers(0, len(STATE)), st.text(_ALPHABET, min_size=1, max_size=5))
def test_more_is_never_accepted(index: int, more: str) -> None:
    assert not is_accepted(SERVER, STATE[:index] + more + STATE[index:], PARAMS)


@given(st.text())
def test_text_is_never_accepted(text: str) -> None:
    assert not is_accepted(SERVER, text, PARAMS)


_calls = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["pay", "other"]),
        "arguments": st.fixed_dictionaries(
            {}, optional={"amount": st.integers(0, 3), "to": st.sampled_from(["ada", "eve"])}
        ),
    }
)
_principals = st.sampled_from([None, "ada", "eve"])
_servers = st.sampled_from([("s", ("k",)), ("s", ("other",)), ("t", ("k",)), ("s", ("k2", "k"))])


@given(_calls, _principals, _servers, _calls, _principals, _servers)
def test_a_replay_is_accepted_for_the_same_request_only(
    params: Any, principal: Any, at: Any, other_params: Any, other_principal: Any, other_at: Any
) -> None:
    state = start(serve(*at), params, principal=principal)
    accepted = is_accepted(serve(*other_at), state, other_params, principal=other_principal)
    same_server = at[0] == other_at[0] and at[1][0] in other_at[1]
    assert accepted is (same_server and (params, principal) == (other_params, other_principal))


def test_a_replay_on_another_method_is_never_accepted() -> None:
    assert not is_accepted(SERVER, start(SERVER, {"name": "pay"}), {"name": "pay"}, "prompts/get")


@given(st.floats(-1000, 1000))
def test_an_expired_state_is_never_accepted(age: float) -> None:
    state = start(serve(state_ttl=100), PARAMS)
    accepted = is_accepted(serve(state_ttl=100, now=1000 + age), state, PARAMS)
    assert accepted is (age < 100)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_params = st.dictionaries(st.text(), _json, max_size=3)


@given(_params, _json)
def test_any_json_survives_the_round_trip(params: dict[str, Any], answer: Any) -> None:
    signer = StateSigner("p", ["k"])
    digest = request_digest("tools/call", params, None)
    assert signer.unsign(signer.sign({"a": answer}, digest), digest) == {"a": answer}


_CHANGING = {"_meta", "inputResponses", "requestState"}


@given(_params, _params)
def test_other_params_have_another_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = {name: one[name] for name in one if name not in _CHANGING} == {
        name: other[name] for name in other if name not in _CHANGING
    }
    if not same:
        assert request_digest("m", one, None) != request_digest("m", other, None)


@given(st.text(), st.text())
def test_a_foreign_key_is_never_accepted(key: str, other: str) -> None:
    if not key or not other or key == other:
        return
    try:
        StateSigner("p", [key.encode("utf-8", "surrogatepass")]).unsign(
            StateSigner("p", [other.encode("utf-8", "surrogatepass")]).sign({}, "d"), "d"
        )
    except InvalidParamsError:
        return
    # HMAC pads a short key with zeros.
    assert key.rstrip("\0") == other.rstrip("\0")
