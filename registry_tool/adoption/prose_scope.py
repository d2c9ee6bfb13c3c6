"""Which rows a figure in prose speaks of, as far as its sentence says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from registry_tool.adoption.prose_figures import Figure
from registry_tool.adoption.prose_rows import Known
from registry_tool.adoption.prose_text import Sentence
from registry_tool.records.spec import KernelSpec

_PRODUCT = re.compile(r"(?<![\w.×x])\d+(?:\s*[×x]\s*\d+)+(?![\w×])")
_CUBE = re.compile(r"(?<![\w.])(\d+)([²³])")
_NOT_OURS = re.compile(r"\b(?:GPU|PyTorch|torch|vLLM|CUDA|HF|HuggingFace|SDPA|CPU)\b[^.;]{0,48}\Z")
_SUPERLATIVE = re.compile(r"\b(?:highest|fastest|peaks?|best|maximum|up to)\b", re.I)
_DETAILS = re.compile(r"details/(?:[^/)\s]+/)?([A-Za-z0-9_]+)\.md")
_AFTER_NAME = re.compile(
    r"(?:['’]s)?(?:\s+(?:tier|kernel|at|stays at))?\s*[(:]?\s*(?:mean_rel_L1|abs_err max)?"
    r"\s*[(~≈=≤<]*\s*\Z"
)
_OF_A_ROW = re.compile(r"\b(?:PASS\w*|verified|clean\w*|places|this row|deploy)\b", re.I)
_SIZED = re.compile(r"(?<![\w.-])[A-Za-z][\w.]*-(?:[\w.]+-)*\d+(?:\.\d+)?[BM](?![\w-])")
_SHAPE_SIZE = 64
_FAR = 48


@dataclass(frozen=True)
class Scope:
    """Rows of one kernel. ``is_specific``: the words name shapes; ``is_part``: they name a part of
    the rows that cannot be told, such as those of a model."""

    kernel: str
    rows: tuple[Known, ...]
    all_rows: tuple[Known, ...]
    is_specific: bool
    is_part: bool
    is_superlative: bool
    variant: str | None
    precision: str | None

    def selections(self) -> Iterator[tuple[dict[str, int], str | None, str | None]]:
        """Dims, variant and precision of what an inline value may select, the simplest first."""
        shapes = {tuple(row.record.shape.items()) for row in self.rows}
        dims = dict(next(iter(shapes))) if self.is_specific and len(shapes) == 1 else {}
        if self.is_specific and not dims:
            return
        yield dims, None, None
        if self.precision is not None:
            yield dims, None, self.precision
        if self.variant is not None:
            yield dims, self.variant, None


class Scopes:
    """Finds the rows that sentences speak of."""

    def __init__(self, rows: Sequence[Known], specs: Mapping[str, KernelSpec]) -> None:
        self._specs = specs
        self._rows: dict[str, list[Known]] = {}
        for row in rows:
            self._rows.setdefault(row.record.kernel, []).append(row)
        self._aliases = _aliases(specs)
        names = sorted(self._aliases, key=len, reverse=True)
        self._alias = re.compile(rf"(?<![\w`/.-])(?:{'|'.join(map(re.escape, names))})(?![\w])")
        models = {use.model for row in rows for use in row.record.used_by}
        self._model = (
            re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(models)))})(?![\w])", re.I)
            if models
            else None
        )

    def names_model(self, text: str) -> bool:
        """Whether a model is named: one that uses some row, or one with its size in its name."""
        known = self._model is not None and self._model.search(text) is not None
        return known or _SIZED.search(text) is not None

    def model_in(self, text: str) -> str | None:
        """The first model that a text names and that some row credits, as the text writes it."""
        found = self._model.search(text) if self._model is not None else None
        return found[0] if found is not None else None

    def kernels(self) -> list[str]:
        """The kernels that have rows."""
        return list(self._rows)

    def rows_of(self, kernel: str) -> list[Known]:
        """The rows of a kernel, in order."""
        return self._rows.get(kernel, [])

    def spec_of(self, kernel: str) -> KernelSpec:
        """The spec of a kernel."""
        return self._specs[kernel]

    def words_of(self, kernel: str) -> set[str]:
        """The words of a kernel's names, in lower case."""
        return {name.lower() for name, kernels in self._aliases.items() if kernel in kernels}

    def shapes_of(self, kernel: str) -> set[tuple[int, ...]]:
        """The sizes of a kernel's rows."""
        return {tuple(row.record.shape.values()) for row in self._rows.get(kernel, ())}

    def kernel_of_page(self, path: str, page: str, sentence: Sentence) -> str | None:
        """The kernel that a page, a section of the index, or a line of a table is about."""
        name = path.rpartition("/")[2].removesuffix(".md")
        if name in self._specs:
            return name
        linked = {match[1] for link in sentence.links if (match := _DETAILS.search(link))}
        if len(linked) == 1:
            (only,) = linked
            return only if only in self._specs else None
        at = sentence.offsets[0]
        start = page.rfind("\n## ", 0, at)
        if (start < 0 and not page.startswith("## ")) or name.lower() == "readme":
            return None
        stop = page.find("\n## ", at)
        section = page[max(start, 0) : stop if stop > 0 else len(page)]
        found = _DETAILS.search(section)
        return found[1] if found and found[1] in self._specs else None

    def of(self, path: str, page: str, sentence: Sentence, figure: Figure) -> Scope | None:
        """The rows that a figure speaks of, None if that cannot be told."""
        before = sentence.text[: figure.start]
        if _NOT_OURS.search(before):
            return None
        kernel = self._subject(path, page, sentence, figure)
        if kernel is None or kernel not in self._rows:
            return None
        spec, rows = self._specs[kernel], self._rows[kernel]
        if figure.metric is not None and figure.metric != spec.metric:
            return None
        of_page = kernel == self.kernel_of_page(path, page, sentence)
        named, chosen = self._by_shape(spec, rows, sentence, figure) if of_page else (False, rows)
        if named and not chosen:
            return None
        earlier = sentence.block[: sentence.place]
        variant, precision = None, None
        if of_page and spec.variants:
            variant, precision = (
                kind_named(before, spec) or kind_named(earlier, spec) or (None, None)
            )
        narrowed = [
            row
            for row in chosen
            if variant in (None, row.record.variant) and precision in (None, row.record.precision)
        ]
        return Scope(
            kernel=kernel,
            rows=tuple(narrowed or chosen),
            all_rows=tuple(rows),
            is_specific=named,
            is_part=self._is_part(path, page, sentence, kernel),
            is_superlative=is_near(_SUPERLATIVE, sentence.text, figure),
            variant=variant,
            precision=precision,
        )

    def _is_part(self, path: str, page: str, sentence: Sentence, kernel: str) -> bool:
        """Whether a sentence speaks of some of the rows, in words that do not say of which."""
        own = self.kernel_of_page(path, page, sentence)
        lead = re.split(r"[\s:]", sentence.block.lstrip("⚠️ "), maxsplit=1)[0]
        return (
            self.names_model(lead) or self.names_model(sentence.text) or own not in (None, kernel)
        )

    def _subject(self, path: str, page: str, sentence: Sentence, figure: Figure) -> str | None:
        """The kernel that a figure is about: one that is named just before it, or the page's."""
        own = self.kernel_of_page(path, page, sentence)
        before = sentence.text[: figure.start]
        names = list(self._alias.finditer(before))
        if not names:
            return own
        # What a parenthesis says that is closed again is an aside.
        open_names = [one for one in names if before.count(")", one.end()) == 0 or own is None]
        if not open_names:
            return own
        last = open_names[-1]
        kernels = self._aliases[last[0]]
        if own in kernels:
            return own
        adjacent = _AFTER_NAME.match(before[last.end() :]) is not None
        if own is None or adjacent:
            # Where two kernels share a name nobody can tell which is meant.
            return kernels[0] if len(kernels) == 1 else None
        return None if len(before) - last.end() < _FAR else own

    def _by_shape(
        self, spec: KernelSpec, rows: Sequence[Known], sentence: Sentence, figure: Figure
    ) -> tuple[bool, list[Known]]:
        """Whether shapes are named, and the rows of those that are."""
        named, found = shapes_named(spec, rows, sentence.text)
        speaks_of_a_row = figure.kind == "is" and _OF_A_ROW.search(sentence.text)
        if named or not sentence.place or not speaks_of_a_row:
            return named, found
        # The shape may have been named earlier in the paragraph: the last one counts.
        for earlier in reversed(re.split(r"(?<=[.!?;:])\s", sentence.block[: sentence.place])):
            named, found = shapes_named(spec, rows, earlier)
            if named:
                return named, found
        return False, list(rows)


