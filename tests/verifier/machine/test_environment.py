from __future__ import annotations

import hashlib
import os
import platform
import re
import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.records.verdict import Environment, Fact
from registry_tool.verifier.hardware import Place
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.machine import environment
from registry_tool.verifier.machine.environment import PACKAGE, gather, host, sources, survey
from tests.verifier.jobs import job, target
from tests.verifier.machine.test_device import accelerator, program, put
from tests.verifier.machine.test_xrt_smi import PLATFORM, SINCE_2_18, script
from tests.verifier.samples import EMULATED, LOG


def every(found: Environment) -> dict[str, Fact]:
    names = [name for name in Environment.__struct_fields__ if name != "toolchain"]
    return {name: getattr(found, name) for name in names} | found.toolchain


@pytest.mark.parametrize("kind", ["emulated", "hardware"])
def test_a_fact_is_known_or_has_a_reason(tmp_path: Path, kind: str) -> None:
    for fact in every(gather(target(tmp_path, kind), parse(LOG))).values():
        assert (fact.value is None) != (fact.reason is None)


def test_an_emulated_target_has_no_device_around_it(tmp_path: Path) -> None:
    found = gather(target(tmp_path), parse(EMULATED))
    assert found.device == Fact(value="npu2-emu", reason=None)
    for fact in (found.driver, found.firmware, found.power_mode):
        assert fact.value is None
        assert "emulated" in (fact.reason or "")
    assert found.toolchain["python"].value == platform.python_version()
    assert re.match(r"\d+\.\d+", found.toolchain["numpy"].value or "")
    assert list(found.toolchain) == ["python", "numpy", "blas", "cpu"]


def test_a_log_that_names_no_device_leaves_it_unknown(tmp_path: Path) -> None:
    assert gather(target(tmp_path), parse(b"")).device.value is None


def test_the_host_is_a_stable_digest_and_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = tmp_path / "machine-id"
    monkeypatch.setattr(environment, "_MACHINE_IDS", (tmp_path / "absent", identity))
    host.cache_clear()
    assert host().value is None
    identity.write_text("3d1219c7c4c5404aaa1f6d2a48adfda4\n")
    host.cache_clear()
    digest = host().value or ""
    host.cache_clear()
    assert host().value == digest
    host.cache_clear()
    assert re.fullmatch("[0-9a-f]{16}", digest)
    assert digest not in identity.read_text()
    assert socket.gethostname() not in digest


def test_the_sources_are_the_emulators_files_that_take_part(tmp_path: Path) -> None:
    work = job(tmp_path, "")
    found = sources(work.spec, work.target, tmp_path)
    for name in ("__main__", "gemm", "numerics", "case"):
        path = PACKAGE / "emulator" / f"{name}.py"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert found[f"registry_tool/emulator/{name}.py"] == digest
    assert "registry_tool/emulator/attention.py" not in found
    assert list(found) == sorted(found)


def test_a_registrys_own_emulator_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "softmax.py").write_text("def run(case): ...\n")
    work = job(tmp_path, "")
    found = sources(replace(work.spec, emulator="softmax.py:run"), work.target, tmp_path)
    assert "kernels/softmax.py" in found
    assert "registry_tool/emulator/__main__.py" in found
    assert "registry_tool/emulator/gemm.py" not in found


def test_hardware_names_no_sources_of_the_emulator(tmp_path: Path) -> None:
    work = job(tmp_path, "", "hardware")
    assert sources(work.spec, work.target, tmp_path) == {}


def test_hardware_is_surrounded_by_what_a_survey_found(tmp_path: Path) -> None:
    put(tmp_path / "host", SINCE_2_18)
    put(tmp_path / "platform", PLATFORM.format(word="Power Mode", mode="Turbo"))
    environ = script(
        tmp_path / "bin",
        f"echo x >> {tmp_path}/calls\n"
        f'case "$*" in *platform*) cat {tmp_path}/platform;; *) cat {tmp_path}/host;; esac',
    )
    accelerator(tmp_path, 0, vbnv="RyzenAI-npu4", fw_version="1.1.0.60")
    profile = put(tmp_path / "firmware/acpi/platform_profile", "balanced\n")
    program(tmp_path / "peano/bin/clang++", "echo 'clang version 22.0.0git'")
    npu2 = target(tmp_path, "hardware")
    around = survey(npu2, environ, Place(str(tmp_path), str(tmp_path / "peano")), tmp_path)
    calls = (tmp_path / "calls").read_text()
    found = gather(npu2, parse(b""), around)
    assert found.device.value == "RyzenAI-npu4"
    assert found.firmware.value == "1.1.0.60"
    assert found.power_mode.value == "Turbo"
    assert found.driver.value == "2.21.0_20251112, e56379dd"
    assert found.toolchain["xrt"].value == "2.21.0"
    assert found.toolchain["peano"].value == "clang 22.0.0git"
    assert "git" in (found.toolchain["mlir-air"].reason or "")
    # What changes between two runs is read again; no program is asked again.
    profile.write_text("performance\n")
    assert found.platform_profile.value == "balanced"
    assert gather(npu2, parse(b""), around).platform_profile.value == "performance"
    assert (tmp_path / "calls").read_text() == calls


def test_the_device_is_the_one_that_the_harness_names(tmp_path: Path) -> None:
    accelerator(tmp_path, 0, vbnv="RyzenAI-npu4")
    npu2, environ = target(tmp_path, "hardware"), {"PATH": os.environ["PATH"]}
    around = survey(npu2, environ, None, tmp_path)
    assert gather(npu2, parse(LOG), around).device.value == "npu2"
    assert gather(npu2, parse(b""), around).device.value == "RyzenAI-npu4"
    assert around.toolchain["mlir-air"].reason == "harness_root is not set"


def test_an_emulated_survey_asks_no_program(tmp_path: Path) -> None:
    environ = script(tmp_path / "bin", f"touch {tmp_path}/asked")
    around = survey(target(tmp_path), environ, None)
    assert gather(target(tmp_path), parse(EMULATED), around) == gather(
        target(tmp_path), parse(EMULATED)
    )
    assert not (tmp_path / "asked").exists()


def test_the_sources_of_hardware_are_those_of_its_harness(tmp_path: Path) -> None:
    work = job(tmp_path, "", "hardware")
    npu2 = replace(work.target, harness_root=str(tmp_path))
    makefile = put(tmp_path / "matrix_multiplication/bf16_in_bf16_out/Makefile", "run:\n")
    put(tmp_path / "matrix_multiplication/bf16_in_bf16_out/build_peano/mm.o", "object")
    assert sources(work.spec, npu2, tmp_path, "npu2") == {
        "matrix_multiplication/bf16_in_bf16_out/Makefile": hashlib.sha256(
            makefile.read_bytes()
        ).hexdigest()
    }
    assert sources(work.spec, npu2, tmp_path, "npu3") == {}
