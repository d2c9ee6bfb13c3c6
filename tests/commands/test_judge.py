from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from registry_tool.cli import main
from tests.verifier.samples import LOG, PASS, PRECISION, precision

ASKED = ["--exit-status", "0", "--elements", "2097152", "--rtol", "0.016", "--atol", "0.0015"]


def judge(folder: Path, log: bytes, *options: str) -> tuple[int, Any]:
    path = folder / "run.log"
    path.write_bytes(log)
    code = "import sys; from registry_tool.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "judge", str(path), "--format", "json", *options],
        capture_output=True,
    )
    assert done.stderr == b""
    return done.returncode, json.loads(done.stdout)


def test_a_pass_exits_0_with_all_figures(tmp_path: Path) -> None:
    assert judge(tmp_path, LOG, *ASKED, "--target", "npu2") == (
        0,
        {
            "status": "pass",
            "reason": None,
            "outputs": [
                {
                    "index": 0,
                    "elements": 2097152,
                    "mean_rel_L1": 0.009402,
                    "max_rel": 3118.0,
                    "max_abs": 0.000824,
                    "rtol": 0.016,
                    "atol": 0.0015,
                }
            ],
            "latency_us": 868.4,
            "gflops": 4945.846,
            "gbps": None,
            "causes": [],
        },
    )


def run(
    capsys: pytest.CaptureFixture[str], folder: Path, log: bytes, *options: str
) -> tuple[int, str, str]:
    path = folder / "run.log"
    path.write_bytes(log)
    status = main(["judge", str(path), *options])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize(
    ("log", "options", "expected"),
    [
        (LOG, ["--exit-status", "0"], "pass"),
        (LOG, [], "unverified"),
        (LOG, ["--exit-status", "255"], "error"),
        (LOG, ["--exit-status", "-9"], "error"),
        (LOG, ["--timed-out"], "timeout"),
        (LOG, ["--exit-status", "0", "--timed-out"], "timeout"),
        (LOG, ["--exit-status", "0", "--elements", "4"], "unverified"),
        (LOG, ["--exit-status", "0", "--outputs", "2"], "incomplete"),
        (LOG, ["--exit-status", "0", "--rtol", "0.001"], "fail"),
        (LOG, ["--exit-status", "0", "--atol", "0.001"], "fail"),
        (LOG, ["--exit-status", "0", "--target", "npu1"], "unverified"),
        (LOG, ["--exit-status", "0", "--mode", "diagnosis"], "unverified"),
        (LOG.replace(PASS, b"failed.\n"), ["--exit-status", "0"], "fail"),
        (LOG.replace(b"atol=1.5e-03", b"atol=inf"), ["--exit-status", "0", "--atol", "1"], "fail"),
    ],
)
def test_each_option_counts(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    log: bytes,
    options: list[str],
    expected: str,
) -> None:
    status, out, err = run(capsys, tmp_path, log, *options, "--format", "json")
    document = json.loads(out)
    assert document["status"] == expected
    assert status == (0 if expected == "pass" else 1)
    assert bool(document["causes"]) == (expected != "pass")
    assert err == ""


