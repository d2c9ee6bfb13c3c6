"""The JSON files of an existing registry: one entry per shape, one claim per method.

Every key is read or refused: an unknown one is an error with its line, never dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from registry_tool.adoption.claims import INHERITED
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Claim, Entry, Field, Quantity, Remark
from registry_tool.adoption.pages import decoded
from registry_tool.errors import InputError
from registry_tool.records.kernel import check_shape

# What this tool's own files hold beside the upstream form is known as well.
_OWN_TOP = {"metric", "dims", "variants", "lookup"}
_TOP = {"_comment", "kernel", "output_dtype", "target", "measured", "herd", "shapes", *_OWN_TOP}
_ENTRY = {"used_by", "methods", "best", "_note"}
_OWN_METHOD = {"verified", "source", "caveats"}
_METHOD = {"tile", "tier", "herd", "_note", *_OWN_METHOD}
_ANY = "any"
_LARGEST = 10**10
_LARGEST_FIGURE = 1e99
_FIELDS: dict[str, Field] = {
    "gflops": "gflops",
    "gbps": "gbps",
    "bandwidth_gbps": "gbps",
    "latency_us": "latency_us",
    "mean_rel_L1": "mean_rel_L1",
    "max_abs": "max_abs",
    "abs_err_max": "max_abs",
    "max_rel": "max_rel",
    "rel_err_max": "max_rel",
    "correlation": "correlation",
}
_TOKEN = re.compile(
    r'\s*(?:([{}\[\],:])|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*|true|false|null|NaN|-?Infinity))'
)


@dataclass(frozen=True)
class Document:
    """A JSON file: its value, the line of every value by path, and numbers as written."""

    name: str
    path: Path
    value: dict[str, Any]
    lines: Mapping[tuple[str | int, ...], int]
    written: Mapping[tuple[str | int, ...], str]

    def error(self, message: str, at: tuple[str | int, ...], fix: str | None = None) -> InputError:
        """What is wrong at a path of the file."""
        while at and at not in self.lines:
            at = at[:-1]
        return InputError(message, path=self.path, line=self.lines.get(at, 1), fix=fix)


def load(name: str, path: Path, data: bytes) -> Document:
    """The JSON document in ``data``; raises InputError with the line of what is no JSON."""
    text = decoded(path, data)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        is_open = error.msg.startswith("Unterminated string") and '"' not in text[error.pos + 1 :]
        is_cut = is_open or error.pos >= len(text.rstrip())
        message = "the file breaks off: it is truncated" if is_cut else f"not JSON: {error.msg}"
        raise InputError(
            message, path=path, line=error.lineno, fix="fetch the whole file again, or repair it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path=path, line=1, fix="repair the file") from None
    if not isinstance(value, dict):
        raise InputError("expected an object", path=path, line=1, fix="repair the file")
    found = _positions(text)
    if found.twice is not None:
        key, line = found.twice
        raise InputError(
            f"the key {key!r} stands twice in one object",
            path=path,
            line=line,
            fix="take one of them out",
        )
    if found.odd is not None:
        word, line = found.odd
        raise InputError(
            f"not JSON: {word} is no number that a registry may hold",
            path=path,
            line=line,
            fix="write a number, or null",
        )
    return Document(name, path, value, found.lines, found.written)


class _Positions(NamedTuple):
    """Path to line of every value, path to text of every number.

    ``twice`` is the first key that its object has already, ``odd`` the first number that JSON does
    not have, each with its line.
    """

    lines: dict[tuple[str | int, ...], int]
    written: dict[tuple[str | int, ...], str]
    twice: tuple[str, int] | None
    odd: tuple[str, int] | None


def _positions(text: str) -> _Positions:
    """What stands where in JSON as Python reads it (with NaN and Infinity)."""
    twice: tuple[str, int] | None = None
    odd: tuple[str, int] | None = None
    lines: dict[tuple[str | int, ...], int] = {}
    written: dict[tuple[str | int, ...], str] = {}
    stack: list[tuple[str, str | int]] = []
    key: str | None = None
    line, at = 1, 0
    while (match := _TOKEN.match(text, at)) is not None:
        start = match.start(match.lastindex or 0)
        line += text.count("\n", at, start)
        mark, string, other = match.groups()
        at = match.end()
        path = tuple(name for _, name in stack)
        if mark in ("}", "]"):
            stack.pop()
            continue
        if mark == ",":
            if stack[-1][0] == "[":
                stack[-1] = ("[", int(stack[-1][1]) + 1)
            continue
        if mark == ":":
            stack[-1] = ("{", key or "")
            here = tuple(name for _, name in stack)
            if here in lines and twice is None:
                twice = key or "", line
            lines[here] = line
            continue
        if string is not None:
            after = _TOKEN.match(text, at)
            if stack and stack[-1][0] == "{" and after is not None and after[1] == ":":
                key = json.loads(string)
                continue
        lines.setdefault(path, line)
        if mark:
            stack.append((mark, 0 if mark == "[" else ""))
        elif other is not None:
            written[path] = other
            if other.endswith(("NaN", "Infinity")) and odd is None:
                odd = other, line
    return _Positions(lines, written, twice, odd)


def read(document: Document, words: Words) -> Iterator[Claim | Entry | Remark]:
    """Entries, claims and the file's own comment; raises InputError for what has no place."""
    top = document.value
    _check_keys(document, top, _TOP, ())
    kernel = words.spec.kernel
    for key in ("_comment", "measured"):
        if key in top:
            line = document.lines[(key,)]
            yield Remark(document.name, line, kernel, f"{key.strip('_')}: {_text(top[key])}")
    default = _herd(document, top.get("herd"), ("herd",), words)
    shapes = top.get("shapes")
    if not isinstance(shapes, list):
        raise document.error("expected a list `shapes`", (), "repair the file")
    seen: dict[tuple[int, ...], int] = {}
    for index, value in enumerate(shapes):
        yield from _entry(document, words, index, value, default, seen)


