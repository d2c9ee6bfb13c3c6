from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool import registry_lookup
from registry_tool.records import canonical
from registry_tool.records.record import Record, Waiver
from registry_tool.registry_lookup import Lookup, NotVerifiedError, StaleError
from registry_tool.tables import render
from registry_tool.tables.shim import source
from tests.tables.samples import (
    ATTENTION,
    EMULATED,
    GEMM,
    HARDWARE,
    attention_records,
    by_id,
    gemm_records,
    load,
    on_disk,
    record,
    write_registry,
)

TILE = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 32, "tile_n": 128}


def registry(root: Path, records: list[Record], policy: str = HARDWARE) -> Path:
    write_registry(root, records, policy)
    for path, data in render.render(load(root), on_disk(root)).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


@pytest.fixture(scope="module")
def hardware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hardware")
    return registry(root, [*gemm_records(), *attention_records()])


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("emulated")
    return registry(root, [*gemm_records("npu2-emu"), *gemm_records()], EMULATED)


@pytest.fixture(autouse=True)
def no_registry_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(registry_lookup.ENVIRONMENT, raising=False)
    monkeypatch.delenv(registry_lookup.STRICT, raising=False)
    monkeypatch.setattr(registry_lookup, "_chosen", None)
    monkeypatch.setattr(registry_lookup, "_hits", {})


