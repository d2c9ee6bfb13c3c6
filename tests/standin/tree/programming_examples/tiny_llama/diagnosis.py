"""Stand-in for the diagnosis of a model: a cosine table by layer, and always PASS."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from air_standin import ledger
from air_standin.device import own_lock
from air_standin.faults import Fault, due

LAYERS = 8
FOR_EVER_S = 3600.0


@dataclass(frozen=True)
class Layer:
    index: int
    p5: float
    least: float
    median: float
    max_abs: float

    def __str__(self) -> str:
        cosines = f"{self.p5:.6f} | {self.least:.6f} | {self.median:.6f}"
        return f"| {self.index} | {cosines} | {self.max_abs:.3g} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="diagnosis.py", description=__doc__)
    parser.add_argument("--model", default="instruct")
    args = parser.parse_args()
    start = ledger.new_start(ledger.folder_of(Path(sys.argv[0])), "run")
    faults = {fault.kind: fault for fault in due(start, {})}
    ledger.note("start", start, **ledger.describe(sys.argv))
    with own_lock():
        ledger.note("device", start, outer_lock=ledger.outer_lock())
        print("[diagnosis] prefill: NPU + HF...", flush=True)
        if "hang" in faults:
            time.sleep(FOR_EVER_S)
        if "timeout" in faults:
            sys.stderr.write("ert_cmd_state.ERT_CMD_STATE_TIMEOUT\n")
            return 1
        tell(args.model, faults)
    ledger.note("end", start, status=0)
    return 0


def tell(model: str, faults: dict[str, Fault]) -> None:
    """Print the summary and the report, and write the report."""
    layers = spoil(healthy(int(ledger.config().get("layers", LAYERS))), faults)
    name = f"reports/diagnosis_{time.strftime('%Y%m%d-%H%M%S')}"
    text = report(model, layers)
    Path("reports").mkdir(exist_ok=True)
    Path(f"{name}.md").write_text(text, encoding="utf-8")
    print("[diagnosis] comparing per-layer ffn_out (NPU vs HF bf16)...\n")
    print(f"[verify] Report: {name}.md")
    counts = {"n_layer_records": len(layers), "topk_passed": 0, "topk_failed": 0}
    print(f"[verify] Summary: {counts}")
    print("[verify] PASS")
    if "report-only" not in faults:
        print(f"----- {name}.md -----\n{text}", end="")


def healthy(count: int) -> list[Layer]:
    """Cosines that fall a little from layer to layer."""
    layers = []
    for index in range(count):
        p5 = 0.9998 - 0.00005 * index
        layers.append(
            Layer(index, p5, p5 - 0.0004, min(1.0, p5 + 0.0002), 0.03125 * (1 + index / 2))
        )
    return layers


def spoil(layers: list[Layer], faults: dict[str, Fault]) -> list[Layer]:
    """The layers as the faults leave them; ``amount`` is the layer at which it begins."""
    if "cliff" in faults:
        first = int(faults["cliff"].amount or 0)
        layers = layers[:first] + [
            Layer(layer.index, 0.023, 0.0226, 0.0232, 48.5) for layer in layers[first:]
        ]
    if "nan-layer" in faults:
        at = int(faults["nan-layer"].amount or 0)
        layers = [
            Layer(at, 0.0, 0.0, 0.0, float("nan")) if layer.index == at else layer
            for layer in layers
        ]
    if "missing-layer" in faults:
        at = int(faults["missing-layer"].amount or 0)
        layers = [layer for layer in layers if layer.index != at]
    if "fewer-layers" in faults:
        layers = layers[: int(faults["fewer-layers"].amount or 1)]
    return layers


def report(model: str, layers: list[Layer]) -> str:
    """The report as Markdown."""
    lines = [
        "# Verify report",
        "",
        f"Config: mode=diagnosis, model={model}, n_layers={len(layers)}",
        "",
        "Result: **PASS**",
        "",
        "## Per-layer hidden state (ffn_out, NPU vs HF bf16)",
        "_Informational, diagnosis does not fail the run._",
        "",
        "| Layer | cos_p5 | cos_min | cos_median | max_abs |",
        "|------:|-------:|--------:|-----------:|--------:|",
        *map(str, layers),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
