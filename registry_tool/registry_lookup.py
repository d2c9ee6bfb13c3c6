"""Measured kernel configurations for code that builds: a fresh dict, or an error, never a guess.

    from registry_tool.registry_lookup import gemm_config   # or a registry's own registry_lookup
    gemm_config(2048, 8192, 2048)

This one module is also copied into every registry, so it needs only the standard library, and it
imports as little of that as it can. It reads details/*.json: those that `registry-tool render`
writes from the records, and those that people keep by hand in a registry that was never imported.
Where the records are there too, the first answer about a shape is checked against them, so that a
JSON file that is out of date raises an error and does not answer.

An answer that no gated run of this tool backs says so: ``verified`` is False, ``source`` is
"imported" or "hand-kept", and ``caveats`` (a tuple, if there are any) holds keys of `CAVEATS`. A
verified answer has none of the three. ``strict`` refuses instead of marking: "sound" refuses rows
with caveats, "verified" (or True) every row that is not verified, "any" (or False) none. It is,
in this order: the argument of the call, that of `use` or `Lookup`, REGISTRY_TOOL_STRICT at the
first call, the key ``lookup`` at the head of the JSON file, "any".

The module-level functions ask one registry for the whole life of the process: the one that a
copied module stands in; else the one named by REGISTRY_TOOL_REGISTRY; else the nearest registry
from the current folder upward at the first call. `use` and `Lookup` choose another.
"""

# pathlib costs a consumer more to import than all the rest of this module.
# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH118, PTH120, PTH208

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    Config: TypeAlias = dict[str, Any]
    _Strict: TypeAlias = bool | str | None
    # What an answer is made of: everything, the tile in it, and the herd if it is not the default.
    _Answer: TypeAlias = tuple[Config, dict[str, int], list[int] | None]

ENVIRONMENT = "REGISTRY_TOOL_REGISTRY"
# What those who ask for a GEMM assume when an answer names no herd.
GEMM_HERD = [8, 4]
GEMM = {"bf16": "GEMM_bf16_in_bf16_out", "f32": "GEMM_bf16_in_fp32_out"}
TIERS = ("high", "low")

STRICT = "REGISTRY_TOOL_STRICT"
POLICIES = ("any", "sound", "verified")
IMPORTED = "imported"
HAND_KEPT = "hand-kept"
CAVEATS = {
    "inherited": "its figures are carried over from another row",
    "failing": "its own notes or status say that a check of it failed",
    "contradicted": "its figures contradict one another, or its pages its tiling or its run",
    "untimed": "it was never timed",
    "ungauged": "its mean_rel_L1 was never measured",
    "waived": "somebody accepted a complaint about it",
}

# The status glyphs that call a row failed.
FAILED = "❌✗✘✖⛔🚫🔴"

# Which sentences of a row's notes say that its figures are another row's (tiles may be), and which
# that a check of it failed. Compiled where they are used: most consumers never read a note.
_SAYS = {
    "inherited": r"(?i)†|^inherited\b(?! tile)|\b(?:carried over|copied) from\b"
    r"|\b(?:gflops?|gflop/s|gb/s|latency|throughput|bandwidth|performance|speed|figures?|numbers?)"
    r"\b[^.;]{0,60}\b(?:carried over|inherited|copied|extrapolated|estimated|not measured)\b",
    "failing": rf"(?i)^[{FAILED}]|\bNUM_?FAIL\b|\btrip(?:s|ped)\b|\breport(?:s|ed)? (?:a )?FAIL"
    r"|\b(?:gate|check) (?:fails|failed)\b|\b(?:status|verdict|result) (?:is|was|[:=]) ?FAIL"
    r"|\b(?:does|did) not pass (?:\w+[- ]){0,3}(?:gate|check|tolerance)\b",
}

# How a note begins that holds what another tile of the shape did in a sweep.
_OTHER_TILES = "sweep at "

# The fields of a record that make a row inherited if their values are another row's.
_FIGURES = frozenset(("performance", "mean_rel_L1", "max_abs", "max_rel"))


