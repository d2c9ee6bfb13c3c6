"""The specs in force: built-in ones compiled to JSON, a registry's own laid over them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from registry_tool.errors import InputError
from registry_tool.records import catalog
from registry_tool.records.catalog import parse_policy, parse_spec
from registry_tool.records.spec import KernelSpec

ELEVENTH = """\
schema_version: 1
kernel: Softmax_bf16
title: Softmax (BF16)
summary: softmax over the rows of x[M,N]
source: a registry of its own
dims: [M, N]
shape_text: "{M}×{N}"
bound: memory
metric: gbps
tile: {}
herd:
  herd_x: {label: x, choices: [8, 4, 1]}
default_herd: [8]
tiles_target: 8
variants: {}
preference: []
constraints:
  - id: m-divides
    when: null
    holds: M % herd_x == 0
    kind: hard
    reason: whole rows
known_bad: []
tolerances:
  any: {rtol: 1.6e-2, atol: 1.0e-2}
band: []
work: {flops: null, bytes: 4 * M * N}
outputs:
  - {name: "y", elements: M * N}
order: [M, N]
columns:
  - {title: M×N, cell: shape}
emulator: softmax.py:softmax
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two of the built-in specs, in which a test may write."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("GELU_bf16.yaml", "LayerNorm_bf16.yaml"):
        shutil.copy(catalog.BUILT_IN / name, folder)
    monkeypatch.setattr(catalog, "BUILT_IN", folder)
    return folder


def _load() -> Mapping[str, KernelSpec]:
    return catalog.built_in.__wrapped__()


def test_there_are_ten_kernels_and_a_block_each_in_a_file_of_its_name() -> None:
    assert len(catalog.built_in()) == 11
    assert [name for name, spec in catalog.built_in().items() if spec.covers] == ["FFN_SwiGLU_bf16"]
    assert {path.stem for path in catalog.BUILT_IN.glob("*.yaml")} == set(catalog.built_in())


def test_the_compiled_form_holds_the_same_specs(kernels: Path) -> None:
    from_yaml = _load()
    assert (kernels / catalog.COMPILED).is_file()
    assert _load() == from_yaml
    assert from_yaml == {name: catalog.built_in()[name] for name in from_yaml}