def shim(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("shim_in_test", root / "registry_lookup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_best_method_of_a_tier(hardware: Path) -> None:
    lookup = Lookup(hardware)
    assert lookup.gemm_config(2048, 8192, 2048) == {
        "method": "fused-cast",
        "tile": TILE,
        "gflops": 8898.2,
        "mean_rel_L1": 0.0094,
    }
    assert lookup.gemm_config(2048, 8192, 2048, "bf16", "low") == {
        "method": "direct",
        "tile": TILE,
        "gflops": 9592.0,
        "mean_rel_L1": 0.019,
    }


def test_a_herd_that_is_not_the_default_is_never_dropped(hardware: Path) -> None:
    assert Lookup(hardware).gemm_config(512, 512, 512) == {
        "method": "drain",
        "tile": TILE,
        "gflops": 1703.4,
        "mean_rel_L1": 0.0097,
        "herd": [4, 4],
    }


def test_one_method_whatever_its_tier(hardware: Path) -> None:
    lookup = Lookup(hardware)
    assert lookup.gemm_config_method(2048, 8192, 2048, "bf16", "drain")["gflops"] == 7234.0
    assert lookup.gemm_config_method(2048, 8192, 2048, "bf16", "direct")["method"] == "direct"
    with pytest.raises(KeyError, match=r"not verified with 'direct'.*verified are: drain, fused"):
        lookup.gemm_config_method(512, 512, 512, "bf16", "direct")


def test_emulation_measures_nothing_and_says_so(emulated: Path) -> None:
    lookup = Lookup(emulated)
    answer = lookup.gemm_config(2048, 8192, 2048)
    assert answer["gflops"] is None
    assert answer["emulated"] is True
    # The kernel's rule picks.
    assert answer["method"] == "fused-cast"
    assert lookup.gemm_config(512, 512, 512)["method"] == "drain"


def test_every_answer_is_fresh(hardware: Path) -> None:
    registry_lookup.use(hardware)
    for find in (registry_lookup.gemm_config, Lookup(hardware).gemm_config):
        for _ in range(3):
            answer = find(512, 512, 512)
            assert answer["tile"] == TILE
            assert answer["herd"] == [4, 4]
            answer["tile"]["tile_m"] = 1
            answer["herd"].append(9)
            answer["gflops"] = 0


def test_an_unknown_shape_names_the_nearest_and_falls_back_to_nothing(hardware: Path) -> None:
    with pytest.raises(KeyError) as caught:
        Lookup(hardware).gemm_config(2048, 8192, 2049)
    text = str(caught.value)
    assert "M=2048, K=8192, N=2049 is not verified on npu2" in text
    assert "nearest: 2048x8192x2048 (direct, drain, fused-cast); 512x512x512" in text
    assert (
        "registry-tool verify --target npu2 --kernel GEMM_bf16_in_bf16_out "
        "--shape M=2048,K=8192,N=2049" in text
    )


def test_a_missing_tier_says_what_there_is(hardware: Path) -> None:
    with pytest.raises(KeyError, match=r"no best method of tier 'low'.*drain .tier high."):
        Lookup(hardware).gemm_config(512, 512, 512, precision="low")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, 2, 3, "fp8"), "output_dtype must be one of bf16, f32"),
        ((1, 2, 3, "bf16", "medium"), "precision must be one of high, low"),
    ],
)
def test_what_does_not_exist_is_a_value_error(
    hardware: Path, arguments: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Lookup(hardware).gemm_config(*arguments)
    m, k, n, dtype, *tier = arguments
    with pytest.raises(ValueError, match=words):
        Lookup(hardware).gemm_config_method(m, k, n, dtype, "drain", *tier)


def test_any_kernel_of_the_registry(hardware: Path) -> None:
    lookup = Lookup(hardware)
    sizes = [512, 512, 64, 64, 2, 2, 1]
    expected = {"method": "default", "tile": {}, "gbps": 0.153, "mean_rel_L1": 0.0094}
    assert lookup.kernel_config("Attention_toy", sizes) == expected
    named = dict(zip(reversed(ATTENTION.dims), reversed(sizes), strict=True))
    assert lookup.kernel_config("Attention_toy", named) == expected
    gemm = lookup.kernel_config("GEMM_bf16_in_bf16_out", (2048, 8192, 2048))
    assert gemm == lookup.gemm_config(2048, 8192, 2048)
    low = lookup.kernel_config("GEMM_bf16_in_bf16_out", (2048, 8192, 2048), precision="low")
    assert low["method"] == "direct"
    drain = lookup.kernel_config("GEMM_bf16_in_bf16_out", (2048, 8192, 2048), "drain", "high")
    assert drain["method"] == "drain"


def test_kernels_and_dims_that_do_not_exist(hardware: Path) -> None:
    lookup = Lookup(hardware)
    with pytest.raises(KeyError, match=r"no kernel 'Nope'.*there are: Attention_toy, "):
        lookup.kernel_config("Nope", [1])
    with pytest.raises(ValueError, match="has the dims M, K, N"):
        lookup.kernel_config("GEMM_bf16_in_bf16_out", [1, 2])
    with pytest.raises(ValueError, match="has the dims M, K, N"):
        lookup.kernel_config("GEMM_bf16_in_bf16_out", {"M": 1, "K": 2, "Q": 3})
    with pytest.raises(ValueError, match="'direct' is of tier 'low', not 'high'"):
        lookup.kernel_config("GEMM_bf16_in_bf16_out", (2048, 8192, 2048), "direct", "high")


def test_each_built_in_kernel_has_its_function(hardware: Path) -> None:
    lookup = Lookup(hardware)
    cases: list[tuple[Callable[[], object], str, str]] = [
        (lambda: lookup.gemv_config(2048, 512), "GEMV_bf16", "M=2048, K=512"),
        (lambda: lookup.rms_norm_config(2048, 64), "RMSNorm_bf16", "M=2048, N=64"),
        (lambda: lookup.layer_norm_config(2, 64), "LayerNorm_bf16", "M=2, N=64"),
        (lambda: lookup.eltwise_add_config(64), "EltwiseAdd_bf16", "N=64"),
        (lambda: lookup.silu_mul_config(64), "SiLU_Mul_bf16", "N=64"),
        (lambda: lookup.gelu_config(64), "GELU_bf16", "N=64"),
        (lambda: lookup.rope_config(8, 64), "RoPE_bf16", "rows=8, head_dim=64"),
        (
            lambda: lookup.flash_attention_config(1, 2, 3, 4, 5, 6, True),
            "FlashAttention_bf16",
            "lq=1, lk=2, dk=3, dv=4, num_heads=5, num_kv_heads=6, causal=1",
        ),
        (lambda: lookup.gemm_config(1, 2, 3, "f32"), "GEMM_bf16_in_fp32_out", "M=1, K=2, N=3"),
    ]
    for call, kernel, dims in cases:
        with pytest.raises(NotVerifiedError) as caught:
            call()
        assert str(caught.value).startswith(f"{kernel} {dims} is not verified on npu2; nor is any")


def test_a_further_target(emulated: Path) -> None:
    hardware = Lookup(emulated, target="npu2")
    assert hardware.gemm_config(2048, 8192, 2048)["gflops"] == 8898.2
    first = Lookup(emulated, target="npu2-emu")
    assert first.gemm_config(2048, 8192, 2048)["emulated"] is True
    with pytest.raises(KeyError, match="no kernel 'GEMV_bf16' on npu2"):
        hardware.gemv_config(1, 2)


ASKED = [
    ("gemm_config", (2048, 8192, 2048)),
    ("gemm_config", (2048, 8192, 2048, "bf16", "low")),
    ("gemm_config", (512, 512, 512)),
    ("gemm_config", (512, 512, 513)),
    ("gemm_config_method", (2048, 8192, 2048, "bf16", "drain")),
    ("gemv_config", (1, 2)),
    ("kernel_config", ("Attention_toy", (2048, 2048, 64, 64, 32, 8, 1))),
]


def outcome(module: Any, name: str, arguments: tuple[Any, ...]) -> object:
    try:
        return getattr(module, name)(*arguments)
    except KeyError as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_the_shim_gives_the_same_answers(
    hardware: Path, name: str, arguments: tuple[Any, ...]
) -> None:
    registry_lookup.use(hardware)
    expected = outcome(registry_lookup, name, arguments)
    assert outcome(Lookup(hardware), name, arguments) == expected
    assert outcome(shim(hardware), name, arguments) == expected


def test_the_shim_is_the_module_itself_and_looks_beside_itself(
    hardware: Path, emulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (hardware / "registry_lookup.py").read_bytes() == source()
    assert source().endswith(Path(registry_lookup.__file__).read_bytes())
    monkeypatch.setenv(registry_lookup.ENVIRONMENT, str(emulated))
    monkeypatch.chdir(emulated)
    assert shim(hardware).gemm_config(512, 512, 512)["gflops"] == 1703.4


def test_the_shim_needs_only_the_standard_library_and_little_of_it(hardware: Path) -> None:
    code = (
        f"import os, sys; sys.path.insert(0, {str(hardware)!r}); before = set(sys.modules)\n"
        "import registry_lookup\n"
        "assert set(sys.modules) - before <= {'registry_lookup', '__future__'}\n"
        "print(registry_lookup.gemm_config(512, 512, 512)['method'])\n"
        "assert 'registry_tool' not in sys.modules\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "drain\n"


def test_details_without_records_are_enough(hardware: Path, tmp_path: Path) -> None:
    for path in ("registry_lookup.py", "details/GEMM_bf16_in_bf16_out.json"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes((hardware / path).read_bytes())
    assert shim(tmp_path).gemm_config(512, 512, 512)["method"] == "drain"


def test_the_registry_is_found_from_the_current_folder_upward(
    hardware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hardware / "details")
    assert registry_lookup.find_registry() == str(hardware)
    assert registry_lookup.gemm_config(512, 512, 512)["method"] == "drain"


def test_the_environment_names_the_registry(
    hardware: Path, emulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hardware)
    monkeypatch.setenv(registry_lookup.ENVIRONMENT, str(emulated))
    assert registry_lookup.gemm_config(512, 512, 512)["emulated"] is True


def test_no_registry_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="REGISTRY_TOOL_REGISTRY"):
        registry_lookup.gemm_config(1, 2, 3)


def stale_registry(tmp_path: Path) -> tuple[Path, Path, Record]:
    root = registry(tmp_path, gemm_records())
    for row, one in by_id(gemm_records()).items():
        if row.key == "2048x8192x2048+fused-cast":
            return root, root / row.record_path, one
    raise AssertionError


def test_a_json_file_that_is_out_of_date_does_not_answer(tmp_path: Path) -> None:
    root, path, one = stale_registry(tmp_path)
    for changed in (
        replace(one, mean_rel_L1=0.0095),
        replace(one, herd=[4, 4], tiles_in_flight=16),
        replace(one, tile={**one.tile, "tile_m": 32}),
        replace(one, verdict=replace(one.verdict, status="fail")),
        replace(one, performance=None),
    ):
        path.write_bytes(canonical.encode(changed))
        with pytest.raises(StaleError, match="registry-tool render"):
            Lookup(root).gemm_config(2048, 8192, 2048)
    path.write_bytes(canonical.encode(replace(one, notes=["a remark changes no answer"])))
    assert Lookup(root).gemm_config(2048, 8192, 2048)["gflops"] == 8898.2


def test_a_row_that_is_gone_or_new_is_noticed(tmp_path: Path) -> None:
    root, path, _ = stale_registry(tmp_path)
    path.unlink()
    for method in ("fused-cast", "drain"):
        with pytest.raises(StaleError):
            Lookup(root).gemm_config_method(2048, 8192, 2048, "bf16", method)
    assert Lookup(root).gemm_config(512, 512, 512)["method"] == "drain"
    new = record(GEMM, (64, 64, 64), "drain", 1.0)
    (root / next(iter(by_id([new]))).record_path).write_bytes(canonical.encode(new))
    with pytest.raises(StaleError):
        Lookup(root).gemm_config(64, 64, 64)


def test_broken_json_is_named(tmp_path: Path) -> None:
    root, _, _ = stale_registry(tmp_path)
    path = root / "details" / "GEMM_bf16_in_bf16_out.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"GEMM_bf16_in_bf16_out\.json is not JSON"):
        Lookup(root).gemm_config(2048, 8192, 2048)


def test_files_in_the_upstream_form_alone_are_read(tmp_path: Path) -> None:
    document = {
        "kernel": "GEMM",
        "output_dtype": "bf16",
        "target": "npu2",
        "herd": [8, 4],
        "shapes": [
            {
                "M": 64,
                "K": 720,
                "N": 32,
                "methods": {
                    "drain": {
                        "tile": TILE,
                        "gflops": 37,
                        "mean_rel_L1": 0.00901,
                        "tier": "high",
                        "herd": [4, 1],
                    }
                },
                "best": {"high": "drain"},
            },
            {
                "M": 64,
                "K": 720,
                "N": 64,
                "methods": {
                    "direct": {"tile": TILE, "gflops": 3, "mean_rel_L1": 0.01, "tier": "low"}
                },
            },
        ],
    }
    (tmp_path / "details").mkdir()
    (tmp_path / "details" / "GEMM_bf16_in_bf16_out.json").write_text(json.dumps(document))
    lookup = Lookup(tmp_path)
    assert lookup.gemm_config(64, 720, 32)["herd"] == [4, 1]
    with pytest.raises(KeyError, match=r"no best method of tier 'high'.*direct .tier low."):
        lookup.gemm_config(64, 720, 64)


def test_a_hit_does_not_depend_on_the_number_of_shapes(tmp_path: Path) -> None:
    def best_us(shapes: int) -> float:
        entries = [
            {
                "M": 1,
                "K": 1,
                "N": n,
                "methods": {"drain": {"tile": TILE, "gflops": 1.0, "mean_rel_L1": 0.01}},
                "best": {"high": "drain"},
            }
            for n in range(shapes)
        ]
        folder = tmp_path / str(shapes) / "details"
        folder.mkdir(parents=True)
        (folder / "GEMM_bf16_in_bf16_out.json").write_text(json.dumps({"shapes": entries}))
        registry_lookup.use(folder.parent)
        find = registry_lookup.gemm_config
        times = timeit.repeat(lambda: find(1, 1, shapes // 2), number=500, repeat=40)
        return min(times)

    assert best_us(5000) < 4 * best_us(10)


@pytest.mark.parametrize("size", [-1, "256", None, 2.5])
def test_a_size_that_is_no_whole_number_is_a_value_error(hardware: Path, size: object) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        Lookup(hardware).gemm_config(size, 256, 256)  # type: ignore[arg-type]


def test_a_method_that_the_kernel_does_not_have_is_a_value_error(hardware: Path) -> None:
    with pytest.raises(ValueError, match="not 'zz'"):
        Lookup(hardware).gemm_config_method(2048, 8192, 2048, "bf16", "zz")


def imported(notes: list[str] | None = None, **changes: Any) -> Record:
    options: dict[str, Any] = {"kind": "imported", "status": "unverified", **changes}
    return record(GEMM, (64, 64, 64), "drain", 37.0, notes=notes or [], **options)


def attention_imported() -> Record:
    sizes = (64, 64, 64, 64, 2, 2, 1)
    return record(ATTENTION, sizes, None, 0.5, kind="imported", status="unverified")


def test_imported_rows_answer_with_a_mark_whatever_the_kernel(tmp_path: Path) -> None:
    root = registry(tmp_path, [*gemm_records(), imported(herd=(4, 4)), attention_imported()])
    for module in (Lookup(root), shim(root)):
        assert module.gemm_config(64, 64, 64) == {
            "method": "drain",
            "tile": TILE,
            "gflops": 37.0,
            "mean_rel_L1": 0.0094,
            "herd": [4, 4],
            "verified": False,
            "source": "imported",
        }
        toy = module.kernel_config("Attention_toy", (64, 64, 64, 64, 2, 2, 1))
        assert (toy["gbps"], toy["verified"], toy["source"]) == (0.5, False, "imported")
        assert "verified" not in module.gemm_config(512, 512, 512)
        with pytest.raises(KeyError, match="next: registry-tool verify --target npu2"):
            module.kernel_config("Attention_toy", (64, 64, 64, 64, 2, 2, 1), strict=True)
        with pytest.raises(KeyError, match=r"not verified with 'direct'.*there are: drain"):
            module.gemm_config_method(64, 64, 64, "bf16", "direct")


def test_an_imported_row_that_changed_is_as_stale_as_any_other(tmp_path: Path) -> None:
    root = registry(tmp_path, [imported(["a remark"])])
    path = root / next(iter(by_id([imported()]))).record_path
    waived = Waiver(rule="KR202", reason="x", by="A. P.", date="2026-08-01", expires="2027-01-31")
    for changed in (
        imported(["Sweep status was NUMFAIL."]),
        imported(["Inherited from 64x64x32."]),
        imported(status="fail"),
        imported(waivers=[waived]),
        imported(kind="harness", status="pass"),
        imported(kind="diagnosis", status="pass"),
        replace(imported(), provenance={"performance": "inherited from 64x64x32"}),
    ):
        path.write_bytes(canonical.encode(changed))
        with pytest.raises(StaleError, match="registry-tool render"):
            Lookup(root).gemm_config(64, 64, 64)
    path.write_bytes(canonical.encode(imported(["another remark"])))
    assert Lookup(root).gemm_config(64, 64, 64)["verified"] is False


def test_a_figure_that_is_computed_is_not_inherited(tmp_path: Path) -> None:
    said = {"performance.gflops": "the middle of 36-38 at details/x.md:3"}
    root = registry(tmp_path, [replace(imported(), provenance=said)])
    assert "caveats" not in Lookup(root).gemm_config(64, 64, 64)


def test_what_the_diagnosis_of_a_model_covers_is_not_stale_but_absent(hardware: Path) -> None:
    with pytest.raises(NotVerifiedError):
        Lookup(hardware).kernel_config("Attention_toy", (2048, 2048, 64, 64, 32, 8, 0))


def test_use_chooses_a_policy_too(tmp_path: Path) -> None:
    root = registry(tmp_path, [imported()])
    registry_lookup.use(root, strict=True)
    with pytest.raises(NotVerifiedError):
        registry_lookup.gemm_config(64, 64, 64)
    assert registry_lookup.gemm_config(64, 64, 64, strict=False)["gflops"] == 37.0
    registry_lookup.use(root)
    assert registry_lookup.gemm_config(64, 64, 64)["gflops"] == 37.0
    with pytest.raises(NotVerifiedError):
        registry_lookup.gemm_config(64, 64, 64, strict=True)


def hand_kept(root: Path, document: object, kernel: str = GEMM.kernel) -> Lookup:
    (root / "details").mkdir(exist_ok=True)
    (root / "details" / f"{kernel}.json").write_text(json.dumps(document))
    return Lookup(root)


def entry(gflops: float | None, tier: str = "high", **more: object) -> dict[str, object]:
    method = {"tile": TILE, "gflops": gflops, "mean_rel_L1": 0.01, "tier": tier, **more}
    return {"M": 1, "K": 2, "N": 3, "methods": {"drain": method}, "best": {"high": "drain"}}


def test_of_a_shape_that_stands_twice_the_first_counts(tmp_path: Path) -> None:
    lookup = hand_kept(tmp_path, {"shapes": [entry(1), entry(2)]})
    assert lookup.gemm_config(1, 2, 3)["gflops"] == 1


def test_the_herd_of_a_hand_kept_file_is_said_unless_all_assume_it(tmp_path: Path) -> None:
    def herd(head: object, **method: object) -> object:
        document = {"herd": head, "shapes": [entry(1, "high", **method)]}
        return hand_kept(tmp_path, document).gemm_config(1, 2, 3).get("herd")

    assert herd([8, 4]) is None
    assert herd([4, 4]) == [4, 4]
    assert herd([4, 4], herd=[8, 4]) == [8, 4]
    assert herd([8, 4], herd=[8, 4]) == [8, 4]


@pytest.mark.parametrize(
    ("methods", "best", "said"),
    [
        ({"drain": "high"}, {"high": "fused-cast"}, "its `best` names 'fused-cast'"),
        ({"drain": "low"}, {"high": "drain"}, "its `best` names 'drain'; measured are: drain .ti"),
        ({"drain": "high"}, {}, "drain .tier high. is there, but `best` names none"),
        ({"drain": "high"}, None, "drain .tier high. is there, but `best` names none"),
        ({}, {}, "measured are: none"),
    ],
)
def test_a_best_that_nothing_stands_behind_is_no_answer(
    tmp_path: Path, methods: dict[str, str], best: object, said: str
) -> None:
    rows = {
        name: {"tile": TILE, "gflops": 1, "mean_rel_L1": 0.01, "tier": tier}
        for name, tier in methods.items()
    }
    document = {"target": "npu2", "shapes": [{"M": 1, "K": 2, "N": 3, "methods": rows}]}
    if best is not None:
        document["shapes"][0]["best"] = best  # type: ignore[index]
    with pytest.raises(NotVerifiedError, match=f"(?s)no best method of tier 'high'.*{said}"):
        hand_kept(tmp_path, document).gemm_config(1, 2, 3)


def test_another_kernels_hand_kept_file_says_its_dims_by_its_keys(tmp_path: Path) -> None:
    method = {"tile": {"tile_m": 8}, "gbps": 3.5, "mean_rel_L1": 0.0, "herd": [8]}
    document = {"shapes": [{"M": 64, "K": 32, "methods": {"any": method}, "best": {"any": "any"}}]}
    lookup = hand_kept(tmp_path, document, "GEMV_bf16")
    answer = lookup.gemv_config(64, 32)
    assert (answer["gbps"], answer["herd"], answer["verified"]) == (3.5, [8], False)
    with pytest.raises(ValueError, match="has the dims M, K"):
        lookup.kernel_config("GEMV_bf16", (1, 2, 3))
    with pytest.raises(NotVerifiedError, match=r"not measured; nearest: 64x32 .any.\n  next: "):
        lookup.gemv_config(64, 33)


@pytest.mark.parametrize(
    "document", [[], {}, {"shapes": [3]}, {"shapes": [{"M": 1}]}, {"shapes": {"a": 1}}]
)
def test_json_of_another_form_is_named(tmp_path: Path, document: object) -> None:
    with pytest.raises(ValueError, match=r"GEMM_bf16_in_bf16_out.json is not in the form"):
        hand_kept(tmp_path, document).gemm_config(1, 2, 3)


def test_the_head_of_a_hand_kept_file_may_be_strict(tmp_path: Path) -> None:
    lookup = hand_kept(tmp_path, {"lookup": "sound", "shapes": [entry(None)]})
    with pytest.raises(NotVerifiedError, match=r"it was never timed.*strict='sound' refuses it"):
        lookup.gemm_config(1, 2, 3)
    assert lookup.gemm_config(1, 2, 3, strict="any")["caveats"] == ("untimed",)
    with pytest.raises(ValueError, match=r"strict .* got 'sond'"):
        hand_kept(tmp_path, {"lookup": "sond", "shapes": []}).gemm_config(1, 2, 3)


METHODS = ["fused-cast", "drain", "direct"]


@pytest.mark.parametrize(
    ("note", "of_drain", "of_direct"),
    [
        ("Sweep status was NUMFAIL on a few elements.", ["failing"], ["failing"]),
        ("High-precision drain trips the gate. Direct passes.", ["failing"], []),
        ("fused-cast/drain: the gate trips; direct PASSES.", ["failing"], []),
        ("The low-prec direct path reports FAIL.", [], ["failing"]),
        ("High-precision trips on one element.", ["failing"], []),
        ("No NUMFAIL here, and it never trips.", [], []),
        ("tile_k_l2=512 FAILS to compile; padding fails too.", [], []),
        (
            "Tiles inherited from 64x64x32; speed carried over from it.",
            ["inherited"],
            ["inherited"],
        ),
        ("Tiles inherited from 64x64x32; speed and accuracy measured.", [], []),
        ("Inherited tile, swept here.", [], []),
        ("Inherited from 64x64x32", ["inherited"], ["inherited"]),
        ("mean_rel_L1 is measured, throughput was extrapolated.", ["inherited"], ["inherited"]),
        ("The gate tripped; status: FAIL", ["failing"], ["failing"]),
        ("It did not pass the element-wise gate.", ["failing"], ["failing"]),
        ("tile_n=120 does not pass the compiler.", [], []),
        ("The sibling still carries the inherited tile.", [], []),
        ("drain: copied from 64x64x32", ["inherited"], []),
        ("7034†", ["inherited"], ["inherited"]),
        ("❌ 14 elements", ["failing"], ["failing"]),
        ("sweep at details/x.md:12: herd 8x2, result ❌ NUMFAIL", [], []),
        ("faster directly; PASSES at 9.8e-3 (abs_err 1.2e-3 < 1.5e-3).", [], []),
    ],
)
def test_what_a_note_says_of_a_row(note: str, of_drain: list[str], of_direct: list[str]) -> None:
    assert registry_lookup.caveats([note], "drain", "high", METHODS, 1.0, 0.01) == of_drain
    assert registry_lookup.caveats([note], "direct", "low", METHODS, 1.0, 0.01) == of_direct


@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_may_stand_in_a_note(notes: list[str]) -> None:
    found = registry_lookup.caveats(notes, "drain", "high", METHODS, 1.0, 0.01)
    assert set(found) <= {"inherited", "failing"}
    assert registry_lookup.caveats([*notes, "It is NUMFAIL"], "drain", "high", [], 1.0, 0.01)[-1:]


def test_a_method_without_a_tile_is_no_answer(tmp_path: Path) -> None:
    bare = entry(1)
    del bare["methods"]["drain"]["tile"]  # type: ignore[index]
    with pytest.raises(NotVerifiedError, match="with 'drain' has no tile"):
        hand_kept(tmp_path, {"shapes": [bare]}).gemm_config(1, 2, 3)
