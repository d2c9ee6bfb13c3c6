"""Reading what a harness printed, once, in a stream: facts and where they stand, no judgement.

A fact that speaks for the run counts only as a whole line of its own; a fact that speaks against
it counts wherever it stands. A line that does not parse whole is never glued or guessed: if it
starts like a precision line it is noted as torn.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from registry_tool.verifier.logs import dialect
from registry_tool.verifier.logs.facts import Kind, LogFacts, Mark, Passed, Precision, Reference
from registry_tool.verifier.logs.transcode import Transcoder
from registry_tool.verifier.logs.worst import WorstTimings

CHUNK = 1 << 20
LONGEST_LINE = 1 << 14
"""Longer lines are no lines of the dialect, B; only what speaks against a run is sought in them."""
KEPT = 32
"""Marks kept of each kind; more of a kind change no judgement, or are kept all the same."""
TWO_ENCODINGS = "[precision] two encodings in one log"
"""What stands for that: written as UTF-8, it reads as torn too."""
KEPT_ROWS = 1024
"""Outputs and layers kept."""
_MOST: dict[Kind, int] = {"precision": KEPT_ROWS, "reference": KEPT_ROWS, "layer": KEPT_ROWS}
_BOM = codecs.BOM_UTF8.decode("latin-1")
_TAIL = 4096
_SMALL = 4096  # a block below this is read segment by segment: faster than searching it
_SEGMENT = re.compile(r"([^\r\n]+)(\r*\n|\r+\Z)?")


def parse(data: bytes) -> LogFacts:
    """The facts of a log that is in memory."""
    reader = LogReader()
    reader.feed(data)
    return reader.finish()


def read_log(path: Path, size: int | None = None) -> LogFacts:
    """The facts of the log at ``path`` (of its first ``size`` bytes), read in a stream."""
    reader = LogReader()
    for chunk in chunks(path, size):
        reader.feed(chunk)
    return reader.finish()


def chunks(path: Path, size: int | None = None) -> Iterator[bytes]:
    """The bytes of a file (at most ``size`` of them) in pieces."""
    left = size
    with path.open("rb") as file:
        while left is None or left > 0:
            chunk = file.read(CHUNK if left is None else min(CHUNK, left))
            if not chunk:
                return
            left = None if left is None else left - len(chunk)
            yield chunk


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same log as UTF-8, to which the offsets of its facts refer."""
    transcoder = Transcoder()
    for piece in pieces:
        yield transcoder.feed(piece)
    yield transcoder.finish()


