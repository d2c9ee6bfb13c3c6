"""How far back git can tell: shallow and partial clones; and which commits a range takes."""

from __future__ import annotations

import re
from datetime import datetime

from registry_tool.errors import GitError, UsageError
from registry_tool.store import git
from registry_tool.store.git import Repository

_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?( ?(Z|[+-]\d\d:?\d\d))?)?"
    r"|(\d{1,6}|an?)[ .](second|minute|hour|day|week|month|year)s?[ .]ago|yesterday|today|now"
)
_ZEROS = re.compile(r"0{40}(?:0{24})?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def cut_at(repository: Repository) -> set[str]:
    """The commits whose parents a shallow clone does not have; empty for a whole one."""
    out = repository.run("rev-parse", "--is-shallow-repository", "--git-path", "shallow")
    is_shallow, _, path = out.decode("utf-8", "surrogateescape").partition("\n")
    if is_shallow != "true":
        return set()
    return set((repository.top / path.strip()).read_text().split())


def commits_of(repository: Repository, tip: str, without: str | None) -> set[str]:
    """The commits that reach ``tip`` and not ``without``; raises GitError for an unknown one."""
    words = [git.resolve(repository, tip)]
    if without is not None:
        words += ["--not", git.resolve(repository, without)]
    return set(repository.run("rev-list", *words, "--").decode().split())


def parse_range(text: str | None) -> tuple[str | None, str]:
    """What ``text`` leaves out and where it ends: ``A..B``, ``A..``, ``..B`` or ``B``.

    An A of zeros (what a code host calls the state before a first push) leaves out nothing.

    Raises UsageError for ``A...B``, which leaves open what came before what.
    """
    if text is None:
        return None, "HEAD"
    if "..." in text:
        raise UsageError(
            f"{text!r} names what two branches do not share; expected BASE..HEAD",
            fix=f"git merge-base {text.replace('...', ' ')}",
        )
    before, dots, after = text.partition("..")
    if dots and _ZEROS.fullmatch(before):
        return None, after or "HEAD"
    return (before or "HEAD", after or "HEAD") if dots else (None, text or "HEAD")


def moment(repository: Repository, text: str, end_of_day: bool = False) -> int | None:
    """Seconds since 1970 that ``text`` stands for as a date; None if it does not look like one.

    A day alone begins at midnight, or ends there where it is the last one; without a time zone it
    is the local one.
    """
    words = text.strip()
    if not _DATE.fullmatch(words):
        return None
    if _DAY.match(words):
        return _of_calendar(words, end_of_day)
    out = repository.run("rev-parse", f"--since={words}").decode().strip()
    answer = out.removeprefix("--max-age=")
    if not answer.isdigit():
        raise GitError(f"git cannot read the date {text!r}")
    return int(answer)


def _of_calendar(words: str, end_of_day: bool) -> int | None:
    """The moment of a day, with or without a time; None for the 30th of February.

    git would take that for another day, and 2100 for the past.
    """
    if _DAY.fullmatch(words):
        words += " 23:59:59" if end_of_day else " 00:00:00"
    time_of_day = re.sub(r" ?Z$", "+0000", words[10:])
    time_of_day = re.sub(r" ?([+-]\d\d):?(\d\d)$", r"\1:\2", time_of_day)
    try:
        return int(datetime.fromisoformat(words[:10] + time_of_day).timestamp())
    except (ValueError, OverflowError, OSError):
        return None
