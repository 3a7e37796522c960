"""What the rows of a record read of each part of their text, as bars in a matplotlib figure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.questions.span_readings import REST, read_spans
from regard.questions.spans import check_spans, paragraph_spans, sentence_spans, token_labels
from regard.record import many
from regard.sources import known_rows
from regard.views.figure.canvas import (
    ACCENT,
    BLUE,
    INK,
    SMALL,
    Drawing,
    drawing,
    label,
    model_name,
    plain,
)
from regard.views.layout import NOT_WHY, number
from regard.views.spans_scene import Prompt, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from regard.questions.spans import Span
    from regard.record import Record, Side
    from regard.views.spans_scene import Part

MOST: Final = 30  # spans drawn: of more, those read most by one head
NAME: Final = 10
EXCERPT: Final = 34
PANELS: Final = {
    "weight": "weight, mean over heads",
    "top_head": "in the head that reads it most",
    "part": "part of the results",
    "effect": "Δ log p when cut",
}


def spans_figure(
    record: Record,
    spans: Sequence[Span] | None = None,
    *,
    readers: Sequence[int] | None = None,
    effects: Sequence[float | None] | None = None,
    kind: str | None = None,
) -> Drawing:
    """What some rows read of each span of their text, beside what an even spread would give.

    spans: parts of the text that is read (`regard.questions.spans`); None for its paragraphs if
        there are three or more, else its sentences. A word belongs to the span it begins in.
    readers: tokens whose rows are asked, ascending; None for the rows that were read where these
        are not all, as with Ask(queries="last"), else the last row. effects: for each span, what
        `regard.effect` found when it was cut, or None. kind: of attention, as in `heatmap`.

    Raises InputError for a record without a text, for rows of which nothing is known, and for
    cross-attention or an encoder's rows before the last, which no answer follows.
    """
    kind = kind or (record.layers[0].kind if record.layers else "encoder")
    layers = tuple(layer for layer in record.layers if layer.kind == kind)
    if not layers:
        raise InputError(f"the record has no {kind} attention.")
    record = replace(record, layers=layers)
    side = record.sides[layers[0].key_side]
    if side.text is None:
        raise InputError(
            f"{side.name!r} has labels and no text, so spans of characters lie nowhere in it: "
            "give regard.watch its tokenizer, or capture a text."
        )
    chosen = check_spans(side.text, _usual(side.text) if spans is None else spans)
    if effects is not None and spans is not None:
        if len(effects) != len(chosen):
            raise InputError(
                f"effects has {len(effects)} numbers and there are {len(chosen)} spans: expected "
                "one each."
            )
        at = np.argsort([span.start for span in spans], kind="stable")
        effects = [effects[place] for place in at]
    rows = list(_readers(record) if readers is None else readers)
    if kind == "cross" or (kind == "encoder" and min(rows, default=0) < len(side.tokens) - 1):
        raise InputError(
            f"the rows {rows[:4]} of this {kind} attention read more than what stands before them, "
            "and spans are of the text that an answer follows: expected a decoder, or an "
            "encoder's last row."
        )
    labels = token_labels(side.text, chosen, _offsets(side), side.special)
    apart = side.special.copy()
    if kind == "decoder":
        apart[:1] = True
    found = read_spans(record, chosen, labels, rows, apart)
    model = record.provenance.get("model", "a model without a name")
    prompt = Prompt(
        side.text, len(side.tokens), "", 0, False, None, model,
        tuple(layer.number for layer in layers), tuple(layer.heads for layer in layers),
    )  # fmt: skip
    scene = stage(prompt, record, found, effects)
    leading = sorted(scene.spans, key=lambda part: -part.top_head)[:MOST]
    parts = sorted(leading, key=lambda part: part.start or 0)
    left = len(scene.spans) - len(parts)
    note = _first_token([*scene.spans, *scene.rest]) if kind == "decoder" else ""
    return _draw(prompt, parts, scene.rest, (left, len(rows)), scene.exact, note)


def _draw(
    prompt: Prompt,
    parts: Sequence[Part],
    rest: Sequence[Part],
    counts: tuple[int, int],
    exact: bool,
    note: str,
) -> Drawing:
    """counts: spans left out, rows that read. note: what is to be known besides."""
    every = [*parts, *rest]
    left, rows = counts
    fields = [name for name in PANELS if any(getattr(part, name) is not None for part in every)]
    tested = "effect" in fields
    figure = drawing(
        3.6 + 2 * len(fields),
        1.3 + 0.25 * len(every),
        f"What {many(rows, 'row')} read of each span",
        [
            f"Means over {many(sum(prompt.heads), 'head')} of {many(len(prompt.layers), 'layer')} "
            "and over the rows. The dark mark is what an even spread over all tokens in sight "
            "would give.",
            "≥: only the largest weights are known; weights are lower bounds." * (not exact),
            f"{many(left, 'span')} with less in any head left out." if left else "",
            "Δ log p: of the answer, when its rows cannot read the span; below 0 it helped."
            if tested
            else f"{NOT_WHY} What is read may help the answer or hurt it.",
            note,
        ],
        model_name(prompt.model),
    )
    panels: Any = figure.subplots(1, len(fields), sharey=True, squeeze=False)
    for axes, name in zip(panels[0], fields, strict=True):
        _bars(axes, every, name, len(parts), exact)
    names = [f"{label(part.name, NAME)}  {_excerpt(prompt.text, part)}" for part in parts]
    names += [f"{part.name} ({part.tokens})" for part in rest]
    panels[0][0].set_yticks(range(len(every)), names, fontsize=SMALL, **plain())
    panels[0][0].set_ylim(len(every) - 0.4, -0.6)
    return figure


def _first_token(every: Sequence[Part]) -> str:
    """That a span has the place where decoders rest; empty where the first token is in none."""
    first = next((part for part in every if part.start == 0), None)
    if first is None or any(part.name == REST[0] for part in every):
        return ""
    return (
        f"{label(first.name, NAME)} holds the first token, where decoders rest whatever it says; a "
        "cut takes that place as well."
    )


def _bars(axes: Axes, every: Sequence[Part], name: str, spans: int, exact: bool) -> None:
    sizes = [getattr(part, name) for part in every]
    known = [0.0 if size is None else float(size) for size in sizes]
    colours = [BLUE if place < spans else "#b8b8b8" for place in range(len(every))]
    if name == "effect":
        colours = [ACCENT if size < 0 else BLUE for size in known]
    axes.barh(range(len(every)), known, height=0.62, color=colours)
    if name == "weight":
        ticks = [part.length for part in every]
        axes.plot(ticks, range(len(every)), linestyle="", marker="|", markersize=9, color=INK)
    most = max([*known, *(part.length for part in every if name == "weight"), 1e-9])
    least = min([*known, 0.0])
    for place, (part, size) in enumerate(zip(every, sizes, strict=True)):
        text = _written(name, part, size, exact)
        at = max(known[place], 0, part.length if name == "weight" else 0)
        axes.text(
            at + 0.03 * (most - least), place, text, va="center", fontsize=SMALL - 1, color=INK,
            **plain(),
        )  # fmt: skip
    axes.axvline(0, color="#a0a0a0", linewidth=0.8)
    axes.set_xlim(least - 0.05 * (most - least), most + 0.55 * (most - least))
    axes.set_title(PANELS[name], fontsize=SMALL + 0.5, loc="left", color=INK)
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=INK)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _written(name: str, part: Part, size: float | None, exact: bool) -> str:
    """The number behind a bar, and the head that it is of."""
    if size is None or not math.isfinite(size):
        return "–"
    if name == "effect":
        return f"{size:+.2f}".replace("-", "−")
    text = number(size, bound=not exact and name != "part")
    return f"{text} {part.readers[0].head}" if name == "top_head" and part.readers else text


def _excerpt(text: str, part: Part) -> str:
    return label(text[part.start : part.stop], EXCERPT)


def _usual(text: str) -> tuple[Span, ...]:
    paragraphs = paragraph_spans(text)
    return paragraphs if len(paragraphs) >= 3 else sentence_spans(text)


def _offsets(side: Side) -> list[tuple[int, int]]:
    """Where the word of each token lies."""
    return [(side.words[word].start, side.words[word].stop) for word in side.word_of]


def _readers(record: Record) -> list[int]:
    """The tokens whose rows every layer read, if these are not all; else the last token."""
    known: set[int] | None = None
    for layer in record.layers:
        mine = {int(token) for token in layer.query_positions[known_rows(layer)]}
        known = mine if known is None else known & mine
    tokens = len(record.sides[record.layers[0].query_side].tokens)
    if not known:
        raise InputError(
            "no row is known in all layers: capture with keep=('query', 'key') or "
            'ask=regard.Ask(queries="last", top=8).'
        )
    return sorted(known) if len(known) < tokens else [tokens - 1]
