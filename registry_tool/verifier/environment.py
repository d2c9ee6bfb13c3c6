"""What surrounds a run's numbers: machine, device, toolchain, and the files that produced them.

What cannot be found out is null, with the reason.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata, util
from pathlib import Path

from registry_tool.records.spec import KernelSpec, Target
from registry_tool.records.verdict import Environment, Fact
from registry_tool.verifier.facts import LogFacts

PACKAGE = Path(__file__).resolve().parent.parent
_EMULATOR = "registry_tool.emulator"
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_PLATFORM_PROFILE = Path("/sys/firmware/acpi/platform_profile")
_HARDWARE_FILES = {
    "driver": (Path("/sys/module/amdxdna/version"),),
    "firmware": (Path("/sys/class/accel/accel0/device/fw_version"),),
    "power_mode": (Path("/sys/class/accel/accel0/device/power_mode"),),
}
_NO_DEVICE = "emulated target: no device takes part"


def gather(target: Target, facts: LogFacts) -> Environment:
    """What is known around a run on ``target`` that printed ``facts``."""
    hardware = {
        name: _first_line(paths) if target.kind == "hardware" else _unknown(_NO_DEVICE)
        for name, paths in _HARDWARE_FILES.items()
    }
    return Environment(
        host=host(),
        device=_device(facts),
        driver=hardware["driver"],
        firmware=hardware["firmware"],
        power_mode=hardware["power_mode"],
        platform_profile=_first_line((_PLATFORM_PROFILE,)),
        toolchain=dict(_emulation_toolchain()) if target.kind == "emulated" else {},
    )


def _known(value: str) -> Fact:
    line = "".join(character if character.isprintable() else "?" for character in value).strip()
    return Fact(value=line[:200], reason=None) if line else _unknown("empty")


def _unknown(reason: str) -> Fact:
    return Fact(value=None, reason=reason)


def _device(facts: LogFacts) -> Fact:
    if not facts.devices:
        return _unknown("the harness names no device")
    return _known(", ".join(dict.fromkeys(facts.devices)))


def _first_line(paths: tuple[Path, ...]) -> Fact:
    for path in paths:
        try:
            return _known(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return _unknown(f"no {paths[0]}")


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
            return _known(hashlib.sha256(f"registry-tool:{identity}".encode()).hexdigest()[:16])
    return _unknown(f"no {_MACHINE_IDS[0]}")


@cache
def _emulation_toolchain() -> dict[str, Fact]:
    # The harness is started with this interpreter, so its NumPy is ours; importing it is slow.
    return {
        "python": _known(platform.python_version()),
        "numpy": _numpy(),
        "blas": _blas(),
        "cpu": _cpu(),
    }


def _numpy() -> Fact:
    try:
        return _known(metadata.version("numpy"))
    except metadata.PackageNotFoundError:
        return _unknown("numpy is not installed")


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
            return _known(f"{match[1]} {match[2]}")
    return _unknown("numpy does not say")


def _cpu() -> Fact:
    # The BLAS picks its kernels by the CPU, and the last flips of a GEMV move with them.
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _unknown("no /proc/cpuinfo")
    match = re.search(r"^(?:model name|Hardware|cpu)\s*:\s*(.+)$", text, re.MULTILINE)
    return _known(match[1]) if match else _unknown("/proc/cpuinfo names no model")


def sources(spec: KernelSpec, target: Target, registry_root: Path) -> dict[str, str]:
    """SHA-256 of each harness file that takes part: the emulator's modules that this kernel needs.

    Names are relative to the folder that holds the package, or to the registry's root.
    """
    if target.kind != "emulated" or spec.emulator is None:
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
