from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.errors import HarnessError, InputError
from registry_tool.verifier.commands import make_job, recorded, shell_text
from registry_tool.verifier.hardware import UNKNOWN_PEANO, UNKNOWN_ROOT, Place
from registry_tool.verifier.job import Job
from tests.verifier.jobs import SHAPE, TILE, job, target

WORDS = [
    "GEMM_bf16_in_bf16_out",
    "M=2048",
    "K=1024",
    "N=1024",
    "--variant",
    "drain",
    "--tile",
    "tile_m=32,tile_k_l2=256,tile_k_l1=32,tile_n=128",
    "--herd",
    "8x4",
    "--rtol",
    "0.016",
    "--atol",
    "0.0015",
    "--emulator",
]


def made(root: Path, inject: str | None = None, **spec: object) -> Job:
    work = job(root, "")
    return make_job(
        root,
        work.row,
        replace(work.spec, **spec),
        target(root),
        SHAPE,
        "drain",
        TILE,
        [8, 4],
        inject,
    )


def test_the_emulators_arguments_are_those_of_the_row(tmp_path: Path) -> None:
    work = made(tmp_path)
    step = work.commands.correctness
    assert step.command[:3] == (sys.executable, "-m", "registry_tool.emulator")
    assert list(step.command[3:-1]) == WORDS
    assert step.command[-1] == work.spec.emulator
    assert step.recorded[0] == "python3"
    assert step.recorded[1:] == step.command[1:]
    assert (work.precision, work.herd, work.target.run_limit_s) == ("high", (8, 4), 1800)
    assert (work.commands.build, work.commands.compile, work.commands.timing) == ((), None, None)


def test_it_starts_whatever_the_callers_folder_is(tmp_path: Path) -> None:
    # A registry must not be able to stand in for the modules of the harness.
    (tmp_path / "registry_tool").mkdir()
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    work = made(tmp_path)
    step = work.commands.correctness
    command = [*step.command[:3], "--help"]
    done = subprocess.run(command, cwd=step.cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_fault_is_appended_when_asked() -> None:
    assert made(Path(), "nan").commands.correctness.command[-2:] == ("--inject", "nan")
    assert "--inject" not in made(Path()).commands.correctness.command


def test_a_registrys_own_emulator_is_found_beside_its_spec(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not there"):
        made(tmp_path, emulator="softmax.py:run")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "softmax.py").write_text("")
    work = made(tmp_path, emulator="softmax.py:run")
    step = work.commands.correctness
    assert step.command[-1] == f"{tmp_path.resolve()}/kernels/softmax.py:run"
    assert step.recorded[-1] == "kernels/softmax.py:run"
    for other in ("../x.py:run", "/etc/x.py:run", "x.py:run:y", "a/b.py:run"):
        with pytest.raises(InputError):
            made(tmp_path, emulator=other)


def test_a_kernel_without_emulator_says_so(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="not emulated"):
        made(tmp_path, emulator=None)


def test_a_kernel_without_a_harness_for_the_target_says_so(tmp_path: Path) -> None:
    work = job(tmp_path, "", "hardware")
    spec, place = replace(work.spec, harness={}), Place("/opt/tree", "/opt/peano")
    with pytest.raises(HarnessError, match="has no harness for npu2"):
        make_job(tmp_path, work.row, spec, work.target, SHAPE, "drain", TILE, [8, 4], place=place)


def test_an_unset_path_stays_a_variable_for_the_shell(tmp_path: Path) -> None:
    words = [f"PEANO_INSTALL_DIR={UNKNOWN_PEANO}", f'{UNKNOWN_ROOT}/a "b" `c` \\']
    environment = {"PEANO_INSTALL_DIR": "/opt/my peano", "HARNESS_ROOT": "/opt/$tree"}
    line = "printf '%s\\n' " + shell_text(words)
    done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "PEANO_INSTALL_DIR=/opt/my peano",
        '/opt/$tree/a "b" `c` \\',
    ]


def test_the_recorded_command_names_no_machine() -> None:
    command = [sys.executable, "/home/me/reg/kernels/a.py:f", "/home/me/reg", "x\udcff"]
    assert recorded(command, Path("/home/me/reg")) == [
        "python3",
        "kernels/a.py:f",
        "/home/me/reg",
        "x\\udcff",
    ]


def test_shell_text_survives_a_shell() -> None:
    words = ["make", "run", "A=1 2", "it's", "$HOME", ""]
    assert shlex.split(shell_text(words)) == words
    done = subprocess.run(
        ["sh", "-c", f"printf '%s|' {shell_text(words)}"], capture_output=True, text=True
    )
    assert done.stdout == "".join(f"{word}|" for word in words)
