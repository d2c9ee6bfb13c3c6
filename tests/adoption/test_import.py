"""`import` as a user runs it: real files, real git, and nothing written where anything is wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from registry_tool import adoption
from registry_tool.adoption import imported, policy
from registry_tool.adoption.model import Claim
from registry_tool.commands.skeleton import POLICY_TEXT
from registry_tool.records import canonical, catalog
from registry_tool.records.record import Record, VerdictLink
from registry_tool.registry_lookup import Lookup, NotVerifiedError
from tests.acceptance.world import World, environment, make
from tests.adoption import public
from tests.adoption.small import FILES, GEMM, GEMV, INDEX, edited, line_of, write
from tests.kernels import upstream
from tests.shared_data import shared

ROWS = 12


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "source")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty registry, committed."""
    made = make(tmp_path)
    made.git("commit", "-qm", "An empty registry")
    return made


def state(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, git's own ones left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def test_an_import_writes_rows_artifacts_and_the_list_of_debt(world: World, source: Path) -> None:
    said = world.ok("import", str(source), "--target", "npu2")
    assert f"rows: {ROWS} new" in said
    assert "no row: GEMM_bf16_in_bf16_out/1024x2048x4096+drain" in said
    assert len(world.records()) == len(world.verdicts()) == ROWS
    for path in world.records():
        record = canonical.decode(path.read_bytes(), Record)
        assert (record.verdict.kind, record.verdict.status) == ("imported", "unverified")
        assert (world.registry / record.verdict.artifact).is_file()
    held = json.loads((world.registry / "baseline.json").read_bytes())
    assert len(held["rows"]) == ROWS


def test_the_target_of_the_first_import_becomes_the_first(world: World, source: Path) -> None:
    before = (world.registry / "registry.yaml").read_text()
    world.ok("import", str(source), "--target", "npu2")
    after = (world.registry / "registry.yaml").read_text()
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    assert after.index("  npu2:") < after.index("  npu2-emu:")
    assert "1024×2048×512" in (world.registry / GEMM).read_text()


def test_everything_that_was_written_is_staged(world: World, source: Path) -> None:
    world.ok("import", str(source), "--target", "npu2")
    states = {line[:2] for line in world.git("status", "--porcelain").splitlines()}
    assert states <= {"A ", "M "}
    assert "baseline.json" in world.git("diff", "--cached", "--name-only")


def test_no_rule_complains_of_the_rows_beyond_that_they_are_imports(
    world: World, source: Path
) -> None:
    world.ok("import", str(source), "--target", "npu2")
    done = world.tool("check", "--format", "json")
    errors = {
        one["rule"] for one in json.loads(done.stdout)["findings"] if one["severity"] == "error"
    }
    assert errors <= {"KR103", "KR107"}


def test_a_dry_run_writes_nothing(world: World, source: Path) -> None:
    before = state(world.registry)
    said = world.ok("import", str(source), "--target", "npu2", "--dry-run")
    assert f"rows: {ROWS} new" in said
    assert state(world.registry) == before
    assert world.git("status", "--porcelain") == ""


def test_a_second_import_of_the_same_changes_nothing(world: World, source: Path) -> None:
    world.ok("import", str(source), "--target", "npu2")
    before = state(world.registry)
    done = world.tool("import", str(source), "--target", "npu2")
    assert done.returncode == 0, done.stderr
    assert f"rows: {ROWS} same" in done.stdout
    assert state(world.registry) == before


def test_a_second_import_says_which_words_are_different(world: World, source: Path) -> None:
    world.ok("import", str(source), "--target", "npu2")
    before = state(world.registry)
    page = FILES[GEMV].replace("Tiny-1B decode K/V proj | ✅", "Tiny-9B decode K/V proj | ⚠️")
    write(source, {GEMV: "\n" + page})
    done = world.tool("import", str(source), "--target", "npu2")
    assert done.returncode == 1
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("differs")]
    assert line == (
        "differs from the row that was imported: npu2/GEMV_bf16/1024x1024 "
        "(used_by, provenance.status)"
    )
    assert state(world.registry) == before


def test_a_second_import_says_what_is_different_and_takes_nothing(
    world: World, source: Path
) -> None:
    world.ok("import", str(source), "--target", "npu2")
    before = state(world.registry)
    write(source, {GEMV: FILES[GEMV].replace("150 µs", "140 µs").replace("4096×1024", "8192×1024")})
    done = world.tool("import", str(source), "--target", "npu2")
    assert done.returncode == 1
    assert "differs from the row that was imported: npu2/GEMV_bf16/1024x1024 (performance" in (
        done.stderr
    )
    assert "new: npu2/GEMV_bf16/8192x1024" in done.stderr
    assert "no longer there: npu2/GEMV_bf16/4096x1024" in done.stderr
    assert state(world.registry) == before


