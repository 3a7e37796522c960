"""The four steps of one head for one token, in real numbers, as lines for a terminal."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from regard.views.cells import Align, clip, pad, width
from regard.views.layout import heading, named, not_seen, number, sum_note, table
from regard.views.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.scene import FourSteps, KeyStep
    from regard.views.terminal import Terminal

SPELLED: Final = 3  # keys whose dot product is spelled out
LISTED: Final = 12  # keys in the tables of a long text


def four_steps(scene: FourSteps, terminal: Terminal) -> list[str]:
    """The scene as lines: q·k, scale, softmax, and z as the weighted sum of values."""
    unseen = [key.token for key in scene.keys if key.masked is None]
    scene = replace(scene, keys=tuple(key for key in scene.keys if key.masked is not None))
    keys = sorted(scene.keys, key=lambda key: -key.weight)
    shown = keys[:LISTED]
    lines = [*heading(scene.source, scene.place, terminal), ""]
    lines += wrapped(_title(scene, terminal), terminal.columns)
    lines += ["", *_products(scene, keys, terminal)]
    lines += ["", *_softmax(scene, shown, terminal)]
    lines += ["", *_sum_of_values(scene, shown, terminal)]
    lines += sum_note(keys, True, terminal)
    return lines + not_seen(unseen, terminal)


def _title(scene: FourSteps, terminal: Terminal) -> str:
    word = named(scene.word, terminal)
    said = f"{scene.head}, the four steps for {word}. d_k = {scene.dim}. Heaviest tokens first."
    if len(scene.pieces) > 1:
        piece = named(scene.pieces[scene.piece], terminal)
        said += (
            f" This word is {len(scene.pieces)} pieces and has a row for each; this is the row of "
            f"{piece}. Elsewhere its weights are the mean over them."
        )
    return said


def _products(scene: FourSteps, keys: Sequence[KeyStep], terminal: Terminal) -> list[str]:
    spelled = keys[:SPELLED]
    room = min(14, terminal.columns - 41)
    names = [clip(terminal.shown(key.token), room) for key in spelled]
    label = max((width(name) for name in names), default=0)
    lines = wrapped(
        f"1  q·k: {scene.dim} products, added up; the largest first", terminal.columns, "   "
    )
    for name, key in zip(names, spelled, strict=True):
        terms = list(key.terms)
        while True:
            line = f"   {pad(name, label)}  {_spelled(key, terms, scene.dim)}"
            if width(line) <= terminal.columns or not terms:
                break
            terms.pop()
        lines.append(line)
    return lines


def _spelled(key: KeyStep, terms: Sequence[object], dim: int) -> str:
    kept = key.terms[: len(terms)]
    parts = [f"{_plain(term.query)}·{_plain(term.key)}" for term in kept]
    rest = key.score - sum(term.product for term in kept)
    if not kept:
        parts.append(f"{dim} products")
    elif dim > len(kept):
        parts.append(f"{_plain(rest)} from {dim - len(kept)} more")
    return f"{' + '.join(parts)} = {key.score:.2f}"


def _softmax(scene: FourSteps, keys: Sequence[KeyStep], terminal: Terminal) -> list[str]:
    usual = math.isclose(scene.scale, scene.dim**-0.5, rel_tol=1e-6)
    by = f"÷ √{scene.dim} = {scene.dim**0.5:.3f}" if usual else f"× the scale {scene.scale:.4g}"
    changed = any(key.masked != key.scaled for key in keys)
    lines = wrapped(f"2  {by}", terminal.columns, "   ")
    if scene.softcap is not None:
        lines.append(f"   then {scene.softcap:g}·tanh(s ÷ {scene.softcap:g}), the softcap")
    sink = f", the sink's {scene.sink:.3f} included" if scene.sink is not None else ""
    lines += wrapped(
        f"3  Softmax: e^(s − {scene.largest:.2f}), ÷ their sum {scene.row_sum:.3f}{sink}",
        terminal.columns,
        "   ",
    )
    right: list[Align] = ["right"]
    head = ["token", "q·k", "scaled s", *(["masked s"] if changed else []), "e^(s−max)", "weight"]
    rows = [head]
    label = max(min(14, terminal.columns - 41 - 10 * changed), 4)
    for key in keys:
        rows.append(
            [
                clip(terminal.shown(key.token), label),
                f"{key.score:.2f}",
                f"{key.scaled:.2f}",
                *([f"{key.masked:.2f}"] if changed else []),
                f"{key.exponential:.3f}",
                number(key.weight),
            ]
        )
    head_line, *body = table(rows, ["left", *right * (len(head) - 1)], indent="   ")
    lines += [terminal.style(head_line, "dim"), *body]
    left = len(scene.keys) - len(keys)
    if left:
        together = sum(key.weight for key in scene.keys) - sum(key.weight for key in keys)
        lines.append(f"   and {left} more tokens, {number(together)} of the weight together")
    return lines


def _sum_of_values(scene: FourSteps, keys: Sequence[KeyStep], terminal: Terminal) -> list[str]:
    names = [clip(terminal.shown(key.token), 14) for key in keys]
    taken = max(map(width, [*names, "token", "99 more"])) + 26
    count = min(len(scene.output), max((terminal.columns - taken) // 7, 1))
    elided = " …" if count < scene.value_dim else ""
    of = f"; the first {count} of {scene.value_dim} numbers" if elided else ""
    lines = wrapped(f"4  × V: z adds up weight · v{of}", terminal.columns, "   ")
    shares = any(key.share is not None for key in scene.keys)
    rows = [["token", "weight", "", "v", *(["part of z"] if shares else [])]]
    for name, key in zip(names, keys, strict=True):
        rows.append(
            [
                name,
                number(key.weight),
                "×",
                _vector(key.value[:count], elided),
                *([number(key.share)] if shares else []),
            ]
        )
    left = len(scene.keys) - len(keys)
    if left:
        share = sum(key.share or 0.0 for key in scene.keys) - sum(key.share or 0.0 for key in keys)
        weight = sum(key.weight for key in scene.keys) - sum(key.weight for key in keys)
        rest = [f"{left} more", number(weight), "", "", *([number(share)] if shares else [])]
        rows.append(rest)
    total = sum(key.weight for key in scene.keys)
    result = [_vector(scene.output[:count], elided), *(["1.00"] if shares else [])]
    name = f"z({clip(terminal.shown(scene.pieces[scene.piece]), 12)})"
    rows.append([name, number(total), "=", *result])
    aligns: list[Align] = ["left", "right", "left", "left", "right"]
    head_line, *body = table(rows, aligns[: len(rows[0])], indent="   ", gap=" ")
    return [*lines, terminal.style(head_line, "dim"), *body[:-1], terminal.style(body[-1], "bold")]


def _vector(numbers: Sequence[float], elided: str) -> str:
    return "[" + " ".join(f"{_plain(value):>6}" for value in numbers) + elided + "]"


def _plain(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text
