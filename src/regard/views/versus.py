"""One word in two texts as lines for a terminal: which heads turn, which stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from regard.views.cells import clip
from regard.views.layout import NOT_WHY, hints, named, number, passage, table
from regard.views.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.scene import Turn, Versus
    from regard.views.terminal import Terminal

TURNS: Final = 6  # heads of one kind that are listed
CLEAR: Final = 0.05  # a smaller lead of one word over another is not much of a preference


def versus(scene: Versus, terminal: Terminal, command: Sequence[str]) -> list[str]:
    """The scene as lines: what turns and what stays first, then the clearest heads of each."""
    room = terminal.columns - 3
    lines = [
        "A  " + passage(scene.source, scene.place, terminal, room),
        "B  " + passage(scene.other, scene.other_place, terminal, room),
        "",
        *(wrapped(_same(scene, terminal), terminal.columns) if _same(scene, terminal) else []),
        *wrapped(_turning(scene, terminal), terminal.columns),
    ]
    if scene.first is not None and scene.second is not None:
        names = scene.first, scene.second
        for title, turns in (
            ("{0} in A, {1} in B", scene.there),
            ("{1} in A, {0} in B", scene.back),
            ("{0} in both", scene.stays),
        ):
            words = [named(word, terminal) for word in names]
            lines += _turns(title.format(*words), turns, names, terminal)
    lines += ["", *wrapped(NOT_WHY, terminal.columns)]
    turned = scene.there or scene.stays
    if turned:
        ask = ("--word", scene.word, "--head", turned[0].head)
        lines += hints(terminal, command, ("In A alone:", ask))
    return lines


def _same(scene: Versus, terminal: Terminal) -> str:
    """That a decoder's word cannot tell two texts apart that are the same up to it."""
    before = [
        source.text[: source.spans[place][1]] if source.text is not None else None
        for source, place in ((scene.source, scene.place), (scene.other, scene.other_place))
    ]
    if scene.source.kind != "decoder" or before[0] is None or before[0] != before[1]:
        return ""
    word = named(scene.word, terminal)
    return (
        f"A decoder: {word} sees nothing after it, and up to it the texts are the same, so it "
        "reads the same in both. Change a word before it, or ask about a later one."
    )


def _turning(scene: Versus, terminal: Terminal) -> str:
    if scene.first is None or scene.second is None:
        return "No two words that both texts have can be compared."
    first, second = named(scene.first, terminal), named(scene.second, terminal)
    there, back, stays = len(scene.there), len(scene.back), len(scene.stays)
    said = f"{_heads(there)} from {first} to {second}, {back or 'none'} the other way"
    if there + back:
        clear = sum(_lead(turn) >= CLEAR for turn in (*scene.there, *scene.back))
        said += f"; {clear or 'none'} of these by {number(CLEAR)} or more in both texts"
    best = scene.stays[0] if stays else None
    if best is None:
        return f"{said}. None stays on {first}."
    kept = f"{number(best.first_in_a)} → {number(best.first_in_b)}"
    stay = "stays" if stays == 1 else "stay"
    return f"{said}. {stays} of {scene.heads} {stay} on {first}, clearest {best.head} ({kept})."


def _lead(turn: Turn) -> float:
    """The smaller lead of one word over the other, in A and in B: how clear a turn is."""
    return min(abs(turn.first_in_a - turn.second_in_a), abs(turn.first_in_b - turn.second_in_b))


def _heads(count: int) -> str:
    return "No head turns" if not count else f"{count} head{'s turn' if count > 1 else ' turns'}"


def _turns(
    title: str, turns: Sequence[Turn], names: tuple[str, str], terminal: Terminal
) -> list[str]:
    """The clearest heads of one kind, with what they give both words in A and in B."""
    if not turns:
        return []
    first, second = (clip(terminal.shown(name), 12) for name in names)
    rows = [["head", f"A: {first}", second, f"B: {first}", second]]
    for turn in turns[:TURNS]:
        pairs = (turn.first_in_a, turn.second_in_a, turn.first_in_b, turn.second_in_b)
        rows.append([turn.head, *(number(weight) for weight in pairs)])
    head, *rest = table(rows, ["left", "right", "right", "right", "right"])
    more = [f"  and {len(turns) - TURNS} more, less clearly"] if len(turns) > TURNS else []
    return ["", *wrapped(title, terminal.columns), terminal.style(head, "dim"), *rest, *more]
