"""What surrounds a run's numbers: machine, device, toolchain, and the files that produced them.

What cannot be found out is null, with the reason.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path

from registry_tool.records.spec import KernelSpec, Target
from registry_tool.records.verdict import Environment, Fact
from registry_tool.verifier.hardware import PEANO, Place
from registry_tool.verifier.logs.facts import LogFacts
from registry_tool.verifier.machine import device as machine
from registry_tool.verifier.machine import xrt_smi
from registry_tool.verifier.machine.device import known, unknown
from registry_tool.verifier.machine.tree import hardware_sources
from registry_tool.verifier.machine.xrt_smi import Examined

PACKAGE = Path(__file__).resolve().parents[2]
_EMULATOR = "registry_tool.emulator"
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_NO_DEVICE = "emulated target: no device takes part"
_NOT_ASKED = Examined("xrt-smi was not asked")


@dataclass(frozen=True)
class Surroundings:
    """What one survey of the machine found: made once per plan, and handed to every `gather`.

    ``system`` is where sysfs is mounted: what may change between two runs is read there again.
    """

    device: Mapping[str, Fact]
    toolchain: Mapping[str, Fact]
    system: Path = machine.SYSTEM


def survey(
    target: Target, environ: Mapping[str, str], place: Place | None, system: Path = machine.SYSTEM
) -> Surroundings:
    """Ask everything that surrounds the runs of ``target``: some programs, a second or so.

    ``place`` is where the harness tree and its compiler are; None where they are not known.
    """
    if target.kind != "hardware":
        return Surroundings(_nothing_about_a_device(), dict(_emulation_toolchain()), system)
    said = xrt_smi.examine(environ)
    root, peano = (Path(place.root), place.peano) if place else (None, environ.get(PEANO, ""))
    return Surroundings(
        device=machine.device_facts(environ, system, said),
        toolchain=machine.toolchain(root, peano, environ, said),
        system=system,
    )


def gather(
    target: Target, facts: LogFacts, surroundings: Surroundings | None = None
) -> Environment:
    """What is known around a run on ``target`` that printed ``facts``.

    Without ``surroundings`` only files are read, no program is asked.
    """
    around = surroundings or _unsurveyed(target)
    device = around.device
    return Environment(
        host=host(),
        device=_device(facts, device["device"]),
        driver=device["driver"],
        firmware=device["firmware"],
        power_mode=device["power_mode"],
        platform_profile=machine.platform_profile(around.system),
        toolchain=dict(around.toolchain),
    )


def _unsurveyed(target: Target) -> Surroundings:
    if target.kind == "hardware":
        return Surroundings(machine.device_facts({}, examined=_NOT_ASKED), {})
    return Surroundings(_nothing_about_a_device(), _emulation_toolchain())


def _nothing_about_a_device() -> dict[str, Fact]:
    return dict.fromkeys(("device", "driver", "firmware", "power_mode"), unknown(_NO_DEVICE))


def _device(facts: LogFacts, otherwise: Fact) -> Fact:
    """The device that the harness named: it knows which one it ran on; else that of the machine."""
    if facts.devices:
        return known(", ".join(dict.fromkeys(facts.devices)))
    if otherwise.value is not None:
        return otherwise
    return unknown(f"the harness names no device; {otherwise.reason}")


@cache
def host() -> Fact:
    """A digest that stays the same on this machine and says nothing else about it."""
    for path in _MACHINE_IDS:
        try:
            identity = path.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            continue
        if identity and identity != "uninitialized":
            # machine-id(5): never to be shown itself, only hashed for one application.
            return known(hashlib.sha256(f"registry-tool:{identity}".encode()).hexdigest()[:16])
    return unknown(f"no {_MACHINE_IDS[0]}")


@cache
def _emulation_toolchain() -> dict[str, Fact]:
    # The harness is started with this interpreter, so its NumPy is ours; importing it is slow.
    return {
        "python": known(platform.python_version()),
        "numpy": _numpy(),
        "blas": _blas(),
        "cpu": _cpu(),
    }


def _numpy() -> Fact:
    try:
        return known(metadata.version("numpy"))
    except metadata.PackageNotFoundError:
        return unknown("numpy is not installed")


def _blas() -> Fact:
    found = util.find_spec("numpy")
    for folder in (found.submodule_search_locations or ()) if found else ():
        try:
            text = Path(folder, "__config__.py").read_text(encoding="utf-8")
        except OSError:
            continue
        match = re.search(
            r'"blas": \{\s*"name": r?"([^"]+)",(?:\s*"found": .*,)?\s*"version": r?"([^"]+)"', text
        )
        if match:
            return known(f"{match[1]} {match[2]}")
    return unknown("numpy does not say")


def _cpu() -> Fact:
    # The BLAS picks its kernels by the CPU, and the last flips of a GEMV move with them.
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return unknown("no /proc/cpuinfo")
    match = re.search(r"^(?:model name|Hardware|cpu)\s*:\s*(.+)$", text, re.MULTILINE)
    return known(match[1]) if match else unknown("/proc/cpuinfo names no model")


def sources(
    spec: KernelSpec, target: Target, registry_root: Path, name: str | None = None
) -> dict[str, str]:
    """SHA-256 of each harness file that takes part in a run of ``spec``.

    On an emulated target: the emulator's modules that this kernel needs, named relative to the
    folder that holds the package, or to the registry's root. On hardware: the files of the
    harness of ``name`` (the target's), relative to harness_root.
    """
    if target.kind == "hardware":
        harness = spec.harness.get(name) if name else None
        if harness is None or target.harness_root is None:
            return {}
        return hardware_sources(harness, Path(target.harness_root).expanduser())
    if spec.emulator is None:
        return {}
    module = spec.emulator.partition(":")[0]
    own = module if module.endswith(".py") else None
    files = dict(_emulator_files("" if own else module))
    if own is not None:
        files[f"kernels/{own}"] = registry_root / "kernels" / own
    return {name: _sha256(path) for name, path in sorted(files.items())}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _emulator_files(module: str) -> dict[str, Path]:
    """The files of the emulator that its main module and ``module`` import, name to path."""
    todo, done = ["__init__", "__main__", *filter(None, [module])], dict[str, Path]()
    while todo:
        name = todo.pop()
        path = PACKAGE / "emulator" / f"{name}.py"
        key = f"{PACKAGE.name}/emulator/{name}.py"
        if key not in done and path.is_file():
            done[key] = path
            todo += _imports(path)
    return done


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module == _EMULATOR:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{_EMULATOR}."):
            yield (node.module or "").removeprefix(f"{_EMULATOR}.")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith(f"{_EMULATOR}."):
                    yield alias.name.removeprefix(f"{_EMULATOR}.")