class NotVerifiedError(KeyError):
    """The registry holds no row that answers; the message says what is near, and what to run."""

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownNameError(NotVerifiedError, ValueError):
    """A method or tier that the kernel does not have; the message names those that it has."""


class StaleError(RuntimeError):
    """The generated JSON says something else than the records; `registry-tool render` mends it."""


class Lookup:
    """The configurations of one registry; ``target`` defaults to the registry's first."""

    def __init__(
        self,
        registry: str | os.PathLike[str] | None = None,
        target: str | None = None,
        strict: _Strict = None,
    ) -> None:
        self.root: str | None = os.fspath(registry) if registry is not None else find_registry()
        self.target = target
        self.policy: str | None = _policy(strict) or _policy(os.environ.get(STRICT) or None)
        self._pages: dict[str, _Page] = {}
        self._gemm: dict[tuple[int, int, int, str, str], _Answer] = {}
        self._other: dict[tuple[str, tuple[int, ...], str | None, str | None], _Answer] = {}

    @classmethod
    def of_documents(cls, documents: Mapping[str, Config], strict: _Strict = None) -> Lookup:
        """A lookup in parsed details/<Kernel>.json, by kernel; nothing is read from disk."""
        lookup = cls("", strict=strict)
        lookup.root = None
        lookup._pages = {name: _Page(name, content, None) for name, content in documents.items()}
        return lookup

    def gemm_config(
        self,
        M: int,
        K: int,
        N: int,
        output_dtype: str = "bf16",
        precision: str = "high",
        strict: _Strict = None,
    ) -> Config:
        """The best GEMM of a shape: method, tile, gflops, mean_rel_L1 (and herd).

        On hardware the fastest method of the tier; on an emulated target, where nothing is timed,
        the one that the kernel's rule picks, with gflops None and ``emulated`` true. ``herd`` is
        there when it is not the kernel's default of 8x4: ``config.get("herd", (8, 4))``. What else
        an answer may hold, and ``strict``: see the module. Raises KeyError for a shape or tier
        that has no row, and for a row that ``strict`` refuses; ValueError for a dtype or tier
        that does not exist (for the tier it is both).
        """
        if strict is not None:
            _require_tier(precision)
            return self._config(
                _gemm_kernel(output_dtype), (M, K, N), None, precision, _policy(strict)
            )
        answer = self._gemm.get((M, K, N, output_dtype, precision))
        if answer is None:
            kernel = _gemm_kernel(output_dtype)
            _require_tier(precision)
            answer = self._find(kernel, (M, K, N), None, precision, self.policy)
            self._gemm[M, K, N, output_dtype, precision] = answer
        return _fresh(answer)

    def gemm_config_method(
        self,
        M: int,
        K: int,
        N: int,
        output_dtype: str,
        method: str,
        precision: str = "high",
        strict: _Strict = None,
    ) -> Config:
        """Like `gemm_config`, of one method whatever its tier, be it the best or not.

        ``precision`` only has to be a tier; it does not choose. A method that no GEMM of this
        dtype has raises an error that is a KeyError and a ValueError.
        """
        kernel = _gemm_kernel(output_dtype)
        _require_tier(precision)
        return self._config(kernel, (M, K, N), method, None, _policy(strict))

    def gemv_config(self, M: int, K: int, strict: _Strict = None) -> Config:
        """The GEMV of a shape."""
        return self._config("GEMV_bf16", (M, K), policy=_policy(strict))

    def rms_norm_config(self, M: int, N: int, strict: _Strict = None) -> Config:
        """The RMSNorm of a shape."""
        return self._config("RMSNorm_bf16", (M, N), policy=_policy(strict))

    def layer_norm_config(self, M: int, N: int, strict: _Strict = None) -> Config:
        """The LayerNorm of a shape."""
        return self._config("LayerNorm_bf16", (M, N), policy=_policy(strict))

    def flash_attention_config(
        self,
        lq: int,
        lk: int,
        dk: int,
        dv: int,
        num_heads: int,
        num_kv_heads: int,
        causal: bool | int,
        strict: _Strict = None,
    ) -> Config:
        """The FlashAttention of a shape."""
        shape = (lq, lk, dk, dv, num_heads, num_kv_heads, int(causal))
        return self._config("FlashAttention_bf16", shape, policy=_policy(strict))

    def eltwise_add_config(self, N: int, strict: _Strict = None) -> Config:
        """The element-wise add of a length."""
        return self._config("EltwiseAdd_bf16", (N,), policy=_policy(strict))

    def silu_mul_config(self, N: int, strict: _Strict = None) -> Config:
        """The SiLU-and-Mul of a length."""
        return self._config("SiLU_Mul_bf16", (N,), policy=_policy(strict))

    def gelu_config(self, N: int, strict: _Strict = None) -> Config:
        """The GELU of a length."""
        return self._config("GELU_bf16", (N,), policy=_policy(strict))

    def rope_config(self, rows: int, head_dim: int, strict: _Strict = None) -> Config:
        """The RoPE of a shape."""
        return self._config("RoPE_bf16", (rows, head_dim), policy=_policy(strict))

    def kernel_config(
        self,
        kernel: str,
        shape: dict[str, int] | Sequence[int],
        variant: str | None = None,
        precision: str | None = None,
        strict: _Strict = None,
    ) -> Config:
        """The configuration of any kernel of the registry.

        ``shape`` is dim to size, or the sizes in the kernel's order. Without ``variant``, the best
        of the tier; without ``precision``, tier high where the kernel has tiers. Answers and
        errors are those of `gemm_config`, with gbps for a kernel that is counted in it.
        """
        if isinstance(shape, dict):
            page = self._page(kernel)
            if set(shape) != set(page.dims):
                raise ValueError(f"{kernel} has the dims {', '.join(page.dims)}")
            shape = [shape[dim] for dim in page.dims]
        return self._config(kernel, tuple(shape), variant, precision, _policy(strict))

    def _config(
        self,
        kernel: str,
        shape: tuple[int, ...],
        variant: str | None = None,
        precision: str | None = None,
        policy: str | None = None,
    ) -> Config:
        if policy is not None:
            return _fresh(self._find(kernel, shape, variant, precision, policy))
        answer = self._other.get((kernel, shape, variant, precision))
        if answer is None:
            answer = self._find(kernel, shape, variant, precision, self.policy)
            self._other[kernel, shape, variant, precision] = answer
        return _fresh(answer)

    def _find(
        self,
        kernel: str,
        shape: tuple[int, ...],
        variant: str | None,
        precision: str | None,
        policy: str | None,
    ) -> _Answer:
        page = self._page(kernel)
        if len(shape) != len(page.dims):
            raise ValueError(f"{kernel} has the dims {', '.join(page.dims)}")
        if not all(hasattr(size, "__index__") and size >= 0 for size in shape):
            raise ValueError(f"the sizes of a shape are whole numbers from 0, found {shape}")
        if variant is not None and variant not in page.methods:
            known = ", ".join(page.methods) or "none"
            raise UnknownNameError(f"{kernel} has the methods {known}; not {variant!r}")
        if self.root is not None:
            page.require_fresh(self.root, shape)
        return page.answer(shape, variant, precision, policy or page.policy)

    def _page(self, kernel: str) -> _Page:
        page = self._pages.get(kernel)
        if page is None:
            content, path = self._read(kernel)
            page = self._pages[kernel] = _Page(kernel, content, self.root, path)
        return page

    def _read(self, kernel: str) -> tuple[Config, str]:
        known = list(self._pages)
        if self.root is not None:
            details = os.path.join(self.root, "details")
            # The first target stands in details/ itself, the others in folders of their own.
            folders = [os.path.join(details, self.target)] if self.target else []
            for folder in [*folders, details]:
                path = os.path.join(folder, f"{kernel}.json")
                found = _read_json(path)
                if found is not None and self.target in (None, found.get("target")):
                    return found, path
            known = _names(details)
        raise NotVerifiedError(
            f"no kernel {kernel!r}{f' on {self.target}' if self.target else ''} in "
            f"{self.root or 'this registry'}; there are: {', '.join(sorted(known)) or 'none'}"
        )


