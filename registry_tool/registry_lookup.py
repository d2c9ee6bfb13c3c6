"""Verified kernel configurations for code that builds: a fresh dict, or an error, never a guess.

    from registry_tool.registry_lookup import gemm_config   # or a registry's own registry_lookup
    gemm_config(2048, 8192, 2048)

This one module is also copied into every registry, so it needs only the standard library, and it
imports as little of that as it can. It reads details/*.json, which `registry-tool render` writes
from the records. Where the records are there too, the first answer about a shape is checked
against them, so that a JSON file that is out of date raises an error and does not answer.

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
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

    Config: TypeAlias = dict[str, Any]
    # What an answer is made of: everything, the tile in it, and the herd if it is not the default.
    _Answer: TypeAlias = tuple[Config, dict[str, int], list[int] | None]

ENVIRONMENT = "REGISTRY_TOOL_REGISTRY"
GEMM = {"bf16": "GEMM_bf16_in_bf16_out", "f32": "GEMM_bf16_in_fp32_out"}
TIERS = ("high", "low")


class NotVerifiedError(KeyError):
    """The registry holds no passing row for what was asked; the message says what is near."""

    def __str__(self) -> str:
        return str(self.args[0])


class StaleError(RuntimeError):
    """The generated JSON says something else than the records; `registry-tool render` mends it."""


class Lookup:
    """The configurations of one registry; ``target`` defaults to the registry's first."""

    def __init__(
        self, registry: str | os.PathLike[str] | None = None, target: str | None = None
    ) -> None:
        self.root: str | None = os.fspath(registry) if registry is not None else find_registry()
        self.target = target
        self._pages: dict[str, _Page] = {}
        self._gemm: dict[tuple[int, int, int, str, str], _Answer] = {}
        self._other: dict[tuple[str, tuple[int, ...], str | None, str | None], _Answer] = {}

    @classmethod
    def of_documents(cls, documents: Mapping[str, Config]) -> Lookup:
        """A lookup in parsed details/<Kernel>.json, by kernel; nothing is read from disk."""
        lookup = cls("")
        lookup.root = None
        lookup._pages = {kernel: _Page(kernel, content) for kernel, content in documents.items()}
        return lookup

    def gemm_config(
        self, M: int, K: int, N: int, output_dtype: str = "bf16", precision: str = "high"
    ) -> Config:
        """The best verified GEMM of a shape: method, tile, gflops, mean_rel_L1 (and herd).

        On hardware the fastest method of the tier; on an emulated target, where nothing is timed,
        the one that the kernel's rule picks, with gflops None and ``emulated`` true. ``herd`` is
        there when it is not the kernel's default. Raises KeyError for a shape or tier that is
        not verified, ValueError for a dtype or tier that does not exist.
        """
        answer = self._gemm.get((M, K, N, output_dtype, precision))
        if answer is None:
            kernel = _gemm_kernel(output_dtype)
            if precision not in TIERS:
                raise ValueError(f"precision must be one of {', '.join(TIERS)}, got {precision!r}")
            answer = self._find(kernel, (M, K, N), None, precision)
            self._gemm[M, K, N, output_dtype, precision] = answer
        return _fresh(answer)

    def gemm_config_method(
        self, M: int, K: int, N: int, output_dtype: str, method: str, precision: str = "high"
    ) -> Config:
        """Like `gemm_config`, of one method whatever its tier, be it the best or not."""
        kernel = _gemm_kernel(output_dtype)
        if precision not in TIERS:
            raise ValueError(f"precision must be one of {', '.join(TIERS)}, got {precision!r}")
        return self._config(kernel, (M, K, N), method, None)

    def gemv_config(self, M: int, K: int) -> Config:
        """The verified GEMV of a shape."""
        return self._config("GEMV_bf16", (M, K))

    def rms_norm_config(self, M: int, N: int) -> Config:
        """The verified RMSNorm of a shape."""
        return self._config("RMSNorm_bf16", (M, N))

    def layer_norm_config(self, M: int, N: int) -> Config:
        """The verified LayerNorm of a shape."""
        return self._config("LayerNorm_bf16", (M, N))

    def flash_attention_config(
        self,
        lq: int,
        lk: int,
        dk: int,
        dv: int,
        num_heads: int,
        num_kv_heads: int,
        causal: bool | int,
    ) -> Config:
        """The verified FlashAttention of a shape."""
        shape = (lq, lk, dk, dv, num_heads, num_kv_heads, int(causal))
        return self._config("FlashAttention_bf16", shape)

    def eltwise_add_config(self, N: int) -> Config:
        """The verified element-wise add of a length."""
        return self._config("EltwiseAdd_bf16", (N,))

    def silu_mul_config(self, N: int) -> Config:
        """The verified SiLU-and-Mul of a length."""
        return self._config("SiLU_Mul_bf16", (N,))

    def gelu_config(self, N: int) -> Config:
        """The verified GELU of a length."""
        return self._config("GELU_bf16", (N,))

    def rope_config(self, rows: int, head_dim: int) -> Config:
        """The verified RoPE of a shape."""
        return self._config("RoPE_bf16", (rows, head_dim))

    def kernel_config(
        self,
        kernel: str,
        shape: dict[str, int] | Sequence[int],
        variant: str | None = None,
        precision: str | None = None,
    ) -> Config:
        """The verified configuration of any kernel of the registry.

        ``shape`` is dim to size, or the sizes in the kernel's order. Without ``variant``, the best
        of the tier; without ``precision``, tier high where the kernel has tiers.
        """
        if isinstance(shape, dict):
            page = self._page(kernel)
            if set(shape) != set(page.dims):
                raise ValueError(f"{kernel} has the dims {', '.join(page.dims)}")
            shape = [shape[dim] for dim in page.dims]
        return self._config(kernel, tuple(shape), variant, precision)

    def _config(
        self,
        kernel: str,
        shape: tuple[int, ...],
        variant: str | None = None,
        precision: str | None = None,
    ) -> Config:
        answer = self._other.get((kernel, shape, variant, precision))
        if answer is None:
            answer = self._find(kernel, shape, variant, precision)
            self._other[kernel, shape, variant, precision] = answer
        return _fresh(answer)

    def _find(
        self, kernel: str, shape: tuple[int, ...], variant: str | None, precision: str | None
    ) -> _Answer:
        page = self._page(kernel)
        if len(shape) != len(page.dims):
            raise ValueError(f"{kernel} has the dims {', '.join(page.dims)}")
        if not all(hasattr(size, "__index__") and size >= 0 for size in shape):
            raise ValueError(f"the sizes of a shape are whole numbers from 0, found {shape}")
        if variant is not None and variant not in (page.variants or [variant]):
            known = ", ".join(page.variants or []) or "none"
            raise ValueError(f"{kernel} has the methods {known}; not {variant!r}")
        if self.root is not None:
            page.require_fresh(self.root, shape)
        return page.answer(shape, variant, precision)

    def _page(self, kernel: str) -> _Page:
        page = self._pages.get(kernel)
        if page is None:
            page = self._pages[kernel] = _Page(kernel, self._read(kernel))
        return page

    def _read(self, kernel: str) -> Config:
        known = list(self._pages)
        if self.root is not None:
            details = os.path.join(self.root, "details")
            # The first target stands in details/ itself, the others in folders of their own.
            folders = [os.path.join(details, self.target)] if self.target else []
            for folder in [*folders, details]:
                found = _read_json(os.path.join(folder, f"{kernel}.json"))
                if found is not None and self.target in (None, found.get("target")):
                    return found
            known = _names(details)
        raise NotVerifiedError(
            f"no kernel {kernel!r}{f' on {self.target}' if self.target else ''} in "
            f"{self.root or 'this registry'}; there are: {', '.join(sorted(known)) or 'none'}"
        )


