"""The cells that people own, read back into what the row holds; raises UnclearError."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from registry_tool.absorb import credits
from registry_tool.absorb.credits import Names
from registry_tool.absorb.identity import UnclearError, is_empty
from registry_tool.absorb.wording import Change
from registry_tool.planning.search import COMPUTED
from registry_tool.records.record import Record, Use

_LONGEST = 1000
_LINK = re.compile(r"\[(?:[^\[\]\\]|\\.)*\]\(\s*<?([^\s)>]+)")
_TAG = re.compile(r"<(?!br[ \t]*/?>)[A-Za-z/!?][^>]*>", re.I)
_AUTOLINK = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*>|<[^\s<>@]+@[^\s<>]+>")
_MARKS = re.compile(r"[*_`~]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def read_notes(text: str, before: Sequence[str]) -> list[str]:
    """The remarks in a cell that shows ``text``; ``before`` is what the row holds.

    The tool's own remarks must all be there, as they were.
    """
    notes: list[str] = []
    for line in _lines(text, before):
        if line.startswith(COMPUTED) and line not in before:
            was = next((note for note in before if note.startswith(COMPUTED)), None)
            raise UnclearError(
                f"{line!r} would be a remark of the tool"
                + (f"; what it computed is {was!r}" if was else "")
            )
        if line not in notes:
            notes.append(line)
    missing = [note for note in before if note.startswith(COMPUTED) and note not in notes]
    if missing:
        raise UnclearError(f"the tool computed {missing[0]!r}: it stays as it is")
    return notes


def read_uses(text: str, before: Sequence[Use], names: Names) -> list[Use]:
    """The call sites in a cell that shows ``text``, one on each line as `MODEL SITE`.

    ``before`` is what the row holds; the ``names`` of models that are known may have spaces.
    """
    held: dict[str, list[Use]] = {}
    for use in before:
        held.setdefault(f"{use.model} {use.site}", []).append(use)
    uses: list[Use] = []
    for line in _lines(text, list(held)):
        same = held.get(line)
        uses += [same.pop(0)] if same else credits.read(line, names)
    return list(dict.fromkeys(uses))


def words(record: Record, cell: str) -> list[str]:
    """What the row says in a human-owned field, as a cell shows it word by word."""
    if cell == "notes":
        return list(record.notes)
    return [f"{use.model} {use.site}" for use in record.used_by]


def with_words(
    record: Record, cell: str, change: Change, names: Names, *, is_first: bool
) -> Record:
    """The record after a change of wording; what was added goes to the first row of a line.

    Raises UnclearError for words that the row cannot hold.
    """
    text = "\n".join([*change.on(words(record, cell)), *(change.added if is_first else ())])
    if cell == "notes":
        return replace(record, notes=read_notes(text, record.notes))
    return replace(record, used_by=read_uses(text, record.used_by, names))


def _lines(text: str, before: Sequence[str]) -> list[str]:
    """The lines of a cell; one that the row holds already is taken as it is."""
    if text not in before and is_empty(text):
        return []
    found = []
    for line in text.split("\n"):
        kept = line if line in before else line.strip(" \t")
        if kept:
            require_line(kept)
            found.append(kept)
    return found


def require_line(line: str) -> None:
    """Raise UnclearError for a line that no row keeps."""
    odd = _CONTROL.search(line)
    if odd is not None:
        raise UnclearError(f"it holds the control character {odd[0]!r}")
    if len(line) > _LONGEST:
        raise UnclearError(f"a line has {len(line)} characters; at most {_LONGEST} are kept")


def require_kept(source: str, text: str) -> None:
    """Raise UnclearError if a cell's source holds an address or a tag that it does not show."""
    links = [match[1] for match in _LINK.finditer(source)]
    tags = [tag for tag in _TAG.findall(source) if not _AUTOLINK.fullmatch(tag)]
    lost = [one for one in [*links, *tags] if one not in text]
    if lost:
        raise UnclearError(f"{lost[0]!r} would be lost: only what the cell shows is kept")


def remarks(source: str, text: str, uses: Sequence[Use], models: Collection[str]) -> list[str]:
    """What a person should know about how a cell was read; ``uses`` are those of the row then."""
    found = []
    if len(_MARKS.findall(source)) > len(_MARKS.findall(text)):
        found.append("marks of emphasis or code are not kept, only the text")
    for use in uses:
        if use.model not in models:
            found.append(
                f"nothing here names the model {use.model!r} yet; its call site is {use.site!r}"
            )
    return found
