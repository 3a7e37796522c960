"""What an answer read of each part of its prompt, in plain values, for a terminal and `--json`.

Fractions are of 1 and not rounded; a number that does not exist is None.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from regard.questions.span_readings import REST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.questions.span_readings import SpanReadings
    from regard.record import Record

SCHEMA: Final = "regard.spans/1"
HEADS: Final = 3  # named for each span
LEADING: Final = "top_head"
"""The column that came closest to what cuts do, of those that cut nothing: docs/spans-study.md."""


@dataclass(frozen=True)
class Prompt:
    """What was asked of what.

    text: the prompt as the model read it. answer: what was given or generated after it.
    log_probability: of the whole answer, natural; None where it was not measured.
    layers: the numbers of the layers read; heads: how many in each.
    """

    text: str
    tokens: int
    answer: str
    answer_tokens: int
    generated: bool
    log_probability: float | None
    model: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]


@dataclass(frozen=True)
class Reader:
    """A head, and the mass that the answer's rows give a span there, on average."""

    head: str
    weight: float


@dataclass(frozen=True)
class Part:
    """One span, or under `rest` the tokens of one kind that lie in no span.

    start, stop: its characters in the prompt; None under `rest`. length: what an even spread over
    all visible tokens would give it. weight: its mean share of the answer rows' attention, over
    all heads. without_apart: its share of what is left of that without special tokens and the
    first one. part: its mean part of the heads' results. top_head: `weight` in the one head that
    reads it most, the first of `readers`. effect: Δ log p of the answer when its rows cannot read
    the span; None where it was not tested. by_layer: `weight`, layer by layer.
    """

    name: str
    start: int | None
    stop: int | None
    tokens: int
    length: float
    weight: float
    without_apart: float | None
    part: float | None
    top_head: float
    effect: float | None
    readers: tuple[Reader, ...]
    by_layer: tuple[float, ...]


@dataclass(frozen=True)
class Spans:
    """The spans of a prompt, the largest in `sorted_by` first.

    exact: False where only the largest weights are known: sums are lower bounds then.
    """

    prompt: Prompt
    sorted_by: str
    spans: tuple[Part, ...]
    rest: tuple[Part, ...]
    exact: bool


def stage(
    prompt: Prompt,
    record: Record,
    readings: SpanReadings,
    effects: Sequence[float | None] | None,
) -> Spans:
    """The scene, sorted by `LEADING`, or by what was measured if effects are given, one a span."""
    count = len(readings.spans)
    tested = None if effects is None else [*effects, *[None] * len(REST)]
    parts = [
        _part(record, readings, group, None if tested is None else tested[group])
        for group in range(count + len(REST))
    ]
    sorted_by = LEADING if effects is None else "effect"
    return Spans(
        prompt=prompt,
        sorted_by=sorted_by,
        spans=tuple(sorted(parts[:count], key=lambda part: _rank(part, sorted_by))),
        rest=tuple(part for part in parts[count:] if part.tokens),
        exact=readings.exact,
    )


def as_json(scene: Spans) -> dict[str, Any]:
    """The scene for `--json`: its fields after the name of their schema."""
    return {"schema": SCHEMA, "view": "spans", **dataclasses.asdict(scene)}


def _part(record: Record, readings: SpanReadings, group: int, effect: float | None) -> Part:
    span = readings.spans[group] if group < len(readings.spans) else None
    parts = readings.part
    return Part(
        name=REST[group - len(readings.spans)] if span is None else span.name,
        start=None if span is None else span.start,
        stop=None if span is None else span.stop,
        tokens=int(readings.tokens[group]),
        length=float(readings.length[group]),
        weight=float(readings.weight[group]),
        without_apart=_finite(readings.without_apart[group]),
        part=None if parts is None else _finite(parts[group]),
        top_head=float(readings.top_head[group]),
        effect=None if effect is None else _finite(effect),
        readers=tuple(
            Reader(record.layers[layer].label(head), weight)
            for layer, head, weight in readings.top_heads(group, HEADS)
        ),
        by_layer=tuple(float(weight) for weight in readings.by_layer[:, group]),
    )


def _rank(part: Part, sorted_by: str) -> tuple[float, int]:
    """Largest first, and the largest fall of log p first; equal ones in the order of the text."""
    number = getattr(part, sorted_by)
    if number is None:
        return math.inf, part.start or 0
    return (number if sorted_by == "effect" else -number), part.start or 0


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
