"""Values in prose: find them in a page, and put what the records say in their place.

    <!-- registry:value best throughput -->32.6<!-- /registry:value --> GFLOP/s

The words between the two comments are generated and nothing else is; `tables.selector` says what
the first comment may hold. A marker in code, in a generated region, or in a comment that spans
lines is text. On the hot path: no Markdown parser here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec, Target
from registry_tool.tables import columns, document, selector
from registry_tool.tables.comments import Comment, comments
from registry_tool.tables.document import TableError
from registry_tool.tables.selector import Selector, SelectorError

Place = tuple[str, str]
"""Target and kernel."""

_HINT = b"registry:value"
_BEGIN = re.compile(rb"<!--\s*registry:value(?![\w.:-])(.*?)-->\Z", re.S)
_END = re.compile(rb"<!--\s*/\s*registry:value\s*-->\Z")
_LIKE = re.compile(rb"<!--\s*/?\s*registry:value\b")

# What the gate knows of these rows is at least not that they are wrong.
_SHOWN_STATUS = ("pass", "unverified")
_CELLS: Mapping[str, str] = {"throughput": "performance"}
_LARGE_IS_BEST = ("throughput", "tiles")


@dataclass(frozen=True)
class Marked:
    """An inline value in a page: its words, and the byte offsets of what it shows now.

    ``line`` counts ``\\n`` as an editor does, from 1.
    """

    words: str
    line: int
    start: int
    stop: int


@dataclass(frozen=True)
class Problem:
    """Markers or words that cannot be read, or a selection that has no row."""

    line: int
    message: str
    fix: str

    def error(self, path: str | None) -> TableError:
        """The problem as an error of the page ``path``."""
        return TableError(self.message, path=path, line=self.line, fix=self.fix)


@dataclass(frozen=True)
class Home:
    """What a value on a page means where it does not say: the page's kernel and target."""

    kernel: str | None
    target: str


@dataclass(frozen=True)
class Values:
    """What inline values are made of.

    ``records_of`` gives the records of a target and kernel, None while one cannot be read.
    """

    specs: Mapping[str, KernelSpec]
    targets: Mapping[str, Target]
    records_of: Callable[[Place], Sequence[Record] | None]


@dataclass(frozen=True)
class Checked:
    """An inline value and what it should show; None where its rows cannot be read just now."""

    marked: Marked
    wanted: bytes | None


def mentions(data: bytes) -> bool:
    """Whether ``data`` may hold an inline value: most pages do not, and need no closer look."""
    return _HINT in data


def home_of(path: str, specs: Iterable[str], targets: Iterable[str]) -> Home:
    """Kernel and target that a page stands for; the first of ``targets`` unless it says so."""
    known = list(targets)
    folders, _, name = path.rpartition("/")
    kernel = name.removesuffix(".md")
    target = folders.removeprefix("details/")
    in_details = folders == "details" or target in known
    return Home(
        kernel if in_details and kernel in specs else None, target if target in known else known[0]
    )


def marked(data: bytes, path: str | None = None) -> list[Marked]:
    """The inline values of a page, in order; raises TableError for markers that do not fit."""
    found, problems = scan(data, path)
    if problems:
        raise problems[0].error(path)
    return found


def scan(data: bytes, path: str | None = None) -> tuple[list[Marked], list[Problem]]:
    """The inline values of a page, and the markers that do not fit together.

    Raises TableError where the page's regions are not sound: nobody knows then what is prose.
    """
    if not mentions(data):
        return [], []
    regions = document.regions(data, path)
    starts = [region.body_start for region in regions]
    scanner = _Scanner(data)
    for comment in comments(data):
        inside = bisect_right(starts, comment.start) - 1
        if inside >= 0 and comment.start < starts[inside] + len(regions[inside].body):
            continue
        scanner.take(comment)
    return scanner.found, scanner.finished()


