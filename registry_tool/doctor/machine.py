"""Whether this machine has what a run on hardware needs: programs, compiler, Python, device."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from registry_tool.doctor.check import Check, Topic
from registry_tool.doctor.sandbox import Sandbox
from registry_tool.errors import UsageError
from registry_tool.records.spec import Target
from registry_tool.records.verdict import Fact
from registry_tool.verifier.hardware import PEANO, check_path

IMPORT_LIMIT_S = 120.0
_XRT_SETUP = "/opt/xilinx/xrt/setup.sh"
_FULL_SPEED = ("performance", "turbo")
_LOW_SPACE = 1 << 30
_NO_SPACE = 64 << 20


def programs(environ: Mapping[str, str]) -> Iterator[Check]:
    """make and git, and what the environment tells every make."""
    topic = Topic("machine")
    for name in ("make", "git"):
        path = shutil.which(name, path=environ.get("PATH"))
        if path is None:
            yield topic.problem(
                name, "not on PATH", f"sudo apt install {name}   # or put it on PATH"
            )
        else:
            yield topic.ok(name, path)
    for name in ("MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES"):
        if environ.get(name):
            message = f"{name}={environ[name]} is set: the harnesses' make reads it too"
            yield topic.warning(name, message, f"unset {name}")


def compiler(environ: Mapping[str, str]) -> Iterator[Check]:
    """The compiler of the compute tiles, which harnesses find by a variable."""
    topic = Topic("compiler")
    export = f"export {PEANO}=/path/to/llvm-aie"
    peano = environ.get(PEANO, "")
    if not peano:
        message = "not set: make would keep the kernel object of an older tile, silently"
        yield topic.problem(PEANO, message, export)
        return
    try:
        check_path(peano, PEANO)
    except UsageError as error:
        yield topic.problem(PEANO, error.message, error.fix or export)
        return
    if not Path(peano).is_dir():
        yield topic.problem(PEANO, f"{peano} is not a folder", export)
        return
    program = Path(peano) / "bin" / "clang++"
    if not program.is_file():
        yield topic.problem(PEANO, f"{peano} has no bin/clang++", export)
    elif not os.access(program, os.X_OK):
        message = f"{program} may not be executed"
        yield topic.problem(PEANO, message, f"chmod +x {shlex.quote(str(program))}")
    else:
        yield topic.ok(PEANO, peano)


def python(sandbox: Sandbox, root: Path | None) -> Iterator[Check]:
    """The Python that harnesses start, and whether it finds the modules of the device."""
    topic = Topic("python")
    path = shutil.which("python3", path=sandbox.environ.get("PATH"))
    if path is None:
        yield topic.problem("python3", "not on PATH", "sudo apt install python3")
        return
    yield topic.ok("python3", path)
    for module, source in (("pyxrt", f"source {_XRT_SETUP}"), ("air", _air(root))):
        done = sandbox.run([path, "-c", f"import {module}"], IMPORT_LIMIT_S)
        if done.status == 0:
            yield topic.ok(module, f"{path} imports it")
        else:
            why = "it takes too long" if done.status is None else done.last_error
            yield topic.warning(module, f"{path} cannot import it: {why}", source)


def _air(root: Path | None) -> str:
    if root is not None:
        setup = root.parent / "utils" / "env_setup.sh"
        if setup.is_file():
            return f"source {shlex.quote(str(setup))} ...   # its first lines say with what"
    return "activate the environment that mlir-air was installed in, then type this again"


def device(environ: Mapping[str, str], facts: Mapping[str, Fact]) -> Iterator[Check]:
    """The NPU as the driver and its tool describe it (``facts`` of verifier.machine)."""
    topic = Topic("device")
    path = shutil.which("xrt-smi", path=environ.get("PATH"))
    if path is None:
        message = "not on PATH: verdicts cannot say on what device and firmware they ran"
        yield topic.warning("xrt-smi", message, f"source {_XRT_SETUP}   # or install XRT")
    else:
        yield topic.ok("xrt-smi", path)
    for name, fact in facts.items():
        shown = name.replace("_", " ")
        if fact.value is None:
            yield _unknown(topic, name, shown, fact.reason or "it is not known why")
        elif name in _SPEEDS and fact.value.lower() not in _FULL_SPEED:
            message = f"{fact.value}: not performance, which can halve the speed that is measured"
            yield topic.warning(shown, message, _SPEEDS[name])
        else:
            yield topic.ok(shown, fact.value)


_SPEEDS = {
    "power_mode": "sudo xrt-smi configure --pmode performance",
    "platform_profile": "echo performance | sudo tee /sys/firmware/acpi/platform_profile",
}


def _unknown(topic: Topic, name: str, shown: str, reason: str) -> Check:
    if name == "device":
        message = f"no NPU is seen: {reason}"
        return topic.problem(
            shown, message, "ls -l /dev/accel; lsmod | grep amdxdna; xrt-smi examine"
        )
    return topic.warning(shown, f"unknown, and null in verdicts: {reason}", "xrt-smi examine")


def tools(facts: Mapping[str, Fact], target: str) -> Iterator[Check]:
    """The versions of what builds the kernels (``facts`` of verifier.machine)."""
    topic = Topic(f"{target}: toolchain")
    for name, fact in facts.items():
        if fact.value is None:
            reason = fact.reason or "it is not known why"
            look = "set it up as in the harness tree's README, if verdicts are to name it"
            yield topic.warning(name, f"unknown, and null in verdicts: {reason}", look)
        else:
            yield topic.ok(name, fact.value)


def build_space(target: str, root: Path, folders: Iterable[str]) -> Iterator[Check]:
    """Whether the harness folders can be written to, and have room for what is built there."""
    topic = Topic(f"{target}: build folders")
    places = [root / folder for folder in folders if (root / folder).is_dir()]
    closed = [place for place in places if not os.access(place, os.W_OK | os.X_OK)]
    if closed:
        message = f"{', '.join(map(str, closed))}: you may not make a build folder there"
        fix = shlex.join(["chmod", "u+wx", *map(str, closed)])
        yield topic.problem("access", message, f"{fix}   # or clone the tree yourself")
    elif places:
        yield topic.ok("access", f"{len(places)} harness folders can be written to")
    by_device = {place.stat().st_dev: place for place in places}
    for place in by_device.values():
        yield _space(topic, place)


def _space(topic: Topic, place: Path) -> Check:
    free = shutil.disk_usage(place).free
    message = f"{free / (1 << 30):.1f} GiB free below {place}"
    look = f"df -h {shlex.quote(str(place))}"
    if free < _NO_SPACE:
        return topic.problem("disk space", message, look)
    if free < _LOW_SPACE:
        return topic.warning("disk space", message, look)
    return topic.ok("disk space", message)


def jobs(name: str, target: Target) -> Iterator[Check]:
    """One device runs one harness at a time."""
    if target.jobs > 1:
        yield Topic(f"{name}: runs").warning(
            "jobs",
            f"{target.jobs} runs side by side on hardware: they wait for each other, or disturb "
            "what is measured",
            f"set targets.{name}.jobs in registry.yaml to 1",
        )
