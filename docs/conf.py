"""How the documentation is built: python -m sphinx -W docs docs/_build/html."""

from __future__ import annotations

import re
from pathlib import Path

_package = (Path(__file__).parent.parent / "mcp_wsgi" / "__init__.py").read_text(encoding="utf-8")
_found = re.search(r'^__version__ = "(.+)"$', _package, re.MULTILINE)
if _found is None:
    raise RuntimeError("mcp_wsgi/__init__.py has no __version__")

project = "mcp_wsgi"
author = "the authors of mcp_wsgi"
version = release = _found[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mcp_wsgi {release}"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
