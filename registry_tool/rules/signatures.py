"""KR121-KR126: verdicts are signed where the policy asks for it, by whom the registry trusts."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import ChangeView, FolderView, PathView, RowView, VerdictView

SIGNATURE_RULES = ("KR121", "KR122", "KR123", "KR124", "KR125", "KR126")
_POLICY = "registry.yaml"


def _unsigned(row: RowView) -> Iterator[Complaint]:
    trust = row.context.trust
    if trust is None or row.verdict is None or row.verdict.signed:
        return
    # An import is nobody's run: what it lacks is a run, and not a signature.
    if row.record.verdict.kind != "imported" and trust.level(row.record.target) == "required":
        yield Complaint(
            f"signing is required for {row.record.target}, and {row.record.verdict.artifact} has "
            "no signature",
            "/verdict/artifact",
        )


def _bad(view: VerdictView) -> Iterator[Complaint]:
    folder = view.path.rpartition("/")[0]
    for one in view.signed:
        if one.fault == "bad":
            yield Complaint(
                f"it is no signature of {view.run_id}.json: {one.message}",
                path=f"{folder}/{one.name}",
                line=1,
            )


def _stray(folder: FolderView) -> Iterator[Complaint]:
    signatures = [name for name in folder.names if name.endswith(".sig")]
    if not signatures:
        return
    from registry_tool.signing.names import verdict_of

    for name in signatures:
        if verdict_of(name) not in folder.names:
            yield Complaint(
                "the verdict that it signs is not there",
                path=f"{folder.path}/{name}",
                line=1,
                fix="git rm it, unless its verdict belongs back: git checkout HEAD -- VERDICT",
                severity="warning",
            )


def _slow(path: PathView) -> Iterator[Complaint]:
    if path.kind == "signers" and importlib.util.find_spec("cryptography") is None:
        yield Complaint(
            "signatures are checked by ssh-keygen one by one, since the Python package "
            "cryptography is not installed",
            fix="pip install cryptography",
            severity="warning",
        )


def _by_fault(*faults: str) -> Callable[[RowView], Iterator[Complaint]]:
    """The check for signatures of a row's own verdict that do not count for one reason.

    Beside one that counts they only warn: nobody may take a committed signature away.
    """

    def check(row: RowView) -> Iterator[Complaint]:
        if row.verdict is None:
            return
        is_signed = any(one.fault is None for one in row.verdict.signed)
        for one in row.verdict.signed:
            if one.fault in faults:
                yield Complaint(
                    one.message,
                    path=f"{row.verdict_folder}/{one.name}",
                    line=1,
                    severity="warning" if is_signed or one.counts else "error",
                )

    return check


def loosened_signing(view: ChangeView) -> Iterator[Complaint]:
    """What policy and signers allow more than before, where the same change needs it (KR110)."""
    before = None if view.base is None else view.base.trust
    if before is None:
        return
    from registry_tool.signing.loosening import loosenings

    words = loosenings(before, view.context.trust)
    if not words:
        return
    needing = view.unsigned_before()
    for path, complaint in needing:
        yield Complaint(
            f"this row passes only because the same change loosens who may sign ({words[0]}); as "
            f"it was: {complaint}",
            path=path,
            line=1,
            fix="let somebody who may sign already do it, or make the change of registry.yaml or "
            "signers/ first, in a change of its own that somebody else reviews",
        )
    if not needing:
        for text in words:
            yield Complaint(f"{text} (no row needs it yet)", path=_POLICY, severity="warning")


RULES = (
    Rule(
        id="KR121",
        title="unsigned",
        summary="A row of a target whose verdicts must be signed stands on one without a "
        "signature.",
        rationale="A log and its digests can be written by hand; only a signature says who vouches "
        "for the run.",
        fix="registry-tool sign ROW",
        on_row=_unsigned,
    ),
    Rule(
        id="KR122",
        title="badly signed",
        summary="A signature beside a verdict was not made over its bytes, cannot be read, was "
        "made for something else than verdicts, or has no verdict beside it (a warning).",
        rationale="Verdict or signature was edited, or the signature of another file was put "
        "there. That is an error where signing is optional, too.",
        fix="git checkout HEAD -- FILE, if it was edited; else git rm --cached -f FILE, rm FILE, "
        "and registry-tool sign ROW",
        on_path=_slow,
        on_folder=_stray,
        on_verdict=_bad,
    ),
    Rule(
        id="KR123",
        title="unknown signer",
        summary="The key that signed a row's verdict is not among the allowed signers, or not for "
        "this purpose.",
        rationale="Anybody can make a key. Whose keys count is written in the registry, where a "
        "change of it is reviewed.",
        fix="registry-tool sign ROW with an allowed key, or have the key added to the allowed "
        "signers in a change of its own",
        on_row=_by_fault("unknown"),
    ),
    Rule(
        id="KR124",
        title="signed out of time",
        summary="The key was not valid yet, or no longer, when the run was; or the run claims to "
        "be later than the commit that brought it. A signature that came after the key's end, for "
        "a run before it, warns.",
        rationale="The time of a run is its own word; the commit that brought it bounds it from "
        "above, and the key's interval from both sides.",
        fix="VERIFY --force with a key that is valid, or registry-tool sign ROW by somebody whose "
        "key was valid then",
        on_row=_by_fault("untimely", "late"),
    ),
    Rule(
        id="KR125",
        title="revoked signer",
        summary="The key that signed a row's verdict is revoked, whenever it signed.",
        rationale="Whoever has a lost key can date a verdict as he likes, so no time makes its "
        "signatures good again.",
        fix="VERIFY --force signed by another key, or registry-tool sign ROW by somebody who "
        "vouches for the run",
        on_row=_by_fault("revoked"),
    ),
    Rule(
        id="KR126",
        title="signer without the role",
        summary="The signer may sign, but not for the row's target.",
        rationale="Who has the device can vouch for runs on it; a key for an emulated target says "
        "nothing about hardware.",
        fix="registry-tool sign ROW by somebody whom signers.roles names for the target",
        on_row=_by_fault("role"),
    ),
)
