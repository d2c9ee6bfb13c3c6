"""What a column of an existing table is about, from its heading and the kernel's spec: data.

A heading names dims, tile knobs and herd axes (words of the spec, of its labels, and the few
further ones in the tables below), a measured value, or one of the human columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from registry_tool.adoption import cells
from registry_tool.adoption.model import Column
from registry_tool.records.spec import KernelSpec

# Headings of columns that hold one thing whatever the kernel: pattern to role.
_ROLES: tuple[tuple[str, str], ...] = (
    (r"\(?as 2-?d\)?|2-?d|layout", "layout"),
    (
        r"(?:best |median |avg |mean )?(?:latency|lat\.?|time|runtime|run time|elapsed|[µμum]s)",
        "latency_us",
    ),
    (
        r"(?:best |median |avg )?(?:gflops?(?:/s)?|tflops?(?:/s)?|gf/s|tf/s|throughput|thrpt|tput"
        r"|tp|performance|perf\.?)",
        "metric",
    ),
    (r"(?:best |median |avg )?(?:bandwidth|bw|b/w|gb/s|gbps)", "gbps"),
    (
        r"(?:mean |avg )?(?:rel(?:\.|ative)? ?)?l1(?: ?err(?:or|\.)?)?|mean_rel|rel_l1",
        "mean_rel_L1",
    ),
    (r"max(?:\.|imum)? ?abs(?:\.|olute)?(?: ?err(?:or|\.)?)?|abs\.? ?err(?:or|\.)?", "max_abs"),
    (r"max(?:\.|imum)? ?rel(?:\.|ative)?(?: ?err(?:or|\.)?)?", "max_rel"),
    (r"used by|used|users?|models?|call sites?|consumers?", "used_by"),
    (r"status|verified|state|ok\??|passe?[sd]?\??", "status"),
    (r"notes?|remarks?|comments?|caveats?", "notes"),
    (r"method|variant|codegen|code-?path|path", "variant"),
    (r"precision|tier", "tier"),
    (r"(?:best )?herd", "herd"),
    (r"tiles(?: in flight)?|# ?tiles", "tiles"),
    (r"(?:best |swept )?(?:tiles? ?sizes?|tiles?|tiling|configs?|configuration)", "config"),
    (r"shapes?|problem size|size", "shape"),
)
# What a person may say that a column holds (`--column TITLE=FIELD`).
GIVEN = (
    "notes",
    "used_by",
    "status",
    "layout",
    "latency_us",
    "gflops",
    "gbps",
    "mean_rel_L1",
    "max_abs",
    "max_rel",
    "correlation",
    "derived",
)
# Further words for dims, beside their names in the spec: pattern to dims.
_DIMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"heads q/kv|q/kv heads|heads \(q/kv\)", ("num_heads", "num_kv_heads")),
    (r"q heads|heads|n_heads", ("num_heads",)),
    (r"kv heads|n_kv_heads", ("num_kv_heads",)),
    (r"seq(?:_len)?|seq×seq", ("lq", "lk")),
    (r"is_causal|causal\?", ("causal",)),
)
# Further words for knobs, beside their names and labels in the spec.
_KNOBS: dict[str, str] = {
    "nqt": "num_q_tiles",
    "hpu": "num_heads_per_unroll",
    "ncs": "num_cascade_stages",
    "k": "tile_k_l2",
    "tk_l2": "tile_k_l2",
    "tk_l1": "tile_k_l1",
    "tn": "tile_n",
    "tm": "tile_m",
}
# Columns that follow from others: kept as cells, never read as data.
_DERIVED = re.compile(
    r"dv_chunks|seq|m\*k\*n|mkn|speedup.*|inner iters|elements|kernel|detail", re.I
)
# Words around the name of a variant in the heading of a pivoted column.
_AROUND_VARIANT = re.compile(
    r"(?:best|high|low|prec|precision|tier|method|path|gflops?|gflop/s|gb/s|bandwidth|throughput"
    r"|latency|incl|cast|codegen|[-/()., ])+",
    re.I,
)
_EDGES = re.compile(r"^[(\s]+|[)\s]+$")


@dataclass(frozen=True)
class Words:
    """How the headings of one kernel are read; ``given`` maps further titles to roles."""

    spec: KernelSpec
    given: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, word: str) -> tuple[str, str] | None:
        """A knob ("tile", name) or an axis ("herd", name) for a word such as ``n`` or ``hx``."""
        low = word.lower()
        if not low:
            return None
        for kind, known in (("tile", self.spec.tile), ("herd", self.spec.herd)):
            for name in known:
                if low == name.lower():
                    return kind, name
        return self._by_label(low)

    def _by_label(self, low: str) -> tuple[str, str] | None:
        spec = self.spec
        if low in ("hx", "hy"):
            at = "xy".index(low[1])
            return ("herd", list(spec.herd)[at]) if at < len(spec.herd) else None
        for name, knob in spec.tile.items():
            if low in (knob.label.lower(), name.lower().removeprefix("tile_")):
                return "tile", name
        for name, axis in spec.herd.items():
            if low in (f"h{axis.label.lower()}", axis.label.lower() if not spec.tile else ""):
                return "herd", name
        if _KNOBS.get(low) in spec.tile:
            return "tile", _KNOBS[low]
        if low.startswith("tile") and len(spec.tile) == 1:
            return "tile", next(iter(spec.tile))
        return None

    def dims(self, text: str) -> tuple[str, ...]:
        """The dims that a heading names, in its order; empty if it names anything else."""
        bare = _EDGES.sub("", text.replace("`", ""))
        for pattern, names in _DIMS:
            if re.fullmatch(pattern, bare, re.I) and all(name in self.spec.dims for name in names):
                return names
        parts = [part for part in re.split(r"[×x*/,·\s]+", bare) if part]
        if not all(part in self.spec.dims for part in parts):
            # `x` may be a letter of a name.
            parts = [part for part in re.split(r"[×*/,·\s]+", bare) if part]
        return tuple(parts) if all(part in self.spec.dims for part in parts) else ()

    def variants_in(self, text: str) -> tuple[str, ...]:
        """The variants that a text names, longest names first read."""
        found: list[tuple[int, str]] = []
        rest = text.lower()
        for name in sorted(self.spec.variants, key=len, reverse=True):
            match = re.search(rf"(?<![\w-]){re.escape(name.lower())}(?![\w])", rest)
            if match is not None:
                found.append((match.start(), name))
                rest = rest[: match.start()] + " " * len(name) + rest[match.end() :]
        return tuple(name for _, name in sorted(found))

    @property
    def tiers(self) -> tuple[str, ...]:
        """The precision tiers of the spec's variants."""
        tiers = [variant.precision for variant in self.spec.variants.values()]
        return tuple(dict.fromkeys(tier for tier in tiers if tier))

    def of_tier(self, tier: str) -> tuple[str, ...]:
        """The variants of a tier."""
        return tuple(n for n, variant in self.spec.variants.items() if variant.precision == tier)


