"""What this machine says about its NPU and about the tools that build and run kernels.

Nothing here raises: what cannot be found out is null, with the reason. Nothing is remembered
either; who needs it more than once keeps the answers (`environment.Surroundings`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from registry_tool.errors import GitError
from registry_tool.records.verdict import Fact
from registry_tool.store import git
from registry_tool.verifier.machine import xrt_smi
from registry_tool.verifier.machine.ask import ask, which
from registry_tool.verifier.machine.xrt_smi import Examined, Npu

SYSTEM = Path("/sys")
_DRIVER = "amdxdna"
_MARK = "registry-tool:"
# Distribution names, as wheels of different months spell them (PEP 503 makes them one).
_PACKAGES = ("mlir-air", "mlir-aie", "mlir-aie-no-rtti", "llvm-aie")
# The version of an installed package, its commit where pip noted one (PEP 610), and the digest of
# the module that compares outputs; the modules themselves are not imported: that takes seconds.
_PROBE = f"""
import hashlib, json, os, sys
from importlib import metadata
found = {{"python": "%d.%d.%d" % sys.version_info[:3]}}
for name in {_PACKAGES!r}:
    try:
        one = metadata.distribution(name)
        commit = json.loads(one.read_text("direct_url.json") or "{{}}").get("vcs_info", {{}})
        found[name] = " ".join(filter(None, (one.version, commit.get("commit_id"))))
    except Exception:  # absent, or broken metadata: unknown then, and the verdict says so
        pass
for folder in sys.path:
    path = os.path.join(folder, "air", "backend", "xrt_runner.py")
    if os.path.isfile(path):
        with open(path, "rb") as file:
            found["xrt_runner"] = "sha256 " + hashlib.sha256(file.read()).hexdigest()
        break
print({_MARK!r} + json.dumps(found))
"""


def known(value: str) -> Fact:
    """``value`` as one printable line of at most 200 characters; unknown if nothing is left."""
    shown = (character if character.isprintable() else "?" for character in value.strip())
    line = "".join(shown).strip()
    return Fact(value=line[:200], reason=None) if line else unknown("empty")


def unknown(reason: str) -> Fact:
    """Nothing, and why; ``reason`` becomes one printable line that names nobody's home."""
    reason = re.sub(r"/(?:home|Users)/[^/\s'\"]+", "~", reason)
    words = "".join(character if character.isprintable() else " " for character in reason)
    return Fact(value=None, reason=" ".join(words.split())[:300] or "unknown")


def device_facts(
    environ: Mapping[str, str], system: Path = SYSTEM, examined: Examined | None = None
) -> dict[str, Fact]:
    """device, driver, firmware, power_mode and platform_profile.

    ``system`` is where sysfs is mounted; ``examined`` what xrt-smi said, if it was asked before.
    What the driver itself tells in sysfs goes before what xrt-smi makes of it.
    """
    said = xrt_smi.examine(environ) if examined is None else examined
    accelerators = _accelerators(system)
    return {
        "device": _device(said, accelerators, system),
        "driver": _driver(said, system),
        "firmware": _firmware(said, accelerators),
        "power_mode": _power_mode(said),
        "platform_profile": platform_profile(system),
    }


def platform_profile(system: Path = SYSTEM) -> Fact:
    """The ACPI platform profile: a single read, cheap enough to repeat for every run."""
    path = system / "firmware" / "acpi" / "platform_profile"
    text, reason = _read(path)
    return unknown(reason) if text is None else known(text)


def _accelerators(system: Path) -> list[Path]:
    """The device folders of the NPUs; accelerators of another driver are left out."""
    try:
        found = sorted((system / "class" / "accel").glob("accel*"), key=_number)
    except OSError:
        return []
    return [entry / "device" for entry in found if _driver_name(entry / "device") in (_DRIVER, "")]


def _number(path: Path) -> tuple[int, str]:
    digits = re.sub(r"\D", "", path.name)
    return int(digits) if digits else 0, path.name


