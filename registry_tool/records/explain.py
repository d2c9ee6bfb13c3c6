"""Why a registry JSON file was refused: line, JSON pointer and words; the slow path only.

jsonschema is the authority for the schema part; a position-keeping reader finds the lines.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from registry_tool.records import canonical
from registry_tool.records.fields import Part

ProblemKind = Literal["conflict", "unreadable", "duplicate", "not-finite", "schema", "formatting"]

_CONFLICT = re.compile(rb"^(<{7} |={7}$|>{7} |\|{7} )", re.M)
_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<punct>[{}\[\],:])|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.+-])"
    r"|(?P<word>true|false|null|NaN|-?Infinity)(?!\w))"
)


# Python refuses to read integers beyond 4300 digits.
_LONGEST_NUMBER = 4000


@dataclass(frozen=True)
class Problem:
    """One reason why a file was refused; ``line`` is 1-based, ``pointer`` an RFC 6901 pointer."""

    kind: ProblemKind
    message: str
    line: int
    pointer: str = ""


def _escaped(key: str) -> str:
    """``key`` as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


class _Unreadable(Exception):
    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class _Reader:
    """Reads JSON text once, keeping the line of every value and the oddities on the way."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []

    def line(self, offset: int | None = None) -> int:
        return self.text.count("\n", 0, self.at if offset is None else offset) + 1

    def token(self) -> tuple[str, str, int]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            rest = self.text[self.at :].lstrip(" \t\r\n")
            what = repr(rest[:20]) if rest else "the end of the file"
            raise _Unreadable(f"expected a JSON value, found {what}", len(self.text) - len(rest))
        self.at = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind], match.start(kind)

    def expect(self, wanted: str) -> str:
        _, text, start = self.token()
        if text not in wanted.split():
            raise _Unreadable(f"expected {' or '.join(wanted.split())}, found {text[:20]!r}", start)
        return text

    def value(self, pointer: str) -> object:
        kind, text, start = self.token()
        self.lines[pointer] = self.line(start)
        if kind == "string":
            return msgspec.json.decode(text)
        if kind == "number":
            if len(text) > _LONGEST_NUMBER:
                raise _Unreadable(f"a number of {len(text)} digits", start)
            number = float(text) if re.search(r"[.eE]", text) else int(text)
            if isinstance(number, float) and math.isinf(number):
                self.problems.append(
                    Problem("not-finite", f"{text} is too large", self.line(start), pointer)
                )
            return number
        if kind == "word":
            if text in ("true", "false", "null"):
                return {"true": True, "false": False, "null": None}[text]
            self.problems.append(
                Problem("not-finite", f"{text} is never written", self.line(start), pointer)
            )
            return None
        if text == "{":
            return self.members(pointer)
        if text == "[":
            return self.items(pointer)
        raise _Unreadable(f"expected a JSON value, found {text!r}", start)

    def peek(self, text: str) -> bool:
        match = _TOKEN.match(self.text, self.at)
        if match is not None and match["punct"] == text:
            self.at = match.end()
            return True
        return False

    def members(self, pointer: str) -> dict[str, object]:
        found: dict[str, object] = {}
        if self.peek("}"):
            return found
        while True:
            kind, text, start = self.token()
            if kind != "string":
                raise _Unreadable(f"expected a key in quotes, found {text[:20]!r}", start)
            key = msgspec.json.decode(text, type=str)
            below = f"{pointer}/{_escaped(key)}"
            if key in found:
                self.problems.append(
                    Problem("duplicate", f"the key {key!r} stands twice", self.line(start), below)
                )
            self.expect(":")
            found[key] = self.value(below)
            if self.expect(", }") == "}":
                return found

    def items(self, pointer: str) -> list[object]:
        found: list[object] = []
        if self.peek("]"):
            return found
        while True:
            found.append(self.value(f"{pointer}/{len(found)}"))
            if self.expect(", ]") == "]":
                return found


def line_of(data: bytes, pointer: str) -> int:
    """The 1-based line at which ``pointer`` (or its nearest parent) stands in JSON ``data``."""
    reader = _Reader(data.decode("utf-8", "replace"))
    with contextlib.suppress(_Unreadable, msgspec.DecodeError, RecursionError):
        reader.value("")
    while pointer and pointer not in reader.lines:
        pointer = pointer.rpartition("/")[0]
    return reader.lines.get(pointer, 1)


def explain(data: bytes, type_: type[Part], schema: dict[str, object]) -> list[Problem]:
    """Every reason why ``data`` is not a canonical ``type_``; empty if it is one.

    ``schema`` is the JSON Schema of ``type_`` (see `records.schema`).
    """
    try:
        canonical.decode(data, type_)
        return []
    except (ValueError, RecursionError):
        pass
    return list(_reasons(data, type_, schema)) or [
        Problem("unreadable", "not a file of this kind", 1)
    ]


def _reasons(data: bytes, type_: type[Part], schema: dict[str, object]) -> Iterator[Problem]:
    conflict = _CONFLICT.search(data)
    if conflict is not None:
        yield Problem(
            "conflict",
            f"a conflict marker ({conflict[0].decode().strip()}) was left in the file",
            data.count(b"\n", 0, conflict.start()) + 1,
        )
        return
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield Problem("unreadable", f"not UTF-8: byte 0x{data[error.start]:02x}", line)
        return
    if text.startswith("\ufeff"):
        yield Problem("formatting", "the file starts with a byte order mark", 1)
        text = text[1:]
    reader = _Reader(text)
    try:
        value = reader.value("")
        rest = text[reader.at :].lstrip(" \t\r\n")
        if rest:
            offset = len(text) - len(rest)
            raise _Unreadable(f"text after the end of the value: {rest[:20]!r}", offset)
    except _Unreadable as error:
        yield Problem("unreadable", f"not JSON: {error}", reader.line(error.offset))
        return
    except (msgspec.DecodeError, RecursionError) as error:
        yield Problem("unreadable", f"not JSON: {error}", reader.line())
        return
    yield from reader.problems
    broken = list(_schema_problems(value, schema, reader))
    yield from broken
    if broken or reader.problems:
        return
    yield from _formatting(data, type_)


def _schema_problems(
    value: object, schema: dict[str, object], reader: _Reader
) -> Iterator[Problem]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    # JSON Schema takes 2048.0 for an integer; the registry writes integers as such.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    validator = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    for error in validator(schema).iter_errors(value):
        inner = best_match([error]) or error
        pointer = "".join(f"/{_escaped(str(part))}" for part in inner.absolute_path)
        message = inner.message if len(inner.message) < 300 else inner.message[:297] + "..."
        if inner.validator == "additionalProperties":
            # At the stray keys themselves, not at the object that holds them.
            for key in sorted(inner.instance.keys() - inner.schema.get("properties", {}).keys()):
                below = f"{pointer}/{_escaped(key)}"
                yield Problem("schema", f"unknown key {key!r}", reader.lines.get(below, 1), below)
            continue
        known = pointer
        while known and known not in reader.lines:
            known = known.rpartition("/")[0]
        yield Problem("schema", message, reader.lines.get(known, 1), pointer)


def _is_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _formatting(data: bytes, type_: type[Part]) -> Iterator[Problem]:
    try:
        wanted = canonical.encode(canonical.decode_lenient(data, type_))
    except ValueError as error:
        yield Problem("schema", str(error), 1)
        return
    ours, theirs = wanted.split(b"\n"), data.removeprefix(canonical.BYTE_ORDER_MARK).split(b"\n")
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
        if a != b:
            found = b.decode(errors="replace")
            message = f"not in canonical form: expected {a.decode()!r}, found {found!r}"
            yield Problem("formatting", message, number)
            return
    if len(ours) != len(theirs):
        yield Problem("formatting", "not in canonical form: line count differs", len(theirs))
