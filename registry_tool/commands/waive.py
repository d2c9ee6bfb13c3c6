"""Accept one rule's complaint about a row until a day (or take that back); the change is staged.

The row shows it with its reason. A second waiver of the same rule replaces the first. What may
never be waived cannot be, and what only an imported row may waive no other can.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import parse_line, say
from registry_tool.errors import UsageError

if TYPE_CHECKING:
    from registry_tool.records.record import Record
    from registry_tool.rules.model import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `waive`."""
    parser.add_argument("row", metavar="ROW", help="path, target/kernel/key, or its unique end")
    parser.add_argument("rule", metavar="RULE", help="the rule's id, e.g. KR202")
    parser.add_argument("--reason", metavar="TEXT", help="why the complaint is acceptable")
    parser.add_argument("--by", metavar="NAME", help="who decided")
    parser.add_argument("--expires", metavar="DATE", help="last day of it, YYYY-MM-DD")
    parser.add_argument("--remove", action="store_true", help="take the waiver away instead")


def run(args: argparse.Namespace) -> int:
    """Write the record; raises UsageError for a waiver that could not hold."""
    from msgspec.structs import replace

    from registry_tool.commands.edits import edit
    from registry_tool.records.record import Waiver

    if args.remove:
        name = args.rule.upper()
        row = edit(args, lambda record: _without(record, name))
        say(f"{row}: {name} is waived no more")
        return 0
    rule = _rule(args.rule)
    missing = [name for name in ("reason", "by", "expires") if getattr(args, name) is None]
    if missing:
        raise UsageError(f"a waiver needs {', '.join(f'--{name}' for name in missing)} too")
    today, expires = _today(), _last_day(args.expires)
    waiver = Waiver(
        rule=rule.id,
        reason=parse_line(args.reason, "--reason"),
        by=parse_line(args.by, "--by"),
        date=today,
        expires=expires,
    )

    def change(record: Record) -> Record:
        if rule.waivable == "imported" and record.verdict.kind != "imported":
            raise UsageError(
                f"{rule.id} may be waived by an imported row only, and this one stands on a "
                f"verdict of the kind {record.verdict.kind!r}",
                fix=f"registry-tool explain {rule.id}",
            )
        kept = [one for one in record.waivers if one.rule != rule.id]
        return replace(record, waivers=[*kept, waiver])

    row = edit(args, change)
    say(f"{row}: {rule.id} waived until {expires}: {waiver.reason}")
    return 0


def _without(record: Record, rule: str) -> Record:
    from msgspec.structs import replace

    kept = [one for one in record.waivers if one.rule != rule]
    if len(kept) == len(record.waivers):
        known = ", ".join(one.rule for one in record.waivers) or "nothing"
        raise UsageError(f"the row does not waive {rule}; it waives {known}")
    return replace(record, waivers=kept)


def _rule(name: str) -> Rule:
    from registry_tool.rules.catalog import BY_ID

    rule = BY_ID.get(name.upper())
    if rule is None:
        raise UsageError(f"no rule is called {name!r}", fix="registry-tool explain")
    if rule.waivable == "never":
        raise UsageError(
            f"{rule.id} ({rule.title}) can never be waived", fix=f"registry-tool explain {rule.id}"
        )
    return rule


def _last_day(text: str) -> str:
    from datetime import date

    try:
        day = date.fromisoformat(text).isoformat()
    except ValueError:
        day = ""
    # Newer Pythons read other spellings of a day as well.
    if day != text:
        raise UsageError(f"--expires {text!r} is no day; expected YYYY-MM-DD")
    if day < _today():
        raise UsageError(f"--expires {text} is over already")
    return day


def _today() -> str:
    import time

    # Like the gate, so that both mean the same day.
    return time.strftime("%Y-%m-%d", time.gmtime())
