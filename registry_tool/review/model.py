"""What a review holds: how two states of a registry differ, as data; not how it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from registry_tool.rules.finding import Finding

RowKind = Literal[
    "added", "removed", "renamed", "re-measured", "edited", "re-noted", "reformatted", "unreadable"
]
"""`edited`: fields that only a run may write changed, and the verdict that is cited did not."""

Trend = Literal["better", "worse", "within spread", "same", "changed", "new", "gone"]
"""`changed` stands where no run says so: an edited row, or a figure that nobody judges."""


@dataclass(frozen=True)
class Figure:
    """One measured figure before and after; None where it was not measured.

    ``spread`` is the share by which two runs may differ without a reason (0.02: 2 %), None if
    nobody recorded it.
    """

    name: str
    unit: str
    before: float | None
    after: float | None
    spread: float | None
    trend: Trend


@dataclass(frozen=True)
class Difference:
    """A field that is another one; None stands for none."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Evidence:
    """The verdict that a row stands on. ``signer`` is None if nobody signed it."""

    kind: str
    status: str
    artifact: str
    flaky: bool
    signer: str | None


@dataclass(frozen=True)
class WaiverChange:
    """A waiver that a change touches; ``until`` is its last day, ``was_until`` the one before."""

    row: str
    rule: str
    kind: Literal["new", "extended", "shortened", "removed", "expired"]
    reason: str
    by: str
    until: str | None
    was_until: str | None


@dataclass(frozen=True)
class RowChange:
    """One row that differs.

    ``row`` is its name after the change (before it, for one that was removed), ``was`` another
    name that it had. ``path`` is its record's. ``settings`` are variant, tier, tile, herd and
    tiles in flight as far as they differ; ``setting`` is all of them, as they are now (or were).
    ``environment`` is what differs around the two runs. ``serves`` are the needs of models that
    the row meets (or met), as `model: phase site`. ``problem`` says why a row cannot be read.
    """

    kind: RowKind
    row: str
    path: str
    target: str
    kernel: str
    emulated: bool
    was: str | None = None
    setting: str = ""
    tiles: tuple[int | None, int | None] = (None, None)
    figures: tuple[Figure, ...] = ()
    settings: tuple[Difference, ...] = ()
    before: Evidence | None = None
    after: Evidence | None = None
    environment: tuple[Difference, ...] = ()
    used_by: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    users_added: tuple[str, ...] = ()
    users_removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    notes_added: tuple[str, ...] = ()
    notes_removed: tuple[str, ...] = ()
    waivers: tuple[WaiverChange, ...] = ()
    problem: str | None = None

    @property
    def worse(self) -> bool:
        """Whether a run measured a figure that is worse beyond its spread."""
        return any(figure.trend == "worse" for figure in self.figures)

    @property
    def better(self) -> bool:
        """Whether a run measured a figure that is better beyond its spread."""
        return any(figure.trend == "better" for figure in self.figures)


@dataclass(frozen=True)
class NeedMove:
    """A need that another row meets than before, or none. ``move`` says it in one word."""

    model: str
    site: str
    kernel: str
    shape: str
    target: str
    emulated: bool
    move: Literal["met", "unmet", "tier down", "tier up", "variant"]
    before: str | None
    after: str | None
    was_tier: str | None
    tier: str | None


@dataclass(frozen=True)
class Answer:
    """What consumers are told about a shape, before and after; None where they are refused.

    ``asked`` are the questions that have this answer: the best of a tier, a method by its name.
    ``cause`` is the kind of its row's change, or None if no row of that shape changed.
    """

    kernel: str
    target: str
    emulated: bool
    shape: str
    asked: tuple[str, ...]
    before: str | None
    after: str | None
    cause: str | None


@dataclass(frozen=True)
class MeasureChange:
    """A kernel's page or the policy that changed, and what it allows more than before."""

    path: str
    kind: Literal["added", "removed", "changed"]
    loosened: tuple[str, ...]
    fields: tuple[Difference, ...]


@dataclass(frozen=True)
class ModelChange:
    """A model's needs that changed."""

    model: str
    kind: Literal["added", "removed", "changed", "unreadable"]
    needs_added: tuple[str, ...]
    needs_removed: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A verdict that the change adds and that did not pass."""

    row: str
    run_id: str
    status: str
    reason: str | None


@dataclass(frozen=True)
class Signed:
    """A verdict of before that has a new signature; ``signer`` is whose, as far as it is known."""

    artifact: str
    signer: str | None


@dataclass(frozen=True)
class Verdicts:
    """What happens to verdicts: how many are new, which of them did not pass, which are touched.

    ``edited`` and ``deleted`` are paths of old verdicts, logs and signatures.
    """

    added: int = 0
    not_passed: tuple[Run, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    signed: tuple[Signed, ...] = ()


@dataclass(frozen=True)
class Debt:
    """Rows that baseline.json owes: newly, and no more."""

    added: tuple[str, ...] = ()
    paid: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    owed: int = 0


@dataclass(frozen=True)
class Stale:
    """A row whose evidence has moved, with the reasons; ``newly`` if it was not so before."""

    row: str
    reasons: tuple[str, ...]
    newly: bool


@dataclass(frozen=True)
class Placed:
    """A finding at the reviewed state; ``touched`` if it is about something that the change did."""

    finding: Finding
    touched: bool


@dataclass(frozen=True)
class Review:
    """How ``head`` differs from ``base`` (a commit, or None for nothing), and what is wrong there.

    ``head`` is a commit, `index` or `worktree`. ``unjudged`` says why the commits in between were
    not judged one by one, if they were not.
    """

    base: str | None
    head: str
    title: str
    rows: tuple[RowChange, ...] = ()
    needs: tuple[NeedMove, ...] = ()
    answers: tuple[Answer, ...] = ()
    measures: tuple[MeasureChange, ...] = ()
    models: tuple[ModelChange, ...] = ()
    verdicts: Verdicts = field(default_factory=Verdicts)
    debt: Debt = field(default_factory=Debt)
    waivers: tuple[WaiverChange, ...] = ()
    stale: tuple[Stale, ...] = ()
    findings: tuple[Placed, ...] = ()
    records: int = 0
    unjudged: str | None = None

    @property
    def blocking(self) -> int:
        """Number of findings that refuse the state."""
        return sum(placed.finding.severity == "error" for placed in self.findings)
