"""Likely causes of a run that did not pass: starting points for a person, never a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from registry_tool.verifier.facts import Kind, LogFacts
from registry_tool.verifier.harness_log import last_lines
from registry_tool.verifier.judge import HOPELESS, Judgement

_EDGE_SHARE = 1e-4
"""Up to this share of wrong elements is a few elements beside a sound datapath."""
DEBUGGING_ORDER = (
    "the first error of the log, then: does it build (tile, herd, constraints of the page), does "
    "it end (driver, device), is it the right device, are all elements wrong or a few"
)


class Cause(Struct, frozen=True):
    """A symptom, what it usually comes from, and where to look."""

    symptom: str
    likely: str
    look_at: str


class _Entry(NamedTuple):
    """One line of the catalogue: ``shows`` says in words what shows it in this run, or None."""

    shows: Callable[[LogFacts, Judgement], str | None]
    likely: str
    look_at: str


def causes(
    facts: LogFacts, judgement: Judgement, errors: LogFacts | None = None
) -> tuple[Cause, ...]:
    """The likely causes, most telling first; at least one unless it passed.

    ``errors`` are the facts of standard error, if that was captured apart.
    """
    if judgement.status == "pass":
        return ()
    found: dict[str, Cause] = {}
    for read in (facts, errors) if errors is not None else (facts,):
        for entry in _CATALOGUE:
            symptom = entry.shows(read, judgement)
            if symptom is not None and entry.likely not in found:
                found[entry.likely] = Cause(symptom, entry.likely, entry.look_at)
    return tuple(found.values()) or (_unknown(facts, errors),)


def _unknown(facts: LogFacts, errors: LogFacts | None) -> Cause:
    lines = last_lines(facts)
    if errors is not None:
        lines += last_lines(errors)
    ends = " / ".join(lines[-5:]) if lines else "nothing: it is empty"
    return Cause(f"no known symptom; the log ends with: {ends}", "not known", DEBUGGING_ORDER)


def _line(*kinds: Kind) -> Callable[[LogFacts, Judgement], str | None]:
    def shows(facts: LogFacts, judgement: Judgement) -> str | None:
        mark = facts.first(*kinds)
        return None if mark is None else mark.text

    return shows


def _device_timeout(facts: LogFacts, judgement: Judgement) -> str | None:
    mark = facts.first("device_timeout")
    if mark is not None:
        return mark.text
    if judgement.status == "timeout" and facts.timings and judgement.latency_us is not None:
        return f"a latency of {judgement.latency_us:g} us, the driver's time-out"
    return None


def _hang(facts: LogFacts, judgement: Judgement) -> str | None:
    if judgement.status != "timeout" or facts.has("device_timeout") or facts.timings:
        return None
    return "ended at the time limit without a figure"


def _not_finite(facts: LogFacts, judgement: Judgement) -> str | None:
    if any(not output.finite for output in facts.outputs):
        return "NaN or infinity in the output"
    return None


def _all_zero(facts: LogFacts, judgement: Judgement) -> str | None:
    for output in facts.outputs:
        if 0.9995 <= output.mean_rel_L1 <= 1.0005:
            return f"mean_rel_L1 of output {output.index} is 1: it is all zeros"
    return None


def _mostly_wrong(facts: LogFacts, judgement: Judgement) -> str | None:
    for output in facts.outputs:
        if HOPELESS <= output.mean_rel_L1 < 0.9995 or output.mean_rel_L1 > 1.0005:
            return f"mean_rel_L1 of output {output.index} is {output.mean_rel_L1:g}"
    if _cosine_cliff(facts) is not None:
        return f"the cosines fall at layer {_cosine_cliff(facts)}"
    return None


def _cosine_cliff(facts: LogFacts) -> int | None:
    before = 1.0
    for layer in facts.layers:
        if before - layer.cos_median > 0.5:
            return layer.index
        before = layer.cos_median
    return None


def _cosine_of_nan(facts: LogFacts, judgement: Judgement) -> str | None:
    for layer in facts.layers:
        figures = (layer.cos_p5, layer.cos_min, layer.cos_median)
        if 0.0 in figures or any(figure != figure for figure in (*figures, layer.max_abs)):
            return f"NaN in layer {layer.index} (a cosine of 0 is a row of NaN)"
    return None


def _few_wrong(facts: LogFacts, judgement: Judgement) -> str | None:
    worst = judgement.worst
    if worst is None or worst.mean_rel_L1 is None or worst.mean_rel_L1 >= HOPELESS:
        return None
    for found in facts.mismatches:
        if 0 < found.count <= max(20.0, found.elements * _EDGE_SHARE):
            return f"{found.count} of {found.elements} elements differ, mean_rel_L1 is sound"
    return None


def _partly_wrong(facts: LogFacts, judgement: Judgement) -> str | None:
    if _few_wrong(facts, judgement) is not None:
        return None
    for found in facts.mismatches:
        if found.elements and 0.02 < found.count / found.elements < 0.98:
            share = 100 * found.count / found.elements
            return f"{share:.0f} % of the elements differ"
    return None


def _loose(facts: LogFacts, judgement: Judgement) -> str | None:
    return judgement.reason if judgement.reason and "looser than" in judgement.reason else None


def _outside_band(facts: LogFacts, judgement: Judgement) -> str | None:
    return judgement.reason if judgement.reason and "outside the band" in judgement.reason else None


def _other_device(facts: LogFacts, judgement: Judgement) -> str | None:
    mark = facts.first("fallback")
    if mark is not None:
        return mark.text
    return judgement.reason if judgement.reason and "ran on " in judgement.reason else None


def _sampled(facts: LogFacts, judgement: Judgement) -> str | None:
    if facts.has("sampled"):
        return "the harness says that it compared samples"
    if judgement.reason and " elements of " in judgement.reason:
        return judgement.reason
    return None


def _never_ran(facts: LogFacts, judgement: Judgement) -> str | None:
    mark = facts.first("lock_busy")
    if mark is not None:
        return mark.text
    if judgement.reason and "no output at all" in judgement.reason:
        return "a failing exit status and no output at all"
    return None


def _killed(facts: LogFacts, judgement: Judgement) -> str | None:
    if judgement.reason and "killed by signal" in judgement.reason:
        return judgement.reason
    return None


def _no_exit_status(facts: LogFacts, judgement: Judgement) -> str | None:
    return judgement.reason if judgement.reason == "the exit status is not known" else None


def _only_timed(facts: LogFacts, judgement: Judgement) -> str | None:
    against = facts.has("pass", "other_fail", "failed", "no_outputs", "crash")
    if facts.timings and not facts.outputs and not against:
        return "figures of time, none of precision"
    return None


def _outputs_missing(facts: LogFacts, judgement: Judgement) -> str | None:
    if judgement.reason and "no precision line for" in judgement.reason:
        return judgement.reason
    return None


_CATALOGUE = (
    _Entry(
        _line("repeat_count"),
        "GEMV K is too large: the outer dimension of its automatic split reaches 256",
        "k_split, so that K = k_split * inner and k_split <= 255",
    ),
    _Entry(
        _line("descriptors"),
        "buffer descriptors run out: an unaligned dimension, or an iteration count that does not "
        "place (not monotonic: a larger tile may place where a smaller one does not)",
        "pad to a multiple of 1024, or another tile_n or herd; the page's notes on what places",
    ),
    _Entry(
        _line("l2_capacity"),
        "the GEMV's staged buffer is above the 512 KiB of L2",
        "a smaller tile_m (8 to 2 at K=8192) or herd_m",
    ),
    _Entry(
        _line("stride"),
        "the DMA stride tile_k_l2 * N is above 1048576 (the number is a stride, no latency)",
        "a smaller tile_k_l2, so that tile_k_l2 * N <= 1048576",
    ),
    _Entry(
        _line("dispatch_state"),
        "herd_n = 1 (an array that is not 8x4) on fused-cast or drain, or a long kernel on an old "
        "driver",
        "herd 8x4; the driver's version",
    ),
    _Entry(
        _device_timeout,
        "the device timed out: its buffer is partly written and later runs may fail too (attention "
        "at head_dim >= 128: flags that differ, or seq-first with dk_chunks > 1)",
        "mark the device suspect; run a known-good small row before the next one",
    ),
    _Entry(
        _hang,
        "the compiler scales badly on a large multi-launch (above 10 minutes: cap it, write it "
        "down, do not retry), or the device hangs",
        "the last line of the log: was it still compiling?",
    ),
    _Entry(
        _line("missing_module"),
        "the environment lacks a Python module (pyxrt: the XRT bindings are not on PYTHONPATH)",
        "the environment of the harness: source its set-up script, then run the command again",
    ),
    _Entry(
        _never_ran,
        "the device lock stayed busy: flock -w ends with exit status 1 and prints nothing",
        "who holds the lock (registry-tool doctor); give flock an exit status of its own with -E",
    ),
    _Entry(
        _killed,
        "the process was ended from outside (signal 9: often for lack of memory) or crashed "
        "(signals 6 and 11)",
        "dmesg; free memory; the lines before the end of the log",
    ),
    _Entry(
        _not_finite,
        "the kernel computes NaN; for attention: compile flags that differ from the kernel's, or "
        "seq-first with dk_chunks > 1 at head_dim >= 128",
        "the flags in the page's command; the flash-attention page",
    ),
    _Entry(
        _all_zero,
        "all-zero output: a bare herd without launch and segment, the wrong target (aie2 on "
        "NPU2), or a run that never happened",
        "the builder's wrapper; AIE_TARGET",
    ),
    _Entry(
        _cosine_of_nan,
        "NaN that the report shows as a cosine of 0; for attention: compile flags that differ, or "
        "seq-first with dk_chunks > 1 at head_dim >= 128",
        "the attention kernel of that layer",
    ),
    _Entry(
        _mostly_wrong,
        "silent corruption: GEMM N % (tile_n * herd_n) != 0, or a K tiling that corrupts",
        "tile_n, so that tile_n * herd_n divides N; tile_k_l2 and tile_k_l1",
    ),
    _Entry(
        _few_wrong,
        "elements near zero in the reference, at the edge of atol: the datapath is sound, and the "
        "run still fails",
        "the other method of the same tier, then the lower tier; no tolerance is loosened for it",
    ),
    _Entry(
        _partly_wrong,
        "a part of the output is wrong or unwritten: a tile that does not divide the shape",
        "which rows or columns the mismatches are in, against tile_m, tile_n and the herd",
    ),
    _Entry(
        _outside_band,
        "another datapath than the page's: another method, rounding mode or accumulator (too good "
        "is as impossible as too bad)",
        "the variant that was really built; stale kernel objects in the build folder",
    ),
    _Entry(
        _loose,
        "the harness was held to other tolerances than the page's: not a verdict on this row",
        "--rtol and --atol, or the script's own constants",
    ),
    _Entry(
        _other_device,
        "built for or run on another device generation: it runs, and computes nothing of worth",
        "xrt-smi on PATH, AIE_TARGET, target_device",
    ),
    _Entry(
        _line("correlation"),
        "the harness gates on correlation, which a scaled output passes too",
        "the harness's element-wise check, with report_precision",
    ),
    _Entry(
        _sampled,
        "not the whole output was compared: samples, or another shape",
        "the shape in the command; the script's full check instead of its stochastic one",
    ),
    _Entry(
        _line("torn"),
        "two streams were written to one file, or the log was cut",
        "capture standard output and standard error apart (verify does)",
    ),
    _Entry(
        _line("compile_only"),
        "the run was asked to compile only",
        "--compile-mode compile-and-run",
    ),
    _Entry(
        _line("no_outputs"),
        "the script was run without a reference to compare with",
        "the make target: run, not profile or print",
    ),
    _Entry(
        _no_exit_status,
        "nothing in the log speaks against a pass, but a harness may fail without a word",
        "how the run ended: registry-tool judge LOG --exit-status N",
    ),
    _Entry(
        _only_timed,
        "a timing run: it measures and compares nothing",
        "the correctness command of the page, run before it",
    ),
    _Entry(
        _outputs_missing,
        "an output was not compared: the harness checks fewer than the kernel writes, or it ended "
        "early",
        "the script's expected_outputs; the last lines of the log",
    ),
    _Entry(
        _line("other_fail"),
        "the harness itself found wrong elements, in words of its own (and may still exit 0)",
        "the first wrong indices in the log",
    ),
)
