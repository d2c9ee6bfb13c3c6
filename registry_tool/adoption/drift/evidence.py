"""Files that are named as evidence and do not exist: results, logs, sweep scripts, linked pages.

Sources of kernels and harnesses are not evidence, so their names are never looked for. A file is
looked for in the registry's folder and, where the registry lies in a checkout, in the folders
around it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from registry_tool.adoption.drift.finding import Confidence, Finding, sides
from registry_tool.adoption.drift.prose import Text
from registry_tool.adoption.model import Adoption, Source
from registry_tool.records.spec import KernelSpec

# What only a run writes, whatever its folder.
_DATA = frozenset(("csv", "tsv", "log", "err", "out", "jsonl", "npz", "npy", "xlsx", "ipynb"))
# What is evidence only where its folder or its name says so.
_PAPER = frozenset(("md", "json", "yaml", "yml", "txt", "sh", "py", "html"))
_FOLDERS = re.compile(
    r"(?:^|/)(?:results?|logs?|sweeps?|scripts|docs|reports?|internal_[^/]*)/", re.I
)
_TESTS = re.compile(
    r"(?:^|[_-])(?:validate|sweep|refine|bench|check|verify)(?=[_-])|[_-]sweep\b", re.I
)
_EXTENSIONS = "|".join(sorted(_DATA | _PAPER, key=len, reverse=True))
_PATH = re.compile(rf"(?<![\w./:$…+-])[\w./+-]*\w\.(?:{_EXTENSIONS})(?![\w/])")
_LINK = re.compile(r"\]\((?P<path>[^()\s#:]+?\.[a-z]+)(?:#[^()\s]*)?\)")
_ROOT = "programming_examples"
# Folders around the registry in which a name may be meant: it, its repository's examples, its root.
_AROUND = 3
# A bare name is looked for in this many files of the checkout at most.
_WALK = 50_000


@dataclass(frozen=True)
class _Named:
    path: str
    where: str
    is_link: bool


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """One finding for each file that does not exist, with every line that names it."""
    named: dict[str, list[_Named]] = {}
    for source in adoption.sources:
        for one in _names(source, adoption):
            named.setdefault(_clean(one.path), []).append(one)
    tree = _Tree(adoption.folder)
    for path, ones in named.items():
        if any(tree.has(one.path, one.where.rpartition(":")[0]) for one in ones):
            continue
        yield _finding(path, ones, tree)


def _names(source: Source, adoption: Adoption) -> Iterator[_Named]:
    page = Text(source, adoption)
    for match in _LINK.finditer(page.text):
        if source.place != "json":
            yield _Named(match["path"], f"{source.name}:{page.line(match.start())}", True)
    for match in _PATH.finditer(page.text):
        if _is_evidence(match[0]):
            yield _Named(match[0], f"{source.name}:{page.line(match.start())}", False)


def _is_evidence(path: str) -> bool:
    extension = path.rpartition(".")[2].lower()
    if extension in _DATA:
        return True
    return _FOLDERS.search(path) is not None or _TESTS.search(PurePosixPath(path).name) is not None


def _clean(path: str) -> str:
    """A path without what only says where it is counted from."""
    while path.startswith(("../", "./")):
        path = path.partition("/")[2]
    return path


class _Tree:
    """The files that a name may mean."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        around = list(self.folder.parents)[:_AROUND]
        # Only a checkout says of the folders around the registry what should be in them.
        self.roots = [self.folder]
        if _ROOT in self.folder.parts or any((one / _ROOT).is_dir() for one in around):
            self.roots += around
        self._bare: frozenset[str] | None = None

    @property
    def is_checkout(self) -> bool:
        """Whether the registry lies in the repository that its pages speak of."""
        return len(self.roots) > 1

    def has(self, path: str, page: str) -> bool:
        """Whether ``path``, as named in ``page``, exists anywhere where it may be meant."""
        beside = (self.folder / page).parent
        inside = path.partition(f"{self.folder.name}/")[2] or path.partition("kernel_registry/")[2]
        candidates = [beside / path, *(root / path for root in self.roots)]
        candidates += [self.folder / inside] if inside else []
        if any(_exists(candidate) for candidate in candidates):
            return True
        return "/" not in path and PurePosixPath(path).name in self._names()

    def _names(self) -> frozenset[str]:
        if self._bare is None:
            root = self.roots[-1] if self.is_checkout else self.folder
            found: set[str] = set()
            for _, folders, files in os.walk(root):
                folders[:] = [name for name in folders if not name.startswith(".")]
                found.update(files)
                if len(found) > _WALK:
                    break
            self._bare = frozenset(found)
        return self._bare


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _finding(path: str, named: list[_Named], tree: _Tree) -> Finding:
    inside = any(one.is_link for one in named) or "kernel_registry/" in path
    known = inside or tree.is_checkout
    # A copy of the folder alone says nothing of what lies around it where it was written.
    confidence: Confidence = "high" if known else "low"
    looked = "anywhere in this checkout" if tree.is_checkout else "in this folder"
    copied = "" if known else "; the folder may be a copy, and the file exist elsewhere"
    what = "linked" if named[0].is_link else "named as evidence"
    return Finding(
        kind="evidence-missing",
        sides=sides((one.where, path) for one in named),
        record=None,
        found=path,
        expected="a file that exists",
        confidence=confidence,
        message=f"{path} is {what} and is not {looked}{copied}",
    )