def _driver_name(device: Path) -> str:
    try:
        return (device / "driver").readlink().name
    except OSError:
        return ""


def _device(said: Examined, accelerators: Sequence[Path], system: Path) -> Fact:
    named = [npu for npu in said.npus if npu.name]
    if named:
        return _together(named, lambda npu: npu.name)
    names = [name for path in accelerators if (name := _read(path / "vbnv")[0])]
    names = names or [name for path in accelerators if (name := _pci_name(path))]
    if names:
        return known(", ".join(dict.fromkeys(names)))
    folder = system / "class" / "accel"
    return unknown(
        f"{said.reason or 'xrt-smi names no device'}, and no {_DRIVER} device in {folder}"
    )


def _pci_name(path: Path) -> str:
    parts = [_read(path / name)[0] for name in ("vendor", "device", "revision")]
    if not parts[0] or not parts[1]:
        return ""
    vendor, device, revision = (part.removeprefix("0x") if part else "" for part in parts)
    return f"PCI {vendor}:{device}" + (f" revision {revision}" if revision else "")


def _driver(said: Examined, system: Path) -> Fact:
    module = system / "module" / _DRIVER
    text, reason = _read(module / "version")
    if text:
        return known(text)
    if said.driver:
        return known(said.driver)
    if module.is_dir():
        # The kernel's own copy of the driver has no version but the kernel's.
        return known(f"{_DRIVER} of the kernel {os.uname().release}")
    return unknown(reason if text is None else f"{module / 'version'} is empty")


def _firmware(said: Examined, accelerators: Sequence[Path]) -> Fact:
    versions = [text for path in accelerators if (text := _read(path / "fw_version")[0])]
    if versions:
        return known(", ".join(dict.fromkeys(versions)))
    if any(npu.firmware for npu in said.npus):
        return _together([npu for npu in said.npus if npu.firmware], lambda npu: npu.firmware)
    return unknown(said.reason or "neither sysfs nor xrt-smi names a firmware version")


def _power_mode(said: Examined) -> Fact:
    if any(npu.power_mode for npu in said.npus):
        return _together([npu for npu in said.npus if npu.power_mode], lambda npu: npu.power_mode)
    return unknown(said.reason or said.power_reason or "xrt-smi names no power mode")


def _together(npus: Sequence[Npu], of: Callable[[Npu], str | None]) -> Fact:
    """One value if they share it, else each with its PCI address."""
    values = [of(npu) or "" for npu in npus]
    if len(npus) == 1:
        return known(values[0])
    return known(", ".join(f"{npu.bdf} {text}" for npu, text in zip(npus, values, strict=True)))


def toolchain(
    root: Path | None,
    peano: str,
    environ: Mapping[str, str] | None = None,
    examined: Examined | None = None,
) -> dict[str, Fact]:
    """Versions and commits of what builds and runs the kernels of the tree ``root``.

    mlir-air is the commit of the tree; `mlir-air package` and mlir-aie what the python3 of
    ``environ``'s PATH has; llvm-aie the package that ``peano`` (PEANO_INSTALL_DIR) is, and peano
    what its compiler says itself; xrt as xrt-smi or XILINX_XRT tells.
    """
    around = os.environ if environ is None else environ
    said = xrt_smi.examine(around) if examined is None else examined
    packages, reason = _packages(around)

    def package(*names: str) -> Fact:
        found = [packages[name] for name in names if packages.get(name)]
        words = f"the python3 on PATH has no package {names[0]}"
        return known(found[0]) if found else unknown(reason or words)

    runner = packages.get("xrt_runner")
    aie = package("mlir-aie", "mlir-aie-no-rtti")
    return {
        "mlir-air": _commit(root),
        "mlir-air package": package("mlir-air"),
        "mlir-aie": aie if aie.value else _aie_opt(around, aie),
        "llvm-aie": _llvm_aie(Path(peano) if peano else None),
        "peano": _peano(peano, around),
        "xrt": _xrt(said, around),
        "xrt_runner": known(runner)
        if runner
        else unknown(reason or "the python3 on PATH has no air/backend/xrt_runner.py"),
        "python": known(packages["python"])
        if "python" in packages
        else unknown(reason or "the python3 on PATH does not say"),
    }