class _Page:
    """One details/<Kernel>.json, indexed by shape."""

    def __init__(self, kernel: str, content: Config) -> None:
        self.kernel = kernel
        self.target: str = content.get("target", "")
        self.emulated: bool = content.get("emulated", False)
        self.metric: str = content.get("metric", "gflops")
        self.dims: list[str] = content.get("dims", ["M", "K", "N"])
        self.herd: list[int] | None = content.get("herd")
        # Only what the tool writes names the variants; a hand-kept file has no records behind it.
        self.variants: list[str] | None = content.get("variants")
        self.shapes: dict[tuple[int, ...], Config] = {
            tuple([entry[dim] for dim in self.dims]): entry for entry in content["shapes"]
        }

    def answer(self, shape: tuple[int, ...], variant: str | None, precision: str | None) -> _Answer:
        entry = self.shapes.get(shape)
        if entry is None:
            raise NotVerifiedError(
                f"{self._name(shape)} is not verified on {self.target}; "
                f"{self._nearest(shape)}{self._next(shape)}"
            )
        methods = entry["methods"]
        if variant is None:
            variant = self._best(shape, entry, precision)
        elif variant not in methods:
            raise NotVerifiedError(
                f"{self._name(shape)} is not verified with {variant!r} on {self.target}; verified "
                f"are: {', '.join(methods) or 'none'}{self._next(shape, variant)}"
            )
        found = methods[variant]
        if precision is not None and found.get("tier", precision) != precision:
            raise ValueError(f"{variant!r} is of tier {found['tier']!r}, not {precision!r}")
        config = {
            "method": variant,
            "tile": found["tile"],
            self.metric: found[self.metric],
            "mean_rel_L1": found["mean_rel_L1"],
        }
        herd = found.get("herd")
        if herd is not None:
            config["herd"] = herd
        if self.emulated:
            config["emulated"] = True
        return config, found["tile"], herd

    def _best(self, shape: tuple[int, ...], entry: Config, precision: str | None) -> str:
        best: dict[str, str] = entry.get("best") or {}
        tier = precision or ("any" if "any" in best else "high")
        if tier in best:
            return best[tier]
        tiers = {name: method.get("tier", "any") for name, method in entry["methods"].items()}
        there = ", ".join(f"{name} (tier {tier})" for name, tier in tiers.items())
        raise NotVerifiedError(
            f"{self._name(shape)} has no best method of tier {tier!r} on {self.target}; verified "
            f"are: {there or 'none'}{self._next(shape, self._untried(entry))}"
        )

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
        if record is None or record["verdict"]["status"] != "pass":
            return None
        speed = None if self.emulated else record["performance"]
        said = {
            "tile": record["tile"],
            self.metric: speed and speed[self.metric],
            "mean_rel_L1": record["mean_rel_L1"],
            "tier": record["precision"] or "any",
        }
        return said if record["herd"] == self.herd else {**said, "herd": record["herd"]}

    def _name(self, shape: tuple[int, ...]) -> str:
        sizes = ", ".join(f"{dim}={size}" for dim, size in zip(self.dims, shape, strict=True))
        return f"{self.kernel} {sizes}"

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
        chosen = f" --variant {variant}" if variant else ""
        return (
            f"\n  next: registry-tool verify --target {self.target} --kernel {self.kernel} "
            f"--shape {sizes}{chosen}"
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
    return content


_chosen: Lookup | None = None
_hits: dict[tuple[int, int, int, str, str], _Answer] = {}


def use(registry: str | os.PathLike[str] | None = None, target: str | None = None) -> Lookup:
    """Let the module-level functions ask ``registry`` (None: look for it again)."""
    global _chosen, _hits
    _chosen = Lookup(registry, target)
    _hits = _chosen._gemm
    return _chosen


def _lookup() -> Lookup:
    return _chosen if _chosen is not None else use()


def gemm_config(
    M: int, K: int, N: int, output_dtype: str = "bf16", precision: str = "high"
) -> Config:
    """See `Lookup.gemm_config`."""
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
    M: int, K: int, N: int, output_dtype: str, method: str, precision: str = "high"
) -> Config:
    """See `Lookup.gemm_config_method`."""
    return _lookup().gemm_config_method(M, K, N, output_dtype, method, precision)


