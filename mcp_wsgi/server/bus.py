"""Change notifications: from ``server.notify_*`` to every open ``subscriptions/listen``.

2026-07-28, basic/patterns/subscriptions. The bus is in this process; what is published while nobody listens is gone.
A subscription holds which changes are due, not how often they happened: a loop that adds a thousand tools makes one
notification, and memory stays bounded whatever a listener does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import InvalidParamsError
from ..protocol.jsonrpc import RequestId, notification
from ..protocol.meta import SERVER_INFO, SUBSCRIPTION_ID

if TYPE_CHECKING:
    from .context import Context

__all__ = [
    "LIST_CHANGED",
    "MAX_RESOURCE_SUBSCRIPTIONS",
    "MAX_SUBSCRIBED_CHARACTERS",
    "RESOURCE_UPDATED",
    "Bus",
    "Change",
    "Feed",
    "Subscription",
    "honoured_filter",
]

RESOURCE_UPDATED = "notifications/resources/updated"
#: The member of a subscription filter, the capability behind it, and the notification it asks for.
_LISTS: Mapping[str, tuple[str, str]] = {
    "toolsListChanged": ("tools", "notifications/tools/list_changed"),
    "promptsListChanged": ("prompts", "notifications/prompts/list_changed"),
    "resourcesListChanged": ("resources", "notifications/resources/list_changed"),
}
LIST_CHANGED: Mapping[str, str] = dict(_LISTS.values())

#: What one subscription may name; a client that wants more opens another one.
MAX_RESOURCE_SUBSCRIPTIONS = 1_000
#: The same in characters of all URIs: each one is matched with every template, and kept while the subscription is open.
MAX_SUBSCRIBED_CHARACTERS = 100_000


class Change(NamedTuple):
    """Name one change: the notification's method, and the resource's URI where it is about one."""

    method: str
    uri: str | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What its notification says."""
        return {} if self.uri is None else {"uri": self.uri}


def honoured_filter(context: Context) -> dict[str, Any]:
    """Read the filter of a ``subscriptions/listen`` request and keep what will be honoured.

    "Only includes notification types the server actually supports."

    Raises:
        InvalidParamsError: The filter is missing or ill-typed.
    """
    wanted = context.params.get("notifications")
    if type(wanted) is not dict:
        raise InvalidParamsError('"params.notifications" must be an object')
    honoured: dict[str, Any] = {}
    for member, (capability, _) in _LISTS.items():
        value = wanted.get(member)
        if value is not None and type(value) is not bool:
            raise InvalidParamsError(f'"params.notifications.{member}" must be true or false')
        if value and capability in context.server.declared:
            honoured[member] = True
    uris = wanted.get("resourceSubscriptions")
    if uris is not None:
        if type(uris) is not list or not all(type(uri) is str for uri in uris):
            raise InvalidParamsError('"params.notifications.resourceSubscriptions" must be an array of URIs')
        if len(uris) > MAX_RESOURCE_SUBSCRIPTIONS:
            raise InvalidParamsError(f"A subscription takes at most {MAX_RESOURCE_SUBSCRIPTIONS} resources")
        if sum(map(len, uris)) > MAX_SUBSCRIBED_CHARACTERS:
            raise InvalidParamsError(f"The URIs of a subscription have at most {MAX_SUBSCRIBED_CHARACTERS} characters")
        if "resources" in context.server.declared:
            known = [uri for uri in dict.fromkeys(uris) if context.server.find_resource(uri, context) is not None]
            honoured["resourceSubscriptions"] = known
    return honoured


class Feed:
    """Hold which changes are due to one listener.

    Args:
        wanted: The changes that it asked for.
        wake: Called, from any thread and without blocking, when something is due or the bus closes.
    """

    __slots__ = ("_due", "_wake", "closed", "wanted")

    def __init__(self, wanted: Iterable[Change], wake: Callable[[], None]) -> None:
        self.wanted = frozenset(wanted)
        self.closed = False
        self._wake = wake
        self._due: dict[Change, None] = {}

    def post(self, change: Change) -> None:
        """Note a change, if it was asked for."""
        if change in self.wanted and not self.closed:
            self._due[change] = None
            self._wake()

    def close(self) -> None:
        """End it: nothing more is due."""
        self.closed = True
        self._wake()

    @property
    def is_due(self) -> bool:
        """Whether there is something to send."""
        return bool(self._due)

    def take(self) -> list[Change]:
        """Take the changes that are due, each once, in the order in which they first came."""
        changes = []
        while self._due:
            change = next(iter(self._due))
            self._due.pop(change, None)
            changes.append(change)
        return changes


class Subscription(Feed):
    """Hold what is due to one ``subscriptions/listen`` request, and make its messages.

    Args:
        request_id: The id of the listen request; it tags every message.
        honoured: The filter that is honoured.
        wake: Called, from any thread and without blocking, when something is due or the bus closes.
    """

    __slots__ = ("honoured", "request_id")

    def __init__(self, request_id: RequestId, honoured: dict[str, Any], wake: Callable[[], None]) -> None:
        self.request_id = request_id
        self.honoured = honoured
        super().__init__(
            [Change(_LISTS[member][1]) for member in honoured if member in _LISTS]
            + [Change(RESOURCE_UPDATED, uri) for uri in honoured.get("resourceSubscriptions", ())],
            wake,
        )

    def drain(self) -> list[dict[str, Any]]:
        """Take the notifications that are due, each once, in the order of their first change."""
        return [self._tagged(change.method, change.params) for change in self.take()]

    def acknowledgement(self) -> dict[str, Any]:
        """Make the first message of the stream."""
        return self._tagged("notifications/subscriptions/acknowledged", {"notifications": self.honoured})

    def completion(self, info: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Make the last message of the stream: the result of the listen request."""
        meta: dict[str, Any] = {SUBSCRIPTION_ID: self.request_id}
        if info is not None:
            meta[SERVER_INFO] = info
        return {"jsonrpc": "2.0", "id": self.request_id, "result": {"resultType": "complete", "_meta": meta}}

    def _tagged(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return notification(method, {"_meta": {SUBSCRIPTION_ID: self.request_id}, **params})


class Bus:
    """Carry changes to the subscriptions of this process.

    It has no lock: a stream that is thrown away leaves from wherever the garbage collector runs, also from in here.
    """

    def __init__(self) -> None:
        self._subscriptions: dict[Feed, None] = {}

    def __len__(self) -> int:
        return len(self._subscriptions)

    def subscribe(self, subscription: Feed) -> None:
        """Begin to carry changes to a subscription."""
        self._subscriptions[subscription] = None

    def unsubscribe(self, subscription: Feed) -> None:
        """Stop; a subscription that is not there is no error."""
        self._subscriptions.pop(subscription, None)

    def publish(self, change: Change) -> None:
        """Tell every subscription that asked for it. It never blocks on a listener."""
        # Not tuple(): the garbage collector may run while it grows, and end a stream that was thrown away.
        for subscription in self._subscriptions.copy():
            subscription.post(change)

    def close(self) -> None:
        """End all subscriptions of this process with their completion results."""
        for subscription in self._subscriptions.copy():
            subscription.close()
