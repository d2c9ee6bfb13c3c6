"""The values that a layout's templates may show of a row, by name, and how figures are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property

from registry_tool.errors import RegistryError
from registry_tool.records import expressions, kernel
from registry_tool.records.spec import KernelSpec
from registry_tool.tables.cells import escape
from registry_tool.tables.columns import NOTHING, UNITS, error_text, speed_text
from registry_tool.tables.rows import Row

INHERITED = "†"
"""Behind a figure that is another row's, on a page whose text says what it means."""
INHERITED_IN_WORDS = " (inherited)"
"""The same on a page that has no such footnote."""
SPEEDS = ("gflops", "gbps")
METRICS = frozenset({*SPEEDS, "speed"})
_PERFORMANCE = frozenset({*METRICS, "latency_us", "latency_ms", "latency_s"})
_ERRORS = ("mean_rel_L1", "max_abs", "max_rel")
_SCALES = {"latency_us": 1.0, "latency_ms": 1e3, "latency_s": 1e6}
# Values that leave no trace where a row has none.
SILENT = frozenset({"used_by", "notes", "status", "other_herd"})
FIGURES = frozenset({*_PERFORMANCE, *_ERRORS})
FORMAT = re.compile(
    r"(?P<comma>,)?(?:\.(?P<digits>[0-9])(?P<kind>[fe]\+?)|s(?P<significant>[0-9]))"
)

Value = str | int | float | None


@dataclass(frozen=True)
class Subject:
    """One row, with what its kernel's spec says of it."""

    row: Row
    spec: KernelSpec

    @cached_property
    def names(self) -> Mapping[str, expressions.Value]:
        """What an expression may read: dims, knobs, herd axes, ``tiles``, ``variant``."""
        shape = dict(zip(self.spec.dims, self.row.shape, strict=True))
        return kernel.names(self.spec, shape, self.row.variant, self.row.facts.tile, self.row.herd)

    @property
    def key(self) -> str:
        """The row's key, e.g. ``2048x512+drain``."""
        sizes = shape_key(self.row.shape)
        return f"{sizes}+{self.row.variant}" if self.row.variant else sizes

    def value(self, name: str) -> Value:
        """A value as it is, without a format; raises RegistryError for an unknown name."""
        named = _NAMED.get(name)
        if named is not None:
            return named(self)
        return self._computed(name)

    def _computed(self, expression: str) -> Value:
        """A dim, knob or axis, or arithmetic over them; None where the row lacks one."""
        try:
            read = expressions.names_in(expression)
            compute = expressions.parse(expression)
        except expressions.ExpressionError as error:
            raise unknown(expression, self.spec) from error
        spec = self.spec
        if not read <= {*spec.dims, *spec.tile, *spec.herd, "tiles", "variant"}:
            raise unknown(expression, spec)
        try:
            return compute(self.names)
        except (KeyError, ArithmeticError, TypeError):
            return None

    def inherits(self, name: str) -> bool:
        """Whether nobody measured ``name`` for this row."""
        inherited = self.row.facts.inherited
        if name in _PERFORMANCE:
            return any(one in _PERFORMANCE or one == "performance" for one in inherited)
        return name in inherited


def unknown(name: str, spec: KernelSpec | None) -> RegistryError:
    """The error for a name that no row has."""
    known = ", ".join([*_NAMED, *(spec.dims if spec else ())])
    return RegistryError(
        f"a layout shows {name!r}, which is no value of a row; there are {known}, tile knobs, "
        "herd axes and arithmetic over them"
    )


def shape_key(shape: Sequence[int]) -> str:
    """The part of a row's key that is its shape."""
    return "x".join(map(str, shape))


def _speed(subject: Subject) -> float | None:
    facts = subject.row.facts
    return facts.gbps if subject.spec.metric == "gbps" else facts.gflops


