from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.verifier.machine.ask import ask
from registry_tool.verifier.machine.xrt_smi import Npu, Report, examine, read_json, read_text

BEFORE_2_18 = """\
System Configuration
  OS Name              : Linux
  Release              : 6.8.7-xdna
  Version              : #2 SMP PREEMPT_DYNAMIC
  GLIBC                : 2.38
  BIOS version         : 1.00

XRT
  Version              : 2.17.0
  Branch               : 2024.1
  Hash                 : a09e1a1e
  XOCL                 : unknown, unknown
  XCLMGMT              : unknown, unknown
WARNING: xclmgmt version is unknown. Is xclmgmt driver loaded? Or is MSD/MPD running?
  AMDXDNA              : 2.17.0_20240212, 317e0c67
  Firmware Version     : 1.0.0.63

Devices present
BDF             :  Name
---------------------------------
[0000:C7:00.1]  :  RyzenAI-npu1
"""
SINCE_2_18 = """\
System Configuration
  OS Name              : Linux

XRT
  Version              : 2.21.0
  Branch               : HEAD
  amdxdna Version      : 2.21.0_20251112, e56379dd
  NPU Firmware Version : 1.1.0.59

Device(s) Present
|BDF             |Name          |
|----------------|--------------|
|[0000:67:00.1]  |RyzenAI-npu4  |

"""
BESIDE_A_CARD = """\
XRT
  Version              : 2.23.0
  NPU Driver Version   : 32.0.203.237
  NPU Firmware Version : N/A

Device(s) Present
|BDF             |Shell                       |Logic UUID  |Device ID     |Device Ready*  |
|----------------|----------------------------|------------|--------------|---------------|
|[0000:03:00.1]  |xilinx_u250_gen3x16_base_4  |0x0         |user(inst=0)  |Yes            |

* Devices that are not ready will have reduced functionality when using XRT tools
|BDF              |Name       |
|-----------------|-----------|
|[00c5:00:01.1]   |NPU Strix  |
"""
NO_DEVICE = "XRT\n  Version              : 2.18.0\n\nDevices present\n  0 devices found\n"
PLATFORM = """\

------------------------------
[0000:67:00.1] : RyzenAI-npu4
------------------------------
Platform
  Name                   : RyzenAI-npu4
  {word:<23}: {mode}
  Total Columns          : 8

Power                    : 0.000 Watts
"""


def host_json(*devices: dict[str, str]) -> str:
    drivers = [
        {"name": "xocl", "version": "unknown", "hash": "unknown"},
        {"name": "amdxdna", "version": "2.19.0_20250330", "hash": "7c1d273e"},
    ]
    xrt = {"version": "2.19.0", "branch": "HEAD", "drivers": drivers}
    return json.dumps({"system": {"host": {"xrt": xrt, "devices": devices or ""}}})


def npu_json(bdf: str, firmware: str = "1.0.0.63") -> dict[str, str]:
    return {
        "bdf": bdf,
        "device_class": "Ryzen",
        "name": "RyzenAI-npu4",
        "firmware_version": firmware,
        "is_ready": "true",
    }


def platform_json(bdf: str, mode: str, word: str = "power_mode") -> str:
    platform = {"static_region": {"name": "RyzenAI-npu4"}, "status": {word: mode}}
    return json.dumps({"devices": [{"device_id": bdf, "platforms": [platform]}]})


def test_the_text_of_old_and_new_versions_reads_alike() -> None:
    old, new, mixed = read_text(BEFORE_2_18), read_text(SINCE_2_18), read_text(BESIDE_A_CARD)
    assert (old.xrt, old.driver) == ("2.17.0", "2.17.0_20240212, 317e0c67")
    assert old.npus == {"0000:c7:00.1": Npu("0000:c7:00.1", "RyzenAI-npu1")}
    assert old.loose.firmware == "1.0.0.63"
    assert (new.xrt, new.driver) == ("2.21.0", "2.21.0_20251112, e56379dd")
    assert new.npus == {"0000:67:00.1": Npu("0000:67:00.1", "RyzenAI-npu4")}
    assert new.loose.firmware == "1.1.0.59"
    assert mixed.driver == "32.0.203.237"
    assert mixed.npus == {"00c5:00:01.1": Npu("00c5:00:01.1", "NPU Strix")}
    assert mixed.loose.firmware is None


