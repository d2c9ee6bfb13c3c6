"""Whether harness_root of a target leads to the harness tree; looks at folders only."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from registry_tool.doctor.check import Check, Topic
from registry_tool.errors import UsageError
from registry_tool.records.spec import KernelSpec, Target
from registry_tool.verifier.hardware import check_path

_NAME = "programming_examples"


def find_root(target: Target) -> Path | None:
    """The folder that ``target`` names, whether or not it is there; None if it names none."""
    if not target.harness_root:
        return None
    try:
        return Path(target.harness_root).expanduser().absolute()
    except RuntimeError:  # ~ of somebody who does not exist
        return None


def check(
    name: str, target: Target, specs: Iterable[KernelSpec], environ: Mapping[str, str]
) -> Iterator[Check]:
    """What is to be said of the tree as a whole; a problem if kernels cannot be looked at."""
    topic = Topic(f"{name}: harness tree")
    folders = kernel_folders(name, specs)
    if not target.harness_root:
        guess = _found_near(Path.cwd(), folders)
        where = str(guess) if guess else f"the folder {_NAME}/ of the harness tree"
        yield topic.problem("harness_root", "it is not set", _set(name, where))
        return
    written, root = target.harness_root, find_root(target)
    if root is None or not root.is_dir():
        yield _not_there(topic, name, written, root, folders, environ)
        return
    if not Path(written).is_absolute():
        message = f"{written} means another folder for another user or working folder"
        yield topic.warning("harness_root", message, _set(name, str(root.resolve())))
    try:
        check_path(str(root.resolve()), "harness_root")
    except UsageError as error:
        yield topic.problem("harness_root", error.message, error.fix or _set(name, "a plain path"))
    present = [folder for folder in folders if (root / folder).is_dir()]
    if present or not folders:
        yield topic.ok(
            "harness_root", f"{root}: {len(present)} of {len(folders)} folders are there"
        )
        return
    guess = _found_near(root, folders)
    message = f"{root} is not {_NAME}/: none of the kernels' {len(folders)} folders is there"
    if guess is None:
        yield topic.problem("harness_root", message, _set(name, f"the folder {_NAME}/ of the tree"))
    else:
        yield topic.problem("harness_root", f"{message}, but in {guess}", _set(name, str(guess)))


def kernel_folders(target: str, specs: Iterable[KernelSpec]) -> list[str]:
    """The folders below harness_root that hold the kernels' harnesses."""
    found = []
    for spec in specs:
        harness = spec.harness.get(target)
        if harness is None:
            continue
        built = [PurePosixPath(folder) for folder in harness.build]
        folder = PurePosixPath(harness.correctness.folder)
        found.append(str(folder.parent if folder in built else folder))
    return list(dict.fromkeys(found))


def _not_there(
    topic: Topic,
    name: str,
    written: str,
    root: Path | None,
    folders: list[str],
    environ: Mapping[str, str],
) -> Check:
    if "$" in written:
        meant = Path(_expanded(written, environ))
        guess = meant if meant.is_dir() else None
        message = f"{written} holds a variable, which registry.yaml does not expand"
    elif root is None:
        guess, message = None, f"{written}: there is no such user"
    else:
        nearest = next(parent for parent in root.parents if parent.is_dir())
        guess = _found_near(nearest, folders) if nearest != Path("/") else None
        message = f"{root} is not a folder"
    where = str(guess) if guess else f"the folder {_NAME}/ of the harness tree"
    return topic.problem("harness_root", message, _set(name, where))


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    for key in sorted(environ, key=len, reverse=True):
        text = text.replace(f"${{{key}}}", environ[key]).replace(f"${key}", environ[key])
    return text


def _found_near(start: Path, folders: list[str]) -> Path | None:
    """The folder at, below or above ``start`` that holds most of ``folders``; None if none does."""
    places = [
        start,
        *start.parents[:3],
        *_below(start),
        *(one / _NAME for one in start.parents[:3]),
    ]
    best = max(places, key=lambda place: _held(place, folders), default=None)
    return best if best is not None and _held(best, folders) else None


def _held(place: Path, folders: list[str]) -> int:
    return sum((place / folder).is_dir() for folder in folders)


def _below(start: Path, depth: int = 2) -> Iterator[Path]:
    try:
        children = sorted(one for one in start.iterdir() if one.is_dir())
    except OSError:
        return
    for child in children:
        yield child
        if depth > 1 and not child.name.startswith("."):
            yield from _below(child, depth - 1)


def _set(name: str, value: str) -> str:
    shown = shlex.quote(value) if value.startswith("/") else value
    return f"set targets.{name}.harness_root in registry.yaml to {shown}"
