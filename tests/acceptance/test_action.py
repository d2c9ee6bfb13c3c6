"""action.yml: each of its scripts, run as a runner would, in a clone as the checkout makes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.examples import example
from tests.examples.build import Row
from tests.examples.example import Example
from tests.examples.fixtures import _template, other, row
from tests.review.conftest import noted

__all__ = ["_template", "other", "row"]

ROOT = Path(__file__).resolve().parents[2]
ZEROS = "0" * 40


def load(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


ACTION = load(ROOT / "action.yml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
INSTALL, FIND, REVIEW = STEPS


@dataclass
class Runner:
    """One job: its clone, its event, and what its steps wrote."""

    workspace: Path
    temp: Path
    event: dict[str, str]
    environment: dict[str, str]
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        path = self.temp / "summary"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        step = STEPS[name]
        files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
        environment = {
            **self.environment,
            "RUNNER_TEMP": str(self.temp),
            **{variable: str(self.temp / file) for variable, file in files.items()},
            **{variable: self.value(text) for variable, text in step["env"].items()},
        }
        (self.temp / "output").write_text("")
        script = self.temp / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        for line in (self.temp / "output").read_text(encoding="utf-8").splitlines():
            output, _, value = line.partition("=")
            self.outputs[f"steps.{step.get('id')}.outputs.{output}"] = value
        return done

    def value(self, text: str) -> str:
        """An expression's value: the first of its names that is not empty."""
        found = re.fullmatch(r"\$\{\{ (.*) \}\}", text)
        assert found is not None, text
        known = {**self.event, **self.outputs}
        names = found[1].split(" || ")
        assert all(re.match(r"(github|inputs|steps)\.", name) for name in names)
        return next((known[name] for name in names if known.get(name)), "")

    @property
    def range(self) -> str:
        return self.outputs["steps.base.outputs.range"]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, row: Row, other: Row) -> Example:
    """A host's repository: main, a branch with 60 commits, and what a pull request merges."""
    made = example.make(tmp_path_factory.mktemp("origin"), row, other)
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    made.git("checkout", "-q", "-b", "feature")
    made.write({row.id.record_path: noted(row, notes=["a remark"])})
    made.render()
    made.commit("Remark")
    for at in range(60):
        made.git("commit", "-q", "--allow-empty", "-m", f"Empty {at}")
    made.git("checkout", "-q", "main")
    made.write({other.id.record_path: noted(other, notes=["meanwhile"])})
    made.render()
    made.commit("Meanwhile")
    made.git("checkout", "-q", "-b", "merged")
    # Both touch the page's table: its regions are made anew.
    made.try_git("merge", "-q", "--no-commit", "feature")
    made.git("checkout", "-q", "--theirs", ".") if made.git("ls-files", "-u") else None
    made.write({other.id.record_path: noted(other, notes=["meanwhile"])})
    made.render()
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "Merge feature into main")
    made.git("update-ref", "refs/pull/7/merge", "merged")
    made.git("checkout", "-q", "main")
    return made


def oid(made: Example, name: str) -> str:
    return made.git("rev-parse", name).strip()


def job(
    origin: Example, folder: Path, ref: str, event_name: str, depth: int = 1, **event: str
) -> Runner:
    """A job on ``ref``, checked out as the usual checkout action does."""
    workspace, temp = folder / "workspace", folder / "temp"
    workspace.mkdir()
    temp.mkdir()
    made = Example(workspace, workspace)
    made.git("init", "-q")
    made.git("remote", "add", "origin", f"file://{origin.repo}")
    options = [f"--depth={depth}"] if depth else []
    sha = oid(origin, ref)
    made.git("fetch", "-q", "--no-tags", *options, "origin", f"+{sha}:refs/remotes/pull")
    made.git("checkout", "-q", "--detach", sha)
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    command = bin_folder / "registry-tool"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m registry_tool "$@"\n')
    command.chmod(0o755)
    environment = {
        **made.environment,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GITHUB_EVENT_NAME": event_name,
        "GITHUB_SHA": sha,
        "GITHUB_REF": ref if ref.startswith("refs/") else f"refs/heads/{ref}",
    }
    known = {"inputs.registry": ".", "github.event.repository.default_branch": "main", **event}
    return Runner(workspace, temp, known, environment)


