"""Every forgery we could think of, through the real check: which rule finds it, or that none does.

Each is tried where nothing is signed, and where alice's signature is required and the forger has
only a key of his own. docs/trust.md says the same, line by line; a test holds it to this table.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from registry_tool.records.keys import row_id
from tests.examples.build import GEMM, SMALL, Row, make_row, sealed
from tests.examples.example import POLICY, Example, ids
from tests.examples.forged_in_form import FORGED_IN_FORM, IN_TWO_COMMITS
from tests.examples.forging import NEW, PLAUSIBLE, Forgery, Scene, better, fabricated
from tests.signing import keyring
from tests.signing.keyring import SshKey
from tests.signing.world import line, sign, trust

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"


def number_in_record(scene: Scene) -> None:
    record = replace(scene.row.record, mean_rel_L1=PLAUSIBLE)
    scene.at.write({scene.row.id.record_path: canonical.encode(record)})
    scene.at.render()


def number_in_record_and_verdict(scene: Scene) -> None:
    output = replace(scene.row.verdict.outputs[0], mean_rel_L1=PLAUSIBLE)
    made = dataclasses.replace(scene.row, verdict=replace(scene.row.verdict, outputs=[output]))
    scene.at.add(made)
    scene.at.render()


def number_in_log_too(scene: Scene) -> None:
    made = better(scene.row)
    name, kept = made.verdict.run_id, scene.row.verdict.run_id
    for path, data in made.evidence().items():
        scene.at.write({path.replace(name, kept): data.replace(name.encode(), kept.encode())})
    record = canonical.encode(made.record).replace(name.encode(), kept.encode())
    scene.at.write({scene.row.id.record_path: record})
    scene.at.render()


def log_alone(scene: Scene) -> None:
    path = scene.row.artifact.replace(".json", ".log")
    scene.at.edit(path, "abs_err max=8.240e-04", "abs_err max=1.240e-04")


def everything_under_a_new_run_id(scene: Scene) -> None:
    scene.put(better(scene.row))


def new_run_id_with_the_old_signature(scene: Scene) -> None:
    old = f"{scene.row.artifact}.sig"
    data = scene.at.path(old).read_bytes() if scene.is_signed else b"none"
    made = better(scene.row)
    scene.put(made)
    if scene.is_signed:
        scene.at.write({f"{made.artifact}.sig": data})


def row_out_of_nothing(scene: Scene) -> None:
    scene.put(fabricated())


def row_out_of_nothing_signed_by_the_forger(scene: Scene) -> None:
    scene.put(fabricated())
    sign(scene.at, scene.mallory, fabricated())


def implausible_row(scene: Scene) -> None:
    scene.put(better(fabricated(), 0.0001))


def verdict_of_another_row(scene: Scene) -> None:
    """A copy of the other row's verdict, signature included, offered for this one."""
    made = fabricated()
    folder = scene.at.path(scene.other.id.verdict_folder)
    for path in folder.iterdir():
        scene.at.write({f"{made.id.verdict_folder}/{path.name}": path.read_bytes()})
    link = replace(
        scene.other.record.verdict,
        artifact=f"{made.id.verdict_folder}/{scene.other.verdict.run_id}.json",
    )
    scene.at.write({made.id.record_path: canonical.encode(replace(made.record, verdict=link))})
    scene.at.render()


def older_run_of_the_row(scene: Scene) -> None:
    """The row stands on the newer of two signed runs; the forger goes back to the older one."""
    newer = make_row(catalog.built_in()[GEMM], SMALL, "drain", second=50)
    scene.at.add(newer)
    if scene.is_signed:
        sign(scene.at, scene.alice, newer)
    scene.at.render()
    scene.commit()
    scene.at.write({scene.row.id.record_path: canonical.encode(scene.row.record)})
    scene.at.render()