@pytest.mark.parametrize("word", ["Power Mode", "Performance Mode"])
def test_the_mode_is_that_of_the_device_above_it(word: str) -> None:
    text = PLATFORM.format(word=word, mode="Turbo")
    other = PLATFORM.format(word=word, mode="Default").replace("0000:67", "0000:68")
    found = read_text(text + other).npus
    assert {npu.bdf: npu.power_mode for npu in found.values()} == {
        "0000:67:00.1": "Turbo",
        "0000:68:00.1": "Default",
    }


def test_a_word_for_unknown_is_not_a_value() -> None:
    text = "XRT\n  Version : N/A\n  AMDXDNA : 0.1, unknown\n  Firmware Version : unknown\n"
    assert read_text(text) == Report(driver="0.1")
    assert read_text("  amdxdna              : unknown, unknown\n").is_empty


def test_json_names_each_device_and_no_card() -> None:
    card = {**npu_json("0000:03:00.1"), "device_class": "Alveo"}
    found = read_json(host_json(npu_json("0000:67:00.1"), card))
    assert (found.xrt, found.driver) == ("2.19.0", "2.19.0_20250330, 7c1d273e")
    assert found.npus == {"0000:67:00.1": Npu("0000:67:00.1", "RyzenAI-npu4", "1.0.0.63")}
    for word in ("power_mode", "performance_mode"):
        mode = read_json(platform_json("0000:67:00.1", "Turbo", word)).npus["0000:67:00.1"]
        assert mode.power_mode == "Turbo"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["system", "host", "xrt", "devices", "drivers", "platforms", "bdf", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values.map(json.dumps) | st.text())
def test_any_json_is_read_without_an_error(text: str) -> None:
    read_json(text)


@given(st.text() | st.lists(st.sampled_from(BESIDE_A_CARD.splitlines()), max_size=9).map("\n".join))
def test_any_text_is_read_without_an_error(text: str) -> None:
    read_text(text)


names = st.text("abcdefghijklmnopqrstuvwxyzRAI0123456789-", min_size=3, max_size=20).filter(
    lambda name: name.lower() not in {"n/a", "none", "null", "unknown"}
)


@given(st.dictionaries(st.integers(0, 255), names, max_size=4), st.booleans())
def test_every_device_of_a_table_is_found(devices: dict[int, str], bars: bool) -> None:
    form = "|[0000:{:02x}:00.1]  |{}  |" if bars else "[0000:{:02x}:00.1]  :  {}"
    head = "|BDF  |Name  |\n|-----|------|\n" if bars else "BDF  :  Name\n---------\n"
    text = head + "".join(form.format(*device) + "\n" for device in devices.items())
    assert [npu.name for npu in read_text(text).npus.values()] == list(devices.values())


def script(folder: Path, body: str) -> dict[str, str]:
    """An environment whose PATH has an xrt-smi of this shell code; ``$json`` is its -o."""
    folder.mkdir(exist_ok=True)
    path = folder / "xrt-smi"
    find = 'json=; for word; do [ "$last" = -o ] && json=$word; last=$word; done\n'
    path.write_text(f"#!/bin/sh\n{find}{body}\n")
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_one_device_with_json_files(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text(host_json(npu_json("0000:67:00.1")))
    (tmp_path / "platform.json").write_text(platform_json("0000:67:00.1", "Performance"))
    environ = script(
        tmp_path / "bin",
        f'case "$*" in *platform*) cp {tmp_path}/platform.json $json;; '
        f"*) cp {tmp_path}/host.json $json;; esac",
    )
    found = examine(environ)
    assert (found.reason, found.power_reason, found.xrt) == (None, None, "2.19.0")
    assert found.npus == (Npu("0000:67:00.1", "RyzenAI-npu4", "1.0.0.63", "Performance"),)


def test_a_version_that_writes_no_json_is_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "host").write_text(SINCE_2_18)
    (tmp_path / "platform").write_text(PLATFORM.format(word="Power Mode", mode="Default"))
    environ = script(
        tmp_path / "bin",
        'case "$*" in *JSON*) echo "ERROR: unrecognised option -f" >&2; exit 1;;\n'
        f"*platform*) cat {tmp_path}/platform;; *) cat {tmp_path}/host;; esac",
    )
    found = examine(environ)
    assert found.npus == (Npu("0000:67:00.1", "RyzenAI-npu4", "1.1.0.59", "Default"),)
    assert found.driver == "2.21.0_20251112, e56379dd"


