from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from registry_tool.records.verdict import Fact
from registry_tool.verifier.machine.device import (
    device_facts,
    known,
    platform_profile,
    toolchain,
    unknown,
)
from registry_tool.verifier.machine.xrt_smi import Examined, Npu
from tests.verifier.machine.test_xrt_smi import PLATFORM, SINCE_2_18, script

NOTHING = Examined("xrt-smi is not on PATH")
ONE = Examined(
    None,
    xrt="2.21.0",
    driver="2.21.0_20251112, e56379dd",
    npus=(Npu("0000:67:00.1", "RyzenAI-npu4", "1.1.0.59", "Turbo"),),
)
GIT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def accelerator(system: Path, number: int, driver: str = "amdxdna", **files: str) -> None:
    """An accelerator in sysfs, whose driver is the link that the kernel makes."""
    device = system / "class" / "accel" / f"accel{number}" / "device"
    for name, text in files.items():
        put(device / name, f"{text}\n")
    device.mkdir(parents=True, exist_ok=True)
    (device / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")


def values(facts: dict[str, Fact]) -> dict[str, str | None]:
    return {name: fact.value for name, fact in facts.items()}


def test_what_the_driver_tells_goes_before_what_xrt_smi_makes_of_it(tmp_path: Path) -> None:
    put(tmp_path / "module/amdxdna/version", "2.21.0_20251112, e56379dd493e\n")
    put(tmp_path / "firmware/acpi/platform_profile", "performance\n")
    accelerator(tmp_path, 0, vbnv="RyzenAI-npu4", fw_version="1.1.0.60")
    assert values(device_facts({}, tmp_path, ONE)) == {
        "device": "RyzenAI-npu4",
        "driver": "2.21.0_20251112, e56379dd493e",
        "firmware": "1.1.0.60",
        "power_mode": "Turbo",
        "platform_profile": "performance",
    }


def test_sysfs_alone_tells_what_it_can(tmp_path: Path) -> None:
    put(tmp_path / "module/amdxdna/version", "0.6\n")
    accelerator(tmp_path, 0, vbnv="NPU Strix", fw_version="1.1.0.60")
    found = device_facts({}, tmp_path, NOTHING)
    assert found["device"].value == "NPU Strix"
    assert found["driver"].value == "0.6"
    assert found["firmware"].value == "1.1.0.60"
    assert found["power_mode"].reason == "xrt-smi is not on PATH"
    assert "platform_profile" in (found["platform_profile"].reason or "")


def test_xrt_smi_alone_tells_what_it_can(tmp_path: Path) -> None:
    found = values(device_facts({}, tmp_path, ONE))
    assert found["device"] == "RyzenAI-npu4"
    assert found["driver"] == "2.21.0_20251112, e56379dd"
    assert found["firmware"] == "1.1.0.59"


def test_a_machine_without_an_npu_says_so_everywhere(tmp_path: Path) -> None:
    for name, fact in device_facts({"PATH": "/usr/bin:/bin"}, tmp_path).items():
        assert fact.value is None, name
        assert fact.reason, name
    assert "no amdxdna device" in (device_facts({}, tmp_path, NOTHING)["device"].reason or "")


def test_an_accelerator_of_another_driver_is_not_the_npu(tmp_path: Path) -> None:
    accelerator(tmp_path, 0, driver="intel_vpu", fw_version="9.9", vbnv="other")
    accelerator(tmp_path, 1, vbnv="RyzenAI-npu4", fw_version="1.1.0.60")
    found = device_facts({}, tmp_path, NOTHING)
    assert (found["device"].value, found["firmware"].value) == ("RyzenAI-npu4", "1.1.0.60")


def test_a_driver_that_names_no_device_leaves_its_pci_numbers(tmp_path: Path) -> None:
    (tmp_path / "module/amdxdna").mkdir(parents=True)
    accelerator(tmp_path, 0, vendor="0x1022", device="0x17f0", revision="0x10")
    found = device_facts({}, tmp_path, NOTHING)
    assert found["device"].value == "PCI 1022:17f0 revision 10"
    assert found["driver"].value == f"amdxdna of the kernel {os.uname().release}"


def test_several_devices_are_told_apart(tmp_path: Path) -> None:
    second = Npu("0000:68:00.1", "RyzenAI-npu5", "1.0.0.1", None)
    both = Examined(None, npus=(*ONE.npus, second), power_reason="no mode")
    found = values(device_facts({}, tmp_path, both))
    assert found["device"] == "0000:67:00.1 RyzenAI-npu4, 0000:68:00.1 RyzenAI-npu5"
    assert found["firmware"] == "0000:67:00.1 1.1.0.59, 0000:68:00.1 1.0.0.1"
    assert found["power_mode"] == "Turbo"


def test_files_that_are_no_text_or_no_files(tmp_path: Path) -> None:
    put(tmp_path / "module/amdxdna/version", "").write_bytes(b"1.0\0\xff\x1b[31m\nmore")
    (tmp_path / "firmware/acpi/platform_profile").mkdir(parents=True)
    accelerator(tmp_path, 0, vbnv="", fw_version="")
    found = device_facts({}, tmp_path, NOTHING)
    assert (found["driver"].value or "").isprintable()
    assert found["firmware"].value is None
    assert "Is a directory" in (found["platform_profile"].reason or "")
    assert platform_profile(tmp_path / "absent").value is None


def test_a_fact_is_one_printable_line_that_names_no_home() -> None:
    assert known("a\nb\x1b").value == "a?b?"
    assert known(" \n").value is None
    assert unknown("at\n/home/ada/tree and '/Users/ada'").reason == "at ~/tree and '~'"


def test_the_commit_is_that_of_the_tree_and_says_if_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(tmp_path / "air"), *words],
            env={**os.environ, **GIT},
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout.strip()

    makefile = put(tmp_path / "air/programming_examples/eltwise/Makefile", "run:\n")
    root = tmp_path / "air/programming_examples"
    assert "not a git repository" in (toolchain(root, "", {}, NOTHING)["mlir-air"].reason or "")
    git("init", "-q")
    assert toolchain(root, "", {}, NOTHING)["mlir-air"].value is None
    git("add", ".")
    git("commit", "-q", "-m", "one")
    # As in a hook of the registry's own repository.
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    commit = toolchain(root, "", {}, NOTHING)["mlir-air"].value
    monkeypatch.undo()
    assert commit == git("rev-parse", "HEAD")
    makefile.write_text("run: changed\n")
    changed = toolchain(root, "", {}, NOTHING)["mlir-air"].value
    assert changed == f"{commit} with local changes"
    (tmp_path / "air/copied").mkdir()
    stranger = toolchain(tmp_path / "air/copied", "", {}, NOTHING)["mlir-air"]
    assert "does not hold it" in (stranger.reason or "")


