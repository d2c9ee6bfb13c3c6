"""Every symptom of the table on texts as they come, with and without what was run."""

from __future__ import annotations

import itertools
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.planning.search import best, search
from registry_tool.records import kernel
from registry_tool.records.catalog import built_in
from registry_tool.verifier.attempt import judge_compile
from registry_tool.verifier.causes.computed import About, advice, broken
from registry_tool.verifier.causes.lines import meaningful
from registry_tool.verifier.causes.setup import Setup
from registry_tool.verifier.diagnose import Cause, causes
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import Judgement, judge
from registry_tool.verifier.logs.request import Request
from registry_tool.verifier.process import Finished
from registry_tool.verifier.streams import read_stream
from tests.verifier.samples import DEVICE, LATENCY, LOG, PASS, PRECISION, REQUEST

TRACE = (
    b"make[1]: Entering directory '/srv/air/x'\n"
    b"Traceback (most recent call last):\n"
    b'  File "/srv/air/x/run.py", line 341, in <module>\n'
    b"    exit(\n"
)
AIRCC = TRACE + b"air.backend.abc.AirBackendError: aircc compilation failed:\n"
MAKE = b"make: *** [Makefile:62: run] Error 1\n"
REPEAT = (
    AIRCC
    + b"air_project/npu.air.mlir:912:7: error: 'aiex.npu.push_queue' op Repeat count exceeds "
    + b"[0:255] range.\n      aiex.npu.push_queue(0, 0, MM2S : 0) {repeat_count = 511 : i32}\n"
    + MAKE
)
DESCRIPTORS = (
    AIRCC
    + b"air_project/npu.air.mlir:211:9: error: 'aiex.dma_configure_task' op Allocator exhausted "
    + b"available buffer descriptor IDs.\n"
    + MAKE
)
L2 = (
    TRACE
    + b'    assert a_bytes + c_bytes <= L2_CAPACITY, f"L2 capacity exceeded: A={a_bytes}B"\n'
    + b"AssertionError: L2 capacity exceeded: A=1048576B + C=256B = 1048832B > 524288B.\n"
    + MAKE
)
STRIDE = (
    AIRCC
    + b"air_project/aie.air.mlir:3310:9: error: 'aie.dma_bd' op Stride 2818048 exceeds the "
    + b"[1:1048576] range.\n"
    + MAKE
)
STATE = (
    DEVICE
    + b"terminate called after throwing an instance of 'xrt_core::system_error'\n"
    + b"  what():  qds_device::wait() unexpected command state\nAborted (core dumped)\n"
)
ERT = (
    DEVICE
    + TRACE
    + b"AirBackendError: NPU kernel run did not complete: ert_cmd_state.ERT_CMD_STATE_TIMEOUT\n"
    + MAKE
)
WRONG = (
    b"ERROR: Output 0 does not meet expected output.\nShape: (2048, 1024)\n"
    b"Mismatches: 2070000 / 2097152 elements (98.71%)\nfailed.\n"
)


def wrong(mean: bytes) -> bytes:
    return DEVICE + PRECISION.replace(b"9.402e-03", mean) + WRONG


def setup(name: str, shape: list[int], variant: str | None = None, *sizes: Any) -> Setup:
    """A kernel at a shape; then its tile, its herd and the step, as far as they are given."""
    spec = built_in()[name]
    tile, herd, step = (*sizes, None, None, None)[:3]
    return Setup(
        spec,
        dict(zip(spec.dims, shape, strict=True)),
        variant,
        dict(zip(spec.tile, tile, strict=True)) if tile else {},
        tuple(herd or ()),
        step,
    )


def found(
    log: bytes,
    subject: Setup | None = None,
    exit_status: int | None = 2,
    timed_out: bool = False,
    err: bytes = b"",
) -> tuple[Cause, ...]:
    facts, errors = parse(log), parse(err)
    judgement = judge(facts, exit_status, timed_out, REQUEST, errors)
    return causes(facts, judgement, errors, subject)


def told(cause: Cause) -> str:
    return f"{cause.symptom} > {cause.likely} > {cause.look_at}"


