"""What `init --hooks` puts where, what it leaves alone, and what it says of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from registry_tool.gates import scripts
from tests.acceptance.gated import BIN, EMPTY_COMMIT, A, C, forge, ok, on_path, put, refused, tool
from tests.acceptance.gated import gated as gated
from tests.acceptance.gated import gated_template as gated_template
from tests.examples import example
from tests.examples.example import Example
from tests.examples.fixtures import _template as _template
from tests.examples.fixtures import good as good
from tests.examples.fixtures import other as other
from tests.examples.fixtures import row as row

PLAIN = ("init", "--hooks", "--hook-kind", "plain")
COMMIT = ("commit", "-a", "-m", "Improve")


@pytest.fixture
def fresh(good: Example) -> Example:
    """A registry without hooks."""
    return on_path(good)


def hooks(made: Example) -> Path:
    return made.repo / ".git/hooks"


def texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def test_plain_hooks_are_installed_and_named(fresh: Example) -> None:
    said = ok(fresh, *PLAIN)
    assert f"installed plain git hooks in {hooks(fresh)}: " in said
    for name in (*scripts.GUARDS, *scripts.BESIDE):
        assert os.access(hooks(fresh) / name, os.X_OK)
        assert name in said
    assert not (fresh.repo / ".pre-commit-config.yaml").exists()
    forge(fresh)
    refused(fresh, *COMMIT)


def test_through_pre_commit_the_push_hook_stands_beside_it(fresh: Example) -> None:
    said = ok(fresh, "init", "--hooks")
    assert "installed the pre-commit hook 'registry-check' (pre-commit, pre-merge-commit" in said
    assert "pre-push" in said
    assert "pre_commit" in (hooks(fresh) / "pre-commit").read_text()
    assert (hooks(fresh) / "pre-push").read_text().startswith("#!/bin/sh\n# Installed by")
    fresh.git("add", "-A")
    fresh.git("commit", "-q", "-m", "Install")
    forge(fresh)
    refused(fresh, *COMMIT)


def test_pre_commit_finds_the_tool_outside_its_environment(fresh: Example) -> None:
    ok(fresh, "init", "--hooks")
    fresh.git("add", "-A")
    fresh.environment["PATH"] = _path_without_the_tool()
    done = fresh.try_git("commit", "-m", "Install")
    assert done.returncode == 0, done.stdout + done.stderr
    forge(fresh)
    refused(fresh, *COMMIT)
    # Moved away, the commit is refused with a name to look for.
    fresh.git("config", "registry-tool.command", "/nowhere/registry-tool")
    refused(fresh, *COMMIT, rule="registry-tool")


def _path_without_the_tool() -> str:
    wanted = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(BIN)]
    path = os.pathsep.join(wanted)
    assert shutil.which("registry-tool", path=path) is None
    return path


def test_installing_twice_changes_nothing(fresh: Example) -> None:
    for words in (PLAIN, ("init", "--hooks")):
        ok(fresh, *words)
        before = texts(hooks(fresh)), texts(fresh.repo), (fresh.repo / ".git/config").read_text()
        ok(fresh, *words)
        after = texts(hooks(fresh)), texts(fresh.repo), (fresh.repo / ".git/config").read_text()
        assert after == before


def test_uninstalling_leaves_what_others_put_there(fresh: Example) -> None:
    config = (fresh.repo / ".git/config").read_text()
    mine = hooks(fresh) / "post-merge"
    mine.write_text("#!/bin/sh\necho mine\n")
    before = texts(hooks(fresh))
    for words in (PLAIN, ("init", "--hooks")):
        ok(fresh, *words)
        said = ok(fresh, "init", "--hooks", "--uninstall")
        assert "removed" in said
        assert texts(hooks(fresh)) == before
        assert (fresh.repo / ".git/config").read_text() == config
    assert not (fresh.repo / ".pre-commit-config.yaml").exists()


@pytest.mark.parametrize(
    "lines", [("# Installed by registry-tool init --hooks.",), ("# By hand", "")]
)
def test_hooks_of_the_first_versions_are_replaced(fresh: Example, lines: tuple[str, ...]) -> None:
    old = hooks(fresh) / "pre-commit"
    command = 'exec registry-tool check --staged --registry "$(git config --get x || echo .)"'
    old.write_text("\n".join(["#!/bin/sh", *lines, command, ""]))
    ok(fresh, *PLAIN)
    assert old.read_text() == scripts.script("pre-commit", str(BIN / "registry-tool"))
    # With anything else in it, it is somebody's own.
    theirs = f"#!/bin/sh\nnpm test || exit 1\n{command}\n"
    old.write_text(theirs)
    ok(fresh, *PLAIN)
    assert old.read_text() == theirs


def test_the_entry_of_the_first_versions_is_replaced(fresh: Example) -> None:
    ok(fresh, "init", "--hooks")
    config = fresh.repo / ".pre-commit-config.yaml"
    now = config.read_text()
    (entry,) = (line for line in now.splitlines() if "entry:" in line)
    for old in ("registry-tool check --staged", "registry-tool check --staged --registry 'a b'"):
        config.write_text(now.replace(entry, f"{entry.partition('entry')[0]}entry: {old}"))
        ok(fresh, "init", "--hooks")
        assert config.read_text() == now


def test_going_over_to_pre_commit_leaves_no_hook_that_runs_twice(fresh: Example) -> None:
    ok(fresh, *PLAIN)
    ok(fresh, "init", "--hooks", "--hook-kind", "pre-commit")
    assert [path.name for path in hooks(fresh).iterdir() if path.suffix == ".legacy"] == []
    assert "pre_commit" in (hooks(fresh) / "pre-commit").read_text()


def test_lefthook_is_told_what_to_run(fresh: Example) -> None:
    mine = hooks(fresh) / "pre-push"
    mine.write_text('#!/bin/sh\ncall_lefthook() { lefthook "$@"; }\ncall_lefthook run "pre-push"\n')
    said = ok(fresh, *PLAIN)
    block = said.partition("add to lefthook.yml:\n")[2].partition("installed")[0]
    assert YAML(typ="safe").load(block) == {
        "pre-push": {
            "commands": {
                "registry-check": {
                    "run": "registry-tool hook pre-push {0}",
                    "use_stdin": True,
                }
            }
        }
    }
    assert "lefthook" in mine.read_text()


def test_a_folder_of_hooks_that_cannot_be_written_is_named(fresh: Example) -> None:
    fresh.git("config", "core.hooksPath", "/dev/null")
    done = tool(fresh, *PLAIN)
    assert done.returncode == 2
    assert "/dev/null: hooks cannot be written there" in done.stderr
    assert "core.hooksPath" in done.stderr


@pytest.mark.parametrize("kind", ["plain", "pre-commit"])
def test_a_registry_that_is_not_on_disk_is_not_made_anew(gated: Example, kind: str) -> None:
    gated.git("sparse-checkout", "set", "--no-cone", "/records/")
    words = ("init", ".", "--hooks", "--hook-kind", kind)
    assert "made a registry" not in ok(gated, *words)
    staged = gated.git("diff", "--cached", "--name-only").split()
    assert staged == ([".pre-commit-config.yaml"] if kind == "pre-commit" else [])
    done = tool(gated, "init", ".")
    assert (done.returncode, "there is a registry here already" in done.stderr) == (2, True)


def test_uninstall_without_hooks_is_wrong_use(fresh: Example) -> None:
    assert tool(fresh, "init", "--uninstall").returncode == 2


def test_a_hook_of_somebody_else_is_left_alone_and_the_line_for_it_is_said(fresh: Example) -> None:
    mine = hooks(fresh) / "pre-commit"
    mine.write_text("#!/bin/sh\n# registry-tool is mentioned here\necho mine\n")
    mine.chmod(0o755)
    said = ok(fresh, *PLAIN)
    assert "echo mine" in mine.read_text()
    line = next(text for text in said.splitlines() if "hook pre-commit" in text).strip()
    mine.write_text(f"#!/bin/sh\n{line}\necho mine\n")
    forge(fresh)
    refused(fresh, *COMMIT)
    fresh.git("checkout", "-q", "--", ".")
    done = fresh.try_git(*EMPTY_COMMIT)
    assert (done.returncode, "mine" in done.stdout + done.stderr) == (0, True)
    # The line is known when it is there, and the hook stays theirs.
    assert "the line in your own hook" in ok(fresh, *PLAIN)
    assert mine.read_text() == f"#!/bin/sh\n{line}\necho mine\n"


def test_the_line_for_a_push_hook_leaves_the_refs_to_those_after_it(
    fresh: Example, tmp_path: Path
) -> None:
    mine = hooks(fresh) / "pre-push"
    mine.write_text("#!/bin/sh\n")
    said = ok(fresh, *PLAIN)
    line = next(text for text in said.splitlines() if "hook pre-push" in text).strip()
    mine.write_text(f"#!/bin/sh\n{line}\ncat >'{tmp_path}/seen'\n")
    mine.chmod(0o755)
    bare = tmp_path / "remote.git"
    fresh.git("init", "-q", "--bare", str(bare))
    fresh.git("remote", "add", "origin", str(bare))
    assert fresh.try_git("push", "-q", "origin", "main").returncode == 0
    assert "refs/heads/main" in (tmp_path / "seen").read_text()
    forge(fresh)
    fresh.git("commit", "-qam", "Forge", "--no-verify")
    refused(fresh, "push", "-q", "origin", "main")


def test_a_folder_of_hooks_that_the_clone_names_is_used(fresh: Example, tmp_path: Path) -> None:
    folder = tmp_path / "my hooks"
    fresh.git("config", "core.hooksPath", str(folder))
    said = ok(fresh, "init", "--hooks")
    assert f"{folder} (core.hooksPath): pre-commit" in said
    forge(fresh)
    refused(fresh, *COMMIT)


def test_a_folder_of_hooks_for_all_repositories_is_said_to_be_one(
    fresh: Example, tmp_path: Path
) -> None:
    (tmp_path / "gitconfig").write_text(f"[core]\n\thooksPath = {tmp_path}/all\n")
    fresh.environment["GIT_CONFIG_GLOBAL"] = str(tmp_path / "gitconfig")
    assert "of all your repositories" in ok(fresh, "init", "--hooks")
    forge(fresh)
    refused(fresh, *COMMIT)
    bystander = tmp_path / "bystander"
    bystander.mkdir()
    fresh.git("init", "-q", cwd=bystander)
    assert fresh.try_git(*EMPTY_COMMIT, cwd=bystander).returncode == 0


def test_another_manager_is_told_the_lines(fresh: Example) -> None:
    folder = fresh.repo / ".husky/_"
    folder.mkdir(parents=True)
    (folder / "h").write_text("#!/bin/sh\n")
    fresh.git("config", "core.hooksPath", ".husky/_")
    said = ok(fresh, "init", "--hooks")
    assert '.husky/pre-commit: registry-tool hook pre-commit "$@" || exit 1' in said
    assert sorted(path.name for path in folder.iterdir()) == ["h"]


def test_a_push_hook_of_pre_commit_keeps_ours_beside_it(fresh: Example, tmp_path: Path) -> None:
    ok(fresh, "init", "--hooks")
    (hooks(fresh) / "pre-push").unlink()
    python = str(BIN / "python")
    words = [python, "-m", "pre_commit", "install", "--hook-type", "pre-push"]
    subprocess.run(words, cwd=fresh.repo, env=fresh.environment, check=True, capture_output=True)
    assert "pre-push.legacy" in ok(fresh, "init", "--hooks")
    bare = tmp_path / "remote.git"
    fresh.git("init", "-q", "--bare", str(bare))
    fresh.git("remote", "add", "origin", str(bare))
    fresh.git("branch", "first")
    forge(fresh)
    fresh.git("add", "-A")
    fresh.git("commit", "-qm", "Forge", "--no-verify")
    refused(fresh, "push", "-q", "origin", "first", "main")


CONFIGS = {
    "empty": "",
    "indented": (
        "# ours\nrepos:\n  - repo: local\n    hooks:\n      - id: x\n        name: x\n"
        "        entry: 'true'\n        language: system\n        stages: [manual]\n"
    ),
    "flush": (
        "minimum_pre_commit_version: 3.0.0\nrepos:   # all of them\n- repo: local\n  hooks:\n"
        "  - {id: x, name: x, entry: 'true', language: system, stages: [manual]}\n"
        "\n# after\nfail_fast: false\n"
    ),
    "one line": "repos: []\n",
    "no newline": "fail_fast: true\nrepos:",
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_of_pre_commit_keeps_every_line(fresh: Example, name: str) -> None:
    path = fresh.repo / ".pre-commit-config.yaml"
    before = CONFIGS[name]
    if name == "no newline":
        before += "\n  - repo: meta\n    hooks: [{id: identity}]"
    path.write_text(before)
    ok(fresh, "init", "--hooks")
    after = path.read_text()
    if name != "one line":
        assert [one for one in before.splitlines() if one not in after.splitlines()] == []
    loaded = YAML(typ="safe").load(after)
    old = YAML(typ="safe").load(before) or {"repos": []}
    assert loaded["repos"][:-1] == old["repos"]
    assert {key: loaded[key] for key in loaded if key != "repos"} == {
        key: old[key] for key in old if key != "repos"
    }
    (hook,) = loaded["repos"][-1]["hooks"]
    assert (hook["id"], hook["language"], hook["always_run"]) == ("registry-check", "system", True)
    fresh.git("add", "-A")
    assert fresh.try_git("commit", "-m", "Install").returncode == 0
    ok(fresh, "init", "--hooks", "--uninstall")
    rest = path.read_text() if path.exists() else ""
    assert (YAML(typ="safe").load(rest) or {"repos": []}) == old


@pytest.mark.parametrize("text", ["repos: [", "repos: 3\n", "- a\n", "repos:\n- repo: local\n"])
def test_a_broken_configuration_of_pre_commit_is_refused_and_stays(
    fresh: Example, text: str
) -> None:
    path = fresh.repo / ".pre-commit-config.yaml"
    path.write_text(text)
    done = tool(fresh, "init", "--hooks")
    assert done.returncode == 2
    assert ".pre-commit-config.yaml" in done.stderr
    assert path.read_text() == text


def test_the_hook_finds_the_tool_without_its_environment(gated: Example) -> None:
    gated.environment["PATH"] = _path_without_the_tool()
    forge(gated)
    refused(gated, *COMMIT)


@pytest.mark.parametrize("state", ["gone", "without its Python"])
def test_a_missing_tool_refuses_what_it_should_judge(gated: Example, state: str) -> None:
    gated.environment["PATH"] = _path_without_the_tool()
    broken = gated.repo.parent / "registry-tool"
    if state != "gone":
        broken.write_text("#!/nowhere/python\n")
        broken.chmod(0o755)
    for path in hooks(gated).iterdir():
        path.write_text(path.read_text().replace(str(BIN / "registry-tool"), str(broken)))
    done = refused(gated, *EMPTY_COMMIT, rule="registry-tool is not here")
    assert "pip install registry-tool" in done.stderr
    # Advice and trailers are no reason to stop.
    assert gated.try_git(*EMPTY_COMMIT, "--no-verify").returncode == 0
    # On PATH it is found all the same.
    gated.environment["PATH"] = f"{BIN}{os.pathsep}{gated.environment['PATH']}"
    put(gated, C)
    assert f"Verified-row: {C.id}" in gated.git("log", "-1", "--format=%B")


def test_a_commit_never_fails_for_want_of_trailers(gated: Example) -> None:
    hook = hooks(gated) / "prepare-commit-msg"
    assert "trailers --message-file" in hook.read_text()
    hook.write_text(hook.read_text().replace("trailers", "no-such-verb"))
    assert gated.try_git(*EMPTY_COMMIT).returncode == 0


def test_a_clone_without_hooks_is_still_refused_by_the_next_one(
    gated: Example, tmp_path: Path
) -> None:
    gated.git("clone", "-q", str(gated.repo), str(tmp_path / "bare-handed"), cwd=tmp_path)
    other = Example(tmp_path / "bare-handed", tmp_path / "bare-handed", gated.environment)
    forge(other)
    other.git("commit", "-qam", "Forge")
    refused(gated, "pull", "-q", "--no-rebase", "--no-ff", str(other.repo), "main")


def test_hooks_for_a_registry_in_a_folder_judge_it(tmp_path: Path) -> None:
    made = on_path(example.make(tmp_path, A, inside="registry"))
    ok(made, "init", "registry", *PLAIN[1:], cwd=made.repo)
    made.commit()
    forge(made)
    refused(made, *COMMIT)
    made.git("checkout", "-q", "--", ".")
    put(made, C)


def test_an_unknown_hook_is_wrong_use(gated: Example) -> None:
    assert tool(gated, "hook", "no-such-hook").returncode == 2
    assert tool(gated, "hook", "update", "refs/heads/x").returncode == 2
    assert tool(gated, "hook", "pre-commit", cwd=gated.repo.parent).returncode == 2
