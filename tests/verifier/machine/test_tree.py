from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry_tool.records import catalog
from registry_tool.records.spec import Harness, HarnessRun
from registry_tool.verifier.machine import tree
from registry_tool.verifier.machine.tree import hardware_sources, sources_of
from tests.verifier.machine.test_device import put


def harness(*folders: str, build: str = "gemv/bf16/build_peano") -> Harness:
    runs = [HarnessRun(folder=folder, command=["make"]) for folder in folders]
    return Harness(correctness=runs[0], timing=runs[-1], build=[build])


def test_every_source_file_of_the_folder_is_named_and_nothing_that_was_made(
    tmp_path: Path,
) -> None:
    wanted = ["gemv/bf16/Makefile", "gemv/bf16/mv.cc", "gemv/bf16/run.py", "gemv/bf16/sub/x.h"]
    made = [
        "gemv/bf16/build_peano/mv.o",
        "gemv/bf16/build_peano/generated.py",
        "gemv/bf16/build_chess/x.cc",
        "gemv/bf16/air_project/core.cc",
        "gemv/bf16/__pycache__/run.cpython-312.pyc",
        "gemv/bf16/.git/config",
        "gemv/bf16/.hidden",
        "gemv/bf16/run_peano.lit",
        "gemv/bf16/mv.o",
        "gemv/bf16/air.xclbin",
        "gemv/bf16/run.py~",
        "gemv/other/Makefile",
    ]
    for name in wanted + made:
        put(tmp_path / name, name)
    found = hardware_sources(harness("gemv/bf16"), tmp_path)
    assert list(found) == wanted
    assert found["gemv/bf16/mv.cc"] == hashlib.sha256(b"gemv/bf16/mv.cc").hexdigest()


def test_a_command_that_runs_in_a_build_folder_has_the_sources_around_it(tmp_path: Path) -> None:
    put(tmp_path / "norm/norm.py", "")
    put(tmp_path / "norm/build_peano/norm.o", "")
    for build in ("norm/build_peano", "elsewhere"):
        found = hardware_sources(harness("norm/build_peano", build=build), tmp_path)
        assert list(found) == ["norm/norm.py"]


def test_a_changed_byte_changes_one_digest(tmp_path: Path) -> None:
    put(tmp_path / "a/x.py", "1")
    put(tmp_path / "a/y.py", "1")
    before = sources_of(tmp_path, ["a"])
    put(tmp_path / "a/y.py", "2")
    after = sources_of(tmp_path, ["a"])
    assert [name for name in after if after[name] != before[name]] == ["a/y.py"]


def test_modules_of_the_tree_that_a_script_imports_are_sources(tmp_path: Path) -> None:
    put(
        tmp_path / "kernel/run.py",
        "import sys, numpy\nsys.path.append('..')\nfrom shared import gate\nimport common.deep.x\n"
        "if True:\n    from parts import (\n        beside,  # and\n        further as f,\n    )\n"
        "from ..up import one\n"
        "import os, \\\n    continued; x = 1\n",
    )
    wanted = [
        "kernel/run.py",
        "parts/beside.py",
        "parts/further.py",
        "up/one.py",
        "continued.py",
        "shared/__init__.py",
        "shared/gate.py",
        "shared/bounds.py",
        "common/deep/x.py",
    ]
    for name in wanted[1:]:
        put(tmp_path / name, "")
    put(tmp_path / "shared/gate.py", "from .bounds import LIMIT\nfrom ..outside import y\n")
    put(tmp_path / "shared/unused.py", "")
    put(tmp_path / "other/beside.py", "")
    assert list(sources_of(tmp_path, ["kernel"])) == sorted(wanted)