class LogReader:
    """Takes a log in pieces of any size; where they are cut does not matter.

    A line ends at a line feed. A carriage return inside it starts it anew, as on a terminal: what
    stands before one is overwritten, and cannot speak for the run. Between the two are segments.
    """

    def __init__(self) -> None:
        self.facts = LogFacts()
        self._transcoder = Transcoder()
        self._pending = ""
        self._offset = 0  # of the pending text
        self._line = 1  # number of the line that is pending
        self._long = False  # the start of the pending segment was let go: it is too long
        self._in_table = False
        self._tail = ""
        self._timings = WorstTimings(KEPT)

    def feed(self, data: bytes) -> None:
        """Read on."""
        self._take(self._transcoder.feed(data).decode("latin-1"))

    def finish(self) -> LogFacts:
        """The facts, after the last piece."""
        self._take(self._transcoder.finish().decode("latin-1"))
        facts, last = self.facts, self._pending
        facts.encoding = self._transcoder.encoding or "utf-8"
        facts.size = self._offset + len(last)
        facts.lines = self._line - (0 if last or self._long else 1)
        if last or self._long:
            self._block(last, at_end=True)
        facts.tail = self._tail
        for mark, timing in self._timings.kept():
            facts.marks.setdefault("timing", []).append(mark)
            facts.timings.append(timing)
        if self._transcoder.is_mixed:
            self._mark("torn", TWO_ENCODINGS, max(0, facts.size - 1), facts.size)
        return facts

    def _take(self, data: str) -> None:
        if not data:
            return
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]
        self._pending += data
        cut = self._pending.rfind("\n") + 1
        if not cut and len(self._pending) > 2 * LONGEST_LINE:
            # A carriage return ends a segment for certain once something else follows it.
            cut = self._pending.rfind("\r", 0, len(self._pending.rstrip("\r"))) + 1
        if cut:
            block, self._pending = self._pending[:cut], self._pending[cut:]
            self._block(block, at_end=False)
        if len(self._pending) > 2 * LONGEST_LINE:
            self._let_go()

    def _let_go(self) -> None:
        """Search the start of an endless segment, and keep only what may go on in the next piece.

        The carriage returns at its end stay: a line feed may follow them.
        """
        body = len(self._pending.rstrip("\r"))
        step = body - dialect.LONGEST_NEEDLE
        if step > 0 and (self._long or body > LONGEST_LINE):
            self._long = True
            self._search_long(self._pending[:body], self._offset, step)
            self._pending = self._pending[step:]
            self._offset += step

    def _search_long(self, text: str, offset: int, until: int) -> None:
        """Note the unmistakable signs that start in the first ``until`` bytes of ``text``."""
        for start, end, kind in dialect.unmistakable(text):
            if start < until:
                self._mark(kind, text[start:end], offset + start, offset + end)

    def _block(self, block: str, at_end: bool) -> None:
        """Read whole lines (or, at the end of the log, what is left of one)."""
        base, done, counted = self._offset, 0, 0
        if self._long:
            done = _segment_end(block, 0)
            self._search_long(block[:done], base, done)
            self._long = False
        if self._in_table:
            done = counted = self._table(block, done)
        if not at_end and done < len(block) < _SMALL and "\r" not in block:
            done = counted = self._lines(block, done)
        for segment in _segments(block, done) if done < len(block) else ():
            start = segment.start()
            if start < done:  # a row of a table that was read
                continue
            self._line += block.count("\n", counted, start)
            counted = start
            self._segment(segment, at_end)
            if self._in_table:
                done = segment.end()
                self._line += block.count("\n", counted, done)
                done = counted = self._table(block, done)
        last = block[1 + block.rfind("\r") :] if at_end else ""
        self._line += block.count("\n", counted)
        self._offset += len(block)
        if dialect.starts_like_precision(last):
            self._mark("torn", last, self._offset - len(last), self._offset)

    def _lines(self, block: str, start: int) -> int:
        """Read whole lines without carriage returns, up to a table; where that is."""
        for text in block[start:-1].split("\n"):
            end = start + len(text) + 1
            if text:
                if self._offset + start == 0:
                    text = text.removeprefix(_BOM)
                self._read(text, self._offset + start, self._offset + end, True, True)
            self._line += 1
            start = end
            if self._in_table:
                start = self._table(block, start)
                break
        return start

    def _segment(self, segment: re.Match[str], at_end: bool) -> None:
        text, ending = segment.groups()
        start, end = segment.span()
        if len(text) > LONGEST_LINE:
            self._search_long(text, self._offset + start, len(text))
            return
        if self._offset + start == 0:
            text = text.removeprefix(_BOM)
        if ending is None:
            visible = at_end and end == len(segment.string)
        else:
            visible = at_end or ending[-1] == "\n"
        self._read(text, self._offset + start, self._offset + end, ending is not None, visible)

    def _read(self, text: str, start: int, end: int, ended: bool, visible: bool) -> None:
        """Note what a segment says; it is ``visible`` if nothing overwrote it."""
        plain = dialect.without_colour(text) if "\x1b" in text else text
        found = dialect.statement(plain, self._line)
        if found is None:
            self._read_signs(dialect.without_escapes(text) if "\x1b" in text else text, start, end)
        elif visible and (ended or dialect.survives_the_end(plain, found)):
            self._read_statement(plain, found, start, end)
        elif isinstance(found, Precision):
            self._mark("torn", plain, start, end)

    def _read_statement(self, text: str, found: dialect.Statement, start: int, end: int) -> None:
        facts = self.facts
        if isinstance(found, Passed):
            self._mark("pass", text, start, end)
        elif isinstance(found, Precision):
            if self._mark("precision", text, start, end):
                facts.outputs.append(found)
            else:
                self._mark("torn", text, start, end)
        elif isinstance(found, Reference):
            if self._mark("reference", text, start, end):
                share = facts.zero_shares.get(found.index, 1.0)
                facts.zero_shares[found.index] = min(found.zero_share, share)
        else:
            self._timings.add(self._made(text, start, end), found)

    def _read_signs(self, text: str, start: int, end: int) -> None:
        facts, holed = self.facts, "\0" in text
        if holed:
            # Holes of a cut file, or a line in UTF-16 amid others: it speaks against a run only.
            text = text.replace("\0", "")
            if "mean_rel_L1" in text:
                self._mark("torn", text, start, end)
        for kind in dialect.signs(text):
            if kind == "mismatch":
                mismatch = dialect.mismatch(text, self._line)
                news = mismatch.count > 0 and not any(other.count for other in facts.mismatches)
                if self._mark(kind, text, start, end, news):
                    facts.mismatches.append(mismatch)
            elif kind == "device":
                device = dialect.device(text)
                news = device not in facts.devices and len(set(facts.devices)) < KEPT
                if self._mark(kind, text, start, end, news):
                    facts.devices.append(device)
            elif kind == "layers_claimed":
                claimed = dialect.layers_claimed(text)
                if self._mark(kind, text, start, end, claimed > (facts.layers_claimed or 0)):
                    facts.layers_claimed = max(claimed, facts.layers_claimed or 0)
            else:
                self._mark(kind, text, start, end)
                self._in_table = self._in_table or kind == "layer"

    def _table(self, block: str, start: int) -> int:
        """Read the rows of a diagnosis table from ``start`` on; where they end."""
        while block[start : start + 1] == "|":
            end = block.find("\n", start)
            after = len(block) if end < 0 else end + 1
            self._row(block[start:after].rstrip("\r\n"), start, after, ended=end >= 0)
            self._line += end >= 0
            start = after
        self._in_table = start == len(block)
        return start

    def _row(self, text: str, start: int, after: int, ended: bool) -> None:
        where = (self._offset + start, self._offset + after)
        plain = dialect.without_colour(text) if "\x1b" in text else text
        found = dialect.layer(plain, self._line) if ended or plain.rstrip()[-1:] == "|" else None
        if found is not None:
            if self._mark("layer", plain, *where):
                self.facts.layers.append(found)
            else:
                self._mark("torn_layer", plain, *where)
        elif dialect.is_layer_rule(plain):
            self._mark("layer", plain, *where)
        else:
            self._mark("torn_layer", plain, *where)

    def _mark(self, kind: Kind, text: str, start: int, end: int, news: bool = False) -> bool:
        """Note that a line says something; False if enough lines have said so, and it is no news.

        What is news to a judgement is kept after any number of lines of its kind.
        """
        marks = self.facts.marks.setdefault(kind, [])
        if len(marks) >= _MOST.get(kind, KEPT) and not news:
            return False
        marks.append(self._made(text, start, end))
        return True

    def _made(self, text: str, start: int, end: int) -> Mark:
        return Mark(_readable(text.strip(" \t")), self._line, start, end)


def _segments(block: str, done: int) -> Iterator[re.Match[str]]:
    """The segments from ``done`` on that may say something; most of a long log cannot."""
    if len(block) < _SMALL:
        yield from _SEGMENT.finditer(block, done)
        return
    found = []
    for needle in dialect.NEEDLES:
        position = block.find(needle, done)
        while position >= 0:
            found.append(position)
            position = block.find(needle, _segment_end(block, position))
    for position in sorted(found):
        if position >= done:
            start = max(block.rfind("\n", done, position), block.rfind("\r", done, position)) + 1
            segment = _SEGMENT.match(block, max(start, done))
            if segment is not None:
                done = segment.end()
                yield segment


def _segment_end(block: str, position: int) -> int:
    end = block.find("\n", position)
    end = len(block) if end < 0 else end
    overwritten = block.find("\r", position, end)
    return end if overwritten < 0 else overwritten


def _readable(text: str) -> str:
    text = text[:300]
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")
