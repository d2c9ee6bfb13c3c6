"""`check` of the index beside its peers, on registries of 1,000 and 10,000 verified rows.

Every figure is the fastest wall time of a whole process, taken in turns with the others; budgets
are ratios, since they were set on another machine.

python -m benchmarks.bench_check [--quick]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.bench_judge import Result, fastest, show
from registry_tool.planning.search import Configuration, best
from registry_tool.records import catalog
from registry_tool.records.kernel import violations
from registry_tool.records.spec import KernelSpec
from tests.examples import example
from tests.examples.build import Row, make_row
from tests.examples.example import Example

ROOT = Path(__file__).resolve().parent.parent
ROWS, MANY = 1_000, 10_000
# Budgets, and what the peers took on the machine that they were set on, ms.
VERSION_MS, PEER_VERSION_MS, PEER_MS, PEER_MANY_MS = 40, 207, 860, 5_500
BUDGETS = {
    ROWS: {"cold": 250 / PEER_MS, "nothing changed": 100 / PEER_MS},
    MANY: {"cold": 1_500 / PEER_MANY_MS, "one row changed": 150 / PEER_MANY_MS},
}

NAIVE = """\
import json, sys
from pathlib import Path
import git, jsonschema, mistletoe
repo = git.Repo(sys.argv[1])
schema = json.loads(Path(sys.argv[2]).read_text())
check = jsonschema.Draft202012Validator(schema)
for (path, stage), entry in repo.index.entries.items():
    if path.startswith("records/"):
        blob = git.Blob(repo, entry.binsha, path=path)
        check.validate(json.loads(blob.data_stream.read()))
    elif path.endswith(".md"):
        mistletoe.markdown(git.Blob(repo, entry.binsha, path=path).data_stream.read().decode())
"""


def rows(number: int) -> Iterator[Row]:
    """So many different rows over all built-in kernels, each accepted by every rule."""
    kept: dict[tuple[str, str | None], Configuration] = {}
    made = at = 0
    while made < number:
        at += 1
        for spec in catalog.built_in().values():
            variants: list[str | None] = [*spec.variants]
            for variant in variants or [None]:
                shape = _shape(spec, at)
                known = kept.get((spec.kernel, variant))
                if known is None or violations(spec, shape, variant, known.tile, known.herd):
                    known = best(spec, shape, variant)
                if known is None or violations(spec, shape, variant, known.tile, known.herd):
                    continue
                kept[spec.kernel, variant] = known
                if made < number:
                    made += 1
                    yield make_row(spec, shape, variant, "npu2-emu", made, known.tile, known.herd)


def _shape(spec: KernelSpec, at: int) -> dict[str, int]:
    if spec.dims == ["M", "K", "N"]:
        return {"M": 512 * (1 + at % 8), "K": 1024 * (1 + at // 8 % 4), "N": 512 * (1 + at // 32)}
    if spec.kernel.startswith("FlashAttention"):
        heads = {"num_heads": 32, "num_kv_heads": 8, "causal": 1}
        return {"lq": 512 * at, "lk": 512 * at, "dk": 64, "dv": 64, **heads}
    if spec.dims == ["N"]:
        return {"N": 65536 * at}
    if spec.dims == ["M", "K"]:
        return {"M": 256 * (1 + at % 32), "K": 256 * (1 + at // 32)}
    first, second = spec.dims
    return {first: 64 * at, second: 64 if spec.kernel.startswith("RoPE") else 2048}


def registry(folder: Path, number: int) -> Example:
    """A committed, packed registry of so many rows."""
    made = example.make(folder, *rows(number))
    made.git("repack", "-q", "-a", "-d")
    return made


def command(*words: str) -> list[str]:
    """The command of this package, as it is here."""
    return [sys.executable, "-m", "registry_tool", *words]


def runner(
    made: Example, words: Sequence[str], ready: Callable[[], object] = int
) -> Callable[[], None]:
    """A function that runs ``words`` in a registry after ``ready``."""
    environment = {**made.environment, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    # As installed: modules are compiled once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(made.repo.parent / "pycache")

    def run() -> None:
        ready()
        done = subprocess.run(
            list(words), cwd=made.root, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{words}: {done.stdout[:2000]}{done.stderr[:2000]}")

    return run


def forget(made: Example) -> None:
    """Remove what a check remembers."""
    shutil.rmtree(made.repo / ".git" / "registry-tool", ignore_errors=True)


def change_one(made: Example, number: int) -> None:
    """Stage another remark of one row, and its tables."""
    path = next(made.root.glob("records/*/RoPE_bf16/*.json")).relative_to(made.root).as_posix()
    new = f'"remark {number}"'
    if number:
        made.edit(path, f'"remark {number - 1}"', new)
    else:
        made.edit(path, '"notes": []', f'"notes": [\n    {new}\n  ]')
    made.render()
    made.git("add", "-A")


def run(number: int, rounds: int) -> list[Result]:
    """The figures of one size."""
    check = command("check", "--staged")
    scripts = Path(sys.executable).parent
    schema = ROOT / "schemas" / "record-1.schema.json"
    with tempfile.TemporaryDirectory() as folder:
        made = registry(Path(folder), number)
        records = sorted(map(str, made.root.glob("records/*/*/*.json")))
        listed = made.repo.parent / "names"
        listed.write_text("\n".join(records))
        peer = [str(scripts / "check-jsonschema"), "--schemafile", str(schema)]
        version = [str(scripts / "check-jsonschema"), "--version"]
        with_names = ["xargs", "-a", str(listed), "-n", str(number), *peer]
        naive = [sys.executable, "-c", NAIVE, str(made.repo), str(schema)]
        empty, ours, theirs, cold, warm, records_only, by_hand = fastest(
            runner(made, [sys.executable, "-c", "pass"]),
            runner(made, command("--version")),
            runner(made, version),
            runner(made, check, lambda: forget(made)),
            runner(made, check),
            runner(made, with_names),
            runner(made, naive),
            rounds=rounds,
        )
        again = []
        for at in range(rounds):
            change_one(made, at)
            again += fastest(runner(made, check), rounds=1)
        one = min(again)
    rows_text = f"{number:,} rows"
    print(
        f"{rows_text}: empty interpreter {_ms(empty)}, --version {_ms(ours)} "
        f"(check-jsonschema {_ms(theirs)}); check cold {_ms(cold)}, nothing changed {_ms(warm)}, "
        f"one row changed {_ms(one)}; on the records alone check-jsonschema {_ms(records_only)}, "
        f"jsonschema + GitPython + mistletoe {_ms(by_hand)}"
    )
    shares = {"cold": cold, "nothing changed": warm, "one row changed": one}
    return [
        *([_version(ours / theirs)] if number == ROWS else []),
        *(
            Result(
                f"check of {rows_text}, {what}, as a share of check-jsonschema on its records",
                shares[what] / records_only,
                round(budget, 3),
                "",
                True,
            )
            for what, budget in BUDGETS[number].items()
        ),
    ]


def _version(share: float) -> Result:
    budget = round(VERSION_MS / PEER_VERSION_MS, 3)
    return Result("--version, as a share of check-jsonschema's", share, budget, "", True)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 rows only")
    args = parser.parse_args(arguments)
    results = run(ROWS, rounds=3)
    if not args.quick:
        results += run(MANY, rounds=2)
    show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
