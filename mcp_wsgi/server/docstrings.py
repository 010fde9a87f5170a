"""Read a handler's docstring: what it does, and what each parameter means.

Google, NumPy, Sphinx and Epydoc styles are read by docstring_parser, which is imported only
when a docstring has a parameter section.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

__all__ = ["DocString", "parse_docstring"]

_GOOGLE = re.compile(
    r"^(?:args|arguments|params|parameters|keyword args|keyword arguments|other parameters):[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NUMPY = re.compile(r"^(?:other )?parameters[ \t]*\n-{3,}[ \t]*$", re.IGNORECASE | re.MULTILINE)
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\b[^:\n]*:", re.MULTILINE)
_EPYDOC = re.compile(r"^@(?:param|keyword)\b[^:\n]*:", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class DocString:
    """Hold a docstring's description and its parameter texts."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> DocString:
    """Split a docstring into its description and its parameter texts.

    The description is everything before the first parameter section. A docstring that no
    style explains is all description: nothing is ever raised.
    """
    if not text or not text.strip():
        return DocString()
    clean = inspect.cleandoc(text).strip()
    found = [
        (match.start(), style)
        for style, pattern in (
            ("GOOGLE", _GOOGLE),
            ("NUMPYDOC", _NUMPY),
            ("REST", _SPHINX),
            ("EPYDOC", _EPYDOC),
        )
        if (match := pattern.search(clean))
    ]
    if not found:
        return DocString(summary=clean)
    start, style = min(found)
    section = clean[start:]
    if style == "GOOGLE":
        section = _google_blocks(section)
    return DocString(summary=clean[:start].strip(), parameters=_parameters(section, style))


def _google_blocks(text: str) -> str:
    """Keep the indented blocks below the parameter headers, under the one header that is known."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if _GOOGLE.match(line):
            inside = True
        elif line.strip() and not line[0].isspace():
            inside = False
        elif inside and line.strip():
            kept.append(line)
    return "\n".join(["Args:", *kept])


def _parameters(section: str, style: str) -> dict[str, str]:
    import docstring_parser

    try:
        # A first line of its own keeps the library from dedenting the section below its header.
        parsed = docstring_parser.parse(f"-\n\n{section}", style=docstring_parser.DocstringStyle[style])
    except Exception:  # noqa: BLE001  a docstring is prose: whatever is odd in it, the tool still works
        return {}
    texts: dict[str, str] = {}
    for parameter in parsed.params:
        text = " ".join((parameter.description or "").split())
        for name in parameter.arg_name.split(","):
            if text and (key := name.strip().lstrip("*")):
                texts.setdefault(key, text)
    return texts
