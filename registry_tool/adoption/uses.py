"""Who relies on a row, out of the free text of a cell: models and call sites, and what is left."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from registry_tool.records.record import Use
from registry_tool.records.spec import KernelSpec

# `Qwen2.5-0.5B`, `llama-3.2-1B`, `SmolLM2-360M`: a name that ends in a size.
_SIZED = r"[A-Za-z][\w.]*(?:-[\w.]+)*-\d+(?:\.\d+)?[BM]"
# `SmolVLA`: capitals inside a word, unless it is the name of an operation.
_CAMEL = r"[A-Z][a-z]+[A-Z]{2,}\w*"
_CUT = re.compile(r"\s+[-\u2013\u2014]{1,2}\s+|[;,:]\s+|\.\s+|\s+\(")
_TAIL = re.compile(r"[\s.,;:]+$")
_WORDS = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class Credits:
    """What a text says about call sites; ``notes`` hold every word that is in no use."""

    uses: tuple[Use, ...]
    notes: tuple[str, ...]


class Reader:
    """Knows which words are operations, from the specs, and so which may be models."""

    def __init__(self, specs: Mapping[str, KernelSpec]) -> None:
        said = " ".join(f"{one.kernel} {one.title} {one.summary}" for one in specs.values())
        self._operations = {word.lower() for word in _WORDS.findall(said)}
        self._model = re.compile(rf"(?:{_SIZED}|{_CAMEL})(?![\w-])")

    def _starts(self, text: str) -> re.Match[str] | None:
        match = self._model.match(text)
        if match is None or match[0].lower() in self._operations:
            return None
        return match

    def read(self, text: str) -> Credits:
        """The uses in ``text``: ``A + B site`` credits both models with the site."""
        uses: list[Use] = []
        notes: list[str] = []
        waiting: list[str] = []
        for part in self._parts(" ".join(text.split())):
            match = self._starts(part)
            if match is None:
                notes.append(part)
                continue
            model, rest = match[0], part[match.end() :].strip()
            if not rest:
                waiting.append(model)
                continue
            cut = _CUT.search(f" {rest}")
            site = _TAIL.sub("", rest if cut is None else rest[: max(0, cut.start() - 1)])
            if site != rest:
                notes.append(part)
            if not site:
                site = "not said"
            uses += [Use(model=one, site=site[:1000]) for one in (*waiting, model)]
            waiting = []
        uses += [Use(model=one, site="not said") for one in waiting]
        return Credits(tuple(dict.fromkeys(uses)), tuple(notes))

    def _parts(self, text: str) -> Iterable[str]:
        """``text`` divided where another model begins: after ``+``, ``/`` or ``;``."""
        start = 0
        for match in re.finditer(r"\s+[+/&]\s+|;\s+|,\s+", text):
            if self._starts(text[match.end() :]) is not None:
                yield text[start : match.start()].strip()
                start = match.end()
        yield text[start:].strip()


def merged(found: Iterable[Use]) -> tuple[list[Use], list[str]]:
    """Each use once; one that only says more about a site that is known becomes a note."""
    kept: list[Use] = []
    notes = []
    for use in found:
        before = next((one for one in kept if _is_same(one, use)), None)
        if before is None:
            kept.append(use)
        elif before != use:
            notes.append(f"{use.model} {use.site}")
    return kept, notes


def _is_same(one: Use, other: Use) -> bool:
    """Whether two wordings are of one site: all words of one are in the other.

    A letter more makes another site: ``Q proj`` and ``Q/O proj``.
    """
    if one.model.casefold() != other.model.casefold():
        return False
    few, many = sorted((_tokens(one.site), _tokens(other.site)), key=len)
    more = many - few
    return few <= many and (not more or any(len(word) > 1 for word in more))


def _tokens(site: str) -> set[str]:
    plain = unicodedata.normalize("NFKC", site).casefold().replace("^", "")
    return set(re.findall(r"[a-z0-9]+", plain))
