"""What `xrt-smi examine` says of XRT, driver and NPUs; it knows nothing of what is made of it.

Read are its JSON file and its text, whichever a version writes. What differs between versions:
`AMDXDNA`, `amdxdna`, `amdxdna Version` and `NPU Driver Version` name the driver; `Firmware Version`
became `NPU Firmware Version`; devices stand as `[BDF]  :  name` or in a table with bars; the mode
is called Power Mode or Performance Mode (Xilinx/XRT, core/tools/common/reports; its issues 8145,
8319 and 8491; Xilinx/mlir-aie issues 1618 and 2167).
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from registry_tool.verifier.machine.ask import ESCAPE, LIMIT_S, Answer, ask, read_some, which

PROGRAM = "xrt-smi"
_DEVICES = 8
_BDF = r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2,4}:[0-9a-fA-F]{2}\.[0-9a-fA-F]"
_DEVICE = re.compile(rf"\[({_BDF})\]\s*[|:]\s*([^|]*?)\s*(?:\||$)")
_PAIR = re.compile(r"\s*([A-Za-z][\w ()*./-]*?)\s*:\s+(.*?)\s*$")
_NOTHING = {"", "n/a", "na", "none", "null", "unknown", "unknown, unknown", "not retrived"}


@dataclass(frozen=True)
class Npu:
    """One NPU as xrt-smi names it."""

    bdf: str
    name: str | None = None
    firmware: str | None = None
    power_mode: str | None = None


@dataclass(frozen=True)
class Report:
    """What one output names; ``npus`` by PCI address, ``loose`` is what stood under no device."""

    xrt: str | None = None
    driver: str | None = None
    npus: Mapping[str, Npu] = field(default_factory=dict)
    loose: Npu = field(default_factory=lambda: Npu(""))

    @property
    def is_empty(self) -> bool:
        """Whether nothing in it was understood."""
        return self == Report()


@dataclass(frozen=True)
class Examined:
    """What is known from xrt-smi; ``reason`` says why there is nothing, ``power_reason`` likewise.

    Nothing here changes while a plan runs but the power mode, which only root changes.
    """

    reason: str | None
    xrt: str | None = None
    driver: str | None = None
    npus: tuple[Npu, ...] = ()
    power_reason: str | None = None


def find(environ: Mapping[str, str]) -> str | None:
    """The path of xrt-smi: on PATH, or in the XRT that its set-up script put into XILINX_XRT."""
    xrt = environ.get("XILINX_XRT")
    return which(PROGRAM, environ.get("PATH", ""), str(Path(xrt, "bin")) if xrt else "")


def examine(environ: Mapping[str, str], limit_s: float = LIMIT_S) -> Examined:
    """What xrt-smi says; it raises nothing. Two calls, and one more for each further device."""
    program = find(environ)
    if program is None:
        return Examined(f"{PROGRAM} is not on PATH (source XRT's setup.sh)")
    report, answer = _report(program, [], environ, limit_s)
    if report.is_empty:
        return Examined(answer.failure or f"{PROGRAM} examine printed nothing that is known of it")
    npus = list(_filled(report))
    power_reason = answer.failure if answer.hung else None
    for index, npu in enumerate(npus[:_DEVICES]):
        if power_reason is not None:
            break
        if npu.power_mode is not None:
            continue
        platform, answer = _report(program, ["-d", npu.bdf, "-r", "platform"], environ, limit_s)
        mine = platform.npus.get(npu.bdf, platform.loose)
        mode = mine.power_mode or platform.loose.power_mode
        npus[index] = replace(npu, power_mode=mode)
        if mode is None:
            power_reason = answer.failure or f"{PROGRAM} examine -r platform names no mode"
    reason = None if npus else answer.failure or f"{PROGRAM} finds no device"
    return Examined(reason, report.xrt, report.driver, tuple(npus), power_reason)


def _filled(report: Report) -> Iterator[Npu]:
    """The NPUs; what text prints once, above them, is of the first."""
    for index, npu in enumerate(report.npus.values()):
        if index == 0:
            firmware = npu.firmware or report.loose.firmware
            alone = len(report.npus) == 1
            mode = npu.power_mode or (report.loose.power_mode if alone else None)
            yield replace(npu, firmware=firmware, power_mode=mode)
        else:
            yield npu


def _report(
    program: str, options: Sequence[str], environ: Mapping[str, str], limit_s: float
) -> tuple[Report, Answer]:
    """`xrt-smi examine options`, as JSON and text; as text alone where it knows no JSON."""
    command = [program, "examine", *options]
    try:
        with tempfile.TemporaryDirectory(prefix="registry-tool-") as folder:
            file = Path(folder, "report.json")
            answer = ask([*command, "-f", "JSON", "-o", str(file)], environ, limit_s)
            report = _merged(read_json(read_some(file)), read_text(answer.text))
    except OSError as error:
        return Report(), Answer("", f"no temporary folder for it: {error.strerror}")
    if report.is_empty and not answer.hung:
        answer = ask(command, environ, limit_s)
        report = read_text(answer.text)
    return report, answer


def _merged(first: Report, second: Report) -> Report:
    npus = dict(first.npus)
    for bdf, npu in second.npus.items():
        npus[bdf] = _better(npus.get(bdf, npu), npu)
    return Report(
        xrt=first.xrt or second.xrt,
        driver=first.driver or second.driver,
        npus=npus,
        loose=_better(first.loose, second.loose),
    )


def _better(first: Npu, second: Npu) -> Npu:
    return Npu(
        first.bdf,
        first.name or second.name,
        first.firmware or second.firmware,
        first.power_mode or second.power_mode,
    )


def read_text(text: str) -> Report:
    """What the text of `xrt-smi examine` names; anything else is passed over."""
    section, xrt, driver = "", None, None
    npus, current, is_npu = dict[str, Npu](), "", True
    loose = Npu("")
    for raw in text.splitlines():
        line = ESCAPE.sub("", raw).rstrip()
        if not line.strip():
            is_npu = True
            continue
        columns = [cell.strip().lower() for cell in re.split(r"[|:]", line) if cell.strip()]
        if columns[:1] == ["bdf"]:
            is_npu = columns[1:2] == ["name"]  # other accelerator cards have a Shell there
            continue
        device = _DEVICE.search(line)
        if device:
            if is_npu:
                current = device[1].lower()
                found = Npu(current, _value(device[2]))
                npus[current] = _better(npus.get(current, found), found)
            continue
        pair = _PAIR.match(line)
        if pair is None:
            if not line[0].isspace() and line[0].isalpha():
                section = line.strip().lower()
            continue
        key, value = pair[1].lower(), _value(pair[2])
        if (key == "version" and section == "xrt") or key == "xrt build version":
            xrt = xrt or value
        elif re.fullmatch(r"amdxdna(?: version)?|npu driver(?: version)?", key):
            driver = driver or _driver(value)
        elif key in ("npu firmware version", "firmware version"):
            loose = replace(loose, firmware=loose.firmware or value)
        elif key in ("power mode", "performance mode"):
            owner = npus.get(current, loose)
            owner = replace(owner, power_mode=owner.power_mode or value)
            if current in npus:
                npus[current] = owner
            else:
                loose = owner
    return Report(xrt, driver, npus, loose)


def read_json(text: str) -> Report:
    """What the JSON of `xrt-smi examine` names; anything else is passed over."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return Report()
    host = _at(whole, "system", "host") or _at(whole, "host")
    version, drivers = _at(host, "xrt", "version"), _at(host, "xrt", "drivers")
    found = [_npu(entry) for entry in _entries(_at(host, "devices"))]
    found += [_npu(entry) for entry in _entries(_at(whole, "devices"))]
    npus = dict[str, Npu]()
    for npu in filter(None, found):
        npus[npu.bdf] = _better(npus.get(npu.bdf, npu), npu)
    return Report(_value(version), _json_driver(_entries(drivers)), npus)