def run_of_tomorrow(scene: Scene) -> None:
    """Somebody who may sign dates a run into the time of a later toolchain."""
    made = make_row(catalog.built_in()[GEMM], NEW, "drain")
    run = replace(made.verdict.attempts[0], started="2096-01-01T00:00:00Z")
    made = sealed(dataclasses.replace(made, verdict=replace(made.verdict, attempts=[run])))
    scene.put(made)
    if scene.is_signed:
        sign(scene.at, scene.alice, made)


def run_of_before_the_key(scene: Scene) -> None:
    scene.trust(line("alice", scene.alice, 'valid-after="20260201"'))


def run_of_after_the_key(scene: Scene) -> None:
    scene.trust(line("alice", scene.alice, 'valid-before="20251231"'))


def backdated_run_by_an_old_key(scene: Scene) -> None:
    """Who holds a key that has ended dates a run into its time."""
    scene.trust(line("alice", scene.alice, 'valid-before="20260201"'))
    scene.put(fabricated())
    if scene.is_signed:
        sign(scene.at, scene.alice, fabricated())


def key_that_is_revoked_later(scene: Scene) -> None:
    scene.trust(line("alice", scene.alice), revoked=scene.alice.public)


def emulated_row_called_hardware(scene: Scene) -> None:
    spec = catalog.built_in()[GEMM]
    subject = replace(scene.row.verdict.subject, target="npu2")
    identity = row_id("npu2", GEMM, spec.dims, SMALL, "drain")
    verdict = replace(scene.row.verdict, subject=subject)
    scene.put(sealed(Row(identity, verdict, scene.row.log)))


