"""The commands of the hardware harnesses: exact text, and what can never stand in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.commands import common
from registry_tool.errors import InputError, ToolError, UsageError
from registry_tool.records import catalog, kernel
from registry_tool.records.record import Record
from registry_tool.records.spec import Canary, Harness, HarnessRun, KernelSpec, LockSpec, Target
from registry_tool.verifier import hardware
from registry_tool.verifier.commands import shell_text
from registry_tool.verifier.job import Commands, Step
from tests.kernels import upstream
from tests.records.examples import RECORD
from tests.shared_data import shared

GOLDEN = Path(__file__).with_name("golden") / "commands.txt"
PLACE = hardware.Place(root="/srv/examples", peano="/opt/llvm-aie")
TARGET = "npu2"


@dataclass(frozen=True)
class Golden:
    """One configuration and the lines that its commands should read."""

    kernel: str
    variant: str | None
    shape: dict[str, int]
    tile: dict[str, int]
    herd: tuple[int, ...]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kernel}-{self.variant or self.shape.get('causal', '')}"

    @property
    def commands(self) -> Commands:
        """What the tool makes of it."""
        spec = catalog.built_in()[self.kernel]
        return hardware.commands(
            spec, TARGET, PLACE, self.shape, self.variant, self.tile, self.herd
        )


def _golden() -> Iterator[Golden]:
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            name, variant, shape, tile, herd = lines[0].split()
            yield Golden(
                name,
                None if variant == "-" else variant,
                _pairs(shape),
                _pairs(tile),
                tuple(int(extent) for extent in herd.split("x")),
                tuple(lines[1:]),
            )


def _pairs(text: str) -> dict[str, int]:
    if text == "-":
        return {}
    return {name: int(size) for name, _, size in (pair.partition("=") for pair in text.split(","))}


CASES = list(_golden())
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def _steps(commands: Commands) -> dict[str, Step]:
    found = {
        "compile": commands.compile,
        "correctness": commands.correctness,
        "timing": commands.timing,
    }
    return {name: step for name, step in found.items() if step is not None}


@every_case
def test_the_commands_read_as_written_down(case: Golden) -> None:
    commands = case.commands
    lines = [f"build: {folder}" for folder in commands.build]
    lines += [
        f"{name}: cd {shlex.quote(str(step.cwd))} && {shell_text(step.command)}"
        for name, step in _steps(commands).items()
    ]
    assert lines == list(case.lines)


def test_every_kernel_and_variant_with_and_without_a_mask_is_written_down() -> None:
    wanted = {
        (spec.kernel, variant, causal)
        for spec in catalog.built_in().values()
        for variant in (*spec.variants,) or (None,)
        for causal in ((0, 1) if "causal" in spec.dims else (None,))
    }
    assert wanted == {(case.kernel, case.variant, case.shape.get("causal")) for case in CASES}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.kernel in upstream.KERNELS], ids=str
)
def test_a_golden_configuration_is_one_that_upstream_recorded(case: Golden) -> None:
    rows = upstream.rows(case.kernel, shared("upstream_registry"))
    assert any(
        row.works
        and (row.shape, row.variant, row.tile, row.herd)
        == (case.shape, case.variant, case.tile, case.herd)
        for row in rows
    )


@every_case
def test_a_verdict_keeps_no_path_of_this_machine(case: Golden) -> None:
    for step in _steps(case.commands).values():
        assert PLACE.peano in " ".join(step.command)
        assert PLACE.peano not in " ".join(step.recorded)
        assert [word.replace(PLACE.peano, "$PEANO_INSTALL_DIR") for word in step.command] == list(
            step.recorded
        )


@every_case
def test_a_path_that_is_not_set_is_left_to_the_shell(case: Golden) -> None:
    spec = catalog.built_in()[case.kernel]
    target = Target(kind="hardware", lock=LockSpec(path="/tmp/lock"))
    place = hardware.presumed_place(target, {})
    made = hardware.commands(spec, TARGET, place, case.shape, case.variant, case.tile, case.herd)
    for step in _steps(made).values():
        assert '"PEANO_INSTALL_DIR=$PEANO_INSTALL_DIR"' in shell_text(step.command)
        assert str(step.cwd).startswith("$HARNESS_ROOT/")


@every_case
def test_only_what_needs_no_device_is_run_without_the_lock(case: Golden) -> None:
    compile_only = case.commands.compile
    if compile_only is not None:
        text = shell_text(compile_only.command)
        assert "compile-only" in text or " compile " in text
        assert not re.search(r"(--perf-iters|PERF_ITERS=|ITERATIONS=) ?[1-9]", text)


# --- nothing but checked integers and names of the spec ------------------------------------------

_HOSTILE = ["$(touch x)", "2048 all", "a#b", "x\ny", "$$", "`id`", "1;2", "{peano}", "-f", ""]
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./+@:,=~ -]*")
sizes = st.integers(min_value=1, max_value=2**31 - 1)


@given(data=st.data())
def test_a_command_holds_words_of_its_template_integers_and_names_only(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    spec = catalog.built_in()[case.kernel]
    variant = data.draw(st.sampled_from(sorted(spec.variants))) if spec.variants else None
    shape = {dim: data.draw(sizes) for dim in spec.dims}
    if "causal" in shape:
        shape["causal"] = data.draw(st.sampled_from([0, 1]))
    tile = {knob: data.draw(sizes) for knob in spec.tile}
    herd = tuple(data.draw(sizes) for _ in spec.herd)
    commands = hardware.commands(spec, TARGET, PLACE, shape, variant, tile, herd)
    harness = spec.harness[TARGET]
    runs = {
        "compile": harness.compile,
        "correctness": harness.correctness,
        "timing": harness.timing,
    }
    numbers = {*map(str, (*shape.values(), *tile.values(), *herd))}
    names = {*spec.variants, "true", "false", "auto", "--causal", "", PLACE.peano}
    for name, step in _steps(commands).items():
        run = runs[name]
        assert run is not None
        assert len(step.command) == len(run.command)
        for word, template in zip(step.command, run.command, strict=True):
            assert _PLAIN_WORD.fullmatch(word)
            assert shlex.split(shlex.quote(word)) == [word]
            # A flag that is empty for a row leaves no space behind.
            fixed = [
                re.escape(part).replace(r"\ ", " ?")
                for part in re.split(r"\{[a-zA-Z_0-9]+\}", template)
            ]
            filled = re.fullmatch("([^ ]*?)".join(fixed), word)
            assert filled is not None
            assert set(filled.groups()) <= numbers | names


@pytest.mark.parametrize("value", _HOSTILE)
def test_a_size_that_is_no_integer_gets_no_further_than_where_it_is_read(value: str) -> None:
    """Typed on the command line, written in a record, or in a registry's own spec."""
    spec = catalog.built_in()["GEMV_bf16"]
    with pytest.raises(ToolError):
        common.parse_shape(spec, [f"M={value}", "K=64"])
    with pytest.raises(ToolError):
        common.parse_shape(spec, [f"M=64,K={value}"])
    for fields in (
        {"shape": {"M": value}, "tile": {}, "herd": [8]},
        {"shape": {"M": 64}, "tile": {"tile_m": value}, "herd": [8]},
        {"shape": {"M": 64}, "tile": {}, "herd": [value]},
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"variant": None, **fields}, Canary)
    for part in ("shape", "tile", "herd"):
        record = msgspec.to_builtins(RECORD)
        record[part] = [value] if part == "herd" else dict.fromkeys(record[part], value)
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(record, Record)


