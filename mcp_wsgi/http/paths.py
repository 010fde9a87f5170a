"""Where an endpoint is: both spellings of its path, never a redirect.

"The server MUST provide a single HTTP endpoint path" (2026-07-28, basic/transports/streamable-http). Clients do not
replay a POST to where a redirect points, so the spelling with a slash and the one without are the same endpoint.
"""

from __future__ import annotations

from ..exceptions import ConfigurationError

__all__ = ["EndpointPaths"]


class EndpointPaths:
    """Hold the path of an endpoint below its application's mount point.

    Raises:
        ConfigurationError: It does not begin with a slash.
    """

    __slots__ = ("_bare", "_below", "_exact")

    def __init__(self, path: object) -> None:
        if not isinstance(path, str) or not path.startswith("/"):
            raise ConfigurationError(f'path must begin with "/", not {path!r}')
        self._bare = path.rstrip("/")
        self._below = self._bare + "/"
        self._exact = frozenset({self._bare, self._below})

    @property
    def is_root(self) -> bool:
        """Whether the endpoint is the mount point itself."""
        return not self._bare

    def is_endpoint(self, path: str, *, mounted: bool) -> bool:
        """Say whether a path is the endpoint's; where it is mounted, the mount point is one too."""
        return path in self._exact or (mounted and path in ("", "/"))

    def contains(self, path: str) -> bool:
        """Say whether a path is the endpoint's or below it."""
        return path == self._bare or path.startswith(self._below)
