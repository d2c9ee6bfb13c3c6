"""`check --recompute` on example registries: hardware rows, emulators that misbehave, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from registry_tool.records import catalog
from tests.examples import cases
from tests.examples.build import Row, make_row
from tests.examples.example import Example

PAGE = cases.BLIND.replace("elementwise:copy", "Copy.py:copy")
COPY = """\
import numpy as np
from registry_tool.emulator.case import Block

def copy(case):
    {first}
    x = np.full((1, case.shape["N"]), {value}, np.float32)
    yield Block(out=x, ref=x)
"""
HARMLESS = "pass"


def own_kernel(
    example: Example,
    target: str = "npu2-emu",
    value: float = 1.0,
    first: str = HARMLESS,
    share: float | None = None,
) -> Row:
    """A row of the kernel Copy, whose emulator does ``first`` and copies ``value``."""
    example.write(
        {"kernels/Copy.yaml": PAGE, "kernels/Copy.py": COPY.format(first=first, value=value)}
    )
    # Made by a built-in emulator, as the registry's own must be there to be named.
    page = catalog.parse_spec(cases.BLIND.encode(), "kernels/Copy.yaml", {})
    row = make_row(page, {"N": 1024}, None, target)
    if share is not None:
        row = cases.with_gate(zero_share=share)(row)
    example.add(row)
    example.render()
    return row


def told(example: Example, *words: str) -> list[str]:
    """What KR132 says of a state."""
    found = example.findings(*(words or ("--recompute",)))
    return [one["message"] for one in found if one["rule"] == "KR132"]


def test_a_device_whose_gate_zeros_would_pass_is_found_though_it_says_nothing(
    good: Example,
) -> None:
    own_kernel(good, "npu2", value=0.001)
    [message] = told(good)
    assert message.startswith("an output of zeros would have passed on the device: it fails 0.00%")


def test_a_share_of_zeros_that_the_shape_does_not_give_is_found(good: Example) -> None:
    own_kernel(good, "npu2", value=1.0, share=0.5)
    [message] = told(good)
    assert message == "zero_share is 0.5 in the verdict; inputs drawn like the harness's give 1.0"


def test_a_device_whose_gate_sees_zeros_is_left_in_peace(
    good: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    own_kernel(good, "npu2", value=1.0, share=1.0)
    assert told(good) == []
    said = capsys.readouterr().err
    assert "1 hardware verdict held against what a CPU can derive: element counts" in said
    assert "accuracy and speed are the device's, and are not computed again" in said


def test_an_emulator_that_raises_cannot_confirm_a_verdict(good: Example) -> None:
    own_kernel(good, first="raise ValueError('no')")
    [message] = told(good)
    assert message.startswith("it cannot be computed again here: error")


def test_an_emulator_that_never_ends_is_ended_by_the_limit_of_its_target(good: Example) -> None:
    kind = "    kind: emulated\n"
    good.edit("registry.yaml", kind, f"{kind}    run_limit_s: 1\n")
    own_kernel(good, first="while True: pass")
    [message] = told(good)
    assert message.startswith("it cannot be computed again here: timeout")


def test_what_an_emulator_writes_stays_out_of_the_registry(good: Example) -> None:
    own_kernel(good, first="open('left', 'w').write('x'); open('kernels-left', 'w').write('x')")
    before = good.git("status", "--porcelain")
    told(good)
    assert good.git("status", "--porcelain") == before


def test_the_state_between_two_commits_is_computed_again(good: Example) -> None:
    good.git("tag", "start")
    own_kernel(good, "npu2", value=0.001)
    good.commit("Add a row")
    good.write({"README.md": "more\n"})
    good.commit("Say more")
    assert told(good, "--ref", "HEAD", "--recompute") == []
    assert len(told(good, "--ref", "HEAD", "--base", "start", "--recompute")) == 1


def test_a_deleted_row_is_not_computed_again(
    good: Example, row: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    good.git("rm", "-rq", row.id.record_path, row.id.verdict_folder)
    good.render()
    good.git("add", "-A")
    assert told(good, "--staged", "--recompute") == []
    assert "nothing to compute again" in capsys.readouterr().err


def test_a_kernel_without_an_emulator_is_named_as_left_out(
    good: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    own_kernel(good, "npu2", share=1.0)
    good.edit("kernels/Copy.yaml", "emulator: Copy.py:copy", "emulator: null")
    good.render()
    assert told(good) == []
    assert "not computed again: verdicts/npu2/Copy/" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_no_process_and_no_file(
    good: Example, tmp_path: Path, number: signal.Signals
) -> None:
    mark = tmp_path / "started"
    own_kernel(good, first=f"open({str(mark)!r}, 'w').close(); import time; time.sleep(600)")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-m", "registry_tool", "check", "--recompute",
         "--registry", str(good.root)],
        env={**good.environment, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until(lambda: mark.exists() or running.poll() is not None)
        assert running.poll() is None
        running.send_signal(number)
        said = running.communicate(timeout=60)[1]
    finally:
        running.kill()
    assert running.returncode not in (0, 1)
    assert "Traceback" not in said
    assert list(scratch.iterdir()) == []
    wait_until(lambda: not of_emulator(scratch))


def wait_until(holds: object) -> None:
    deadline = time.monotonic() + 60
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def of_emulator(scratch: Path) -> Sequence[Path]:
    """Processes whose environment names the scratch folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(scratch).encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found
