"""Where a model's own files are: in the harness tree, where it has a folder there, or beside us."""

from __future__ import annotations

import os
import shlex
from pathlib import Path, PurePosixPath

from registry_tool.errors import RegistryError, UsageError
from registry_tool.records.spec import Target
from registry_tool.store.registry import POLICY, Registry
from registry_tool.store.snapshot import OWN


def choose(registry: Registry, target: str, name: str, wanted: str | None) -> Path:
    """The folder of model ``name``: ``wanted``, else its folder in the harness tree, else here.

    Raises UsageError for a ``wanted`` that is no folder, or for a name that the registry's own
    files bear.
    """
    if wanted is not None:
        folder = Path(wanted)
        if not folder.is_dir():
            raise UsageError(
                "no such folder" if not os.path.lexists(folder) else "not a folder",
                path=folder,
                fix="give another --folder DIR"
                if os.path.lexists(folder)
                else f"{shlex.join(['mkdir', '-p', str(folder)])} (or another --folder DIR)",
            )
        return folder.resolve()
    known = harness_folder(registry.target(target), name)
    if known is not None:
        return known.resolve()
    if name in OWN:
        raise UsageError(
            f"the model is called as a part of the registry is, {name!r}, and has no folder in "
            "the harness tree",
            fix=f"registry-tool model {name} --write --folder DIR",
        )
    return registry.root / name


def harness_folder(target: Target, name: str) -> Path | None:
    """The model's folder in the target's harness tree, or None if it is not there.

    Raises RegistryError for a `model_folders` entry that leaves the tree.
    """
    return _below(target, target.model_folders.get(name, name))


def diagnosis_folder(target: Target, name: str) -> Path | None:
    """Where `make diagnosis` of the model is run, or None if there is no such folder."""
    template = target.diagnosis.folder
    try:
        folder = template.format_map({"model": target.model_folders.get(name, name)})
    except (KeyError, ValueError, IndexError, AttributeError):
        raise RegistryError(
            f"the folder of its diagnosis cannot be filled: {template!r}",
            path=POLICY,
            fix="use {model} for the model's folder",
        ) from None
    return _below(target, folder)


def _below(target: Target, name: str) -> Path | None:
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts:
        raise RegistryError(
            f"a model's folder stands below harness_root, and {name!r} leaves it", path=POLICY
        )
    if target.harness_root is None:
        return None
    folder = Path(target.harness_root).expanduser() / inside
    return folder if folder.is_dir() else None
