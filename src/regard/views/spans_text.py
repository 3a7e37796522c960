"""The spans of a prompt as lines for a terminal: a table with bars, sorted, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from regard.questions.span_readings import REST
from regard.views.cells import Align, clip, isolate, width
from regard.views.layout import NOT_WHY, hints, number, table
from regard.views.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.spans_scene import Part, Spans
    from regard.views.terminal import Terminal

ROWS: Final = 20  # spans listed; JSON has all
NAMED: Final = 3  # spans whose heads are named
LAYER_SPANS: Final = 6  # spans in the table by layer
NAME: Final = 12
EXCERPT: Final = 11  # cells of a span's text at least
BAR: Final = 12
LEAST_BAR: Final = 5

TITLES: Final = {
    "length": "length",
    "weight": "weight",
    "without_apart": "bare",
    "part": "part",
    "top_head": "head",
    "effect": "Δ log p",
}
SORTED: Final = {
    "top_head": "the head that reads it most",
    "effect": "what cutting it does",
}
MEANINGS: Final = {
    "length": "length: what an even spread over all tokens would give.",
    "weight": "weight: share of the answer's attention, mean over all heads.",
    "without_apart": "bare: the same without special and first tokens, divided by what is left.",
    "part": "part: of the heads' results, mean over all heads; may be negative.",
    "top_head": "head: weight in the one head that reads it most.",
    "effect": "Δ log p: of the answer, when it cannot read the span; below 0 it helped.",
}


def render(
    scene: Spans, terminal: Terminal, command: Sequence[str], *, by_layer: bool = False
) -> str:
    """The scene as one text, ending in a newline. command: what was typed, without --test."""
    lines = [*_heading(scene, terminal), "", *_ranking(scene, terminal)]
    lines += _rest(scene, terminal)
    lines += ["", *_readers(scene, terminal)]
    if by_layer:
        lines += ["", *_layers(scene, terminal)]
    lines += [""]
    columns = _columns(scene, terminal)
    for column in columns:
        lines += wrapped(MEANINGS[column], terminal.columns, "  ")
    if "effect" in columns:
        lines += wrapped(
            "A cut takes the span from the rows that predict the answer, in every head; what "
            "other tokens have gathered from it is still there.",
            terminal.columns,
        )
        note = _first_token(scene)
        lines += wrapped(note, terminal.columns) if note else []
    else:
        lines += wrapped(
            f"{NOT_WHY} What is read may help the answer or hurt it.", terminal.columns
        )
        lines += hints(terminal, command, ("Does it matter?", ("--test",)))
    return terminal.finish(lines)


def _first_token(scene: Spans) -> str:
    """What a cut of the first token does besides; empty where no span holds it."""
    first = next((span for span in scene.spans if span.start == 0), None)
    if first is None or any(part.name == REST[0] for part in scene.rest):
        return ""
    return (
        f"{first.name} holds the first token, where decoders rest whatever it says: its cut takes "
        "that place from every head as well."
    )


def _heading(scene: Spans, terminal: Terminal) -> list[str]:
    prompt = scene.prompt
    room = terminal.columns
    heads = sorted(set(prompt.heads))
    each = f" × {_many(heads[0], 'head')}" if len(heads) == 1 else f", {sum(prompt.heads)} heads"
    model = f"{terminal.line(prompt.model)}, {_many(len(prompt.layers), 'layer')}{each}"
    size = f"{_many(prompt.tokens, 'token')} in {_many(len(scene.spans), 'span')}"
    said = "It generated" if prompt.generated else "Answer given"
    log_p = prompt.log_probability
    measured = "" if log_p is None else f", log p {_log(log_p)}"
    end = f"({_many(prompt.answer_tokens, 'token')}{measured})"
    answer = isolate(clip(terminal.shown(prompt.answer), max(room - len(said) - len(end) - 5, 8)))
    return [
        *wrapped(f"{size}; read by {clip(model, room)}", room),
        *wrapped(f'{said}: "{answer}" {end}', room),
    ]


def _columns(scene: Spans, terminal: Terminal) -> list[str]:
    """The fields that are shown, as far as there is room: the leading one last, by the bars."""
    columns = ["length", "weight", "without_apart"]
    if any(part.part is not None for part in scene.spans):
        columns.append("part")
    columns.append("top_head")
    if any(part.effect is not None for part in scene.spans):
        columns.append("effect")
    columns = [*(name for name in columns if name != scene.sorted_by), scene.sorted_by]
    while _taken(scene, columns) + EXCERPT + 2 + LEAST_BAR > terminal.columns and len(columns) > 1:
        columns.pop(0)
    return columns


def _taken(scene: Spans, columns: Sequence[str]) -> int:
    """Cells of a line of the ranking beside the text and the bar."""
    names = max(width("span"), *(min(width(part.name), NAME) for part in scene.spans))
    return 2 + names + 2 + sum(2 + max(width(TITLES[name]), 5) for name in columns)


def _ranking(scene: Spans, terminal: Terminal) -> list[str]:
    listed = scene.spans[:ROWS]
    columns = _columns(scene, terminal)
    names = [clip(terminal.line(part.name), NAME) for part in listed]
    room = max(terminal.columns - _taken(scene, columns) - 2 - BAR, EXCERPT)
    rows = [["span", "text", *(TITLES[name] for name in columns)]]
    for name, part in zip(names, listed, strict=True):
        text = scene.prompt.text[part.start : part.stop]
        rows.append([name, clip(terminal.line(text), room), *_numbers(part, columns, scene.exact)])
    right: list[Align] = ["right"]
    lines = table(rows, ["left", "left", *right * len(columns)])
    title = f"What the answer read, by {SORTED.get(scene.sorted_by, TITLES[scene.sorted_by])}"
    found = [title, *_with_bars(lines, [_size(part, scene) for part in listed], terminal)]
    if len(scene.spans) > len(listed):
        left = scene.spans[len(listed) :]
        weight = sum(part.weight for part in left)
        found.append(f"  and {_many(len(left), 'more span')}, together weight {number(weight)}")
    return found


def _rest(scene: Spans, terminal: Terminal) -> list[str]:
    """What lies in no span."""
    if not scene.rest:
        return []
    columns = [
        name for name in _columns(scene, terminal) if name not in ("without_apart", "effect")
    ]
    rows = [["in no span", "tokens", *(TITLES[name] for name in columns)]]
    for part in scene.rest:
        rows.append([part.name, str(part.tokens), *_numbers(part, columns, scene.exact)])
    right: list[Align] = ["right"]
    head, *lines = table(rows, ["left", *right * (1 + len(columns))])
    return ["", terminal.style(head, "dim"), *lines]


def _readers(scene: Spans, terminal: Terminal) -> list[str]:
    lines = []
    for part in scene.spans[:NAMED]:
        heads = ", ".join(f"{one.head} ({number(one.weight)})" for one in part.readers)
        name = clip(terminal.line(part.name), 24)
        lines += wrapped(f"{name} is read most by {heads}.", terminal.columns, "  ")
    return lines


def _layers(scene: Spans, terminal: Terminal) -> list[str]:
    listed = scene.spans[:LAYER_SPANS]
    rows = [["layer", *(clip(terminal.line(part.name), 8) for part in listed)]]
    for place, layer in enumerate(scene.prompt.layers):
        rows.append([f"L{layer}", *(number(part.by_layer[place]) for part in listed)])
    right: list[Align] = ["right"]
    head, *lines = table(rows, ["left", *right * len(listed)])
    return ["Weight by layer", terminal.style(head, "dim"), *lines]


def _numbers(part: Part, columns: Sequence[str], exact: bool) -> list[str]:
    shown = []
    for name in columns:
        value = getattr(part, name)
        if name == "effect":
            shown.append("–" if value is None else _log(value))
        else:
            shown.append(number(value, bound=not exact and name == "weight"))
    return shown


def _size(part: Part, scene: Spans) -> float:
    """How long the bar of a span is, the longest being 1."""
    sign = -1 if scene.sorted_by == "effect" else 1
    sizes = [sign * (getattr(one, scene.sorted_by) or 0) for one in scene.spans]
    largest = max(*sizes, 0.0) if len(sizes) > 1 else max(sizes[0], 0.0)
    return max(sign * (getattr(part, scene.sorted_by) or 0), 0) / largest if largest else 0.0


def _with_bars(lines: list[str], sizes: Sequence[float], terminal: Terminal) -> list[str]:
    head, *rest = lines
    room = min(terminal.columns - max(width(line) for line in lines) - 2, BAR)
    if room >= LEAST_BAR:
        rest = [
            f"{line}  {terminal.bar(size, room)}" for line, size in zip(rest, sizes, strict=True)
        ]
    return [terminal.style(head, "dim"), *rest]


def _log(value: float) -> str:
    """A log-probability or its change, '−4.31', with a true minus sign."""
    text = f"{value:+.2f}" if abs(value) >= 0.005 else ".00"
    return text.replace("-", "−")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
