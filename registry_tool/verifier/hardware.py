"""The commands of a kernel's hardware harness, from its spec; nothing is started here.

Every value that reaches a command is a checked integer, a name of the spec, or a checked path:
make takes its variables as free text, and would expand what stands in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from registry_tool.errors import HarnessError, InputError, RegistryError, UsageError
from registry_tool.records import kernel
from registry_tool.records.spec import Harness, HarnessRun, KernelSpec, Target
from registry_tool.verifier.job import Commands, Step

PEANO = "PEANO_INSTALL_DIR"
ROOT = "HARNESS_ROOT"
UNKNOWN_PEANO, UNKNOWN_ROOT = f"${PEANO}", f"${ROOT}"
"""What stands for the two paths of this machine in a verdict, and where they are not set."""
OUTER_MAKE = ("MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKELEVEL", "MAKEFILES")
"""What a make around us sets, and the harness's make would obey: `-n` runs nothing."""
# What neither make nor a shell reads as anything but itself.
_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}|[{}]")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9_./+@:,=~-]*")


@dataclass(frozen=True)
class Place:
    """The two paths that commands need of this machine: harness tree and compiler."""

    root: str
    peano: str


def find_place(target: str, spec: Target, environ: Mapping[str, str]) -> Place:
    """Where the harness tree and its compiler are.

    Raises RegistryError if registry.yaml names no tree, UsageError for an environment without a
    usable PEANO_INSTALL_DIR: without it, make keeps the object of an older tile, silently.
    """
    if spec.harness_root is None:
        raise RegistryError(
            f"registry.yaml does not say where the harnesses of {target} are",
            fix=f"set targets.{target}.harness_root to the folder programming_examples/ of the "
            "harness tree, then: registry-tool doctor",
        )
    root = Path(spec.harness_root).expanduser()
    if not root.is_dir():
        raise RegistryError(
            f"the harness tree of {target} is not there", path=root, fix="registry-tool doctor"
        )
    peano = environ.get(PEANO, "")
    if not peano:
        raise UsageError(
            f"{PEANO} is not set: without it make keeps the kernel object of an older tile",
            fix=f"export {PEANO}=.../llvm-aie   # then: registry-tool doctor",
        )
    if not Path(peano).is_dir():
        raise UsageError(f"{PEANO} is no folder", path=peano, fix="registry-tool doctor")
    return Place(check_path(str(root.resolve()), "harness_root"), check_path(peano, PEANO))


def presumed_place(spec: Target, environ: Mapping[str, str]) -> Place:
    """The same for printing commands only: what is not set is shown as a variable."""
    root = str(Path(spec.harness_root).expanduser()) if spec.harness_root else UNKNOWN_ROOT
    return Place(root, environ.get(PEANO) or UNKNOWN_PEANO)


def check_path(path: str, what: str) -> str:
    """``path`` if it can stand in a make variable; raises UsageError if not."""
    if not _PLAIN_PATH.fullmatch(path):
        raise UsageError(
            f"{what} is no absolute path of plain characters: {path!r}; make would read more in it",
            fix="use a path of letters, digits and / . _ + - only (a symbolic link will do)",
        )
    return path


def harness_of(spec: KernelSpec, target: str) -> Harness:
    """The harness of ``spec`` on ``target``; raises HarnessError if it names none."""
    harness = spec.harness.get(target)
    if harness is None:
        raise HarnessError(
            f"{spec.kernel} has no harness for {target}",
            fix=f"add harness: {target}: to kernels/{spec.kernel}.yaml",
        )
    return harness


def commands(
    spec: KernelSpec,
    target: str,
    place: Place,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
) -> Commands:
    """Everything that is run for one row at ``tile`` and ``herd``.

    Raises InputError if the spec's templates name something that a row does not have.
    """
    harness = harness_of(spec, target)
    words = _words(spec, shape, variant, tile, herd)

    def step(run: HarnessRun | None) -> Step | None:
        return None if run is None else make_step(run, place, words, spec.kernel)

    return Commands(
        correctness=make_step(harness.correctness, place, words, spec.kernel),
        build=tuple(Path(place.root) / _inside(folder, spec.kernel) for folder in harness.build),
        compile=step(harness.compile),
        timing=step(harness.timing),
        stateful=harness.stateful,
    )


def make_step(run: HarnessRun, place: Place, words: Mapping[str, str | int], owner: str) -> Step:
    """``run`` with ``words`` in its templates; InputError names ``owner`` if one is not known."""
    folder = _inside(_fill(run.folder, words, owner), owner)

    def fill(peano: str) -> tuple[str, ...]:
        filled = (_fill(word, {**words, "peano": peano}, owner) for word in run.command)
        # A flag that is empty for this row leaves its space behind.
        return tuple(" ".join(word.split()) for word in filled)

    return Step(fill(place.peano), fill(UNKNOWN_PEANO), Path(place.root) / folder)


def _inside(folder: str, owner: str) -> PurePosixPath:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise InputError(f"a harness folder of {owner} is none below harness_root: {folder!r}")
    return path


def _fill(template: str, words: Mapping[str, str | int], owner: str) -> str:
    """``template`` with each ``{word}`` filled in; format specs and attributes are none."""

    def fill(match: re.Match[str]) -> str:
        word = words.get(match[1]) if match[1] else None
        if word is None:
            known = ", ".join(f"{{{name}}}" for name in sorted(words))
            raise InputError(
                f"the harness of {owner} has a template that cannot be filled: {template!r}",
                fix=f"it may use {known} and {{peano}}",
            )
        return str(word)

    return _FIELD.sub(fill, template)


def _words(
    spec: KernelSpec,
    shape: Mapping[str, int],
    variant: str | None,
    tile: Mapping[str, int],
    herd: Sequence[int],
) -> dict[str, str | int]:
    """What templates may use: dims, knobs, herd axes, and what harnesses call the variant."""
    if variant is not None and variant not in spec.variants:
        known = ", ".join(spec.variants) or "none"
        raise InputError(f"{spec.kernel} has no variant {variant!r}; it has {known}")
    precision = kernel.precision_of(spec, variant)
    words: dict[str, str | int] = {**shape, **tile, **dict(zip(spec.herd, herd, strict=True))}
    for name, size in words.items():
        # Typed callers give integers; what reaches make is checked all the same.
        if type(size) is not int or size < 0:
            raise InputError(f"{name}={size!r} is no size of {spec.kernel}")
    words["variant"] = variant or ""
    words["precision"] = precision or ""
    words["high_precision"] = "false" if precision == "low" else "true"
    # The harness's own choice of a method is for the high tier; the low one has only one.
    words["method"] = "auto" if precision == "low" else variant or ""
    words["causal_flag"] = "--causal" if shape.get("causal") else ""
    return words
