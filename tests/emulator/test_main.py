from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from registry_tool.emulator.__main__ import load_emulator, main
from registry_tool.errors import UsageError

GATE = ("--rtol", "1.6e-2", "--atol", "5e-2")
ROPE = ("RoPE_bf16", "rows=64", "head_dim=64", *GATE, "--emulator", "rope:half_split")


def emulator(*arguments: str, **options) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "registry_tool.emulator", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def test_a_run_from_the_command_line_passes() -> None:
    running = emulator(*ROPE, "--herd", "8x1")
    out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, "")
    assert out.splitlines()[-1] == "PASS!"


def test_options_may_stand_between_the_sizes(capsys) -> None:
    words = ["GEMM_bf16_in_bf16_out", "M=64", "K=64", "--variant", "direct", "N=64"]
    assert main([*words, *GATE, "--emulator", "gemm:bf16_out", "--tile", "tile_k_l1=16"]) == 0
    assert capsys.readouterr().out.endswith("PASS!\n")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["RMSNorm_bf16", "M=4", "X=4"], "dimension X"),
        (["RMSNorm_bf16", "M=4"], "dimension N"),
        (["RMSNorm_bf16", "M=0", "N=4"], "M from 1"),
        (["RMSNorm_bf16", "M=4", "N=-4"], "NAME=SIZE"),
        (["RMSNorm_bf16", "M=4", "N=4.0"], "NAME=SIZE"),
        (["RMSNorm_bf16", "M=4", "N=٤"], "NAME=SIZE"),
        (["RMSNorm_bf16", "M=4", "M=5", "N=4"], "twice"),
        (["RMSNorm_bf16", "M=4", "N=99999999999999999999"], "NAME=SIZE"),
        (["RMSNorm_bf16", "M=4", "N=4", "--tile", "m"], "--tile"),
        (["RMSNorm_bf16", "M=4", "N=4", "--herd", "8by4"], "--herd"),
        (["RMSNorm_bf16", "M=4", "N=4", "--rtol", "nan"], "--rtol"),
        (["RMSNorm_bf16", "M=4", "N=4", "--atol", "-1"], "--atol"),
        (["RMSNorm_bf16", "M=4", "N=4", "--inject", "fire"], "fire"),
        (["RMSNorm_bf16", "M=4", "N=4", "--emulator", "norms"], "MODULE:FUNCTION"),
        (["RMSNorm_bf16", "M=4", "N=4", "--emulator", "norms:nope"], "nope"),
        (["RMSNorm_bf16", "M=4", "N=4", "--emulator", "nope:rms_norm"], "nope"),
        (["RMSNorm_bf16", "M=4", "N=4", "--emulator", "..errors:ToolError"], "errors"),
        (["RMSNorm_bf16", "M=4", "N=4", "--emulator", "/nowhere/x.py:f"], "/nowhere/x.py"),
    ],
)
def test_wrong_use_is_one_message_and_exit_2(capsys, arguments, word: str) -> None:
    given = [*GATE, "--emulator", "norms:rms_norm"]
    assert main([arguments[0], *arguments[1:3], *given, *arguments[3:]]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert word in said.err
    assert "PASS!" not in said.out


def test_a_shape_that_fits_no_memory_is_one_message(capsys) -> None:
    words = ["RMSNorm_bf16", "M=2000000000", "N=2000000000", *GATE]
    assert main([*words, "--emulator", "norms:rms_norm"]) == 2
    assert "does not fit in memory" in capsys.readouterr().err


OWN = '''\
"""An emulator of a registry's own."""

from dataclasses import dataclass

import numpy as np

from registry_tool.emulator.case import Block


@dataclass
class Wanted:
    rows: int


def scale(case):
    wanted = Wanted(case.shape["M"])
    ref = np.ones((wanted.rows, 4), np.float32)
    yield Block(out=ref * np.float32(1.001), ref=ref)


def broken(case):
    yield Block(out=1 / 0, ref=None)


def skewed(case):
    yield Block(out=np.ones((2, 3), np.float32), ref=np.ones((3, 2), np.float32))
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "Scale_bf16.py"
    path.write_text(OWN)
    return path


def test_a_registry_brings_its_own_emulator(own: Path, capsys) -> None:
    assert main(["Scale_bf16", "M=8", *GATE, "--emulator", f"{own}:scale"]) == 0
    assert "Output 0 (32 elements): mean_rel_L1=1.000e-03" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "words"),
    [("broken", "ZeroDivisionError"), ("skewed", "alike"), ("scale", "KeyError: 'M'")],
)
def test_what_goes_wrong_in_it_names_its_file(own: Path, capsys, function, words: str) -> None:
    assert main(["Scale_bf16", "N=8", *GATE, "--emulator", f"{own}:{function}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {own}")
    assert words in said


def test_a_line_of_a_broken_emulator_is_named(own: Path, capsys) -> None:
    main(["Scale_bf16", "M=8", *GATE, "--emulator", f"{own}:broken"])
    line = 1 + OWN.splitlines().index("    yield Block(out=1 / 0, ref=None)")
    assert f"{own}:{line}: " in capsys.readouterr().err


def test_an_emulator_that_does_not_parse_is_one_message(own: Path, capsys) -> None:
    own.write_text("def scale(case:\n")
    assert main(["Scale_bf16", "M=8", *GATE, "--emulator", f"{own}:scale"]) == 2
    assert f"{own}:1: SyntaxError" in capsys.readouterr().err


def test_only_modules_of_the_emulator_are_reached_by_name() -> None:
    for name in ("os.path:join", "../x:y", "gemm:", ":f32_out"):
        with pytest.raises(UsageError):
            load_emulator(name)


def test_a_reader_that_leaves_early_causes_no_noise() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        command = [sys.executable, "-m", "registry_tool.emulator", *ROPE]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""
    assert done.returncode == 1


def test_a_hang_has_said_its_first_lines() -> None:
    running = emulator(*ROPE, "--inject", "hang")
    try:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(2)]
        assert lines[1] == "Detected NPU device: npu2-emu\n"
        assert running.poll() is None
    finally:
        end(running)


def test_a_grandchild_holds_stdout_when_the_run_has_gone() -> None:
    running = emulator(*ROPE, "--inject", "grandchild")
    try:
        assert running.wait(timeout=60) == 0
        assert running.stdout is not None
        os.set_blocking(running.stdout.fileno(), False)
        out = os.read(running.stdout.fileno(), 4096)
        assert b"PASS" not in out
        with pytest.raises(BlockingIOError):  # no end of file: somebody still holds it
            os.read(running.stdout.fileno(), 4096)
    finally:
        end(running)


def end(running: subprocess.Popen[str]) -> None:
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)


def test_an_interrupt_is_quiet() -> None:
    running = emulator(*ROPE, "--inject", "hang")
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.readline()
    time.sleep(0.2)  # it has said its lines and goes to sleep
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "")
