"""The command line: imports the one verb's module that is asked for, and words its errors."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from registry_tool import __version__
from registry_tool.errors import EXIT_USAGE

if TYPE_CHECKING:
    import argparse
    from types import ModuleType

EXIT_INTERRUPTED = 130
EXIT_PIPE = 141

VERBS = {
    "init": "make a registry in a folder, with git hooks if asked",
    "shapes": "list the kernels and shapes that a model's config.json needs",
    "import": "read an existing registry's pages and JSON into rows, and report what disagrees",
    "plan": "show which needs are met, and with which tile the others would run",
    "verify": "run what is unmet on the target, judge it, and write the rows",
    "render": "write the tables, JSON files and shim from the records",
    "check": "judge the work tree, the index or a revision by the rules",
    "review": "say what changed between two commits, row by row, and what is wrong with it",
    "hook": "judge what a git hook stands before: a commit, a merge, a push",
    "merge-driver": "merge a row or a page of three versions (called by git)",
    "log": "show when each row appeared and changed, what got worse, and plots, from git alone",
    "blame": "show which commit last set each field of a row",
    "audit": "look in git's history for what should not have happened to evidence",
    "trailers": "add to a commit message which rows its verdicts prove (for a hook)",
    "lookup": "print the verified configuration of a shape",
    "judge": "read a saved harness log and say what it proves",
    "emulate": "run one kernel's emulated numerics and print its figures",
    "note": "add a remark to a row",
    "use": "credit a row to a model's call site",
    "waive": "accept one rule's complaint about a row until a day, with the reason",
    "sign": "sign verdicts with the SSH key that git uses",
    "attest": "write rows' verdicts as in-toto statements, for other tools",
    "retire": "remove a row; its verdicts stay",
    "absorb": "carry hand edits of generated tables back into the rows",
    "export": "write the rows as JSON Lines, CSV, or tuned-configuration JSON",
    "fmt": "put the registry's files into canonical form",
    "explain": "say what a rule means and what to do about it",
    "status": "count rows, needs and what is unmet",
    "doctor": "check machine, lock and harness tree for runs on hardware",
    "model": "show how far a model is, criterion by criterion, and write it into its files",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status (0 fine, 1 findings, 2 wrong use, 75 lock busy)."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        status = _dispatch(words)
    except KeyboardInterrupt:
        print(
            "registry-tool: interrupted; what was finished is kept\n"
            "  next: the same command again goes on from there",
            file=sys.stderr,
        )
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        status = EXIT_PIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        what_next = _NEXT.get(error.errno or 0, "")
        print(f"registry-tool: {where}{error.strerror or error}{what_next}", file=sys.stderr)
        status = EXIT_USAGE
    return _flushed(status)


_NEXT = {
    errno.ENOSPC: "\n  next: df -h . /tmp   # then type it again: nothing half written is left",
    errno.EDQUOT: "\n  next: quota   # then type it again: nothing half written is left",
    errno.EROFS: "\n  next: findmnt -T .   # the registry must be where it can be written",
    errno.EACCES: "\n  next: ls -ld . verdicts records   # the registry must be yours to write",
}


def _open_streams() -> None:
    """A stream that the caller closed (`>&-`) is None in Python; printing to it goes nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            # It lives as long as the process.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's alphabet lacks is written out.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _in_utf8() -> None:
    """Programs read documents as UTF-8, whatever the alphabet of the terminal is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def _flushed(status: int) -> int:
    """``status``, after what is still buffered was printed: a reader that left changes nothing."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"registry-tool: cannot print: {error.strerror}", file=sys.stderr)
            return EXIT_USAGE
    return status


def _dispatch(words: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        print(f"registry-tool {__version__}")
        return 0
    verb = next((word for word in words if word in VERBS), None)
    return _without_verb(words) if verb is None else _run(verb, words)


def _run(verb: str, words: list[str]) -> int:
    from importlib import import_module

    from registry_tool.errors import ToolError

    at = words.index(verb)
    # A file cannot be called import.py: the word is Python's own.
    name = "import_" if verb == "import" else verb.replace("-", "_")
    module = import_module(f"registry_tool.commands.{name}")
    parser = _parser(verb, module)
    try:
        # Common options may stand before the verb as well as after it.
        args = parser.parse_args([*words[:at], *words[at + 1 :]])
        if args.format != "text":
            _in_utf8()
        status: int = module.run(args)
        return status
    except ToolError as error:
        from registry_tool.report.escape import start

        words_ = f"registry-tool {verb}: {error}"
        print("\n".join(map(start, words_.split("\n"))), file=sys.stderr)
        return error.exit_status
    except OSError:
        raise
    except RecursionError:
        print(f"registry-tool {verb}: the input is nested too deeply", file=sys.stderr)
        return EXIT_USAGE
    except Exception as error:
        if os.environ.get("REGISTRY_TOOL_DEBUG"):
            raise
        print(
            f"registry-tool {verb}: this is a bug: {type(error).__name__}: {error}\n"
            "  next: run it again with REGISTRY_TOOL_DEBUG=1 and report the traceback",
            file=sys.stderr,
        )
        return EXIT_USAGE


def _parser(verb: str, module: ModuleType) -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog=f"registry-tool {verb}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    common = parser.add_argument_group("common options")
    common.add_argument(
        "--registry", metavar="DIR", help="the registry (default: found from here upward)"
    )
    common.add_argument(
        "--format",
        choices=getattr(module, "FORMATS", ("text",)),
        default="text",
        help="how to print the result",
    )
    common.add_argument("--quiet", "-q", action="store_true", help="print only what went wrong")
    return parser


def _without_verb(words: list[str]) -> int:
    wanted = [word for word in words if not word.startswith("-")]
    usage = "usage: registry-tool VERB [OPTIONS]   (registry-tool VERB --help for each)"
    verbs = "\n".join(f"  {verb:<12} {text}" for verb, text in VERBS.items())
    if not wanted and set(words) <= {"-h", "--help"}:
        print(f"{usage}\n\n{verbs}\n\n  --version  print the version")
        return 0 if words else EXIT_USAGE
    import difflib

    name = wanted[0] if wanted else words[0]
    close = difflib.get_close_matches(name, VERBS, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    print(f"registry-tool: unknown command {name!r}{hint}\n{usage}", file=sys.stderr)
    return EXIT_USAGE