def test_a_row_with_a_run_of_its_own_is_never_replaced(world: World, source: Path) -> None:
    world.ok("import", str(source), "--target", "npu2", "--no-stage")
    path = world.registry / "records/npu2/GEMV_bf16/1024x1024.json"
    record = canonical.decode(path.read_bytes(), Record)
    mine = canonical.encode(
        Record(
            **{
                **{name: getattr(record, name) for name in record.__struct_fields__},
                "verdict": VerdictLink(
                    status="pass",
                    kind="harness",
                    artifact=record.verdict.artifact,
                    sha256=record.verdict.sha256,
                ),
            }
        )
    )
    path.write_bytes(mine)
    # As after an import that was cut short: nothing is listed as debt yet.
    (world.registry / "baseline.json").unlink()
    said = world.ok("import", str(source), "--target", "npu2")
    assert f"{ROWS - 1} same, 1 verified" in said
    assert path.read_bytes() == mine
    held = json.loads((world.registry / "baseline.json").read_bytes())
    assert len(held["rows"]) == ROWS - 1


def test_an_import_that_was_cut_short_is_taken_up_again(world: World, source: Path) -> None:
    world.ok("import", str(source), "--target", "npu2")
    whole = {name for name in state(world.registry) if not name.startswith("verdicts/")}
    (world.registry / "baseline.json").unlink()
    for path in world.records()[::2]:
        path.unlink()
    world.ok("import", str(source), "--target", "npu2")
    names = {name for name in state(world.registry) if not name.startswith("verdicts/")}
    assert names == whole


# --- in the folder of the pages itself -----------------------------------------------------------


@pytest.fixture
def in_place(tmp_path: Path) -> World:
    """A repository that holds the pages, and no registry yet."""
    folder = write(tmp_path / "repo")
    (folder / "README.md").write_text("Words beside the pages.\n")
    world = World(folder, folder, environment(tmp_path))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Pages")):
        assert world.run("git", *words).returncode == 0
    return world


def test_marking_adds_lines_with_markers_and_nothing_else(in_place: World) -> None:
    before = state(in_place.registry)
    in_place.ok("import", ".", "--target", "npu2", "--mark")
    after = state(in_place.registry)
    for name, data in before.items():
        lines = after[name].splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(b"<!-- registry:")]
        assert b"".join(kept) == data, name
    assert b"<!-- registry:begin" in after[GEMM]
    assert (in_place.registry / "registry.yaml").is_file()


def test_render_after_marking_keeps_every_cell_that_nothing_speaks_against(
    in_place: World,
) -> None:
    in_place.ok("import", ".", "--target", "npu2", "--mark")
    in_place.ok("render")
    page = (in_place.registry / GEMV).read_text()
    for line in FILES[GEMV].splitlines():
        assert line in page.splitlines()


def test_without_marks_the_pages_of_a_folder_are_not_taken_over(in_place: World) -> None:
    before = state(in_place.registry)
    done = in_place.tool("import", ".", "--target", "npu2")
    assert done.returncode == 2
    assert "--mark" in done.stderr
    assert state(in_place.registry) == before


# --- the report ----------------------------------------------------------------------------------


