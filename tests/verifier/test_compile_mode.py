"""A harness that does not know its page's compile-only mode is run at once, under the lock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import UNSET

from registry_tool.verifier.compile_mode import is_honoured
from registry_tool.verifier.job import Commands, Job, Step
from registry_tool.verifier.runner import run_row
from tests.verifier.jobs import job
from tests.verifier.samples import LOG


def making(folder: Path, makefile: str, *compiling: str) -> Job:
    """A job run by `make run`, with a compile-only command of these words."""
    (folder / "pass.log").write_bytes(LOG)
    (folder / "Makefile").write_text(makefile)
    (folder / "run.sh").write_text(SCRIPT)

    def step(*words: str) -> Step:
        return Step(words, words, folder)

    commands = Commands(step("make", "-s", "run"), compile=step(*compiling))
    return replace(job(folder, "", "hardware"), commands=commands)


KNOWS = """\
MODE ?= run
run:
\t@sh run.sh --mode $(MODE)
"""
SCRIPT = "if [ $2 = compile-only ]; then echo Compile-only done; else cat pass.log; fi\n"
NOTES = "flock -n -x npu.lock true && touch unlocked"
IGNORES = f"run:\n\t@{NOTES}; cat pass.log\n"
REFUSES = """\
run:
\t@test -z "$(FLAGS)" || { echo "run.py: error: $(WORDS)" >&2; exit 2; }
\t@cat pass.log
"""


def test_a_mode_that_the_makefile_reads_is_used(tmp_path: Path) -> None:
    work = making(tmp_path, KNOWS, "make", "-s", "run", "MODE=compile-only")
    assert is_honoured(work.commands)
    assert run_row(work, tmp_path, print).verdict.compile is not UNSET


@pytest.mark.parametrize("words", [("run", "MODE=compile-only"), ("compile",)])
def test_what_the_makefile_does_not_know_is_never_run_without_the_lock(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    work = making(tmp_path, IGNORES, "make", "-s", *words)
    verdict = run_row(work, tmp_path, print).verdict
    assert (verdict.status, verdict.compile, len(verdict.attempts)) == ("pass", UNSET, 1)
    assert not (tmp_path / "unlocked").exists()


@pytest.mark.parametrize(
    "makefile",
    [
        f'@echo "make $(MAKEOVERRIDES)"\n\t@{NOTES}; cat pass.log',
        f"@echo $(shell date +%s%N); {NOTES}; cat pass.log",
        "@$(MAKE) -s prep && cat pass.log",
        f"+@{NOTES}; cat pass.log",
    ],
)
def test_a_makefile_that_only_seems_to_read_the_mode_does_not_run_unlocked(
    tmp_path: Path, makefile: str
) -> None:
    text = f"run:\n\t{makefile}\nprep:\n\t@{NOTES}; true\n"
    work = making(tmp_path, text, "make", "-s", "run", "MODE=compile-only")
    verdict = run_row(work, tmp_path, print).verdict
    assert (verdict.status, verdict.compile) == ("pass", UNSET)
    assert not (tmp_path / "unlocked").exists()


def test_a_script_that_swallows_the_flag_and_runs_is_no_compile(tmp_path: Path) -> None:
    work = making(
        tmp_path, "run:\n\t@cat pass.log # $(MODE)\n", "make", "-s", "run", "MODE=compile"
    )
    outcome = run_row(work, tmp_path, print)
    assert (outcome.verdict.status, outcome.verdict.compile) == ("pass", UNSET)
    assert outcome.lacks_compile_mode


@pytest.mark.parametrize(
    "words",
    [
        "unrecognized arguments: --compile-mode compile-only",
        "argument --compile-mode: invalid choice: 'compile-only' (choose from 'xclbin')",
    ],
)
def test_a_script_that_refuses_the_flag_is_run_without_it(tmp_path: Path, words: str) -> None:
    said: list[str] = []
    work = making(tmp_path, REFUSES, "make", "-s", "run", "FLAGS=--compile-mode", f"WORDS={words}")
    verdict = run_row(work, tmp_path, said.append).verdict
    assert (verdict.status, verdict.compile) == ("pass", UNSET)
    assert any("no compile-only mode" in line for line in said)


def test_another_error_while_compiling_is_an_error(tmp_path: Path) -> None:
    words = "L2 capacity exceeded"
    work = making(tmp_path, REFUSES, "make", "-s", "run", "FLAGS=--compile-mode", f"WORDS={words}")
    verdict = run_row(work, tmp_path, print).verdict
    assert (verdict.status, verdict.places) == ("error", False)
    assert verdict.attempts[-1].step == "compile"
