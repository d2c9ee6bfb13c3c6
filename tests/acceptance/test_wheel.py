"""The wheel alone, in a clean environment and an unrelated folder, does the main job."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.world import World, environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(out),
            str(ROOT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return path


def test_schemas_specs_and_types_ship_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "registry_tool/py.typed" in names
    assert "registry_tool/kernels/compiled.json" in names
    assert (
        len(
            [
                name
                for name in names
                if name.startswith("registry_tool/kernels/") and name.endswith(".yaml")
            ]
        )
        == 11
    )
    for schema in (ROOT / "schemas").iterdir():
        assert f"registry_tool/schemas/{schema.name}" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


@pytest.mark.slow
def test_init_verify_and_check_work_from_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    clean = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(clean)], check=True)
    pip = [str(clean / "bin/python"), "-m", "pip", "install", "--quiet", str(wheel)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept = environment(tmp_path)
    kept["PATH"] = f"{clean / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    world = World(elsewhere, elsewhere, kept)
    world.ok("init", "--hooks")
    policy = elsewhere / "registry.yaml"
    policy.write_text(policy.read_text().replace("/tmp/registry", str(tmp_path / "registry")))
    world.git("add", ".")
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "64x64")
    world.ok("check", "--staged")
    done = world.commit("-m", "Verify")
    assert done.returncode == 0, done.stdout + done.stderr
    shim = world.run(
        "/usr/bin/env", "python3", "-I", "-c",
        "import importlib.util as u; s=u.spec_from_file_location('r','registry_lookup.py');"
        "m=u.module_from_spec(s); s.loader.exec_module(m); print(m.rope_config(64, 64))",
    )  # fmt: skip
    assert "'emulated': True" in shim.stdout, shim.stderr
