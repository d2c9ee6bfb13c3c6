"""`check` of the index where every verdict is signed, beside the same registry unsigned.

Every figure is the fastest wall time of a whole process, taken in turns with the others.

python -m benchmarks.bench_signing [--quick]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.bench_check import change_one, command, forget, registry, runner
from benchmarks.bench_judge import fastest
from tests.examples.example import POLICY, Example
from tests.signing.keyring import SoftKey


def sign(made: Example) -> None:
    """Sign every verdict, and ask for it."""
    key = SoftKey(Ed25519PrivateKey.generate())
    for path in made.root.glob("verdicts/*/*/*/*.json"):
        path.with_name(f"{path.name}.sig").write_bytes(key.sign(path.read_bytes()))
    made.write(
        {
            "registry.yaml": f"{POLICY}signing: required\n",
            "signers/allowed_signers": f"lab@example.invalid {key.public}\n",
        }
    )
    made.commit("Sign")
    made.git("repack", "-q", "-a", "-d")


def run(number: int, rounds: int) -> None:
    """Print the figures of one size."""
    check = command("check", "--staged")
    with tempfile.TemporaryDirectory() as folder:
        made = registry(Path(folder), number)
        (plain,) = fastest(runner(made, check, lambda: forget(made)), rounds=rounds)
        sign(made)
        cold, warm = fastest(
            runner(made, check, lambda: forget(made)), runner(made, check), rounds=rounds
        )
        again = []
        for at in range(rounds):
            change_one(made, at)
            again += fastest(runner(made, check), rounds=1)
    print(
        f"{number:,} rows: check cold, unsigned {plain * 1e3:.0f} ms, signed {cold * 1e3:.0f} ms; "
        f"nothing changed {warm * 1e3:.0f} ms, one row changed {min(again) * 1e3:.0f} ms"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 rows only")
    args = parser.parse_args(arguments)
    run(1_000, 3)
    if not args.quick:
        run(10_000, 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