class _Page:
    """One details/<Kernel>.json, indexed by shape; raises ValueError if it has another form."""

    def __init__(self, kernel: str, content: Config, root: str | None, path: str = "") -> None:
        self.kernel = kernel
        self.root = root
        try:
            self._read(content)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            raise ValueError(
                f"{path or kernel} is not in the form of a registry's JSON: {error!r}"
            ) from None

    def _read(self, content: Config) -> None:
        entries: list[Config] = content["shapes"]
        first = entries[0] if entries else {}
        self.target: str = content.get("target", "")
        self.emulated: bool = content.get("emulated", False)
        self.policy = _policy(content.get("lookup"))
        self.herd: list[int] | None = content.get("herd")
        # Only what the tool writes names the variants; a hand-kept file has no records behind it.
        self.variants: list[str] | None = content.get("variants")
        if self.variants is None:
            names = [name for entry in entries for name in entry["methods"]]
            self.methods = list(dict.fromkeys(names))
        else:
            self.methods = self.variants or ["default"]
        metrics = [one for method in first.get("methods", {}).values() for one in method]
        self.metric: str = content.get("metric") or ("gbps" if "gbps" in metrics else "gflops")
        sizes = [name for name, size in first.items() if isinstance(size, int)]
        self.dims: list[str] = content.get("dims") or sizes or ["M", "K", "N"]
        self.shapes: dict[tuple[int, ...], Config] = {}
        for entry in entries:
            # Of a shape that stands there twice the first counts, as it does for a linear search.
            self.shapes.setdefault(tuple([entry[dim] for dim in self.dims]), entry)

    def answer(
        self,
        shape: tuple[int, ...],
        variant: str | None,
        precision: str | None,
        policy: str | None,
    ) -> _Answer:
        entry = self.shapes.get(shape)
        if entry is None:
            raise NotVerifiedError(
                f"{self._name(shape)} is not {self._proved}{self._on}; "
                f"{self._nearest(shape)}{self._next(shape)}"
            )
        methods = entry["methods"]
        if variant is None:
            variant = self._best(shape, entry, precision)
        elif variant not in methods:
            raise NotVerifiedError(
                f"{self._name(shape)} is not {self._proved} with {variant!r}{self._on}; "
                f"{self._there(entry)} are: {', '.join(methods) or 'none'}"
                f"{self._next(shape, variant)}"
            )
        found = methods[variant]
        if precision is not None and found.get("tier", precision) != precision:
            raise ValueError(f"{variant!r} is of tier {found['tier']!r}, not {precision!r}")
        if not isinstance(found.get("tile"), dict):
            raise NotVerifiedError(
                f"{self._name(shape)} with {variant!r} has no tile{self._next(shape, variant)}"
            )
        marks = self._marks(entry, variant)
        if _refused(policy, marks):
            raise NotVerifiedError(self._refusal(shape, entry, variant, marks, policy))
        config = {
            "method": variant,
            "tile": found["tile"],
            self.metric: found.get(self.metric),
            "mean_rel_L1": found.get("mean_rel_L1"),
        }
        herd = self._herd(found)
        if herd is not None:
            config["herd"] = herd
        config.update(marks)
        if self.emulated:
            config["emulated"] = True
        return config, found["tile"], herd

    def _herd(self, found: Config) -> list[int] | None:
        """The herd to say: the method's own, or the file's where it is not what all assume."""
        if found.get("herd") is not None or self.variants is not None:
            return found.get("herd")
        return None if self.herd == GEMM_HERD else self.herd

    def _marks(self, entry: Config, variant: str) -> Config:
        """What keeps a row from being taken for a verified one; empty for one that is."""
        found = entry["methods"][variant]
        if self.variants is not None:
            if found.get("verified", True):
                return {}
            return _marks(found.get("source", IMPORTED), found.get("caveats", ()))
        notes = [
            text
            for part in (entry, found)
            for name, text in part.items()
            if name.lstrip("_") in ("note", "notes", "status") and isinstance(text, str)
        ]
        speed, accuracy = found.get(self.metric), found.get("mean_rel_L1")
        tier = found.get("tier")
        return _marks(HAND_KEPT, caveats(notes, variant, tier, self.methods, speed, accuracy))

    def _refusal(
        self, shape: tuple[int, ...], entry: Config, variant: str, marks: Config, policy: str | None
    ) -> str:
        why = "; ".join(CAVEATS.get(name, name) for name in marks.get("caveats", ()))
        others = [
            name for name in entry["methods"] if not _refused(policy, self._marks(entry, name))
        ]
        chosen = f" with {variant!r}" if variant != "default" else ""
        return (
            f"{self._name(shape)}{chosen} is {marks['source']}{self._on} and no gated run backs it"
            f"{f' ({why})' if why else ''}: strict={policy!r} refuses it"
            f"{f', but not {self._tiers(entry, others)}' if others else ''}"
            f"{self._next(shape, variant)}"
        )

    def _best(self, shape: tuple[int, ...], entry: Config, precision: str | None) -> str:
        methods, best = entry["methods"], entry.get("best") or {}
        tiers = {name: method.get("tier", "any") for name, method in methods.items()}
        tier = precision or ("any" if "any" in (*best, *tiers.values()) else "high")
        named: str = best.get(tier, "")
        if named in methods and methods[named].get("tier", tier) == tier:
            return named
        none = f"{self._name(shape)} has no best method of tier {tier!r}{self._on}"
        alike = [name for name in tiers if tiers[name] == tier]
        there = self._tiers(entry, methods) or "none"
        if named:
            why = f"its `best` names {named!r}; {self._there(entry)} are: {there}"
        elif alike and all(methods[name].get(self.metric) is None for name in alike):
            why = f"{self._tiers(entry, alike)} was never timed; ask for it by its name"
        elif alike:
            why = f"{self._tiers(entry, alike)} is there, but `best` names none; ask for it by name"
        elif tiers:
            only = ", ".join(dict.fromkeys(tiers.values()))
            why = f"there is only tier {only}, {self._there(entry)} are: {there}"
        else:
            why = f"{self._proved} are: none"
        untried = alike[0] if alike else self._untried(entry)
        raise NotVerifiedError(f"{none}: {why}{self._next(shape, untried)}")

    def require_fresh(self, root: str, shape: tuple[int, ...]) -> None:
        """Raise StaleError if the records of ``shape`` say something else than this page."""
        records = os.path.join(root, "records")
        if self.variants is None or not os.path.isdir(records):
            return
        key = "x".join(map(str, shape))
        methods = self.shapes.get(shape, {}).get("methods", {})
        for variant in self.variants or [""]:
            name = f"{key}+{variant}.json" if variant else f"{key}.json"
            path = os.path.join(records, self.target, self.kernel, name)
            if self._said(_read_json(path)) != methods.get(variant or "default"):
                raise StaleError(
                    f"details of {self._name(shape)} are not what {path} says\n"
                    "  next: registry-tool render"
                )

    def _said(self, record: Config | None) -> Config | None:
        """What this page has to say of a record."""
        if record is None:
            return None
        verdict = record["verdict"]
        imported = verdict["kind"] == IMPORTED
        # The diagnosis of a model measures no configuration that could be looked up.
        if not imported and (verdict["status"] != "pass" or verdict["kind"] == "diagnosis"):
            return None
        speed = None if self.emulated else record["performance"]
        said = {
            "tile": record["tile"],
            self.metric: speed and speed[self.metric],
            "mean_rel_L1": record["mean_rel_L1"],
            "tier": record["precision"] or "any",
        }
        if record["herd"] != self.herd:
            said["herd"] = record["herd"]
        if imported:
            said |= imported_marks(
                record["notes"],
                record["variant"],
                record["precision"],
                self.variants or [],
                speed=said[self.metric],
                accuracy=record["mean_rel_L1"],
                at_import=import_caveats(record["provenance"]),
                waived=bool(record["waivers"]),
                failed=verdict["status"] not in ("pass", "unverified"),
            )
        return said

    def _name(self, shape: tuple[int, ...]) -> str:
        sizes = ", ".join(f"{dim}={size}" for dim, size in zip(self.dims, shape, strict=True))
        return f"{self.kernel} {sizes}"

    @property
    def _proved(self) -> str:
        return "verified" if self.variants is not None else "measured"

    def _there(self, entry: Config) -> str:
        """What all methods of a shape are: verified, measured (by somebody), or just there."""
        all_same = not any(self._marks(entry, name) for name in entry["methods"])
        return self._proved if all_same or self.variants is None else "there"

    @property
    def _on(self) -> str:
        return f" on {self.target}" if self.target else ""

    def _tiers(self, entry: Config, names: Iterable[str]) -> str:
        tiers = {name: entry["methods"][name].get("tier", "any") for name in names}
        return ", ".join(f"{name} (tier {tier})" for name, tier in tiers.items())

    def _nearest(self, shape: tuple[int, ...]) -> str:
        from math import log2

        def distance(other: tuple[int, ...]) -> float:
            pairs = zip(shape, other, strict=True)
            return sum([abs(log2((a + 1) / (b + 1))) for a, b in pairs])

        near = [
            "x".join(map(str, other)) + _listed(self.shapes[other]["methods"])
            for other in sorted(self.shapes, key=distance)[:3]
        ]
        return f"nearest: {'; '.join(near)}" if near else "nor is any other shape of it"

    def _untried(self, entry: Config) -> str | None:
        """A method of the kernel that has no row of this shape."""
        left = [name for name in self.variants or [] if name not in entry["methods"]]
        return left[0] if left else None

    def _next(self, shape: tuple[int, ...], variant: str | None = None) -> str:
        sizes = ",".join(f"{dim}={size}" for dim, size in zip(self.dims, shape, strict=True))
        target = f" --target {self.target}" if self.target else ""
        chosen = f" --variant {variant}" if variant not in (None, "default") else ""
        # A registry that was never imported has to be, before anything in it can be verified.
        place = target or " --target NAME"
        importing = f"registry-tool import {self.root}{place}\n  then: "
        return (
            f"\n  next: {importing if self.variants is None and self.root else ''}"
            f"registry-tool verify{target} --kernel {self.kernel} --shape {sizes}{chosen}"
        )


