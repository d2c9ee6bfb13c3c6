"""KR106 and KR110: what a change may not do to evidence that is committed, and to the measure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from registry_tool.records import catalog
from registry_tool.records.spec import KernelSpec, Policy
from registry_tool.rules.layout import row_of
from registry_tool.rules.loosening import (
    extensions,
    harness_changes,
    loose_figures,
    loosened_target,
    loosenings,
)
from registry_tool.rules.model import Complaint
from registry_tool.rules.severity import entries
from registry_tool.rules.signatures import loosened_signing
from registry_tool.rules.views import ChangeView, FileView, RowView

_POLICY = "registry.yaml"


def artifact_changed(view: ChangeView) -> Iterator[Complaint]:
    """What was committed as evidence, and is other bytes now, or gone while it is cited."""
    for change in view.changes:
        row = row_of(change.path)
        if row is None or not change.path.startswith("verdicts/"):
            continue
        if change.is_there:
            if not view.is_original(change.path, change.new_oid):
                yield Complaint("it was edited after it was committed", path=change.path)
        elif view.cited(row, posixpath.basename(change.path)):
            yield Complaint(f"it was deleted, and the row {row} cites its run", path=change.path)


def loose_file(file: FileView) -> Iterator[Complaint]:
    """What a page or registry.yaml allows that none may."""
    yield from _loose_override(file)
    yield from _lowered(file)


def _loose_override(file: FileView) -> Iterator[Complaint]:
    """What an override of a built-in page allows more than that page."""
    if isinstance(file.value, KernelSpec):
        page = catalog.built_in().get(file.value.kernel)
        if page is not None:
            for words in [*loosenings(page, file.value), *extensions(page, file.value)]:
                yield Complaint(f"{words}; {_ONLY_TIGHTEN}", line=1)
            for words in harness_changes(page, file.value):
                yield Complaint(
                    f"{words}: what its rows prove hangs on these commands",
                    line=1,
                    severity="warning",
                    fix="nothing must be done, if the harness tree really needs it",
                )


def loose_at_row(row: RowView) -> Iterator[Complaint]:
    """The same for the figures of one row, which no sample shape may have shown."""
    page = catalog.built_in().get(row.record.kernel)
    if page is not None and row.spec is not None and row.spec is not page:
        for words in loose_figures(page, row.spec, row.record):
            yield Complaint(f"{words}; {_ONLY_TIGHTEN}", path=f"kernels/{page.kernel}.yaml", line=1)


_ONLY_TIGHTEN = "an override of a built-in page may only tighten it"


def _lowered(file: FileView) -> Iterator[Complaint]:
    """What registry.yaml lowers though no row may waive it."""
    if isinstance(file.value, Policy):
        from registry_tool.records.yaml_errors import line_of

        for target, rule, level in entries(file.value):
            known = file.rules.get(rule)
            if known is None or level == "error" or known.lowers != "never":
                continue
            place = ["targets", target, "rules", rule] if target else ["rules", rule]
            yield Complaint(
                f"{rule} ({known.title}) cannot be lowered, {level!r} has no effect: no row may "
                "waive what it finds",
                f"/{'/'.join(place)}",
                line=line_of(file.data, place),
                fix=f"remove {rule} from `rules`; registry-tool explain {rule} says what it is for",
            )


def loosened(view: ChangeView) -> Iterator[Complaint]:
    """What pages and policy allow more than before, where the same change needs it."""
    if view.base is None:
        return
    for change in view.changes:
        if change.path.startswith("kernels/") and change.path.endswith(".yaml"):
            yield from _loosened_page(view, change.path)
        elif change.path == _POLICY:
            yield from _loosened_policy(view)
    yield from loosened_signing(view)


def _loosened_page(view: ChangeView, path: str) -> Iterator[Complaint]:
    name = path.removeprefix("kernels/").removesuffix(".yaml")
    assert view.base is not None
    before, after = view.base.specs.get(name), view.context.specs.get(name)
    if before is None or after is None:
        return
    words = [*loosenings(before, after, view.rows_of(name)), *harness_changes(before, after)]
    if not words:
        return
    needing = view.fail_before(name)
    for record_path, complaint in needing:
        yield Complaint(
            f"this row passes only because the same change edits {path} ({words[0]}); with the "
            f"page as it was: {complaint}",
            path=record_path,
        )
    if not needing:
        for text in words:
            yield Complaint(f"{text} (no row needs it yet)", path=path, severity="warning")


def _loosened_policy(view: ChangeView) -> Iterator[Complaint]:
    assert view.base is not None
    for name, before in view.base.policy.targets.items():
        after = view.context.target(name)
        if after is None:
            continue
        if after.kind != before.kind:
            yield Complaint(
                f"the target {name} was {before.kind} and is {after.kind} now; what is written "
                "about the one says nothing about the other",
                path=_POLICY,
                fix="take the edit back, and give the other kind a target of its own",
            )
            continue
        words = loosened_target(name, before, after)
        needing = view.rows_fail_before(name) if words else ()
        for record_path, complaint in needing:
            yield Complaint(
                f"this row passes only because the same change edits {_POLICY} ({words[0]}); with "
                f"the policy as it was: {complaint}",
                path=record_path,
            )
        if not needing:
            for text in words:
                yield Complaint(f"{text} (no row needs it yet)", path=_POLICY, severity="warning")