@pytest.mark.parametrize("value", [value for value in _HOSTILE if value])
def test_a_name_of_a_spec_is_a_plain_word(value: str) -> None:
    spec = msgspec.to_builtins(catalog.built_in()["GEMM_bf16_in_fp32_out"])
    spec["preference"] = [{"when": None, "order": [value]}]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(spec, KernelSpec)


@pytest.mark.parametrize("case", [case for case in CASES if case.variant], ids=str)
def test_a_variant_that_the_spec_does_not_name_never_reaches_a_command(case: Golden) -> None:
    spec = catalog.built_in()[case.kernel]
    for variant in (*_HOSTILE, "fused"):
        with pytest.raises(ToolError, match="has no variant"):
            hardware.commands(spec, TARGET, PLACE, case.shape, variant, case.tile, case.herd)


@pytest.mark.parametrize("size", ["1; rm -rf /", "$(id)", True, -1, 1.0, None])
def test_what_is_no_size_never_reaches_a_command(size: object) -> None:
    case = CASES[0]
    shape = {**case.shape, next(iter(case.shape)): size}
    with pytest.raises(InputError, match="is no size"):
        hardware.commands(
            catalog.built_in()[case.kernel],
            TARGET,
            PLACE,
            shape,  # type: ignore[arg-type]
            case.variant,
            case.tile,
            case.herd,
        )


# --- paths ---------------------------------------------------------------------------------------

_BAD_PATHS = ["/opt/a$b", "/opt/a b", "/opt/a#b", "/opt/a\nb", "/opt/a%b", "/opt/a;b", "opt/a", ""]


@pytest.mark.parametrize("path", _BAD_PATHS)
def test_a_path_that_make_would_read_more_in_is_refused(path: str) -> None:
    with pytest.raises(UsageError) as refused:
        hardware.check_path(path, "PEANO_INSTALL_DIR")
    assert refused.value.fix