def test_the_worst_output_leads_and_what_is_not_finite_is_null(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = PRECISION + precision(1, mean="nan") + PASS
    status, out, _ = run(
        capsys, tmp_path, log, "--exit-status", "0", "--outputs", "2", "--format", "json"
    )
    outputs = json.loads(out)["outputs"]
    assert status == 1
    assert [(output["index"], output["mean_rel_L1"]) for output in outputs] == [
        (1, None),
        (0, 0.009402),
    ]


def test_a_layer_table_is_judged_in_diagnosis_mode(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        b"| Layer | cos_p5 | cos_min | cos_median | max_abs |\n|--:|--:|--:|--:|--:|\n"
        b"| 0 | 0.9998 | 0.9994 | 1.0000 | 0.0312 |\n| 1 | 0.9997 | 0.9993 | 0.9999 | 0.05 |\n"
    )
    options = ["--exit-status", "0", "--mode", "diagnosis", "--layers"]
    assert run(capsys, tmp_path, log, *options, "2")[0] == 0
    status, out, _ = run(capsys, tmp_path, log, *options, "3")
    assert status == 1
    assert out.startswith("incomplete: layers are missing (of 3): 2")


@pytest.mark.parametrize("kind", ["absent", "folder"])
def test_an_unreadable_file_still_gives_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "run.log"
    if kind == "folder":
        path.mkdir()
    assert main(["judge", str(path), "--format", "json", *ASKED]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "error"
    assert "cannot be read" in document["reason"]
    assert list(document) == [
        "status",
        "reason",
        "outputs",
        "latency_us",
        "gflops",
        "gbps",
        "causes",
    ]


@pytest.mark.parametrize("option", ["LOG", "--err"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, option: str) -> None:
    pipe, log = tmp_path / "pipe", tmp_path / "x.log"
    os.mkfifo(pipe)
    log.write_bytes(LOG)
    words = [str(pipe)] if option == "LOG" else [str(log), "--err", str(pipe)]
    code = "import sys; from registry_tool.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "judge", *words, "--format", "json"],
        capture_output=True,
        timeout=60,
    )
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (2, "error")
    assert "no regular file" in document["reason"]


VERIFY = b"[verify] Summary: {'n_layer_records': 0, 'topk_passed': 1, 'topk_failed': 1}\n"


@pytest.mark.parametrize(
    ("log", "options", "expected"),
    [
        (VERIFY + b"[verify] FAIL \xe2\x80\x94 see report for details.\n", ["1"], "fail"),
        (VERIFY + b"[verify] FAIL \xe2\x80\x94 see report for details.\n", ["0"], "fail"),
        (VERIFY + b"[verify] PASS\n", ["0"], "unverified"),
        (LOG, ["0"], "unverified"),
        (PRECISION, ["0"], "unverified"),
        (VERIFY, ["-9"], "error"),
        (VERIFY, ["0", "--timed-out"], "timeout"),
    ],
)
def test_a_model_s_verification_is_never_a_verdict_on_a_kernel(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    log: bytes,
    options: list[str],
    expected: str,
) -> None:
    words = ["--mode", "verify", "--format", "json", "--exit-status", *options]
    status, out, _ = run(capsys, tmp_path, log, *words)
    document = json.loads(out)
    assert (status, document["status"]) == (1, expected)
    assert ("end-to-end" in document["reason"]) == (expected == "unverified")


def test_standard_input_is_read_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(LOG)))
    assert main(["judge", "-", "--exit-status", "0"]) == 0
    assert capsys.readouterr().out.startswith("pass\n  output 0: 2097152 elements")


def test_people_get_the_reason_the_figures_and_the_cause(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = LOG.replace(b"9.402e-03", b"nan")
    status, out, _ = run(capsys, tmp_path, log, *ASKED)
    assert status == 1
    assert "fail: output 0 (line 4): the figures are not finite" in out
    assert "mean_rel_L1 not finite" in out
    assert "speed: 868.4 us, 4945.85 GFLOP/s" in out
    assert "likely: the kernel computes NaN" in out
    assert "look at: " in out


def test_quiet_says_nothing_of_a_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, tmp_path, LOG, *ASKED, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    "options",
    [
        ["--elements", "many"],
        ["--elements", "0"],
        ["--elements", "4,-4"],
        ["--elements", "1,2", "--outputs", "1"],
        ["--outputs", "0"],
        ["--layers", "0"],
        ["--rtol", "nan"],
        ["--atol", "-1"],
    ],
)
def test_wrong_options_exit_2_with_a_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str]
) -> None:
    status, out, err = run(capsys, tmp_path, LOG, *options)
    assert (status, out) == (2, "")
    assert options[-2] in err or options[0] in err
    assert "Traceback" not in err