def test_paths_of_a_makefile_and_includes_of_a_kernel_are_sources(tmp_path: Path) -> None:
    put(
        tmp_path / "gemm/bf16/Makefile",
        "include ../../common.mk\n"
        "run:\n\tclang++ -I${srcdir}/../shared -c ${srcdir}/../shared/mm.cc -o build/mm.o\n"
        "\tcd build && python3 ../../tool.py ../../../../etc/passwd\n",
    )
    put(tmp_path / "common.mk", "include ../gone.mk\n")
    put(tmp_path / "gemm/shared/mm.cc", '#include "zero.h"\n#include <aie_api/aie.hpp>\n')
    put(tmp_path / "gemm/shared/zero.h", "")
    put(tmp_path / "gemm/shared/unused.h", "")
    put(tmp_path / "gemm/tool.py", "")
    assert list(sources_of(tmp_path, ["gemm/bf16"])) == [
        "common.mk",
        "gemm/bf16/Makefile",
        "gemm/shared/mm.cc",
        "gemm/shared/zero.h",
        "gemm/tool.py",
    ]


def test_what_lies_outside_of_the_tree_is_never_named(tmp_path: Path) -> None:
    put(tmp_path / "secret.py", "")
    put(tmp_path / "tree/a/run.py", "import secret\n")
    put(tmp_path / "tree/a/Makefile", "include ../../secret.py\n")
    put(tmp_path / "tree/a/k.cc", '#include "/etc/passwd"\n#include "../../secret.py"\n')
    for folder in ("a", "../secret", "/etc", "."):
        names = sources_of(tmp_path / "tree", [folder])
        assert set(names) <= {"a/Makefile", "a/k.cc", "a/run.py"}


def test_links_pipes_and_loops_do_not_matter(tmp_path: Path) -> None:
    put(tmp_path / "real/mm.cc", "body")
    put(tmp_path / "a/Makefile", "")
    (tmp_path / "a/mm.cc").symlink_to("../real/mm.cc")
    (tmp_path / "a/loop").symlink_to(".")
    (tmp_path / "a/dangling.cc").symlink_to("nowhere")
    os.mkfifo(tmp_path / "a/pipe.py")
    found = sources_of(tmp_path, ["a"])
    assert list(found) == ["a/Makefile", "a/mm.cc"]
    assert found["a/mm.cc"] == hashlib.sha256(b"body").hexdigest()


def test_it_is_bounded_in_number_size_and_depth(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    put(tmp_path.joinpath("a", *"bcdefghijkl", "deep.py"), "")
    for name, size in (("huge.py", tree.SIZE + 1), ("large.py", tree.SIZE)):
        with (folder / name).open("wb") as file:
            file.truncate(size)
    assert list(sources_of(tmp_path, ["a"])) == ["a/large.py"]
    for number in range(tree.FILES + 20):
        (folder / f"f{number:04}.py").write_bytes(b"")
    found = sources_of(tmp_path, ["a"])
    assert len(found) == tree.FILES


def test_a_folder_that_is_not_there_has_no_sources(tmp_path: Path) -> None:
    assert sources_of(tmp_path, ["absent"]) == {}
    assert sources_of(tmp_path / "absent", ["a"]) == {}


@given(st.binary(max_size=200), st.sampled_from(["x.py", "Makefile", "x.cc"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_content_is_read_without_an_error(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / "a").mkdir(exist_ok=True)
    (tmp_path / "a" / name).write_bytes(data)
    assert f"a/{name}" in sources_of(tmp_path, ["a"])


@pytest.mark.parametrize("text", ["(" * 5000, "from ..... import x", "import a.", "\0", "é = \xff"])
def test_a_script_that_does_not_parse_is_still_a_source(tmp_path: Path, text: str) -> None:
    put(tmp_path / "a/run.py", text)
    assert list(sources_of(tmp_path, ["a"])) == ["a/run.py"]


def test_the_folders_of_every_built_in_harness_are_found_quickly(tmp_path: Path) -> None:
    specs = [spec for spec in catalog.built_in().values() if "npu2" in spec.harness]
    assert specs
    for spec in specs:
        folder = spec.harness["npu2"].build[0].rpartition("/")[0]
        for number in range(20):
            put(tmp_path / folder / f"run{number}.py", f"import os, run{number + 1}\n" * 200)
        put(tmp_path / folder / "build_peano/made.py", "")
    started = time.process_time()
    for spec in specs:
        names = hardware_sources(spec.harness["npu2"], tmp_path)
        assert len(names) >= 20, spec.kernel
        assert not any("made.py" in name for name in names)
    assert (time.process_time() - started) / len(specs) < 0.5  # 10 ms where nothing else runs
