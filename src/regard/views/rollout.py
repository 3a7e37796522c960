"""What one word is made of by the rollout through all layers, as lines for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from regard.views.cells import clip
from regard.views.layout import heading, hints, named, percent, pieces_note, row_table
from regard.views.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.scene import Rollout
    from regard.views.terminal import Terminal


def rollout(scene: Rollout, terminal: Terminal, command: Sequence[str]) -> list[str]:
    """The scene as lines: what one word is made of, and what that leaves out."""
    word = named(scene.word, terminal)
    lines = heading(scene.source, scene.place, terminal)
    lines += pieces_note(scene.row.pieces, terminal)
    said = (
        f"Rollout: what {word} is made of after {scene.layers} layers, if each layer were half "
        "the mean of its heads and half what was there before (Abnar & Zuidema 2020):"
    )
    lines += ["", *wrapped(said, terminal.columns)]
    lines += _parts(scene, terminal)
    lines += wrapped(
        "It leaves out values, projections and what stands between the layers, and it favours "
        "words that heads rest on, in a decoder the first ones. Compare another word of the same "
        "text before you read it.",
        terminal.columns,
    )
    return lines + hints(terminal, command, ("By head:", ("--word", scene.word)))


def _parts(scene: Rollout, terminal: Terminal) -> list[str]:
    """Where the rollout ends: where heads rest in a line, all other words in a table."""
    aside = [cell for cell in scene.row.cells if cell.special]
    resting = sum(cell.weight for cell in aside)
    whole = sum(cell.weight for cell in scene.row.cells)
    if not aside or whole <= resting:
        return row_table(scene.row, terminal, "part")
    names = " and ".join(clip(terminal.shown(cell.word), 16) for cell in aside[:3])
    cells = tuple(
        replace(cell, weight=cell.weight / (whole - resting))
        for cell in scene.row.cells
        if not cell.special
    )
    part = ">99 %" if 0.995 <= resting < 1 else percent(resting)
    have = "have" if len(aside) > 1 else "has"
    said = f"{names}, where heads rest, {have} {part} of it. Of what is left:"
    table = row_table(replace(scene.row, cells=cells), terminal, "part of rest")
    return [*wrapped(said, terminal.columns), *table]