def reviewed(runner: Runner) -> str:
    """The summary after both steps, which must succeed."""
    found = runner.run(FIND)
    assert found.returncode == 0, found.stderr
    done = runner.run(REVIEW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not judged" not in runner.summary
    return runner.summary


def test_the_action_and_the_examples_are_valid() -> None:
    check = str(Path(sys.executable).parent / "check-jsonschema")
    for schema, path in (
        ("vendor.github-actions", ROOT / "action.yml"),
        ("vendor.github-workflows", ROOT / "docs" / "examples" / "registry-review.yml"),
        ("vendor.gitlab-ci", ROOT / "docs" / "examples" / "gitlab-ci.yml"),
    ):
        done = subprocess.run(
            [check, "--builtin-schema", schema, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_script_holds_an_expression() -> None:
    for step in STEPS.values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


def test_a_pull_request_is_reviewed_as_the_merge_that_would_be(
    origin: Example, tmp_path: Path
) -> None:
    # The host's idea of the base may be older than the merge's first parent.
    old = {"github.event.pull_request.base.sha": oid(origin, "main~1")}
    runner = job(origin, tmp_path, "refs/pull/7/merge", "pull_request", **old)
    summary = reviewed(runner)
    assert runner.range == "HEAD^1..HEAD"
    assert summary.startswith("<!-- registry-tool review -->")
    assert "1 re-noted row" in summary
    assert "a remark" in summary
    assert "meanwhile" not in summary


def test_a_checkout_of_the_pull_requests_head_is_compared_from_where_it_parted(
    origin: Example, tmp_path: Path
) -> None:
    base = {"github.event.pull_request.base.sha": oid(origin, "main")}
    runner = job(origin, tmp_path, "feature", "pull_request", **base)
    summary = reviewed(runner)
    assert runner.range == f"{oid(origin, 'main')}...HEAD"
    assert "1 re-noted row" in summary
    assert "meanwhile" not in summary


@pytest.mark.parametrize("depth", [0, 1])
def test_a_push_is_compared_with_what_was_there(
    origin: Example, tmp_path: Path, depth: int
) -> None:
    before = {"github.event.before": oid(origin, "main~1")}
    runner = job(origin, tmp_path, "main", "push", depth, **before)
    summary = reviewed(runner)
    assert runner.range == f"{oid(origin, 'main~1')}..HEAD"
    assert "meanwhile" in summary


def test_the_first_push_of_a_branch_is_compared_with_main(origin: Example, tmp_path: Path) -> None:
    runner = job(origin, tmp_path, "feature", "push", **{"github.event.before": ZEROS})
    summary = reviewed(runner)
    assert runner.range == f"{oid(origin, 'main')}...HEAD"
    assert "1 re-noted row" in summary


def test_the_first_push_of_all_is_compared_with_nothing(origin: Example, tmp_path: Path) -> None:
    runner = job(origin, tmp_path, "main", "push", **{"github.event.before": ZEROS})
    summary = reviewed(runner)
    assert runner.range == f"{ZEROS}..HEAD"
    assert "2 added rows" in summary


def test_a_push_whose_old_commits_are_gone_is_compared_with_main(
    origin: Example, tmp_path: Path
) -> None:
    runner = job(origin, tmp_path, "feature", "push", **{"github.event.before": "1" * 40})
    summary = reviewed(runner)
    assert runner.range == f"{oid(origin, 'main')}...HEAD"
    assert "1 re-noted row" in summary


def test_a_run_without_a_base_reviews_the_last_commit(origin: Example, tmp_path: Path) -> None:
    runner = job(origin, tmp_path, "main", "schedule")
    assert "meanwhile" in reviewed(runner)
    assert runner.range == "HEAD"


def test_a_base_that_is_given_comes_first(origin: Example, tmp_path: Path) -> None:
    given = {"inputs.base": "main", "github.event.before": ZEROS}
    runner = job(origin, tmp_path, "feature", "push", **given)
    assert "1 re-noted row" in reviewed(runner)
    assert runner.range == f"{oid(origin, 'main')}...HEAD"


def test_a_refused_state_fails_the_step_and_still_has_a_summary(
    origin: Example, tmp_path: Path, row: Row
) -> None:
    copy = tmp_path / "origin"
    shutil.copytree(origin.repo, copy, symlinks=True)
    made = Example(copy, copy)
    made.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    made.commit("Forge")
    (tmp_path / "job").mkdir()
    before = {"github.event.before": oid(made, "main~1")}
    runner = job(made, tmp_path / "job", "main", "push", **before)
    assert runner.run(FIND).returncode == 0
    done = runner.run(REVIEW)
    assert done.returncode == 1
    assert f"::error file={row.id.record_path},line=" in done.stdout
    assert "KR105" in runner.summary
    assert Path(runner.outputs["steps.review.outputs.sarif"]).is_file()
    assert Path(runner.outputs["steps.review.outputs.markdown"]).is_file()


def test_a_registry_in_a_subfolder_is_reviewed(tmp_path: Path, row: Row) -> None:
    made = example.make(tmp_path / "origin", row, inside="sub folder/$(touch x)")
    runner = job(
        made, tmp_path, "main", "push", **{"inputs.registry": "sub folder/$(touch x)"},
    )  # fmt: skip
    assert "1 added row" in reviewed(runner)
    assert not list(tmp_path.rglob("x"))


def test_the_tool_is_installed_from_the_actions_own_folder(origin: Example, tmp_path: Path) -> None:
    runner = job(origin, tmp_path, "main", "push", **{"github.action_path": str(ROOT)})
    runner.environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_TARGET": str(tmp_path / "installed"),
        # Nothing is fetched here: what builds it is there already.
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "HOME": str(tmp_path),
    }
    runner.environment.pop("PYTHONPATH")
    done = runner.run(INSTALL)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "installed" / "registry_tool" / "commands" / "review.py").is_file()
    assert (tmp_path / "installed" / "bin" / "registry-tool").is_file()


@pytest.mark.parametrize(
    ("base", "text"),
    [("main~1", "1 re-noted row"), (ZEROS, "2 added rows"), ("", "1 re-noted row")],
)
def test_the_script_for_other_hosts_leaves_every_file(
    origin: Example, tmp_path: Path, base: str, text: str
) -> None:
    runner = job(origin, tmp_path, "main", "push", depth=0)
    base = oid(origin, base) if base not in ("", ZEROS) else base
    done = subprocess.run(
        ["sh", str(ROOT / "docs" / "examples" / "review.sh"), ".", base],
        cwd=runner.workspace,
        env=runner.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
    names = {path.name for path in runner.workspace.glob("registry-review.*")}
    endings = ("md", "xml", "sarif", "codequality.json")
    assert names == {f"registry-review.{ending}" for ending in endings}


def test_the_script_fetches_a_base_that_was_pushed_over(origin: Example, tmp_path: Path) -> None:
    runner = job(origin, tmp_path, "main", "push", depth=0)
    base = oid(origin, "feature")
    assert subprocess.run(["git", "cat-file", "-e", base], cwd=runner.workspace).returncode != 0
    done = subprocess.run(
        ["sh", str(ROOT / "docs" / "examples" / "review.sh"), ".", base],
        cwd=runner.workspace,
        env=runner.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "meanwhile" in done.stdout


def comment_script() -> str:
    """The script in docs/ci.md that keeps a comment up to date."""
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    script: str = YAML(typ="safe", pure=True).load(block)[1]["run"]
    return script


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ("", ["api", "--silent", "repos/o/r/issues/7/comments", "-F", "body=@review.md"]),
        ("42\n43\n", ["api", "--silent", "--method", "PATCH", "repos/o/r/issues/comments/42",
                      "-F", "body=@review.md"]),
    ],
)  # fmt: skip
def test_a_comment_is_made_once_and_then_kept_up_to_date(
    tmp_path: Path, known: str, wanted: list[str]
) -> None:
    """With a stand-in for `gh` that lists ``known`` comments and keeps its words."""
    stand_in = tmp_path / "gh"
    stand_in.write_text(
        f'#!/bin/sh\ncase "$*" in *--paginate*) printf "{known}" ;;\n'
        f'*) printf "%s\\n" "$@" > "{tmp_path}/words" ;; esac\n'
    )
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", comment_script()],
        env={
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_REPOSITORY": "o/r",
            "PULL": "7",
            "BODY": "review.md",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "words").read_text().splitlines() == wanted
