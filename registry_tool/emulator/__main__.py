"""``python -m registry_tool.emulator KERNEL DIM=SIZE ...``: one emulated run, as a harness."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from registry_tool.emulator import faults
from registry_tool.emulator.case import Block, Case, EmulatorFunction
from registry_tool.emulator.harness import run_case
from registry_tool.errors import EXIT_USAGE, InputError, ToolError, UsageError

EXIT_INTERRUPTED = 130

_SIZE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([0-9]{1,10})\Z", re.ASCII)
_HERD = re.compile(r"[0-9]+(x[0-9]+)*\Z", re.ASCII)


@dataclass(frozen=True)
class Defaults:
    """What a kernel spec says of a kernel and variant."""

    rtol: float
    atol: float
    emulator: str


def spec_defaults(kernel: str, variant: str | None, spec_dir: Path | None) -> Defaults:
    """Tolerances and emulator of a kernel, from its spec; ``spec_dir`` holds a registry's own."""
    # A harness run gets all three as arguments; only a person leaves them to the spec.
    from registry_tool.records import catalog
    from registry_tool.records import kernel as kernels

    spec = catalog.built_in().get(kernel)
    own = spec_dir / f"{kernel}.yaml" if spec_dir is not None else None
    if own is not None and own.is_file():
        spec = catalog.parse_spec(own.read_bytes(), str(own), catalog.built_in())
    if spec is None or spec.emulator is None:
        known = ", ".join(catalog.built_in())
        raise UsageError(
            f"{kernel}: no kernel spec to take tolerances and emulator from; known are {known}",
            fix="give --rtol, --atol and --emulator",
        )
    try:
        gate = kernels.tolerance(spec, kernels.precision_of(spec, variant))
    except KeyError:
        raise UsageError(
            f"{kernel} has the variants {', '.join(spec.variants) or 'none'}, not {variant!r}"
        ) from None
    emulator = spec.emulator
    if spec_dir is not None and emulator.partition(":")[0].endswith(".py"):
        emulator = str(spec_dir / emulator)
    return Defaults(gate.rtol, gate.atol, emulator)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one case; the exit status is the harness's 0 or 255, or 2 for wrong use."""
    try:
        status = _run(_parser().parse_intermixed_args(arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Nobody reads any more. Python would complain again when it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except ToolError as error:
        message = str(error)
    except MemoryError as error:
        message = f"this shape does not fit in memory: {error}"
    print(f"error: {message}", file=sys.stderr)
    return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m registry_tool.emulator",
        description="Emulate one kernel run and print what its harness would print.",
        epilog="faults: " + "; ".join(f"{n}: {k.summary}" for n, k in faults.KINDS.items()),
    )
    parser.add_argument("kernel", help="page name, e.g. GEMM_bf16_in_bf16_out")
    parser.add_argument("shape", nargs="+", metavar="DIM=SIZE", help="e.g. M=2048 K=1024 N=1024")
    parser.add_argument("--variant", help="method or code generation, e.g. drain")
    parser.add_argument("--tile", default="", metavar="KNOB=SIZE,...", help="tile sizes")
    parser.add_argument("--herd", default="", metavar="8x4", help="array of compute tiles")
    parser.add_argument("--rtol", type=float, help="default: the kernel spec's")
    parser.add_argument("--atol", type=float, help="default: the kernel spec's")
    parser.add_argument(
        "--emulator", metavar="MODULE:FUNCTION", help="or FILE.py:FUNCTION; default: the spec's"
    )
    parser.add_argument("--inject", metavar="FAULT", help="run with a fault (see below)")
    parser.add_argument("--spec-dir", type=Path, help="folder of a registry's own kernel specs")
    return parser


def _run(args: argparse.Namespace) -> int:
    fault = faults.parse(args.inject) if args.inject else None
    case = Case(
        kernel=args.kernel,
        shape=_pairs(args.shape, "a dimension"),
        variant=args.variant,
        tile=_pairs([pair for pair in args.tile.split(",") if pair], "--tile"),
        herd=_herd(args.herd),
    )
    rtol, atol, emulator = args.rtol, args.atol, args.emulator
    if rtol is None or atol is None or emulator is None:
        defaults = spec_defaults(args.kernel, args.variant, args.spec_dir)
        rtol = defaults.rtol if rtol is None else rtol
        atol = defaults.atol if atol is None else atol
        emulator = defaults.emulator if emulator is None else emulator
    for name, value in (("--rtol", rtol), ("--atol", atol)):
        if not 0.0 <= value < float("inf"):
            raise UsageError(f"{name} must be a number of at least 0, got {value}")
    return run_case(case, load_emulator(emulator), rtol, atol, sys.stdout, fault)


def _pairs(texts: Sequence[str], what: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for text in texts:
        match = _SIZE.match(text)
        if match is None:
            raise UsageError(f"{what} is written NAME=SIZE with a whole number, got {text!r}")
        if match[1] in sizes:
            raise UsageError(f"{match[1]} is given twice")
        sizes[match[1]] = int(match[2])
    return sizes


def _herd(text: str) -> tuple[int, ...]:
    if text and not _HERD.match(text):
        raise UsageError(f"--herd is written like 8x4, got {text!r}")
    return tuple(int(extent) for extent in text.split("x")) if text else ()


def load_emulator(name: str) -> EmulatorFunction:
    """``module:function`` of this package, or ``FILE.py:function`` of a registry of its own."""
    module_name, _, function_name = name.rpartition(":")
    if not module_name or not function_name:
        raise UsageError(f"an emulator is named MODULE:FUNCTION or FILE.py:FUNCTION, got {name!r}")
    if module_name.endswith(".py"):
        path = Path(module_name)
        return _guarded(_function(_load_file(path), function_name, module_name), path)
    if not module_name.isidentifier():
        raise UsageError(f"no emulator module is called {module_name!r}")
    try:
        module = importlib.import_module(f"registry_tool.emulator.{module_name}")
    except ModuleNotFoundError:
        raise UsageError(f"no emulator module is called {module_name!r}") from None
    return _function(module, function_name, module_name)


def _function(module: ModuleType, name: str, where: str) -> EmulatorFunction:
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"{where} has no function {name!r}")
    return cast(EmulatorFunction, function)


def _load_file(path: Path) -> ModuleType:
    name = f"registry_emulator_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError("no such emulator file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _input_error(path, error) from error
    return module


def _guarded(function: EmulatorFunction, path: Path) -> EmulatorFunction:
    """Turn what goes wrong in a registry's own emulator into one message with file and line."""

    def run(case: Case) -> Iterator[Block]:
        try:
            for block in function(case):
                if block.out.ndim != 2 or block.out.shape != block.ref.shape:
                    raise ValueError("out and ref of a block must be (rows, cols) alike")
                yield block
        except ToolError:
            raise
        except Exception as error:
            raise _input_error(path, error) from error

    return run


def _input_error(path: Path, error: Exception) -> InputError:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == path.absolute() or frame.filename == str(path)
    ]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    return InputError(f"{type(error).__name__}: {error}", path=path, line=line)


if __name__ == "__main__":
    sys.exit(main())
