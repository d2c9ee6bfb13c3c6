"""A registry on disk in a throw-away git repository, with the real commands to look at it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from registry_tool.cli import main
from registry_tool.store import registry as registries
from registry_tool.store import snapshot as snapshots
from registry_tool.tables import render
from tests.examples.build import Row

POLICY = """\
schema_version: 1
targets:
  npu2-emu:
    kind: emulated
    lock: {path: /tmp/registry-tool-example.lock, limit_s: 60}
  npu2:
    kind: hardware
    lock: {path: /tmp/registry-tool-example-npu.lock, limit_s: 60}
"""
MODEL = """\
{
  "$schema": "../schemas/model-1.schema.json",
  "schema_version": 1,
  "model": "Toy-1B",
  "config_sha256": "0000000000000000000000000000000000000000000000000000000000000000",
  "seq": 2048,
  "needs": [],
  "uncovered": [],
  "notes": []
}
"""
IDENTITY = {
    "GIT_AUTHOR_NAME": "A. Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "A. Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "NO_COLOR": "1",
}


def environment() -> dict[str, str]:
    """The tests' own environment: a pinned git identity, no configuration of this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **IDENTITY}


@dataclass
class Example:
    """``repo`` is the repository, ``root`` the registry in it (often the same)."""

    repo: Path
    root: Path
    environment: dict[str, str] = field(default_factory=environment)

    def path(self, name: str) -> Path:
        return self.root / name

    def write(self, files: Mapping[str, bytes | str]) -> None:
        for name, data in files.items():
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)

    def add(self, *rows: Row) -> None:
        for row in rows:
            self.write(row.files())

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace ``old``, which must be there, by ``new``; bytes outside stay as they are."""
        data = self.path(name).read_bytes()
        assert old.encode() in data, f"{old!r} is not in {name}"
        self.path(name).write_bytes(data.replace(old.encode(), new.encode(), 1))

    def render(self) -> None:
        """Write every generated file, hand edits or not."""
        registry = registries.load(snapshots.of_worktree(self.root))
        existing = {path: registry.snapshot.read(path) for path in registry.snapshot.oids}
        self.write(render.stale(render.pages(registry, registry.records), existing))

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = self.try_git(*words, cwd=cwd)
        assert done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def try_git(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words],
            cwd=cwd or self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit(self, message: str = "Change") -> None:
        """Commit everything, past any hook."""
        self.git("add", "-A", ".")
        self.git("commit", "-q", "--no-verify", "--allow-empty", "-m", message)

    def command(self, *words: str) -> tuple[int, str]:
        """Exit status and standard output of the real command, in this process."""
        out = io.StringIO()
        with _environment(self.environment), contextlib.redirect_stdout(out):
            status = main([*words, "--registry", str(self.root)])
        return status, out.getvalue()

    def findings(self, *words: str) -> list[dict[str, Any]]:
        """What `registry-tool check WORDS --format json` finds; its exit status must fit."""
        status, out = self.command("check", *words, "--format", "json")
        found: list[dict[str, Any]] = json.loads(out)["findings"]
        blocking = any(finding["severity"] == "error" for finding in found)
        assert status == (1 if blocking else 0)
        return found

    def rules(self, *words: str) -> set[str]:
        """The ids of the rules that refuse the state."""
        return ids(self.findings(*words))


def ids(findings: Iterable[Mapping[str, Any]], severity: str = "error") -> set[str]:
    """The rules of the findings of one severity."""
    return {finding["rule"] for finding in findings if finding["severity"] == severity}


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Any:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def make(folder: Path, *rows: Row, inside: str = "") -> Example:
    """A rendered registry with ``rows``, committed, in the subfolder ``inside`` of a repository."""
    repo = folder / "repo"
    root = repo / inside if inside else repo
    root.mkdir(parents=True)
    example = Example(repo, root)
    example.git("init", "-q", "-b", "main")
    example.write({"registry.yaml": POLICY, "models/Toy-1B.json": MODEL})
    example.add(*rows)
    example.render()
    example.commit("Start")
    return example