def _entry(
    document: Document,
    words: Words,
    index: int,
    value: Any,
    default: tuple[int, ...] | None,
    seen: dict[tuple[int, ...], int],
) -> Iterator[Claim | Entry]:
    spec = words.spec
    at: tuple[str | int, ...] = ("shapes", index)
    if not isinstance(value, dict):
        raise document.error("expected an object per shape", at, "repair the file")
    _check_keys(document, value, {*spec.dims, *_ENTRY}, at)
    sizes = {dim: value[dim] for dim in spec.dims if dim in value}
    wrong = [dim for dim in sizes if type(sizes[dim]) not in (int, bool) or sizes[dim] > _LARGEST]
    problem = f"{wrong[0]} is no whole number" if wrong else check_shape(spec, sizes)
    if problem:
        raise document.error(f"the entry gives no shape: {problem}", at, "complete the entry")
    shape = {dim: int(size) for dim, size in sizes.items()}
    line = document.lines[at]
    key = tuple(shape.values())
    if key in seen:
        raise document.error(
            f"the shape {'×'.join(map(str, key))} stands twice (first at line {seen[key]})",
            at,
            "take one of the entries out",
        )
    seen[key] = line
    methods = value.get("methods")
    if not isinstance(methods, dict):
        raise document.error("expected an object `methods`", at, "complete the entry")
    best = _best(document, words, value.get("best"), (*at, "best"))
    note = _text(value.get("_note", ""))
    used_by = _text(value.get("used_by", ""))
    lines = {
        "/".join(map(str, path[2:])): number
        for path, number in document.lines.items()
        if path[:2] == at and 2 < len(path) <= 4
    }
    yield Entry(document.name, line, spec.kernel, shape, best, used_by, note, lines)
    for name, method in methods.items():
        where = (*at, "methods", name)
        if name not in spec.variants and (spec.variants or name != "default"):
            known = ", ".join(spec.variants) or "default"
            raise document.error(
                f"{name!r} is no method of {spec.kernel}", where, f"write one of {known}"
            )
        if not isinstance(method, dict):
            raise document.error("expected an object per method", where, "repair the file")
        variant = name if spec.variants else None
        claim = _claim(document, words, where, method, default, shape, variant)
        yield _with_words(claim, used_by, note, list(best.values()) == [name])


