"""`registry-tool review` as a reviewer, and a CI, runs it: the real command in real repositories.

REGISTRY_TOOL_WRITE_GOLDEN=1 writes the golden files anew; what changed is then to be read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from registry_tool.records import catalog
from registry_tool.report import REVIEWS
from registry_tool.report.review_json import document as review_document
from tests.examples import example
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example
from tests.examples.fixtures import _template, good, other, row
from tests.report import samples
from tests.review.conftest import _changed, changed, noted, own
from tests.signing import keyring
from tests.signing.world import line, sign, trust

__all__ = ["_changed", "_template", "changed", "good", "other", "own", "row"]

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).resolve().parents[2]
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def tool(made: Example, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, in the repository's top."""
    done = subprocess.run(
        [sys.executable, "-m", "registry_tool", *words],
        cwd=cwd or made.repo,
        env={**made.environment, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def settled(text: str) -> str:
    """``text`` without what differs from run to run: ids of commits and runs, the version."""
    text = re.sub(r"\b[0-9a-f]{40}\b", "<commit>", text)
    text = re.sub(r"\b\d{8}T\d{6}Z-[0-9a-f]{8}\b", "<run>", text)
    text = re.sub(r"\b[0-9a-f]{12}\.\.[0-9a-f]{12}", "<base>..<head>", text)
    return re.sub(r'("semanticVersion": )"[^"]*"', r'\1"0"', text)


@pytest.mark.parametrize("format_", ["text", "json", "md", "github", "junit"])
def test_a_review_reads_as_in_the_golden_file(changed: Example, format_: str) -> None:
    done = tool(changed, "review", "HEAD~1..HEAD", "--format", format_)
    assert done.returncode == 1, done.stderr
    path = GOLDEN / f"review.{format_}"
    found = settled(done.stdout)
    if os.environ.get("REGISTRY_TOOL_WRITE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_every_format_is_written_in_one_run(changed: Example, tmp_path: Path) -> None:
    words = [f"--write={name}={tmp_path / name}" for name in REVIEWS]
    done = tool(changed, "review", "HEAD", "--quiet", *words)
    assert done.returncode == 1
    for name in REVIEWS:
        assert (tmp_path / name).read_text(encoding="utf-8").endswith("\n")
    assert (tmp_path / "text").read_text(encoding="utf-8") == done.stdout
    json.loads((tmp_path / "sarif").read_bytes())
    ElementTree.parse(tmp_path / "junit")


def test_a_format_that_there_is_not_cannot_be_written(changed: Example) -> None:
    for words in ("pdf=x.pdf", "md=", "md", "md=/"):
        done = tool(changed, "review", "HEAD", "--write", words)
        assert done.returncode == 2
        assert "--write takes " in done.stderr
        assert "next: registry-tool review --write md=" in done.stderr


def test_an_unknown_revision_is_wrong_use_and_named(changed: Example) -> None:
    done = tool(changed, "review", "HEAD..release")
    assert done.returncode == 2
    assert "no commit is called 'release'" in done.stderr
    assert "next: " in done.stderr
    assert done.stdout == ""


def test_a_shallow_clone_says_how_to_fetch(changed: Example, tmp_path: Path) -> None:
    place = tmp_path / "shallow"
    changed.git("clone", "-q", "--depth=1", f"file://{changed.repo}", str(place))
    shallow = Example(place, place)
    done = tool(shallow, "review")
    assert done.returncode in (0, 1)  # its upstream is where it stands: nothing differs
    done = tool(shallow, "review", "HEAD")
    assert done.returncode == 2
    assert "next: git fetch --deepen=1" in done.stderr
    shallow.git("fetch", "-q", "--deepen=1")
    assert tool(shallow, "review", "HEAD").returncode == 1


def test_the_review_of_a_harmless_change_exits_0(good: Example, row: Row) -> None:
    good.git("checkout", "-q", "-b", "side")
    good.write({row.id.record_path: noted(row, notes=["a remark"])})
    good.render()
    good.commit("Remark")
    done = tool(good, "review")
    assert done.returncode == 0, done.stdout
    first, second, *_ = done.stdout.splitlines()
    assert first.endswith("..HEAD)")
    assert second == "1 re-noted row"
    assert "note added: a remark" in done.stdout


def test_staged_and_unstaged_changes_are_reviewed(good: Example, row: Row) -> None:
    good.write({row.id.record_path: noted(row, notes=["a remark"])})
    good.render()
    assert "no row differs" in tool(good, "review", "--staged").stdout
    assert "1 re-noted row" in tool(good, "review", "--worktree").stdout
    good.git("add", "-A")
    assert "1 re-noted row" in tool(good, "review", "--staged").stdout
    done = tool(good, "review", "HEAD", "--staged")
    assert done.returncode == 2
    assert "HEAD" in done.stderr


def test_paths_are_from_the_top_where_a_code_host_reads_them(
    tmp_path: Path, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = "sub folder/régistre"
    made = example.make(tmp_path, row, inside=inside)
    made.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    made.render()
    made.commit("Forge")
    place = f"{inside}/{row.id.record_path}"
    for verb in (["review", "HEAD"], ["check"]):
        for cwd in (made.root, made.repo):
            monkeypatch.chdir(cwd)
            assert f"::error file={place},line=" in made.command(*verb, "--format", "github")[1]
            sarif = json.loads(made.command(*verb, "--format", "sarif")[1])
            for result in sarif["runs"][0]["results"]:
                uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                assert uri.startswith("sub%20folder/r%C3%A9gistre/records/")
            junit = ElementTree.fromstring(made.command(*verb, "--format", "junit")[1])
            assert {one.attrib["file"] for one in junit.iter("testcase") if len(one)} == {place}
    text = tool(made, "check", cwd=made.root).stdout
    assert text.startswith(row.id.record_path)


def test_nothing_of_a_stranger_reaches_the_terminal_raw(good: Example, row: Row) -> None:
    odd = "\u202e\u2066\x9b31m\u200b ::error::x ##[add-mask]a @everyone"
    record = noted(row, notes=[odd])
    good.write({row.id.record_path: record.replace(b'"used_by": []', b'"used_by": 5')})
    good.write({"records/npu2-emu/\x1b[31mred\n::error::x/a.json": b"{"})
    good.write({"kernels/\x1b[2J\u202e.yaml": b"\x00"})
    good.commit("Odd \x1b[31m")
    for verb in (["review", "HEAD"], ["check"]):
        for format_ in REVIEWS:
            _, out = good.command(*verb, "--format", format_)
            assert not RAW.search(out), (verb, format_)
            assert "##[" not in out
            commands = [line for line in out.split("\n") if line.lstrip().startswith("::")]
            assert format_ == "github" or commands == []
            assert all(re.match("::(error|warning|notice) ", line) for line in commands)


def test_a_merge_that_is_not_finished_can_be_reviewed(good: Example, row: Row) -> None:
    for branch, note in (("theirs", "theirs"), ("main", "ours")):
        good.git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        good.write({row.id.record_path: noted(row, notes=[note])})
        good.commit(note)
    assert good.try_git("merge", "theirs").returncode != 0
    done = tool(good, "review", "--staged")
    assert done.returncode == 1
    assert "its merge is not finished" in done.stdout


def test_a_repository_with_sha_256_is_reviewed(tmp_path: Path, row: Row) -> None:
    made = example.make(tmp_path)
    shutil.rmtree(made.repo / ".git")
    made.git("init", "-q", "-b", "main", "--object-format=sha256")
    made.commit("Start")
    made.add(row)
    made.render()
    made.commit("Add")
    done = tool(made, "review", "HEAD")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 added row" in done.stdout


def moved(made: Example, place: str) -> Example:
    (made.repo / place).parent.mkdir(parents=True, exist_ok=True)
    made.git("mv", made.root.relative_to(made.repo).as_posix(), place)
    return Example(made.repo, made.repo / place)


def test_a_registry_that_moved_is_compared_with_where_it_was(tmp_path: Path, row: Row) -> None:
    made = moved(example.make(tmp_path, row, inside="old"), "new place/registry")
    for state in ("--staged", "--worktree"):
        done = tool(made, "review", state, cwd=made.root)
        assert done.stdout.splitlines()[1:] == ["no row differs"], state
    made.commit("Move")
    made.write({row.id.record_path: noted(row, notes=["a remark"])})
    made.render()
    made.commit("Remark")
    assert tool(made, "review", "HEAD~2..HEAD", cwd=made.root).stdout.splitlines()[1] == (
        "1 re-noted row"
    )
    again = moved(made, "third")
    again.commit("Move again")
    # Both commits are from before the last move.
    done = tool(again, "review", "HEAD~3..HEAD~1", cwd=again.root)
    assert done.stdout.splitlines()[1] == "1 re-noted row"
    assert "1 added row" in tool(again, "review", "HEAD~3", cwd=again.root).stdout


def test_what_only_excludes_a_commit_is_no_revision(changed: Example) -> None:
    for words in ("^HEAD", "^HEAD~1..HEAD", "HEAD...^HEAD"):
        done = tool(changed, "review", words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "no commit is called '^HEAD" in done.stderr
        assert "next: git log --oneline" in done.stderr


def test_work_that_shares_nothing_with_main_is_told_what_to_type(good: Example) -> None:
    main = good.git("rev-parse", "--short=12", "main").strip()
    good.git("checkout", "-q", "--orphan", "lone")
    good.commit("Alone")
    done = tool(good, "review")
    assert done.returncode == 2
    assert done.stderr.splitlines()[1] == f"  next: registry-tool review {main}..HEAD"
    assert tool(good, "review", f"{main}..HEAD").returncode == 0


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """HEAD adds a row signed by alice, one by a stranger and one by nobody, and signs an old one.

    HEAD~1 lets her sign.
    """
    folder = tmp_path_factory.mktemp("signed")
    old, *new = (
        make_row(
            catalog.built_in()[GEMM], {"M": 2048, "K": 1024, "N": 512 * at}, "drain", second=at
        )
        for at in range(1, 5)
    )
    made = example.make(folder, old)
    alice, stranger = (keyring.make(folder, name) for name in ("alice", "stranger"))
    trust(made, line("alice", alice), level="optional")
    made.render()
    made.commit("Let alice sign")
    made.add(*new)
    sign(made, alice, old, new[0])
    sign(made, stranger, new[1])
    made.render()
    made.commit("Rows")
    return made


def test_the_signer_of_each_verdict_is_shown(signed: Example) -> None:
    document = json.loads(tool(signed, "review", "HEAD", "--format", "json").stdout)
    signers = {row["row"].rpartition("/")[2]: row["after"]["signer"] for row in document["rows"]}
    assert signers["2048x1024x1024+drain"] == "alice@example.org"
    assert re.fullmatch(r"key SHA256:\S+ \(unknown\)", signers["2048x1024x1536+drain"])
    assert signers["2048x1024x2048+drain"] is None
    text = tool(signed, "review", "HEAD").stdout
    assert "emulated harness passed, signed by alice@example.org: verdicts/" in text
    assert "(unknown): verdicts/" in text
    assert "emulated harness passed, unsigned: verdicts/" in text
    markdown = tool(signed, "review", "HEAD", "--format", "md").stdout
    rows = [one for one in markdown.split("\n") if one.startswith("| added |")]
    assert [
        one for one in rows if "1024x1024+" in one and "signed by alice@&#8203;example.org" in one
    ]
    assert [one for one in rows if "1024x1536+" in one and "\\(unknown\\)" in one]
    assert [one for one in rows if "1024x2048+" in one and "passed, unsigned" in one]


def test_a_signature_of_an_old_verdict_is_shown_with_its_signer(signed: Example) -> None:
    document = json.loads(tool(signed, "review", "HEAD", "--format", "json").stdout)
    (one,) = document["verdicts"]["signed"]
    assert one["signer"] == "alice@example.org"
    assert "/2048x1024x512+drain/" in one["artifact"]
    text = tool(signed, "review", "HEAD").stdout
    assert "1 old verdict signed" in text.splitlines()[1]
    assert f"  signed by alice@example.org: {one['artifact']}" in text


def test_a_new_signer_is_shown_as_something_loosened(signed: Example, tmp_path: Path) -> None:
    shutil.copytree(signed.repo, tmp_path / "repo")
    made = Example(tmp_path / "repo", tmp_path / "repo")
    mallory = keyring.make(tmp_path, "mallory")
    trust(made, line("mallory", mallory), level="optional")
    made.commit("Let mallory sign")
    text = tool(made, "review", "HEAD").stdout
    assert "signers/allowed_signers changed" in text
    assert "loosened: mallory@example.org may sign with the key SHA256:" in text
    trust(made, line("mallory", mallory), level="off")
    made.commit("Sign no more")
    assert "loosened: signing for npu2 was optional and is off" in tool(made, "review").stdout + (
        tool(made, "review", "HEAD").stdout
    )


def documented(page: str) -> dict[str, set[str]]:
    """What docs/review.md says that each field of the JSON form holds."""
    _, _, part = page.partition("## The JSON form")
    part, _, _ = part.partition("\n## ")
    found: dict[str, set[str]] = {}
    for names, words in re.findall(r"^\| (`.*?`) \| (.*) \|$", part, re.M):
        for name in re.findall(r"`([^`]+)`", names):
            whole = f"rows[]{name}" if name.startswith(".") else name
            found.setdefault(whole, set()).update(re.findall(r"`(\w+)`", words))
    return found


def test_every_key_of_the_json_form_is_documented() -> None:
    known = documented((ROOT / "docs" / "review.md").read_text(encoding="utf-8"))
    document = review_document(samples.REVIEW)
    for name, part in document.items():
        assert name in known, name
        for one in part if isinstance(part, list) else [part]:
            if isinstance(one, dict) and name != "findings":
                assert set(one) <= known[name], (name, set(one) - known[name])
    for found in document["rows"]:
        for name in ("figures", "before", "after", "settings", "environment"):
            for one in found[name] if isinstance(found[name], tuple) else [found[name] or {}]:
                assert set(one) <= known[f"rows[].{name}"], name
    assert {name for name in known if "[" not in name} == set(document)
