"""The file of allowed signers, in ssh-keygen's own form (ALLOWED SIGNERS in ssh-keygen(1)).

Times without a `Z` are taken as UTC, whatever the machine: a gate must say the same everywhere.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from registry_tool.signing import keys
from registry_tool.signing.patterns import matches_list
from registry_tool.signing.wire import WireError

_TIMES = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:[^"\\]|\\.)*)")?(?:,|$)')
_QUOTED = re.compile(r'"([^"]*)"\s+(.*)', re.S)
# As far as the first space that is in no quotes.
_OPTIONS = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^"\s])+)\s+(.*)', re.S)


class Entry(NamedTuple):
    """One line: whose key it is, for what, and from when to when (seconds since 1970, or None)."""

    line: int
    principals: str
    key: bytes
    is_authority: bool = False
    namespaces: str | None = None
    valid_after: int | None = None
    valid_before: int | None = None

    @property
    def names(self) -> list[str]:
        """The principals one by one; those that the line itself excludes (`!`) are left out."""
        said = [name for name in self.principals.split(",") if name and not name.startswith("!")]
        return [name for name in said if matches_list(name, self.principals)]

    def is_for(self, namespace: str) -> bool:
        """Whether the key may sign in ``namespace``."""
        return self.namespaces is None or matches_list(namespace, self.namespaces)


class BadLine(NamedTuple):
    """A line that cannot be read, and why."""

    line: int
    message: str


def parse(data: bytes) -> tuple[list[Entry], list[BadLine]]:
    """The entries of an allowed signers file, and its lines that are none."""
    entries, bad = [], []
    for number, text in _lines(data):
        try:
            entries.append(_entry(number, text))
        except WireError as error:
            bad.append(BadLine(number, str(error)))
    return entries, bad


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").strip()
        if text and not text.startswith("#"):
            yield number, text


def _entry(number: int, text: str) -> Entry:
    quoted = _QUOTED.fullmatch(text)
    principals, _, rest = text.partition(" ") if quoted is None else (quoted[1], "", quoted[2])
    principals, tab, more = principals.partition("\t")
    rest = (f"{more} {rest}" if tab else rest).lstrip()
    if not principals or not rest:
        raise WireError("expected PRINCIPALS [OPTIONS] KEY-TYPE KEY")
    options: Mapping[str, str | None] = {}
    if not keys.is_type(rest):
        match = _OPTIONS.fullmatch(rest)
        if match is None:
            raise WireError("expected a public key after the principals")
        options, rest = _options(match[1]), match[2]
    after, before = _moment(options, "valid-after"), _moment(options, "valid-before")
    if after is not None and before is not None and before <= after:
        raise WireError("the key is valid at no time: valid-before is not after valid-after")
    return Entry(
        number,
        principals,
        keys.parse(rest),
        "cert-authority" in options,
        options.get("namespaces"),
        after,
        before,
    )


def _options(text: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        match = _OPTION.match(text, at)
        if match is None:
            raise WireError(f"the options {text!r} cannot be read; values stand in quotes")
        name, value = match[1].lower(), match[2]
        takes_value = name in ("namespaces", "valid-after", "valid-before")
        if not takes_value and name != "cert-authority":
            raise WireError(f"the option {name!r} is not known")
        if takes_value != (value is not None):
            raise WireError(f"the option {name} takes {'a' if takes_value else 'no'} value")
        if name in found:
            raise WireError(f"the option {name} is given twice")
        found[name] = value
        at = match.end()
    return found


def _moment(options: Mapping[str, str | None], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    digits = text.removesuffix("Z")
    form = _TIMES.get(len(digits))
    if form is None or not (digits.isascii() and digits.isdigit()):
        raise WireError(f"{name} is {text!r}; expected YYYYMMDD[HHMM[SS]][Z], in UTC")
    try:
        return calendar.timegm(time.strptime(digits, form))
    except ValueError:
        raise WireError(f"{name} is {text!r}, which is no time") from None