def wheel(site: Path, name: str, version: str, url: str = "") -> None:
    """The metadata that pip leaves of an installed wheel."""
    folder = site / f"{name}-{version}.dist-info"
    put(folder / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if url:
        put(folder / "direct_url.json", url)


def test_packages_are_those_of_the_python3_on_path(tmp_path: Path) -> None:
    site = tmp_path / "site"
    wheel(site, "mlir_air", "0.0.1", '{"url": "x", "vcs_info": {"commit_id": "c0ffee"}}')
    wheel(site, "mlir_aie_no_rtti", "1.3.3.dev25+g74df697")
    put(site / "air/backend/xrt_runner.py", "raise SystemExit('not to be imported')\n")
    put(site / "sitecustomize.py", "print('said before')\n")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    found = values(toolchain(tmp_path, "", environ, NOTHING))
    assert found["mlir-air package"] == "0.0.1 c0ffee"
    assert found["mlir-aie"] == "1.3.3.dev25+g74df697"
    assert (found["xrt_runner"] or "").startswith("sha256 ")
    assert len(found["xrt_runner"] or "") == len("sha256 ") + 64
    assert (found["python"] or "").startswith("3.")


def test_no_python3_is_a_reason(tmp_path: Path) -> None:
    found = toolchain(tmp_path, "", {"PATH": str(tmp_path)}, NOTHING)
    for name in ("mlir-air package", "mlir-aie", "xrt_runner", "python"):
        assert "python3 is not on PATH" in (found[name].reason or "")


def program(path: Path, body: str) -> Path:
    put(path, f"#!/bin/sh\n{body}\n").chmod(0o755)
    return path


def test_peano_is_named_by_its_wheel_and_by_its_compiler(tmp_path: Path) -> None:
    peano = tmp_path / "site/llvm-aie"
    wheel(tmp_path / "site", "llvm_aie", "20.0.0.2025122001+70ac20b1")
    program(
        peano / "bin/clang++",
        "echo 'clang version 20.0.0 (https://example.org/llvm-aie 70ac20b1aa)'; echo Target:",
    )
    environ = {"PATH": os.environ["PATH"]}
    found = values(toolchain(tmp_path, str(peano), environ, NOTHING))
    assert found["llvm-aie"] == "20.0.0.2025122001+70ac20b1"
    assert found["peano"] == "clang 20.0.0 70ac20b1aa"
    program(peano / "bin/clang++", "echo 'clang version 22.0.0git'")
    assert values(toolchain(tmp_path, str(peano), environ, NOTHING))["peano"] == "clang 22.0.0git"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "no bin/clang++"),
        ("exit 1", "exited with status 1"),
        ("kill -ABRT $$", "ended by SIGABRT"),
        ("echo GNU Make", "names no version"),
    ],
)
def test_a_peano_that_does_not_answer(tmp_path: Path, body: str | None, words: str) -> None:
    (tmp_path / "peano").mkdir()
    if body is not None:
        program(tmp_path / "peano/bin/clang++", body)
    found = toolchain(tmp_path, str(tmp_path / "peano"), dict(os.environ), NOTHING)
    assert words in (found["peano"].reason or "")
    assert "no installed wheel" in (found["llvm-aie"].reason or "")


