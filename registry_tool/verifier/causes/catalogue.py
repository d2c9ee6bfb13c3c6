"""The catalogue of symptoms: signature -> likely cause -> where to look, and what to compute.

An entry names ids of constraints, knobs and dims as the kernel pages do, never a kernel: a page
of one's own joins in by calling its constraints likewise. Debug starting points, never gates.
"""

from __future__ import annotations

from typing import NamedTuple

from registry_tool.verifier.causes import signatures as shown
from registry_tool.verifier.causes.computed import About, Split
from registry_tool.verifier.causes.signatures import Signature, line, reason

_L2 = About(constraints=("l2", "l2-*"))
_DIVIDES = ("*-divide", "*-divides", "even-chunks")
_SILENT = About(
    constraints=(*_DIVIDES, "k-steps", "one-m-iteration"),
    knobs=("tile_n", "tile_k_l2", "tile_k_l1"),
    figures=(("the columns that no tile covers", "N % (tile_n * herd_n)"),),
    pad_to=1024,
)
_NAN = About(
    constraints=("tile-q-*", "dk-divides", "dv-divides", "cols-*", "rows-*"),
    figures=(("dk_chunks", "dk // lkp"),),
)
_PLACES = About(
    constraints=("shim-dma", "columns", "*-rows", "herd-*", "*-repeats"),
    knobs=("tile_n", "tile", "tile_k_l2", "tile_m"),
    pad_to=1024,
    herds=True,
)


class Entry(NamedTuple):
    """One row of the catalogue; ``about`` is what of the kernel's spec it is about."""

    shows: Signature
    likely: str
    look_at: str
    about: About = About()