GEMM = "GEMM_bf16_in_bf16_out"
ATTENTION = [2048, 2048, 128, 128, 32, 8, 1]
ROWS = [
    # symptom, the first words of the cause, what was run, and what that adds
    (
        REPEAT,
        "GEMV K is too large",
        setup("GEMV_bf16", [2048, 16384], None, [8, 4], [8]),
        ["K=16384 = k_split * inner with k_split <= 255: 128 (inner 128), 64 (inner 256)"],
    ),
    (
        DESCRIPTORS,
        "buffer descriptors run out",
        setup("SiLU_Mul_bf16", [16777216], None, [1024], [8, 1]),
        ["tile_n that is legal with all else as it is: 4096, 512, 256;", "256, 512 and 4096 place"],
    ),
    (
        DESCRIPTORS,
        "buffer descriptors run out",
        setup(GEMM, [2048, 896, 960], "drain", [32, 64, 32, 80], [8, 4]),
        ["pad K=896 to 1024, N=960 to 1024"],
    ),
    (
        L2,
        "the GEMV's staged buffer",
        setup("GEMV_bf16", [2048, 8192], None, [8, 2], [8]),
        [
            "the left side is 1048704",
            "tile_m that is legal with all else as it is: 2;",
            "herd_m that is legal with all else as it is: 2, 1",
        ],
    ),
    (
        STRIDE,
        "the DMA stride",
        setup(GEMM, [2048, 2048, 11008], "fused-cast", [64, 256, 32, 128], [8, 2]),
        ["= tile_k_l2 * N = 2818048", "tile_k_l2 that is legal with all else as it is: 64"],
    ),
    (
        STATE,
        "herd_n = 1",
        setup(GEMM, [2048, 896, 896], "drain", [32, 64, 32, 112], [8, 1]),
        ["herd-n-above-one fails", "herds that are legal with the tile as it is: 8x4, 8x2"],
    ),
    (
        ERT,
        "the device timed out",
        setup("FlashAttention_bf16", ATTENTION, None, [256, 64, 4, 2, 4], [8, 4]),
        ["dk_chunks = dk // lkp = 2"],
    ),
    (
        DEVICE + PRECISION.replace(b"9.402e-03", b"nan") + b"failed.\n",
        "the kernel computes NaN",
        setup("FlashAttention_bf16", ATTENTION, None, [256, 64, 4, 2, 4], [8, 4]),
        ["dk_chunks = dk // lkp = 2"],
    ),
    (wrong(b"1.000e+00"), "all-zero output", setup(GEMM, [2048, 1024, 1024]), []),
    (
        wrong(b"9.118e-01"),
        "silent corruption",
        setup(GEMM, [2048, 2048, 960], "drain", [32, 256, 32, 128], [8, 4]),
        [
            "N % (tile_n * herd_n) = 448",
            "n-divides fails",
            "tile_n that is legal with all else as it is: 80, 48, 16",
            "pad N=960 to 1024",
        ],
    ),
    (
        wrong(b"7.700e-01"),
        "silent corruption",
        setup(GEMM, [2048, 960, 1024], "drain", [32, 160, 32, 128], [8, 4]),
        [
            "N % (tile_n * herd_n) = 0",
            "known-bad tiling",
            "tile_k_l2 that is legal with all else as it is: 320, 192, 96, 64",
        ],
    ),
    (
        wrong(b"4.600e-01").replace(b"2070000", b"966451"),
        "a part of the output",
        setup("EltwiseAdd_bf16", [245760], None, [2048], [8, 1]),
        ["even-chunks fails", "tile that is legal with all else as it is: 1920, 3840, 1024"],
    ),
    (
        LOG.replace(PASS, WRONG).replace(b"2070000", b"1"),
        "elements near zero",
        setup(GEMM, [2048, 1024, 3072], "drain", [32, 256, 32, 128], [8, 4]),
        ["methods that are left for this shape, in order: fused-cast (tier high), direct ("],
    ),
    (
        AIRCC + b"x.mlir:1:2: error: 'aie.tile' op allocated buffers exceeded available memory\n",
        "the buffers of one compute tile",
        setup(GEMM, [2048, 2048, 2048], "drain", [64, 256, 32, 128], [8, 4]),
        ["l1-drain fails", "tile_m that is legal with all else as it is: 32, 16"],
    ),
]


@pytest.mark.parametrize(("log", "likely", "subject", "computed"), ROWS)
def test_every_symptom_names_its_cause_and_computes_what_would_do(
    log: bytes, likely: str, subject: Setup, computed: list[str]
) -> None:
    plain = found(log)
    assert plain[0].likely.startswith(likely)
    assert "Here: " not in plain[0].look_at
    first = found(log, subject)[0]
    assert (first.symptom, first.likely) == (plain[0].symptom, plain[0].likely)
    assert first.look_at.startswith(plain[0].look_at)
    for words in computed:
        assert words in first.look_at


