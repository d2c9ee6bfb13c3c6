"""Likely causes of a run that did not pass: starting points for a person, never a gate."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from registry_tool.verifier.causes.catalogue import CATALOGUE
from registry_tool.verifier.causes.computed import About, advice, broken
from registry_tool.verifier.causes.lines import meaningful
from registry_tool.verifier.causes.setup import Setup
from registry_tool.verifier.causes.signatures import Seen
from registry_tool.verifier.logs.facts import LogFacts
from registry_tool.verifier.logs.judge import Judgement

__all__ = ["DEBUGGING_ORDER", "Cause", "Setup", "causes"]

DEBUGGING_ORDER = (
    "the first error of the log, then: does it build (tile, herd, constraints of the page), does "
    "it end (driver, device), is it the right device, are all elements wrong or a few"
)
_LAST_LINES = 5


class Cause(Struct, frozen=True):
    """A symptom, what it usually comes from, and where to look."""

    symptom: str
    likely: str
    look_at: str


def causes(
    facts: LogFacts,
    judgement: Judgement,
    errors: LogFacts | None = None,
    subject: Setup | None = None,
) -> tuple[Cause, ...]:
    """The likely causes, most telling first; at least one unless it passed.

    ``errors`` are the facts of standard error, if that was captured apart. With ``subject``, what
    its spec computes for this very shape, tile and herd is added to ``look_at``.
    """
    if judgement.status == "pass":
        return ()
    found: dict[str, Cause] = {}
    streams = (facts,) if errors is None else (facts, errors)
    for stream in streams:
        seen = Seen(stream, judgement, subject, streams)
        for entry in CATALOGUE:
            if entry.likely in found:
                continue
            symptom = entry.shows(seen)
            if symptom is not None:
                look_at = _with_advice(entry.look_at, entry.about, judgement, subject)
                found[entry.likely] = Cause(symptom, entry.likely, look_at)
    told = tuple(found.values()) or (_unknown(facts, errors),)
    return (*told, *_forbidden(subject, told))


def _with_advice(look_at: str, about: About, judgement: Judgement, subject: Setup | None) -> str:
    if subject is None:
        return look_at
    return ". Here: ".join([look_at, *_joined(advice(subject, about, judgement))])


def _joined(sentences: Iterator[str]) -> list[str]:
    text = "; ".join(dict.fromkeys(sentences))
    return [text] if text else []


def _forbidden(subject: Setup | None, told: tuple[Cause, ...]) -> Iterator[Cause]:
    """What the page forbids of this configuration and no cause has said yet."""
    if subject is None:
        return
    for rule, sentence, remedy in broken(subject):
        if not any(sentence in cause.look_at for cause in told):
            yield Cause(
                f"the configuration breaks {rule}, which the page of {subject.spec.kernel} forbids",
                sentence,
                remedy,
            )


def _unknown(facts: LogFacts, errors: LogFacts | None) -> Cause:
    lines = meaningful(facts, _LAST_LINES)
    if errors is not None:
        lines += meaningful(errors, _LAST_LINES)
    ends = " / ".join(lines[-_LAST_LINES:]) if lines else "nothing: it is empty"
    return Cause(f"no known symptom; the log ends with: {ends}", "not known", DEBUGGING_ORDER)
