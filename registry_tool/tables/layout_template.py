"""Cell templates of a layout, Markdown with `{field:format}` in it; fields are not its affair."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from registry_tool.errors import RegistryError

_TOKEN = re.compile(r"(\{\{|\}\})|\{([^{}:]+)(?::([^{}]*))?\}|([{}])")


@dataclass(frozen=True)
class Place:
    """One `{subject.name:form}`; ``subject`` is None for the line's own row."""

    subject: str | None
    name: str
    form: str | None


Part = str | Place


@lru_cache(maxsize=4096)
def parse(template: str) -> tuple[Part, ...]:
    """Text and places of a template, in order; raises RegistryError for a stray brace."""
    parts: list[Part] = []
    at = 0
    for match in _TOKEN.finditer(template):
        if match[4]:
            raise RegistryError(
                f"a stray {match[4]!r} in the cell template {template!r} of a layout",
                fix="double a brace that is text: {{ or }}",
            )
        _text(parts, template[at : match.start()])
        if match[1]:
            _text(parts, match[1][0])
        else:
            subject, dot, name = match[2].rpartition(".")
            # A dot in a number is not that of a subject.
            known = bool(dot) and subject[:1].isalpha() and name[:1].isalpha()
            parts.append(Place(subject if known else None, name if known else match[2], match[3]))
        at = match.end()
    _text(parts, template[at:])
    return tuple(parts)


def _text(parts: list[Part], text: str) -> None:
    if text and parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def literal(text: str) -> str:
    """``text`` as the part of a template that stands for itself."""
    return text.replace("{", "{{").replace("}", "}}")


def place(name: str, form: str | None = None, subject: str | None = None) -> str:
    """The template of one place."""
    full = f"{subject}.{name}" if subject else name
    return f"{{{full}:{form}}}" if form else f"{{{full}}}"


def places(template: str) -> list[Place]:
    """The places of a template, in order."""
    return [part for part in parse(template) if isinstance(part, Place)]
