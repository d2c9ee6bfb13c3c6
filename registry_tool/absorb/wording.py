"""How a person changed, word for word, a cell that a page words itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches

from registry_tool.absorb.identity import UnclearError, is_empty
from registry_tool.planning.search import COMPUTED

BETWEEN = {"used_by": " + ", "notes": "; "}


@dataclass(frozen=True)
class Change:
    """What became of each word of a row (None: it was taken away), and words that are new."""

    became: Mapping[str, str | None]
    added: Sequence[str]

    def on(self, words: Sequence[str]) -> list[str]:
        """The words of a row after the change, without those that were added."""
        kept = [self.became.get(word, word) for word in words]
        return list(dict.fromkeys(word for word in kept if word is not None))


def change(before: str, after: str, words: Sequence[str], cell: str) -> Change:
    """What a person meant who made ``after`` of ``before``, a text for ``words``.

    Raises UnclearError where a part that was changed is of no one word.
    """
    old = segments(before, words, cell)
    new = segments(after, words, cell)
    became: dict[str, str | None] = {}
    added: list[str] = []
    touched: list[str] = []
    for step, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if step == "equal":
            continue
        paired = pairs(old[i1:i2], new[j1:j2])
        for part in old[i1:i2]:
            word = _owner(part, words)
            if word is None:
                paired.pop(part, None)  # the page's own words, of which no row knows
                continue
            if word in touched:
                raise UnclearError(f"it says two things of {word!r}")
            touched.append(word)
            became[word] = _reworded(word, part, paired[part]) if part in paired else None
        added += [part for part in new[j1:j2] if part not in paired.values()]
    _require_own(became, added)
    return Change(became, [word for word in added if word not in words])


def segments(text: str, words: Sequence[str], cell: str) -> list[str]:
    """The parts of a cell's text; one that is a word as it stands is not divided."""
    between = BETWEEN[cell].strip()
    known = sorted(words, key=len, reverse=True)
    found = []
    rest = text.strip()
    while rest:
        word = next((one for one in known if _begins(rest, one, between)), None)
        if word is None:
            cuts = [at for mark in (between, "\n") if (at := rest.find(mark)) >= 0]
            word = rest[: min(cuts, default=len(rest))]
        found.append(word.strip())
        rest = rest[len(word) :].lstrip()
        rest = rest.removeprefix(between).lstrip()
    return [one for one in found if not is_empty(one)]


def _begins(text: str, word: str, between: str) -> bool:
    rest = text[len(word) :]
    return text.startswith(word) and (
        not rest or rest[0] == "\n" or rest.lstrip().startswith(between)
    )


def _owner(segment: str, words: Sequence[str]) -> str | None:
    """The word that a part of the text stands for; None if the row has none at all."""
    if segment in words:
        return segment
    for found in (
        [word for word in words if segment in word],
        [word for word in words if word in segment],
    ):
        if len(found) == 1:
            return found[0]
    if not words:
        return None
    raise UnclearError(
        f"{segment!r} is the page's own wording, and the row does not hold it as it stands"
    )


def pairs(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """The parts that were changed with what became of them; the others came or went."""
    if len(old) == len(new):
        return dict(zip(old, new, strict=True))
    found: dict[str, str] = {}
    left = list(new)
    for part in old:
        near = get_close_matches(part, left, 1)
        if near:
            found[part] = near[0]
            # What comes before it became of an earlier part, or is new.
            left = left[left.index(near[0]) + 1 :]
    return found


def _reworded(word: str, old: str, new: str) -> str:
    """A word whose part of the text was ``old`` and is ``new``; either may say more."""
    if old in word:
        return word.replace(old, new)
    if word in new:
        return word  # only what the page says about it was changed
    head, _, tail = old.partition(word)
    return new.removeprefix(head).removesuffix(tail) or new


def _require_own(became: Mapping[str, str | None], added: Sequence[str]) -> None:
    for word, now in became.items():
        if word.startswith(COMPUTED):
            raise UnclearError(f"the tool computed {word!r}: it stays as it is")
        if now is not None and now.startswith(COMPUTED):
            raise UnclearError(f"{now!r} would be a remark of the tool")
    for word in added:
        if word.startswith(COMPUTED):
            raise UnclearError(f"{word!r} would be a remark of the tool")
