"""A report and a review with something of every kind in them, from a stranger's pull request."""

from __future__ import annotations

from registry_tool.review.model import (
    Answer,
    Debt,
    Difference,
    Evidence,
    Figure,
    MeasureChange,
    ModelChange,
    NeedMove,
    Placed,
    Review,
    RowChange,
    Run,
    Stale,
    Verdicts,
    WaiverChange,
)
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report

NASTY = (
    "\x1b[31mred\x1b[0m \x9b2J @everyone #12 | `code` <script>x</script> ::error::no "
    "##[add-mask]a \u202eturned\u2066 \ud800 www.evil.example http://evil.example ]( & \\| 100%"
)
"""What a stranger may write into a note, a file's name or the subject of a commit."""

GEMM = "GEMM_bf16_in_bf16_out"
EMULATED = f"npu2-emu/{GEMM}/2048x1024x1024+drain"
HARDWARE = f"npu2/{GEMM}/2048x8192x2048+fused-cast"
ERROR = Finding(
    rule="KR105",
    severity="error",
    path=f"records/{EMULATED}.json",
    line=25,
    pointer="/max_abs",
    record=EMULATED,
    message="the verdict measured max_abs=0.000824, the row says 0.000124",
    fix="registry-tool verify --force",
)
WARNING = Finding(
    rule="KR203",
    severity="warning",
    path="kernels/a,b: 100%.yaml",
    line=0,
    pointer="",
    record=None,
    message=f"tile {{m}} breaks a guideline: {NASTY}",
    fix="nothing must be done",
)
ELSEWHERE = ERROR._replace(
    rule="KR301",
    path=f"details/{GEMM}.md",
    line=4,
    record=None,
    message="line 4: the table is stale",
    fix="registry-tool render",
)
REPORT = Report((ERROR, ELSEWHERE, WARNING), records=1204, seconds=0.25, debt=3)
CLEAN = Report((), records=2, seconds=0.125)

_OLD = "verdicts/x/20260101T000005Z-4dbce4b7.json"
_NEW = "verdicts/x/20260201T000005Z-37828211.json"
MEASURED = RowChange(
    kind="re-measured",
    row=HARDWARE,
    path=f"records/{HARDWARE}.json",
    target="npu2",
    kernel=GEMM,
    emulated=False,
    setting="fused-cast (high), tile_m 64, herd 8×2",
    tiles=(32, 16),
    figures=(
        Figure("mean_rel_L1", "", 0.0097, 0.0096, 0.005, "better"),
        Figure("max_abs", "", 0.000824, 0.00083, 0.05, "within spread"),
        Figure("max_rel", "", 3118.0, 4012.0, None, "changed"),
        Figure("latency_us", "µs", 8000.0, 9000.0, 0.02, "worse"),
        Figure("gflops", "GFLOP/s", 8589.935, 7635.497, None, "worse"),
    ),
    settings=(
        Difference("herd", [8, 4], [8, 2]),
        Difference("tiles_in_flight", 32, 16),
    ),
    before=Evidence("harness", "pass", _OLD, False, None),
    after=Evidence("harness", "pass", _NEW, True, "a.tester@example.invalid"),
    environment=(Difference("firmware", "1.0.0", "1.1.0"),),
    used_by=("Toy-1B: prefill Down proj",),
    serves=("Toy-1B: prefill Down proj",),
)
ADDED = RowChange(
    kind="added",
    row=f"npu2-emu/{GEMM}/2048x1024x1024+direct",
    path=f"records/npu2-emu/{GEMM}/2048x1024x1024+direct.json",
    target="npu2-emu",
    kernel=GEMM,
    emulated=True,
    setting="direct (low), tile_m 64, herd 8×4",
    tiles=(None, 32),
    figures=(Figure("mean_rel_L1", "", None, 0.01117, 0.005, "new"),),
    after=Evidence("harness", "pass", _NEW, False, None),
    notes=("tier-down: drain did not pass",),
)
NOTED = RowChange(
    kind="re-noted",
    row=EMULATED,
    path=f"records/{EMULATED}.json",
    target="npu2-emu",
    kernel=GEMM,
    emulated=True,
    tiles=(32, 32),
    before=Evidence("harness", "pass", _OLD, False, None),
    after=Evidence("harness", "pass", _OLD, False, None),
    users_added=(f"{NASTY}: prefill Q",),
    notes=(NASTY,),
    notes_added=(NASTY,),
    waivers=(
        WaiverChange(EMULATED, "KR202", "extended", NASTY, "A. Tester", "2027-01-01", "2026-06-01"),
    ),
)
LOST = RowChange(
    kind="unreadable",
    row=f"npu2/{GEMM}/{NASTY}",
    path=f"records/npu2/{GEMM}/{NASTY}.json",
    target="npu2",
    kernel=GEMM,
    emulated=False,
    problem="it cannot be read: JSON is malformed",
)
REVIEW = Review(
    base="0b788bdcbea8" + "0" * 28,
    head="0387ccce6fa5" + "1" * 28,
    title=f"main..{NASTY}",
    rows=(MEASURED, LOST, ADDED, NOTED),
    needs=(
        NeedMove(
            model="Toy-1B",
            site="prefill Q proj",
            kernel=GEMM,
            shape="2048×1024×1024",
            target="npu2-emu",
            emulated=True,
            move="tier down",
            before=EMULATED,
            after=ADDED.row,
            was_tier="high",
            tier="low",
        ),
    ),
    answers=(
        Answer(
            kernel=GEMM,
            target="npu2",
            emulated=False,
            shape="2048×8192×2048",
            asked=("best of tier high", "method fused-cast"),
            before="gflops=8589.935",
            after="gflops=7635.497",
            cause=None,
        ),
    ),
    measures=(
        MeasureChange(
            "registry.yaml",
            "changed",
            ("lookup was sound and is any",),
            (Difference("lookup", "sound", "any"),),
        ),
    ),
    models=(ModelChange("Toy-1B", "changed", ("prefill x: GEMM 1×1×1",), ()),),
    verdicts=Verdicts(
        added=3,
        not_passed=(Run(EMULATED, "20260201T000005Z-37828211", "fail", NASTY),),
        edited=(),
        deleted=(_OLD,),
    ),
    debt=Debt(added=(f"npu2/{GEMM}/1x1x1",), paid=(f"npu2/{GEMM}/2x2x2",), owed=3),
    waivers=NOTED.waivers,
    stale=(
        Stale(HARDWARE, (f"run.py is not what it was: {NASTY}",), newly=True),
        Stale(f"npu2/{GEMM}/1x1x1", ("its sources have moved", "another toolchain"), newly=False),
    ),
    findings=(Placed(ERROR, True), Placed(ELSEWHERE, False), Placed(WARNING, True)),
    records=1204,
)
QUIET = Review(base=None, head="index", title="staged", records=2)
