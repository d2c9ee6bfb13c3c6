"""What an import writes, in which order: a kill at any moment, and things that are in the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.world import World, environment
from tests.adoption.small import ADD, GEMM_JSON, GEMV, INDEX, write

IMPORT = ("import", ".", "--target", "npu2", "--mark")
# The real command, which kills itself right before it writes a file, or stages for the Nth time.
KILLED = """
import os, signal, sys
from pathlib import Path
from registry_tool.store import files, git

point, words = sys.argv[1], sys.argv[2:]
write, stage, stagings = files.write_atomic, git.stage, []

def end():
    os.kill(os.getpid(), signal.SIGKILL)

def write_atomic(path, data):
    # The scratch copy, in which an import is tried out, does not count.
    text = Path(path).as_posix()
    if text.endswith("/" + point) and "/registry-tool-import-" not in text:
        end()
    write(path, data)

def stage_or_end(repository, paths):
    stagings.append(None)
    if point == f"staging {len(stagings)}":
        end()
    stage(repository, paths)

files.write_atomic, git.stage = write_atomic, stage_or_end
from registry_tool.cli import main
sys.exit(main(words))
"""
POINTS = [
    ".gitattributes",
    "registry.yaml",
    "records/npu2/EltwiseAdd_bf16/1048576.json",
    "records/npu2/GEMV_bf16/1024x1024.json",
    "layouts/GEMV_bf16.json",
    ADD,
    GEMV,
    INDEX,
    "staging 1",
    "baseline.json",
    "staging 2",
]


def repository(tmp_path: Path) -> World:
    """A repository that holds the pages, and no registry yet."""
    folder = write(tmp_path / "repo")
    world = World(folder, folder, environment(tmp_path))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Pages")):
        assert world.run("git", *words).returncode == 0
    return world


def pages_and_layouts(world: World) -> dict[str, bytes]:
    found = [*world.registry.glob("*.md"), *world.registry.glob("details/*")]
    found += world.registry.glob("layouts/*")
    return {path.relative_to(world.registry).as_posix(): path.read_bytes() for path in found}


def errors(world: World) -> int:
    found = world.run("registry-tool", "check", "--format", "json").stdout
    return found.count('"severity": "error"')


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> World:
    """After an import that nobody interrupted."""
    world = repository(tmp_path_factory.mktemp("whole"))
    world.ok(*IMPORT)
    return world


@pytest.mark.parametrize("point", POINTS)
def test_a_retry_finishes_what_a_kill_interrupted(point: str, whole: World, tmp_path: Path) -> None:
    world = repository(tmp_path)
    done = world.run(sys.executable, "-c", KILLED, point, *IMPORT)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    world.ok(*IMPORT)
    assert pages_and_layouts(world) == pages_and_layouts(whole)
    assert {line[:2] for line in world.git("status", "--porcelain").splitlines()} == {"A ", "M "}
    staged = set(world.git("diff", "--cached", "--name-only").splitlines())
    expected = set(whole.git("diff", "--cached", "--name-only").splitlines())
    assert {n for n in expected if not n.startswith("verdicts/")} == {
        name for name in staged if not name.startswith("verdicts/")
    }
    assert errors(world) == errors(whole)
    assert "12 same" in world.ok(*IMPORT)


def test_a_retry_from_the_folder_above_finishes_as_well(tmp_path: Path) -> None:
    world = repository(tmp_path)
    words = ("import", str(world.registry), "--target", "npu2", "--mark")
    killed = world.run(sys.executable, "-c", KILLED, GEMV, *words, cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    done = world.run("registry-tool", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (world.registry / "baseline.json").is_file()


def test_a_list_of_debt_in_a_subfolder_is_staged_where_it_is(tmp_path: Path) -> None:
    folder = write(tmp_path / "repo" / "below")
    world = World(folder.parent, folder, environment(tmp_path))
    world.git("init", "-q", "..")
    world.ok(*IMPORT)
    staged = world.run("git", "show", ":below/baseline.json").stdout
    assert staged == (folder / "baseline.json").read_text()


def test_a_region_that_was_edited_by_hand_is_not_taken_for_an_interrupted_one(
    tmp_path: Path,
) -> None:
    world = repository(tmp_path)
    world.run(sys.executable, "-c", KILLED, "baseline.json", *IMPORT)
    page = world.registry / GEMV
    page.write_text(page.read_text().replace("150 µs", "140 µs"))
    done = world.tool(*IMPORT)
    assert done.returncode == 2
    assert "generated regions already" in done.stderr


# --- in the way ----------------------------------------------------------------------------------


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every path but git's own: its kind, and its bytes or where it leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] == ".git":
            continue
        data = b""
        if path.is_symlink():
            data = os.fsencode(path.readlink())
        elif path.is_file():
            data = path.read_bytes()
        found[name] = path.lstat().st_mode, data
    return found


def _link(path: Path, to: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(to)


def _details_elsewhere(root: Path) -> None:
    shutil.move(root / "details", root.parent / "elsewhere")
    (root / "details").symlink_to(root.parent / "elsewhere")


def _page_elsewhere(root: Path) -> None:
    shutil.move(root / GEMV, root.parent / "page.md")
    (root / GEMV).symlink_to(root.parent / "page.md")


def _file_for_folder(root: Path) -> None:
    (root / "layouts").write_text("not a folder")


def _link_for_folder(root: Path) -> None:
    (root.parent / "far").mkdir()
    (root / "records").symlink_to(root.parent / "far")


IN_THE_WAY = {
    "details is a link": (_details_elsewhere, "details"),
    "a page is a folder": (
        lambda root: (root / "details/LayerNorm_bf16.md").mkdir(),
        "details/LayerNorm_bf16.md",
    ),
    "a page is a pipe": (
        lambda root: os.mkfifo(root / "details/LayerNorm_bf16.md"),
        "details/LayerNorm_bf16.md",
    ),
    "a page is a link": (_page_elsewhere, GEMV),
    "a page is a link to nothing": (lambda root: _link(root / GEMV, "nowhere.md"), GEMV),
    "a JSON file is a link to nothing": (lambda root: _link(root / GEMM_JSON, "no"), GEMM_JSON),
    "the index is a link to nothing": (lambda root: _link(root / INDEX, "no.md"), INDEX),
    "layouts is a file": (_file_for_folder, "layouts"),
    "records is a link": (_link_for_folder, "records"),
}


@pytest.mark.parametrize("case", IN_THE_WAY)
def test_what_is_in_the_way_is_one_message_and_nothing_is_written(
    case: str, tmp_path: Path
) -> None:
    world = repository(tmp_path)
    make, name = IN_THE_WAY[case]
    make(world.registry)
    before = tree(tmp_path / "repo")
    done = subprocess.run(
        ["registry-tool", *IMPORT],
        cwd=world.registry, env=world.environment, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("registry-tool import:") == 1
    assert f"{name}:" in done.stderr
    assert "next:" in done.stderr
    assert "Traceback" not in done.stderr
    assert tree(tmp_path / "repo") == before
    assert world.git("diff", "--cached", "--name-only") == ""


def test_a_registry_whose_page_is_a_pipe_is_refused_from_another_folder(tmp_path: Path) -> None:
    source = write(tmp_path / "source")
    world = repository(tmp_path)
    world.ok(*IMPORT)
    os.mkfifo(world.registry / "details/LayerNorm_bf16.md")
    done = world.tool("import", str(source), "--target", "npu2")
    assert done.returncode == 2
    assert "details/LayerNorm_bf16.md: expected a file" in done.stderr
