"""What a rule is; it knows neither how findings are printed nor where files live."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from registry_tool.rules.finding import Finding, Severity

if TYPE_CHECKING:
    from registry_tool.rules.views import (
        BaselineView,
        ChangeView,
        CommitView,
        FileView,
        FolderView,
        PageView,
        PathView,
        RowView,
        VerdictView,
    )

Waivable = Literal["never", "always", "warnings", "imported"]

WAIVABLE_TEXT: dict[Waivable, str] = {
    "never": "No waiver is possible.",
    "always": "A row may waive it, with a reason, an author and a last day.",
    "warnings": "A row may waive the warnings (guidelines), never the errors.",
    "imported": "A row whose verdict is imported may waive it; any other never.",
}


class Complaint(NamedTuple):
    """What a rule says about one place; `Finding` adds which rule and which row.

    ``pointer`` is an RFC 6901 pointer into the file, from which its line is found unless ``line``
    is given. ``path``, ``record``, ``fix`` and ``severity`` stand for those of the view and of the
    rule.
    """

    message: str
    pointer: str = ""
    path: str | None = None
    line: int | None = None
    fix: str | None = None
    severity: Severity | None = None
    record: str | None = None


Complaints = Iterable[Complaint]


@dataclass(frozen=True)
class Rule:
    """One thing that the gate refuses, and the functions that look for it.

    A rule may look at a path, a file, a row, a verdict, a row's folder of verdicts, a generated
    page, the baseline, a change of the registry, or a commit of a range; the engine hands each
    function the view that it asks for. What is ``owed`` is no error of an imported row that the
    baseline holds. A rule that rows may waive can be lowered in registry.yaml, and so can one that
    is ``by_policy``: what it finds is no fault of one row.
    """

    id: str
    title: str
    summary: str
    rationale: str
    fix: str
    severity: Severity = "error"
    waivable: Waivable = "never"
    owed: bool = False
    by_policy: bool = False
    on_path: Callable[[PathView], Complaints] | None = None
    on_file: Callable[[FileView], Complaints] | None = None
    on_row: Callable[[RowView], Complaints] | None = None
    on_verdict: Callable[[VerdictView], Complaints] | None = None
    on_folder: Callable[[FolderView], Complaints] | None = None
    on_page: Callable[[PageView], Complaints] | None = None
    on_baseline: Callable[[BaselineView], Complaints] | None = None
    on_change: Callable[[ChangeView], Complaints] | None = None
    on_commit: Callable[[CommitView], Complaints] | None = None

    @property
    def lowers(self) -> Literal["never", "warnings", "always"]:
        """Which of its findings registry.yaml may lower."""
        if self.by_policy or self.waivable == "always":
            return "always"
        return "warnings" if self.waivable == "warnings" else "never"


class Report(NamedTuple):
    """The answer of a check: what was found, over how many records, in how many seconds.

    ``debt`` counts the records that are imported and in the baseline.
    """

    findings: tuple[Finding, ...]
    records: int
    seconds: float
    debt: int = 0

    @property
    def blocking(self) -> int:
        """Number of findings that refuse the state."""
        return sum(finding.severity == "error" for finding in self.findings)
