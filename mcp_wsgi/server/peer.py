"""The client of a transport that has only one: what its handshake said, and what it is to be told of.

2025-11-25, basic/lifecycle, server/utilities/logging, server/resources, Subscriptions. A modern request carries all of
this itself. A legacy one relies on what was said before, which a transport can know only if all of it comes from one
client: that of the process, on stdio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..exceptions import InvalidParamsError
from .bus import LIST_CHANGED, MAX_RESOURCE_SUBSCRIPTIONS, MAX_SUBSCRIBED_CHARACTERS, RESOURCE_UPDATED, Change, Feed

__all__ = ["Peer"]

#: The least severe level that is sent before the client asks for one: "the server MAY decide which messages to send".
DEFAULT_LEVEL = "info"


class Peer:
    """Hold what a legacy client said in its handshake and after it.

    Args:
        wake: Called, from any thread and without blocking, when a change is due to the client.
    """

    __slots__ = ("_uris", "capabilities", "feed", "info", "log_level", "version")

    def __init__(self, wake: Callable[[], None]) -> None:
        #: The version that the handshake agreed on; ``None`` before it.
        self.version: str | None = None
        self.capabilities: Mapping[str, Any] = {}
        self.info: Mapping[str, Any] = {}
        #: The least severe level of log messages that the client is sent; ``None`` for no messages.
        self.log_level: str | None = None
        #: The changes that are due to the client.
        self.feed = Feed((), wake)
        self._uris: dict[str, None] = {}

    def open(self, params: Mapping[str, Any], version: str, declared: Mapping[str, Any]) -> None:
        """Begin anew with a handshake.

        Args:
            params: The params of the ``initialize`` request.
            version: The version that is agreed on.
            declared: The capabilities that the server declares.
        """
        self.version = version
        self.capabilities = params.get("capabilities", {})
        self.info = params.get("clientInfo", {})
        self.log_level = DEFAULT_LEVEL
        self._uris = {}
        self.feed.wanted = frozenset(
            Change(LIST_CHANGED[name]) for name in LIST_CHANGED if declared.get(name, {}).get("listChanged")
        )

    def subscribe(self, uri: str) -> None:
        """Tell the client of changes of a resource from now on.

        Raises:
            InvalidParamsError: It subscribed to as much as is kept for it.
        """
        if uri in self._uris:
            return
        if len(self._uris) >= MAX_RESOURCE_SUBSCRIPTIONS:
            raise InvalidParamsError(f"A client subscribes to at most {MAX_RESOURCE_SUBSCRIPTIONS} resources")
        if sum(map(len, self._uris)) + len(uri) > MAX_SUBSCRIBED_CHARACTERS:
            raise InvalidParamsError(f"The subscribed URIs have at most {MAX_SUBSCRIBED_CHARACTERS} characters in all")
        self._uris[uri] = None
        self.feed.wanted |= {Change(RESOURCE_UPDATED, uri)}

    def unsubscribe(self, uri: str) -> None:
        """Stop that; a resource that the client is not subscribed to is no error."""
        self._uris.pop(uri, None)
        self.feed.wanted -= {Change(RESOURCE_UPDATED, uri)}
