"""Say what a rule of the gate means, why it is there, and what to do about a finding of it."""

from __future__ import annotations

import argparse

from registry_tool.commands.common import say, say_json
from registry_tool.errors import EXIT_OK, UsageError
from registry_tool.rules.catalog import BY_ID, RULES
from registry_tool.rules.docs import as_json, line_text, rule_text
from registry_tool.rules.model import Rule

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rule."""
    parser.add_argument("rule", nargs="?", metavar="RULE", help="a rule's id, e.g. KR105")


def run(args: argparse.Namespace) -> int:
    """Print one rule, or the list of all."""
    if args.rule is None:
        if args.format == "json":
            say_json([as_json(rule) for rule in RULES])
        else:
            say("\n".join(map(line_text, RULES)))
        return EXIT_OK
    rule = _rule(args.rule)
    if args.format == "json":
        say_json(as_json(rule))
    else:
        say(rule_text(rule))
    return EXIT_OK


def _rule(name: str) -> Rule:
    wanted = name.upper()
    if wanted.isdigit():
        wanted = f"KR{wanted}"
    try:
        return BY_ID[wanted]
    except KeyError:
        raise UsageError(
            f"no rule is called {name!r}; there are {RULES[0].id} to {RULES[-1].id}",
            fix="registry-tool explain   # lists them",
        ) from None