class _Scanner:
    """Pairs the markers of a page, one comment after the other."""

    def __init__(self, data: bytes) -> None:
        self.found: list[Marked] = []
        self._data = data
        self._problems: list[Problem] = []
        self._opened: tuple[Comment, str] | None = None

    def take(self, comment: Comment) -> None:
        text = self._data[comment.start : comment.stop]
        if not comment.closed:
            text = self._data[comment.start : comment.start + 60]
        if _LIKE.match(text) is None:
            return
        begin = _BEGIN.match(text) if comment.closed else None
        if not comment.closed:
            self._complain(comment, "this comment has no `-->` in its paragraph", _CLOSE)
        elif b"\n" in text.strip():
            self._complain(comment, "a marker must stand on one line", "join its lines")
        elif begin is not None:
            self._begin(comment, begin[1])
        elif _END.match(text) is not None:
            self._end(comment)
        else:
            self._complain(comment, "expected `<!-- /registry:value -->`", "mend the marker")

    def _begin(self, comment: Comment, words: bytes) -> None:
        if self._opened is not None:
            line = self._line(self._opened[0])
            self._complain(
                comment,
                f"a value begins inside the one that began on line {line} and has not ended",
                _CLOSE,
            )
        self._opened = comment, words.decode("utf-8", "replace").strip()

    def _end(self, comment: Comment) -> None:
        if self._opened is None:
            self._complain(
                comment,
                "an end marker without a begin marker before it",
                "delete it, or add <!-- registry:value ... --> before the figure",
            )
            return
        opened, words = self._opened
        self._opened = None
        if b"\n" in self._data[opened.stop : comment.start]:
            self._complain(
                opened, f"the value that begins here ends on line {self._line(comment)}", _CLOSE
            )
        elif opened.stretch != comment.stretch:
            self._complain(opened, "the value that begins here ends in another table cell", _CLOSE)
        else:
            self.found.append(Marked(words, self._line(opened), opened.stop, comment.start))

    def finished(self) -> list[Problem]:
        """Every problem, once the whole page was taken."""
        if self._opened is not None:
            message = "the value that begins here has no end marker (one in code does not count)"
            self._complain(self._opened[0], message, _CLOSE)
            self._opened = None
        return sorted(self._problems, key=lambda problem: problem.line)

    def _line(self, comment: Comment) -> int:
        return self._data.count(b"\n", 0, comment.start) + 1

    def _complain(self, comment: Comment, message: str, fix: str) -> None:
        self._problems.append(Problem(self._line(comment), message, fix))


_CLOSE = "write <!-- registry:value ... -->FIGURE<!-- /registry:value --> on one line"


def check(
    data: bytes, values: Values, home: Home, path: str | None = None
) -> tuple[list[Checked], list[Problem]]:
    """Every inline value of a page with what it should show, and what is wrong with the others.

    Raises TableError where the page's regions are not sound.
    """
    found, problems = scan(data, path)
    checked = []
    for one in found:
        try:
            shown = text(selector.parse(one.words), values, home)
        except SelectorError as error:
            problems.append(Problem(one.line, f"registry:value: {error}", _WORDS))
            continue
        checked.append(Checked(one, None if shown is None else shown.encode()))
    return checked, sorted(problems, key=lambda problem: problem.line)


_WORDS = "correct the words of the comment; docs/guide.md, Figures in prose, has them all"


def splice(data: bytes, values: Values, home: Home, path: str | None = None) -> bytes:
    """``data`` with every inline value as the records say; bytes around them stay.

    Raises TableError for the first marker that does not fit, unknown word, or empty selection.
    """
    checked, problems = check(data, values, home, path)
    if problems:
        raise problems[0].error(path)
    parts: list[bytes] = []
    at = 0
    for one in checked:
        if one.wanted is not None:
            parts += [data[at : one.marked.start], one.wanted]
            at = one.marked.stop
    return b"".join([*parts, data[at:]])


def places(data: bytes, home: Home, path: str | None = None) -> set[Place]:
    """The targets and kernels whose records the page's values show, as far as it can be read."""
    try:
        found, _ = scan(data, path)
    except TableError:
        return set()
    named = set()
    for one in found:
        try:
            words = selector.parse(one.words)
        except SelectorError:
            continue
        kernel = words.kernel or home.kernel
        if kernel is not None:
            named.add((words.target or home.target, kernel))
    return named


def text(words: Selector, values: Values, home: Home) -> str | None:
    """What a value shows; None where its rows cannot be read just now.

    Raises SelectorError for a kernel, target or dimension that does not exist, and for a
    selection without rows.
    """
    spec, target, kind = _resolved(words, values, home)
    records = values.records_of((target, spec.kernel))
    if records is None:
        return None
    return project(words, spec, kind, target, records)