def find_registry() -> str:
    """The registry to ask: see the module's description; raises FileNotFoundError."""
    beside = os.path.dirname(os.path.abspath(__file__))
    if os.path.isdir(os.path.join(beside, "details")):
        return beside
    named = os.environ.get(ENVIRONMENT)
    if named:
        return named
    folder = os.getcwd()
    while not os.path.isfile(os.path.join(folder, "registry.yaml")):
        above = os.path.dirname(folder)
        if above == folder:
            raise FileNotFoundError(
                f"no registry.yaml in {os.getcwd()} or above it; set {ENVIRONMENT}, or use "
                "Lookup(folder)"
            )
        folder = above
    return folder


def _require_tier(precision: str) -> None:
    if precision not in TIERS:
        raise UnknownNameError(f"precision must be one of {', '.join(TIERS)}, got {precision!r}")


def _policy(strict: _Strict) -> str | None:
    """The policy that ``strict`` names, None if it names none; raises ValueError."""
    if strict is None or strict in POLICIES:
        return strict
    if strict in (True, "1", False, "0"):
        return POLICIES[-1] if strict in (True, "1") else POLICIES[0]
    raise ValueError(
        f"strict (or {STRICT}) is True, False or one of {', '.join(POLICIES)}; got {strict!r}"
    )