def test_judging_imports_nothing_slow(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(LOG)
    code = (
        "import sys; from registry_tool.cli import main; main(sys.argv[1:])\n"
        "import registry_tool.verifier.runner, registry_tool.verifier.commands\n"
        "slow = {'numpy', 'git', 'jsonschema', 'mistletoe', 'ruamel'}\n"
        "sys.exit(', '.join(slow & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code, "judge", str(path)], capture_output=True)
    assert done.returncode == 0, done.stderr


GEMM = ["--kernel", "GEMM_bf16_in_bf16_out", "--shape", "M=2048,K=1024,N=1024"]
DIRECT_TILE = ["--tile", "tile_m=64,tile_k_l2=256,tile_k_l1=64,tile_n=128"]
STRIDE = b"x.mlir:1:2: error: 'aie.dma_bd' op Stride 2818048 exceeds the [1:1048576] range.\n"


def verdict(
    capsys: pytest.CaptureFixture[str], folder: Path, log: bytes, *options: str
) -> dict[str, Any]:
    _, out, err = run(capsys, folder, log, "--exit-status", "0", "--format", "json", *options)
    assert err == ""
    document: dict[str, Any] = json.loads(out)
    return document


@pytest.mark.parametrize(
    ("log", "options", "expected", "reason"),
    [
        (LOG, [], "pass", None),
        (LOG, ["--variant", "drain"], "pass", None),
        # what the page asks
        (LOG.replace(b"2097152", b"100"), [], "unverified", "100 elements of 2097152"),
        (LOG.replace(b"1.5e-03", b"4.0e-03"), [], "fail", "looser than 0.0015"),
        (LOG.replace(b"1.5e-03", b"4.0e-03"), ["--variant", "drain"], "fail", "looser"),
        (LOG.replace(b"npu2", b"npu1"), [], "unverified", "not on npu2"),
        (
            LOG.replace(b"9.402e-03", b"1.300e-02"),
            ["--variant", "drain"],
            "fail",
            "outside the band",
        ),
        (LOG.replace(PASS, precision(1) + PASS), [], "unverified", "1 outputs were asked for"),
        # a variant that nobody named gives no band, one of a lower tier another tolerance
        (LOG.replace(b"9.402e-03", b"1.300e-02"), [], "pass", None),
        (
            LOG.replace(b"1.5e-03", b"4.0e-03").replace(b"9.402e-03", b"1.030e-02"),
            ["--variant", "direct", "--herd", "8x4", *DIRECT_TILE],
            "pass",
            None,
        ),
        (
            LOG.replace(b"1.5e-03", b"4.0e-03").replace(b"9.402e-03", b"1.300e-02"),
            ["--variant", "direct"],
            "pass",  # its band reads tile_k_l1
            None,
        ),
        # explicit options win
        (LOG.replace(b"2097152", b"100"), ["--elements", "100"], "pass", None),
        (LOG.replace(b"1.5e-03", b"4.0e-03"), ["--atol", "0.004"], "pass", None),
        (LOG, ["--rtol", "0.001"], "fail", "looser"),
        (LOG.replace(b"npu2", b"npu1"), ["--target", "npu1"], "pass", None),
        (LOG, ["--outputs", "2"], "incomplete", "no precision line for 1"),
    ],
)
def test_a_kernel_and_a_shape_say_what_is_asked_unless_an_option_does(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    log: bytes,
    options: list[str],
    expected: str,
    reason: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    found = verdict(capsys, tmp_path, log, *GEMM, *options)
    assert found["status"] == expected
    assert (reason or "") in (found["reason"] or "")


def test_the_causes_compute_what_would_do_for_the_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    row = ["--kernel", GEMM[1], "--shape", "2048x2048x11008", "--variant", "fused-cast"]
    tile = ["--tile", "tile_m=64,tile_k_l2=256,tile_k_l1=32,tile_n=128", "--herd", "8x2"]
    (plain,) = verdict(capsys, tmp_path, STRIDE)["causes"]
    (cause,) = verdict(capsys, tmp_path, STRIDE, *row, *tile)["causes"]
    assert list(cause) == ["symptom", "likely", "look_at"]
    assert cause["look_at"].startswith(plain["look_at"] + ". Here: ")
    assert "tile_k_l2 that is legal with all else as it is: 64" in cause["look_at"]
    (cause,) = verdict(capsys, tmp_path, STRIDE, *row)["causes"]
    assert "tile_k_l2 that is legal: 64, 32" in cause["look_at"]


def test_a_registry_s_own_page_comes_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["init", str(tmp_path)]) == 0
    (tmp_path / "kernels").mkdir(exist_ok=True)
    (tmp_path / "kernels" / f"{GEMM[1]}.yaml").write_text(
        f"kernel: {GEMM[1]}\ntolerances:\n  high: {{rtol: 1.0e-2, atol: 1.0e-3}}\n"
        "  low: {rtol: 1.6e-2, atol: 4.0e-3}\n"
    )
    capsys.readouterr()
    outside = verdict(capsys, tmp_path, LOG, *GEMM, "--rtol", "0.016", "--atol", "0.0015")
    inside = verdict(capsys, tmp_path, LOG, *GEMM, "--registry", str(tmp_path))
    monkeypatch.chdir(tmp_path / "kernels")
    here = verdict(capsys, tmp_path, LOG, *GEMM)
    assert outside["status"] == "pass"
    assert inside == here
    assert "looser than 0.01" in here["reason"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kernel", "GEMM"], "unknown kernel"),
        (["--kernel", GEMM[1]], "add --shape M=SIZE,K=SIZE,N=SIZE"),
        (["--shape", "M=1,K=2,N=3"], "add --kernel NAME"),
        (["--herd", "8x4"], "add --kernel NAME"),
        ([*GEMM[:3], "M=2048,K=1024"], "N not given"),
        ([*GEMM, "--variant", "nix"], "no variant 'nix'"),
        ([*GEMM, "--tile", "tile_m=32"], "the tile lacks"),
        ([*GEMM, "--herd", "8"], "no herd of"),
        ([*GEMM, "--registry", "nowhere"], "no registry.yaml"),
    ],
)
def test_a_row_that_is_none_exits_2_with_a_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], words: str
) -> None:
    status, out, err = run(capsys, tmp_path, LOG, *options)
    assert (status, out) == (2, "")
    assert words in err