def test_the_report_holds_counts_and_findings(world: World, source: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    world.ok("import", str(source), "--target", "npu2", "--report", str(report), "--dry-run")
    document = json.loads(report.read_bytes())
    assert document["rows"]["imported"] == ROWS
    assert document["rows"]["by_place"] == {"details": 11, "json": 4, "index": 8}
    assert all(
        {"kind", "where", "record", "found", "expected", "confidence"} <= set(one)
        for one in document["drift"]
    )
    assert {one["row"] for one in document["not_imported"]} == {
        "GEMM_bf16_in_bf16_out/1024x2048x4096+drain",
        "GEMM_bf16_in_bf16_out/1024x2048x4096+fused-cast",
    }
    assert document["remarks"][0]["text"] == "comment: words about the file"
    assert report.with_suffix(".md").read_text().startswith("# Drift report")


def test_json_on_the_command_line(world: World, source: Path) -> None:
    document = world.json("import", str(source), "--target", "npu2")
    assert document["fates"] == {"new": ROWS, "changed": 0, "same": 0, "verified": 0}


# --- wrong use and bad input: one message, and no file -------------------------------------------


def imported_from(source: Path) -> dict[str, Record]:
    """The records of a folder by kernel, sizes and variant, without a registry to put them in."""
    moment = datetime(2026, 8, 1, tzinfo=timezone.utc)
    made, _ = imported.make(adoption.read(source, catalog.built_in()), "npu2", moment)
    return {one.row.record_path.removeprefix("records/npu2/"): one.record for one in made}


@pytest.mark.parametrize("glyph", ["❌", "✘", "🔴"])
def test_a_row_that_its_page_calls_failed_is_refused_to_who_wants_sound_ones(
    world: World, source: Path, glyph: str
) -> None:
    page = FILES[GEMV].replace("Tiny-1B decode K/V proj | ✅", f"Tiny-1B decode K/V proj | {glyph}")
    write(source, {GEMV: page})
    record = imported_from(source)["GEMV_bf16/1024x1024.json"]
    assert record.provenance["caveats"] == "failing"
    world.ok("import", str(source), "--target", "npu2")
    lookup = Lookup(world.registry, "npu2")
    assert lookup.gemv_config(1024, 1024)["caveats"] == ("failing",)
    with pytest.raises(NotVerifiedError, match="strict='sound' refuses it"):
        lookup.gemv_config(1024, 1024, strict="sound")


def test_a_footnote_that_a_figure_points_to_is_held_against_its_row(source: Path) -> None:
    path = "GEMM_bf16_in_bf16_out/1024x2048x512+fused-cast.json"
    assert imported_from(source)[path].provenance["caveats"] == "inherited"
    page = FILES[GEMM].replace("2900†", "2900¹").replace("> † The figure is", "> ¹ Inherited,")
    write(source, {GEMM: page})
    assert imported_from(source)[path].provenance["caveats"] == "inherited"


def test_a_figure_with_a_minus_sign_stays_words(source: Path) -> None:
    write(source, {GEMV: FILES[GEMV].replace("150 µs", "-150 µs")})
    record = imported_from(source)["GEMV_bf16/1024x1024.json"]
    assert any("-150 µs" in note for note in record.notes)
    assert record.performance is None or record.performance.latency_us != 150.0


def refused(world: World, source: Path, *words: str) -> str:
    """What the command says; it must write nothing."""
    before = state(world.registry)
    done = world.tool("import", str(source), *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert state(world.registry) == before
    assert world.git("status", "--porcelain") == ""
    assert done.stderr.count("registry-tool import:") == 1
    return done.stderr


def test_an_unknown_column_is_one_message_with_file_line_and_a_way_on(
    world: World, tmp_path: Path
) -> None:
    source = write(tmp_path / "source", edited(GEMV, "| Used by |", "| Seen by |"))
    said = refused(world, source, "--target", "npu2")
    assert f"{source / GEMV}:{line_of(GEMV, 'latency')}: the column 'Seen by'" in said
    assert "--column 'Seen by'=notes" in said
    world.ok("import", str(source), "--target", "npu2", "--column", "Seen by=used_by")
    record = (world.registry / "records/npu2/GEMV_bf16/1024x1024.json").read_text()
    assert '"model": "Tiny-1B"' in record


def test_a_truncated_page_stops_everything(world: World, tmp_path: Path) -> None:
    text = FILES[GEMM]
    source = write(tmp_path / "source", {GEMM: text[: text.index("TinyVLA")]})
    said = refused(world, source, "--target", "npu2")
    assert f"{GEMM}:{line_of(GEMM, 'TinyVLA')}: the page breaks off" in said


def test_an_emulated_target_takes_no_figures_of_a_device(world: World, source: Path) -> None:
    assert "npu2-emu is emulated" in refused(world, source, "--target", "npu2-emu")


def test_an_unknown_target_is_named(world: World, source: Path) -> None:
    assert "unknown target 'npu3'" in refused(world, source, "--target", "npu3")


def test_pages_that_show_another_target_are_not_marked_over(world: World, source: Path) -> None:
    world.ok("import", str(source), "--target", "npu2")
    world.git("commit", "-qm", "Rows")
    text = (world.registry / "registry.yaml").read_bytes()
    other = policy.with_first(text, "npu2-emu", "registry.yaml")
    (world.registry / "registry.yaml").write_bytes(other)
    world.git("commit", "-qam", "Another order")
    assert "show npu2-emu" in refused(world, source, "--target", "npu2", "--mark")


def test_a_column_option_must_make_sense(world: World, source: Path) -> None:
    said = refused(world, source, "--target", "npu2", "--column", "Seen by=nothing")
    assert "TITLE=FIELD" in said


def test_a_folder_without_an_index_is_named(world: World, tmp_path: Path) -> None:
    assert INDEX in refused(world, write(tmp_path / "source", {INDEX: None}), "--target", "npu2")


def test_a_missing_folder_is_named(world: World, tmp_path: Path) -> None:
    assert "not a folder" in refused(world, tmp_path / "nowhere", "--target", "npu2")


# --- registry.yaml -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        POLICY_TEXT,
        "schema_version: 1\ntargets:\n  # about one\n  one: {kind: emulated, lock: {path: /t/1}}\n"
        "\n  # about two\n  # and more\n  two:   # at its side\n    kind: hardware\n"
        "    lock: {path: /t/2}\n# the end\n",
        "schema_version: 1\ntargets: {a: {kind: emulated, lock: {path: /t/a}}, b: {kind: hardware,"
        " lock: {path: /t/b}}}  # in one line\n",
    ],
)
def test_another_first_target_keeps_every_comment_and_value(text: str) -> None:
    before = catalog.parse_policy(text.encode(), "registry.yaml")
    last = list(before.targets)[-1]
    changed = policy.with_first(text.encode(), last, "registry.yaml")
    after = catalog.parse_policy(changed, "registry.yaml")
    assert after == before
    assert next(iter(after.targets)) == last
    assert sorted(changed.decode().split()) == sorted(text.split()) or "{a" in text
    assert all(line.partition("#")[2] in changed.decode() for line in text.splitlines())


