"""Signed, expiring text that travels with the client: ``requestState``.

2026-07-28, basic/patterns/mrtr, Server Requirements: the state comes back through an untrusted client, so
it is signed; it is bound to the principal, the method and the salient parameters, and it expires. It is
not encrypted: nothing secret belongs in it.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import ConfigurationError, InvalidParamsError

if TYPE_CHECKING:
    from itsdangerous import URLSafeSerializer

__all__ = ["StateSigner", "request_digest"]

logger = logging.getLogger("mcp_wsgi")

#: Members of ``params`` that change between the rounds of one request.
_CHANGING = frozenset({"_meta", "inputResponses", "requestState"})


def request_digest(method: str, params: Mapping[str, Any], principal: str | None) -> str:
    """Digest what a state is bound to: who asks, which method, and with which parameters."""
    salient = {name: value for name, value in params.items() if name not in _CHANGING}
    text = json.dumps([principal, method, salient], sort_keys=True, separators=(",", ":"))
    import hashlib

    return hashlib.sha256(text.encode("ascii")).hexdigest()[:40]


def _is_canonical(state: str) -> bool:
    """Refuse other spellings of a signature: Base64 has unused bits, and foreign characters are skipped in it."""
    from itsdangerous.encoding import base64_decode, base64_encode

    signature = state.rpartition(".")[2]
    return base64_encode(base64_decode(signature)) == signature.encode()


class StateSigner:
    """Sign and check state.

    Args:
        purpose: What the state belongs to; one purpose's state is not accepted for another.
        keys: Secret keys, the newest first: it signs, and all of them are accepted. Without any, a random key
            is made once in each process, and a warning is logged, since other workers cannot read it.
        ttl: How long a state is accepted, in seconds.
        clock: The time in seconds since the epoch.
    """

    def __init__(
        self,
        purpose: str,
        keys: Sequence[str | bytes] = (),
        *,
        ttl: float = 3600,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(keys, (str, bytes)):
            keys = (keys,)
        given: Sequence[object] = keys  # settings are not typed: an unset secret key is often None
        if not all(isinstance(key, (str, bytes)) and key for key in given):
            raise ConfigurationError("A signing key must be text or bytes, and not empty")
        if not ttl > 0:
            raise ConfigurationError("The lifetime of a state must be more than 0 seconds")
        self._purpose = purpose
        self._keys = tuple(keys)
        self._ttl = ttl
        self._clock = clock
        # By process: a random key must not be shared by forked workers silently.
        self._made: dict[int, URLSafeSerializer] = {}

    def _serializer(self) -> URLSafeSerializer:
        pid = os.getpid() if not self._keys else 0
        made = self._made.get(pid)
        if made is None:
            new = self._make()
            # One of two threads wins, and both use its key. A lock could be held by another thread in a fork.
            made = self._made.setdefault(pid, new)
            if made is new and not self._keys:
                logger.warning(
                    "No signing keys were given to the MCP server: a random key of this process is used, so "
                    "multi-round-trip requests fail on other workers and after a restart. Pass keys=[...]."
                )
        return made

    def _make(self) -> URLSafeSerializer:
        import hashlib

        from itsdangerous import URLSafeSerializer

        keys = [key.encode() if isinstance(key, str) else key for key in reversed(self._keys)]
        return URLSafeSerializer(
            keys or [os.urandom(32)],
            salt=f"mcp_wsgi {self._purpose}",
            # A client's answer may hold half of a surrogate pair, which has no UTF-8.
            serializer_kwargs={"ensure_ascii": True},
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )

    def sign(self, payload: Mapping[str, Any], digest: str) -> str:
        """Sign a JSON-like payload for the request with that digest."""
        # The time of expiry and not of signing, so that a worker whose clock is behind takes it too.
        expires = math.ceil(self._clock() + self._ttl)
        return str(self._serializer().dumps([digest, expires, dict(payload)]))

    def unsign(self, state: str, digest: str) -> dict[str, Any]:
        """Check a state and return its payload.

        Raises:
            InvalidParamsError: It was tampered with, is expired, or belongs to another request, principal or
                server. The message does not say which.
        """
        from itsdangerous import BadData

        try:
            signed_for, expires, payload = self._serializer().loads(state)
            is_canonical = _is_canonical(state)
        except (BadData, ValueError, RecursionError):
            signed_for, expires, payload, is_canonical = None, 0, {}, False
        if is_canonical and signed_for == digest and self._clock() < expires:
            found: dict[str, Any] = payload
            return found
        raise InvalidParamsError(
            '"requestState" is not valid for this request: it is expired, altered, or from another request; '
            "send the request again without it"
        )