def invented_run_on_hardware(scene: Scene) -> None:
    scene.put(make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2"))


def hardware_signed_by_who_emulates(scene: Scene) -> None:
    roles = "{alice@example.org: [npu2-emu]}"
    scene.trust(line("alice", scene.alice), roles=roles)
    scene.commit()
    made = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    scene.put(made)
    if scene.is_signed:
        sign(scene.at, scene.alice, made)


def with_failing_run(scene: Scene) -> str:
    """Commit a failing run of the row that no row cites; the path of its verdict."""
    made = make_row(catalog.built_in()[GEMM], NEW, "drain", second=2)
    run = replace(made.verdict.attempts[0], status="fail", exit_status=1)
    log = made.log.replace(b"PASS!", b"FAIL! 14 elements differ")
    verdict = replace(
        made.verdict, status="fail", reason="14 elements differ", attempts=[run], performance=None
    )
    made = sealed(dataclasses.replace(made, verdict=verdict, log=log))
    scene.at.write(made.evidence())
    scene.commit()
    return made.artifact


def failing_run_deleted(scene: Scene) -> None:
    path = with_failing_run(scene)
    for file in scene.at.path(path).parent.iterdir():
        file.unlink()


def cited_run_deleted(scene: Scene) -> None:
    for path in scene.row.evidence():
        scene.at.path(path).unlink()


def signature_deleted(scene: Scene) -> None:
    if scene.is_signed:
        scene.at.path(f"{scene.row.artifact}.sig").unlink()


def signature_of_another_verdict(scene: Scene) -> None:
    if scene.is_signed:
        made = fabricated()
        scene.put(made)
        data = scene.at.path(f"{scene.other.artifact}.sig").read_bytes()
        scene.at.write({f"{made.artifact}.sig": data})


def signature_for_something_else(scene: Scene) -> None:
    if scene.is_signed:
        made = fabricated()
        scene.put(made)
        data = scene.alice.sign(scene.at.path(made.artifact).read_bytes(), "git")
        scene.at.write({f"{made.artifact}.sig": data})


def table_edited(scene: Scene) -> None:
    path = scene.at.path(f"details/{GEMM}.md")
    text = path.read_text("utf-8")
    shown = re.search(r"\| (\d\.\d+e-\d+) \|", text)
    assert shown is not None
    path.write_text(text.replace(shown[1], "1.00e-3"), "utf-8")


def lookup_edited(scene: Scene) -> None:
    path = f"details/{GEMM}.json"
    text = scene.at.path(path).read_text("utf-8")
    figure = re.search(r'"tile_n": (\d+)', text)
    assert figure is not None
    scene.at.edit(path, figure[0], '"tile_n": 8')


def tolerance_loosened(scene: Scene) -> None:
    loose = "kernel: GEMM_bf16_in_bf16_out\ntolerances:\n"
    loose += "  high: {rtol: 1.0, atol: 1.0}\n  low: {rtol: 1.0, atol: 1.0}\n"
    scene.at.write({f"kernels/{GEMM}.yaml": loose})


def target_called_hardware(scene: Scene) -> None:
    scene.at.edit("registry.yaml", "kind: emulated", "kind: hardware")
    scene.at.render()


def signing_turned_off_with_the_row(scene: Scene) -> None:
    scene.at.write({"registry.yaml": POLICY})
    scene.put(fabricated())


def own_key_allowed_with_the_row(scene: Scene) -> None:
    scene.trust(line("alice", scene.alice), line("mallory", scene.mallory))
    scene.put(fabricated())
    sign(scene.at, scene.mallory, fabricated())


def own_key_allowed_first(scene: Scene) -> None:
    scene.trust(line("alice", scene.alice), line("mallory", scene.mallory))
    scene.commit()
    scene.put(fabricated())
    sign(scene.at, scene.mallory, fabricated())


def history_rewritten(scene: Scene) -> None:
    """The commit is made anew with another figure, as if it had always been there."""
    scene.put(better(scene.row))
    scene.at.git("add", "-A")
    scene.at.git("commit", "-q", "--no-verify", "--amend", "-m", "Start")


FORGERIES = [
    *FORGED_IN_FORM,
    Forgery(number_in_record, "a number in the row", "KR105 KR601", "KR105 KR601"),
    Forgery(
        number_in_record_and_verdict,
        "the number in row and verdict",
        "KR105 KR106 KR601",
        "KR105 KR106 KR122 KR601",
    ),
    Forgery(
        number_in_log_too, "the number in row, verdict and log", "KR105 KR106 KR601",
        "KR105 KR106 KR122 KR601",
    ),
    Forgery(log_alone, "the log alone", "KR105 KR106", "KR105 KR106"),
    Forgery(
        everything_under_a_new_run_id,
        "row, verdict and log, under the run id that they give",
        "",
        "KR121",
    ),
    Forgery(
        new_run_id_with_the_old_signature,
        "the same, with the old run's signature",
        "",
        "KR122",
    ),
    Forgery(row_out_of_nothing, "a new row, invented with all its files", "", "KR121"),
    Forgery(
        row_out_of_nothing_signed_by_the_forger, "the same, signed by the forger", "", "KR123"
    ),
    Forgery(
        implausible_row, "the same, better than the datapath can be", "KR105 KR108",
        "KR105 KR108 KR121",
    ),
    Forgery(
        verdict_of_another_row,
        "another row's verdict and signature, copied",
        "KR102",
        "KR102",
    ),
    Forgery(older_run_of_the_row, "an older run of the same row, cited again", "", ""),
    Forgery(
        signature_of_another_verdict, "an invented row with another verdict's signature", "-",
        "KR122",
    ),
    Forgery(
        signature_for_something_else, "an invented row with a signature made for a commit", "-",
        "KR122",
    ),
    Forgery(signature_deleted, "a signature deleted", "-", "KR106 KR121"),
    Forgery(
        run_of_tomorrow, "a run dated later than its commit", "KR114", "KR114 KR124"
    ),
    Forgery(run_of_before_the_key, "a run of before its key was valid", "-", "KR124"),
    Forgery(run_of_after_the_key, "a run of after its key was valid", "-", "KR124"),
    Forgery(
        backdated_run_by_an_old_key, "a run dated back by the holder of a key that has ended", "",
        "",
    ),
    Forgery(key_that_is_revoked_later, "runs whose key is revoked later", "-", "KR125"),
    Forgery(
        emulated_row_called_hardware, "an emulated run called hardware",
        "KR102 KR105 KR107 KR113", "KR102 KR105 KR107 KR113 KR121",
    ),
    Forgery(invented_run_on_hardware, "an invented run on hardware", "", "KR121"),
    Forgery(
        hardware_signed_by_who_emulates, "the same, signed by who may sign for emulation", "",
        "KR126",
    ),
    Forgery(failing_run_deleted, "a failing run deleted", "", ""),
    Forgery(cited_run_deleted, "the run that a row cites deleted", "KR101 KR106", "KR101 KR106"),
    Forgery(table_edited, "a number in a table", "KR302", "KR302"),
    Forgery(
        lookup_edited, "a number in the JSON that lookups read", "KR301 KR402", "KR301 KR402"
    ),
    Forgery(tolerance_loosened, "a tolerance of a built-in page loosened", "KR110", "KR110"),
    Forgery(
        target_called_hardware, "an emulated target called hardware", "KR107 KR110 KR402",
        "KR107 KR110 KR402",
    ),
    Forgery(
        signing_turned_off_with_the_row, "signing turned off, with a row that needs it", "-",
        "KR110",
    ),
    Forgery(
        own_key_allowed_with_the_row, "the forger's key allowed, with a row that it signs", "-",
        "KR110",
    ),
    Forgery(
        own_key_allowed_first, "the forger's key allowed in a commit of its own, then the row", "-",
        "",
    ),
    Forgery(history_rewritten, "history rewritten with another figure in it", "", "KR121"),
]  # fmt: skip


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[SshKey, SshKey]:
    folder = tmp_path_factory.mktemp("forgers")
    return keyring.make(folder, "alice"), keyring.make(folder, "mallory")


TRIED = [
    pytest.param(one, is_signed, id=f"{one.act.__name__}-{'signed' if is_signed else 'unsigned'}")
    for one in FORGERIES
    for is_signed in (False, True)
    if "-" not in (one.signed if is_signed else one.unsigned)
]


@pytest.mark.parametrize(("forgery", "is_signed"), TRIED)
def test_a_forgery_is_found_by_just_these_rules(
    forgery: Forgery,
    is_signed: bool,
    good: Example,
    row: Row,
    other: Row,
    keys: tuple[SshKey, SshKey],
) -> None:
    expected = forgery.signed if is_signed else forgery.unsigned
    alice, mallory = keys
    if is_signed:
        trust(good, line("alice", alice))
        sign(good, alice, row, other)
        good.commit("Sign")
    forgery.act(Scene(good, row, other, alice, mallory, is_signed))
    good.git("add", "-A")
    assert good.rules("--staged") == set(expected.split())


def test_a_key_that_has_ended_and_a_new_signer_are_at_least_said(
    good: Example, row: Row, other: Row, keys: tuple[SshKey, SshKey]
) -> None:
    alice, mallory = keys
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    good.commit("Sign")
    scene = Scene(good, row, other, alice, mallory, True)
    backdated_run_by_an_old_key(scene)
    assert "KR124" in ids(good.findings(), "warning")
    trust(good, line("alice", alice), line("mallory", mallory))
    assert "KR110" in ids(good.findings(), "warning")


def test_the_range_of_both_commits_shows_who_allowed_himself(
    good: Example, row: Row, other: Row, keys: tuple[SshKey, SshKey]
) -> None:
    """A review judges a row with the signers of its base, however many commits lie between."""
    from registry_tool.rules.engine import check
    from registry_tool.store import snapshot

    alice, mallory = keys
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    good.commit("Sign")
    base = good.git("rev-parse", "HEAD").strip()
    own_key_allowed_first(Scene(good, row, other, alice, mallory, True))
    good.commit("Add a row")
    assert good.rules("--ref", "HEAD") == set()
    report = check(snapshot.of_revision(good.root, "HEAD", base))
    assert {one.rule for one in report.findings if one.severity == "error"} == {"KR110"}


@pytest.mark.parametrize(
    ("act", "rule"), IN_TWO_COMMITS.items(), ids=lambda what: getattr(what, "__name__", what)
)
def test_a_review_refuses_what_two_commits_do_together(
    act: Callable[[Scene], None],
    rule: str,
    good: Example,
    row: Row,
    other: Row,
    keys: tuple[SshKey, SshKey],
) -> None:
    alice, mallory = keys
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    good.commit("Sign")
    good.git("tag", "start")
    act(Scene(good, row, other, alice, mallory, True))
    good.commit("Add a row")
    assert good.rules("--ref", "HEAD") == set()
    assert good.rules("--ref", "HEAD", "--base", "start") == {rule}
    status, told = good.command("review", "start..HEAD", "--format", "json")
    assert status == 1
    assert rule in ids(json.loads(told)["findings"])


def test_a_commit_of_tomorrow_cannot_bring_a_run_of_tomorrow(
    good: Example, row: Row, other: Row, keys: tuple[SshKey, SshKey]
) -> None:
    alice, mallory = keys
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    good.commit("Sign")
    run_of_tomorrow(Scene(good, row, other, alice, mallory, True))
    good.environment["GIT_COMMITTER_DATE"] = "2097-01-01T00:00:00Z"
    good.commit("Add a row of a day to come")
    assert good.rules("--ref", "HEAD") == {"KR114", "KR124"}


def test_the_measure_of_another_commit_asks_for_signatures_too(
    good: Example, row: Row, other: Row, keys: tuple[SshKey, SshKey]
) -> None:
    alice, mallory = keys
    trust(good, line("alice", alice))
    sign(good, alice, row, other)
    good.commit("Sign")
    assert good.rules("--policy-of", "HEAD") == set()
    good.write({"registry.yaml": POLICY})
    assert good.rules("--policy-of", "HEAD") == set(), "what is signed counts by that measure"
    Scene(good, row, other, alice, mallory, True).put(fabricated())
    good.commit("Turn signing off, with a row")
    assert good.rules("--ref", "HEAD", "--policy-of", "HEAD~1") == {"KR121"}


def test_objects_that_git_replaces_count_as_they_were_committed(good: Example, row: Row) -> None:
    genuine = good.git("rev-parse", f"HEAD:{row.artifact}").strip()
    forged = good.path(row.artifact).read_bytes().replace(b"0.0094", b"0.0095")
    good.write({"forged.json": forged})
    good.git("replace", genuine, good.git("hash-object", "-w", "forged.json").strip())
    assert good.findings("--ref", "HEAD") == []


def test_the_cause_is_told_before_what_follows_of_it(
    good: Example, row: Row, other: Row, keys: tuple[SshKey, SshKey]
) -> None:
    """Evidence or measure first, rows next, then pages, and answers last."""
    scene = Scene(good, row, other, *keys, False)
    log_alone(scene)
    lookup_edited(scene)
    told = [one["rule"] for one in good.findings()]
    assert list(dict.fromkeys(told)) == ["KR106", "KR105", "KR301", "KR402"]


def test_the_page_says_of_each_forgery_what_is_found() -> None:
    lines = [
        [cell.strip() for cell in text.strip("|").split("|")]
        for text in PAGE.read_text("utf-8").splitlines()
        if text.startswith("|")
    ]
    said = {cells[0]: (cells[1], cells[2]) for cells in lines if len(cells) == 4}
    shown = {"": "not found", "-": "–"}
    for one in FORGERIES:
        unsigned, signed = (
            shown.get(text, text.replace(" ", ", ")) for text in (one.unsigned, one.signed)
        )
        assert said.get(one.name) == (unsigned, signed), one.name
    assert set(said) - {"forgery", "---"} == {one.name for one in FORGERIES}