def test_a_build_of_mlir_aie_names_its_commit(tmp_path: Path) -> None:
    program(tmp_path / "bin/aie-opt", "echo LLVM; echo '  aie-opt 52f62c9604b65a86a31f8e26'")
    environ = {"PATH": os.environ["PATH"], "MLIR_AIE_INSTALL_DIR": str(tmp_path)}
    found = values(toolchain(tmp_path, "", environ, NOTHING))
    assert found["mlir-aie"] == "52f62c9604b65a86a31f8e26"


def test_xrt_is_what_xrt_smi_says_or_else_the_installed_one(tmp_path: Path) -> None:
    put(tmp_path / "version.json", '{"BUILD_VERSION": "2.20.0", "BUILD_VERSION_HASH": "abc"}')
    environ = {"XILINX_XRT": str(tmp_path), "PATH": ""}
    assert values(toolchain(tmp_path, "", environ, ONE))["xrt"] == "2.21.0"
    assert values(toolchain(tmp_path, "", environ, NOTHING))["xrt"] == "2.20.0 abc"
    for broken in ("[]", "{", "{}", "[" * 100_000):
        put(tmp_path / "version.json", broken)
        assert toolchain(tmp_path, "", environ, NOTHING)["xrt"].reason == NOTHING.reason


def test_the_whole_of_it_is_cheap(tmp_path: Path) -> None:
    put(tmp_path / "host", SINCE_2_18)
    put(tmp_path / "platform", PLATFORM.format(word="Power Mode", mode="Default"))
    environ = script(
        tmp_path / "bin",
        f'case "$*" in *platform*) cat {tmp_path}/platform;; *) cat {tmp_path}/host;; esac',
    )
    program(tmp_path / "peano/bin/clang++", "echo 'clang version 22.0.0git'")
    started = time.monotonic()
    facts = device_facts(environ, tmp_path)
    toolchain(tmp_path, str(tmp_path / "peano"), environ, ONE)
    assert time.monotonic() - started < 15  # 0.2 s on a machine that does nothing else
    assert facts["power_mode"].value == "Default"
