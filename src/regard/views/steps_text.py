"""The four steps as lines for a terminal: one screen a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from regard.views.aloud import chooser, is_usual, most_asymmetric, root
from regard.views.cells import clip, isolate, pad, width
from regard.views.digits import alike, fraction, small
from regard.views.labels import key_labels
from regard.views.step_layout import (
    INDENT,
    LABEL,
    UNSEEN,
    StepLayout,
    columns_shown,
    fractions,
    matrix,
    shown_rows,
    table,
    vectors,
)
from regard.views.terminal import Terminal, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.mechanism.steps import Steps

_SPELLED: Final = 4  # words and products up to which a sum is written out
_PLAIN: Final = Terminal()


def steps_text(steps: Steps, terminal: Terminal = _PLAIN) -> str:
    """All four steps; for more than one head, what there is and how to pick one."""
    if steps.scores.ndim != 2:
        return _several_heads(steps)
    screens = step_screens(steps, terminal)
    return "\n\n".join("\n".join(line.rstrip() for line in screen) for screen in screens)


def step_screens(steps: Steps, terminal: Terminal = _PLAIN) -> list[list[str]]:
    """The lines of the title and of each of the four steps, for 2-D steps."""
    layout = StepLayout.of(steps, terminal)
    screens = [
        _title(layout),
        _matmul(layout),
        _scale(layout),
        _softmax(layout),
        _values(layout),
    ]
    return [[*wrapped(first, terminal.columns, INDENT), *rest] for first, *rest in screens]


def _several_heads(steps: Steps) -> str:
    leading = steps.scores.shape[:-2]
    what = f"{leading[-1]} heads" if len(leading) == 1 else f"{leading[0]} × {leading[1]} heads"
    pick = ", ".join("0" for _ in leading)
    return (
        f"The four steps of {what}, {steps.scores.shape[-2]} queries × {steps.scores.shape[-1]} "
        f"keys each, d_k = {steps.d_k}.\nOne head: print(steps.head({pick}))"
    )


def _title(layout: StepLayout) -> list[str]:
    steps, columns = layout.steps, layout.terminal.columns
    about = f"d_k = {steps.d_k}.   Row = who reads; column = who is read."
    lines = wrapped(about, columns)
    if steps.words is not None:
        texts = [_sentence(names, columns - 4) for names in _sides(layout)]
        title = texts[0] if len(texts) == 1 else f"{texts[0]} reads {texts[1]}"
        one_line = f"{title}, {about}"
        lines = [one_line] if width(one_line) <= columns else [*wrapped(title, columns), *lines]
    lines += wrapped(
        "MatMul → Scale → Softmax → MatMul     (scaled dot-product attention)", columns
    )
    hidden = [
        f"the first {shown} of {count} {side}"
        for side, shown, count in (
            ("rows", len(layout.queries), steps.scores.shape[0]),
            ("columns", len(layout.keys), steps.scores.shape[1]),
        )
        if shown < count
    ]
    if hidden:
        lines += wrapped(
            f"Shown: {' and '.join(hidden)}. Sums and results are over all of them.", columns
        )
    return lines


def _sides(layout: StepLayout) -> list[tuple[str, ...]]:
    words = layout.steps.words
    assert words is not None
    shown = [tuple(layout.terminal.line(word) for word in side) for side in words]
    return shown[:1] if words[0] == words[1] else shown


def _sentence(words: Sequence[str], cells: int) -> str:
    return f'"{isolate(clip(" ".join(words), cells))}"'


def _matmul(layout: StepLayout) -> list[str]:
    steps = layout.steps
    lines = ["1  Q·Kᵀ: how well a query matches each key"]
    if steps.query is None:
        lines = ["1  Q·Kᵀ, as given: how well a query matches each key"]
    lines += _spelled_products(layout)
    lines += matrix(layout, steps.scores, notes=[_best(layout, row) for row in shown_rows(layout)])
    pair = most_asymmetric(steps)
    if pair is not None and pair[2] != pair[3]:
        names = [clip(name, LABEL) for name in key_labels(steps, layout.terminal)]
        one, other = isolate(names[pair[0]]), isolate(names[pair[1]])
        lines += layout.said(f"Not symmetric: {one}→{other} {pair[2]}, {other}→{one} {pair[3]}.")
    if not steps.seen.all():
        lines += layout.said("Every pair is shown here; step 2 leaves out what may not be seen.")
    return lines


def _best(layout: StepLayout, row: int) -> str:
    """'largest: am', over all keys that the row may see, shown or not."""
    steps = layout.steps
    seen = np.flatnonzero(steps.seen[row])
    scores = steps.scores[row, seen]
    if not len(seen):
        return "sees nothing"
    if np.isnan(scores).any():
        return "holds NaN"
    names = key_labels(steps, layout.terminal)
    best = [clip(names[key], LABEL) for key in seen[scores == scores.max()]]
    of = "largest" if len(seen) == steps.seen.shape[1] else "largest seen"
    if len(best) == len(seen) > 1:
        return f"{of}: all alike"
    text = " and ".join(isolate(name) for name in best[:2])
    return f"{of}: {text}" + (f" and {len(best) - 2} more" if len(best) > 2 else "")


def _spelled_products(layout: StepLayout) -> list[str]:
    """q·k term by term, where there are few enough to do with a pencil."""
    steps = layout.steps
    small_enough = max(steps.scores.shape) <= _SPELLED and steps.d_k <= _SPELLED
    if steps.query is None or steps.key is None or not small_enough:
        return []
    scores = alike(steps.scores)
    lines = []
    label = max((width(name) for name in layout.keys), default=0)
    for i, query in enumerate(steps.query):
        for j, key in enumerate(steps.key):
            terms = " + ".join(
                f"{_factor(a)}·{_factor(b)}" for a, b in zip(query, key, strict=True)
            )
            pair = f"q({pad(layout.queries[i], layout.label)})·k({pad(layout.keys[j], label)})"
            lines.append(f"{INDENT}{pair} = {terms} = {scores[i * len(steps.key) + j]}")
    if any(width(line) > layout.terminal.columns for line in lines):
        return []
    return [*lines, ""]


def _factor(number: float) -> str:
    text = alike(np.array([number]))[0]
    return f"({text})" if text.startswith("-") else text


def _scale(layout: StepLayout) -> list[str]:
    steps = layout.steps
    usual = is_usual(steps)
    lines = [f"2  ÷ √{steps.d_k} = {root(steps.d_k)}" if usual else f"2  × {steps.scale:.6g}"]
    hides = not steps.seen.all()
    shown = steps.scaled
    if steps.softcap is not None:
        lines += matrix(layout, shown)
        cap = f"{steps.softcap:g}"
        lines += layout.said(f"Softcap: {cap}·tanh(score ÷ {cap})")
        shown = steps.capped
    if steps.bias is not None:
        lines += matrix(layout, shown)
        lines += layout.said("Plus the bias:")
    if hides or steps.bias is not None:
        shown = steps.masked
    lines += matrix(layout, shown, masked=hides)
    if hides:
        lines += layout.said(f"{UNSEEN} = may not be seen: no score at all, which is not a 0.")
    return [*lines, *_why(layout, usual)]


def _why(layout: StepLayout, usual: bool) -> list[str]:
    steps = layout.steps
    lines = []
    if usual and steps.d_k > 1:
        lines += layout.said(
            f"Why: where the numbers in q and k are independent, of mean 0 and spread (standard "
            f"deviation) 1, q·k has spread √{steps.d_k} = {root(steps.d_k)}. Dividing makes it 1 "
            "again, whatever d_k is."
        )
    row = chooser(steps)
    if row is None or row >= len(layout.queries) or steps.scale == 1:
        return lines
    bare = steps.unscaled()
    if not np.isfinite(bare.weights[row]).all():
        return lines
    weights = " ".join(fraction(weight) for weight in bare.weights[row, :_SPELLED])
    more = " …" if steps.weights.shape[1] > _SPELLED else ""
    without, with_it = (float(each.gradient_size()[row]) for each in (bare, steps))
    step = "dividing" if usual else "scaling"
    said = (
        f"Without {step}, the weights of row {isolate(layout.queries[row])} would be "
        f"{weights}{more}, and their gradient with respect to the raw scores "
        f"{small(without)} in size; with it, {small(with_it)}."
    )
    if usual and without > with_it:
        said += " (Larger without: these scores do not saturate the softmax.)"
    return lines + layout.said(said)


def _softmax(layout: StepLayout) -> list[str]:
    steps = layout.steps
    title = "3  Softmax: e^(score − row's largest), ÷ row sum"
    exponentials = fractions(layout, steps.exponentials)
    weights = fractions(layout, steps.weights)
    sums = [fraction(total) for total in steps.row_sums[: len(layout.queries)]]
    sinks = _sink_exponentials(layout)
    lines = []
    for row in shown_rows(layout):
        terms = " + ".join([*exponentials[row], *([f"sink {sinks[row]}"] if sinks else [])])
        lines.append(layout.row(row, f"{terms} = {sums[row]} → {' '.join(weights[row])}"))
    all_shown = len(layout.keys) == steps.scores.shape[1] > 0
    if not all_shown or any(width(line) > layout.terminal.columns for line in lines):
        notes = [
            f"sum {total}" + (f", sink {sinks[row]} included" if sinks else "")
            for row, total in enumerate(sums)
        ]
        lines = table(layout, exponentials, notes)
        lines += [INDENT + "÷ row sum:", *table(layout, weights)]
    lines = [title, *lines]
    if steps.sinks is not None:
        lines += layout.said(
            f"A sink of score {alike(steps.sinks)[0]} stands beside the keys of every row, also "
            "where the largest is sought. It takes weight and gives nothing: rows of weights sum "
            "to less than 1."
        )
    if not steps.seen.any(axis=1).all() and len(layout.keys):
        lines += layout.said("A row that may see nothing has no weights; its result is 0.")
    return lines


def _sink_exponentials(layout: StepLayout) -> list[str]:
    steps = layout.steps
    if steps.sinks is None:
        return []
    with np.errstate(all="ignore"):
        amounts = np.exp(np.where(steps.sinks != steps.shift, steps.sinks - steps.shift, 0))
    return [fraction(amount) for amount in amounts]


def _values(layout: StepLayout) -> list[str]:
    steps = layout.steps
    if steps.value is None or steps.output is None:
        return layout.said("Step 4, × V, needs the value vectors, which were not given.")
    lines = ["4  × V: each z mixes the rows of V"]
    count, shown = steps.value.shape[1], columns_shown(layout, steps.value, steps.output)
    values, results = vectors(steps.value, shown), vectors(steps.output, shown)
    few = steps.scores.shape[1] <= _SPELLED and len(layout.queries) <= _SPELLED
    spelled = list(shown_rows(layout)) if few else list(shown_rows(layout))[:1]
    for row in spelled:
        lines += _sum_of_values(layout, row, values, results[row])
    if not few:
        lines += [_z(layout, row) + results[row] for row in shown_rows(layout)[1:]]
    if len(shown) < count:
        lines += layout.said(f"… stands for {count - len(shown)} of the {count} columns of V.")
    lines += layout.said("Part of z that comes from each word, w·(v·z) ÷ |z|². Weight is not part:")
    shares = fractions(layout, steps.share())
    return lines + table(layout, shares, [""] * len(shares))


def _z(layout: StepLayout, row: int) -> str:
    """'z(am)   = ', so that every row's = is under the others'."""
    name = layout.queries[row]
    return f"{INDENT}z({isolate(name)}){' ' * (layout.label - width(name))} = "


def _sum_of_values(layout: StepLayout, row: int, values: list[str], result: str) -> list[str]:
    """z(word) = .904·[...] + .074·[...] and its result; where there are many, the largest."""
    steps = layout.steps
    label = _z(layout, row)
    inside = " " * width(label)
    seen = np.flatnonzero(steps.seen[row])
    if len(seen) > _SPELLED:
        seen = seen[np.argsort(-steps.weights[row, seen], kind="stable")]
    terms = [f"{fraction(steps.weights[row, key])}·{values[key]}" for key in seen[:_SPELLED]]
    if len(seen) > _SPELLED:
        terms.append(f"{len(seen) - _SPELLED} more terms")
    if not terms:
        return [f"{label}{result}"]
    lines = [label + terms[0]]
    for term in terms[1:]:
        together = f"{lines[-1]} + {term}"
        if width(together) <= layout.terminal.columns:
            lines[-1] = together
        else:
            lines.append(f"{inside[:-2]}+ {term}")
    return [*lines, f"{inside[:-2]}= {result}"]
