"""Who is credited in a line that a person wrote: `A + B site` are two models at one site."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from registry_tool.absorb.identity import UnclearError
from registry_tool.absorb.wording import Change, pairs
from registry_tool.adoption.uses import Reader
from registry_tool.records.record import Use

_BETWEEN = re.compile(r"\s+[+/&]\s+|[;,]\s+")
_JOINED = re.compile(r"(?:^|\s)[+&](?:\s|$)")
_LEFT_OVER = re.compile(r"^[+/&,;]")
_NOT_SAID = "not said"


@dataclass(frozen=True)
class Names:
    """The names of models: those that are ``known``, and what ``reader`` takes for one."""

    known: Collection[str]
    reader: Reader

    def at(self, text: str) -> str | None:
        """The model that ``text`` begins with; None if it begins with other words."""
        for name in sorted(self.known, key=len, reverse=True):
            if text.startswith(name) and (len(text) == len(name) or text[len(name)].isspace()):
                return name
        word = text.split(None, 1)[0] if text else ""
        # The reader takes a word for a model only at the beginning of a credit.
        found = self.reader.read(f"{word} site").uses if word else ()
        return word if found and found[0].model == word else None


def read(line: str, names: Names) -> list[Use]:
    """The call sites of one line, `MODEL SITE`, `MODEL + MODEL SITE` or several of these.

    The first word is a model whether it is known or not. Raises UnclearError for a model without a
    site.
    """
    uses: list[Use] = []
    waiting: list[str] = []
    for part in _parts(line, names):
        model = names.at(part) or part.partition(" ")[0]
        site = part[len(model) :].strip()
        if _LEFT_OVER.match(model) or _LEFT_OVER.match(site):
            raise UnclearError(f"{line!r} does not say whose call site it is: write MODEL SITE")
        if site:
            uses += [Use(model=one, site=site) for one in (*waiting, model)]
            waiting = []
        else:
            waiting.append(model)
    if waiting:
        raise UnclearError(f"{line!r} names no call site; each line is MODEL SITE")
    return list(dict.fromkeys(uses))


def _parts(line: str, names: Names) -> Iterator[str]:
    """A line divided where another model begins; a name without a site ends at what follows."""
    start = 0
    for match in _BETWEEN.finditer(line):
        before, after = line[start : match.start()].strip(), line[match.end() :]
        alone = before == names.at(before) or (bool(before) and not re.search(r"\s", before))
        # A comma after a word does not make a name of it, as it does after a known one.
        joins = match[0].strip() in "+/&"
        if (alone and joins) or names.at(after) is not None:
            yield before
            start = match.end()
    yield line[start:].strip()


def change(before: str, after: str, words: Sequence[str], reader: Reader) -> Change | None:
    """What became of a row's ``words`` where a cell credited ``before`` and credits ``after``.

    None where the texts do not credit their call sites as an import reads them, so that only their
    wording can be compared. Raises UnclearError for a model without a site.
    """
    said = reader.read(before)
    was = [f"{use.model} {use.site}" for use in said.uses]
    # Words that credit nobody, as `coverage (K=8192)`, are no model because one joins them.
    stays = bool(said.notes) and set(said.notes) <= set(reader.read(after).notes)
    if (not was and not stays) or not set(was) <= set(words):
        return None
    now = [f"{use.model} {use.site}" for use in reader.read(after).uses]
    if not now and after.strip():
        return None  # words that credit nobody are no reason to take a credit away
    found = [use for use in reader.read(after).uses if f"{use.model} {use.site}" not in was]
    if any(_JOINED.search(use.site) for use in found):
        return None  # the name of a model that the reader does not know stands in it
    bare = next((use for use in found if use.site == _NOT_SAID), None)
    if bare is not None:
        raise UnclearError(f"{bare.model!r} names no call site; write MODEL SITE")
    gone = [word for word in was if word not in now]
    come = [f"{use.model} {use.site}" for use in found]
    paired = pairs(gone, come)
    added = [word for word in come if word not in paired.values() and word not in words]
    return Change({word: paired.get(word) for word in gone}, added)
