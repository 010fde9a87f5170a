"""Multi-round-trip requests: what was asked, what was answered, what to ask next.

A handler runs again from the top in each round. What it asks is looked up among the answers so far; what
is not there ends the round. The answers so far, and a digest of each question, travel in the signed
``requestState``: an answer counts only for the question that was really asked, so a question whose text
changed between two rounds is asked again (2026-07-28, basic/patterns/mrtr).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..exceptions import InvalidParamsError, MissingClientCapabilityError, RegistrationError
from ..protocol.capabilities import missing_capabilities
from ..protocol.codec import encode
from .questions import InputRequired, check_form, check_shape, required_capabilities
from .state import StateSigner, request_digest

__all__ = ["Interaction"]

#: What a client may answer in one request; a handler that asks more is looping.
MAX_ANSWERS = 100

#: What the answers so far may take in a state, in bytes: it is compressed, so a small request could unpack to much.
MAX_STATE = 1024 * 1024


def _digest(request: Mapping[str, Any]) -> str:
    return hashlib.sha256(encode(request)).hexdigest()[:24]


class Interaction:
    """Hold the rounds of one request so far.

    Args:
        signer: What signs the state.
        method: The method of the request.
        params: Its params, ``requestState`` and ``inputResponses`` included.
        principal: Who asks.
        capabilities: What the client declares in this request.

    Raises:
        InvalidParamsError: ``requestState`` is not valid for this request, or ill-typed.
    """

    def __init__(
        self,
        signer: StateSigner,
        method: str,
        params: Mapping[str, Any],
        principal: str | None,
        capabilities: Mapping[str, Any],
    ) -> None:
        self._signer = signer
        self._capabilities = capabilities
        self._binding = request_digest(method, params, principal)
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}
        self._old: dict[str, list[Any]] = {}
        self._pending: dict[str, list[Any]] = {}
        self.state: str | None = None
        self._read_state(params.get("requestState"))
        responses = params.get("inputResponses")
        if responses is not None and type(responses) is not dict:
            raise InvalidParamsError('"inputResponses" must be an object')
        # "The server SHOULD ignore any unexpected information in the inputResponses object": keys that were
        # not asked are unexpected, and without a state nothing was asked.
        self._new: dict[str, Any] = {key: value for key, value in (responses or {}).items() if key in self._pending}
        for key, value in self._new.items():
            _, asked, mode = self._pending[key]
            check_shape(key, asked, mode, value)

    def _read_state(self, state: object) -> None:
        if state is None:
            return
        if type(state) is not str:
            raise InvalidParamsError('"requestState" must be a string')
        payload = self._signer.unsign(state, self._binding)
        self._old = payload.get("a", {})
        self._pending = payload.get("q", {})
        self.state = payload.get("s")

    def key_for(self, kind: str) -> str:
        """Make the key of a question that has none of its own: its kind and its place in the handler."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}-{self._counts[kind]}"

    def answer(self, key: str, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Give the answer to a question, or ``None`` where it has not been answered yet.

        Raises:
            InvalidParamsError: The answer has not the shape that was asked for.
        """
        digest = _digest(request)
        if key in self._new and self._pending[key][0] == digest:
            answer = self._new[key]
            check_form(key, request, answer)
            self._old[key] = [digest, answer]
        known = self._old.get(key)
        if known is None or known[0] != digest:
            return None
        found: Mapping[str, Any] = known[1]
        return found

    def ask(self, key: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give the answer to a question, or end the round with it.

        Raises:
            InputRequired: It has not been answered yet.
            MissingClientCapabilityError: The client cannot answer it.
            RegistrationError: The handler asks two questions under one key.
        """
        if key in self._used:
            raise RegistrationError(f"The handler asks two questions under the key {key!r}")
        self._used.add(key)
        self.require(request)
        answer = self.answer(key, request)
        if answer is None:
            # The handler's own state goes on until the handler replaces it.
            raise InputRequired({key: request}, state=self.state)
        return answer

    def require(self, request: Mapping[str, Any]) -> None:
        """Refuse a question that the client does not declare to support.

        "Servers MUST NOT send an input request that the client has not declared support for."
        """
        missing = missing_capabilities(self._capabilities, required_capabilities(request))
        if missing:
            raise MissingClientCapabilityError(missing)

    def responses(self) -> dict[str, Any]:
        """Give all answers so far by key, as the client sent them."""
        return {**{key: known[1] for key, known in self._old.items()}, **self._new}

    def result(self, required: InputRequired) -> dict[str, Any]:
        """Build the ``InputRequiredResult`` that ends this round.

        Raises:
            MissingClientCapabilityError: The client cannot answer one of the questions.
        """
        for request in required.requests.values():
            self.require(request)
        answers = dict(self._old)
        for key, value in self._new.items():
            answers.setdefault(key, [self._pending[key][0], value])
        if len(answers) + len(required.requests) > MAX_ANSWERS:
            raise RegistrationError(f"A handler asked more than {MAX_ANSWERS} questions in one request")
        payload: dict[str, Any] = {
            "a": {key: value for key, value in answers.items() if key not in required.requests},
            "q": {
                key: [_digest(request), request["method"], request.get("params", {}).get("mode")]
                for key, request in required.requests.items()
            },
        }
        if required.state is not None:
            payload["s"] = required.state
        result: dict[str, Any] = {"resultType": "input_required"}
        if required.requests:
            result["inputRequests"] = required.requests
        if len(encode(payload)) > MAX_STATE:
            raise InvalidParamsError(f'"inputResponses": the answers are larger than {MAX_STATE} bytes in all')
        result["requestState"] = self._signer.sign(payload, self._binding)
        return result
