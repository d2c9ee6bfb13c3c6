"""Blobs that are asked for as they come up, while git already reads the earlier ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Generic, TypeVar

from registry_tool.errors import GitError
from registry_tool.store.git import Repository

T = TypeVar("T")


class BlobReader(Generic[T]):
    """``decode`` of every blob that was asked for, by the name (blob id or ``commit:path``).

    ``found`` grows while git and a thread read; after `finish` it is whole. A name that is nothing
    is not in it.
    """

    def __init__(self, repository: Repository, decode: Callable[[bytes], T]) -> None:
        self.found: dict[str, T] = {}
        self._decode = decode
        self._asked: dict[str, None] = {}
        self._order: list[str] = []
        self._cut_short = False
        self._process = repository.start("cat-file", "--batch", "--buffer", stdin=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> BlobReader[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._thread.join()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was still to be asked nobody wants to know

    def ask(self, names: Iterable[str]) -> None:
        """Ask for blobs; those that were asked for before are not read again.

        Names are handed over in lines: one that has a line break is nothing.
        """
        new = [
            name for name in dict.fromkeys(names) if name not in self._asked and "\n" not in name
        ]
        if not new:
            return
        self._asked.update(dict.fromkeys(new))
        # The order is known before git can answer.
        self._order += new
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(("\n".join(new) + "\n").encode("utf-8", "surrogateescape"))
        except BrokenPipeError:
            self._cut_short = True

    def finish(self) -> Mapping[str, T]:
        """Wait for all that was asked for; raises GitError if git broke off."""
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            self._cut_short = True
        self._thread.join()
        if self._process.wait() != 0 or self._cut_short:
            words = self._process.stderr.read().decode("utf-8", "replace").strip()
            if "promisor" in words:
                raise GitError(
                    "this partial clone lacks objects, and its remote cannot be asked for them: "
                    + words.rpartition("\n")[2],
                    fix="git fetch --refetch --filter=blob:limit=1g   # once the remote is there",
                )
            raise GitError(
                f"git could not read its objects: {words or 'it stopped'}", fix="git fsck"
            )
        return self.found

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        at = 0
        while header := out.readline():
            name = self._order[at]
            at += 1
            if header.endswith((b" missing\n", b" ambiguous\n")):
                continue
            _, kind, size = header.split()
            data = out.read(int(size))
            out.read(1)
            if len(data) != int(size):
                return  # git was ended
            if kind == b"blob":
                self.found[name] = self._decode(data)
