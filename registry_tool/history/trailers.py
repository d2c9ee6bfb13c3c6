"""The trailers of a commit message that name the rows whose verdicts the commit brings.

They help people who read a log; no rule and no command depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from registry_tool.errors import GitError
from registry_tool.history.identity import row_at, row_in
from registry_tool.history.log import artifact
from registry_tool.history.versions import document
from registry_tool.store import git
from registry_tool.store.git import Change, Repository

KEY = "Verified-row"
COUNT_KEY = "Verified-rows"
MOST = 20
"""Rows that are named; of more a commit message only tells how many they are."""


def of_index(repository: Repository, places: Iterable[str]) -> list[str]:
    """``Verified-row: target/kernel/key run-id`` of every row that has another verdict now.

    That is in the index, compared with ``repository.head``, of the registries in the folders
    ``places``.
    """
    proved = sorted(
        one
        for place in places
        for one in _of_changes(repository, git.staged_changes(repository.at(place), ["records"]))
    )
    if len(proved) > MOST:
        return [f"{COUNT_KEY}: {len(proved)}"]
    return [f"{KEY}: {one}" for one in proved]


def _of_changes(repository: Repository, changes: Iterable[Change]) -> list[str]:
    rows = [
        (row, change)
        for change in changes
        if change.status != "U" and change.is_there and (row := row_at(change.path)) is not None
    ]
    oids = [change.old_oid for _, change in rows if change.was_there]
    oids += [change.new_oid for _, change in rows]
    documents = {oid: document(data) for oid, data in git.blobs(repository, oids).items()}
    proved = []
    for path_row, change in rows:
        new = documents[change.new_oid]
        run = artifact(new)
        known = artifact(documents[change.old_oid]) if change.was_there else None
        if run is not None and run != known:
            proved.append(f"{row_in(new, path_row)} {_run_id(run)}")
    return proved


def _run_id(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


def with_trailers(repository: Repository, message: str, wanted: Sequence[str]) -> str:
    """``message`` with just ``wanted`` of our own trailers, the others as they are.

    git decides where trailers belong: before comments, a scissors line and its diff.
    """
    mark = comment_mark(repository, message)
    body, cut, rest = _at_scissors(mark, message)
    kept = _without(body)
    if kept == body and not wanted:
        return message
    if not wanted:
        return kept + cut + rest
    if all(not line.strip() or line.startswith(mark) for line in kept.split("\n")):
        # Nothing is written yet: room for a title, and what separates it from the trailers.
        return "\n\n" + "\n".join(wanted) + f"\n\n{kept.lstrip(chr(10))}{cut}{rest}"
    words = [word for trailer in wanted for word in ("--trailer", trailer)]
    out = repository.run(
        "-c", "trailer.ifexists=add", "-c", "trailer.where=end",
        "-c", "trailer.separators=:", "-c", f"core.commentChar={mark}",
        "interpret-trailers", "--no-divider", *words,
        stdin=(kept if kept.endswith("\n") else f"{kept}\n").encode("utf-8", "surrogateescape"),
    )  # fmt: skip
    return out.decode("utf-8", "surrogateescape") + cut + rest


def _without(text: str) -> str:
    lines = text.split("\n")
    ours = (f"{KEY}:", f"{COUNT_KEY}:")
    first = next((at for at, line in enumerate(lines) if line.startswith(ours)), None)
    if first is None:
        return text
    rest = [line for line in lines[first:] if not line.startswith(ours)]
    above = lines[:first]
    # The empty lines that set our trailers apart go with them.
    if not any(line.strip() for line in above):
        return "\n" + "\n".join(rest).lstrip("\n")
    if above and not above[-1] and (not rest or not rest[0]):
        above.pop()
    return "\n".join([*above, *rest])


def _at_scissors(mark: str, message: str) -> tuple[str, str, str]:
    """What stands before the scissors line of `commit --verbose`, the line, and what follows."""
    scissors = f"{mark} ------------------------ >8 ------------------------\n"
    at = 0 if message.startswith(scissors) else message.find(f"\n{scissors}") + 1
    if not at and not message.startswith(scissors):
        return message, "", ""
    return message[:at], scissors, message[at + len(scissors) :]


def comment_mark(repository: Repository, message: str) -> str:
    """What begins a comment in a message: core.commentChar, `auto` as git has chosen."""
    try:
        out = repository.run("config", "--get-regexp", r"^core\.comment(char|string)$")
    except GitError:
        return "#"
    mark = out.decode("utf-8", "replace").splitlines()[-1].partition(" ")[2]
    if mark != "auto":
        return mark or "#"
    tail = message.rstrip("\n").rpartition("\n")[2]
    return tail[:1] if tail[:1] in "#;@!$%^&|:" and tail[:1] else "#"
