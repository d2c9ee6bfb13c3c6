"""What `verify` does about signatures: its options, and signing what it has just written."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from registry_tool.commands.common import warn

if TYPE_CHECKING:
    from registry_tool.signing.key import Key
    from registry_tool.store.registry import Registry


class Signing(NamedTuple):
    """The signatures that were written; whether the policy asks for some that could not be."""

    written: Sequence[str] = ()
    is_lacking: bool = False


def add_signing(group: argparse._ArgumentGroup) -> None:
    """The options `--sign`, `--no-sign` and `--key`."""
    choice = group.add_mutually_exclusive_group()
    choice.add_argument(
        "--sign",
        action="store_true",
        default=None,
        help="sign the verdicts, whatever the policy says",
    )
    choice.add_argument("--no-sign", dest="sign", action="store_false", help="sign nothing")
    add_key(group)


def add_key(parser: argparse._ActionsContainer) -> None:
    """The option `--key`."""
    parser.add_argument(
        "--key", metavar="FILE", help="SSH key to sign with (default: git's user.signingkey)"
    )


def announce_touch(key: Key, number: int) -> None:
    """Say that a security key will wait for a touch: ssh-keygen's own words are not shown."""
    if key.wants_a_touch:
        warn(f"touch the security key when it blinks, {number} time{'' if number == 1 else 's'}")


def require_key(registry: Registry, args: argparse.Namespace) -> None:
    """Raise SigningError before anything runs, if a key was asked for and there is none."""
    if args.sign or (args.key is not None and args.sign is None):
        from registry_tool.signing.key import chosen

        with chosen(registry.root, args.key):
            return


def sign_new(
    registry: Registry, target: str, written: Sequence[str], args: argparse.Namespace
) -> Signing:
    """Sign the verdicts among ``written``, where policy or user ask for it.

    Without a key where the policy asks, it says so: the runs stand, and can be signed later.
    """
    paths = [path for path in written if path.startswith("verdicts/") and path.endswith(".json")]
    level = registry.policy.signing_of(target)
    asked = args.sign or args.key is not None
    if not paths or (level == "off" and not asked):
        return Signing()
    if args.sign is False:
        if level == "required":
            warn(f"not signed, and {target} requires it: registry-tool sign --all-unsigned")
        return Signing((), level == "required")
    from registry_tool.signing import act
    from registry_tool.signing.key import chosen, is_configured
    from registry_tool.signing.keygen import SigningError

    if not asked and level == "optional" and not is_configured(registry.root):
        return Signing()
    try:
        with chosen(registry.root, args.key) as key:
            announce_touch(key, len(paths))
            return Signing(act.sign(registry.root, paths, key))
    except SigningError as error:
        warn(f"not signed: {error}")
        warn("  then: registry-tool sign --all-unsigned")
        return Signing((), level == "required" or bool(asked))