def test_herds_with_more_columns_are_named_where_no_tile_is_known() -> None:
    cause = found(STATE, setup(GEMM, [2048, 896, 896], "drain"))[0]
    assert "herds that are legal for this shape: 8x4, 8x2, 4x4" in cause.look_at


def test_the_herd_that_was_tried_is_not_proposed() -> None:
    cause = found(STATE, setup(GEMM, [2048, 896, 896], "drain", [32, 64, 32, 112], [8, 4]))[0]
    assert "herds that are legal with the tile as it is: 8x2, 4x4" in cause.look_at


def test_only_what_is_legal_is_named() -> None:
    subject = setup("RoPE_bf16", [100, 64], None, [], [8, 1])
    (_, forbidden) = found(b"hello\n", subject)
    assert "breaks rows-divide" in forbidden.symptom
    assert forbidden.look_at == "herd_x that is legal with all else as it is: 5, 4, 2, 1; " + (
        "no other herd_y is legal on herd 8x1"
    )


def test_a_shape_that_nothing_fits_says_which_constraint_is_in_the_way() -> None:
    subject = setup("GEMV_bf16", [2048, 16384], None, [8, 4], [8])
    assert any("no configuration is legal" in cause.look_at for cause in found(REPEAT, subject))


def test_what_the_page_forbids_is_told_once() -> None:
    subject = setup(GEMM, [2048, 2048, 2000], "drain", [32, 256, 32, 128], [8, 4])
    texts = [told(cause) for cause in found(wrong(b"9.118e-01"), subject)]
    assert sum("n-divides fails" in text for text in texts) == 1


def test_a_sound_configuration_is_said_to_hold() -> None:
    subject = setup(GEMM, [2048, 2048, 2048], "drain", [32, 256, 32, 128], [8, 4])
    causes_of = found(wrong(b"9.118e-01"), subject)
    ids = "m-divides, n-divides, k-divides, k-l2-divides, k-steps"
    assert f"{ids} of the page hold for this tile and herd" in causes_of[0].look_at
    assert len(causes_of) == 1


def test_a_dim_that_nothing_splits_is_padded() -> None:
    assert "no k_split from 2 to 255 divides K=16381" in told(
        found(REPEAT, setup("GEMV_bf16", [2048, 16381]))[0]
    )


def test_another_variant_s_band_gives_it_away() -> None:
    log = LOG.replace(b"9.402e-03", b"1.300e-02")
    subject = setup(GEMM, [2048, 2048, 2048], "drain", [32, 256, 32, 128], [8, 4])
    cause = found(log, subject, 0)[0]
    assert cause.likely.startswith("another datapath")
    assert "0.013 lies in the band of direct at this shape" in cause.look_at


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_value_that_is_named_is_legal_and_none_is_left_out(data: st.DataObject) -> None:
    """The computed values of a knob are those that a scan of its choices finds.

    From a legal configuration in which one knob may be changed to anything.
    """
    spec = built_in()[GEMM]
    sizes = st.sampled_from([512, 640, 896, 960, 1024, 1536, 2048, 2560])
    shape = {dim: data.draw(sizes, label=dim) for dim in spec.dims}
    variant = data.draw(st.sampled_from(sorted(spec.variants)))
    start = data.draw(st.sampled_from(list(itertools.islice(search(spec, shape, variant), 30))))
    tile, herd = dict(start.tile), start.herd
    changed = data.draw(st.sampled_from(sorted(spec.tile)))
    tile[changed] = data.draw(st.sampled_from([tile[changed], *spec.tile[changed].choices]))
    knob = data.draw(st.sampled_from(sorted(spec.tile)))
    subject = Setup(spec, shape, variant, tile, herd)

    def legal(value: int) -> bool:
        violations = kernel.violations(spec, shape, variant, {**tile, knob: value}, herd)
        return not any(violation.hard for violation in violations)

    wanted = {value for value in spec.tile[knob].choices if value != tile[knob] and legal(value)}
    text = "; ".join(advice(subject, About(knobs=(knob,)), JUDGED))
    _, _, named = text.partition(f"{knob} that is legal with all else as it is: ")
    clean = {part.split(" (")[0] for part in named.split("; ")[0].split(", ") if part[:1].isdigit()}
    assert {int(value) for value in clean} <= wanted
    assert bool(clean) == bool(wanted)