def _resolved(words: Selector, values: Values, home: Home) -> tuple[KernelSpec, str, str]:
    name = words.kernel or home.kernel
    if name is None:
        raise SelectorError("this page is no kernel's; expected kernel=NAME")
    spec = values.specs.get(name)
    if spec is None:
        raise SelectorError(f"unknown kernel {name!r}; expected one of {', '.join(values.specs)}")
    target = words.target or home.target
    if target not in values.targets:
        known = ", ".join(values.targets)
        raise SelectorError(f"unknown target {target!r}; expected one of {known}")
    for dim in words.dims:
        if dim not in spec.dims:
            raise SelectorError(
                f"unknown key {dim!r}; the dimensions of {name} are {', '.join(spec.dims)}"
            )
    if words.variant is not None and words.variant not in spec.variants:
        known = ", ".join(spec.variants) or "none"
        raise SelectorError(f"unknown variant {words.variant!r}; those of {name} are: {known}")
    return spec, target, values.targets[target].kind


def project(
    words: Selector, spec: KernelSpec, kind: str, target: str, records: Iterable[Record]
) -> str:
    """What a value shows of ``records``, those of one kernel on one target of ``kind``.

    Raises SelectorError if none of them fits.
    """
    chosen = [record for record in records if fits(words, record)]
    if not chosen:
        raise SelectorError(f"no row of {spec.kernel} on {target} fits `{words}`: nothing to show")
    if words.function == "count":
        shapes = {tuple(record.shape.values()) for record in chosen}
        return str(len(shapes) if words.field == "shapes" else len(chosen))
    if kind != "hardware" and words.field in ("throughput", "latency"):
        return columns.EMULATED
    measured = [
        (value, record)
        for record in chosen
        if (value := figure(words.field, record, spec)) is not None
    ]
    if not measured:
        return columns.NOTHING
    low = _shown(words, spec, kind, min(measured, key=lambda pair: pair[0]))
    high = _shown(words, spec, kind, max(measured, key=lambda pair: pair[0]))
    if words.function == "range":
        return _span(low, high)
    return high if (words.function == "best") == (words.field in _LARGE_IS_BEST) else low


def fits(words: Selector, record: Record) -> bool:
    """Whether a row is among those that a value speaks of."""
    return (
        record.verdict.status in _SHOWN_STATUS
        # The diagnosis of a model measures no configuration.
        and record.verdict.kind != "diagnosis"
        and words.variant in (None, record.variant)
        and words.precision in (None, record.precision)
        and (words.model is None or any(use.model == words.model for use in record.used_by))
        and all(record.shape.get(dim) == size for dim, size in words.dims.items())
    )


def figure(field: str, record: Record, spec: KernelSpec) -> float | None:
    """A field of a row as a number: throughput in the kernel's unit, latency in µs."""
    if field == "throughput":
        return columns.throughput(record, spec, "hardware")
    if field == "latency":
        return None if record.performance is None else record.performance.latency_us
    if field == "tiles":
        return record.tiles_in_flight
    value: float | None = getattr(record, field)
    return value


def _shown(words: Selector, spec: KernelSpec, kind: str, pair: tuple[float, Record]) -> str:
    value, record = pair
    if words.digits is None and words.unit is None:
        cell = _CELLS.get(words.field, words.field)
        arguments = [column.argument for column in spec.columns if column.cell == cell]
        return columns.CELLS[cell](record, spec, kind, arguments[0] if arguments else None)
    if words.field == "throughput":
        unit = columns.UNITS[spec.metric]
        return _speed(value, unit, words, in_column=_has_unit(spec))
    if words.field == "latency":
        large = value >= 9999.5 and words.unit is not False
        return _speed(value / 1000 if large else value, "ms" if large else "µs", words, True)
    if value == 0:
        return columns.error_text(value)
    return f"{value:.{(words.digits or 1) - 1}e}".replace("e-0", "e-").replace("e+0", "e")


def _has_unit(spec: KernelSpec) -> bool:
    return any(one.cell == "performance" and one.argument == "unit" for one in spec.columns)


def _speed(value: float, unit: str, words: Selector, in_column: bool) -> str:
    number = columns.speed_text(value) if words.digits is None else _rounded(value, words.digits)
    with_unit = in_column if words.unit is None else words.unit
    return f"{number} {unit}" if with_unit else number


def _rounded(value: float, digits: int) -> str:
    """A number to so many significant digits, without an exponent: 9000, 25, 0.15."""
    rounded = float(f"{value:.{digits - 1}e}")
    before = int(f"{rounded:e}".partition("e")[2]) + 1
    return f"{rounded:.{max(0, digits - before)}f}"


def _span(low: str, high: str) -> str:
    if low == high:
        return low
    number, space, unit = low.partition(" ")
    # A unit that both have is said once.
    return f"{number}–{high}" if space and high.endswith(f" {unit}") else f"{low}–{high}"