def test_each_of_several_devices_is_asked_for_its_mode(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text(
        host_json(npu_json("0000:67:00.1"), npu_json("0000:68:00.1", "1.1.0.59"))
    )
    for slot, mode in (("67", "Turbo"), ("68", "Default")):
        (tmp_path / slot).write_text(platform_json(f"0000:{slot}:00.1", mode))
    environ = script(
        tmp_path / "bin",
        f'case "$*" in *0000:67*) cp {tmp_path}/67 $json;; *0000:68*) cp {tmp_path}/68 $json;; '
        f"*) cp {tmp_path}/host.json $json;; esac",
    )
    assert [(npu.firmware, npu.power_mode) for npu in examine(environ).npus] == [
        ("1.0.0.63", "Turbo"),
        ("1.1.0.59", "Default"),
    ]


def test_a_report_that_fails_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "host").write_text(SINCE_2_18)
    environ = script(
        tmp_path / "bin",
        'case "$*" in *platform*) echo "[xrt-smi] ERROR: No device handle"; exit 1;; esac\n'
        f"cat {tmp_path}/host",
    )
    found = examine(environ)
    assert found.npus == (Npu("0000:67:00.1", "RyzenAI-npu4", "1.1.0.59", None),)
    assert found.power_reason == "xrt-smi exited with status 1: [xrt-smi] ERROR: No device handle"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit 3", "exited with status 3"),
        ('echo "xrt-smi: error while loading shared libraries" >&2; exit 127', "shared libraries"),
        ("kill -SEGV $$", "ended by SIGSEGV"),
        ("head -c 5000 /dev/urandom", "printed nothing that is known"),
        ('printf "{\\"system\\": [1" > "${json:-/dev/null}"', "printed nothing that is known"),
        (":", "printed nothing that is known"),
        ("exec yes '\\033[31mnonsense'", "ended by SIGXFSZ"),
    ],
)
def test_what_answers_nothing_says_why(tmp_path: Path, body: str, words: str) -> None:
    found = examine(script(tmp_path / "bin", body))
    assert words in (found.reason or "")
    assert (found.npus, found.xrt, found.driver) == ((), None, None)


def test_no_device_is_not_no_answer(tmp_path: Path) -> None:
    (tmp_path / "host").write_text(NO_DEVICE)
    found = examine(script(tmp_path / "bin", f"cat {tmp_path}/host"))
    assert found.reason == "xrt-smi finds no device"
    assert found.xrt == "2.18.0"


def test_a_hang_is_ended_with_all_it_started_and_not_tried_again(tmp_path: Path) -> None:
    count, alive = tmp_path / "count", tmp_path / "alive"
    environ = script(
        tmp_path / "bin", f"echo x >> {count}\nsleep 60 & echo $! > {alive}\ncat {alive}; wait"
    )
    started = time.monotonic()
    found = examine(environ, limit_s=0.3)
    assert time.monotonic() - started < 30
    assert found.reason == "xrt-smi did not end within 0.3 s"
    assert count.read_text() == "x\n"
    assert has_ended(alive.read_text().strip())


def has_ended(pid: str) -> bool:
    """Whether it is gone, or only waits to be reaped by an init that does not."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_hang_at_the_second_question_leaves_the_first_answer(tmp_path: Path) -> None:
    (tmp_path / "host").write_text(SINCE_2_18)
    environ = script(
        tmp_path / "bin", f'case "$*" in *platform*) sleep 60;; esac; cat {tmp_path}/host'
    )
    found = examine(environ, limit_s=1.5)
    assert [npu.name for npu in found.npus] == ["RyzenAI-npu4"]
    assert found.power_reason == "xrt-smi did not end within 1.5 s"


def test_it_is_found_in_the_xrt_that_was_set_up(tmp_path: Path) -> None:
    (tmp_path / "host").write_text(SINCE_2_18)
    script(tmp_path / "bin", f"cat {tmp_path}/host")
    assert examine({"PATH": "/usr/bin:/bin", "XILINX_XRT": str(tmp_path)}).xrt == "2.21.0"
    for environ in ({"PATH": "/usr/bin:/bin"}, {"PATH": ""}, dict[str, str]()):
        assert "not on PATH" in (examine(environ).reason or "")


def test_an_empty_part_of_path_is_not_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bin", "echo no")
    monkeypatch.chdir(tmp_path / "bin")
    assert "not on PATH" in (examine({"PATH": ":/usr/bin"}).reason or "")


def test_no_temporary_folder_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    answer = ask(["true"], os.environ)
    assert "cannot be asked" in (answer.failure or "")
    assert "temporary folder" in (examine(script(tmp_path / "bin", ":")).reason or "")
