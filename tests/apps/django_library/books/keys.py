"""Keys in place of passwords: ``Authorization: Bearer KEY``."""

from __future__ import annotations

import hashlib

from mcp_wsgi.http.messages import HTTPRequest

from .models import Key


def digest_of(key: str) -> str:
    """Digest a key as it is stored."""
    return hashlib.sha256(key.encode()).hexdigest()


def api_key(request: HTTPRequest) -> str | None:
    """Find whose key a request carries, and let tools find the user where Django's middleware puts one."""
    scheme, _, key = "".join(request.get_all("Authorization")).partition(" ")
    if scheme.lower() != "bearer":
        return None
    found = Key.objects.select_related("user").filter(digest=digest_of(key), user__is_active=True).first()
    if found is None:
        return None
    request.raw.user = found.user
    return found.user.get_username()
