"""Merges, rebases and picks of branches that both touched the registry, with real git."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.acceptance.gated import BIN, A, B, C, D, install, ok, put, refused, row, tool
from tests.acceptance.gated import gated as gated
from tests.acceptance.gated import gated_template as gated_template
from tests.examples import example
from tests.examples.build import Row
from tests.examples.example import Example

A_AGAIN = row(2048, 1024, 1024, second=50)
A_LATER = row(2048, 1024, 1024, second=99)
GEMM_PAGE = "details/GEMM_bf16_in_bf16_out.md"
WAYS = {
    "merge": ("merge", "--no-edit", "-q", "side"),
    "rebase": ("rebase", "-q", "main", "side"),
    "cherry-pick": ("cherry-pick", "side"),
}


def edit(made: Example, target: Row, field: str, text: str) -> None:
    """Put one more entry into a human-owned list of a row."""
    path = made.path(target.id.record_path)
    document = json.loads(path.read_text())
    document[field].append(json.loads(text))
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def use(model: str, site: str) -> str:
    return json.dumps({"model": model, "site": site})


def document(made: Example, target: Row = A) -> dict[str, object]:
    found: dict[str, object] = json.loads(made.path(target.id.record_path).read_text())
    return found


def finish(made: Example, way: str) -> None:
    """Let the operation run to its end; where git saw no conflict in the counts, one step more."""
    done = made.try_git(*WAYS[way])
    if done.returncode != 0:
        assert "git commit --no-edit" in done.stdout + done.stderr, done.stdout + done.stderr
        made.git("commit", "--no-edit", "-q")
    elif tool(made, "check").returncode != 0:
        ok(made, "render")
        made.git("commit", "-q", "-m", "Render")
    assert made.git("status", "--porcelain") == ""
    assert tool(made, "check", "--ref", "HEAD").returncode == 0, tool(made, "check").stdout


def branch(made: Example, *rows: Row) -> None:
    """A commit with ``rows`` on the branch `side`."""
    made.git("checkout", "-q", "-b", "side")
    put(made, *rows)
    made.git("checkout", "-q", "main")


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_two_branches_are_both_there_with_their_tables(gated: Example, way: str) -> None:
    branch(gated, C)
    put(gated, D)
    finish(gated, way)
    page = gated.path(GEMM_PAGE).read_text()
    assert "4096×1024×1024" in page
    assert "4096×2048×1024" in page


def test_what_is_not_staged_does_not_get_into_the_tables_of_a_merge(gated: Example) -> None:
    branch(gated, C)
    put(gated, D)
    edit(gated, B, "notes", '"not yet"')
    done = gated.try_git(*WAYS["merge"])
    assert "git commit --no-edit" in done.stderr, done.stdout + done.stderr
    gated.git("commit", "--no-edit", "-q")
    assert gated.git("status", "--porcelain").split() == ["M", B.id.record_path]
    assert tool(gated, "check", "--ref", "HEAD").returncode == 0
    assert "not yet" not in gated.git("show", f"HEAD:{GEMM_PAGE}")


@pytest.mark.parametrize("way", WAYS)
def test_tables_are_right_without_a_second_step_where_counts_differ(
    gated: Example, way: str
) -> None:
    branch(gated, C, row(4096, 4096, 1024, second=9))
    put(gated, D)
    gated.git(*WAYS[way])
    assert tool(gated, "check", "--ref", "HEAD").returncode == 0


def test_a_reverted_row_leaves_the_tables_right(gated: Example) -> None:
    put(gated, C, row(4096, 4096, 1024, second=9), message="Two")
    put(gated, D)
    gated.git("revert", "--no-edit", "HEAD~1")
    assert tool(gated, "check", "--ref", "HEAD").returncode == 0
    assert "4096×4096×1024" not in gated.path(GEMM_PAGE).read_text()


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_users_and_notes_of_both_sides_are_joined(gated: Example, way: str) -> None:
    edit(gated, A, "used_by", use("Toy-1B", "was there"))
    gated.render()
    gated.git("commit", "-qam", "Base")
    gated.git("checkout", "-q", "-b", "side")
    edit(gated, A, "used_by", use("Toy-1B", "theirs"))
    edit(gated, A, "notes", '"said there"')
    gated.render()
    gated.git("commit", "-qam", "Theirs")
    gated.git("checkout", "-q", "main")
    text = gated.path(A.id.record_path).read_text()
    gated.path(A.id.record_path).write_text(text.replace("was there", "ours"))
    edit(gated, A, "notes", '"said here"')
    gated.render()
    gated.git("commit", "-qam", "Ours")
    finish(gated, way)
    merged = document(gated)
    assert {entry["site"] for entry in merged["used_by"]} == {"ours", "theirs"}  # type: ignore
    assert set(merged["notes"]) == {"said here", "said there"}  # type: ignore
    assert "theirs" in gated.path(GEMM_PAGE).read_text()


@pytest.mark.parametrize(
    ("way", "later_is_ours"), [("merge", True), ("merge", False), ("rebase", True)]
)
def test_a_row_that_both_sides_verified_has_the_later_run_whole(
    gated: Example, way: str, later_is_ours: bool
) -> None:
    theirs, ours = (A_AGAIN, A_LATER) if later_is_ours else (A_LATER, A_AGAIN)
    branch(gated, theirs)
    put(gated, ours)
    finish(gated, way)
    assert document(gated)["verdict"]["artifact"] == A_LATER.artifact  # type: ignore[index]
    for kept in (A, A_AGAIN, A_LATER):
        assert gated.path(kept.artifact).is_file()


@pytest.mark.parametrize("way", ["merge", "cherry-pick"])
def test_a_row_that_both_sides_made_is_one_row(gated: Example, way: str) -> None:
    later = row(4096, 1024, 1024, second=70)
    branch(gated, C)
    put(gated, later)
    finish(gated, way)
    assert document(gated, C)["verdict"]["artifact"] == later.artifact  # type: ignore[index]
    assert gated.path(C.artifact).is_file()


def test_prose_of_both_sides_is_kept_around_a_table_of_both(gated: Example) -> None:
    page = gated.path(GEMM_PAGE)
    for name, mine in (("side", C), ("main", D)):
        gated.git("checkout", "-q", *(["-b"] if name == "side" else []), name)
        text = page.read_text()
        if name == "side":
            page.write_text(f"{text}\nSaid at the end.\n")
        else:
            first, _, rest = text.partition("\n")
            page.write_text(f"{first}\n\nSaid at the top.\n{rest}")
        put(gated, mine)
    finish(gated, "merge")
    text = page.read_text()
    assert "Said at the end." in text
    assert "Said at the top." in text
    assert "<<<<<<<" not in text


def test_prose_that_cannot_be_joined_is_an_ordinary_conflict_with_a_right_table(
    gated: Example,
) -> None:
    page = gated.path(GEMM_PAGE)
    for name, mine in (("side", C), ("main", D)):
        gated.git("checkout", "-q", *(["-b"] if name == "side" else []), name)
        _, _, rest = page.read_text().partition("\n")
        page.write_text(f"# A title of {name}\n{rest}")
        put(gated, mine)
    done = gated.try_git("merge", "side")
    assert done.returncode == 1
    assert f"CONFLICT (content): Merge conflict in {GEMM_PAGE}" in done.stdout
    text = page.read_text()
    assert text.count("<<<<<<<") == 1
    assert "4096×1024×1024" in text
    assert "4096×2048×1024" in text
    head, _, rest = text.partition("<<<<<<<")
    page.write_text(head + "# Both\n" + rest.partition(">>>>>>>")[2].partition("\n")[2])
    gated.git("add", GEMM_PAGE)
    ok(gated, "render")
    gated.git("commit", "-q", "--no-edit")
    assert tool(gated, "check", "--ref", "HEAD").returncode == 0


def test_a_broken_side_is_an_ordinary_conflict(gated: Example) -> None:
    path = A.id.record_path
    gated.git("checkout", "-q", "-b", "side")
    gated.edit(path, '"notes": []', '"notes": [')
    gated.git("commit", "-q", "--no-verify", "-am", "Break")
    gated.git("checkout", "-q", "main")
    edit(gated, A, "notes", '"a remark"')
    gated.render()
    gated.git("commit", "-qam", "Ours")
    done = gated.try_git("merge", "side")
    assert done.returncode == 1
    assert f"CONFLICT (content): Merge conflict in {path}" in done.stdout
    assert "cannot be read" in done.stderr
    assert "<<<<<<<" in gated.path(path).read_text()
    assert "KR008" in tool(gated, "check", "--staged").stdout


def test_a_row_deleted_here_and_edited_there_is_left_to_a_person(gated: Example) -> None:
    gated.git("checkout", "-q", "-b", "side")
    edit(gated, A, "notes", '"a remark"')
    gated.render()
    gated.git("commit", "-qam", "Note")
    gated.git("checkout", "-q", "main")
    gated.git("rm", "-q", A.id.record_path)
    gated.render()
    gated.git("commit", "-qam", "Retire")
    done = gated.try_git("merge", "side")
    assert done.returncode == 1
    assert "CONFLICT (modify/delete)" in done.stdout
    # The person keeps it retired.
    gated.git("rm", "-q", A.id.record_path)
    ok(gated, "render")
    gated.git("commit", "-q", "--no-edit")
    assert tool(gated, "check", "--ref", "HEAD").returncode == 0


def test_a_pick_from_a_side_that_is_not_here_keeps_our_table_and_says_so(
    gated: Example, tmp_path: Path
) -> None:
    """A mailed patch: git makes up a tree for it that no commit has."""
    branch(gated, C, row(4096, 4096, 1024, second=9))
    patch = tmp_path / "side.patch"
    words = ("format-patch", "-1", "--binary", "--full-index", "--stdout", "side")
    patch.write_text(gated.git(*words))
    gated.git("clone", "-q", "--single-branch", str(gated.repo), str(tmp_path / "other"))
    other = Example(tmp_path / "other", tmp_path / "other", gated.environment)
    ok(other, "init", "--hooks", "--hook-kind", "plain")
    put(other, D)
    done = refused(other, "am", "-3", str(patch), rule="KR301")
    assert "registry-tool render" in done.stdout + done.stderr
    ok(other, "render")
    other.git("am", "--continue")
    assert tool(other, "check", "--ref", "HEAD").returncode == 0


def test_without_the_drivers_rows_merge_and_the_gate_asks_for_the_tables(
    gated: Example, tmp_path: Path
) -> None:
    """As on a code host: one file per row, so that only generated files can collide."""
    gated.git("config", "--remove-section", "merge.registry-record")
    gated.git("config", "--remove-section", "merge.registry-page")
    branch(gated, C)
    put(gated, D)
    done = gated.try_git("merge", "side")
    assert done.returncode == 1
    conflicts = gated.git("diff", "--name-only", "--diff-filter=U").split()
    assert conflicts == [GEMM_PAGE.replace(".md", ".json"), GEMM_PAGE] or conflicts == [GEMM_PAGE]
    gated.git("checkout", "-q", "--ours", *conflicts)
    gated.git("add", *conflicts)
    refused(gated, "commit", "--no-edit", rule="KR301")
    ok(gated, "render")
    gated.git("commit", "-q", "--no-edit")
    assert tool(gated, "check", "--ref", "HEAD").returncode == 0


def test_absorb_reads_a_hand_edit_in_what_a_merge_made(gated: Example) -> None:
    branch(gated, C)
    put(gated, D)
    finish(gated, "merge")
    page = gated.path(GEMM_PAGE)
    lines = page.read_text().split("\n")
    at = next(number for number, text in enumerate(lines) if "4096×1024×1024" in text)
    titles = next(text for text in lines if "| Notes |" in text).split("|")
    cells = lines[at].split("|")
    cells[titles.index(" Notes ")] = " said in the page "
    lines[at] = "|".join(cells)
    page.write_text("\n".join(lines))
    ok(gated, "absorb")
    assert "said in the page" in gated.path(C.id.record_path).read_text()
    assert tool(gated, "check").returncode == 0


def test_a_push_and_a_pull_between_two_people_end_in_one_registry(
    gated: Example, tmp_path: Path
) -> None:
    bare = tmp_path / "remote.git"
    gated.git("clone", "-q", "--bare", str(gated.repo), str(bare))
    people = []
    for name in ("ann", "ben"):
        gated.git("clone", "-q", str(bare), str(tmp_path / name))
        person = Example(tmp_path / name, tmp_path / name, gated.environment)
        ok(person, "init", "--hooks", "--hook-kind", "plain")
        people.append(person)
    ann, ben = people
    put(ann, C)
    ann.git("push", "-q", "origin", "main")
    put(ben, D)
    ben.git("pull", "-q", "--rebase")
    done = refused(ben, "push", "-q", "origin", "main", rule="KR301")
    assert "next: registry-tool render && git commit -m Render, then push" in done.stdout
    ok(ben, "render")
    ben.git("commit", "-q", "-m", "Render")
    ben.git("push", "-q", "origin", "main")
    ann.git("pull", "-q")
    assert tool(ann, "check").returncode == 0
    assert sorted(path.name for path in ann.path(f"records/{C.id.target}").rglob("*.json")) == [
        f"{one.id.key}.json" for one in sorted((A, B, C, D), key=lambda one: one.id.key)
    ]


@pytest.mark.parametrize("state", ["gone", "without its Python", "killed", "broken"])
def test_a_tool_that_gives_no_answer_leaves_an_ordinary_conflict(
    gated: Example, state: str
) -> None:
    stand_in = gated.repo.parent / "registry-tool"
    scripts = {"without its Python": "#!/nowhere/python\n", "killed": "#!/bin/sh\nkill -9 $$\n"}
    if state != "gone":
        stand_in.write_text(scripts.get(state, "#!/bin/sh\nexit 2\n"))
        stand_in.chmod(0o755)
    config = gated.repo / ".git/config"
    config.write_text(config.read_text().replace(str(BIN / "registry-tool"), str(stand_in)))
    folders = gated.environment["PATH"].split(os.pathsep)
    gated.environment["PATH"] = os.pathsep.join(one for one in folders if one != str(BIN))
    gated.git("checkout", "-q", "-b", "side")
    for where, mine in (("side", A_AGAIN), ("main", A_LATER)):
        gated.git("checkout", "-q", where)
        gated.add(mine)
        gated.commit()
    done = gated.try_git("merge", "side")
    assert done.returncode == 1
    assert f"CONFLICT (content): Merge conflict in {A.id.record_path}" in done.stdout
    text = gated.path(A.id.record_path).read_text()
    assert A_LATER.artifact in text.partition("<<<<<<< ours")[2].partition("=======")[0]
    assert A_AGAIN.artifact in text.partition("=======")[2].partition(">>>>>>> theirs")[0]
    # The names of a conflict never pass for a row.
    gated.git("add", "-A")
    gated.environment["PATH"] = os.pathsep.join(folders)
    assert "KR007" in tool(gated, "check", "--staged").stdout


def test_a_merge_in_a_folder_that_looks_like_an_option(tmp_path: Path) -> None:
    made = install(example.make(tmp_path, A, B, inside="-v"))
    branch(made, C, row(4096, 4096, 1024, second=9))
    put(made, D)
    made.git(*WAYS["merge"])
    assert tool(made, "check", "--ref", "HEAD").returncode == 0
