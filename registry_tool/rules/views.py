"""What the rules look at: a path, a file, a row, a verdict, a page, a change; never git.

Structs instead of dataclasses, because thousands of them are made in a check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from registry_tool.records import kernel
from registry_tool.records.verdict import StoredLog, Verdict

if TYPE_CHECKING:
    from registry_tool.records.explain import Problem
    from registry_tool.records.fields import Part
    from registry_tool.records.record import Record
    from registry_tool.records.spec import KernelSpec, Policy, Target
    from registry_tool.records.verdict import Band
    from registry_tool.rules.finding import Finding, RuleFacts
    from registry_tool.rules.layout import PathKind
    from registry_tool.signing.judge import Signed
    from registry_tool.signing.times import Added
    from registry_tool.signing.trust import Trust
    from registry_tool.signing.verified import Verified
    from registry_tool.store.git import Change
    from registry_tool.tables.answers import AnswerChange
    from registry_tool.tables.document import Region
    from registry_tool.tables.render import Page


class Context(Struct, frozen=True):
    """What every judgement reads besides the row itself: policy, kernel specs, model names.

    ``trust`` says who may sign, ``added`` when a file was committed, and ``verified`` which
    signatures are known; they are None where no signature is looked at.
    """

    policy: Policy
    specs: Mapping[str, KernelSpec]
    models: frozenset[str]
    trust: Trust | None = None
    added: Added | None = None
    verified: Verified | None = None

    def target(self, name: str) -> Target | None:
        """A target of registry.yaml."""
        return self.policy.targets.get(name)


class PathView(Struct, frozen=True):
    """A path of the state, and what stands there."""

    path: str
    kind: PathKind
    is_link: bool = False
    is_unmerged: bool = False


class FileView(Struct, frozen=True):
    """A file with the reasons why it cannot be taken as it is; ``value`` if it can be decoded.

    ``rules`` are all rules of the gate, by id, for the file that may change their levels.
    """

    path: str
    kind: PathKind
    data: bytes
    problems: Sequence[Problem]
    value: Part | None = None
    rules: Mapping[str, RuleFacts] = {}


class VerdictView(Struct, frozen=True):
    """A verdict with the files beside it.

    ``row`` and ``run_id`` are what its path says; ``files`` maps names in its folder to bytes;
    ``spec`` is its kernel's page if the registry knows it; ``elements`` are how many each output
    has by that page, empty if its dims are other ones. ``signed`` are its signatures, judged; none
    where the target's are not looked at.
    """

    path: str
    row: str
    run_id: str
    data: bytes
    verdict: Verdict
    context: Context
    files: Mapping[str, bytes]
    spec: KernelSpec | None
    elements: Sequence[int]
    signed: Sequence[Signed] = ()

    @property
    def sha256(self) -> str:
        """Digest of the verdict's file."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def log(self) -> bytes | None:
        """Standard output of the attempt that the verdict is about, if it is there."""
        attempts = self.verdict.attempts
        return self.files.get(attempts[-1].log.name) if attempts else None


def logs_of(verdict: Verdict) -> list[StoredLog]:
    """Every stored stream that a verdict names, in the order of its runs."""
    compiled = [] if verdict.compile is UNSET else [verdict.compile]
    runs = [*verdict.attempts, *(verdict.profile or []), *compiled]
    return [log for run in runs for log in (run.log, run.err)]


class FolderView(Struct, frozen=True):
    """A row's folder of verdicts: the names in it, and the verdicts that could be read.

    ``has_unread`` says that a verdict could not be, so that nobody knows which logs it names.
    """

    path: str
    names: Sequence[str]
    verdicts: Sequence[VerdictView]
    has_unread: bool


class RowView(Struct, frozen=True):
    """A record with the verdict that it cites.

    ``name`` is what its path says; ``spec`` its kernel's page, if the registry knows it and the
    row's fields fit it; ``verdict`` is None if the folder of the row's verdicts has no readable
    file of that name; ``beside`` are the row's other verdicts, ``newer`` those that ran after it;
    ``exists`` says whether a path is there.
    """

    path: str
    name: str
    record: Record
    context: Context
    spec: KernelSpec | None
    target: Target | None
    verdict: VerdictView | None
    newer: Sequence[Verdict]
    exists: Callable[[str], bool]
    beside: Sequence[Verdict] = ()

    @property
    def verdict_folder(self) -> str:
        """Where the row's verdicts stand."""
        return f"verdicts/{self.name}"

    def band(self) -> Band | None:
        """The plausible range of mean_rel_L1, if the page gives one."""
        record = self.record
        if self.spec is None:
            return None
        return kernel.band(self.spec, record.shape, record.variant, record.tile, record.herd)


