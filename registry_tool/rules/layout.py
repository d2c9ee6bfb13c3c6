"""Which of a registry's paths is what; names only, no bytes."""

from __future__ import annotations

from typing import Literal

from registry_tool.records import baseline

BASELINE = baseline.PATH

PathKind = Literal[
    "policy",
    "spec",
    "model",
    "layout",
    "record",
    "verdict",
    "log",
    "signature",
    "signers",
    "baseline",
    "page",
    "generated",
    "other",
]

_STREAMS = (".log", ".err")
_SIGNATURE = ".sig"


def kind_of(path: str) -> PathKind:
    """What a path of the registry holds, by its name."""
    folder, *below = path.split("/")
    if row_of(path) is not None:
        if folder == "records":
            return "record"
        if path.endswith(_SIGNATURE):
            return "signature"
        return "log" if path.endswith(_STREAMS) else "verdict"
    if path == "registry.yaml":
        return "policy"
    if path == BASELINE:
        return "baseline"
    if folder == "kernels" and len(below) == 1 and path.endswith(".yaml"):
        return "spec"
    if folder == "models" and len(below) == 1 and path.endswith(".json"):
        return "model"
    if folder == "layouts" and len(below) in (1, 2) and path.endswith(".json"):
        return "layout"
    if folder == "signers" and len(below) == 1:
        return "signers"
    in_details = folder == "details" and len(below) in (1, 2)
    if path == "supported_kernels.md" or (in_details and path.endswith(".md")):
        return "page"
    if path == "registry_lookup.py" or folder == "schemas":
        return "generated"
    return "generated" if in_details and path.endswith(".json") else "other"


def row_of(path: str) -> str | None:
    """The row (``target/kernel/key``) that a file below records/ or verdicts/ belongs to."""
    if path.startswith("records/"):
        row = path[8:-5] if path.endswith(".json") else ""
        return row if row.count("/") == 2 and "//" not in path else None
    if path.startswith("verdicts/") and path.endswith((".json", *_STREAMS, _SIGNATURE)):
        row, _, _ = path[9:].rpartition("/")
        return row if row.count("/") == 2 and "//" not in path else None
    return None
