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

from registry_tool.errors import RegistryError, UsageError

if TYPE_CHECKING:
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

    Raises UsageError or RegistryError if there is none.
    """
    from registry_tool.store import registry as registries
    from registry_tool.store import snapshot
    from registry_tool.store.root import POLICY, find_root

    with tempfile.TemporaryDirectory(prefix="registry-tool-import-") as name:
        scratch = Path(name)
        if _becomes_one(folder, chosen):
            _new_policy(scratch, folder)
            made = registries.load(snapshot.of_worktree(scratch))
            yield Place(made, folder.resolve(), scratch, is_new=True)
            return
        root = find_root(Path.cwd()) if chosen is None else Path(chosen).resolve()
        if not (root / POLICY).is_file():
            raise UsageError(
                f"no {POLICY} in {root}",
                fix=f"registry-tool init {root} (or another --registry DIR)",
            )
        _copy(root, scratch)
        yield Place(registries.load(snapshot.of_worktree(root)), root, scratch, is_new=False)


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
    from registry_tool.commands.init import ATTRIBUTES, IGNORE, POLICY_TEXT
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

    The list of debt comes last: while it is missing, an import that was cut short starts again.
    """
    from registry_tool.commands.common import warn
    from registry_tool.commands.staging import stage_with_pages
    from registry_tool.store import git
    from registry_tool.store.files import write_if_changed

    for name in sorted(files, key=_order):
        write_if_changed(root / name, files[name])
    if not stage:
        return
    if git.open_repository(root) is None:
        warn(f"{root} is in no git repository: nothing was staged")
    else:
        stage_with_pages(root, files)


def _order(name: str) -> tuple[int, str]:
    from registry_tool.records.baseline import PATH

    if name == PATH:
        return 4, name
    top = name.partition("/")[0]
    steps = {".gitattributes": 0, ".gitignore": 0, "registry.yaml": 0, "verdicts": 1, "records": 2}
    return steps.get(top, 3), name