def fits(spec: KernelSpec, record: Record) -> bool:
    """Whether dims, variant, knobs and herd axes are those of ``spec``, so that it can be asked."""
    return (
        list(record.shape) == spec.dims
        and list(record.tile) == list(spec.tile)
        and len(record.herd) == len(spec.herd)
        and (record.variant in spec.variants if spec.variants else record.variant is None)
    )


class EntryView(Struct, frozen=True, array_like=True):
    """What the baseline says of a row: digests of record and artifact, and the entry's line."""

    record: str
    artifact: str
    line: int


class BaselineView(Struct, frozen=True):
    """The baseline of a state beside its imported rows.

    ``entries`` are the baseline's, by row; ``imported`` maps each row that stands on an import to
    the digests of its record and artifact; ``unread`` are rows with a file that cannot be read, of
    which nobody knows.
    """

    entries: Mapping[str, EntryView]
    imported: Mapping[str, Sequence[str]]
    unread: Collection[str]


class LedgerView(Struct, frozen=True):
    """A change of the baseline, or of the rows beside it.

    ``before`` are the digests by row that stood in it last, None if there never was one;
    ``entries`` are those of now. ``added`` says whether this change adds a row's record, and
    ``returned`` are the imported rows that it puts where none, or a verdict, was.
    """

    before: Mapping[str, Sequence[str]] | None
    entries: Mapping[str, EntryView]
    added: Callable[[str], bool]
    returned: Mapping[str, str]


class LostView(LedgerView, frozen=True):
    """A ledger that is gone while imported rows still stand.

    ``rows`` is how many do, ``back`` the command that brings the file back; ``returned`` also
    holds the rows of the change that are not as the last ledger named them.
    """

    rows: int
    back: str


class AlteredView(Struct, frozen=True):
    """A lookup answer that differs from the base's although no record of its shape changed.

    ``path`` is the file that gives it; ``was_consistent`` says whether this tool makes the base's
    answer of the base's rows; ``of_default`` that it is asked for without a target.
    """

    change: AnswerChange
    path: str
    was_consistent: bool
    of_default: bool


class CommitView(Struct, frozen=True):
    """A commit of a range, and the errors that it brought in."""

    oid: str
    subject: str
    findings: Sequence[Finding]


class ChangeView(Struct, frozen=True):
    """What differs from the commit that this state goes on from; everything else is asked for.

    ``changes`` are those of evidence, pages and policy that stood in the base (and new pages),
    ``every`` all of them.
    ``base`` is the context of the base, None if it has no readable one. ``cited`` says whether a
    row of the state cites the run of a file (row, file name), ``is_original`` whether a blob is
    the one that a path was committed with at first. ``rows_of`` are the records of a kernel, and
    ``fail_before`` those that pass now and would not have passed with the base's pages and policy,
    each with the complaint; ``rows_fail_before`` the same of the rows of a target that the change
    touches. ``unsigned_before`` are those that the change touches and whose signatures suffice now,
    and would not have for the base. ``ledger`` is there if the baseline, or a row beside it,
    changed.

    ``changed_records`` gives path, and content before and after, of every record that both states
    have; ``verdicts`` decodes those at some paths, and ``dropped`` are those that the change
    deletes of a row that stays, each with the one that the row cites; ``is_new`` says whether a
    path is none of the base's, ``is_restored`` whether an earlier version of a record is like it,
    and nothing refuses the row; ``line_of`` where a pointer stands in a file. ``moment`` is when
    the change was made, s since 1970.
    """

    changes: Sequence[Change]
    every: Sequence[Change]
    context: Context
    base: Context | None
    cited: Callable[[str, str], bool]
    is_original: Callable[[str, str], bool]
    rows_of: Callable[[str], Sequence[Record]]
    fail_before: Callable[[str], Sequence[tuple[str, str]]]
    rows_fail_before: Callable[[str], Sequence[tuple[str, str]]]
    changed_records: Callable[[], Iterable[tuple[str, Record, Record]]]
    altered_answers: Callable[[], Iterable[AlteredView]]
    verdicts: Callable[[Sequence[str]], Iterable[tuple[str, Verdict]]]
    dropped: Callable[[], Iterable[tuple[str, Verdict, Verdict]]]
    is_new: Callable[[str], bool]
    is_restored: Callable[[str, Callable[[Record], bool]], bool]
    line_of: Callable[[str, str], int]
    moment: Callable[[], float]
    unsigned_before: Callable[[], Sequence[tuple[str, str]]]
    ledger: LedgerView | None = None


class PageView(Struct, frozen=True):
    """A generated file: what stands there (None: nothing), and what the rows render to.

    ``regions`` are those of a page with sound markers, ``key_columns`` the columns of its table
    that say which row a line shows.
    """

    path: str
    existing: bytes | None
    generated: Page
    regions: Sequence[Region]
    key_columns: Sequence[int] = (0,)