def _aliases(specs: Mapping[str, KernelSpec]) -> dict[str, list[str]]:
    """How people call the kernels, from titles and page names."""
    found: dict[str, list[str]] = {}
    for name, spec in specs.items():
        title = re.split(r"[,(]", spec.title)[0].strip()
        first = re.split(r"_bf16|_fp\d+", name)[0]
        last = title.split()[-1]
        for alias in {title, first, *([last] if last != last.lower() else [])}:
            if len(alias) > 2:
                found.setdefault(alias, []).append(name)
    return found


def shapes_named(spec: KernelSpec, rows: Sequence[Known], text: str) -> tuple[bool, list[Known]]:
    """Whether a text names shapes, and the rows of those; all rows if it names none."""
    products = [
        [int(size) for size in re.findall(r"\d+", match[0])] for match in _PRODUCT.finditer(text)
    ]
    if len(spec.dims) > 1:
        products += [
            [int(match[1])] * len(spec.dims)
            for match in _CUBE.finditer(text)
            if len(spec.dims) == {"²": 2, "³": 3}[match[2]]
        ]
    # A small product is a herd.
    products = [sizes for sizes in products if max(sizes) >= _SHAPE_SIZE]
    by_name = _sizes_by_name(spec, text)
    if not products and not by_name:
        return False, list(rows)
    found = [
        row
        for row in rows
        if (not products or any(_is(row, sizes) for sizes in products))
        and all(row.record.shape[dim] in sizes for dim, sizes in by_name.items())
    ]
    if not found and products:
        found = [row for row in rows if any(_is(row, sizes) for sizes in products)]
    return True, found


