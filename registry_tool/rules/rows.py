"""Judging many rows: read from git while judging, on every processor where it pays."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import msgspec

from registry_tool.errors import ToolError
from registry_tool.records.record import Record
from registry_tool.rules.entries import Files
from registry_tool.rules.finding import Finding
from registry_tool.rules.judging import judge_file, judge_row, read_file
from registry_tool.rules.views import Context
from registry_tool.rules.waivers import Standing
from registry_tool.store.snapshot import Snapshot
from registry_tool.tables.rows import Row, maker

_WORTH_A_PROCESS = 400
"""Rows below which another process costs more than it saves."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What was found about a row; ``shown`` is how tables show it, None if they cannot.

    ``imported`` are the digests of a row that stands on an import.
    """

    row: str
    findings: list[Finding]
    waivers: list[Standing]
    shown: Row | None
    imported: list[str] | None = None


def judge_rows(
    snapshot: Snapshot, rows: Mapping[str, Files], context: Context | None
) -> Iterator[Answer]:
    """The answer for each of ``rows``."""
    judge = _Judge(snapshot, context)
    # What is made once, for the first row, is then there in every process. It has a git of its
    # own, which has ended: a fork would keep the pipe of a running one open.
    yield from judge(_part(rows, 0, len(rows)))
    number = _processes(len(rows))
    own, *others = (_part(rows, 1 + first, number) for first in range(number))
    helpers = [_started(judge, part) for part in others]
    try:
        yield from judge(own)
        for part, helper in zip(others, helpers, strict=True):
            found = helper.answers()
            yield from judge(part) if found is None else found
    finally:
        for helper in helpers:
            helper.end()


def _processes(rows: int) -> int:
    # A fork takes only the thread that asks for it; what others hold stays locked in the child.
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), 4, rows // (_WORTH_A_PROCESS // 2)))


def _part(rows: Mapping[str, Files], first: int, step: int) -> Mapping[str, Files]:
    """Every ``step``-th row: those of one kernel follow each other, and are alike in effort."""
    return dict(islice(rows.items(), first, None, max(1, step)))


class _Judge:
    """Judges rows one after the other, while git reads the files of the next ones."""

    def __init__(self, snapshot: Snapshot, context: Context | None) -> None:
        self._snapshot = snapshot
        self._context = context
        self._makers: dict[tuple[str, str], Callable[[Record], Row] | None] = {}

    def __call__(self, rows: Mapping[str, Files]) -> Iterator[Answer]:
        contents = self._snapshot.stream(
            [entry for files in rows.values() for entry in files.items()]
        )
        for row, files in rows.items():
            yield self._answer(row, dict(islice(contents, len(files))))

    def _answer(self, row: str, files: Mapping[str, bytes]) -> Answer:
        if self._context is None:
            findings = [one for file in files.items() for one in judge_file(read_file(*file), row)]
            return Answer(row, findings, [], None)
        judged = judge_row(row, files, self._context, self._exists)
        shown = None if judged.record is None else self._shown(judged.record)
        return Answer(row, judged.findings, judged.waivers, shown, judged.imported)

    def _exists(self, path: str) -> bool:
        return path in self._snapshot.oids

    def _shown(self, record: Record) -> Row | None:
        place = record.target, record.kernel
        try:
            if place not in self._makers:
                self._makers[place] = None
                self._makers[place] = self._maker(record)
            make = self._makers[place]
            return make(record) if make else None
        except ToolError:
            return None  # what is wrong is said where the page is made

    def _maker(self, record: Record) -> Callable[[Record], Row] | None:
        context = self._context
        target = context.target(record.target) if context else None
        if context is None or target is None:
            return None
        return maker(context.specs[record.kernel], target.kind)


class _Helper:
    """A forked process that judges a part of the rows and writes its answers into a pipe."""

    def __init__(self, pid: int, pipe: int) -> None:
        self._pid: int | None = pid
        self._pipe = os.fdopen(pipe, "rb")

    def answers(self) -> list[Answer] | None:
        """Its answers, or None if it did not come to an end."""
        data = self._pipe.read()
        status = self._wait()
        try:
            return msgspec.json.decode(data, type=list[Answer]) if status == 0 else None
        except msgspec.DecodeError:
            return None

    def end(self) -> None:
        """End it, if it still runs."""
        self._pipe.close()
        if self._pid is not None:
            self._wait()

    def _wait(self) -> int:
        assert self._pid is not None
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        return status


def _started(judge: _Judge, rows: Mapping[str, Files]) -> _Helper:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Helper(pid, reading)
    status = 1
    try:
        os.close(reading)
        data = msgspec.json.encode(list(judge(rows)))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)
        status = 0
    finally:
        # Never back into the caller's code, nor into buffers that are the parent's to write.
        os._exit(status)
