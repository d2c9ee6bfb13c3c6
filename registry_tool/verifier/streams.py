"""A captured stream: what it says, and what is stored of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from registry_tool.records.verdict import StoredLog
from registry_tool.verifier.logs.facts import LogFacts
from registry_tool.verifier.logs.harness_log import TWO_ENCODINGS, LogReader, as_utf8, chunks, parse
from registry_tool.verifier.logs.transcode import encoding_of

STORED_WHOLE = 1 << 20
"""Streams up to this size are stored as they are, B."""
EDGE = 1 << 16
"""Of larger ones so much of the start and of the end is stored, B, beside the judged lines."""


@dataclass(frozen=True)
class Stream:
    """A captured stream: its facts, and what is stored of it."""

    facts: LogFacts
    stored: bytes
    whole: bool
    sha256: str
    size: int

    def as_stored(self, name: str) -> StoredLog:
        """What a verdict says of it."""
        digest = None if self.whole else hashlib.sha256(self.stored).hexdigest()
        return StoredLog(name=name, sha256=self.sha256, size=self.size, excerpt_sha256=digest)


def read_stream(path: Path) -> Stream:
    """The stream captured in ``path``, as it is now; what is written to it later is ignored."""
    size = path.stat().st_size
    if size <= STORED_WHOLE:
        data = path.read_bytes()[:size]
        return Stream(parse(data), data, True, hashlib.sha256(data).hexdigest(), len(data))
    reader, digest, read = LogReader(), hashlib.sha256(), 0
    for chunk in chunks(path, size):
        reader.feed(chunk)
        digest.update(chunk)
        read += len(chunk)
    facts = reader.finish()
    return Stream(facts, excerpt(path, size, facts), False, digest.hexdigest(), read)


def excerpt(path: Path, size: int, facts: LogFacts) -> bytes:
    """Head, judged lines and tail of a long log, in UTF-8, with a line where something is left out.

    It is cut at line ends only, so that it reads back to the same facts.
    """
    text = _Window(path, size)
    head = text.read(0, EDGE).rfind(b"\n") + 1
    last = max(head, facts.size - EDGE)
    cut = text.read(last - 1, facts.size).find(b"\n")
    tail = last + cut if cut >= 0 else facts.size
    spans = [(0, head), *facts.spans(), (tail, facts.size)]
    parts: list[bytes] = []
    done = 0
    for start, end in spans:
        if start > done:
            if parts and not parts[-1].endswith((b"\n", b"\r")):
                parts.append(b"\n")  # after a sign in the middle of an endless line
            parts.append(b"[registry-tool] %d bytes are left out here\n" % (start - done))
        if end > max(start, done):
            parts.append(text.read(max(start, done), end))
        done = max(done, end)
    if any(mark.text == TWO_ENCODINGS for mark in facts.marks.get("torn", ())):
        parts.append(f"\n{TWO_ENCODINGS}\n".encode())  # an excerpt has one, and would hide it
    return b"".join(parts)


class _Window:
    """Random access to a log as UTF-8: in the file if it is that already, else in memory."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        with path.open("rb") as file:
            start = file.read(16)
        self._text: bytes | None = None
        if encoding_of(start) != "utf-8":
            self._text = b"".join(as_utf8(chunks(path, size)))

    def read(self, start: int, end: int) -> bytes:
        if self._text is not None:
            return self._text[start:end]
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)
