"""A throw-away git repository with a registry in it, and the real command to work on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TINY_LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "hidden_act": "silu",
    "vocab_size": 16384,
}


@dataclass
class World:
    """``folder`` is the repository; ``registry`` the registry in it (often the same)."""

    folder: Path
    registry: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=cwd or self.registry,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def tool(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = self.run("registry-tool", *words)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def ok(self, *words: str) -> str:
        done = self.tool(*words)
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *words: str, status: int = 0) -> Any:
        done = self.tool(*words, "--format", "json")
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout)

    def git(self, *words: str) -> str:
        done = self.run("git", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def commit(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("git", "commit", *(words or ("-m", "A change")))

    def records(self) -> list[Path]:
        return sorted((self.registry / "records").rglob("*.json"))

    def verdicts(self) -> list[Path]:
        return sorted((self.registry / "verdicts").rglob("*.json"))

    def write_config(self, document: dict[str, Any] | None = None, name: str = "tiny") -> Path:
        path = self.folder.parent / f"{name}.json"
        path.write_text(json.dumps(TINY_LLAMA if document is None else document))
        return path


def environment(folder: Path) -> dict[str, str]:
    """The tests' own environment: a pinned git identity, no configuration of this machine."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = A Tester\n\temail = tester@example.invalid\n"
        "[init]\n\tdefaultBranch = main\n"
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT"))}
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(home / "pre-commit"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TMPDIR": str(home),
    }


def make(folder: Path, inside: str = "", hooks: bool = False) -> World:
    """A new repository in ``folder``/repo with a registry in its subfolder ``inside``.

    The emulated target gets a lock of its own, so that worlds do not wait for each other.
    """
    repository = folder / "repo"
    registry = repository / inside if inside else repository
    registry.mkdir(parents=True)
    world = World(repository, registry, environment(folder))
    world.run("git", "init", "-q", cwd=repository)
    world.ok("init", *(["--hooks"] if hooks else []))
    policy = registry / "registry.yaml"
    lock = folder / "device.lock"
    policy.write_text(policy.read_text().replace("/tmp/registry-tool-npu2-emu.lock", str(lock)))
    world.git("add", "registry.yaml")
    return world