JUDGED = Judgement("fail", "", (), None, None, None)


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_page_can_be_asked_about_every_symptom(name: str) -> None:
    """At a legal configuration, at none, and at one that breaks the page."""
    from registry_tool.verifier.causes.catalogue import CATALOGUE

    spec = built_in()[name]
    sizes = {"causal": 1, "dk": 64, "dv": 64, "head_dim": 64, "num_heads": 8, "num_kv_heads": 8}
    shape = {dim: sizes.get(dim, 2048) for dim in spec.dims}
    for variant in [*spec.variants, None]:
        legal = best(spec, shape, variant)
        assert legal is not None
        odd = dict.fromkeys(legal.tile, 17)
        for tile, herd in ((legal.tile, legal.herd), ({}, ()), (odd, tuple(5 for _ in spec.herd))):
            subject = Setup(spec, shape, variant, tile, herd)
            for entry in CATALOGUE:
                for sentence in advice(subject, entry.about, JUDGED):
                    assert sentence
            assert bool(broken(subject)) == (tile is odd and subject.is_whole)


# Time-outs: of the compiler, of the device.

ECHO = b"cd build_peano && python3 ../run.py --m 2048 --compile-mode compile-and-run\n"


@pytest.mark.parametrize(
    ("log", "step", "words", "suspect"),
    [
        (ECHO + DEVICE, "compile", "the device was not touched", False),
        (
            ECHO + DEVICE + b"[aiecc] running: llc -O2 core_3_4.ll\n",
            None,
            "while compiling: [aiecc]",
            False,
        ),
        (ECHO.replace(b"and-run", b"only"), None, "the device was not touched", False),
        (ECHO + DEVICE + LATENCY, None, "did not say so before our limit", True),
        (DEVICE + b"[XRT] INFO: loaded\nRunning kernel\n", None, "did not say so", True),
        (ECHO + DEVICE, None, "a compile-only run tells the two apart", False),
        (b"", None, "a compile-only run tells the two apart", False),
    ],
)
def test_our_own_limit_tells_compiler_and_device_apart(
    log: bytes, step: Any, words: str, suspect: bool
) -> None:
    subject = setup(GEMM, [2048, 2048, 2048], "drain", [32, 256, 32, 128], [8, 4], step)
    text = " | ".join(told(cause) for cause in found(log, subject, None, timed_out=True))
    assert words in text
    assert ("a known-good small row" in text) == suspect
    assert "the device timed out" not in text
    # Whether it is suspect is for the run of that small row to say.
    assert "the device is suspect" not in text


@pytest.mark.parametrize("step", [None, "compile"])
@pytest.mark.parametrize("log", [b"", ECHO + DEVICE, DEVICE + b"Running kernel\n"])
def test_a_compile_time_out_has_its_cause_in_the_words_of_its_verdict(
    tmp_path: Path, log: bytes, step: Any
) -> None:
    out, err = tmp_path / "log", tmp_path / "err"
    out.write_bytes(log)
    err.write_bytes(b"")
    finished = Finished(None, True, 600.2, datetime.now(timezone.utc))
    judgement = judge_compile(read_stream(out), read_stream(err), finished)
    assert judgement.reason
    subject = setup(GEMM, [2048, 2048, 2048], "drain", [32, 256, 32, 128], [8, 4], step)
    (cause,) = causes(parse(log), judgement, parse(b""), subject)
    assert cause.likely.startswith("the compiler scales badly")
    assert "the device was not touched" in cause.look_at


MISUNDERSTOOD = [
    b"run.py: error: unrecognized arguments: --compile-mode compile-only\n",
    b"run.py: error: argument --method: invalid choice: 'auto' (choose from 'drain')\n",
    b"run.py: error: argument --m: expected one argument\n",
    b"run.py: error: the following arguments are required: --lk\n",
    b"run.py: error: ambiguous option: --tile could match --tile-m, --tile-n\n",
    b"make: *** No rule to make target 'run'.  Stop.\n",
]


@pytest.mark.parametrize("line", MISUNDERSTOOD)
def test_a_tree_and_a_page_that_disagree_are_a_case_for_doctor(line: bytes) -> None:
    subject = setup(GEMM, [2048, 2048, 2048], "drain", [32, 256, 32, 128], [8, 4])
    for cause in (found(line, subject, 2)[0], found(b"", subject, 2, err=line)[0]):
        assert "do not agree" in cause.likely
        assert f"Here: registry-tool doctor --kernel {GEMM}" in cause.look_at
    assert "do not agree" in found(line, None, 2)[0].likely


