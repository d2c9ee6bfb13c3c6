"""A registry whose hardware target runs the harnesses of a stand-in tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.acceptance import world as worlds
from tests.acceptance.world import World
from tests.standin.build import Tree
from tests.standin.rows import Row

PATIENCE_S = 60.0


@dataclass
class Bench:
    """A world with a device beside it; ``tree`` may be shared by several."""

    world: World
    tree: Tree

    def configure(self, **settings: object) -> None:
        """Write registry.yaml: npu2 first, with ``settings`` over quick limits."""
        target = {
            "kind": "hardware",
            "lock": {"path": str(self.tree.lock), "limit_s": 30},
            "harness_root": str(self.tree.root),
            "run_limit_s": 30,
            "compile_limit_s": 20,
            "timing_runs": 1,
            **settings,
        }
        emulated = {
            "kind": "emulated",
            "lock": {"path": str(self.world.folder.parent / "emulated.lock"), "limit_s": 30},
        }
        policy = {
            "schema_version": 1,
            "targets": {"npu2": target, "npu2-emu": emulated},
            "signing": "off",
        }
        # JSON is YAML; the reader need not care.
        (self.world.registry / "registry.yaml").write_text(json.dumps(policy, indent=2) + "\n")

    def verify(self, row: Row, *words: str) -> subprocess.CompletedProcess[str]:
        """`registry-tool verify` of one row."""
        return self.world.tool(*verify_words(row), *words)

    def passes(self, row: Row, *words: str) -> str:
        """The same, which must succeed; what it printed on both streams."""
        done = self.verify(row, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def record(self) -> dict[str, Any]:
        """The only record there is."""
        (path,) = self.world.records()
        return dict(json.loads(path.read_bytes()))

    def verdicts(self, kernel: str | None = None) -> list[dict[str, Any]]:
        """Every verdict, oldest first; of one kernel if it is given."""
        documents = [json.loads(path.read_bytes()) for path in self.world.verdicts()]
        found = [d for d in documents if kernel in (None, d["subject"]["kernel"])]
        return sorted(found, key=lambda document: document["run_id"])

    def verdict(self) -> dict[str, Any]:
        """The only verdict there is."""
        (document,) = self.verdicts()
        return document

    def logs(self) -> list[Path]:
        """Every captured standard output."""
        return sorted((self.world.registry / "verdicts").rglob("*.log"))

    @contextmanager
    def verifying(self, row: Row, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A verify that goes on in the background; killed at the end."""
        running = subprocess.Popen(
            ["registry-tool", *verify_words(row), *words],
            cwd=self.world.registry,
            env=self.world.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield running
        finally:
            running.kill()
            running.communicate()

    def wait_for(self, event: str, folder: str | None = None) -> dict[str, Any]:
        """The first entry of the journal of that kind, as soon as it stands there."""

        def found() -> dict[str, Any] | None:
            for entry in self.tree.journal():
                if entry["event"] == event and folder in (None, entry["folder"]):
                    return entry
            return None

        return until(found)


def until(found: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    """What ``found`` answers at last; fails after a while."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = found()
        if answer is not None:
            return answer
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def verify_words(row: Row) -> list[str]:
    """The arguments that verify one row on the device."""
    words = ["verify", "--target", "npu2", "--kernel", row.kernel, "--shape", row.shape_words]
    return [*words, "--variant", row.variant] if row.variant else words


def make(folder: Path, tree: Tree, hooks: bool = False) -> Bench:
    """A registry in a new repository in ``folder``, for the device of ``tree``."""
    bench = Bench(worlds.make(folder, hooks=hooks), tree)
    _surround(bench)
    bench.configure()
    bench.world.ok("render")
    bench.world.git("add", "--all")
    return bench


def copy(bench: Bench, folder: Path, tree: Tree) -> Bench:
    """The same registry in another ``folder``, for ``tree``: quicker than a new one."""
    shutil.copytree(bench.world.folder, folder / "repo")
    world = World(folder / "repo", folder / "repo", worlds.environment(folder))
    copied = Bench(world, tree)
    _surround(copied)
    copied.configure()
    world.git("add", "registry.yaml")
    return copied


def _surround(bench: Bench) -> None:
    tree, environment = bench.tree, bench.world.environment
    environment |= {
        **tree.environment,
        "PATH": f"{tree.tools}{os.pathsep}{environment['PATH']}",
    }


def processes_of(tree: Tree) -> list[psutil.Process]:
    """The live processes that work in the tree: what a run left behind."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(
                tree.top
            ):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def intervals(tree: Tree, *steps: str) -> list[tuple[float, float]]:
    """When the starts of ``steps`` began and ended, s, in order of their beginning."""
    begun: dict[int, float] = {}
    found = []
    for entry in tree.journal():
        if entry["step"] not in steps:
            continue
        if entry["event"] == "start":
            begun[entry["pid"]] = entry["at"]
        elif entry["event"] == "end":
            found.append((begun.pop(entry["pid"]), entry["at"]))
    assert not begun, "a start that did not end"
    return sorted(found)
