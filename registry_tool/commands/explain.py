"""Say what a rule of the gate means, why it is there, and what to do about a finding of it."""

from __future__ import annotations

import argparse

from registry_tool.commands.common import say, say_json
from registry_tool.errors import EXIT_OK, UsageError
from registry_tool.rules.catalog import BY_ID, FAMILIES, RULES
from registry_tool.rules.docs import as_json, line_text, rule_text
from registry_tool.rules.selection import normal

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rule."""
    parser.add_argument(
        "rule", nargs="?", metavar="RULE", help="a rule's id, e.g. KR105, or a family's: KR1"
    )


def run(args: argparse.Namespace) -> int:
    """Print one rule, a family of them, or the list of all."""
    if args.rule is None:
        if args.format == "json":
            say_json([as_json(rule) for rule in RULES])
        else:
            say("\n".join(map(line_text, RULES)))
        return EXIT_OK
    name = normal(args.rule)
    if name in BY_ID:
        say_json(as_json(BY_ID[name])) if args.format == "json" else say(rule_text(BY_ID[name]))
        return EXIT_OK
    family = [rule for rule in RULES if name and rule.id.startswith(name)]
    if not family or name in ("K", "KR"):
        raise UsageError(
            f"no rule is called {args.rule!r}; there are {RULES[0].id} to {RULES[-1].id}, in the "
            f"families {', '.join(f'{name} ({what})' for name, what in FAMILIES.items())}",
            fix="registry-tool explain   # lists them",
        )
    if args.format == "json":
        say_json([as_json(rule) for rule in family])
    else:
        say("\n".join(map(line_text, family)))
        say(f"\nregistry-tool explain {family[0].id} says more about one")
    return EXIT_OK
