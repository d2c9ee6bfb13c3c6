"""Writes a stand-in tree of harnesses into a folder: what tests have instead of an NPU.

``tree/`` is the tree itself, ``tools/`` what stands around it. The scripts speak the dialect of
the real harnesses, with numbers of the emulation, and misbehave as the faults file says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Tree:
    """A tree that was built: ``root`` is its programming_examples/, ``lock`` the outer lock."""

    top: Path
    root: Path
    peano: Path
    tools: Path
    lock: Path
    temporary: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a shell of somebody who works with the tree has set, beside the usual."""
        return {
            "PEANO_INSTALL_DIR": str(self.peano),
            "TMPDIR": str(self.temporary),
            # The scripts start `python3`: here the one that has the emulation.
            "PATH": os.pathsep.join(
                [str(self.tools), str(Path(sys.executable).parent), os.environ["PATH"]]
            ),
        }

    def misbehave(self, *faults: dict[str, Any]) -> None:
        """From now on, do as ``faults`` say (see air_standin.faults), and count starts anew."""
        home = self.top / ".standin"
        (home / "counters.json").unlink(missing_ok=True)
        (home / "faults.json").write_text(json.dumps({"faults": faults}), encoding="utf-8")

    def journal(self) -> list[dict[str, Any]]:
        """Every event so far, oldest first."""
        path = self.top / ".standin" / "journal.jsonl"
        if not path.is_file():
            return []
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    def starts(self, folder: str | None = None, step: str | None = None) -> list[dict[str, Any]]:
        """The starts of scripts, in order; of one folder and step, if these are given."""
        return [
            entry
            for entry in self.journal()
            if entry["event"] == "start"
            and folder in (None, entry["folder"])
            and step in (None, entry["step"])
        ]

    def forget(self) -> None:
        """Begin a new journal."""
        (self.top / ".standin" / "journal.jsonl").unlink(missing_ok=True)


def build_tree(folder: Path, cache: Path | None = None, layers: int = 8) -> Tree:
    """Write a tree, its compiler and its tools into ``folder``; the tree is a git repository.

    ``cache`` keeps emulated numbers for several trees; ``layers`` is what the model has.
    """
    tree = _tree_in(folder)
    shutil.copytree(
        HERE / "tree", tree.top, ignore=shutil.ignore_patterns("__pycache__", ".*cache")
    )
    for place, name in ((tree.peano / "bin", "clang++"), (tree.tools, "xrt-smi")):
        place.mkdir(parents=True)
        shutil.copy(HERE / "tools" / name, place / name)
        (place / name).chmod(0o755)
    ignored = ".standin\nbuild_*\n__pycache__\nreports\n"
    (tree.top / ".gitignore").write_text(ignored, encoding="utf-8")
    _commit(tree.top)
    _set_up(tree, cache, layers)
    return tree


def copy_tree(tree: Tree, folder: Path) -> Tree:
    """The same in another ``folder``, which is quicker than building it."""
    copy = _tree_in(folder)
    config = json.loads((tree.top / ".standin" / "config.json").read_bytes())
    unlike = shutil.ignore_patterns("__pycache__", ".standin", "build_*")
    for source, target in (
        (tree.top, copy.top),
        (tree.peano, copy.peano),
        (tree.tools, copy.tools),
    ):
        shutil.copytree(source, target, ignore=unlike)
    _set_up(copy, config["cache"], config["layers"])
    return copy


def _tree_in(folder: Path) -> Tree:
    top = folder / "mlir-air"
    return Tree(
        top=top,
        root=top / "programming_examples",
        peano=folder / "llvm-aie",
        tools=folder / "bin",
        lock=folder / "device.lock",
        temporary=folder / "tmp",
    )


def _set_up(tree: Tree, cache: Path | str | None, layers: int) -> None:
    tree.temporary.mkdir()
    (tree.top / ".standin").mkdir()
    config = {"lock": str(tree.lock), "cache": str(cache) if cache else None, "layers": layers}
    (tree.top / ".standin" / "config.json").write_text(json.dumps(config), encoding="utf-8")


def _commit(top: Path) -> None:
    git = [
        "git", "-C", str(top), "-c", "user.name=A Tester", "-c",
        "user.email=tester@example.invalid", "-c", "init.defaultBranch=main", "-c",
        "commit.gpgSign=false",
    ]  # fmt: skip
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "A stand-in tree"]):
        subprocess.run([*git, *words], check=True, env=environment, stdin=subprocess.DEVNULL)
