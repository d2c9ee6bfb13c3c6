"""What doctor says of one kernel's harness, with real make and real scripts."""

from __future__ import annotations

import pytest

from tests.doctor.world import COMMAND, KERNEL, MAKEFILE, SCRIPT, World


def test_a_harness_that_takes_all_it_is_passed_is_ok(world: World) -> None:
    topic = [one for one in world.checks() if one["topic"].startswith("npu2: GELU")]
    assert {one["name"]: one["status"] for one in topic} == {
        "folder": "ok",
        "make run": "ok",
        "unit.py (correctness)": "ok",
        "build folder": "ok",
    }
    assert "6 variables" in topic[1]["message"]
    assert "its own help" in topic[2]["message"]


def test_nothing_is_compiled_and_nothing_is_written(world: World) -> None:
    before = sorted(world.folder.rglob("*"))
    world.checks()
    after = [one for one in sorted(world.folder.rglob("*")) if ".cache" not in str(one)]
    assert after == before


def test_a_folder_that_was_renamed_is_named_with_its_neighbour(world: World) -> None:
    world.unit.rename(world.tree / "smooth" / "units")
    found = world.kernel("folder")
    assert found.status == "problem"
    assert "smooth/unit is not in the harness tree; near: units" in found.message
    (world.tree / "smooth" / "unit").symlink_to("units")
    assert world.kernel("folder").status == "ok"


def test_a_gone_make_target_is_named_with_its_neighbour(world: World) -> None:
    world.write(MAKEFILE.replace("run: object", "runs: object"))
    found = world.kernel("make run")
    assert found.status == "problem"
    assert "no target run; near: runs" in found.message
    assert found.fix.startswith("make -C ")


def test_a_missing_makefile_is_said(world: World) -> None:
    (world.unit / "Makefile").unlink()
    assert "there is no Makefile in" in world.kernel("make run").message


def test_a_makefile_that_refuses_says_why(world: World) -> None:
    world.write(MAKEFILE + "$(error set up the tools first)\n")
    assert "set up the tools first" in world.kernel("make run").message


def test_a_file_named_like_the_target_keeps_make_from_running(world: World) -> None:
    world.write(MAKEFILE.replace("run: object", "run:"))
    (world.unit / "run").touch()
    assert "a file of that name is there" in world.kernel("make run").message


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("--n $(N)", "--n 64", "prints, but does not use N"),  # it stays in an echo
        ("$(TILE)", "$(TILE_L2)", "no longer reads TILE (near TILE: TILE_L2)"),
        ("ROUNDS", "ITERATIONS", "no longer reads ROUNDS"),
        ("$(MORE)", "", "no longer reads MORE"),
        ("$(MODE)", "$(KIND)", "no longer reads MODE"),
    ],
)
def test_each_variable_that_is_no_longer_read_is_named(
    world: World, old: str, new: str, gone: str
) -> None:
    world.write(MAKEFILE.replace(old, new))
    found = world.kernel("make run")
    assert found.status == "problem"
    assert gone in found.message
    assert found.fix.startswith("grep ")


def test_a_number_whose_value_is_ignored_is_not_read(world: World) -> None:
    text = MAKEFILE.replace("--n $(N)", "$(if $(N),--exact)").replace('$(N)"', '"')
    world.write("ifdef N\n  GIVEN = --exact\nendif\n" + text.replace("--exact)", "$(GIVEN))"))
    assert "only whether it is set, not its value: N" in world.kernel("make run").message


def test_a_variable_is_read_under_a_condition(world: World) -> None:
    condition = "\nifdef ROUNDS\n  MODE_FLAG += --rounds 3\nendif\n"
    text = MAKEFILE.replace("\nobject:", f"{condition}\nobject:").replace("--rounds $(ROUNDS)", "")
    world.write(text)  # a fixed value of the spec: whether it is set is enough
    assert world.kernel("make run").status == "ok"


def test_what_an_earlier_run_built_hides_nothing(world: World) -> None:
    rule = "$(OUT)/unit.o: unit.cc\n\techo -DHALF=$(HALF) && clang++ -DHALF=$(HALF)\n"
    text = MAKEFILE.replace("run: object", f"{rule}\nrun: $(OUT)/unit.o")
    world.write(text)
    (world.unit / "unit.cc").touch()
    (world.unit / "build_peano").mkdir()
    (world.unit / "build_peano" / "unit.o").touch()
    assert world.kernel("make run").status == "ok"


def test_a_variable_that_the_script_reads_from_the_environment_counts(world: World) -> None:
    world.write(
        script=SCRIPT.replace("import argparse", "import argparse, os\nos.environ.get('KEY')")
    )
    world.spec((*COMMAND, "KEY=fast"))
    assert world.kernel("make run").status == "ok"
    world.write()
    assert "KEY" in world.kernel("make run").message


def test_a_makefile_that_prints_something_else_each_time_is_not_trusted(world: World) -> None:
    noise = "\t@echo run $(shell date +%N) $(shell head -c 8 /dev/urandom | od -An -tx1)\n"
    world.write(MAKEFILE.replace("\t@if", f"{noise}\t@if").replace("$(MODE)", "$(KIND)"))
    found = world.kernel("make run")
    assert found.status == "warning"
    assert "MODE" in found.message


def test_a_renamed_flag_is_named_with_near_ones(world: World) -> None:
    world.spec((*COMMAND[:-2], "MORE=--herd-x {herd_x}", COMMAND[-1]))
    found = world.kernel("unit.py")
    assert found.status == "problem"
    assert "no longer takes --herd-x (near: --herd-shape)" in found.message
    assert "its own help" in found.message
    assert "kernels/GELU_bf16.yaml" in found.fix


