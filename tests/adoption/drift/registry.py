"""The small registry of this folder, which has no inconsistency, with edits made to a copy."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

from registry_tool import adoption
from registry_tool.adoption import drift
from registry_tool.adoption.drift import Finding
from registry_tool.records import catalog

SMALL = Path(__file__).resolve().parent / "small"

INDEX = "supported_kernels.md"
NORM = "details/RMSNorm_bf16.md"
ADD = "details/EltwiseAdd_bf16.md"
GEMV = "details/GEMV_bf16.md"
ATTENTION = "details/FlashAttention_bf16.md"
GEMM = "details/GEMM_bf16_in_bf16_out.md"
GEMM_JSON = "details/GEMM_bf16_in_bf16_out.json"

Edit = tuple[str, str, str]


def edited(folder: Path, *edits: Edit) -> Path:
    """A copy in ``folder``; each edit (file, old, new) must find its old text once."""
    root = folder / "registry"
    shutil.copytree(SMALL, root)
    for file, old, new in edits:
        path = root / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new), "utf-8")
    return root


def findings(root: Path) -> list[Finding]:
    """What the report says of a registry."""
    specs = catalog.built_in()
    return drift.find(adoption.read(root, specs), specs)


def kinds(found: list[Finding]) -> dict[str, int]:
    """How many findings there are of each kind."""
    return dict(Counter(finding.kind for finding in found))


def line_of(root: Path, file: str, text: str) -> str:
    """``file:line`` of the one line that holds ``text``."""
    lines = (root / file).read_text("utf-8").split("\n")
    numbers = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(numbers) == 1, f"{text!r} is on lines {numbers} of {file}"
    return f"{file}:{numbers[0]}"
