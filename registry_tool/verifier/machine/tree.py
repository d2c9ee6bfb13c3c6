"""The files of a harness tree that take part in a run, and their digests; nothing is run.

Taken are the folders of the harness's commands, and what they reach for elsewhere in the tree:
Python modules that their scripts import, headers that their kernels include, and paths that lead
out of the folder in a Makefile or script (`$(srcdir)/../common/x.cc`).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from registry_tool.records.spec import Harness

FILES = 500
SIZE = 4 << 20
"""Bounds of one harness: files, and bytes of a file; what is larger is data, not source."""
_DEPTH = 6
_ENTRIES = 20_000
_NOT_SOURCE = re.compile(
    r".*\.(?:o|obj|a|so|d|py[co]|xclbin|elf|exe|bin|insts|prj|pdi|log|lit|safetensors|pt|gguf|png|"
    r"pdf|tmp|sw[po]|orig|rej)|.*~",
    re.IGNORECASE,
)
# Where make, the compiler and Python leave what they made.
_MADE = re.compile(r"build([_-].*)?|__pycache__|air_project|node_modules|CMakeFiles")
_MAKE = re.compile(r"(?:GNU)?[Mm]akefile|CMakeLists\.txt|.*\.(?:mk|cmake|sh)")
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"', re.MULTILINE)
# A tenth of the time of ast.parse, and it reads what is no Python of today too. A line of a
# docstring that looks like an import does no harm: only files that are there are taken.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import\b[ \t]*(\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+([^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[\s(]*([A-Za-z_][\w.]*)")
_OUTSIDE = re.compile(rb"(?:\.\./)+[A-Za-z0-9_./+-]{1,200}")


def hardware_sources(harness: Harness, root: Path) -> dict[str, str]:
    """SHA-256 of each file that takes part in runs of ``harness``, by its path below ``root``.

    Build folders, caches, hidden files, objects and test drivers are none; nor is what is not
    there or cannot be read. At most `FILES`, those of the harness's own folders first.
    """
    runs = [harness.correctness, harness.timing, harness.compile]
    folders = [run.folder for run in runs if run is not None]
    return sources_of(root, folders, harness.build)


def sources_of(root: Path, folders: Iterable[str], build: Sequence[str] = ()) -> dict[str, str]:
    """The same for ``folders`` below ``root``, of which ``build`` are made anew for each run."""
    top = Path(os.path.realpath(root))
    made = {PurePosixPath(folder) for folder in build}
    todo = list[Path]()
    for folder in dict.fromkeys(_source_folder(PurePosixPath(name), made) for name in folders):
        if folder.parts and ".." not in folder.parts and not folder.is_absolute():
            todo += _walk(top / folder, {top / path for path in made})
    own = set(todo)
    found = dict[str, str]()
    seen = set[Path]()
    while todo and len(found) < FILES:
        path = todo.pop(0)
        if path in seen:
            continue
        seen.add(path)
        data = _content(path)
        if data is None:
            continue
        found[path.relative_to(top).as_posix()] = hashlib.sha256(data).hexdigest()
        others = (other for other in _reached(path, data, top) if _is_source(other, top))
        todo += [other for other in others if other not in seen and other not in own]
    return dict(sorted(found.items()))


def _source_folder(folder: PurePosixPath, build: set[PurePosixPath]) -> PurePosixPath:
    """``folder``, or for one inside a build folder the one that this is made in."""
    for path in (folder, *folder.parents):
        if path in build or _MADE.fullmatch(path.name):
            return path.parent
    return folder


def _walk(folder: Path, build: set[Path]) -> Iterator[Path]:
    """The source files below ``folder``, folder by folder; links to folders are not followed."""
    level, looked = [folder], 0
    for _ in range(_DEPTH):
        below = list[Path]()
        for place in level:
            try:
                entries = sorted(os.scandir(place), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                looked += 1
                if looked > _ENTRIES:
                    return
                path = place / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not _is_made(entry.name) and path not in build:
                        below.append(path)
                elif _is_source_name(entry.name):
                    yield path
        level = below


def _is_made(name: str) -> bool:
    return name.startswith(".") or _MADE.fullmatch(name) is not None


def _is_source_name(name: str) -> bool:
    return not name.startswith(".") and _NOT_SOURCE.fullmatch(name) is None


def _is_source(path: Path, top: Path) -> bool:
    """Whether ``path``, found by following a reference, is a source file of the tree ``top``."""
    try:
        parts = path.relative_to(top).parts
    except ValueError:
        return False
    folders = parts[:-1]
    return bool(parts) and _is_source_name(parts[-1]) and not any(map(_is_made, folders))


def _content(path: Path) -> bytes | None:
    """The bytes of a regular file (or of the one that a link leads to), if it is not too large."""
    try:
        # O_NONBLOCK: opening a FIFO must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > SIZE:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(SIZE)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _reached(path: Path, data: bytes, top: Path) -> Iterator[Path]:
    """The files elsewhere in the tree that ``path`` refers to."""
    if path.suffix == ".py":
        yield from _imported(path, data, top)
    elif _MAKE.fullmatch(path.name):
        yield from _named(path, data)
    elif path.suffix in (".cc", ".cpp", ".c", ".h", ".hpp", ".inc"):
        for match in _INCLUDE.finditer(data):
            yield _file(path.parent / os.fsdecode(match[1]))


def _named(path: Path, data: bytes) -> Iterator[Path]:
    """What `../` leads to, from the file's folder and from a build folder in it."""
    for match in _OUTSIDE.finditer(data):
        for folder in (path.parent, path.parent / "build"):
            target = _file(folder / os.fsdecode(match[0]))
            if target.is_file():
                yield target


def _file(path: Path) -> Path:
    # By its name, not by where links lead: names in a verdict are those in the tree.
    return Path(os.path.normpath(path))


def _imported(path: Path, data: bytes, top: Path) -> Iterator[Path]:
    """The modules of the tree that a script imports.

    Scripts put folders above their own on sys.path; so a module is looked for in each of them, the
    nearest first.
    """
    for dots, name in dict.fromkeys(_imports(data)):
        parts = name.split(".")
        for place in _above(path, top) if dots == 0 else path.parents[dots - 1 : dots]:
            found = [file for file in _module_files(place, parts) if file.is_file()]
            if found:
                yield from found
                break


def _above(path: Path, top: Path) -> Iterator[Path]:
    for folder in path.parents:
        yield folder
        if folder == top:
            return


def _module_files(place: Path, parts: Sequence[str]) -> Iterator[Path]:
    """The file of a dotted name, and those of the packages on the way to it."""
    for depth in range(1, len(parts) + 1):
        folder = place.joinpath(*parts[:depth])
        yield folder / "__init__.py"
        yield folder.with_name(f"{folder.name}.py")


def _imports(data: bytes) -> Iterator[tuple[int, str]]:
    """Each import as (leading dots, dotted name); names from a package may be modules."""
    text = data.replace(b"\\\n", b" ").decode("utf-8", "replace")
    for dots, base, names, modules in _IMPORT.findall(text):
        if base:
            yield len(dots), base
        parts = re.sub(r"#[^\n]*", "", names or modules).split(",")
        for name in filter(None, map(_NAME.match, parts)):
            yield len(dots), f"{base}.{name[1]}" if base else name[1]
