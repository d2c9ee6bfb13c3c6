"""What a forger starts from: a committed registry, keys, and rows that he can make consistent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from registry_tool.records import catalog
from registry_tool.records.verdict import Output, Verdict
from tests.examples.build import GEMM, Row, log_text, make_row, sealed
from tests.examples.example import Example
from tests.signing.keyring import SshKey
from tests.signing.world import trust

NEW = {"M": 4096, "K": 1024, "N": 1024}
# A mean_rel_L1 that the page's band allows, so that only evidence can tell it from a measured one.
PLAUSIBLE = 0.00951


class Scene(NamedTuple):
    """A committed registry with two rows; the forger has ``mallory``'s key and no other."""

    at: Example
    row: Row
    other: Row
    alice: SshKey
    mallory: SshKey
    is_signed: bool

    def put(self, row: Row) -> None:
        """Write ``row`` in place of what its folder of verdicts held, and the tables."""
        folder = self.at.path(row.id.verdict_folder)
        for path in folder.glob("*") if folder.exists() else ():
            path.unlink()
        self.at.add(row)
        self.at.render()

    def trust(self, *lines: str, **words: str) -> None:
        """Change the policy of signatures, where there is one."""
        if self.is_signed:
            trust(self.at, *lines, **words)

    def commit(self) -> None:
        self.at.commit("Go on")


def better(row: Row, mean: float = PLAUSIBLE) -> Row:
    """``row`` with another accuracy, in verdict, log, digests and run id alike."""
    output: Output = replace(row.verdict.outputs[0], mean_rel_L1=mean)
    verdict: Verdict = replace(row.verdict, outputs=[output])
    log = log_text(verdict, verdict.subject.target != "npu2")
    return sealed(dataclasses.replace(row, verdict=verdict, log=log))


def fabricated() -> Row:
    return make_row(catalog.built_in()[GEMM], NEW, "drain", second=9)


class Forgery(NamedTuple):
    """What is done, what the page calls it, and the rules that find it, unsigned and signed.

    "-" is for what says something only of signed registries.
    """

    act: Callable[[Scene], None]
    name: str
    unsigned: str
    signed: str
