"""The verb: targets, kernels, formats, exit status, and a tree that is not where it is said."""

from __future__ import annotations

import json

import pytest

from registry_tool.doctor import fallback, tree
from registry_tool.doctor.check import Check
from registry_tool.doctor.example import examples
from registry_tool.doctor.sandbox import sandbox
from registry_tool.records import catalog, kernel
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import load
from registry_tool.store.snapshot import of_worktree
from registry_tool.verifier.hardware import Place
from tests.doctor.world import KERNEL, World

TREE = "npu2: harness tree"
SPECS = list(catalog.built_in().values())


def _tree(world: World, **environ: str) -> list[Check]:
    registry = load(of_worktree(world.registry))
    specs = [registry.spec(KERNEL)]
    return list(tree.check("npu2", registry.target("npu2"), specs, environ))


def test_text_has_one_line_for_each_check(world: World) -> None:
    checks = world.checks()
    lines = world.run("--kernel", KERNEL).stdout.splitlines()
    assert len([line for line in lines if line.startswith("  ")]) == len(checks)
    assert lines[0] == "machine"
    assert " ok" in lines[-1]


def test_quiet_prints_only_what_is_not_ok(world: World) -> None:
    text = world.run("--kernel", KERNEL, "--quiet").stdout
    assert "  ok " not in text
    assert "pyxrt" in text


def test_an_emulated_target_is_refused(world: World) -> None:
    done = world.run("--target", "npu2-emu")
    assert done.returncode == 2
    assert "emulated" in done.stderr


@pytest.mark.parametrize("words", [("--target", "npu9"), ("--kernel", "Nothing")])
def test_an_unknown_name_is_refused(world: World, words: tuple[str, str]) -> None:
    done = world.run(*words)
    assert done.returncode == 2
    assert "unknown" in done.stderr


def test_without_a_registry_the_machine_is_checked_and_that_is_said(world: World) -> None:
    (world.registry / "registry.yaml").unlink()
    done = world.run("--format", "json")
    checks = json.loads(done.stdout)["checks"]
    assert {"machine", "compiler", "python", "device", "registry"} == {c["topic"] for c in checks}
    assert "registry-tool init" in checks[-1]["fix"]


def test_a_registry_without_hardware_says_so(world: World) -> None:
    path = world.registry / "registry.yaml"
    path.write_text(path.read_text().replace("kind: hardware", "kind: emulated"))
    found = json.loads(world.run("--format", "json").stdout)["checks"]
    assert "no hardware target" in found[-1]["message"]


def test_the_top_of_the_repository_is_not_the_tree(world: World) -> None:
    world.policy(root=str(world.tree.parent))
    found = _tree(world)[0]
    assert found.status == "problem"
    assert (found.fix or "").endswith(f"to {world.tree}")


def test_a_kernel_folder_is_not_the_tree(world: World) -> None:
    world.policy(root=str(world.unit))
    assert (_tree(world)[0].fix or "").endswith(f"to {world.tree}")


def test_a_tree_that_is_not_there_is_looked_for_nearby(world: World) -> None:
    world.policy(root=str(world.folder / "mlir" / "programing_examples"))
    found = _tree(world)[0]
    assert (found.status, "is not a folder" in found.message) == ("problem", True)
    assert (found.fix or "").endswith(f"to {world.tree}")


def test_a_path_with_a_space_is_one_problem_and_the_kernels_are_left_alone(world: World) -> None:
    spaced = world.folder / "a tree"
    world.tree.rename(spaced)
    world.policy(root=json.dumps(str(spaced)))
    found = world.checks()
    assert not [one for one in found if one["topic"] == f"npu2: {KERNEL}"]
    problems = [one for one in found if one["status"] == "problem"]
    assert [one["name"] for one in problems if one["topic"].startswith("npu2")] == ["harness_root"]
    assert "plain characters" in problems[-1]["message"]


def test_a_home_path_is_a_warning_with_the_path_to_type(world: World) -> None:
    world.policy(root="~/mlir/programming_examples")
    found = [one for one in world.checks(HOME=str(world.folder)) if one["topic"] == TREE]
    assert [one["status"] for one in found] == ["warning", "ok"]
    assert found[0]["fix"].endswith(f"to {world.tree}")


def test_a_home_of_nobody_is_a_problem(world: World) -> None:
    world.policy(root="~nobody-of-this-name/x")
    assert _tree(world)[0].status == "problem"


def test_a_variable_in_the_path_is_a_problem_with_the_path_to_type(world: World) -> None:
    world.policy(root="$BASE/mlir/programming_examples")
    found = _tree(world, BASE=str(world.folder))[0]
    assert (found.status, "variable" in found.message) == ("problem", True)
    assert (found.fix or "").endswith(f"to {world.tree}")


def test_a_tree_that_is_not_set_says_where_it_is_set(world: World) -> None:
    world.policy(root="null")
    assert "targets.npu2.harness_root" in (_tree(world)[0].fix or "")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kernel)
def test_every_kernel_has_a_legal_example_of_each_variant(spec: KernelSpec) -> None:
    found = examples(spec, "npu2")
    assert {one.variant for one in found} == (set(spec.variants) or {None})
    for one in found:
        broken = kernel.violations(spec, one.shape, one.variant, one.tile, one.herd)
        assert not [rule for rule in broken if rule.hard]


def test_a_diagnosis_that_starts_make_is_not_asked(world: World) -> None:
    target = load(of_worktree(world.registry)).target("npu2")
    folder, mark = world.tree / "tiny", world.folder / "mark"
    folder.mkdir()
    (folder / "Makefile").write_text(f"diagnosis:\n\ttouch {mark}; $(MAKE) prep\nprep:\n\techo\n")
    with sandbox(world.environ) as box:
        place = Place(str(world.tree), "/peano")
        (found,) = fallback.check("npu2", target, ["tiny"], place, box)
        assert (found.status, "(line 2)" in found.message) == ("warning", True)
        (folder / "Makefile").write_text(f"diagnose:\n\ttouch {mark}; $(MAKE) prep\n")
        (found,) = fallback.check("npu2", target, ["tiny"], place, box)
        assert (found.status, "no target diagnosis" in found.message) == ("problem", True)
    assert not mark.exists()


def test_the_diagnosis_covers_a_kernel_without_a_harness(world: World) -> None:
    model = {"tiny": "models/tiny-1b"}
    world.policy(more=f"    model_folders: {json.dumps(model)}\n")
    target = load(of_worktree(world.registry)).target("npu2")
    place = Place(str(world.tree), "/peano")

    def found() -> list[Check]:
        with sandbox(world.environ) as box:
            return list(fallback.check("npu2", target, ["tiny", "other"], place, box))

    (tiny, other) = found()
    assert (tiny.status, other.status) == ("problem", "problem")
    assert "targets.npu2.model_folders: {other: FOLDER}" in (other.fix or "")
    folder = world.tree / "models" / "tiny-1b"
    folder.mkdir(parents=True)
    (folder / "Makefile").write_text("diagnose:\n\techo 1\n")
    assert "no target diagnosis" in found()[0].message
    (folder / "Makefile").write_text("diagnosis:\n\techo 1\n")
    assert found()[0].status == "ok"
