"""Serve MCP on the standard streams of a process, as clients start it: both eras, in any order.

``python -m shop`` with these lines in ``shop.py`` is such a server::

    if __name__ == "__main__":
        serve_stdio(server)
"""

from __future__ import annotations

from .serving import serve_stdio

__all__ = ["serve_stdio"]
