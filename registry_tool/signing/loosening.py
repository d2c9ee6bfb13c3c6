"""Whether one trust accepts a signature, or the lack of one, that another does not."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.signing import keys
from registry_tool.signing.allowed import Entry
from registry_tool.signing.trust import Trust

_ORDER = ("off", "optional", "required")


def loosenings(before: Trust, after: Trust | None) -> list[str]:
    """What ``after`` (None: nothing is looked at) allows that ``before`` does not, in words."""
    found = list(_levels(before, after))
    if after is not None:
        found += [*_keys(before, after), *_roles(before, after), *_revoked(before, after)]
    return found


def _levels(before: Trust, after: Trust | None) -> Iterator[str]:
    targets = before.levels if after is None else {**before.levels, **after.levels}
    for target in targets:
        was, now = before.level(target), "off" if after is None else after.level(target)
        if _ORDER.index(now) < _ORDER.index(was):
            yield f"signing for {target} was {was} and is {now}"


def _keys(before: Trust, after: Trust) -> Iterator[str]:
    for entry in after.entries:
        same = [
            one
            for one in before.entries
            if (one.key, one.is_authority) == (entry.key, entry.is_authority)
        ]
        if any(_covers(one, entry) for one in same):
            continue
        key = keys.fingerprint(entry.key)
        if same:
            yield f"the key {key} of {entry.principals} may sign at other times, or for more"
        else:
            what = "certify" if entry.is_authority else "sign"
            yield f"{entry.principals} may {what} with the key {key}, which is new"


def _covers(old: Entry, new: Entry) -> bool:
    """Whether all that ``new`` allows was allowed by ``old``."""
    since, until = float("-inf"), float("inf")
    return (
        set(new.names) <= set(old.names)
        and (old.namespaces is None or old.namespaces == new.namespaces)
        and _or(old.valid_after, since) <= _or(new.valid_after, since)
        and _or(old.valid_before, until) >= _or(new.valid_before, until)
    )


def _or(moment: int | None, default: float) -> float:
    return default if moment is None else moment


def _roles(before: Trust, after: Trust) -> Iterator[str]:
    if not before.roles:
        return
    if not after.roles:
        yield "there are no roles any more: every signer may sign for every target"
    for principal, targets in after.roles.items():
        more = sorted(set(targets) - set(before.roles.get(principal, ())))
        if more:
            yield f"{principal} may sign for {', '.join(more)}, too"


def _revoked(before: Trust, after: Trust) -> Iterator[str]:
    was, now = before.revoked, after.revoked
    # By digest a key may be revoked now that was listed whole before.
    back = {one for one in was.blobs if not now.holds(one)}
    gone = len(back) + len(was.sha1 - now.sha1) + len(was.sha256 - now.sha256)
    if gone:
        yield f"{gone} key{'' if gone == 1 else 's'} are revoked no more"