def _gemm_kernel(output_dtype: str) -> str:
    if output_dtype not in GEMM:
        raise ValueError(f"output_dtype must be one of {', '.join(GEMM)}, got {output_dtype!r}")
    return GEMM[output_dtype]


def _fresh(answer: _Answer) -> Config:
    config, tile, herd = answer
    config = config.copy()
    config["tile"] = tile.copy()
    if herd is not None:
        config["herd"] = herd.copy()
    return config


def _listed(methods: Mapping[str, Any]) -> str:
    names = ", ".join(name for name in methods if name != "default")
    return f" ({names})" if names else ""


def _names(folder: str) -> list[str]:
    try:
        return [name[:-5] for name in os.listdir(folder) if name.endswith(".json")]
    except OSError:
        return []


def _read_json(path: str) -> Config | None:
    """The content of ``path``, or None if it is not there; raises ValueError if it is broken."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            content: Config = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not in the form of a registry's JSON: it is no object")
    return content


def imported_marks(
    notes: Iterable[str],
    variant: str | None,
    tier: str | None,
    methods: Sequence[str],
    *,
    speed: float | None,
    accuracy: float | None,
    at_import: Iterable[str],
    waived: bool,
    failed: bool,
) -> Config:
    """The marks of an imported row in details/<Kernel>.json: its notes as `caveats` reads them.

    ``at_import`` are those that `import_caveats` finds, which no change of the notes takes away;
    ``waived`` says that somebody accepted a complaint about the row, ``failed`` that its verdict
    is worse than unverified.
    """
    found = {*caveats(notes, variant, tier, methods, speed, accuracy), *at_import}
    found |= {name for name, holds in (("waived", waived), ("failing", failed)) if holds}
    marks = _marks(IMPORTED, ())
    if found:
        marks["caveats"] = [name for name in CAVEATS if name in found]
    return marks


def import_caveats(provenance: Mapping[str, str]) -> list[str]:
    """The keys of `CAVEATS` that a row's provenance holds since its import.

    Those are what the import read in the row's words, a status glyph in `FAILED`, and figures that
    are another row's.
    """
    found = {name.strip() for name in provenance.get("caveats", "").split(",")}
    if any(glyph in provenance.get("status", "") for glyph in FAILED):
        found.add("failing")
    inherited = [name for name, source in provenance.items() if source.startswith("inherited")]
    if not _FIGURES.isdisjoint([name.partition(".")[0] for name in inherited]):
        found.add("inherited")
    return [name for name in CAVEATS if name in found]


def caveats(
    texts: Iterable[str],
    variant: str | None,
    tier: str | None,
    methods: Sequence[str],
    speed: float | None,
    accuracy: float | None,
) -> list[str]:
    """The keys of `CAVEATS` that hold for a row that nothing but its own words backs.

    ``texts`` are the notes of its shape or its own; a sentence about other methods or the other
    tier only (of those that stand before what it says of them) is not about this row. ``methods``
    are those of the kernel. ``speed`` and ``accuracy`` are None where they were not measured.
    """
    import re

    # One split for all texts: ends of sentences, and of the halves that a semicolon parts.
    own = [text for text in texts if not text.startswith(_OTHER_TILES)]
    parts = [part for text in own for part in re.split(r"(?<=[.;!?])\s+|\n", text)]

    def holds(pattern: str) -> bool:
        for part in parts:
            found = re.search(pattern, part)
            if found is None or _denied(part[: found.start()]):
                continue
            if _is_about(part[: found.start()], variant, tier, methods):
                return True
        return False

    said = {name for name, pattern in _SAYS.items() if holds(pattern)}
    missing = {"untimed": speed is None, "ungauged": accuracy is None}
    return [name for name in CAVEATS if name in said or missing.get(name)]


def _denied(before: str) -> bool:
    """Whether the words right before a statement turn it round: `no NUMFAIL`, `never trips`."""
    import re

    return (
        re.search(r"(?i)(?:\bno|\bnot|\bnever|\bwithout|n't)(?: a| any)?\s+$", before) is not None
    )


def _is_about(before: str, variant: str | None, tier: str | None, methods: Sequence[str]) -> bool:
    import re

    named = [
        name for name in methods if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", before)
    ]
    if named:
        return variant in named
    tiers = re.findall(r"\b(high|low)[ -]prec", before.lower())
    return not tiers or tier in (*tiers, None, "any")


def _marks(source: str, found: Iterable[str]) -> Config:
    marks: Config = {"verified": False, "source": source}
    # All answers of a row share it, so it is a tuple.
    held = tuple(found)
    if held:
        marks["caveats"] = held
    return marks


def _refused(policy: str | None, marks: Config) -> bool:
    return bool(marks) and (policy == "verified" or (policy == "sound" and "caveats" in marks))


_chosen: Lookup | None = None
_hits: dict[tuple[int, int, int, str, str], _Answer] = {}


def use(
    registry: str | os.PathLike[str] | None = None,
    target: str | None = None,
    strict: _Strict = None,
) -> Lookup:
    """Let the module-level functions ask ``registry`` (None: look for it again)."""
    global _chosen, _hits
    _chosen = Lookup(registry, target, strict)
    _hits = _chosen._gemm
    return _chosen


def _lookup() -> Lookup:
    return _chosen if _chosen is not None else use()


def gemm_config(
    M: int,
    K: int,
    N: int,
    output_dtype: str = "bf16",
    precision: str = "high",
    strict: _Strict = None,
) -> Config:
    """See `Lookup.gemm_config`."""
    if strict is not None:
        return _lookup().gemm_config(M, K, N, output_dtype, precision, strict)
    # Builders call this in loops: a hit is one look into a dict, and `_fresh` written out.
    try:
        config, tile, herd = _hits[M, K, N, output_dtype, precision]
    except KeyError:
        return _lookup().gemm_config(M, K, N, output_dtype, precision)
    config = config.copy()
    config["tile"] = tile.copy()
    if herd is not None:
        config["herd"] = herd.copy()
    return config


def gemm_config_method(
    M: int,
    K: int,
    N: int,
    output_dtype: str,
    method: str,
    precision: str = "high",
    strict: _Strict = None,
) -> Config:
    """See `Lookup.gemm_config_method`."""
    return _lookup().gemm_config_method(M, K, N, output_dtype, method, precision, strict)


def gemv_config(M: int, K: int, strict: _Strict = None) -> Config:
    """See `Lookup.gemv_config`."""
    return _lookup().gemv_config(M, K, strict)


def rms_norm_config(M: int, N: int, strict: _Strict = None) -> Config:
    """See `Lookup.rms_norm_config`."""
    return _lookup().rms_norm_config(M, N, strict)


def layer_norm_config(M: int, N: int, strict: _Strict = None) -> Config:
    """See `Lookup.layer_norm_config`."""
    return _lookup().layer_norm_config(M, N, strict)


def flash_attention_config(
    lq: int,
    lk: int,
    dk: int,
    dv: int,
    num_heads: int,
    num_kv_heads: int,
    causal: bool | int,
    strict: _Strict = None,
) -> Config:
    """See `Lookup.flash_attention_config`."""
    return _lookup().flash_attention_config(lq, lk, dk, dv, num_heads, num_kv_heads, causal, strict)


def eltwise_add_config(N: int, strict: _Strict = None) -> Config:
    """See `Lookup.eltwise_add_config`."""
    return _lookup().eltwise_add_config(N, strict)


def silu_mul_config(N: int, strict: _Strict = None) -> Config:
    """See `Lookup.silu_mul_config`."""
    return _lookup().silu_mul_config(N, strict)


def gelu_config(N: int, strict: _Strict = None) -> Config:
    """See `Lookup.gelu_config`."""
    return _lookup().gelu_config(N, strict)


def rope_config(rows: int, head_dim: int, strict: _Strict = None) -> Config:
    """See `Lookup.rope_config`."""
    return _lookup().rope_config(rows, head_dim, strict)


def kernel_config(
    kernel: str,
    shape: dict[str, int] | Sequence[int],
    variant: str | None = None,
    precision: str | None = None,
    strict: _Strict = None,
) -> Config:
    """See `Lookup.kernel_config`."""
    return _lookup().kernel_config(kernel, shape, variant, precision, strict)
