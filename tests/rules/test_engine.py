"""What a check remembers: never another answer than a check that remembers nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from registry_tool.rules import engine, rows
from registry_tool.rules.model import Report
from registry_tool.store import snapshot
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example

Damage = Callable[[Example, Row], None]


def remembered(good: Example) -> Path:
    return good.repo / ".git" / "registry-tool"


def forgotten(good: Example, *words: str) -> list[dict[str, object]]:
    """What a check finds that remembers nothing."""
    shutil.rmtree(remembered(good), ignore_errors=True)
    return good.findings(*words)


def edit_row(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.5')


def add_note(good: Example, row: Row) -> None:
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=["a remark"]))})


def render(good: Example, row: Row) -> None:
    good.render()


def delete_log(good: Example, row: Row) -> None:
    good.path(f"{row.id.verdict_folder}/{row.verdict.run_id}.log").unlink()


def restore_log(good: Example, row: Row) -> None:
    good.write(row.evidence())


def add_row(good: Example, row: Row) -> None:
    good.add(make_row(catalog.built_in()[GEMM], {"M": 4096, "K": 1024, "N": 1024}, "drain"))


def retire_row(good: Example, row: Row) -> None:
    good.path(row.id.record_path).unlink()


def bring_back(good: Example, row: Row) -> None:
    good.write(row.files())


def edit_page(good: Example, row: Row) -> None:
    good.edit(f"details/{GEMM}.md", "| 8×4 |", "| 9×9 |")


def stray_file(good: Example, row: Row) -> None:
    good.write({"records/npu2-emu/stray.txt": "x\n"})


def break_policy(good: Example, row: Row) -> None:
    good.edit("registry.yaml", "kind: hardware", "kind: hard")


def mend_policy(good: Example, row: Row) -> None:
    good.edit("registry.yaml", "kind: hard\n", "kind: hardware\n")


def other_model(good: Example, row: Row) -> None:
    good.git("mv", "-f", "models/Toy-1B.json", "models/Other.json")


def commit(good: Example, row: Row) -> None:
    good.commit()


STORY: list[Damage] = [
    edit_row, render, bring_back, render, delete_log, restore_log, add_row, render, commit,
    add_note, commit, render, edit_page, render, retire_row, commit, render, bring_back, stray_file,
    render, break_policy, commit, mend_policy, other_model, commit,
]  # fmt: skip


def test_each_step_of_a_long_story_is_judged_as_if_it_were_the_first(
    good: Example, row: Row
) -> None:
    for step in STORY:
        step(good, row)
        for words in ((), ("--staged",)):
            warm = good.findings(*words)
            assert warm == good.findings(*words), step.__name__
            kept = remembered(good)
            aside = kept.with_name("aside")
            shutil.move(kept, aside)
            assert warm == good.findings(*words), step.__name__
            shutil.rmtree(kept)
            shutil.move(aside, kept)


def test_revisions_one_after_the_other_are_judged_as_alone(good: Example, row: Row) -> None:
    for step in (edit_row, commit, bring_back, commit, add_row, commit, render, commit):
        step(good, row)
    revisions = good.git("rev-list", "HEAD").split()
    one_after_the_other = [good.findings("--ref", revision) for revision in revisions]
    assert [bool(found) for found in one_after_the_other] == [False, True, False, True, False]
    assert [forgotten(good, "--ref", revision) for revision in revisions] == one_after_the_other


def spoil(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_damaged_memory_is_as_good_as_none(good: Example, row: Row, part: float) -> None:
    edit_row(good, row)
    expected = good.findings()
    assert expected
    for path in remembered(good).iterdir():
        data = path.read_bytes()
        path.write_bytes(spoil(data, int(part * (len(data) - 1))))
    assert good.findings() == expected
    for path in remembered(good).iterdir():
        path.write_bytes(path.read_bytes()[:10])
    assert good.findings() == expected


def test_a_memory_that_cannot_be_written_is_no_harm(good: Example, row: Row) -> None:
    shutil.rmtree(remembered(good), ignore_errors=True)
    remembered(good).write_text("a file where the folder should be\n")
    edit_row(good, row)
    assert "KR105" in good.rules()


def test_a_tool_that_changed_judges_everything_again(
    good: Example, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert good.findings() == []
    seen: list[str] = []
    judge = rows.judge_row

    def counting(row: str, *others: object) -> object:
        seen.append(row)
        return judge(row, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "judge_row", counting)
    assert good.findings() == []
    assert seen == []
    monkeypatch.setattr(engine.states, "tool_signature", lambda: "another")
    assert good.findings() == []
    assert len(seen) == 2


def test_only_the_row_that_changed_is_judged_again(
    good: Example, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert good.findings() == []
    seen: list[str] = []
    judge = rows.judge_row

    def counting(row: str, *others: object) -> object:
        seen.append(row)
        return judge(row, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "judge_row", counting)
    add_note(good, row)
    good.render()
    assert good.findings() == []
    assert seen == [str(row.id)]


def test_two_checks_at_once_do_each_other_no_harm(good: Example, row: Row) -> None:
    edit_row(good, row)
    expected = good.findings()
    answers: list[list[object]] = []

    def check() -> None:
        for _ in range(3):
            shutil.rmtree(remembered(good), ignore_errors=True)
            report = engine.check(snapshot.of_worktree(good.root))
            answers.append([finding.as_json() for finding in report.findings])

    threads = [threading.Thread(target=check) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 6


# A test runner has threads of its own; the engine itself never forks beside any.
forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@forks
def test_many_rows_are_judged_alike_by_one_process_and_by_several(
    good: Example, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_row(good, row)
    good.add(
        *(
            make_row(
                catalog.built_in()[GEMM],
                {"M": 512 * m, "K": 1024, "N": 1024},
                "direct",
                tile=row.record.tile,
                herd=row.record.herd,
            )
            for m in range(1, 9)
        )
    )
    alone = forgotten(good)
    assert alone
    monkeypatch.setattr(rows, "_processes", lambda number: 3)
    assert forgotten(good) == alone


@forks
def test_a_helper_that_dies_costs_only_time(
    good: Example, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_row(good, row)
    alone = forgotten(good)
    monkeypatch.setattr(rows, "_processes", lambda number: 2)
    parent = os.getpid()
    judge = rows.judge_row

    def dying(row: str, *others: object) -> object:
        if os.getpid() != parent:
            os._exit(3)
        return judge(row, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "judge_row", dying)
    assert forgotten(good) == alone


def test_a_folder_without_git_is_judged_too(good: Example, row: Row) -> None:
    shutil.rmtree(good.repo / ".git")
    assert good.findings() == []
    edit_row(good, row)
    assert "KR105" in good.rules()


def printed_by(good: Example, code: str) -> str:
    """What ``code`` prints in a Python of its own, started in the registry."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=good.root,
        env={**good.environment, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_check_that_finds_nothing_new_decodes_nothing(good: Example) -> None:
    """msgspec alone costs more than all the rest of such a check."""
    good.findings("--staged")
    code = (
        "import sys, pathlib\n"
        "from registry_tool.rules.engine import check\n"
        "from registry_tool.store import snapshot\n"
        "report = check(snapshot.of_index(pathlib.Path('.')))\n"
        "heavy = {'msgspec', 'numpy', 'git', 'mistletoe', 'jsonschema', 'ruamel', 'ruamel.yaml'}\n"
        "print(len(report.findings), sorted(heavy & sys.modules.keys()))\n"
    )
    assert printed_by(good, code) == "0 []\n"


def test_a_cold_check_imports_nothing_slow(good: Example) -> None:
    good.findings("--staged")
    (remembered(good) / "check-state.json").unlink()
    code = (
        "import sys, pathlib\n"
        "from registry_tool.rules.engine import check\n"
        "from registry_tool.store import snapshot\n"
        "check(snapshot.of_index(pathlib.Path('.')))\n"
        "heavy = {'numpy', 'git', 'mistletoe', 'jsonschema', 'ruamel', 'ruamel.yaml'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    assert printed_by(good, code) == "[]\n"


def test_the_report_counts_rows_and_what_blocks(good: Example, row: Row) -> None:
    edit_row(good, row)
    report: Report = engine.check(snapshot.of_worktree(good.root))
    assert report.records == 2
    assert report.blocking == len(report.findings) > 0
    assert report.seconds > 0