def _claim(
    document: Document,
    words: Words,
    at: tuple[str | int, ...],
    method: Mapping[str, Any],
    default: tuple[int, ...] | None,
    shape: dict[str, int],
    variant: str | None,
) -> Claim:
    spec = words.spec
    given = {key: role for key, role in words.given.items() if key in method}
    _check_keys(document, method, _METHOD | set(_FIELDS) | set(given), at)
    own = _herd(document, method.get("herd"), (*at, "herd"), words)
    tier = method.get("tier")
    if tier is not None and tier not in (words.tiers or (_ANY,)):
        raise document.error(f"{tier!r} is no precision tier", (*at, "tier"), "write high or low")
    quantities = []
    cells = {}
    for key, value in method.items():
        cells[key] = _text(value)
        name = _FIELDS.get(given.get(key, key))
        if name is not None and value is not None:
            quantities.append(_quantity(document, (*at, key), name, value))
    notes = tuple(
        (key, _text(method[key]))
        for key in method
        if method[key] and (key == "_note" or given.get(key) == "notes")
    )
    return Claim(
        place="json",
        file=document.name,
        line=document.lines[at],
        kernel=spec.kernel,
        shape=shape,
        variant=variant,
        tile=_tile(document, method.get("tile"), (*at, "tile"), words),
        herd=own or default,
        herd_is_default=own is None,
        quantities=tuple(quantities),
        notes=notes,
        tier=None if tier == _ANY else tier,
        cells=cells,
    )


def _with_words(claim: Claim, used_by: str, note: str, is_only: bool) -> Claim:
    notes = (*claim.notes, *((("_note", note),) if note else ()))
    said = " ".join(text for _, text in notes)
    return replace(
        claim,
        used_by=used_by,
        notes=notes,
        bold=is_only,
        inherited=INHERITED.search(said) is not None,
    )


def _quantity(document: Document, at: tuple[str | int, ...], name: Field, value: Any) -> Quantity:
    key = str(at[-1])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _LARGEST_FIGURE:
        raise document.error(f"{key} is no number", at, "write a number, or null")
    written = document.written[at]
    mantissa, _, exponent = written.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return Quantity(
        field=name,
        written=written,
        low=float(value),
        high=float(value),
        half=0.0 if not value else 0.5 * 10.0 ** (int(exponent or 0) - decimals),
        column=key,
        line=document.lines[at],
    )


def _tile(
    document: Document, value: Any, at: tuple[str | int, ...], words: Words
) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error("expected an object of tile sizes", at, "repair the entry")
    found = {}
    for name, size in value.items():
        resolved = words.resolve(name)
        if resolved is None or resolved[0] != "tile" or not _is_count(size):
            known = ", ".join(words.spec.tile)
            raise document.error(
                f"{name!r}: {size!r} is no tile size of {words.spec.kernel}",
                (*at, name),
                f"write {known} as whole numbers",
            )
        found[resolved[1]] = size
    return {knob: found[knob] for knob in words.spec.tile if knob in found}


def _is_count(size: Any) -> bool:
    return type(size) is int and 0 < size <= _LARGEST


def _herd(
    document: Document, value: Any, at: tuple[str | int, ...], words: Words
) -> tuple[int, ...] | None:
    if value is None:
        return None
    axes = list(words.spec.herd)
    fits = isinstance(value, list) and len(value) == len(axes)
    if not fits or not all(map(_is_count, value)):
        raise document.error(
            f"{value!r} is no herd of {words.spec.kernel}", at, f"write [{', '.join(axes)}]"
        )
    return tuple(value)


def _best(
    document: Document, words: Words, value: Any, at: tuple[str | int, ...]
) -> dict[str, str]:
    if value is None:
        return {}
    fits = isinstance(value, dict) and all(isinstance(name, str) for name in value.values())
    tiers = words.tiers or (_ANY,)
    if not fits or not set(value) <= set(tiers):
        raise document.error(
            "expected `best` as precision tier to method", at, f"tiers are {', '.join(tiers)}"
        )
    return dict(value)


def _check_keys(
    document: Document, value: Mapping[str, Any], known: set[str], at: tuple[str | int, ...]
) -> None:
    for key in value:
        if key not in known:
            raise document.error(
                f"the key {key!r} is not known here",
                (*at, key),
                f"known are {', '.join(sorted(known))}; put other words into _note (or say "
                f"--column {key}=notes for one of a method)",
            )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
