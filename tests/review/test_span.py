"""Which commits are compared, and what is said where that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_tool.errors import GitError, ToolError
from registry_tool.review import span
from registry_tool.review.span import Span
from registry_tool.store import git
from tests.examples import example
from tests.examples.example import Example


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """`side` and `main` have each a commit of their own after the first; only looked at."""
    made = example.make(tmp_path_factory.mktemp("forked"))
    made.git("checkout", "-q", "-b", "side")
    made.commit("On the side")
    made.git("checkout", "-q", "main")
    made.commit("On main")
    made.git("checkout", "-q", "--orphan", "alone")
    made.commit("Alone")
    made.git("checkout", "-q", "side")
    return made


def oid(made: Example, name: str) -> str:
    return made.git("rev-parse", name).strip()


def found(made: Example, text: str | None) -> Span:
    return span.resolve(git.require_repository(made.root), text)


def problem(made: Example, text: str | None) -> ToolError:
    with pytest.raises(ToolError) as caught:
        found(made, text)
    assert caught.value.exit_status == 2
    return caught.value


def test_two_dots_compare_the_two_commits(forked: Example) -> None:
    assert found(forked, "main..side") == Span(
        oid(forked, "main"), oid(forked, "side"), "main..side"
    )
    assert found(forked, "main..").head == found(forked, "..HEAD").base == oid(forked, "side")


def test_three_dots_compare_from_where_they_parted(forked: Example) -> None:
    parting = oid(forked, "side~1")
    assert found(forked, "main...side") == Span(parting, oid(forked, "side"), "main...side")


def test_a_single_revision_is_compared_with_its_first_parent(forked: Example) -> None:
    assert found(forked, "main") == Span(oid(forked, "main~1"), oid(forked, "main"), "main")


def test_the_first_commit_is_compared_with_nothing(forked: Example) -> None:
    assert found(forked, "main~1").base is None


def test_a_base_of_zeros_is_nothing(forked: Example) -> None:
    for zeros in ("0" * 40, "0" * 64):
        assert found(forked, f"{zeros}..main").base is None


def test_without_a_revision_it_is_the_work_since_main(forked: Example) -> None:
    base, head = oid(forked, "side~1"), oid(forked, "side")
    assert found(forked, None) == Span(base, head, f"{base[:12]}..HEAD")


def test_an_upstream_comes_before_main(forked: Example, tmp_path: Path) -> None:
    cloned = clone(forked, tmp_path / "clone")
    cloned.git("checkout", "-q", "-b", "mine", "origin/side")
    cloned.commit("Mine")
    assert found(cloned, None).base == oid(forked, "side")


@pytest.mark.parametrize("text", ["nope..HEAD", "HEAD..nope", "nope...HEAD", "nope", "-x..HEAD"])
def test_an_unknown_revision_is_named(forked: Example, text: str) -> None:
    wanted = "-x" if text.startswith("-x") else "nope"
    assert f"no commit is called '{wanted}'" in str(problem(forked, text))


def test_commits_without_a_common_one_are_told_apart(forked: Example) -> None:
    error = problem(forked, "main...alone")
    assert "no commit in common" in str(error)
    assert error.fix == "registry-tool review main..alone"


def test_without_a_commit_there_is_nothing_to_review(tmp_path: Path) -> None:
    made = Example(tmp_path, tmp_path)
    made.git("init", "-q")
    assert "--staged" in str(problem(made, None))


def clone(made: Example, place: Path, *options: str) -> Example:
    made.git("clone", "-q", *options, f"file://{made.repo}", str(place))
    return Example(place, place)


@pytest.fixture
def shallow(forked: Example, tmp_path: Path) -> Example:
    return clone(forked, tmp_path / "shallow", "--depth=1")


@pytest.mark.parametrize("text", ["HEAD", "HEAD~1", "main..HEAD", "HEAD~1...HEAD"])
def test_what_a_shallow_clone_lacks_says_how_to_fetch_it(shallow: Example, text: str) -> None:
    error = problem(shallow, text)
    assert isinstance(error, GitError)
    assert "shallow clone" in str(error)
    assert error.fix is not None
    assert error.fix.startswith("git fetch --")


def test_a_parting_beyond_the_end_of_a_shallow_clone_is_not_no_parting(
    forked: Example, shallow: Example
) -> None:
    shallow.git("fetch", "-q", "--depth=1", "origin", oid(forked, "main"))
    error = problem(shallow, f"{oid(forked, 'main')}...HEAD")
    assert "shallow clone" in str(error)
    shallow.git("fetch", "-q", "--unshallow")
    assert found(shallow, f"{oid(forked, 'main')}...HEAD").base == oid(forked, "side~1")


def test_the_first_commit_of_all_is_whole_in_a_shallow_clone(tmp_path: Path) -> None:
    made = example.make(tmp_path / "whole")
    cloned = clone(made, tmp_path / "clone", "--depth=1")
    assert found(cloned, "HEAD").base is None