def test_a_flag_that_the_makefile_itself_passes_is_a_matter_of_the_tree(world: World) -> None:
    world.write(MAKEFILE.replace("--rounds", "--perf-iters"))
    found = world.kernel("unit.py")
    assert "--perf-iters" in found.message
    assert "one commit" in found.fix


def test_a_script_that_cannot_import_is_read_and_that_is_said(world: World) -> None:
    world.write(script=f"import air_of_the_device\n{SCRIPT}")
    found = world.kernel("unit.py")
    assert found.status == "ok"
    assert "read, not run" in found.message
    assert "No module named 'air_of_the_device'" in found.message


def test_a_gone_flag_is_also_found_by_reading(world: World) -> None:
    text = SCRIPT.replace('"--exact"', '"--exactly"')
    text = text.replace("description", "allow_abbrev=False, description")
    world.write(script=f"import air_of_the_device\n{text}")
    found = world.kernel("unit.py")
    assert found.status == "problem"
    assert "no longer takes --exact (near: --exactly)" in found.message


@pytest.mark.parametrize("imports", ["", "import air_of_the_device\n"])
def test_a_flag_that_is_only_the_beginning_of_another_is_a_problem(
    world: World, imports: str
) -> None:
    world.write(script=imports + SCRIPT.replace('"--n"', '"--n-heads"'))
    found = world.kernel("unit.py")
    assert found.status == "problem"
    assert "--n for --n-heads" in found.message
    assert world.run("--kernel", KERNEL).returncode == 1


def test_flags_from_a_function_that_cannot_be_read_are_not_called_gone(world: World) -> None:
    text = SCRIPT.replace("argparse.ArgumentParser(", "make_parser(").replace(
        "import argparse", "from air_of_the_device import make_parser"
    )
    world.write(script=text.replace('    parser.add_argument("--n", type=int, default=64)\n', ""))
    found = world.kernel("unit.py")
    assert found.status == "warning"
    assert "could not be shown to take --n" in found.message
    assert "make_parser" in found.message


def test_flags_from_a_module_of_the_tree_are_read(world: World) -> None:
    (world.tree / "shared.py").write_text(
        "import air_of_the_device\nimport argparse\n"
        "def _more(parser):\n    parser.add_argument('--n', type=int)\n"
        "def make_parser(description):\n"
        "    parser = argparse.ArgumentParser()\n    _more(parser)\n    return parser\n"
        "def unrelated(parser):\n    parser.add_argument('--exact')\n"
    )
    text = SCRIPT.replace("argparse.ArgumentParser(", "make_parser(").replace(
        "import argparse", "from shared import make_parser"
    )
    text = text.replace('    parser.add_argument("--n", type=int, default=64)\n', "")
    world.write(script=text)
    assert world.kernel("unit.py").status == "ok"
    world.write(
        script=text.replace('    parser.add_argument("--exact", action="store_true")\n', "")
    )
    assert "no longer takes --exact" in world.kernel("unit.py").message


def test_a_value_that_the_script_refuses_is_a_problem(world: World) -> None:
    world.spec((*COMMAND[:-2], "MORE=--arch aie3", COMMAND[-1]))
    found = world.kernel("unit.py")
    assert found.status == "problem"
    assert "--arch aie3 (it takes aie2, aie2p)" in found.message


def test_a_flag_that_the_script_insists_on_is_a_problem(world: World) -> None:
    world.write(script=SCRIPT.replace('"--arch", ', '"--arch", required=True, '))
    assert "insists on --arch" in world.kernel("unit.py").message


def test_a_script_that_compiles_on_import_is_stopped_and_read(world: World) -> None:
    mark = world.folder / "was-compiled"
    start = f"import subprocess\nsubprocess.run(['touch', {str(mark)!r}], check=True)\n"
    world.write(script=start + SCRIPT)
    found = world.kernel("unit.py")
    assert found.status == "ok"
    assert "read, not run" in found.message
    assert not mark.exists()


def test_a_script_without_argparse_is_not_started(world: World) -> None:
    mark = world.folder / "was-run"
    world.write(script=f"import sys\nopen({str(mark)!r}, 'w')\nprint(sys.argv)\n")
    found = [one for one in world.looked_at() if one.name.startswith("unit.py")]
    assert {one.status for one in found} == {"warning"}
    assert "was not started" in found[0].message
    assert not mark.exists()


def test_a_gone_script_is_named_with_its_neighbour(world: World) -> None:
    (world.unit / "unit.py").rename(world.unit / "unit_2.py")
    found = world.kernel("unit.py")
    assert found.status == "problem"
    assert "near: unit_2.py" in found.message


def test_a_script_with_a_syntax_error_is_a_problem(world: World) -> None:
    world.write(script="def (:\n")
    assert "cannot be read" in world.kernel("unit.py").message


def test_a_script_that_the_spec_starts_itself_is_checked(world: World) -> None:
    direct = ("env", "PEANO_INSTALL_DIR={peano}", "python3", "../unit.py", "--n", "{N}", "--M", "1")
    world.spec(direct, f"{world.unit.relative_to(world.tree)}/build_peano")
    found = world.kernel("unit.py")
    assert found.status == "problem"
    assert "--M" in found.message


def test_a_build_folder_that_is_not_made_anew_is_a_problem(world: World) -> None:
    world.write(MAKEFILE.replace("build_peano", "build_new"))
    found = world.kernel("build folder")
    assert found.status == "problem"
    assert "build_new" in found.message