_NAMED: Mapping[str, Callable[[Subject], Value]] = {
    "shape": lambda one: kernel.shape_text(
        one.spec, dict(zip(one.spec.dims, one.row.shape, strict=True))
    ),
    "variant": lambda one: one.row.variant,
    "precision": lambda one: None if one.row.tier == "any" else one.row.tier,
    "tile": lambda one: "/".join(str(size) for size in one.row.facts.tile.values()) or None,
    "herd": lambda one: "×".join(map(str, one.row.herd)) or None,
    "other_herd": lambda one: _other_herd(one),
    "speed": _speed,
    "gflops": lambda one: one.row.facts.gflops,
    "gbps": lambda one: one.row.facts.gbps,
    "latency_us": lambda one: one.row.facts.latency_us,
    "latency_ms": lambda one: _scaled(one.row.facts.latency_us, "latency_ms"),
    "latency_s": lambda one: _scaled(one.row.facts.latency_us, "latency_s"),
    "spread": lambda one: one.row.facts.spread,
    "mean_rel_L1": lambda one: one.row.facts.mean_rel_L1,
    "max_abs": lambda one: one.row.facts.max_abs,
    "max_rel": lambda one: one.row.facts.max_rel,
    "kernel": lambda one: one.spec.kernel,
    "unit": lambda one: UNITS[one.spec.metric],
    "setting": lambda one: _setting(one),
    "title": lambda one: one.spec.title,
}


def _other_herd(one: Subject) -> str | None:
    """The herd where it is not the one that lookups leave unsaid: ``(herd 4×4)``."""
    if list(one.row.herd) == one.spec.default_herd:
        return None
    return f"(herd {'×'.join(map(str, one.row.herd))})"


def _setting(one: Subject) -> str:
    """Which row it is, in words: ``drain, 2048×512, herd 8×4``."""
    herd = "×".join(map(str, one.row.herd))
    words = (one.row.variant, one.value("shape"), f"herd {herd}" if herd else None)
    return ", ".join(str(word) for word in words if word)


def _scaled(latency_us: float | None, unit: str) -> float | None:
    return None if latency_us is None else latency_us / _SCALES[unit]


def written(value: Value, form: str | None) -> str:
    """A value as a cell shows it, as Markdown; raises RegistryError for a format it cannot have.

    Formats: ``.1f`` and ``,.0f`` digits after the point, ``.1e`` and ``.1e+`` a power of ten,
    ``s3`` significant digits, ``yes|no`` words for true and false.
    """
    if value is None:
        return NOTHING
    if form and "|" in form:
        yes, _, no = form.partition("|")
        return escape(yes if value else no)
    if isinstance(value, str):
        return escape(value)
    if not form:
        return str(value) if isinstance(value, int) else speed_text(value)
    return figure(value, form)


def figure(value: float, form: str) -> str:
    """A number in one of the formats of `written`."""
    match = FORMAT.fullmatch(form)
    if match is None:
        raise RegistryError(
            f"a layout writes a figure as {form!r}; known are .1f, ,.0f, .1e, .1e+, s3 and yes|no"
        )
    comma = match["comma"] or ""
    if match["significant"]:
        return _significant(value, int(match["significant"]), comma)
    digits = int(match["digits"])
    if match["kind"] == "f":
        return f"{_rounded(value, -digits):{comma}.{digits}f}"
    if value == 0.0:
        return error_text(0.0)
    mantissa, exponent = f"{_rounded(value, _exponent(value) - digits):.{digits}e}".split("e")
    sign = "-" if exponent[0] == "-" else "+" if match["kind"] == "e+" else ""
    return f"{mantissa}e{sign}{int(exponent[1:])}"


def _significant(value: float, digits: int, comma: str) -> str:
    if value == 0.0:
        return f"{0:.{max(digits - 1, 0)}f}"
    shown = _rounded(value, _exponent(value) - max(digits - 1, 0))
    return f"{shown:{comma}.{max(digits - 1 - shown.adjusted(), 0)}f}"


def _exponent(value: float) -> int:
    return Decimal(repr(value)).adjusted()


def _rounded(value: float, exponent: int) -> Decimal:
    """``value`` rounded to a power of ten as people do it: 0.0135 to two digits is 0.014."""
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(exponent), ROUND_HALF_UP)