def test_the_compiled_form_is_read_without_yaml() -> None:
    catalog.built_in()
    code = (
        "import sys; from registry_tool.records import catalog; catalog.built_in(); "
        "sys.exit(any(name.startswith('ruamel') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_changed_file_is_compiled_again(kernels: Path) -> None:
    _load()
    path = kernels / "GELU_bf16.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("title: GELU", "title: Gelu"), "utf-8")
    assert _load()["GELU_bf16"].title.startswith("Gelu")
    path.unlink()
    assert "GELU_bf16" not in _load()
    (kernels / "Softmax_bf16.yaml").write_text(ELEVENTH, "utf-8")
    assert _load()["Softmax_bf16"].tiles_target == 8


@pytest.mark.parametrize("content", [b"", b"{}", b'{"sources": {}, "specs": [{}]}', b"\xff"])
def test_a_broken_compiled_form_is_made_again(kernels: Path, content: bytes) -> None:
    wanted = _load()
    (kernels / catalog.COMPILED).write_bytes(content)
    assert _load() == wanted
    assert len((kernels / catalog.COMPILED).read_bytes()) > len(content)


def test_a_folder_that_cannot_be_written_is_read_all_the_same(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> tuple[int, str]:
        raise OSError("read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert len(_load()) == 2
    assert not (kernels / catalog.COMPILED).exists()


def test_no_half_written_file_is_left_behind(kernels: Path) -> None:
    _load()
    assert [path.name for path in kernels.iterdir() if path.suffix != ".yaml"] == ["compiled.json"]


def test_an_eleventh_kernel_needs_a_yaml_only() -> None:
    spec = parse_spec(ELEVENTH.encode(), "kernels/Softmax_bf16.yaml", catalog.built_in())
    assert spec.kernel == "Softmax_bf16"
    assert spec.harness == {}
    assert spec.lookup is None


def test_a_partial_file_changes_only_the_fields_that_it_gives() -> None:
    base = catalog.built_in()
    data = b"kernel: GEMV_bf16\ntolerances: {any: {rtol: 0.01, atol: 1.0e-3}}\ntiles_target: 4\n"
    spec = parse_spec(data, "kernels/GEMV_bf16.yaml", base)
    assert spec.tolerances["any"].rtol == 0.01
    assert spec.tiles_target == 4
    kept = msgspec.structs.replace(
        spec, tolerances=base["GEMV_bf16"].tolerances, tiles_target=base["GEMV_bf16"].tiles_target
    )
    assert kept == base["GEMV_bf16"]
    assert base["GEMV_bf16"].tiles_target == 8


def test_a_partial_file_of_an_unknown_kernel_is_not_enough() -> None:
    with pytest.raises(InputError, match=r"schema_version.* missing"):
        parse_spec(b"kernel: Softmax_bf16\ntiles_target: 4\n", "k.yaml", catalog.built_in())


def _line(text: str, wanted: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if wanted in line)


@pytest.mark.parametrize(
    ("old", "new", "found_at", "message"),
    [
        (
            "tiles_target: 8",
            "tiles_target: none",
            "tiles_target",
            "expected a whole number, found the text 'none'",
        ),
        (
            "bound: memory",
            "bound: both",
            "bound:",
            "expected compute or memory, found the text 'both'",
        ),
        ("dims: [M, N]", "dims: []", "dims:", "expected at least 1 entries"),
        ("dims: [M, N]", "dims: [M, 7]", "dims:", "dims.1: expected text, found 7"),
        (
            "    kind: hard",
            "    kind: soft",
            "    kind:",
            "expected guideline or hard, found the text 'soft'",
        ),
        (
            "    reason: whole rows",
            "    why: whole rows",
            "    why:",
            "constraints.0.why: there is no such field",
        ),
        ("title: Softmax (BF16)\n", "", "schema_version", "the field 'title' is missing"),
        ("metric: gbps", "metric: gbps\nspeed: 9", "speed:", "speed: there is no such field"),
        ("order: [M, N]", "order: [M, 1]", "order:", "expected text, found 1"),
        ("atol: 1.0e-2", "atol: -1", "  any:", "expected at least 0, found -1"),
        ("title: Softmax (BF16)", "title: 2026-01-01", "title:", "expected text, found 2026-01-01"),
        (
            "herd_x: {label: x, choices: [8, 4, 1]}",
            "herd_x: 8",
            "  herd_x:",
            "expected fields (NAME: VALUE), found 8",
        ),
    ],
)
def test_an_error_names_file_and_line(old: str, new: str, found_at: str, message: str) -> None:
    text = ELEVENTH.replace(old, new, 1)
    assert text != ELEVENTH
    with pytest.raises(InputError) as caught:
        parse_spec(text.encode(), "kernels/Softmax_bf16.yaml", {})
    assert message in caught.value.message
    assert caught.value.path == "kernels/Softmax_bf16.yaml"
    assert caught.value.line == (1 if found_at == "schema_version" else _line(text, found_at))
    assert str(caught.value).startswith(f"kernels/Softmax_bf16.yaml:{caught.value.line}: ")


@pytest.mark.parametrize(
    ("old", "new", "found_at"),
    [
        ("tiles_target: 8", "tiles_target: none", "tiles_target"),
        ("    kind: hard", "    kind: soft", "    kind:"),
        ("dims: [M, N]", "dims: [M, 7]", "dims:"),
    ],
)
def test_the_line_is_the_field_s_own_where_the_message_says_so(
    old: str, new: str, found_at: str
) -> None:
    text = ELEVENTH.replace(old, new, 1)
    with pytest.raises(InputError) as caught:
        parse_spec(text.encode(), "k.yaml", {})
    assert caught.value.line == _line(text, found_at)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"kernel: a\n\tdims: [M]\n", 2),
        (b"kernel: a\ntitle: [\n", 3),
        (b"kernel: a\nkernel: b\n", 2),
        (b"kernel: a: b\n", 1),
        (b"kernel: \xff\n", 1),
        (b"kernel: *nowhere\n", 1),
        (b"kernel: !!python/object:os.system x\n", 1),
        (b"- a\n- b\n", 1),
        (b"", 1),
        (b"just text", 1),
        (b"1: 2\nkernel: GEMV_bf16\n", 1),
        (b"kernel: GEMV_bf16\ndims: &a [*a]\n", 2),
    ],
)
def test_what_is_no_spec_is_named_with_its_line(data: bytes, line: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(data, "kernels/a.yaml", catalog.built_in())
    assert caught.value.path == "kernels/a.yaml"
    assert caught.value.line == line


def test_a_policy_is_read_with_its_defaults() -> None:
    text = b"schema_version: 1\ntargets:\n  npu2-emu: {kind: emulated, lock: {path: a/lock}}\n"
    policy = parse_policy(text, "registry.yaml")
    assert list(policy.targets) == ["npu2-emu"]
    assert policy.targets["npu2-emu"].lock.limit_s == 1800
    assert policy.signing == "off"
    with pytest.raises(
        InputError, match=r"registry.yaml:2: targets: expected at least 1 entry, found 0"
    ):
        parse_policy(b"schema_version: 1\ntargets: {}\n", "registry.yaml")
