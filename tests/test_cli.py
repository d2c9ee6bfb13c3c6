"""The command line: one clear message, the right exit status, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from registry_tool import __version__
from registry_tool.cli import VERBS


def run(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "registry_tool", *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_version_is_printed_without_importing_anything_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "registry_tool", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"registry-tool {__version__}\n"
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"argparse", "msgspec", "numpy", "git", "mistletoe", "jsonschema", "json"}


def test_checking_the_index_imports_none_of_the_slow_libraries(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert run("init", cwd=tmp_path).returncode == 0
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "registry_tool", "check", "--staged"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"numpy", "git", "mistletoe", "jsonschema", "ruamel.yaml"}


def test_help_names_every_verb() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help(verb: str) -> None:
    done = run(verb, "--help")
    assert done.returncode == 0, done.stderr
    assert "--registry" in done.stdout


def test_an_unknown_verb_is_wrong_use_with_a_hint() -> None:
    done = run("verfy")
    assert done.returncode == 2
    assert "did you mean 'verify'" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("check", "--format", "xml"),
        ("status", "--registry", "/nonexistent"),
        ("shapes", "/nonexistent.json"),
        ("judge", "/nonexistent.log"),
        ("emulate", "No_such_kernel", "M=1"),
        ("emulate", "RoPE_bf16", "rows=0", "head_dim=64"),
        ("emulate", "RoPE_bf16", "rows=x", "head_dim=64"),
        ("emulate", "RoPE_bf16", "8x64x1"),
        ("explain", "KR999"),
    ],
)
def test_wrong_use_is_status_two_and_one_message(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_outside_a_registry_the_message_says_what_to_type(tmp_path: Path) -> None:
    done = run("status", cwd=tmp_path)
    assert done.returncode == 2
    assert "registry-tool init" in done.stderr


def test_common_options_may_stand_before_the_verb(tmp_path: Path) -> None:
    assert run("init", str(tmp_path / "a")).returncode == 0
    done = run("--registry", str(tmp_path / "a"), "status", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert '"npu2-emu"' in done.stdout
