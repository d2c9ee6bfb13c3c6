"""A small registry in a real repository with the hooks as `init --hooks` installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from registry_tool.records import catalog
from tests.examples import example
from tests.examples.build import GEMM, OTHER, SMALL, Row, make_row
from tests.examples.example import Example

BIN = Path(sys.executable).parent
EMPTY_COMMIT = ("commit", "-q", "--allow-empty", "-m", "Nothing")


def row(*shape: int, second: int = 5) -> Row:
    """A GEMM row that every rule accepts."""
    return make_row(
        catalog.built_in()[GEMM], dict(zip("MKN", shape, strict=True)), "drain", second=second
    )


A = make_row(catalog.built_in()[GEMM], SMALL, "drain")
B = make_row(catalog.built_in()[GEMM], OTHER, "drain", second=6)
C = row(4096, 1024, 1024, second=7)
D = row(4096, 2048, 1024, second=8)


def on_path(made: Example) -> Example:
    """``made`` with the real command on PATH, and a HOME that is nobody's."""
    made.environment["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    # Every call of the tool would compile all of it anew.
    made.environment.pop("PYTHONDONTWRITEBYTECODE", None)
    made.environment["HOME"] = str(made.repo.parent)
    made.environment["PRE_COMMIT_HOME"] = str(made.repo.parent / "pre-commit-home")
    return made


def tool(made: Example, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own."""
    done = subprocess.run(
        ["registry-tool", *words],
        cwd=cwd or made.root,
        env=made.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "this is a bug" not in done.stderr, done.stderr
    return done


def ok(made: Example, *words: str, cwd: Path | None = None) -> str:
    done = tool(made, *words, cwd=cwd)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def install(made: Example, kind: str = "plain") -> Example:
    """``made`` with hooks and merge drivers, committed."""
    ok(on_path(made), "init", "--hooks", "--hook-kind", kind)
    made.commit("Install the hooks")
    return made


def put(made: Example, *rows: Row, message: str = "Add") -> str:
    """Commit ``rows`` with their tables, through the hooks; the commit."""
    made.add(*rows)
    made.render()
    made.git("add", "-A")
    made.git("commit", "-q", "-m", message)
    return made.git("rev-parse", "HEAD").strip()


def forge(made: Example, target: Row = A) -> str:
    """Better a figure of ``target`` by hand, tables and all; its path below the registry."""
    made.edit(target.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    made.render()
    return target.id.record_path


def refused(
    made: Example, *words: str, rule: str = "KR105", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git, which a hook must stop because of ``rule``."""
    done = made.try_git(*words, cwd=cwd)
    assert done.returncode != 0, done.stdout + done.stderr
    assert rule in done.stdout + done.stderr, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def gated_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(example.make(tmp_path_factory.mktemp("gated"), A, B)).repo


@pytest.fixture
def gated(tmp_path: Path, gated_template: Path) -> Example:
    """Rows ``A`` and ``B``, committed, with plain hooks and the merge drivers."""
    repo = tmp_path / "repo"
    shutil.copytree(gated_template, repo, symlinks=True)
    made = on_path(Example(repo, repo))
    # Copies have other file times than the index remembers.
    made.git("update-index", "-q", "--refresh")
    return made
