"""What the screens are put together from: numbers, tables with bars, the text with one word marked.

Weights are printed with two decimals (.84, and .00 below .005), a weight that is only known to be
at least so large with ≥ before it.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from regard.views.cells import Align, clip, isolate, pad, width
from regard.views.terminal import Terminal, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.scene import Cell, KeyStep, Link, Row, Source

NOT_WHY: Final = "Weight is where a head looks, not why the model decides."
KINDS: Final = {
    "encoder": "encoder, whose words read each other",
    "decoder": "decoder, whose words read those before them",
    "cross": "cross-attention: the words of the output read those of the input",
}
BAR_CELLS: Final = 20
LEAST: Final = 0.005  # printed as .00: in a long text such words are summed up
UNSEEN: Final = 6  # words not seen that are named
ROWS: Final = 12  # of a ranking, and of a row before the rest of a long text is summed up


def number(value: float | None, *, bound: bool = False) -> str:
    """A fraction of 1 with two decimals: '.84', '1.00', '-.03'; '–' where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.2f}"
    if abs(value) < 1:
        text = text.replace("0.", ".", 1)
    return ("≥" if bound else "") + (".00" if text == "-.00" else text)


def percent(fraction: float) -> str:
    """A fraction as a whole percentage, '42 %', '<1 %' for what is there and rounds to none."""
    return "<1 %" if 0 < fraction < 0.005 else f"{100 * fraction:.0f} %"


def named(word: str, terminal: Terminal) -> str:
    """A word from outside within our own sentence: made harmless, in quotation marks, not long."""
    return f'"{isolate(clip(terminal.shown(word), 24))}"'


def table(
    rows: Sequence[Sequence[str]], aligns: Sequence[Align], indent: str = "  ", gap: str = "  "
) -> list[str]:
    """Rows of cleaned cells under one another, each column as wide as its widest cell."""
    widths = [max(width(row[place]) for row in rows) for place in range(len(aligns))]
    return [
        indent + gap.join(pad(*cell) for cell in zip(row, widths, aligns, strict=True))
        for row in rows
    ]