def test_an_unknown_target_of_a_new_registry_names_no_file_that_is_gone(world: World) -> None:
    source = write(world.registry.parent / "bare")
    done = world.run("registry-tool", "import", ".", "--target", "npu9", "--mark", cwd=source)
    assert done.returncode == 2
    assert "a new registry has npu2-emu, npu2" in done.stderr
    assert f"registry-tool init {source.resolve()}" in done.stderr
    assert not (source / "registry.yaml").exists()


# --- the public registry -------------------------------------------------------------------------


def test_the_three_places_of_the_bf16_gemm_are_read_to_the_last_shape() -> None:
    rows = [row for row in public.adopted().rows if row.kernel == "GEMM_bf16_in_bf16_out"]
    shapes = {
        place: {tuple(row.shape.values()) for row in rows if row.of(place)}
        for place in ("details", "json", "index")
    }
    assert {place: len(found) for place, found in shapes.items()} == {
        "json": 76,
        "details": 62,
        "index": 45,
    }


def claims_of(row: upstream.Row) -> Iterator[Claim]:
    """Our claims from the file and line that ``row`` was read from."""
    found = public.adopted().row(row.kernel, row.shape, row.variant)
    name, _, line = row.where.partition(":")
    for claim in () if found is None else (*found.claims, *found.sweeps):
        if claim.file.endswith(name) and line in ("", str(claim.line)):
            yield claim


@pytest.mark.parametrize("kernel", upstream.KERNELS)
def test_every_row_that_another_reader_finds_is_there_with_the_same_figures(kernel: str) -> None:
    seen = 0
    for row in upstream.rows(kernel, shared("upstream_registry")):
        if not row.works or str(row) in NOT_A_ROW:
            continue
        (claim, *_) = claims_of(row)
        metric = public.adopted().specs[kernel].metric
        for name, wanted in (
            ("latency_us", row.latency_us),
            ("mean_rel_L1", row.mean_rel_L1),
            ("max_abs", row.max_abs),
            (metric, row.throughput),
        ):
            if wanted is None:
                continue
            found = claim.quantity(name)
            assert found is not None, f"{row}: {name}"
            assert wanted.low * (1 - 1e-9) <= found.low, f"{row}: {name}"
            assert found.high <= wanted.high * (1 + 1e-9), f"{row}: {name}"
            seen += 1
        if claim.kind == "row":
            assert not claim.tile or claim.tile == row.tile, row
            assert claim.herd is None or claim.herd == row.herd, row
    assert seen


# It names two sequence lengths and no heads: our reader keeps it as a remark about the page.
NOT_A_ROW = {"FlashAttention_bf16.md:196 512x512x64x64x2x2x0 256/64/4/2/4 8x4"}


def test_every_record_of_the_public_registry_is_canonical_and_no_number_is_new() -> None:
    made, refused = imported.make(public.adopted(), "npu2", datetime.now(timezone.utc))
    assert (len(made), len(refused)) == (211, 5)
    for one in made:
        row = public.adopted().row(one.record.kernel, one.record.shape, one.record.variant)
        assert row is not None
        for name in ("mean_rel_L1", "max_abs", "max_rel"):
            value = getattr(one.record, name)
            said = [quantity for _, quantity in row.quantities(name)]
            assert value is None or any(value in (q.low, q.high) for q in said)
        for data in one.files.values():
            canonical.decode(data, Record if b"/record-1." in data[:80] else type(one.verdict))


def test_the_public_registry_is_imported_by_the_command(world: World) -> None:
    said = world.ok("import", str(shared("upstream_registry")), "--target", "npu2", "--no-stage")
    assert "read 483 lines about 216 rows: 192 in details, 111 in json, 180 in index" in said
    assert len(world.records()) == 211
    assert subprocess.run(["git", "diff", "--cached", "--quiet"], cwd=world.folder).returncode == 0