@pytest.mark.parametrize(
    "log",
    [
        ERT,
        LOG.replace(b"868.4", b"6144012.7"),
        LOG.replace(LATENCY, b"Avg NPU time: 6144ms.\n"),
        LOG + b"latencies (us): 812.1, 6144032.0, 813.4\n",
    ],
)
@pytest.mark.parametrize("timed_out", [False, True])
def test_the_driver_s_time_out_is_the_device_s(log: bytes, timed_out: bool) -> None:
    (cause, *rest) = found(log, None, 0, timed_out)
    assert cause.likely.startswith("the device timed out")
    assert not any("compiler" in other.likely for other in rest)


# Words that mislead.


@pytest.mark.parametrize(
    "line",
    [
        b"# if K is large: Repeat count exceeds [0:255]",
        b"\techo 'Allocator exhausted available buffer descriptor IDs'",
        b"// asserts L2 capacity exceeded",
        b"+ echo qds_device::wait()",
        b'    raise ValueError("L2 capacity exceeded: A=")',
        b"   12 |   \"No module named 'pyxrt'\"",
        b"@echo op Stride 5 exceeds",
        b"note: the op Stride was checked",
        b"PEANO_INSTALL_DIR=/opt/peano make run",
        b"Detected NPU device: npu2 --target=aie2p-none-unknown-elf",
    ],
)
def test_words_in_a_comment_an_echo_or_source_name_no_cause(line: bytes) -> None:
    assert found(line + b"\n" + LOG, None, 0) == ()
    (cause,) = found(line + b"\nwhatever\n", None, 3)
    assert cause.likely == "not known"


def test_a_build_for_the_older_generation_is_seen_where_it_matters() -> None:
    line = b"python3 layer_norm.py --arch aie2 --M 512\n"
    assert "AIE_TARGET=aie2p" in found(line + wrong(b"1.000e+00"))[0].look_at
    assert "AIE_TARGET=aie2p" not in found(line + wrong(b"9.000e-01"))[0].look_at


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"ModuleNotFoundError: No module named 'pyxrt'\n", "PYTHONPATH"),
        (b"Error: PEANO_INSTALL_DIR is not set\n", "PEANO_INSTALL_DIR, and a clean"),
        (
            b"filelock._error.Timeout: The file lock '/tmp/npu.lock' could not be acquired.\n",
            "lock",
        ),
        (b"flock: timeout while waiting to get lock\n", "who holds the lock"),
    ],
)
def test_the_environment_has_causes_too(log: bytes, words: str) -> None:
    assert words in told(found(log)[0])
    assert words in told(found(b"", err=log)[0])


# What is not known.


@pytest.mark.parametrize(
    ("log", "lines"),
    [
        (b"one\n\n   \ntwo\nmake: *** [Makefile:62: run] Error 1\n", ["one", "two"]),
        (b"one\n 10%|#  | 2/20 [00:01<00:09, 1.8it/s]\r100%|###| 20/20\n[3/20]\n", ["one"]),
        (b"loading: 12%\rloading: 99%\rloaded\n", ["loaded"]),
        (TRACE + b"    ^^^^\nKeyError: 'x'\n" + MAKE, ["KeyError: 'x'"]),
        (b"a\r\n\x1b[31mb\x1b[0m\r\n------\n~~~^\n", ["a", "b"]),
        (b"mkdir -p build\nmake: *** [x] Error 1\n", ["mkdir -p build", "make: *** [x] Error 1"]),
        (b"caf\xc3\xa9 \xff\n", ["café \ufffd"]),
        (b"", []),
    ],
)
def test_the_last_meaningful_lines_leave_noise_out(log: bytes, lines: list[str]) -> None:
    assert meaningful(parse(log), 5) == lines


def test_an_unknown_symptom_shows_them_and_the_debugging_order() -> None:
    (cause,) = found(TRACE + b"KeyError: 'x'\n" + MAKE, None, 3, err=b"dying\n")
    assert cause.symptom.endswith("the log ends with: KeyError: 'x' / dying")
    assert "the first error of the log" in cause.look_at


@given(st.binary(max_size=300))
def test_no_bytes_break_the_lines(data: bytes) -> None:
    assert len(meaningful(parse(data), 5)) <= 5


def test_every_failing_status_has_a_cause_and_a_pass_has_none() -> None:
    subject = setup(GEMM, [2048, 1024, 1024], "drain", [32, 256, 32, 128], [8, 4])
    for status, timed_out in itertools.product((None, 0, 1, -9, 255), (False, True)):
        facts = parse(LOG)
        judgement = judge(facts, status, timed_out, Request())
        assert bool(causes(facts, judgement, None, subject)) == (judgement.status != "pass")
