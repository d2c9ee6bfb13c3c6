"""Why a registry JSON file was refused: line, JSON pointer and words; the slow path only.

jsonschema is the authority for the schema part; a position-keeping reader finds the lines.
"""

from __future__ import annotations

import contextlib
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


@dataclass(frozen=True)
class Problem:
    """One reason why a file was refused; ``line`` is 1-based, ``pointer`` an RFC 6901 pointer."""

    kind: ProblemKind
    message: str
    line: int
    pointer: str = ""


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
            return float(text) if re.search(r"[.eE]", text) else int(text)
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
            below = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
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
        rest = text[reader.at :].strip(" \t\r\n")
        if rest:
            raise _Unreadable(f"text after the end of the value: {rest[:20]!r}", reader.at)
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

    for error in Draft202012Validator(schema).iter_errors(value):
        inner = best_match([error]) or error
        parts = [str(part).replace("~", "~0").replace("/", "~1") for part in inner.absolute_path]
        pointer = "".join(f"/{part}" for part in parts)
        known = pointer
        while known and known not in reader.lines:
            known = known.rpartition("/")[0]
        message = inner.message if len(inner.message) < 300 else inner.message[:297] + "..."
        yield Problem("schema", message, reader.lines.get(known, 1), pointer)


def _formatting(data: bytes, type_: type[Part]) -> Iterator[Problem]:
    try:
        wanted = canonical.encode(canonical.decode_lenient(data, type_))
    except ValueError as error:
        yield Problem("schema", str(error), 1)
        return
    ours, theirs = wanted.split(b"\n"), data.split(b"\n")
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
        if a != b:
            found = b.decode(errors="replace")
            message = f"not in canonical form: expected {a.decode()!r}, found {found!r}"
            yield Problem("formatting", message, number)
            return
    yield Problem("formatting", "not in canonical form: line count differs", len(theirs))