def _json_driver(entries: Sequence[Any]) -> str | None:
    for entry in entries:
        if re.match(r"(?i)amdxdna|npu driver", str(_at(entry, "name"))):
            version, commit = _value(_at(entry, "version")), _value(_at(entry, "hash"))
            return _driver(", ".join(filter(None, (version, commit))))
    return None


def _npu(entry: object) -> Npu | None:
    bdf = _at(entry, "bdf") or _at(entry, "device_id")
    kind = str(_at(entry, "device_class") or "ryzen").lower()
    if not isinstance(bdf, str) or not re.fullmatch(_BDF, bdf) or kind != "ryzen":
        return None
    name, mode = _at(entry, "name"), None
    for platform in _entries(_at(entry, "platforms")):
        name = name or _at(platform, "static_region", "name")
        status = _at(platform, "status")
        mode = mode or _at(status, "power_mode") or _at(status, "performance_mode")
    return Npu(bdf.lower(), _value(name), _value(_at(entry, "firmware_version")), _value(mode))


def _at(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _entries(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _value(value: object) -> str | None:
    text = value.strip() if isinstance(value, str) else ""
    return None if text.lower() in _NOTHING else text


def _driver(value: str | None) -> str | None:
    """A driver's `version, commit` without what is not known of it."""
    words = [word.strip() for word in (value or "").split(",")]
    return ", ".join(word for word in words if word.lower() not in _NOTHING) or None
