"""What one signature of a verdict is worth, under a registry's trust; pure but for ssh-keygen.

In process where `cryptography` is there and the key is a plain one; certificates are ssh-keygen's
to judge, and everything is without the library.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import NamedTuple

from registry_tool.signing import keys, sshsig
from registry_tool.signing.allowed import Entry
from registry_tool.signing.fault import Fault
from registry_tool.signing.names import NAMESPACE, names_of
from registry_tool.signing.sshsig import SshSignature
from registry_tool.signing.trust import Trust
from registry_tool.signing.wire import WireError

SKEW_S = 300
"""How far the clock of the machine that ran may be ahead of the one that committed."""


class Signed(NamedTuple):
    """One signature of a verdict: who made it, or what is wrong with it (``fault``, ``message``).

    A signature with the fault ``late`` counts, but only the verdict itself says when it was made.
    """

    name: str
    fault: Fault | None = None
    message: str = ""
    principal: str | None = None
    fingerprint: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it vouches for the verdict."""
        return self.fault in (None, "late")


class Moment(NamedTuple):
    """When a run was (seconds since 1970), and by when verdict and signature were committed."""

    ran: int
    verdict_by: int
    signature_by: int


class Subject(NamedTuple):
    """What is signed: a verdict's path and bytes, its run id, and the target that it is about."""

    path: str
    data: bytes
    run_id: str
    target: str


@cache
def has_library() -> bool:
    """Whether signatures can be verified in this process."""
    return importlib.util.find_spec("cryptography") is not None


def time_of(run_id: str) -> int:
    """When a run started, by its id; raises ValueError for no time."""
    # Ten times as fast as strptime, and done for every verdict.
    year, month, day = int(run_id[0:4]), int(run_id[4:6]), int(run_id[6:8])
    hour, minute, second = int(run_id[9:11]), int(run_id[11:13]), int(run_id[13:15])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    return int(moment.timestamp())


def _nothing(message: bytes, signature: bytes) -> bool:
    return False


def judge_all(
    subject: Subject,
    beside: Mapping[str, bytes],
    trust: Trust,
    added: Callable[[str], int],
    is_known: Callable[[bytes, bytes], bool] = _nothing,
) -> list[Signed]:
    """Each signature of ``subject`` among the files ``beside`` it (name to bytes).

    ``added`` says when a path was committed, or that it is now (seconds since 1970); ``is_known``
    whether a message (first) is known to have been signed so (second).
    """
    folder, _, verdict = subject.path.rpartition("/")
    found = []
    for name in names_of(verdict, beside):
        try:
            ran = time_of(subject.run_id)
        except ValueError:
            found.append(Signed(name, "untimely", f"the run id {subject.run_id} is no time"))
            continue
        moment = Moment(ran, added(subject.path), added(f"{folder}/{name}"))
        found.append(
            judge(name, beside[name], subject.data, subject.target, trust, moment, is_known)
        )
    return found


def judge(
    name: str,
    data: bytes,
    message: bytes,
    target: str,
    trust: Trust,
    moment: Moment,
    is_known: Callable[[bytes, bytes], bool] = _nothing,
) -> Signed:
    """The signature file ``data`` called ``name``, of the verdict file ``message``."""
    fingerprint = None
    try:
        signature = sshsig.parse(data)
        fingerprint = keys.fingerprint(signature.key)
        if not is_known(message, data):
            check_bytes(signature, data, message)
    except WireError as error:
        return Signed(name, "bad", str(error), None, fingerprint)
    if keys.is_certificate(signature.key_type):
        from registry_tool.signing import keygen

        found = keygen.judge_certificate(signature.key, data, message, trust, moment.ran)
        fault, words, principals = found.fault, found.message, found.principals
        entries: list[Entry] = []
    else:
        if trust.revoked.holds(signature.key):
            return _revoked(name, signature, trust, fingerprint)
        lines = trust.of_key(signature.key)
        # A line may exclude everybody whom it names.
        entries = [one for one in lines if one.is_for(NAMESPACE) and one.names]
        fault, words, principals = _by_key(signature, entries, trust, moment.ran)
    who = principals[0] if principals else None
    if fault is None:
        fault, words = _by_policy(principals, entries, target, trust, moment)
    return Signed(name, fault, words, who, fingerprint)


def check_bytes(signature: SshSignature, data: bytes, message: bytes) -> None:
    """Raise WireError unless ``signature`` (``data``, parsed) was made over ``message``, for us."""
    if signature.namespace != NAMESPACE.encode():
        said = signature.namespace.decode("utf-8", "backslashreplace")
        raise WireError(f"it was made for {said!r}, not for {NAMESPACE!r}")
    if has_library() and not keys.is_certificate(signature.key_type):
        from registry_tool.signing import crypto

        crypto.verify(signature, message)
    else:
        from registry_tool.signing import keygen

        keygen.verify_bytes(data, message)


def _revoked(name: str, signature: SshSignature, trust: Trust, fingerprint: str) -> Signed:
    entries = trust.of_key(signature.key)
    who = entries[0].names[0] if entries and entries[0].names else None
    return Signed(name, "revoked", f"the key {fingerprint} is revoked", who, fingerprint)


def _by_key(
    signature: SshSignature, entries: Sequence[Entry], trust: Trust, ran: int
) -> tuple[Fault | None, str, list[str]]:
    """What the lines of a plain key say of a signature made at ``ran``; whose it is."""
    fingerprint = keys.fingerprint(signature.key)
    if not entries:
        elsewhere = [one for one in trust.of_key(signature.key) if not one.is_for(NAMESPACE)]
        words = f"the key {fingerprint} is not among the allowed signers"
        if elsewhere:
            said = elsewhere[0].namespaces
            words = f"the key {fingerprint} is allowed for {said} alone, not for {NAMESPACE}"
        return "unknown", words, []
    valid = [one for one in entries if _is_valid(one, ran)]
    if not valid:
        one = entries[0]
        if one.valid_after is not None and ran < one.valid_after:
            words = f"is valid from {_shown(one.valid_after)} on"
        else:
            words = f"was valid until {_shown(one.valid_before or 0)}"
        return "untimely", f"the key {fingerprint} {words}; the run is of {_shown(ran)}", one.names
    return None, "", [name for one in valid for name in one.names]


def _is_valid(entry: Entry, moment: int) -> bool:
    after, before = entry.valid_after, entry.valid_before
    return (after is None or moment >= after) and (before is None or moment <= before)


def _by_policy(
    principals: Sequence[str], entries: Sequence[Entry], target: str, trust: Trust, moment: Moment
) -> tuple[Fault | None, str]:
    if moment.ran > moment.verdict_by + SKEW_S:
        return "untimely", (
            f"the run says that it is of {_shown(moment.ran)}, later than the commit that brought "
            f"it or this check ({_shown(moment.verdict_by)})"
        )
    if not trust.may_sign(principals, target):
        return "role", f"{', '.join(principals)} may not sign for {target}"
    valid = [one for one in entries if _is_valid(one, moment.ran)]
    ends = [one.valid_before for one in valid if one.valid_before is not None]
    end = max(ends, default=0)
    if valid and len(ends) == len(valid) and moment.signature_by > end:
        return "late", (
            f"the key was valid until {_shown(end)} and the signature came after that "
            f"({_shown(moment.signature_by)}): only the verdict itself says that it is older"
        )
    return None, ""


def _shown(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
