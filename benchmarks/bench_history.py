"""`log` of every version of 10,000 rows over 2,000 commits beside GitPython's history walk.

Both read every version; `log` also compares them field by field and writes them as JSON. Figures
are of whole processes, the fastest of several, taken in turns; the ratio of processor time (of a
process and the gits that it starts) is shown too: it hangs less on what else the machine does.

python -m benchmarks.bench_history [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from benchmarks.bench_check import ROOT, command, rows
from benchmarks.bench_judge import Result, show
from registry_tool.records import canonical
from tests.examples.example import POLICY, environment

ROWS, COMMITS = 10_000, 2_000
BUDGET, PEER = 1.0, 13.8
"""Seconds on the machine that the budget was set on."""

NAIVE = """\
import json, sys
import git
repo = git.Repo(sys.argv[1])
read = 0
for commit in repo.iter_commits("HEAD", paths="records"):
    parent = commit.parents[0] if commit.parents else git.NULL_TREE
    # R=True, as the later side is the commit's own.
    for change in commit.diff(parent, paths="records", R=True):
        blob = change.b_blob
        if blob is not None:
            json.loads(blob.data_stream.read())
            read += 1
print(read)
"""


def registry(folder: Path, number: int = ROWS, commits: int = COMMITS) -> Path:
    """A packed repository: each commit adds its share of the rows, and edits as many old ones."""
    repo = folder / "history"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], env=environment(), check=True)
    made = [(row.id.record_path, canonical.encode(row.record)) for row in rows(number)]
    share, chance, edits = number // commits, random.Random(1), [0] * number
    with subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=repo, env=environment(), stdin=subprocess.PIPE
    ) as importer:
        assert importer.stdin is not None
        for at in range(commits):
            stamp = f"A. Tester <tester@example.invalid> {1_700_000_000 + 60 * at} +0000"
            head = f"commit refs/heads/main\ncommitter {stamp}\ndata 5\nstep\n\n"
            importer.stdin.write(head.encode())
            if at == 0:
                _put(importer.stdin, "registry.yaml", POLICY.encode())
            new = range(share * at, share * (at + 1))
            for which in new:
                _put(importer.stdin, *made[which])
            for _ in new:
                which = chance.randrange(new.stop)
                edits[which] += 1
                path, data = made[which]
                note = b'"notes": [\n    "remark %d"\n  ]' % edits[which]
                _put(importer.stdin, path, data.replace(b'"notes": []', note))
    if importer.returncode != 0:
        raise SystemExit("git fast-import failed")
    for words in (["repack", "-q", "-a", "-d"], ["reset", "-q", "--hard"]):
        subprocess.run(["git", *words], cwd=repo, env=environment(), check=True)
    return repo


def _put(pipe: IO[bytes], path: str, data: bytes) -> None:
    pipe.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")


def _once(repo: Path, words: list[str]) -> tuple[float, float]:
    """Wall and processor seconds of one process and its children."""
    surroundings = {**environment(), "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    surroundings["PYTHONPYCACHEPREFIX"] = str(repo.parent / "pycache")
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        words, cwd=repo, env=surroundings, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(rounds: int) -> list[Result]:
    """The ratios of the budget."""
    with tempfile.TemporaryDirectory() as folder:
        repo = registry(Path(folder))
        jobs = {
            "all": command("log", "--format", "json"),
            "one": command("log", "RoPE_bf16", "--format", "json"),
            "steps": command("log", "--regressions"),
            "peer": [sys.executable, "-c", NAIVE, str(repo)],
        }
        _once(repo, jobs["all"])
        times = [{name: _once(repo, words) for name, words in jobs.items()} for _ in range(rounds)]
    wall = {name: min(one[name][0] for one in times) for name in jobs}
    cpu = {name: min(one[name][1] for one in times) for name in jobs}
    print(
        f"every version of {ROWS:,} rows over {COMMITS:,} commits: log {wall['all']:.2f} s "
        f"({cpu['all']:.2f} s of processor), of one kernel {wall['one']:.2f} s, --regressions "
        f"{wall['steps']:.2f} s; GitPython's walk {wall['peer']:.2f} s ({cpu['peer']:.2f} s)"
    )
    budget, peer = round(BUDGET / PEER, 4), "as a share of GitPython's walk"
    what = "log of every version"
    return [
        Result(f"{what}, {peer}", wall["all"] / wall["peer"], budget, "", True),
        Result(f"{what}, processor time, {peer}", cpu["all"] / cpu["peer"], budget, "", True),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    show(run(parser.parse_args().rounds))
