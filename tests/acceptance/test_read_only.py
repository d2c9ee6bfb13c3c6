"""Folders that may not be written or read: one message, exit 2, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World
from tests.tables.samples import gemm_records, write_registry

PAGE = "details/GEMM_bf16_in_bf16_out.md"
# The superuser may write everywhere, unless it gives that up.
_PLAIN = ("--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
SETPRIV = ("setpriv", *_PLAIN) if os.geteuid() == 0 else ()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    if SETPRIV and shutil.which("setpriv") is None:
        pytest.skip("the superuser cannot be refused here")
    root = tmp_path / "registry"
    root.mkdir()
    write_registry(root, gemm_records())
    subprocess.run(["git", "init", "-q", root], check=True)
    world = World(root, root, worlds.environment(tmp_path))
    world.ok("render")
    yield world
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)


def forbid(world: World, mode: int, *paths: str) -> None:
    for path in paths:
        (world.registry / path).chmod(mode)


def contents(world: World) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in sorted(world.registry.rglob("*"))
        if path.is_file() and ".git/" not in str(path)
    }


def refused(world: World, *words: str) -> str:
    """The message of a command that may not do what it would; what was there is there."""
    before = contents(world)
    done = world.run(*SETPRIV, "registry-tool", *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("registry-tool: ") == 1
    assert contents(world) == before
    return done.stderr


def test_render_that_may_not_write_a_page_says_so(world: World) -> None:
    path = world.registry / PAGE
    path.write_text(path.read_text().split("<!-- registry:begin")[0])
    forbid(world, 0o555, "details")
    path.write_text("<!-- registry:begin shapes -->\n<!-- registry:end -->\n")
    assert "Permission denied" in refused(world, "render")


def test_absorb_that_may_not_write_a_row_changes_no_page(world: World) -> None:
    path = world.registry / PAGE
    text = path.read_text()
    assert "| faster, but \\`low\\` |" in text
    path.write_text(text.replace("| faster, but \\`low\\` |", "| slower |"))
    forbid(world, 0o555, "records/npu2/GEMM_bf16_in_bf16_out")
    assert "Permission denied" in refused(world, "absorb")
    assert "| slower |" in path.read_text()


def test_export_into_a_folder_that_may_not_be_written_says_so(world: World) -> None:
    forbid(world, 0o555, ".")
    assert "Permission denied" in refused(world, "export", "--form", "csv", "--out", "out")


@pytest.mark.parametrize("words", [("render",), ("absorb",)])
def test_a_page_that_may_not_be_read_is_named(world: World, words: tuple[str, ...]) -> None:
    before = (world.registry / PAGE).read_bytes()
    forbid(world, 0o000, PAGE)
    done = world.run(*SETPRIV, "registry-tool", *words)
    forbid(world, 0o644, PAGE)
    assert done.returncode == 2
    assert PAGE in done.stderr
    assert (world.registry / PAGE).read_bytes() == before


def test_a_lookup_needs_no_folder_that_it_may_write(world: World) -> None:
    forbid(world, 0o555, ".", "details", "records")
    words = ("lookup", "GEMM_bf16_in_bf16_out", "2048x8192x2048")
    done = world.run(*SETPRIV, "registry-tool", *words)
    assert done.returncode == 0, done.stderr
    assert "fused-cast" in done.stdout


KERNEL = "GEMM_bf16_in_bf16_out"


@pytest.mark.parametrize(
    ("words", "is_tracked", "mode"),
    [
        (("render",), True, 0o000),
        (("absorb",), True, 0o000),
        (("lookup", KERNEL, "2048x8192x2048"), True, 0o444),
        (("export", "--form", "csv", "--out", "out"), True, 0o111),
        (("status",), False, 0o000),
    ],
)
def test_rows_that_may_not_be_read_are_no_rows_that_are_unchanged(
    world: World, words: tuple[str, ...], is_tracked: bool, mode: int
) -> None:
    if is_tracked:
        subprocess.run(["git", "add", "-A"], cwd=world.registry, check=True)
    folder = world.registry / "records/npu2" / KERNEL
    before = contents(world)
    folder.chmod(mode)
    done = world.run(*SETPRIV, "registry-tool", *words)
    folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("registry-tool") == 1
    assert f"chmod u+rx records/npu2/{KERNEL}" in done.stderr
    assert contents(world) == before


def test_rows_that_may_not_be_read_are_named_outside_of_git_as_well(world: World) -> None:
    shutil.rmtree(world.registry / ".git")
    folder = world.registry / "records/npu2"
    folder.chmod(0o000)
    done = world.run(*SETPRIV, "registry-tool", "render", "--check")
    folder.chmod(0o755)
    assert done.returncode == 2
    assert "chmod u+rx records/npu2\n" in done.stderr