def passage(source: Source, place: int | None, terminal: Terminal, room: int) -> str:
    """The text in at most `room` cells, the word at `place` in brackets and in sight."""
    if source.text is None or place is None or source.spans[place] == (0, 0):
        whole = source.text if source.text is not None else " ".join(source.words)
        word = "" if place is None else f"[{clip(terminal.line(source.words[place]), room // 2)}]"
        text = clip(terminal.line(whole), room - (width(word) + 2 if word else 0))
        return isolate(text) + (f"  {terminal.style(word, 'mark')}" if word else "")
    start, stop = source.spans[place]
    before, after = source.text[:start], source.text[stop:]
    lead = terminal.line(before) + " " * before[-1:].isspace()
    tail = " " * after[:1].isspace() + terminal.line(after)
    word = f"[{clip(terminal.line(source.text[start:stop]), max(room // 2, 8))}]"
    spare = max(room - width(word), 0)
    left = min(width(lead), max(spare // 2, spare - width(tail)))
    lead, tail = clip(lead, left, keep="end"), clip(tail, spare - left)
    marked = lead + terminal.style(word, "mark") + tail
    return isolate(marked)


def heading(source: Source, place: int | None, terminal: Terminal) -> list[str]:
    """The text, and what read it: on one line if both fit."""
    room = terminal.columns
    text = passage(source, place, terminal, room)
    unknown = ", ".join(clip(terminal.shown(word), 16) for word in source.unknown[:3])
    note = []
    if unknown:
        more = f" and {len(source.unknown) - 3} more" if len(source.unknown) > 3 else ""
        note = wrapped(
            f"Not in this model's vocabulary, all read as the same [UNK]: {unknown}{more}.", room
        )
    note += wrapped(_sees(source, terminal), room) if source.kind != "encoder" else []
    if source.written is not None:
        note += wrapped(f"It wrote: {isolate(clip(terminal.line(source.written), 2 * room))}", room)
        said = "What it read to write a word is the row of the word before that."
        note += wrapped(said, room)
    if source.stopped is not None:
        stopped = terminal.line(source.stopped)
        note += wrapped(f"Stopped early, {stopped}: the rest is missing.", room)
    if len(source.kinds) > 1:
        others = " and ".join(f"--attention {kind}" for kind in source.kinds if kind != source.kind)
        note += wrapped(f"This is its {KINDS[source.kind]}; for the others, {others}.", room)
    model = f"{terminal.line(source.model)}, {_heads(source)}"
    taken = width(passage(source, place, replace(terminal, colour=False), room))
    if taken + 3 + width(model) <= room:
        gap = " " * (room - taken - width(model))
        return [text + gap + terminal.style(model, "dim"), *note]
    return [text, terminal.style(clip(model, room), "dim"), *note]


def _sees(source: Source, terminal: Terminal) -> str:
    """What the words of a decoder, or of a cross-attention, may see."""
    if source.kind == "decoder":
        return "A decoder: each word sees itself and what stands before it, nothing after."
    read = clip(terminal.line(source.read or ""), 2 * terminal.columns)
    return f"Its words read another text: {isolate(read)}"


def _heads(source: Source) -> str:
    layers = len(source.heads)
    if len(set(source.heads)) == 1:
        return f"{layers} layer{'s' * (layers > 1)} × {source.heads[0]} heads"
    return f"{layers} layers, {sum(source.heads)} heads"


def link_table(
    links: Sequence[Link], source: Source, terminal: Terminal, *, reader: bool, head: bool = True
) -> list[str]:
    """Links with bars; `reader` and `head` say whether those columns differ and are shown."""
    links = links[:ROWS]
    habits = any(link.habit is not None for link in links)
    names = ["from", "to"] if reader else ["word"]
    numbers = ["weight"] + ["habit"] * habits
    heads = ["head"] * head
    taken = 2 + sum(len(name) + 2 for name in (*numbers, *heads)) + 2 * len(names) + 2 * head
    longest = max((terminal.columns - taken - 8) // len(names), 6)
    rows = [[*names, *numbers, *heads]]
    for link in links:
        words = [link.reader, link.word] if reader else [link.word]
        rows.append(
            [
                *(clip(terminal.shown(word), longest) for word in words),
                number(link.weight, bound=not source.exact),
                *[number(link.habit)] * habits,
                *[link.head] * head,
            ]
        )
    left: list[Align] = ["left"]
    right: list[Align] = ["right"]
    aligns = left * len(names) + right * len(numbers) + left * len(heads)
    return with_bars(table(rows, aligns), [link.weight for link in links], terminal)


def row_table(row: Row, terminal: Terminal, number_name: str = "weight") -> list[str]:
    """A row of one head: every word of a short text that is seen, the heaviest of a long one."""
    seen = [cell for cell in row.cells if cell.seen]
    cells = seen
    if len(seen) > 2 * ROWS:
        cells = sorted(seen, key=lambda cell: -cell.weight)[:ROWS]
        cells = [cell for cell in cells if cell.weight >= LEAST] or cells[:1]
    if not cells:
        return ["  It may see nothing here: all its weights are 0."]
    shares = any(cell.share is not None for cell in row.cells)
    longest = max(terminal.columns - 12 - 16 * shares - 10, 6)
    rows = [["word", number_name] + ["part of result"] * shares]
    for cell in cells:
        rows.append(
            [
                clip(terminal.shown(cell.word), longest),
                number(cell.weight, bound=not row.exact),
                *[number(cell.share)] * shares,
            ]
        )
    right: list[Align] = ["right"]
    lines = with_bars(
        table(rows, ["left", *right * (1 + shares)]), [cell.weight for cell in cells], terminal
    )
    left = len(seen) - len(cells)
    if left:
        rest = sum(cell.weight for cell in seen) - sum(cell.weight for cell in cells)
        weight = number(max(rest, 0.0), bound=not row.exact)
        words = "1 more word" if left == 1 else f"{left:,} more words, together"
        lines.append(f"  and {words} {weight}")
    unseen = [cell.word for cell in row.cells if not cell.seen]
    return lines + not_seen(unseen, terminal) + sum_note(row.cells, row.exact, terminal)


def not_seen(names: Sequence[str], terminal: Terminal) -> list[str]:
    """The words that a reader may not see."""
    if not names:
        return []
    listed = ", ".join(clip(terminal.shown(name), 16) for name in names[:UNSEEN])
    more = f" and {len(names) - UNSEEN:,} more" if len(names) > UNSEEN else ""
    return wrapped(f"Not seen: {listed}{more}.", terminal.columns)


def sum_note(cells: Sequence[Cell | KeyStep], exact: bool, terminal: Terminal) -> list[str]:
    """Why the weights of a row do not sum to 1, where they do not."""
    total = sum(cell.weight for cell in cells)
    if not exact:
        note = f"≥: only the largest weights are known; they sum to {number(total)} of 1."
    elif abs(total - 1) < 5e-3:
        return []
    elif total == 0:
        note = "It may see nothing here: all its weights are 0."
    else:
        note = f"The weights sum to {number(total)}, not 1: the rest goes to this head's sink."
    return wrapped(note, terminal.columns)


def with_bars(lines: list[str], weights: Sequence[float], terminal: Terminal) -> list[str]:
    """The lines of a table, a header and then one a weight, with bars where there is room."""
    head, *rest = lines
    room = min(terminal.columns - max(width(line) for line in lines) - 3, BAR_CELLS)
    if room >= 5:
        rest = [
            f"{line}   {terminal.bar(weight, room)}"
            for line, weight in zip(rest, weights, strict=True)
        ]
    return [terminal.style(head, "dim"), *rest]


def pieces_note(pieces: Sequence[str], terminal: Terminal) -> list[str]:
    """That a word is several tokens, and what that makes of its weights."""
    if len(pieces) < 2:
        return []
    listed = " ".join(terminal.shown(piece) for piece in pieces)
    said = f"Its weights are the mean over its {len(pieces)} pieces: {clip(listed, 60)}"
    return wrapped(said, terminal.columns)


def hints(
    terminal: Terminal, command: Sequence[str], *asks: tuple[str, tuple[str, ...]]
) -> list[str]:
    """What to type next: whole commands where they fit and are safe to print, else the options."""
    label = max(len(title) for title, _ in asks) + 1
    whole = [shlex.join([*command, *options]) for _, options in asks]
    if all(_typed(line, terminal) and label + width(line) <= terminal.columns for line in whole):
        return [
            "",
            *(f"{title:{label}}{line}" for (title, _), line in zip(asks, whole, strict=True)),
        ]
    options = [(title, shlex.join(given)) for title, given in asks]
    lines = [
        f"  {title:{label}}{line}"
        for title, line in options
        if _typed(line, terminal) and 2 + label + width(line) <= terminal.columns
    ]
    return ["", "Next, added to the same command:", *lines] if lines else []


def _typed(line: str, terminal: Terminal) -> bool:
    """Whether a command can be printed as it must be typed."""
    return terminal.shown(line) == line and isolate(line) == line
