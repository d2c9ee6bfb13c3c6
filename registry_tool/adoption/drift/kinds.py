"""The kinds of findings, in the order in which a report shows them: what each one means."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "headline-not-best": (
        "The overview of the index names a figure as the best that no row has, or that a row beats."
    ),
    "bold-not-best": (
        "A figure is bold although another of its column, or another method of its row, is better."
    ),
    "sweep-best-beaten": (
        "A line of a sweep is called its best although another line that passes is better."
    ),
    "page-missing": "A page is not in a list of the pages.",
    "section-missing": "The index lists no row of a kernel whose details page has tested shapes.",
    "row-counts": "The places that list a kernel's shapes do not list the same number of them.",
    "row-missing": "A shape is listed in one place and not in another.",
    "variant-missing": "Both places list the shape, but only one of them has this variant of it.",
    "row-twice": "One place lists the same row twice.",
    "cells-disagree": "Two places give one row different figures, tiles or herds.",
    "shape-contradicts": "A row's own cells give two different sizes.",
    "status-disagrees": "Two places give one row different marks of its status.",
    "tier-disagrees": "A method is listed under another precision tier than its own.",
    "value-in-wrong-column": "A cell holds something other than its heading says.",
    "verdict-inherited": "A row's figures were carried over from another row, not measured.",
    "verdict-failing": "A row is marked as passing while a note says that its gate did not pass.",
    "verdict-max-abs-only": "A place judges a row by max_abs alone, with no mean_rel_L1.",
    "verdict-not-measured": "A row is marked as passing while something of it was never measured.",
    "measured-elsewhere": (
        "A cell says that there is no figure (hung, not measured), and another place has one."
    ),
    "worst-exceeded": "A figure that is called the worst one is exceeded by a row.",
    "ratio-contradicted": "A speedup does not follow from the figures beside it.",
    "evidence-missing": "A file is named as evidence and does not exist.",
    "best-missing": "A JSON entry with methods names none of them as the best.",
    "best-unknown": "`best` names a method that the entry does not have.",
    "best-failing": "`best` names a method whose gate did not pass.",
    "best-inherited": "`best` names a method whose figures were not measured.",
    "best-slower": "`best` names a method that another one of its tier beats.",
    "herd-below-target": (
        "A row uses fewer compute tiles than it could, and none of its notes say why."
    ),
    "constraint-broken": "A row breaks a constraint that its kernel enforces.",
    "rule-contradicted": "A rule that the pages state is contradicted by rows that they record.",
    "throughput-contradicts-latency": (
        "A throughput does not follow from the shape and the latency."
    ),
    "sites-disagree": "One shape is credited to different call sites of the same model.",
    "credit-differs": "Two places do not credit a row to the same models.",
    "column-missing": "A table has no column for something that every record must say.",
    "row-misread": "GitHub shows a table row otherwise than its author meant it.",
}
