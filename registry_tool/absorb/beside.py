"""What a cell says beside its call sites: a row keeps such words as notes, as an import left them.

`GEMV (per-partition)` credits a site, and the text as a whole is the note `used by: ...`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from registry_tool.absorb import human
from registry_tool.absorb.wording import pairs
from registry_tool.adoption.uses import Credits, Reader
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record

USED_BY = "used by: "
"""How a note begins that holds what a Used by cell says and no use does."""


@dataclass(frozen=True)
class Beside:
    """How the remarks in a cell changed: what became of each (None: it went), and new ones.

    ``same_uses`` says that the cell credits the same call sites before and after.
    """

    became: Mapping[str, str | None]
    added: tuple[str, ...]
    same_uses: bool

    @property
    def is_all(self) -> bool:
        """Whether nothing but remarks changed."""
        return self.same_uses and bool(self.became or self.added)

    def is_held(self, held: Mapping[RowId, Record]) -> bool:
        """Whether the rows hold every remark that changed."""
        notes = {note for record in held.values() for note in record.notes}
        return all(f"{USED_BY}{text}" in notes for text in self.became)

    def on(self, record: Record) -> Record:
        """The record with the remarks that it holds changed; raises UnclearError."""
        notes: list[str] = []
        for note in record.notes:
            text = note.removeprefix(USED_BY)
            if note.startswith(USED_BY) and text in self.became:
                now = self.became[text]
                notes += [] if now is None else [_note(now)]
            else:
                notes.append(note)
        return replace(record, notes=list(dict.fromkeys(notes)))

    def with_new(self, record: Record) -> Record:
        """The record with the remarks that it lacks as well; raises UnclearError."""
        said = [now for now in self.became.values() if now is not None]
        known = {*record.notes, *(f"{USED_BY}{text}" for text in human.words(record, "used_by"))}
        new = [note for text in (*said, *self.added) if (note := _note(text)) not in known]
        return replace(record, notes=[*record.notes, *dict.fromkeys(new)])


def change(before: str, after: str, reader: Reader) -> Beside:
    """What became of the remarks in a cell that said ``before`` and says ``after``."""
    was, now = reader.read(before), reader.read(after)
    come = [text for text in now.notes if text and text not in was.notes]
    gone = [
        text
        for text in was.notes
        if text and text not in now.notes and not _is_shared(text, come, now, reader)
    ]
    paired = pairs(gone, come)
    added = tuple(text for text in come if text not in paired.values())
    return Beside({text: paired.get(text) for text in gone}, added, was.uses == now.uses)


def _is_shared(text: str, come: Sequence[str], now: Credits, reader: Reader) -> bool:
    """Whether another model joined the one of a remark, `A + B site (why)`: it is of both then."""
    uses = reader.read(text).uses
    if not uses or not set(uses) <= set(now.uses):
        return False
    said = text.removeprefix(uses[0].model)
    return any(other.endswith(said) and other != text for other in come)


def _note(text: str) -> str:
    note = f"{USED_BY}{text}"
    human.require_line(note)
    return note
