"""Signed, expiring text that travels with the client: ``requestState``.

2026-07-28, basic/patterns/mrtr, Server Requirements: the state comes back through an untrusted client, so
it is signed; it is bound to the principal, the method and the salient parameters, and it expires. It is
not encrypted: nothing secret belongs in it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import ConfigurationError, InvalidParamsError

if TYPE_CHECKING:
    from itsdangerous import URLSafeTimedSerializer

__all__ = ["StateSigner", "request_digest"]

logger = logging.getLogger("mcp_wsgi")

#: Members of ``params`` that change between the rounds of one request.
_CHANGING = frozenset({"_meta", "inputResponses", "requestState"})


def request_digest(method: str, params: Mapping[str, Any], principal: str | None) -> str:
    """Digest what a state is bound to: who asks, which method, and with which parameters."""
    salient = {name: value for name, value in params.items() if name not in _CHANGING}
    text = json.dumps([principal, method, salient], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:40]


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
        if not all(keys):
            raise ConfigurationError("A signing key must not be empty")
        self._purpose = purpose
        self._keys = tuple(keys)
        self._ttl = ttl
        self._clock = clock
        # The process that made the serializer: a random key must not be shared by forked workers silently.
        self._made: tuple[int, URLSafeTimedSerializer] | None = None

    def _serializer(self) -> URLSafeTimedSerializer:
        pid = os.getpid()
        made = self._made
        if made is None or (made[0] != pid and not self._keys):
            made = self._made = (pid, self._make())
        return made[1]

    def _make(self) -> URLSafeTimedSerializer:
        from itsdangerous import TimestampSigner, URLSafeTimedSerializer

        clock = self._clock

        class ClockSigner(TimestampSigner):
            def get_timestamp(self) -> int:
                return int(clock())

        keys = [key.encode() if isinstance(key, str) else key for key in reversed(self._keys)]
        if not keys:
            logger.warning(
                "No signing keys were given to the MCP server: a random key of this process is used, so "
                "multi-round-trip requests fail on other workers and after a restart. Pass keys=[...]."
            )
            keys = [os.urandom(32)]
        return URLSafeTimedSerializer(
            keys,
            salt=f"mcp_wsgi {self._purpose}",
            signer=ClockSigner,
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )

    def sign(self, payload: Mapping[str, Any], digest: str) -> str:
        """Sign a JSON-like payload for the request with that digest."""
        return str(self._serializer().dumps([digest, dict(payload)]))

    def unsign(self, state: str, digest: str) -> dict[str, Any]:
        """Check a state and return its payload.

        Raises:
            InvalidParamsError: It was tampered with, is expired, or belongs to another request, principal or
                server. The message does not say which.
        """
        from itsdangerous import BadData

        try:
            loaded = self._serializer().loads(state, max_age=int(self._ttl))
        except (BadData, ValueError, RecursionError):
            loaded = None
        if isinstance(loaded, list) and loaded and loaded[0] == digest:
            payload: dict[str, Any] = loaded[1]
            return payload
        raise InvalidParamsError(
            '"requestState" is not valid for this request: it is expired, altered, or from another request; '
            "send the request again without it"
        )
