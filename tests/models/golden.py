"""What each reference config must give: needs, or the words of its refusal, as people read them.

`python -m tests.models.golden` writes the files anew and keeps the ``basis`` of each, which says
where the right answer is from. The configs are not part of this repository; their shapes are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError
from registry_tool.models.load import load_model
from registry_tool.models.options import Options
from registry_tool.records.model import Need
from tests.shared_data import SHARED

FOLDER = Path(__file__).resolve().parent / "golden"
# A tower whose image is not in its config is derived at this one.
OPTIONS = {"qwen2.5-vl-7b": Options(image=(448, 448))}


def outcome(config: Path) -> dict[str, Any]:
    """The needs of ``config`` in lines, or its refusal."""
    try:
        model = load_model(config, None, OPTIONS.get(config.stem))
    except InputError as error:
        next_step = [f"next: {error.fix}"] if error.fix else []
        return {"refused": [*error.message.split("\n  "), *next_step]}
    return {
        "layers": model.layers,
        "needs": [line(need) for need in model.needs],
        "uncovered": [f"{one.phase} {one.site}: {one.reason}" for one in model.uncovered],
        "notes": list(model.notes),
    }


def line(need: Need) -> str:
    """A need on one line, e.g. ``prefill Q proj: GEMM_bf16_in_bf16_out 2048x2048x512 high``."""
    shape = "x".join(map(str, need.shape.values()))
    tier = f" {need.precision}" if need.precision else ""
    layers = f" ({need.layers} layers)" if isinstance(need.layers, int) else ""
    return f"{need.phase} {need.site}{layers}: {need.kernel} {shape}{tier}"


def configs() -> list[Path]:
    """The reference configs, none where they are not on this machine."""
    found = sorted((SHARED / "hf_configs").glob("*.json"))
    return [path for path in found if path.stem != "EXPECTED"]


def write() -> None:
    """Write every golden file, keeping what people wrote in it."""
    FOLDER.mkdir(exist_ok=True)
    for config in configs():
        path = FOLDER / f"{config.stem}.json"
        basis = json.loads(path.read_text())["basis"] if path.exists() else "?"
        document = {"basis": basis, **outcome(config)}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write()
