"""The few facts about a dense decoder that its needs follow from; no keys, no kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from registry_tool.models.families import Norm
from registry_tool.models.size import Size, times

# As the pages know them: SiLU times up, GELU by tanh; everything else has no page.
Activation = Literal["silu", "gelu_tanh", "gelu", "quick_gelu", "relu", "relu2"]


@dataclass(frozen=True)
class Attention:
    """The attention of ``layers`` layers that are alike.

    ``label`` tells them from the others (``sliding``, ``full``), empty where all are alike.
    ``window`` is in tokens, None where a query sees all before it; ``rotary`` is how many values of
    a head are rotated, None where none are.
    """

    label: str
    layers: int
    heads: Size
    kv_heads: Size
    head_dim: Size
    window: int | None = None
    rotary: Size | None = None

    @property
    def q_dim(self) -> Size:
        """Width of the query projection."""
        return times(self.heads, self.head_dim)

    @property
    def kv_dim(self) -> Size:
        """Width of the key projection, and of the value projection."""
        return times(self.kv_heads, self.head_dim)


@dataclass(frozen=True)
class QKNorm:
    """A norm of Q and K: of each head, or of the whole width."""

    over: Literal["head", "width"]
    kind: Norm


@dataclass(frozen=True)
class Fact:
    """One thing that was read, for people: its name, its value, and where it stands."""

    name: str
    value: str
    source: str


@dataclass(frozen=True)
class DecoderConfig:
    """The dimensions of a dense decoder-only model, in elements.

    ``embed`` is the width of the embeddings and of the LM head, unlike ``hidden`` in a few models.
    ``scores`` are reasons why the scores of attention are not those of the FlashAttention page.
    ``stored`` are the projections that the checkpoint holds as one weight, by its name;
    ``biased`` the projections with a bias; ``uncovered`` what else has no page: site and reason.
    """

    family: str
    sha256: str
    hidden: Size
    intermediate: Size
    layers: int
    vocabulary: Size
    attention: tuple[Attention, ...]
    activation: Activation
    gated: bool
    norm: Norm
    embed: Size
    learned_positions: bool = False
    interleaved: bool = False
    qk_norm: QKNorm | None = None
    extra_norms: str = ""
    scores: tuple[str, ...] = ()
    biased: tuple[str, ...] = ()
    stored: Mapping[str, str] = field(default_factory=dict)
    uncovered: tuple[tuple[str, str], ...] = ()
    positions_limit: Size | None = None
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def shapes(self) -> tuple[Attention, ...]:
        """One group for each shape of heads, with the layers of all that have it."""
        merged: dict[tuple[int, int, int], Attention] = {}
        for one in self.attention:
            key = (one.heads.value, one.kv_heads.value, one.head_dim.value)
            before = merged.get(key)
            layers = one.layers + (before.layers if before else 0)
            label = before.label if before else one.label
            merged[key] = Attention(label, layers, one.heads, one.kv_heads, one.head_dim)
        if len(merged) == 1:
            (only,) = merged.values()
            return (Attention("", only.layers, only.heads, only.kv_heads, only.head_dim),)
        return tuple(merged.values())
