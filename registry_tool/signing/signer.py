"""Whose signature a verdict has, for whatever shows it to people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from registry_tool.signing import keys, sshsig, trust
from registry_tool.signing.fault import Fault
from registry_tool.signing.judge import Subject, judge_all
from registry_tool.signing.names import NAMESPACE, names_of
from registry_tool.signing.times import Added
from registry_tool.signing.trust import Trust
from registry_tool.signing.wire import WireError
from registry_tool.store.cache import Cache
from registry_tool.store.registry import POLICY, read_policy
from registry_tool.store.snapshot import Snapshot


class Signer(NamedTuple):
    """Who signed a verdict; ``fault`` and ``message`` say why the signature does not count.

    ``principal`` is None for a key that nobody is known for, ``fingerprint`` for what is no
    signature at all.
    """

    principal: str | None
    fingerprint: str | None
    fault: Fault | None = None
    message: str = ""

    @property
    def text(self) -> str:
        """The signer in a few words, e.g. ``alice@example.org`` or ``unknown key SHA256:...``."""
        who = self.principal or (f"key {self.fingerprint}" if self.fingerprint else "nobody")
        return who if self.fault in (None, "late") else f"{who} ({_WORDS[self.fault]})"


_WORDS = {
    "bad": "not a signature of it",
    "unknown": "unknown",
    "untimely": "not valid then",
    "revoked": "revoked",
    "role": "without the role",
}


def signer_of(snapshot: Snapshot, path: str) -> Signer | None:
    """Whose signature the verdict ``path`` has in a state, fully verified; None if it has none.

    Where several are there, the first that counts. Raises KeyError if the state has no such path,
    InputError for a broken registry.yaml. For many verdicts of a state, take `reader`.
    """
    folder, _, name = path.rpartition("/")
    cut = len(snapshot.repository.prefix) if snapshot.repository else 0
    beside = [line[line.index("\t") + 1 + cut :] for line in snapshot.below([folder])]
    names = names_of(name, [one[len(folder) + 1 :] for one in beside])
    return _judged(snapshot, path, names, trust_of(snapshot), Added(snapshot))


def reader(snapshot: Snapshot) -> Callable[[str], Signer | None]:
    """`signer_of` for all verdicts of one state: policy, signers and names are read once."""
    known, added = trust_of(snapshot), Added(snapshot)
    signatures: dict[str, list[str]] = {}
    for path in snapshot.oids:
        if path.startswith("verdicts/") and path.endswith(".sig"):
            folder, _, name = path.rpartition("/")
            signatures.setdefault(folder, []).append(name)

    def ask(path: str) -> Signer | None:
        folder, _, name = path.rpartition("/")
        names = names_of(name, signatures.get(folder, ()))
        return _judged(snapshot, path, names, known, added)

    return ask


def _judged(
    snapshot: Snapshot, path: str, names: Sequence[str], known: Trust, added: Added
) -> Signer | None:
    if not names:
        return None
    folder, _, verdict = path.rpartition("/")
    contents = snapshot.read_many([path, *(f"{folder}/{name}" for name in names)])
    subject = Subject(path, contents[path], verdict.removesuffix(".json"), path.split("/")[1])
    beside = {name: contents[f"{folder}/{name}"] for name in names}
    found = judge_all(subject, beside, known, added)
    best = next((one for one in found if one.counts), found[0])
    return Signer(best.principal, best.fingerprint, best.fault, best.message)


def trust_of(snapshot: Snapshot) -> Trust:
    """Whom a state trusts, lines that cannot be read left out; raises InputError."""
    policy = read_policy(snapshot, Cache(snapshot.repository), POLICY)

    def fetch(path: str) -> bytes | None:
        return snapshot.read(path) if path in snapshot.oids else None

    return trust.read(policy, fetch)[0]


def claimed(data: bytes, known: Trust) -> Signer:
    """Who a signature says that it is by, without a look at what it signs: for long lists.

    Nothing is verified; the fault ``unknown`` means that no allowed signer has the key.
    """
    try:
        signature = sshsig.parse(data)
    except WireError as error:
        return Signer(None, None, "bad", str(error))
    fingerprint = keys.fingerprint(signature.key)
    names = [n for one in known.of_key(signature.key) if one.is_for(NAMESPACE) for n in one.names]
    fault: Fault | None = None if names else "unknown"
    if known.revoked.holds(signature.key):
        fault = "revoked"
    return Signer(names[0] if names else None, fingerprint, fault)
