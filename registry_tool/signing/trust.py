"""Whom a registry trusts to sign: its policy with the signers' files that it names, read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from registry_tool.records.spec import Policy, Signers, Signing
from registry_tool.signing import allowed, revoked
from registry_tool.signing.allowed import Entry
from registry_tool.signing.revoked import Revoked

_POLICY = "registry.yaml"


@dataclass(frozen=True)
class Trust:
    """Who may sign for which target; ``allowed_data`` and ``revoked_data`` are the files' bytes."""

    levels: Mapping[str, Signing]
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    entries: Sequence[Entry] = ()
    revoked: Revoked = field(default_factory=Revoked)
    allowed_data: bytes = b""
    revoked_data: bytes = b""
    default: Signing = "off"

    def level(self, target: str) -> Signing:
        """Whether verdicts of ``target`` must be signed; ``default`` if nothing is said of it."""
        return self.levels.get(target, self.default)

    def of_key(self, key: bytes) -> list[Entry]:
        """The lines that name ``key`` itself."""
        return self._by_key.get(key, [])

    @cached_property
    def _by_key(self) -> Mapping[bytes, list[Entry]]:
        found: dict[bytes, list[Entry]] = {}
        for one in self.entries:
            if not one.is_authority:
                found.setdefault(one.key, []).append(one)
        return found

    def may_sign(self, principals: Sequence[str], target: str) -> bool:
        """Whether one of ``principals`` has the role for ``target``."""
        return not self.roles or any(target in self.roles.get(name, ()) for name in principals)


class Trouble(NamedTuple):
    """What is wrong with a signers' file, or with what the policy says of it."""

    path: str
    line: int
    message: str
    is_missing: bool = False


def read(policy: Policy, fetch: Callable[[str], bytes | None]) -> tuple[Trust, list[Trouble]]:
    """The trust that ``policy`` sets, and what is wrong with its files.

    ``fetch`` gives the bytes of a path of the registry, or None. Lines that cannot be read are
    left out; whoever judges says so.
    """
    signers = policy.signers or Signers()
    troubles = list(_roles_amiss(policy, signers))
    data = fetch(signers.allowed)
    entries: list[Entry] = []
    if data is None:
        words = f"{signers.allowed}, which says who may sign, is not there"
        troubles.append(Trouble(_POLICY, 1, words, True))
    else:
        entries, bad = allowed.parse(data)
        troubles += [Trouble(signers.allowed, *one) for one in bad]
    gone, gone_data = Revoked(), None
    if signers.revoked is not None:
        gone_data = fetch(signers.revoked)
        if gone_data is None:
            words = f"{signers.revoked}, which says which keys are revoked, is not there"
            troubles.append(Trouble(_POLICY, 1, words, True))
        else:
            gone, bad = revoked.parse(gone_data)
            troubles += [Trouble(signers.revoked, *one) for one in bad]
    levels = {name: policy.signing_of(name) for name in policy.targets}
    trust = Trust(
        levels, signers.roles, entries, gone, data or b"", gone_data or b"", policy.signing
    )
    return trust, troubles


def _roles_amiss(policy: Policy, signers: Signers) -> Iterator[Trouble]:
    for principal, targets in signers.roles.items():
        for name in targets:
            if name not in policy.targets:
                words = f"signers.roles: {principal} may sign for {name!r}, which is no target"
                yield Trouble(_POLICY, 1, words)
