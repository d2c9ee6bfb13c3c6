"""The tuned-configuration form: which rows, which keys, which names, and who can read it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from registry_tool.export import tuned
from registry_tool.export.model import ExportError, Source
from registry_tool.records import catalog
from registry_tool.records.record import Record
from tests.tables import samples

SPECS = catalog.built_in()
GEMM = SPECS["GEMM_bf16_in_bf16_out"]


def source(records: list[Record], kind: str = "hardware", *, backed: bool = True) -> Source:
    by_id = samples.by_id(records)
    rows = frozenset(by_id) if backed else frozenset()
    return Source(by_id, rows, {GEMM.kernel: GEMM}, {"npu2": kind, "npu2-emu": kind})


def gemm(m: int, variant: str, speed: float, **changes: object) -> Record:
    return replace(samples.record(GEMM, (m, 1024, 512), variant, speed), **changes)


def by_name(found: Source) -> dict[str, dict[int, dict[str, object]]]:
    return {file.path: tuned.load_tuned(file.data) for file in tuned.files(found)}


def test_the_fastest_method_of_a_shape_is_its_entry_by_m() -> None:
    found = by_name(
        source(
            [
                gemm(2048, "drain", 5000.0),
                gemm(2048, "fused-cast", 6000.0, herd=[4, 4], tiles_in_flight=16),
                gemm(512, "drain", 900.0),
                gemm(2048, "direct", 9000.0),
            ]
        )
    )
    high = f"{GEMM.kernel}/N=512,K=1024,device_name=npu2,dtype=bf16.json"
    low = f"{GEMM.kernel}/N=512,K=1024,device_name=npu2,dtype=bf16,precision=low.json"
    assert list(found) == [low, high] or list(found) == [high, low]
    assert list(found[high]) == [512, 2048]
    entry = found[high][2048]
    tile = gemm(2048, "drain", 1.0).tile
    assert entry["variant"] == "fused-cast"
    assert entry["BLOCK_SIZE_M"] == tile["tile_m"]
    assert entry["BLOCK_SIZE_N"] == tile["tile_n"]
    assert entry["BLOCK_SIZE_K"] == tile["tile_k_l1"]
    assert (entry["herd_m"], entry["herd_n"]) == (4, 4)
    # What these kernels do not have is not made up.
    assert not {"GROUP_SIZE_M", "num_warps", "num_stages", "emulated"} & entry.keys()
    assert found[low][2048]["variant"] == "direct"


def test_only_rows_with_a_passing_verdict_of_their_own_are_tuned() -> None:
    link = samples.record(GEMM, (1, 1, 1), "drain").verdict
    bad = [
        gemm(64, "drain", 1.0, verdict=replace(link, status="fail")),
        gemm(128, "drain", 1.0, verdict=replace(link, status="unverified", kind="imported")),
        gemm(256, "drain", 1.0, verdict=replace(link, kind="diagnosis")),
        gemm(512, "drain", 1.0, provenance={"performance": "inherited from 64×1024×512"}),
    ]
    # A verdict that is not there proves nothing, whatever the row says.
    found = Source(
        samples.by_id([*bad, gemm(1024, "drain", 1.0)]),
        frozenset(samples.by_id(bad[2:])),
        {GEMM.kernel: GEMM},
        {"npu2": "hardware"},
    )
    assert tuned.files(found) == []
    (entries,) = by_name(source([bad[2], gemm(2048, "drain", 1.0)])).values()
    assert list(entries) == [2048]


def test_an_emulated_target_says_so_in_name_and_entries() -> None:
    records = [samples.record(GEMM, (64, 32, 16), "drain", None, target="npu2-emu")]
    ((name, entries),) = by_name(source(records, "emulated")).items()
    assert name.endswith("device_name=npu2-emu,dtype=bf16,emulated=True.json")
    assert entries[64]["emulated"] is True


@pytest.mark.parametrize("name", sorted(SPECS))
def test_kernels_without_the_tile_of_a_gemm_do_not_fit_and_it_is_said_why(name: str) -> None:
    reason = tuned.misfit(SPECS[name])
    assert (reason is None) == name.startswith("GEMM_"), reason


def test_a_kernel_without_a_k_tile_is_named_with_what_it_lacks() -> None:
    spec = replace(GEMM, tile={knob: GEMM.tile[knob] for knob in ("tile_m", "tile_n")})
    assert "BLOCK_SIZE_K" in (tuned.misfit(spec) or "")


@pytest.mark.parametrize("data", [b"[]", b'{"M": {}}', b'{"1": 2}', b"{"])
def test_what_the_libraries_cannot_read_is_refused(data: bytes) -> None:
    with pytest.raises(ExportError):
        tuned.load_tuned(data)
