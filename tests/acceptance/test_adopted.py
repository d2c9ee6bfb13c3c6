"""A registry that was adopted in place: what a reviewer can prove, and figures in its prose."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from registry_tool.baseline import digests
from registry_tool.records import canonical
from registry_tool.records.record import Record
from tests.acceptance import world as worlds
from tests.acceptance.test_absorb_layouts import PAGES
from tests.acceptance.world import World

NORM = "details/RMSNorm_bf16.md"
SENTENCE = "The widest rows are the fastest: 24.9 GB/s at 2048×3072.\n"
ROW = "npu2/RMSNorm_bf16/2048x3072"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The old pages in one commit, their adoption in the next."""
    folder = tmp_path_factory.mktemp("adopted")
    repository = folder / "repo"
    repository.mkdir()
    world = World(repository, repository, worlds.environment(folder))
    world.git("init", "-q")
    for path, text in PAGES.items():
        (repository / path).parent.mkdir(exist_ok=True)
        (repository / path).write_text(text)
    page = repository / NORM
    page.write_text(page.read_text() + f"\n## Speed\n\n{SENTENCE}")
    world.git("add", "-A")
    world.git("commit", "-qm", "Keep pages by hand")
    report = str(folder / "report.json")
    done = world.tool("import", ".", "--target", "npu2", "--mark", "--report", report)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    world.ok("render")
    world.git("add", "-A")
    world.git("commit", "-qm", "Adopt the registry")
    return folder


@pytest.fixture
def world(adopted: Path, tmp_path: Path) -> World:
    shutil.copytree(adopted, tmp_path / "w", symlinks=True)
    repository = tmp_path / "w" / "repo"
    return World(repository, repository, worlds.environment(tmp_path / "w"))


def edit(world: World, path: str, old: str, new: str) -> None:
    file = world.registry / path
    text = file.read_text()
    assert text.count(old) == 1, text
    file.write_text(text.replace(old, new))


# --- what a reviewer can prove -------------------------------------------------------------------


def forge(world: World, old: str, new: str) -> None:
    """Another figure in record, artifact, baseline and page, as if it had been imported so."""
    path = world.registry / f"records/{ROW}.json"
    record = canonical.decode(path.read_bytes(), Record)
    artifact = world.registry / record.verdict.artifact
    data = artifact.read_text().replace(old, new).encode()
    artifact.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    path.write_text(
        path.read_text().replace(old, new).replace(record.verdict.sha256, digest), "utf-8"
    )
    now = canonical.decode(path.read_bytes(), Record)
    baseline = world.registry / "baseline.json"
    document = json.loads(baseline.read_bytes())
    for entry in document["rows"]:
        if entry["row"] == ROW:
            entry["record"], entry["artifact"] = digests.of_record(now), digest
    baseline.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    world.ok("render", "--quiet")


def imported_again(world: World) -> tuple[int, str]:
    """Status and errors of reading the pages of the commit before the adoption once more."""
    before = world.folder.parent / "before"
    world.git("worktree", "add", "-q", str(before), "HEAD^")
    done = world.tool("import", str(before), "--target", "npu2", "--registry", ".", "--dry-run")
    return done.returncode, done.stderr


def test_reading_the_old_pages_again_gives_the_rows_of_an_honest_adoption(world: World) -> None:
    status, errors = imported_again(world)
    assert status == 0, errors
    assert world.git("status", "--porcelain") == ""


def test_reading_the_old_pages_again_names_a_figure_that_they_do_not_have(world: World) -> None:
    forge(world, '"gbps": 24.9', '"gbps": 94.9')
    world.git("add", "-A")
    world.git("commit", "-q", "--amend", "-m", "Adopt the registry")
    # The gate alone cannot know it: all files of the commit agree.
    world.ok("check")
    status, errors = imported_again(world)
    assert status == 1
    assert f"differs from the row that was imported: {ROW} (performance)" in errors


# --- figures in its prose ------------------------------------------------------------------------


def rules(world: World) -> set[str]:
    done = world.tool("check", "--format", "json")
    return {
        one["rule"] for one in json.loads(done.stdout)["findings"] if one["severity"] == "error"
    }


def with_proposal(world: World) -> str:
    """The page's sentence with the value that the import proposed, put there by hand."""
    report = json.loads((world.folder.parent / "report.json").read_bytes())
    proposals = [one["write"] for one in report["prose"]["proposals"] if NORM in one["where"]]
    [write] = [one for one in proposals if ">24.9<" in one]
    edit(world, NORM, SENTENCE, SENTENCE.replace("24.9", write))
    return str(write)


def test_a_proposed_value_in_prose_is_kept_like_a_table(world: World) -> None:
    write = with_proposal(world)
    assert world.ok("render") == "everything is up to date\n"
    assert rules(world) == set()
    # Someone makes it sound better.
    edit(world, NORM, write, write.replace("24.9", "34.9"))
    assert "KR305" in rules(world)
    assert world.tool("check").returncode == 1
    world.ok("render")
    assert write in (world.registry / NORM).read_text()
    assert rules(world) == set()


def test_a_value_in_prose_that_selects_nothing_is_refused_and_stays(world: World) -> None:
    write = with_proposal(world)
    wrong = write.replace("<!-- registry:value best", "<!-- registry:value finest")
    assert wrong != write
    edit(world, NORM, write, wrong)
    assert "KR306" in rules(world)
    done = world.tool("render")
    assert done.returncode == 2
    assert "finest" in done.stderr
    assert wrong in (world.registry / NORM).read_text()
    edit(world, NORM, wrong, write)
    world.ok("render")
    assert rules(world) == set()


def test_the_row_that_a_sentence_speaks_of_is_not_retired_behind_its_back(world: World) -> None:
    write = with_proposal(world)
    world.ok("render")
    done = world.tool("retire", ROW)
    assert done.returncode == 2
    assert NORM in done.stderr
    assert (world.registry / f"records/{ROW}.json").is_file()
    assert write in (world.registry / NORM).read_text()
    assert rules(world) == set()
