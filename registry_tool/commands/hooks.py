"""Installing the gate in a repository: through pre-commit where it can be, else plain hooks.

Says what it did with each hook. A hook of somebody else is never touched: the line that belongs
into it is printed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from registry_tool.commands.common import say, warn
from registry_tool.commands.skeleton import ATTRIBUTES
from registry_tool.errors import GitError, ToolError, UsageError
from registry_tool.gates import precommit, scripts
from registry_tool.gates.precommit import CONFIG, HOOK_ID
from registry_tool.merging import drivers
from registry_tool.merging.drivers import DRIVERS, with_lines
from registry_tool.store import git
from registry_tool.store.files import write_atomic, write_if_changed
from registry_tool.store.git import Repository

KINDS = ("auto", "pre-commit", "plain")
_MANAGED = {"husky.sh": ".husky", "h": ".husky"}
"""A file in a folder of hooks that another manager writes anew, and where its own hooks are."""


def install(root: Path, kind: str) -> None:
    """Install hooks and merge drivers for the registry in ``root``."""
    repository = git.require_repository(root)
    tool = command()
    if tool is None:
        warn("registry-tool is not on PATH; the hooks need it there when you commit")
    by_pre_commit = kind == "pre-commit" or (kind == "auto" and _can_pre_commit(repository))
    if by_pre_commit:
        try:
            _with_pre_commit(repository, tool)
        except GitError as error:
            if kind == "pre-commit":
                raise
            warn(f"pre-commit could not be installed ({error}); using plain git hooks")
            by_pre_commit = False
    names = scripts.BESIDE if by_pre_commit else (*scripts.GUARDS, *scripts.BESIDE)
    folder = git.hooks_folder(repository)
    try:
        for text in _placed(repository, folder, names, tool):
            say(text)
    except OSError as error:
        raise UsageError(
            f"hooks cannot be written there: {error.strerror}",
            path=folder,
            fix="git config core.hooksPath FOLDER   # one of yours; then the same again",
        ) from None
    _merge_drivers(repository, root, tool)


def uninstall(root: Path) -> None:
    """Take away what `install` put there, and nothing else."""
    repository = git.require_repository(root)
    folder = git.hooks_folder(repository)
    taken = []
    for path in _own(folder):
        path.unlink()
        taken.append(path.name)
    say(f"removed plain git hooks from {folder}: {', '.join(taken) or 'none were ours'}")
    config = repository.top / CONFIG
    if config.is_file():
        before = config.read_text("utf-8")
        after = precommit.without_hook(before, config)
        if after != before:
            if after:
                write_atomic(config, after.encode())
            else:
                config.unlink()
                _pre_commit(repository, "uninstall")
            git.stage_in_top(repository, [CONFIG])
            say(f"removed the hook {HOOK_ID!r} from {CONFIG}, staged")
    for name in DRIVERS:
        git.forget(repository, f"merge.{name}")
    git.forget(repository, "registry-tool")
    say("removed the merge drivers from this clone's configuration")


def command() -> str | None:
    """The path of registry-tool that this process belongs to, or the one on PATH."""
    beside = Path(sys.executable).parent / "registry-tool"
    return str(beside) if beside.is_file() else shutil.which("registry-tool")


def _can_pre_commit(repository: Repository) -> bool:
    # pre-commit refuses where core.hooksPath is set.
    return (
        importlib.util.find_spec("pre_commit") is not None
        and git.setting(repository, "core.hooksPath") is None
    )


def _with_pre_commit(repository: Repository, tool: str | None) -> None:
    path = repository.top / CONFIG
    before = _kept(repository.at(""), path)
    after = precommit.with_hook(before, path)
    # Ours would run a second time, as a legacy of pre-commit.
    for name in scripts.GUARDS:
        plain = git.hooks_folder(repository) / name
        if scripts.is_ours(_text(plain) or ""):
            plain.unlink()
    _pre_commit(repository, "install")
    if after != before:
        write_atomic(path, after.encode())
    git.stage_in_top(repository, [CONFIG])
    if tool is not None:
        git.configure(repository, "registry-tool.command", tool)
    say(f"installed the pre-commit hook {HOOK_ID!r} ({', '.join(scripts.GUARDS)}; {CONFIG})")


def _pre_commit(repository: Repository, verb: str) -> None:
    kinds = [word for stage in scripts.GUARDS for word in ("--hook-type", stage)]
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", verb, *kinds],
        cwd=repository.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise GitError((done.stdout + done.stderr).strip())


def _placed(
    repository: Repository, folder: Path, names: Iterable[str], tool: str | None
) -> Iterator[str]:
    """Write the hooks ``names``; what was done, line by line."""
    manager = _manager(folder)
    if manager is not None:
        yield f"hooks are kept by {manager} here; add to its files, each in a line of its own:"
        yield from (f"  {manager}/{name}: {scripts.line(name)}" for name in names)
        return
    installed, kept_by_lefthook = [], []
    for name in names:
        path = folder / name
        text = _text(path)
        if text is None or scripts.is_ours(text):
            write_if_changed(path, scripts.script(name, tool).encode())
            path.chmod(0o755)
            installed.append(name)
        elif "File generated by pre-commit" in text and not _text(folder / f"{name}.legacy"):
            # pre-commit runs this one first, with the same standard input.
            write_atomic(folder / f"{name}.legacy", scripts.script(name, tool).encode())
            (folder / f"{name}.legacy").chmod(0o755)
            installed.append(f"{name}.legacy")
        elif "lefthook" in text:
            kept_by_lefthook.append(name)
        elif f"hook {name}" in text or ("trailers" in text and name == "prepare-commit-msg"):
            installed.append(f"{name} (the line in your own hook)")
        else:
            warn(
                f"{path} is somebody else's hook and was left alone; add this line before the "
                f"others:\n  {scripts.line(name, tool)}"
            )
    if kept_by_lefthook:
        yield "hooks are written by lefthook here; add to lefthook.yml:"
        yield from (f"  {line}" for line in scripts.of_lefthook(kept_by_lefthook))
    whose = _whose(repository, folder)
    yield f"installed plain git hooks in {folder}{whose}: {', '.join(installed) or 'none'}"


def _manager(folder: Path) -> str | None:
    """Where another manager of hooks wants ours, if it writes ``folder`` itself."""
    for name, place in _MANAGED.items():
        if folder.name == "_" and (folder / name).is_file():
            return place
    return None


def _whose(repository: Repository, folder: Path) -> str:
    if git.setting(repository, "core.hooksPath") is None:
        return ""
    if git.setting(repository, "core.hooksPath", "--local") is None:
        return " (core.hooksPath of all your repositories; without a registry they do nothing)"
    return " (core.hooksPath)"


def _own(folder: Path) -> Iterator[Path]:
    for name in scripts.NAMES:
        for path in (folder / name, folder / f"{name}.legacy"):
            text = _text(path)
            if text is not None and scripts.is_ours(text):
                yield path


def _kept(repository: Repository, path: Path) -> str:
    """What the file at ``path`` holds, which a sparse checkout may not have on disk."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return (git.staged_content(repository, path.name) or b"").decode("utf-8")


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None


def _merge_drivers(repository: Repository, root: Path, tool: str | None) -> None:
    """Tell this clone how to merge rows and pages, and which files those are."""
    for name, (title, kind) in DRIVERS.items():
        git.configure(repository, f"merge.{name}.name", title)
        git.configure(repository, f"merge.{name}.driver", drivers.command(kind, tool))
    path = root / ".gitattributes"
    before = _kept(repository, path)
    # Evidence and rows keep their bytes in every clone, whatever its settings for line ends are.
    after = with_lines(before, ATTRIBUTES)
    if after != before:
        write_atomic(path, after.encode())
        with contextlib.suppress(ToolError):
            git.stage(repository, [path.name])
    say(f"installed the merge drivers {', '.join(DRIVERS)} (this clone; {path.name} names them)")
