"""Make a registry in a folder: policy, pages, JSON, shim and schemas; with git hooks if asked."""

from __future__ import annotations

import argparse
from pathlib import Path

from registry_tool.commands.common import say, warn
from registry_tool.commands.skeleton import ATTRIBUTES, IGNORE, POLICY_TEXT
from registry_tool.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `init`."""
    parser.add_argument("folder", metavar="DIR", nargs="?", help="where (default: here)")
    parser.add_argument(
        "--hooks", action="store_true", help="install the git hooks and merge drivers as well"
    )
    parser.add_argument(
        "--hook-kind", choices=("auto", "pre-commit", "plain"), default="auto",
        help="with --hooks: through pre-commit, or plain git hooks (default: pre-commit if it can)",
    )  # fmt: skip
    parser.add_argument(
        "--uninstall", action="store_true", help="with --hooks: take them away again"
    )


def run(args: argparse.Namespace) -> int:
    """Write the registry and stage it; with an existing one, only install hooks."""
    from registry_tool.store import git
    from registry_tool.store.registry import POLICY

    root = Path(args.folder or args.registry or ".")
    if root.exists() and not root.is_dir():
        raise UsageError("not a folder", path=root)
    if args.uninstall:
        return _uninstall(root, args.hooks)
    git.require_git()
    exists = (root / POLICY).exists()
    if not exists and root.exists() and (around := git.open_repository(root)) is not None:
        # A sparse checkout may keep it off the disk.
        exists = git.staged_content(around, POLICY) is not None
    if exists and not args.hooks:
        raise UsageError(
            "there is a registry here already", path=root / POLICY, fix="registry-tool status"
        )
    root.mkdir(parents=True, exist_ok=True)
    root = root.resolve()
    if git.open_repository(root) is None:
        git.initialise(root)
        warn(f"made a git repository in {root}")
    if not exists:
        written = write_registry(root)
        git.stage(git.require_repository(root), written)
        say(f"made a registry in {root}: {len(written)} files, staged")
    if args.hooks:
        from registry_tool.commands.hooks import install

        install(root, args.hook_kind)
    say("next: registry-tool verify --config CONFIG.json --model NAME && git commit")
    return 0


def _uninstall(root: Path, is_about_hooks: bool) -> int:
    from registry_tool.commands.hooks import uninstall

    if not is_about_hooks:
        raise UsageError(
            "--uninstall goes with --hooks", fix="registry-tool init --hooks --uninstall"
        )
    uninstall(root.resolve())
    return 0


def write_registry(root: Path) -> list[str]:
    """Write the files of an empty registry; the paths that were written, relative to ``root``."""
    from registry_tool.commands.edits import refresh
    from registry_tool.store.files import write_atomic
    from registry_tool.store.registry import POLICY

    written = []
    for name, text in ((".gitattributes", ATTRIBUTES), (".gitignore", IGNORE)):
        written.append(name)
        before = (root / name).read_text("utf-8") if (root / name).exists() else ""
        missing = [line for line in text.splitlines() if line not in before.splitlines()]
        ending = "" if before.endswith("\n") or not before else "\n"
        write_atomic(root / name, f"{before}{ending}{chr(10).join([*missing, ''])}".encode())
    write_atomic(root / POLICY, POLICY_TEXT.encode())
    return [*written, POLICY, *refresh(root)]