def gemv_config(M: int, K: int) -> Config:
    """See `Lookup.gemv_config`."""
    return _lookup().gemv_config(M, K)


def rms_norm_config(M: int, N: int) -> Config:
    """See `Lookup.rms_norm_config`."""
    return _lookup().rms_norm_config(M, N)


def layer_norm_config(M: int, N: int) -> Config:
    """See `Lookup.layer_norm_config`."""
    return _lookup().layer_norm_config(M, N)


def flash_attention_config(
    lq: int, lk: int, dk: int, dv: int, num_heads: int, num_kv_heads: int, causal: bool | int
) -> Config:
    """See `Lookup.flash_attention_config`."""
    return _lookup().flash_attention_config(lq, lk, dk, dv, num_heads, num_kv_heads, causal)


def eltwise_add_config(N: int) -> Config:
    """See `Lookup.eltwise_add_config`."""
    return _lookup().eltwise_add_config(N)


def silu_mul_config(N: int) -> Config:
    """See `Lookup.silu_mul_config`."""
    return _lookup().silu_mul_config(N)


def gelu_config(N: int) -> Config:
    """See `Lookup.gelu_config`."""
    return _lookup().gelu_config(N)


def rope_config(rows: int, head_dim: int) -> Config:
    """See `Lookup.rope_config`."""
    return _lookup().rope_config(rows, head_dim)


def kernel_config(
    kernel: str,
    shape: dict[str, int] | Sequence[int],
    variant: str | None = None,
    precision: str | None = None,
) -> Config:
    """See `Lookup.kernel_config`."""
    return _lookup().kernel_config(kernel, shape, variant, precision)
