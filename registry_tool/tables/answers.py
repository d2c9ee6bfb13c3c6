"""What lookups answer, and how the answers of two states of a registry differ.

An answer is what `registry_lookup` makes of details/<Kernel>.json as it stands in a state: there is
no second notion of one. A file that is the same in both states is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from registry_tool.registry_lookup import Lookup
from registry_tool.store.registry import Registry

Answer: TypeAlias = dict[str, Any]
"""The dict that a lookup returns; see `registry_lookup.Lookup.gemm_config`."""

Document: TypeAlias = dict[str, Any]
"""A parsed details/<Kernel>.json."""

_FOLDER = "details"
_SUFFIX = ".json"
_EVERY_TIER = ("high", "low", "any")


class Asked(NamedTuple):
    """A question about a shape: for the best of a tier, or for one method whatever its tier.

    The tier of a kernel without tiers is `any`, the method of one without methods `default`.
    """

    tier: str | None = None
    method: str | None = None

    def __str__(self) -> str:
        if self.method is not None:
            return f"method {self.method}"
        return "best" if self.tier == "any" else f"best of tier {self.tier}"


class AnswerChange(NamedTuple):
    """One question that two states answer differently; None is a lookup that raises an error.

    ``shape`` is dimension to size, in the kernel's order.
    """

    kernel: str
    target: str
    shape: dict[str, int]
    asked: Asked
    before: Answer | None
    after: Answer | None


def changes(before: Registry, after: Registry, target: str) -> list[AnswerChange]:
    """Every question about ``target`` that ``after`` answers otherwise than ``before``.

    In the order of the kernels' names, and then of the shapes in their files. A target that a
    state does not have, and a file that is not in the form of one, answer nothing.
    """
    return [
        change
        for kernel, was, now in _differing(_files(before, target), _files(after, target))
        for change in _of_documents(
            kernel, target, _read(before, was, target), _read(after, now, target)
        )
    ]


def default_changes(before: Registry, after: Registry) -> list[AnswerChange]:
    """The same for whoever names no target: each state then answers for its first one."""
    target = after.first_target
    pairs = _differing(_files(before, before.first_target), _files(after, target))
    return [
        change
        for kernel, was, now in pairs
        for change in _of_documents(
            kernel, target, _read(before, was, before.first_target), _read(after, now, target)
        )
    ]


def document_of(registry: Registry, target: str, kernel: str) -> Document | None:
    """The parsed JSON of a kernel on ``target`` as it stands there, None if none does."""
    found = _files(registry, target).get(kernel)
    return None if found is None else _read(registry, found[0], target)


def _files(registry: Registry, target: str) -> dict[str, tuple[str, str]]:
    """Kernel to path and blob id of its JSON file on ``target``; empty if it is no target."""
    if target not in registry.policy.targets:
        return {}
    folder = _FOLDER if target == registry.first_target else f"{_FOLDER}/{target}"
    found = {}
    for path, oid in registry.snapshot.oids.items():
        if path.startswith(_FOLDER) and path.endswith(_SUFFIX):
            where, _, name = path.rpartition("/")
            if where == folder:
                found[name.removesuffix(_SUFFIX)] = path, oid
    return found


def _differing(
    before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, str | None, str | None]]:
    """Kernel and the paths of its file in both states, where the content differs."""
    for kernel in sorted({*before, *after}):
        was, now = before.get(kernel), after.get(kernel)
        if was is None or now is None or was[1] != now[1]:
            yield kernel, was and was[0], now and now[0]


def _read(registry: Registry, path: str | None, target: str) -> Document | None:
    if path is None:
        return None
    try:
        document = msgspec.json.decode(registry.snapshot.read(path))
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("target", target) != target:
        return None
    return document


class Answers:
    """The answers of one document; none if it is not in the form of one."""

    def __init__(self, kernel: str, document: Document | None) -> None:
        self._kernel = kernel
        self._lookup: Lookup | None = None
        self.dims: list[str] = []
        self.shapes: dict[tuple[int, ...], Document] = {}
        self.head: Document = {}
        if document is None:
            return
        try:
            lookup = Lookup.of_documents({kernel: document})
        except ValueError:
            return
        # What a caller, or the environment, adds to the file's own policy is not the state's.
        lookup.policy = None
        page = lookup._pages[kernel]
        self._lookup, self.dims, self.shapes = lookup, page.dims, page.shapes
        self.head = {
            name: part for name, part in document.items() if name not in ("shapes", "_comment")
        }

    @property
    def is_sound(self) -> bool:
        """Whether the document is in the form of one, so that it can be asked."""
        return self._lookup is not None

    def questions(self, shape: tuple[int, ...]) -> list[Asked]:
        """What there is to ask about a shape."""
        entry = self.shapes.get(shape)
        if entry is None:
            return []
        methods = entry["methods"]
        tiers = {*(entry.get("best") or ()), *(one.get("tier", "any") for one in methods.values())}
        return [
            *(Asked(tier=tier) for tier in _EVERY_TIER if tier in tiers),
            *(Asked(method=name) for name in methods),
        ]

    def answer(self, shape: tuple[int, ...], asked: Asked) -> Answer | None:
        """What a lookup returns, None if it raises an error; ``shape`` in the order of `dims`."""
        if self._lookup is None:
            return None
        try:
            return self._lookup.kernel_config(self._kernel, shape, asked.method, asked.tier)
        except (KeyError, ValueError, TypeError, AttributeError):
            return None


def _of_documents(
    kernel: str, target: str, was: Document | None, now: Document | None
) -> Iterator[AnswerChange]:
    before, after = Answers(kernel, was), Answers(kernel, now)
    all_of_them = before.head != after.head
    for shape in dict.fromkeys([*after.shapes, *before.shapes]):
        if not all_of_them and before.shapes.get(shape) == after.shapes.get(shape):
            continue
        for asked in dict.fromkeys([*after.questions(shape), *before.questions(shape)]):
            old, new = before.answer(shape, asked), after.answer(shape, asked)
            if old != new:
                sizes = dict(zip(after.dims or before.dims, shape, strict=False))
                yield AnswerChange(kernel, target, sizes, asked, old, new)


def said(answer: Answer | None, other: Answer | None = None) -> str:
    """An answer in words; beside ``other`` only what it says differently."""
    if answer is None:
        return "an error"
    names: Sequence[str] = [
        name for name in answer if other is None or name not in other or other[name] != answer[name]
    ]
    return " ".join(f"{name}={_word(answer[name])}" for name in names) or "no more than that"


def _word(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}:{size}" for name, size in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return "×".join(map(str, value)) if isinstance(value, list) else ",".join(map(str, value))
    return "none" if value is None else str(value)