def read(titles: Sequence[str], words: Words) -> tuple[Column, ...]:
    """The columns of a header, each with its role or None."""
    return tuple(_column(index, title, words) for index, title in enumerate(titles))


def _column(index: int, title: str, words: Words) -> Column:
    text = " ".join(title.replace("`", "").replace("*", "").split())
    given = words.given.get(text)
    if given is not None:
        return Column(index, title, given)
    base, inside = _split(text)
    # `tile (m/n) (herd)`: the cells give the herd in parentheses, which is found without a heading.
    if inside.lower() in ("herd", "herd m×n"):
        base, inside = _split(base)
    dims = words.dims(text) or words.dims(base)
    if dims and (dims == words.dims(text) or not inside):
        return Column(index, title, "shape", names=dims)
    for pattern, role in _ROLES:
        if re.fullmatch(pattern, base, re.I) or re.fullmatch(pattern, text, re.I):
            made = _of_role(index, title, role, base, inside, words)
            if made is not None:
                return made
    name = cells.name_of(base)
    if name is not None:
        tiers = tuple(part.strip() for part in inside.split("/"))
        known = tiers if len(tiers) > 1 and set(tiers) <= set(words.tiers) else ()
        return Column(index, title, name, tiers=known)
    return _further(index, title, text, base, words)


def _of_role(
    index: int, title: str, role: str, base: str, inside: str, words: Words
) -> Column | None:
    spec = words.spec
    if role == "shape":
        return Column(index, title, role, names=tuple(spec.dims))
    if role == "metric":
        is_rate = re.search(r"flop|[gt]f/s", base, re.I)
        field_ = "gflops" if is_rate else spec.metric
        return Column(index, title, field_, unit=_unit(base) or _unit(inside))
    if role in ("latency_us", "gbps"):
        return Column(index, title, role, unit=_unit(inside) or _unit(base))
    if role in ("herd", "config"):
        parts = [part for part in re.split(r"[/×,\s]+", inside) if part]
        resolved = [words.resolve(part) for part in parts]
        if parts and all(resolved):
            names = tuple(f"{kind}.{name}" for kind, name in filter(None, resolved))
            return Column(index, title, "config", names=names)
        if role == "herd":
            return Column(index, title, "config", names=tuple(f"herd.{n}" for n in spec.herd))
        if not parts and spec.tile and base.lower().endswith(("tile", "tile sizes")):
            return Column(index, title, "config", names=tuple(f"tile.{n}" for n in spec.tile))
        if not parts and len(spec.tile) == 1 and base.lower() == next(iter(spec.tile)).lower():
            return Column(index, title, "config", names=(f"tile.{next(iter(spec.tile))}",))
        return None
    return Column(index, title, role)


def _further(index: int, title: str, text: str, base: str, words: Words) -> Column:
    resolved = words.resolve(base)
    if resolved is not None:
        return Column(index, title, "config", names=(f"{resolved[0]}.{resolved[1]}",))
    variants = words.variants_in(text)
    if len(variants) == 1:
        around = text.lower().replace(variants[0].lower(), " ", 1)
        if not around.strip() or _AROUND_VARIANT.fullmatch(around.strip()):
            return Column(
                index, title, words.spec.metric, variants=variants, unit=_unit(around.strip())
            )
    if _DERIVED.fullmatch(text) or _DERIVED.fullmatch(base):
        return Column(index, title, "derived")
    return Column(index, title, None)


def _unit(text: str) -> str:
    found = [word for word in re.split(r"[\s(),]+", text) if cells.unit_of(word)]
    return found[0] if found else ""


def _split(text: str) -> tuple[str, str]:
    """A heading and what stands in parentheses at its end."""
    match = re.fullmatch(r"(.+?)\s*\(([^()]*)\)", text)
    return (match[1], match[2]) if match else (text, "")