def _is(row: Known, sizes: Sequence[int]) -> bool:
    shape = list(row.record.shape.values())
    if len(shape) == 1:
        return math.prod(sizes) == shape[0]
    return shape[: len(sizes)] == list(sizes)


def _sizes_by_name(spec: KernelSpec, text: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for dim in spec.dims:
        name = re.escape(dim)
        for match in re.finditer(rf"(?<![\w_]){name}\s*=\s*(\d+)(?![\w.×·])", text):
            found.setdefault(dim, set()).add(int(match[1]))
        if len(dim) > 2:
            for match in re.finditer(rf"(?<![\w.×·])(\d{{3,}})\s+{name}\b", text):
                found.setdefault(dim, set()).add(int(match[1]))
    return found


def kind_named(text: str, spec: KernelSpec) -> tuple[str | None, str | None] | None:
    """The variant or the precision tier that a text names last; None if it names none."""
    names = "|".join(map(re.escape, sorted(spec.variants, key=len, reverse=True)))
    found = list(re.finditer(rf"(?<![\w-])(?:(?P<variant>{names})(?!\w)|{_TIER})", text, re.I))
    if not found:
        return None
    last = found[-1]
    if last["variant"]:
        before = found[-2] if len(found) > 1 else None
        if before and before["variant"] and _AND.fullmatch(text[before.end() : last.start()]):
            return None, None
        return last["variant"].lower(), None
    tier = last["tier"].lower()
    if last["switch"] == "false":
        tier = {"high": "low", "low": "high"}[tier]
    return None, tier


# The tier by its name, or as a switch of the harness that is on or off.
_TIER = r"(?:--)?(?P<tier>high|low)[- ]prec(?:ision)?(?:\s+(?P<switch>true|false))?"
_AND = re.compile(r"[\w-]*\s*(?:and|or|/|,)\s*")


def is_near(words: re.Pattern[str], text: str, figure: Figure) -> bool:
    """Whether ``words`` stand close to a figure."""
    return words.search(text[max(0, figure.start - _CLOSE) : figure.stop + _CLOSE]) is not None


_CLOSE = 56
