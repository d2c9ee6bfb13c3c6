"""Where an import writes: everything into a scratch copy first, then into the registry, or nothing.

What is read and made of it is not known here.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.errors import InputError, RegistryError, UsageError

if TYPE_CHECKING:
    from registry_tool.store.git import Repository
    from registry_tool.store.registry import Registry

README = "README.md"


@dataclass(frozen=True)
class Place:
    """``registry`` is what is there now; ``is_new`` says that ``root`` is to become one."""

    registry: Registry
    root: Path
    scratch: Path
    is_new: bool


@contextmanager
def opened(folder: Path, chosen: str | None) -> Iterator[Place]:
    """The registry that ``chosen`` names, or the nearest one; else ``folder`` becomes one itself.

    Raises UsageError or RegistryError if there is none, InputError if its pages are no plain files.
    """
    from registry_tool.adoption.folder import require_regular
    from registry_tool.store import registry as registries
    from registry_tool.store import snapshot
    from registry_tool.store.root import POLICY

    with tempfile.TemporaryDirectory(prefix="registry-tool-import-") as name:
        scratch = Path(name)
        if _becomes_one(folder, chosen):
            _new_policy(scratch, folder)
            made = registries.load(snapshot.of_worktree(scratch))
            yield Place(made, folder.resolve(), scratch, is_new=True)
            return
        root = _nearest(folder) if chosen is None else Path(chosen).resolve()
        if not (root / POLICY).is_file():
            raise UsageError(
                f"no {POLICY} in {root}",
                fix=f"registry-tool init {root} (or another --registry DIR)",
            )
        require_regular(root)
        _copy(root, scratch)
        yield Place(registries.load(snapshot.of_worktree(root)), root, scratch, is_new=False)


def _nearest(folder: Path) -> Path:
    """The registry around this folder; else ``folder``, which an earlier import made one."""
    from registry_tool.store.root import POLICY, find_root

    try:
        return find_root(Path.cwd())
    except RegistryError:
        if not (folder / POLICY).is_file():
            raise
        return folder.resolve()


def _becomes_one(folder: Path, chosen: str | None) -> bool:
    """Whether the folder to adopt is no registry yet, and no other one is meant."""
    from registry_tool.store.root import POLICY, find_root

    if not folder.is_dir() or (folder / POLICY).exists():
        return False
    if chosen is not None:
        return Path(chosen).resolve() == folder.resolve()
    try:
        find_root(Path.cwd())
    except RegistryError:
        return True
    return False


def _new_policy(scratch: Path, root: Path) -> None:
    """What `init` writes into an empty folder, without pages."""
    from registry_tool.commands.skeleton import ATTRIBUTES, IGNORE, POLICY_TEXT
    from registry_tool.store.root import POLICY

    for name, text in ((".gitattributes", ATTRIBUTES), (".gitignore", IGNORE)):
        before = (root / name).read_text("utf-8") if (root / name).exists() else ""
        missing = [line for line in text.splitlines() if line not in before.splitlines()]
        ending = "" if before.endswith("\n") or not before else "\n"
        (scratch / name).write_text(f"{before}{ending}{chr(10).join([*missing, ''])}", "utf-8")
    (scratch / POLICY).write_text(POLICY_TEXT, "utf-8")
    if (root / "kernels").is_dir():
        shutil.copytree(root / "kernels", scratch / "kernels")


def _copy(root: Path, scratch: Path) -> None:
    """What pages are rendered from: all but the verdicts."""
    from registry_tool.records.baseline import PATH
    from registry_tool.store.snapshot import OWN

    for name in dict.fromkeys((*OWN, "layouts", PATH, README)):
        path = root / name
        if name == "verdicts" or not path.exists():
            continue
        if path.is_dir():
            shutil.copytree(path, scratch / name)
        else:
            shutil.copyfile(path, scratch / name)


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into the scratch folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write(root: Path, files: Mapping[str, bytes], stage: bool) -> None:
    """Write files into the registry, each of them whole, and stage them if asked.

    The list of debt comes last, after all else was written and staged: while it is missing, an
    import that was cut short starts again, and where it is, there is nothing left to do. Raises
    InputError, before anything is written, if something other than a plain file is in the way.
    """
    from registry_tool.commands.common import warn
    from registry_tool.records.baseline import PATH
    from registry_tool.store import git
    from registry_tool.store.files import write_if_changed

    _require_free(root, files)
    for name in sorted(files.keys() - {PATH}, key=_order):
        write_if_changed(root / name, files[name])
    repository = git.open_repository(root) if stage else None
    if repository is not None:
        _stage(root, repository, files)
    elif stage:
        warn(f"{root} is in no git repository: nothing was staged")
    if PATH in files:
        write_if_changed(root / PATH, files[PATH])
        if repository is not None:
            # Its content is staged already; now git also knows the file that has it.
            git.stage(repository, [PATH])


def _stage(root: Path, repository: Repository, files: Mapping[str, bytes]) -> None:
    """Stage what this import or an interrupted one wrote; the list of debt as it is going to be."""
    from registry_tool.commands.staging import stage_with_pages
    from registry_tool.records.baseline import PATH
    from registry_tool.store import git
    from registry_tool.store.files import TEMPORARY_SUFFIX

    changed, untracked = git.worktree_differences(repository, _OF_AN_IMPORT)
    left = {name for name in changed | untracked if not name.endswith(TEMPORARY_SUFFIX)}
    stage_with_pages(root, (files.keys() - {PATH}) | left)
    if PATH in files:
        path = f"{repository.prefix}{PATH}"
        made = repository.run("hash-object", "-w", "--stdin", "--path", path, stdin=files[PATH])
        entry = f"100644,{made.decode().strip()},{path}"
        repository.run("update-index", "--add", "--cacheinfo", entry)


def _require_free(root: Path, files: Mapping[str, bytes]) -> None:
    """Raise InputError unless each path is a plain file or free, and no link is on its way."""
    folders = {root / parent for name in files for parent in Path(name).parents} - {root}
    for path in sorted({*folders, *(root / name for name in files)}):
        is_folder = path in folders
        is_right = path.is_dir() if is_folder else path.is_file()
        if path.is_symlink() or (path.exists() and not is_right):
            what = "folder" if is_folder else "regular file"
            raise InputError(
                f"an import writes a {what} here, and something else is in the way",
                path=path,
                fix=f"take it away, or put a {what} in its place",
            )


_OF_AN_IMPORT = ("registry.yaml", ".gitattributes", ".gitignore", "layouts")
_STEPS = {".gitattributes": 0, ".gitignore": 0, "registry.yaml": 0, "layouts": 2}


def _order(name: str) -> tuple[int, str, int]:
    """Each artifact before the record that cites it, then layouts, then the pages they fill."""
    from registry_tool.records.keys import parse_record_path, parse_verdict_path

    row = parse_record_path(name)
    if row is not None:
        return 1, str(row), 1
    verdict = parse_verdict_path(name)
    if verdict is not None:
        return 1, str(verdict.row), 0
    return _STEPS.get(name.partition("/")[0], 3), name, 0