def _commit(root: Path | None) -> Fact:
    if root is None:
        return unknown("harness_root is not set")
    try:
        commit, changed = git.commit_of(root)
    except GitError as error:
        return unknown(error.message)
    return known(f"{commit} with local changes" if changed else commit)


def _packages(environ: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """What `_PROBE` prints, and why that is nothing."""
    answer = ask(["python3", "-c", _PROBE], environ)
    # A sitecustomize may print too.
    lines = [line for line in answer.text.splitlines() if line.startswith(_MARK)]
    try:
        found = json.loads(lines[-1].removeprefix(_MARK))
        return {str(name): str(value) for name, value in found.items()}, ""
    except (IndexError, ValueError, AttributeError):
        return {}, answer.failure or "python3 printed nothing that was asked"


def _aie_opt(environ: Mapping[str, str], otherwise: Fact) -> Fact:
    """The commit that a build of mlir-aie prints, where no package is installed."""
    built = environ.get("MLIR_AIE_INSTALL_DIR")
    program = which("aie-opt", str(Path(built, "bin")) if built else "", environ.get("PATH", ""))
    if program is None:
        return unknown(f"{otherwise.reason}, and no aie-opt on PATH")
    answer = ask([program, "--version"], environ)
    match = re.search(r"^\s*aie-opt\s+([0-9a-f]{7,40})\b", answer.text, re.MULTILINE)
    if match:
        return known(match[1])
    return unknown(answer.failure or f"{otherwise.reason}, and aie-opt --version names no commit")


def _llvm_aie(peano: Path | None) -> Fact:
    """The version of the wheel that ``peano`` was unpacked from: its metadata stands beside it."""
    if peano is None:
        return unknown("PEANO_INSTALL_DIR is not set")
    if not peano.is_dir():
        return unknown("PEANO_INSTALL_DIR is no folder")
    try:
        found = sorted(peano.resolve().parent.glob("llvm_aie-*.dist-info"))
    except OSError:
        found = []
    for folder in found:
        match = re.search(r"^Version:\s*(\S+)", _read(folder / "METADATA")[0] or "", re.MULTILINE)
        if match:
            return known(match[1])
    return unknown("PEANO_INSTALL_DIR is no installed wheel: no llvm_aie-*.dist-info beside it")


def _peano(peano: str, environ: Mapping[str, str]) -> Fact:
    if not peano:
        return unknown("PEANO_INSTALL_DIR is not set")
    program = Path(peano) / "bin" / "clang++"
    if not program.is_file():
        return unknown("PEANO_INSTALL_DIR has no bin/clang++")
    answer = ask([str(program), "--version"], environ)
    match = re.search(r"clang version (\S+)(?: \(\S+ ([0-9a-f]{7,40})\))?", answer.text)
    if match:
        return known(f"clang {match[1]} {match[2] or ''}")
    return unknown(answer.failure or "clang++ --version names no version")


def _xrt(said: Examined, environ: Mapping[str, str]) -> Fact:
    if said.xrt:
        return known(said.xrt)
    folder = environ.get("XILINX_XRT")
    if folder:
        try:
            found = json.loads(_read(Path(folder) / "version.json")[0] or "")
            parts = [found.get("BUILD_VERSION"), found.get("BUILD_VERSION_HASH")]
            if parts[0]:
                return known(" ".join(str(part) for part in parts if part))
        except (ValueError, AttributeError, RecursionError):
            pass
    return unknown(said.reason or "xrt-smi names no version")


def _read(path: Path) -> tuple[str | None, str]:
    """The text of a small file, or None and why there is none."""
    try:
        with path.open("rb") as file:
            return file.read(1 << 16).decode("utf-8", "replace").strip(), ""
    except FileNotFoundError:
        return None, f"no {path}"
    except OSError as error:
        return None, f"{path}: {error.strerror}"
