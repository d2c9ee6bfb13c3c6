"""The gate in every state of git: what it judges is what git is about to record, or to publish."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.gated import (
    EMPTY_COMMIT,
    A,
    B,
    C,
    D,
    forge,
    install,
    ok,
    on_path,
    put,
    refused,
    tool,
)  # fmt: skip
from tests.acceptance.gated import gated as gated
from tests.acceptance.gated import gated_template as gated_template
from tests.baseline.samples import with_waiver
from tests.examples import example
from tests.examples.build import OTHER
from tests.examples.example import Example
from tests.rules.test_tiles import small_herd

COMMIT = ("commit", "-m", "Improve")


def accepted(made: Example, *words: str, cwd: Path | None = None) -> None:
    done = made.try_git(*(words or COMMIT), cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def stage_both_ways(made: Example) -> None:
    """A forged row is refused, and taken back it is accepted; whatever state git is in."""
    forge(made)
    refused(made, *COMMIT, "-a")
    made.git("checkout", "-q", "HEAD", "--", ".")
    made.edit(A.id.record_path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    made.render()
    accepted(made, *COMMIT, "-a")


# What is about to be committed


def test_a_part_of_a_file_is_judged_as_it_is_staged(gated: Example) -> None:
    """As `git add -p` leaves it: one hunk staged, the other only on disk."""
    path = A.id.record_path
    gated.edit(path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    gated.render()
    gated.git("add", "-A")
    gated.edit(path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    accepted(gated)
    gated.git("checkout", "-q", "--", path)
    at = _line_of(gated, path, "max_abs")
    diff = (
        f"--- a/{path}\n+++ b/{path}\n@@ -{at} +{at} @@\n"
        '-  "max_abs": 0.000824,\n+  "max_abs": 0.000124,\n'
    )
    subprocess.run(
        ["git", "apply", "--cached", "--unidiff-zero"],
        input=diff, text=True, check=True, cwd=gated.repo, env=gated.environment,
    )  # fmt: skip
    refused(gated, *COMMIT)


def _line_of(made: Example, path: str, word: str) -> int:
    lines = made.path(path).read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if f'"{word}"' in line)


def test_amend_is_compared_with_the_commit_that_it_replaces(gated: Example) -> None:
    put(gated, C)
    # Evidence that was committed a moment ago is committed: it may not be edited, even unpublished.
    log = gated.path(C.artifact.replace(".json", ".log"))
    log.write_bytes(log.read_bytes() + b"\n")
    gated.git("add", "-A")
    refused(gated, "commit", "--amend", "--no-edit", rule="KR106")
    gated.git("checkout", "-q", "HEAD", "--", ".")
    gated.edit(C.id.record_path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    gated.render()
    accepted(gated, "commit", "-a", "--amend", "--no-edit")


def test_what_an_amended_commit_did_is_judged_by_the_push(gated: Example, remote: Path) -> None:
    gated.git("rm", "-q", A.artifact)
    gated.git("commit", "-q", "--no-verify", "-m", "Drop evidence")
    gated.git("commit", "-q", "--no-verify", "--amend", "-m", "Say it otherwise")
    refused(gated, "push", "-q", "origin", "main", rule="KR106")


def test_removing_the_policy_alone_is_refused_by_a_rule(gated: Example) -> None:
    gated.git("rm", "-q", "registry.yaml")
    refused(gated, *COMMIT, rule="KR001")
    done = tool(gated, "check", "--staged")
    assert (done.returncode, "KR001" in done.stdout) == (1, True)


def test_removing_the_whole_registry_is_no_forgery(gated: Example) -> None:
    gated.git("rm", "-rq", ".")
    gated.write({"README.md": "gone\n"})
    gated.git("add", "-A")
    done = gated.try_git(*COMMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "removes the registry" in done.stderr


def test_a_policy_that_is_only_promised_makes_no_registry_yet(tmp_path: Path) -> None:
    made = on_path(Example(tmp_path, tmp_path))
    made.git("init", "-q", "-b", "main")
    ok(made, "init", "--hooks", "--hook-kind", "plain")
    made.git("reset", "-q")
    made.write({"notes.txt": "x\n"})
    made.git("add", "notes.txt")
    made.git("add", "-N", ".")
    accepted(made)
    assert made.git("ls-tree", "-r", "--name-only", "HEAD") == "notes.txt\n"
    made.git("add", ".")
    accepted(made)


def test_a_row_that_is_taken_out_and_promised_again_is_taken_out(gated: Example) -> None:
    path = gated.path(A.id.record_path)
    data = path.read_bytes()
    gated.git("rm", "-q", A.id.record_path)
    gated.render()
    gated.git("add", "-A")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    gated.git("add", "-N", A.id.record_path)
    accepted(gated)
    gated.git("reset", "-q", "--hard")
    gated.git("rm", "-q", "--cached", B.artifact)
    gated.git("add", "-N", B.artifact)
    refused(gated, *COMMIT, rule="KR106")


def move(made: Example, folder: str) -> Example:
    """``git mv`` the registry into ``folder``."""
    (made.repo / folder).mkdir(parents=True)
    names = made.git("ls-tree", "--name-only", "HEAD").split()
    made.git("mv", *names, folder)
    return Example(made.repo, made.repo / folder, made.environment)


@pytest.mark.parametrize("folder", ["kernels-registry", "deep/er"])
def test_a_renamed_registry_is_accepted(gated: Example, folder: str) -> None:
    move(gated, folder)
    done = gated.try_git(*COMMIT)
    assert (done.returncode, "removes the registry" in done.stderr) == (0, False), done.stderr


def test_evidence_that_is_edited_on_the_way_to_another_folder_is_refused(gated: Example) -> None:
    moved = move(gated, "elsewhere")
    log = moved.path(A.artifact.replace(".json", ".log"))
    log.write_bytes(log.read_bytes() + b"more\n")
    moved.git("add", "-A")
    done = refused(moved, *COMMIT, rule="KR106")
    assert f"elsewhere/{A.artifact.replace('.json', '.log')}" in done.stdout + done.stderr


def test_evidence_that_is_dropped_on_the_way_to_another_folder_is_refused(gated: Example) -> None:
    moved = move(gated, "elsewhere")
    moved.git("rm", "-q", "--cached", f"elsewhere/{A.artifact}")
    refused(moved, *COMMIT, rule="KR106")


def test_two_registries_in_one_repository_are_both_judged(tmp_path: Path) -> None:
    made = example.make(tmp_path, A, B, inside="one")
    two = Example(made.repo, made.repo / "two", made.environment)
    shutil.copytree(made.root, two.root)
    install(made)
    accepted(made, *COMMIT, "--allow-empty")
    for place in (made, two):
        forge(place)
        done = refused(place, *COMMIT, "-a")
        assert f"{place.root.name}/{A.id.record_path}" in done.stdout + done.stderr
        place.git("checkout", "-q", "HEAD", "--", ".")
    # The answer for one is not that for the other, whose paths are the same.
    forge(two)
    made.git("commit", "-qam", "Forge", "--no-verify")
    assert tool(made, "check", "--staged").returncode == 0
    assert "KR105" in tool(two, "check", "--staged").stdout
    assert tool(made, "check", "--staged").returncode == 0


def test_a_folder_that_is_a_link_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    made = install(example.make(tmp_path, A, inside="real"))
    (made.repo / "link").symlink_to("real")
    linked = Example(made.repo, made.repo / "link", made.environment)
    accepted(made, *COMMIT, "--allow-empty")
    assert tool(linked, "check").returncode == 0
    forge(made)
    assert "KR105" in tool(linked, "check", "--staged").stdout + tool(linked, "check").stdout
    refused(made, *COMMIT, "-a", cwd=linked.root)


def test_a_file_of_evidence_that_is_a_link_is_refused(gated: Example) -> None:
    log = gated.path(A.artifact.replace(".json", ".log"))
    elsewhere = gated.repo / "elsewhere.log"
    shutil.move(log, elsewhere)
    log.symlink_to(elsewhere)
    gated.git("add", "-A")
    refused(gated, *COMMIT, rule="KR005")


# How the repository is kept


def test_a_linked_worktree_is_judged(gated: Example, tmp_path: Path) -> None:
    place = tmp_path / "linked"
    gated.git("worktree", "add", "-q", "-b", "side", str(place))
    stage_both_ways(Example(place, place, gated.environment))


def test_a_submodule_is_judged_by_hooks_of_its_own(gated: Example, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    gated.git("init", "-q", cwd=outer)
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    gated.git(*words, str(gated.repo), "registry", cwd=outer)
    inner = Example(outer / "registry", outer / "registry", gated.environment)
    assert (inner.repo / ".git").is_file()
    ok(inner, "init", "--hooks", "--hook-kind", "plain")
    stage_both_ways(inner)


@pytest.mark.parametrize("name", ["régistre ☃ \x0b\x1c\u2028", 'quo"te\ttab\nbreak', "[a]*b"])
def test_a_folder_of_any_name_is_judged(tmp_path: Path, name: str) -> None:
    made = install(example.make(tmp_path / name, A, inside=name))
    stage_both_ways(made)
    assert tool(made, "check", "--ref", "HEAD").returncode == 0
    put(made, C)


def test_a_name_that_is_no_text_is_refused_by_a_rule(gated: Example) -> None:
    odd = os.fsencode(gated.repo) + b"/records/npu2-emu/\xff\xfe.json"
    Path(os.fsdecode(odd)).write_bytes(b"{}\n")
    gated.git("add", "-A")
    done = subprocess.run(
        ["git", *COMMIT], cwd=gated.repo, env=gated.environment, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert b"KR005" in done.stdout + done.stderr
    assert b"bug" not in done.stderr


@pytest.mark.parametrize(
    "settings",
    [
        {"core.autocrlf": "true"},
        {"core.autocrlf": "input", "core.safecrlf": "false"},
        {"core.eol": "crlf"},
        {"core.splitIndex": "true", "core.fileMode": "false", "core.checkStat": "minimal"},
        {
            "core.untrackedCache": "true",
            "feature.manyFiles": "true",
            "core.quotePath": "true",
            "diff.renames": "copies",
            "diff.noprefix": "true",
            "color.ui": "always",
            "i18n.commitEncoding": "ISO-8859-1",
        },
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_of_a_clone_change_no_judgement(
    gated: Example, tmp_path: Path, settings: dict[str, str]
) -> None:
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    place = tmp_path / "clone"
    gated.git("clone", "-q", *options, str(gated.repo), str(place), cwd=tmp_path)
    clone = Example(place, place, gated.environment)
    ok(clone, "init", "--hooks", "--hook-kind", "plain")
    assert clone.git("status", "--porcelain") == ""
    assert tool(clone, "check").returncode == 0
    assert tool(clone, "check", "--staged").returncode == 0
    stage_both_ways(clone)
    assert clone.git("status", "--porcelain") == ""


def test_a_file_system_monitor_changes_no_judgement(gated: Example) -> None:
    hook = gated.repo / ".git/hooks/query-watchman"
    # Says that everything may have changed, as a monitor that has just started does.
    hook.write_text("#!/bin/sh\nprintf '1\\0/\\0'\n")
    hook.chmod(0o755)
    gated.git("config", "core.fsmonitor", str(hook))
    gated.git("config", "core.fsmonitorHookVersion", "2")
    stage_both_ways(gated)


@pytest.mark.parametrize("how", [("--cone",), ("--no-cone",), ("--cone", "--sparse-index")])
def test_a_sparse_checkout_is_judged_whole(tmp_path: Path, how: tuple[str, ...]) -> None:
    made = example.make(tmp_path, A, B, inside="registry")
    (made.repo / "src").mkdir()
    (made.repo / "src/main.py").write_text("pass\n")
    install(made)
    forged_blob = _forged_blob(made)
    made.git("sparse-checkout", "set", *how, "src")
    assert not (made.root / "registry.yaml").exists()
    (made.repo / "src/main.py").write_text("pass  # changed\n")
    accepted(made, *COMMIT, "-a")
    # Staged without ever being on disk.
    made.git("update-index", "--cacheinfo", f"100644,{forged_blob},registry/{A.id.record_path}")
    refused(made, *COMMIT)
    done = tool(made, "check", "--staged", "--registry", "registry", cwd=made.repo)
    assert (done.returncode, "KR105" in done.stdout) == (1, True)
    assert tool(made, "check", "--ref", "HEAD", cwd=made.repo / "src").returncode == 0


def _forged_blob(made: Example) -> str:
    path = made.path(A.id.record_path)
    data = path.read_text().replace('"max_abs": 0.000824', '"max_abs": 0.000124')
    other = made.repo.parent / "forged.json"
    other.write_text(data)
    return made.git("hash-object", "-w", "--no-filters", str(other)).strip()


def test_a_registry_that_is_partly_on_disk_is_judged_whole(gated: Example) -> None:
    gated.git("sparse-checkout", "set", "--no-cone", "/*", "!/verdicts/")
    assert not gated.path("verdicts").exists()
    assert tool(gated, "check", "--staged").returncode == 0
    assert tool(gated, "check").returncode == 0
    stage_both_ways(gated)


@pytest.mark.parametrize("words", [("--depth=1",), ("--filter=blob:none",)])
def test_a_clone_that_lacks_history_or_contents_is_judged(
    gated: Example, tmp_path: Path, words: tuple[str, ...]
) -> None:
    put(gated, C)
    gated.git("config", "uploadpack.allowFilter", "true")
    place = tmp_path / "clone"
    gated.git("clone", "-q", *words, f"file://{gated.repo}", str(place), cwd=tmp_path)
    clone = Example(place, place, gated.environment)
    ok(clone, "init", "--hooks", "--hook-kind", "plain")
    assert tool(clone, "check", "--ref", "HEAD").returncode == 0
    stage_both_ways(clone)
    log = clone.path(A.artifact.replace(".json", ".log"))
    log.write_bytes(log.read_bytes() + b"more\n")
    refused(clone, *COMMIT, "-a", rule="KR106")


def test_a_partial_clone_without_its_other_side_says_what_is_missing(
    gated: Example, tmp_path: Path
) -> None:
    gated.git("config", "uploadpack.allowFilter", "true")
    place = tmp_path / "clone"
    words = ("clone", "-q", "--filter=blob:none", "--no-checkout")
    gated.git(*words, f"file://{gated.repo}", str(place), cwd=tmp_path)
    clone = Example(place, place, gated.environment)
    clone.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))
    done = tool(clone, "check", "--ref", "HEAD", "--registry", ".", cwd=place)
    assert done.returncode == 2
    assert "git fetch" in done.stderr


def test_a_partial_clone_that_is_offline_takes_commits_that_leave_the_registry_alone(
    tmp_path: Path,
) -> None:
    made = example.make(tmp_path, A, inside="registry")
    made.git("config", "uploadpack.allowFilter", "true")
    (made.repo / "src").mkdir()
    (made.repo / "src/main.py").write_text("pass\n")
    install(made)
    place = tmp_path / "clone"
    words = ("clone", "-q", "--filter=blob:none", "--sparse")
    made.git(*words, f"file://{made.repo}", str(place), cwd=tmp_path)
    clone = Example(place, place / "registry", made.environment)
    clone.git("sparse-checkout", "set", "src")
    shutil.copy(made.repo / ".git/hooks/pre-commit", place / ".git/hooks/pre-commit")
    clone.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))
    (place / "src/main.py").write_text("pass  # changed\n")
    done = clone.try_git(*COMMIT, "-a")
    assert (done.returncode, "was not judged" in done.stderr) == (0, True), done.stderr
    clone.git("update-index", "--force-remove", f"registry/{A.artifact}")
    done = clone.try_git(*COMMIT)
    assert done.returncode != 0
    assert "git fetch" in done.stderr


def test_a_detached_head_is_judged(gated: Example) -> None:
    gated.git("checkout", "-q", "--detach")
    stage_both_ways(gated)


def test_sha_256_is_judged_with_all_hooks(tmp_path: Path) -> None:
    made = example.make(tmp_path, A, B)
    shutil.rmtree(made.repo / ".git")
    made.git("init", "-q", "-b", "main", "--object-format=sha256")
    install(made)
    stage_both_ways(made)
    other = tmp_path / "remote.git"
    made.git("init", "-q", "--bare", "--object-format=sha256", str(other))
    made.git("remote", "add", "origin", str(other))
    accepted(made, "push", "-q", "origin", "main")
    forge(made)
    made.git("commit", "-qam", "Forge", "--no-verify")
    refused(made, "push", "-q", "origin", "main")


def test_places_that_the_environment_names_are_heeded(gated: Example, tmp_path: Path) -> None:
    moved = tmp_path / "git-dir"
    shutil.move(gated.repo / ".git", moved)
    gated.environment |= {"GIT_DIR": str(moved), "GIT_WORK_TREE": str(gated.repo)}
    stage_both_ways(gated)
    index = tmp_path / "another-index"
    shutil.copy(moved / "index", index)
    forge(gated)
    gated.environment["GIT_INDEX_FILE"] = str(index)
    gated.git("add", "-A")
    assert "KR105" in tool(gated, "check", "--staged").stdout
    refused(gated, *COMMIT)
    del gated.environment["GIT_INDEX_FILE"]
    assert tool(gated, "check", "--staged").returncode == 0


@pytest.mark.parametrize("name", ["GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS"])
def test_another_meaning_of_paths_changes_no_judgement(gated: Example, name: str) -> None:
    forge(gated)
    gated.git("add", "-A")
    gated.environment[name] = "1"
    refused(gated, *COMMIT)


def test_a_replaced_object_does_not_hide_the_one_that_is_committed(gated: Example) -> None:
    honest = gated.git("rev-parse", f"HEAD:{A.id.record_path}").strip()
    forge(gated)
    gated.git("add", "-A")
    forged = gated.git("rev-parse", f":{A.id.record_path}").strip()
    gated.git("replace", forged, honest)
    refused(gated, *COMMIT)


def test_a_held_lock_does_not_hinder_a_check(gated: Example) -> None:
    lock = gated.repo / ".git/index.lock"
    lock.touch()
    assert tool(gated, "check", "--staged").returncode == 0
    assert tool(gated, "check").returncode == 0
    gated.edit(A.id.record_path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    done = tool(gated, "render")
    assert done.returncode == 2
    assert "index.lock" in done.stderr
    lock.unlink()
    ok(gated, "render")
    ok(gated, "check")


def test_stashed_changes_are_judged_when_they_come_back(gated: Example) -> None:
    forge(gated)
    gated.git("stash", "-q")
    accepted(gated, *COMMIT, "--allow-empty")
    gated.git("stash", "pop", "-q", "--index")
    refused(gated, *COMMIT, "-a")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_repository_of_another_user_is_refused_with_the_words_to_go_on(gated: Example) -> None:
    for path in (gated.repo, gated.repo / ".git"):
        os.chown(path, 65534, 65534)
    done = tool(gated, "check", "--staged")
    assert done.returncode == 2
    assert "safe.directory" in done.stderr


# What git makes without asking, and what is published


@pytest.fixture
def remote(gated: Example, tmp_path: Path) -> Path:
    """A bare repository that has what ``gated`` has."""
    place = tmp_path / "remote.git"
    gated.git("clone", "-q", "--bare", str(gated.repo), str(place), cwd=tmp_path)
    gated.git("remote", "add", "origin", str(place))
    gated.git("fetch", "-q", "origin")
    return place


TIGHTER = (
    "schema_version: 1\nkernel: GEMM_bf16_in_bf16_out\ntolerances:\n"
    "  high: {rtol: 0.016, atol: 0.0005}\n  low: {rtol: 0.016, atol: 0.004}\n"
)


@pytest.fixture(scope="module")
def apart_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = install(example.make(tmp_path_factory.mktemp("apart")))
    place = made.repo.parent / "remote.git"
    made.git("clone", "-q", "--bare", str(made.repo), str(place), cwd=made.repo.parent)
    made.git("remote", "add", "origin", "../remote.git")
    made.git("fetch", "-q", "origin")
    made.git("checkout", "-q", "-b", "tighter")
    made.write({"kernels/GEMM_bf16_in_bf16_out.yaml": TIGHTER})
    made.render()
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "Tighten the page")
    made.git("checkout", "-q", "-b", "rows", "main")
    put(made, A)
    return made.repo.parent


@pytest.fixture
def apart(tmp_path: Path, apart_template: Path) -> Example:
    """Two valid branches that are invalid together: a tighter page, and a row by the old one."""
    for name in ("repo", "remote.git"):
        shutil.copytree(apart_template / name, tmp_path / name, symlinks=True)
    made = on_path(Example(tmp_path / "repo", tmp_path / "repo"))
    # Copies have other file times than the index remembers.
    made.git("update-index", "-q", "--refresh")
    return made


def test_a_clean_merge_is_refused_before_it_is_made(apart: Example) -> None:
    refused(apart, "merge", "--no-edit", "tighter", rule="KR104")
    assert apart.git("rev-list", "--merges", "--all") == ""


@pytest.mark.parametrize(
    "words",
    [("rebase", "-q", "tighter"), ("cherry-pick", "tighter"), ("merge", "--no-verify", "tighter")],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_git_makes_unasked_is_refused_by_the_push(
    apart: Example, words: tuple[str, ...]
) -> None:
    accepted(apart, *words)
    refused(apart, "push", "-q", "origin", "rows", rule="KR104")


def test_a_fast_forward_says_what_came_and_the_push_refuses_it(apart: Example) -> None:
    apart.git("checkout", "-q", "-b", "both")
    apart.git("merge", "-q", "--no-verify", "--no-edit", "tighter")
    apart.git("checkout", "-q", "main")
    done = apart.try_git("merge", "--ff-only", "both")
    assert done.returncode == 0
    assert "KR104" in done.stdout + done.stderr
    assert "a push will be refused" in done.stdout + done.stderr
    refused(apart, "push", "-q", "origin", "main", rule="KR104")


def test_a_revert_is_refused_by_the_push(gated: Example, remote: Path) -> None:
    """The row came in one commit, and the evidence that it stands on in the one before."""
    gated.write(C.evidence())
    gated.git("add", "-A")
    gated.git("commit", "-q", "-m", "Evidence")
    put(gated, C, message="Row")
    accepted(gated, "revert", "--no-edit", "HEAD~1")
    refused(gated, "push", "-q", "origin", "main", rule="KR101")


def test_a_squash_says_that_the_commit_would_be_refused(apart: Example) -> None:
    done = apart.try_git("merge", "--squash", "tighter")
    assert "a commit will be refused" in done.stdout + done.stderr
    assert "mend what is said above" in done.stdout + done.stderr
    refused(apart, "commit", "-m", "Squash", rule="KR104")


def test_a_patch_is_refused_before_it_is_applied(apart: Example, tmp_path: Path) -> None:
    patch = tmp_path / "row.patch"
    patch.write_text(apart.git("format-patch", "-1", "--binary", "--stdout", "rows"))
    apart.git("checkout", "-q", "tighter")
    before = apart.git("rev-parse", "HEAD")
    refused(apart, "am", "-3", str(patch), rule="KR104")
    assert apart.git("rev-parse", "HEAD") == before
    apart.git("am", "--abort")


def bad_branch(made: Example, name: str) -> str:
    """A branch whose last commit went past the hook."""
    made.git("checkout", "-q", "-b", name, "main")
    forge(made)
    made.git("commit", "-q", "--no-verify", "-am", f"Forge {name}")
    made.git("checkout", "-q", "main")
    return made.git("rev-parse", name).strip()


def test_every_ref_of_a_push_is_judged(gated: Example, remote: Path) -> None:
    put(gated, C)
    bad = bad_branch(gated, "zz-last")
    gated.git("branch", "aa-first")
    done = refused(gated, "push", "origin", "aa-first", "main", "zz-last")
    assert bad[:12] in done.stdout + done.stderr
    assert "refs/heads/zz-last" in done.stdout + done.stderr
    assert gated.git("ls-remote", "origin", "aa-first", "zz-last") == ""
    accepted(gated, "push", "-q", "origin", "aa-first", "main")


@pytest.mark.parametrize("kind", [(), ("-a", "-m", "v1")], ids=["light", "annotated"])
def test_a_tag_is_judged_by_its_commit(gated: Example, remote: Path, kind: tuple[str, ...]) -> None:
    gated.git("tag", *kind, "v1", bad_branch(gated, "side"))
    refused(gated, "push", "-q", "origin", "v1")
    gated.git("tag", *kind, "v0", "main")
    gated.git("tag", "-a", "-m", "A file", "file", "main:registry.yaml")
    accepted(gated, "push", "-q", "origin", "v0", "file")


def test_a_commit_that_was_mended_later_is_refused_too(gated: Example, remote: Path) -> None:
    bad = bad_branch(gated, "side")
    gated.git("checkout", "-q", "side")
    gated.git("checkout", "main", "--", ".")
    gated.git("commit", "-q", "-m", "Take it back")
    assert bad[:12] in refused(gated, "push", "-q", "origin", "side").stdout


def test_a_deleted_ref_publishes_nothing(gated: Example, remote: Path) -> None:
    bad_branch(gated, "side")
    accepted(gated, "push", "-q", "--no-verify", "origin", "side")
    accepted(gated, "push", "-q", "origin", "--delete", "side")


def test_a_forced_push_judges_what_the_other_side_lacks(gated: Example, remote: Path) -> None:
    put(gated, C)
    accepted(gated, "push", "-q", "origin", "main")
    gated.git("reset", "-q", "--hard", "HEAD~1")
    put(gated, D)
    accepted(gated, "push", "-q", "--force", "origin", "main")
    gated.git("reset", "-q", "--hard", "HEAD~1")
    forge(gated)
    gated.git("commit", "-qam", "Forge", "--no-verify")
    refused(gated, "push", "-q", "--force", "origin", "main")


def test_a_waiver_that_lapsed_after_its_commit_is_no_hindrance_unless_it_is_the_last(
    gated: Example, remote: Path
) -> None:
    gated.add(with_waiver(small_herd([4, 4], OTHER), "2026-02-01", "KR202"))
    gated.render()
    gated.git("add", "-A")
    then = {**gated.environment, "GIT_COMMITTER_DATE": "2026-01-15T12:00:00Z"}
    past = Example(gated.repo, gated.root, then)
    past.git("commit", "-q", "--no-verify", "-m", "Waive it for a while")
    refused(gated, "push", "-q", "origin", "main", rule="KR202")
    ok(gated, "note", B.id.record_path, "herd 4x4: leaves columns free")
    gated.git("commit", "-q", "--no-verify", "-m", "Say why")
    ok(gated, "check", "--staged")
    accepted(gated, "push", "-q", "origin", "main")


def test_a_commit_that_claims_a_time_beyond_all_dates_is_judged(
    gated: Example, remote: Path
) -> None:
    forge(gated)
    late = {**gated.environment, "GIT_COMMITTER_DATE": "@99999999999999 +0000"}
    Example(gated.repo, gated.root, late).git("commit", "-qam", "Forge", "--no-verify")
    gated.git("checkout", "-q", "HEAD~1", "--", ".")
    gated.git("commit", "-q", "-m", "Take it back")
    refused(gated, "push", "-q", "origin", "main")


def test_what_the_other_side_has_that_is_not_here_is_no_hindrance(
    gated: Example, remote: Path, tmp_path: Path
) -> None:
    gated.git("clone", "-q", str(remote), str(tmp_path / "other"), cwd=tmp_path)
    other = Example(tmp_path / "other", tmp_path / "other", gated.environment)
    put(other, C)
    other.git("push", "-q", "origin", "main")
    put(gated, D)
    accepted(gated, "push", "-q", "--force", "origin", "main")
    bad_branch(gated, "side")
    refused(gated, "push", "-q", "--force", "origin", "side:main")


def test_a_push_to_a_plain_address_is_judged(gated: Example, remote: Path) -> None:
    bad_branch(gated, "side")
    refused(gated, "push", "-q", str(remote), "side")
    accepted(gated, "push", "-q", str(remote), "main:new")


def test_commits_that_only_git_rebased_may_have_old_tables_but_the_last(
    gated: Example, remote: Path
) -> None:
    put(gated, C)
    page = gated.path("supported_kernels.md")
    page.write_text(page.read_text().replace("| 3 |", "| 4 |"))
    gated.git("commit", "-q", "--no-verify", "-am", "An old table")
    refused(gated, "push", "-q", "origin", "main", rule="KR30")
    gated.git("checkout", "-q", "HEAD~1", "--", "supported_kernels.md")
    gated.git("commit", "-q", "-m", "Render")
    accepted(gated, "push", "-q", "origin", "main")


def test_evidence_of_the_other_side_is_not_edited_by_a_merge(gated: Example, remote: Path) -> None:
    gated.git("checkout", "-q", "-b", "side")
    put(gated, C)
    gated.git("checkout", "-q", "main")
    gated.git(*EMPTY_COMMIT)
    gated.git("merge", "-q", "--no-commit", "--no-ff", "side")
    log = gated.path(C.artifact.replace(".json", ".err"))
    log.write_bytes(b"edited\n")
    gated.git("add", "-A")
    refused(gated, "commit", "-m", "Merge", rule="KR106")
    gated.git("commit", "-q", "--no-verify", "-m", "Merge")
    refused(gated, "push", "-q", "origin", "main", rule="KR106")


def test_a_bare_repository_can_be_checked(gated: Example, remote: Path) -> None:
    assert tool(gated, "check", "--ref", "main", cwd=remote).returncode == 0
    gated.git("push", "-q", "--no-verify", "origin", bad_branch(gated, "side") + ":refs/heads/bad")
    done = tool(gated, "check", "--ref", "bad", cwd=remote)
    assert (done.returncode, "KR105" in done.stdout) == (1, True)
    assert tool(gated, "check", cwd=remote).returncode == 2


def test_a_bare_repository_with_a_registry_in_a_folder_can_be_checked(tmp_path: Path) -> None:
    made = install(example.make(tmp_path, A, inside="a folder"))
    bare = tmp_path / "remote.git"
    made.git("clone", "-q", "--bare", str(made.repo), str(bare), cwd=tmp_path)
    assert tool(made, "check", "--ref", "main", cwd=bare).returncode == 0
    assert tool(made, "check", "--ref", "main", "--registry", "a folder", cwd=bare).returncode == 0
    done = tool(made, "check", "--ref", "main", "--registry", "b", cwd=bare)
    assert done.returncode == 2
    assert "a folder/" in done.stderr


@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_a_server_refuses_what_a_client_let_through(
    gated: Example, remote: Path, name: str
) -> None:
    root = Path(__file__).resolve().parents[2]
    shutil.copy(root / "hooks" / name, remote / "hooks" / name)
    put(gated, C)
    accepted(gated, "push", "-q", "--no-verify", "origin", "main")
    bad_branch(gated, "side")
    refused(gated, "push", "-q", "--no-verify", "origin", "side")
    assert gated.git("ls-remote", "origin", "side") == ""
    accepted(gated, "push", "-q", "origin", "main:other")
    accepted(gated, "push", "-q", "origin", "--delete", "other")


def test_a_push_follows_a_registry_to_another_folder(gated: Example, remote: Path) -> None:
    moved = move(gated, "elsewhere")
    moved.git("commit", "-q", "-m", "Move")
    put(moved, C)
    accepted(moved, "push", "-q", "origin", "main")
    back = Example(gated.repo, gated.repo, gated.environment)
    moved.git("mv", *(f"elsewhere/{path.name}" for path in moved.root.iterdir()), ".")
    log = back.path(A.artifact.replace(".json", ".log"))
    log.write_bytes(log.read_bytes() + b"more\n")
    back.git("add", "-A")
    back.git("commit", "-q", "--no-verify", "-m", "Move back, and edit")
    refused(back, "push", "-q", "origin", "main", rule="KR106")


@pytest.mark.parametrize("damage", [b"", b"{", b'00000000\n{"tool": "x", "commits": [3]}'])
def test_what_was_judged_before_may_be_lost_or_damaged(
    gated: Example, remote: Path, damage: bytes
) -> None:
    put(gated, C)
    accepted(gated, "push", "-q", "origin", "main:one")
    kept = gated.repo / ".git/registry-tool/judged-commits.json"
    assert kept.is_file()
    kept.write_bytes(damage)
    bad_branch(gated, "side")
    refused(gated, "push", "-q", "origin", "side")
    accepted(gated, "push", "-q", "origin", "main:two")


def test_the_ref_that_pre_commit_passes_on_is_judged(gated: Example) -> None:
    """pre-commit calls the hook of a manifest for a push with the ends of one ref."""
    bad = bad_branch(gated, "side")
    gated.environment |= {
        "PRE_COMMIT_FROM_REF": gated.git("rev-parse", "main").strip(),
        "PRE_COMMIT_TO_REF": bad,
        "PRE_COMMIT_REMOTE_BRANCH": "refs/heads/side",
    }
    done = tool(gated, "hook", "pre-commit")
    assert (done.returncode, "KR105" in done.stdout, "refs/heads/side" in done.stdout) == (
        1,
        True,
        True,
    )
    gated.environment["PRE_COMMIT_TO_REF"] = gated.environment["PRE_COMMIT_FROM_REF"]
    assert tool(gated, "hook", "pre-commit").returncode == 0