@given(st.text())
def test_whatever_path_is_let_through_is_one_word_for_shell_and_make(path: str) -> None:
    try:
        hardware.check_path(path, "PEANO_INSTALL_DIR")
    except UsageError:
        return
    assert shlex.split(path) == [path]
    assert not set(path) & set("$#%\\'\"`*?[]{}()<>|&;! \n\t")


@pytest.mark.parametrize("name", ["$x", "a b", "a#b", "a\nb"])
def test_a_compiler_in_such_a_folder_is_refused_before_anything_runs(
    tmp_path: Path, name: str
) -> None:
    compiler = tmp_path / name / "bin" / "clang++"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\n", "utf-8")
    tree = tmp_path / "tree"
    tree.mkdir()
    target = Target(
        kind="hardware", lock=LockSpec(path=str(tmp_path / "lock")), harness_root=str(tree)
    )
    with pytest.raises(UsageError, match="plain characters"):
        hardware.find_place(TARGET, target, {"PEANO_INSTALL_DIR": str(tmp_path / name)})


def test_a_compiler_in_a_plain_folder_is_found(tmp_path: Path) -> None:
    compiler = tmp_path / "llvm-aie" / "bin" / "clang++"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\n", "utf-8")
    target = Target(
        kind="hardware", lock=LockSpec(path=str(tmp_path / "lock")), harness_root=str(tmp_path)
    )
    environ = {"PEANO_INSTALL_DIR": str(tmp_path / "llvm-aie")}
    place = hardware.find_place(TARGET, target, environ)
    assert place == hardware.Place(str(tmp_path.resolve()), str(tmp_path / "llvm-aie"))
    with pytest.raises(UsageError, match="is not set"):
        hardware.find_place(TARGET, target, {})
    with pytest.raises(UsageError, match="is no folder"):
        hardware.find_place(TARGET, target, {"PEANO_INSTALL_DIR": str(tmp_path / "gone")})


# --- templates -----------------------------------------------------------------------------------


def _with_harness(run: HarnessRun, **fields: object) -> KernelSpec:
    spec = catalog.built_in()["RoPE_bf16"]
    harness = msgspec.structs.replace(Harness(correctness=run, timing=None), **fields)
    return msgspec.structs.replace(spec, harness={TARGET: harness})


def _commands(spec: KernelSpec) -> Commands:
    shape = {"rows": 8, "head_dim": 64}
    return hardware.commands(spec, TARGET, PLACE, shape, None, {}, (8, 1))


@pytest.mark.parametrize(
    "template",
    [
        "X={nothing}", "X={rows", "X=rows}", "X={}", "X={0}", "X={rows!z}", "X={rows.real}",
        "X={rows[0]}", "X={rows:>9}", "X={{rows}}",
    ],
)  # fmt: skip
def test_a_template_that_names_something_else_is_an_error_of_the_spec(template: str) -> None:
    spec = _with_harness(HarnessRun(folder="rope_halfsplit", command=["make", template]))
    with pytest.raises(InputError) as refused:
        _commands(spec)
    assert "RoPE_bf16" in str(refused.value)
    assert "{rows}" in str(refused.value.fix)


@pytest.mark.parametrize("folder", ["/etc", "..", "a/../../b", "{rows}/..", "."])
def test_a_folder_outside_the_harness_tree_is_refused(folder: str) -> None:
    plain = HarnessRun(folder="rope_halfsplit", command=["make"])
    with pytest.raises(InputError):
        _commands(_with_harness(HarnessRun(folder=folder, command=["make"])))
    if "{" not in folder:
        with pytest.raises(InputError):
            _commands(_with_harness(plain, build=[folder]))


def test_a_kernel_without_a_harness_says_what_to_add() -> None:
    spec = msgspec.structs.replace(catalog.built_in()["RoPE_bf16"], harness={})
    with pytest.raises(ToolError) as refused:
        _commands(spec)
    assert "kernels/RoPE_bf16.yaml" in str(refused.value.fix)


# --- canaries ------------------------------------------------------------------------------------

_CANARIES = [
    spec
    for spec in catalog.built_in().values()
    if TARGET in spec.harness and spec.harness[TARGET].canary is not None
]


@pytest.mark.parametrize("spec", _CANARIES, ids=lambda spec: spec.kernel)
def test_a_canary_is_a_recorded_row_and_breaks_no_constraint(spec: KernelSpec) -> None:
    canary = spec.harness[TARGET].canary
    assert canary is not None
    assert not kernel.violations(spec, canary.shape, canary.variant, canary.tile, canary.herd)
    assert any(
        row.works
        and row.mean_rel_L1 is not None
        and (row.shape, row.variant, row.tile, row.herd)
        == (canary.shape, canary.variant, canary.tile, tuple(canary.herd))
        for row in upstream.rows(spec.kernel, shared("upstream_registry"))
    )


def test_there_is_a_canary_before_any_row_is_verified() -> None:
    assert len(_CANARIES) >= 2
