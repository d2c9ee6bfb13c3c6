"""`registry-tool log` as it is asked: by kernel, model, author, date, commit; with the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.record import Use
from tests.examples.build import GEMM, Row
from tests.examples.example import Example
from tests.examples.fixtures import _template, good, other, row
from tests.history.conftest import _runs, runs
from tests.history.world import ROW, SHAPE

__all__ = ["_runs", "_template", "good", "other", "row", "runs"]


def events(made: Example, *words: str) -> list[dict[str, Any]]:
    status, out = made.command("log", *words, "--format", "json")
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)
    return found


def latencies(made: Example, *words: str) -> list[float]:
    return [one["after"]["performance.latency_us"] for one in events(made, *words)]


ALL = [1003.0, 1000.0, 869.0, 1200.0, 866.0, 870.0, 868.0, 868.4]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), ALL),
        (("--since", "HEAD~2"), ALL[:2]),
        (("--until", "HEAD~6"), ALL[6:]),
        (("--since", "HEAD~4", "--until", "HEAD~2"), ALL[2:4]),
        (("--since", "2020-02-01T00:00:05Z", "--until", "2020-02-01T00:00:05Z"), ALL[1:2]),
        (("--since", "2020-02-01", "--until", "2020-02-01"), ALL[:7]),
        (("--until", "2020-01-31"), []),
        (("--since", "1 hour ago"), ALL[7:]),
        (("--since", "9 years.ago", "--until", "2020-02-01T00:00:00 +00:00"), ALL[6:7]),
        (("--since", "2100-01-01"), []),
        (("--kernel", GEMM), ALL),
        (("--kernel", "GEMM_*"), ALL),
        (("--kernel", "RoPE_*"), []),
        (("--kernel", "RoPE_bf16"), []),
        (("--author", "tester@EXAMPLE"), ALL),
        (("--author", "somebody else"), []),
    ],
)
def test_commits_and_rows_are_chosen(runs: Example, words: tuple[str, ...], wanted: Any) -> None:
    runs.environment["TZ"] = "UTC"
    assert latencies(runs, *words) == wanted


@pytest.mark.parametrize(
    "words",
    [
        ("--since", "no such thing"),
        ("--until", "--all"),
        ("--since", "2026-02-30"),
        ("--until", "2026-13-45"),
        ("--since", "2026-01-01T25:00"),
        ("--kernel", "nothing*"),
        ("--since", ""),
        ("RoPE_bf16", "--kernel", GEMM),
        ("--author", " "),
        ("--improvements",),
        ("--plot", "latency", "--format", "json"),
    ],
)
def test_what_cannot_be_is_wrong_use(
    runs: Example, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    try:
        status, _ = runs.command("log", *words)
    except SystemExit as error:
        status = int(str(error.code))
    assert status == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_model_has_every_version_of_the_rows_it_ever_used(good: Example, row: Row) -> None:
    use = Use(model="Toy-1B", site="prefill O")
    for record in (replace(row.record, used_by=[use]), replace(row.record, notes=["x"])):
        good.write({row.id.record_path: canonical.encode(record)})
        good.commit("Change")
    assert [one["record"] for one in events(good, "--model", "Toy-1B")] == [str(row.id)] * 3
    assert events(good, "--model", "Toy-1B", "--since", "HEAD~1")[0]["before"]["used_by"]
    status, out = good.command("log", "--model", "Nobody")
    assert (status, out) == (0, "no row was ever used by a model called 'Nobody'\n")


def test_a_named_kernel_is_told_with_its_machine_and_what_moved(runs: Example) -> None:
    found = events(runs, GEMM, SHAPE)
    assert {one["record"] for one in found} == {ROW}
    assert found[0]["environment"]["driver"] == "2.19"
    assert [one["environment_changed"] for one in found] == [
        {}, {"driver": ["2.18", "2.19"]}, {}, {}, {}, {}, {}, {},
    ]  # fmt: skip
    assert "environment" not in events(runs)[0]
    assert events(runs, "--environment") == found
    status, out = runs.command("log", GEMM)
    assert status == 0
    assert "    ran on npu2, driver 2.19\n" in out
    assert "    driver: 2.18 -> 2.19\n" in out


def test_a_verdict_that_is_gone_is_read_where_it_was(runs: Example) -> None:
    before = events(runs, GEMM)
    runs.git("rm", "-q", "-r", "deep/reg/verdicts", "deep/reg/records")
    runs.commit("Remove all")
    retired, *rest = events(runs, GEMM)
    assert retired["event"] == "retired"
    assert retired["environment"]["driver"] == "2.19"
    assert rest == before


def test_json_is_whole_whatever_its_size(good: Example, row: Row) -> None:
    for at in range(3):
        remark = replace(row.record, notes=[f"{at} {'x' * 900}" for _ in range(60)])
        good.write({row.id.record_path: canonical.encode(remark)})
        good.commit("Long")
    assert len(events(good)) == 5
    assert events(good, "--since", "HEAD") == []
    assert len(events(good, "--since", "HEAD~1")) == 1


def test_a_model_may_be_a_pattern_and_a_near_miss_is_named(good: Example, row: Row) -> None:
    users = [Use(model="Toy-1B", site="prefill Q proj")]
    good.write({row.id.record_path: canonical.encode(replace(row.record, used_by=users))})
    good.commit("Use it")
    assert len(events(good, "--model", "Toy-*")) == 2
    assert events(good, "--model", "Other-*") == []
    assert "did you mean Toy-1B?" in good.command("log", "--model", "toy-1b")[1]
    _, out = good.command("log", "--model", "Toy-1B", "--since", "2100-01-01")
    assert out == "no commit has such a row\n"


@pytest.mark.parametrize("depth", [150, 900, 100_000])
def test_a_record_that_is_nested_too_deeply_hides_no_history(
    good: Example, row: Row, depth: int
) -> None:
    good.write({row.id.record_path: b'{"x":' + b"[" * depth + b"1" + b"]" * depth + b"}"})
    good.commit("Deep")
    good.write({row.id.record_path: canonical.encode(row.record)})
    good.commit("Mend")
    mended, broken, added = events(good, GEMM, "2048x1024x1024")
    assert broken["after"]["unreadable"] == "it is nested too deeply"
    assert (mended["event"], added["event"]) == ("changed", "added")
    _, out = good.command("log")
    assert "it cannot be read: it is nested too deeply" in out
    assert "it could not be read before: it is nested too deeply" in out
    assert good.command("audit", "--no-rules")[0] == 0


@pytest.mark.parametrize("alphabet", ["latin-1", "ascii"])
def test_a_terminal_with_few_letters_gets_the_others_written_out(
    good: Example, row: Row, alphabet: str
) -> None:
    note = "日本 × 🚀"
    good.write({row.id.record_path: canonical.encode(replace(row.record, notes=[note]))})
    good.commit("Note")
    environment = {**good.environment, "PYTHONIOENCODING": alphabet}

    def output(*words: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-m", "registry_tool", *words],
            cwd=good.root,
            env=environment,
            capture_output=True,
            check=True,
        ).stdout

    assert "\\u65e5\\u672c" in output("log").decode(alphabet)
    # Documents are for programs, which read UTF-8.
    found = json.loads(output("log", "--format", "json").decode("utf-8"))
    assert found[0]["after"]["notes"] == [note]
