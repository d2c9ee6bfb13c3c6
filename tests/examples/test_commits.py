"""The hook in every way to commit: what it judges is what git is about to commit."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from registry_tool.records import canonical, catalog
from tests.examples import example
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example

ROOT = Path(__file__).resolve().parents[2]
NEW = {"M": 4096, "K": 1024, "N": 1024}


def install(made: Example, folder: Path) -> Example:
    """``made`` with the project's plain git hooks, and `registry-tool` on PATH."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    command = bin_folder / "registry-tool"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m registry_tool "$@"\n')
    command.chmod(0o755)
    made.environment["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    made.environment["PYTHONPATH"] = str(ROOT)
    for name in ("pre-commit", "pre-merge-commit"):
        shutil.copy(ROOT / "hooks" / name, made.repo / ".git" / "hooks" / name)
    return made


@pytest.fixture
def hooked(good: Example, tmp_path: Path) -> Example:
    return install(good, tmp_path)


def forge(made: Example, row: Row) -> str:
    """Edit a figure of ``row`` in the work tree; its path below the registry."""
    made.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    made.render()
    return row.id.record_path


def refused(made: Example, *words: str, rule: str = "KR105", cwd: Path | None = None) -> None:
    done = made.try_git("commit", "-m", "Improve", *words, cwd=cwd)
    assert done.returncode == 1, done.stdout + done.stderr
    assert rule in done.stdout + done.stderr


def accepted(made: Example, *words: str, cwd: Path | None = None) -> None:
    done = made.try_git("commit", "-m", "Change", *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_forged_row_is_refused_by_commit(hooked: Example, row: Row) -> None:
    forge(hooked, row)
    hooked.git("add", "-A")
    refused(hooked)


def test_a_forged_row_is_refused_by_commit_a(hooked: Example, row: Row) -> None:
    forge(hooked, row)
    refused(hooked, "-a")


def test_a_forged_row_is_refused_by_commit_of_its_path(hooked: Example, row: Row) -> None:
    refused(hooked, "--", forge(hooked, row))


def test_a_forged_row_is_refused_by_commit_include(hooked: Example, row: Row) -> None:
    refused(hooked, "--include", "--", forge(hooked, row))


def test_a_commit_of_another_path_does_not_take_the_forged_one(
    hooked: Example, row: Row, other: Row
) -> None:
    forge(hooked, row)
    hooked.git("add", "-A")
    hooked.write({"README.md": "hello\n"})
    hooked.git("add", "README.md")
    accepted(hooked, "--", "README.md")
    refused(hooked)


def test_an_edit_that_is_not_staged_is_nobodys_business(hooked: Example, row: Row) -> None:
    forge(hooked, row)
    hooked.write({"README.md": "hello\n"})
    hooked.git("add", "README.md")
    accepted(hooked)


def test_a_staged_forgery_is_found_behind_an_honest_work_tree(hooked: Example, row: Row) -> None:
    honest = hooked.path(row.id.record_path).read_bytes()
    path = forge(hooked, row)
    hooked.git("add", "-A")
    hooked.write({path: honest})
    refused(hooked)


def test_amending_a_forgery_into_a_commit_is_refused(hooked: Example, row: Row) -> None:
    forge(hooked, row)
    hooked.git("add", "-A")
    refused(hooked, "--amend")


def test_a_new_row_with_its_verdict_is_accepted(hooked: Example) -> None:
    hooked.add(make_row(catalog.built_in()[GEMM], NEW, "drain"))
    hooked.render()
    hooked.git("add", "-A")
    accepted(hooked)


def test_a_verdict_that_is_only_promised_is_not_there(hooked: Example) -> None:
    mine = make_row(catalog.built_in()[GEMM], NEW, "drain")
    hooked.add(mine)
    hooked.render()
    hooked.git("add", "records", "details", "supported_kernels.md")
    hooked.git("add", "-N", "verdicts")
    refused(hooked, rule="KR101")
    hooked.git("add", "verdicts")
    accepted(hooked)


def test_an_empty_log_that_is_only_promised_is_not_there(hooked: Example) -> None:
    """git shows the promise of a file as an empty blob, which is what this log is."""
    mine = make_row(catalog.built_in()[GEMM], NEW, "drain")
    hooked.add(mine)
    hooked.render()
    empty = next(path for path, data in mine.evidence().items() if data == b"")
    hooked.git("add", "-A")
    hooked.git("reset", "-q", "--", empty)
    hooked.git("add", "-N", "--", empty)
    refused(hooked)
    hooked.git("add", "--", empty)
    accepted(hooked)


def test_the_first_commit_is_judged(tmp_path: Path, row: Row) -> None:
    made = example.make(tmp_path, row)
    shutil.rmtree(made.repo / ".git")
    made.git("init", "-q")
    install(made, tmp_path)
    honest = made.path(row.id.record_path).read_bytes()
    path = forge(made, row)
    made.git("add", "-A")
    refused(made)
    made.write({path: honest})
    made.render()
    made.git("add", "-A")
    accepted(made)


def test_a_commit_that_only_deletes_evidence_is_refused(hooked: Example, row: Row) -> None:
    hooked.git("rm", "-q", row.artifact)
    refused(hooked, rule="KR106")


def test_a_commit_that_only_retires_a_row_is_accepted(hooked: Example, row: Row) -> None:
    hooked.git("rm", "-q", row.id.record_path)
    hooked.render()
    hooked.git("add", "details", "supported_kernels.md")
    accepted(hooked)


def test_a_commit_of_nothing_of_the_registry_is_accepted(hooked: Example) -> None:
    hooked.write({"src/main.py": "pass\n"})
    hooked.git("add", "-A")
    accepted(hooked)


def test_a_merge_that_is_not_finished_is_refused(hooked: Example, row: Row) -> None:
    hooked.git("checkout", "-q", "-b", "theirs")
    hooked.edit(row.id.record_path, '"notes": []', '"notes": [\n    "theirs"\n  ]')
    hooked.render()
    hooked.commit()
    hooked.git("checkout", "-q", "main")
    hooked.edit(row.id.record_path, '"notes": []', '"notes": [\n    "ours"\n  ]')
    hooked.render()
    hooked.commit()
    assert hooked.try_git("merge", "theirs").returncode != 0
    assert "KR008" in hooked.rules("--staged")
    # A marker that was "resolved" by adding the file as it stands.
    hooked.git("add", "-A")
    refused(hooked, rule="KR007")


def test_two_valid_branches_that_are_invalid_together_are_refused(tmp_path: Path, row: Row) -> None:
    made = install(example.make(tmp_path), tmp_path)
    made.git("checkout", "-q", "-b", "tighter")
    made.write(
        {
            f"kernels/{GEMM}.yaml": f"schema_version: 1\nkernel: {GEMM}\ntolerances:\n"
            "  high: {rtol: 0.016, atol: 0.0005}\n  low: {rtol: 0.016, atol: 0.004}\n"
        }
    )
    made.git("add", "-A")
    accepted(made)
    made.git("checkout", "-q", "main")
    made.add(row)
    made.render()
    made.git("add", "-A")
    accepted(made)
    merged = made.try_git("merge", "-q", "-m", "Merge", "tighter")
    assert merged.returncode != 0
    assert "KR104" in merged.stdout + merged.stderr


@pytest.mark.parametrize("inside", ["kernel_registry", "sub folder/régistre-☃", "[a]*b"])
def test_a_registry_in_a_subfolder_is_judged(tmp_path: Path, row: Row, inside: str) -> None:
    made = install(example.make(tmp_path, row, inside=inside), tmp_path)
    made.git("config", "registry-tool.root", inside)
    (made.repo / "elsewhere.txt").write_text("x\n")
    made.git("add", "-A")
    accepted(made)
    forge(made, row)
    refused(made, "-a")
    made.git("add", "-A")
    refused(made, cwd=made.root)


def test_a_linked_worktree_is_judged_by_its_own_index(
    hooked: Example, row: Row, tmp_path: Path
) -> None:
    place = tmp_path / "linked tree"
    hooked.git("worktree", "add", "-q", "-b", "side", str(place))
    linked = Example(place, place, hooked.environment)
    forge(linked, row)
    refused(linked, "-a")
    linked.git("add", "-A")
    refused(linked)
    assert hooked.findings("--staged") == []


def test_a_repository_with_sha_256_is_judged(tmp_path: Path, row: Row) -> None:
    made = example.make(tmp_path, row)
    shutil.rmtree(made.repo / ".git")
    made.git("init", "-q", "--object-format=sha256")
    install(made, tmp_path)
    made.git("add", "-A")
    accepted(made)
    assert made.findings() == []
    forge(made, row)
    assert "KR105" in made.rules()
    refused(made, "-a")


def test_a_detached_head_is_judged(hooked: Example, row: Row) -> None:
    hooked.git("checkout", "-q", "--detach")
    forge(hooked, row)
    refused(hooked, "-a")


def test_names_in_front_that_git_would_quote_do_no_harm(hooked: Example, row: Row) -> None:
    hooked.write({'ärger "x"\n.txt': "x\n", "records.txt": "x\n", "\tverdicts": "x\n"})
    hooked.git("add", "-A")
    accepted(hooked)
    forge(hooked, row)
    refused(hooked, "-a")


def test_a_submodule_below_records_is_refused(hooked: Example, tmp_path: Path) -> None:
    inner = hooked.path("records/npu2-emu/inner")
    inner.mkdir()
    hooked.git("init", "-q", cwd=inner)
    (inner / "x").write_text("x\n")
    hooked.git("add", "-A", cwd=inner)
    hooked.git("commit", "-q", "--no-verify", "-m", "x", cwd=inner)
    hooked.git("add", "records")
    refused(hooked, rule="KR005")


def test_a_registry_inside_a_submodule_is_judged(tmp_path: Path, row: Row) -> None:
    inner = install(example.make(tmp_path / "a", row), tmp_path)
    outer = tmp_path / "outer"
    outer.mkdir()
    inner.git("init", "-q", cwd=outer)
    inner.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.repo), "registry",
        cwd=outer,
    )  # fmt: skip
    place = outer / "registry"
    linked = Example(place, place, inner.environment)
    hooks = Path(linked.git("rev-parse", "--git-path", "hooks").strip())
    shutil.copy(ROOT / "hooks" / "pre-commit", place / hooks / "pre-commit")
    forge(linked, row)
    refused(linked, "-a")


def test_a_record_edited_only_in_its_remarks_is_accepted(hooked: Example, row: Row) -> None:
    noted = row.record
    data = canonical.encode(noted).replace(b'"notes": []', b'"notes": [\n    "a remark"\n  ]')
    hooked.write({row.id.record_path: data})
    hooked.render()
    accepted(hooked, "-a")