CATALOGUE = (
    Entry(
        line("repeat_count"),
        "GEMV K is too large: the outer dimension of its automatic split reaches 256",
        "k_split, so that K = k_split * inner and k_split <= 255",
        About(constraints=("*-repeats",), split=Split("K", "k_split", 255)),
    ),
    Entry(
        line("descriptors"),
        "buffer descriptors run out: an unaligned dimension, or an iteration count that does not "
        "place (not monotonic: a larger tile may place where a smaller one does not)",
        "pad to a multiple of 1024, or another tile_n or herd; the page's notes on what places",
        _PLACES,
    ),
    Entry(
        line("l2_capacity"),
        "the GEMV's staged buffer is above the 512 KiB of L2",
        "a smaller tile_m (8 to 2 at K=8192) or herd_m",
        _L2,
    ),
    Entry(
        line("l1_capacity"),
        "the buffers of one compute tile are above its 64 KiB of L1",
        "smaller tile sizes; the page's formula for L1",
        About(constraints=("l1", "l1-*")),
    ),
    Entry(
        line("stride"),
        "the DMA stride tile_k_l2 * N is above 1048576 (the number is a stride, no latency)",
        "a smaller tile_k_l2, so that tile_k_l2 * N <= 1048576 (a guideline: some larger ones "
        "compile)",
        About(
            constraints=("dma-stride",),
            knobs=("tile_k_l2",),
            figures=(("the stride", "tile_k_l2 * N"),),
        ),
    ),
    Entry(
        line("dispatch_state"),
        "herd_n = 1 (an array that is not 8x4) on fused-cast or drain, or a long kernel on an old "
        "driver",
        "herd 8x4; the driver's version",
        About(constraints=("herd-n-above-one",), herds=True),
    ),
    Entry(
        shown.device_timeout,
        "the device timed out: its buffer is partly written and later runs may fail too (attention "
        "at head_dim >= 128: flags that differ, or seq-first with dk_chunks > 1)",
        "whether a known-good small row still passes: verify runs one next, and stops, with a line "
        "of its own, if it does not",
        About(constraints=_NAN.constraints, figures=_NAN.figures),
    ),
    Entry(
        shown.compile_limit,
        "the compiler scales badly on a large multi-launch: above 10 minutes, cap it, write it "
        "down, do not retry",
        "fewer launches in one module, or larger tiles; the device was not touched",
    ),
    Entry(
        shown.run_limit,
        "the device or its driver hangs, and the driver did not say so before our limit; the "
        "compiler had done its work",
        "dmesg; whether a known-good small row still passes: verify runs one next, and stops, with "
        "a line of its own, if it does not",
        About(constraints=("*",)),
    ),
    Entry(
        shown.unknown_limit,
        "the compiler scales badly on a large multi-launch (above 10 minutes: cap it, write it "
        "down, do not retry), or the device hangs",
        "the last line of the log: was it still compiling? a compile-only run tells the two apart; "
        "whether it waited for the harness's own lock, which somebody else held",
    ),
    Entry(
        shown.misunderstood,
        "the tree's script or Makefile and the page do not agree: one of them has moved on, and "
        "nothing was built or run",
        "which flag, value or target has gone, and what is near it: registry-tool doctor --kernel "
        "KERNEL; then mend harness: in kernels/KERNEL.yaml, or take the page's commit of the tree",
        About(doctor=True),
    ),
    Entry(
        line("missing_module"),
        "the environment lacks a Python module (pyxrt: the XRT bindings are not on PYTHONPATH)",
        "the environment of the harness: source its set-up script, then run the command again",
    ),
    Entry(
        line("peano"),
        "PEANO_INSTALL_DIR is not set: kernel objects are not built, or those of another tile are "
        "used",
        "PEANO_INSTALL_DIR, and a clean build folder (registry-tool doctor)",
    ),
    Entry(
        shown.never_ran,
        "the device lock stayed busy: flock -w ends with exit status 1 and prints nothing",
        "who holds the lock (registry-tool doctor); give flock an exit status of its own with -E",
    ),
    Entry(
        reason("killed by signal"),
        "the process was ended from outside (signal 9: often for lack of memory) or crashed "
        "(signals 6 and 11)",
        "dmesg; free memory; the lines before the end of the log",
    ),
    Entry(
        shown.not_finite,
        "the kernel computes NaN; for attention: compile flags that differ from the kernel's, or "
        "seq-first with dk_chunks > 1 at head_dim >= 128",
        "the flags in the page's command; the flash-attention page",
        _NAN,
    ),
    Entry(
        shown.older_device,
        "it was built for aie2, the generation before NPU2, and computes nothing there",
        "AIE_TARGET=aie2p in the command, and a clean build folder",
    ),
    Entry(
        shown.all_zero,
        "all-zero output: a bare herd without launch and segment, the wrong target (aie2 on "
        "NPU2), or a run that never happened",
        "the builder's wrapper; AIE_TARGET",
    ),
    Entry(
        shown.cosine_of_nan,
        "NaN that the report shows as a cosine of 0; for attention: compile flags that differ, or "
        "seq-first with dk_chunks > 1 at head_dim >= 128",
        "the attention kernel of that layer",
        _NAN,
    ),
    Entry(
        shown.mostly_wrong,
        "silent corruption: GEMM N % (tile_n * herd_n) != 0, or a K tiling that corrupts",
        "tile_n, so that tile_n * herd_n divides N; tile_k_l2 and tile_k_l1",
        _SILENT,
    ),
    Entry(
        shown.few_wrong,
        "elements near zero in the reference, at the edge of atol: the datapath is sound, and the "
        "run still fails",
        "the other method of the same tier, then the lower tier; no tolerance is loosened for it",
        About(variants=True),
    ),
    Entry(
        shown.partly_wrong,
        "a part of the output is wrong or unwritten: a tile that does not divide the shape",
        "which rows or columns the mismatches are in, against tile_m, tile_n and the herd",
        About(constraints=(*_DIVIDES, "one-m-iteration"), figures=_SILENT.figures),
    ),
    Entry(
        reason("outside the band"),
        "another datapath than the page's: another method, rounding mode or accumulator (too good "
        "is as impossible as too bad)",
        "the variant that was really built; stale kernel objects in the build folder",
        About(bands=True),
    ),
    Entry(
        reason("looser than", "which is no gate"),
        "the harness was held to other tolerances than the page's: not a verdict on this row",
        "--rtol and --atol, or the script's own constants",
    ),
    Entry(
        shown.other_device,
        "built for or run on another device generation: it runs, and computes nothing of worth",
        "xrt-smi on PATH, AIE_TARGET, target_device",
    ),
    Entry(
        line("correlation"),
        "the harness gates on correlation, which a scaled output passes too",
        "the harness's element-wise check, with report_precision",
    ),
    Entry(
        shown.sampled,
        "not the whole output was compared: samples, or another shape",
        "the shape in the command; the script's full check instead of its stochastic one",
    ),
    Entry(
        line("torn"),
        "two streams were written to one file, or the log was cut",
        "capture standard output and standard error apart (verify does)",
    ),
    Entry(
        line("compile_only"),
        "the run was asked to compile only",
        "--compile-mode compile-and-run",
    ),
    Entry(
        line("no_outputs"),
        "the script was run without a reference to compare with",
        "the make target: run, not profile or print",
    ),
    Entry(
        reason("the exit status is not known"),
        "nothing in the log speaks against a pass, but a harness may fail without a word",
        "how the run ended: registry-tool judge LOG --exit-status N",
    ),
    Entry(
        shown.only_timed,
        "a timing run: it measures and compares nothing",
        "the correctness command of the page, run before it",
    ),
    Entry(
        reason("no precision line for"),
        "an output was not compared: the harness checks fewer than the kernel writes, or it ended "
        "early",
        "the script's expected_outputs; the last lines of the log",
    ),
    Entry(
        reason("layers are missing", "layer table is torn"),
        "the diagnosis ended early, or compared fewer layers than the model has",
        "the end of its report; the number of layers in its command",
    ),
    Entry(
        line("other_fail"),
        "the harness itself found wrong elements, in words of its own (and may still exit 0)",
        "the first wrong indices in the log",
    ),
)
