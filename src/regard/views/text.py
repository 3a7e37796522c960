"""A scene as a text for a terminal: no wider than it, readable without colour."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from regard.views import scene as scenes
from regard.views.arithmetic import four_steps
from regard.views.cells import clip, pad, width
from regard.views.layout import (
    NOT_WHY,
    heading,
    hints,
    link_table,
    named,
    number,
    percent,
    pieces_note,
    row_table,
)
from regard.views.rollout import rollout
from regard.views.terminal import wrapped
from regard.views.versus import versus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.scene import (
        OneHead,
        OneRow,
        OneWord,
        Sentence,
        Source,
    )
    from regard.views.terminal import Terminal

# By `regard.questions.HeadKind.kind`: what one head does, what several do, with more than half of
# their weight where nothing else is said.
KINDS: Final = {
    "special": ("gives most of its weight to", "give most of their weight to"),
    "before": ("reads the word before", "read the word before"),
    "after": ("reads the word after", "read the word after"),
    "itself": ("reads the word itself", "read the word itself"),
    "same": ("reads the same word elsewhere", "read the same word elsewhere"),
    "selective": ("picks one word out", "pick one word out"),
    "broad": ("spreads over half of the words or more", "spread over half of the words or more"),
    "mixed": ("does none of these", "do none of these"),
}
MATRIX_COLUMN: Final = 4  # ".84", "1.00"
STRONG: Final = 0.3  # bold in a matrix
READERS: Final = 4  # of one word that are listed


def render(scene: scenes.Scene, terminal: Terminal, command: Sequence[str]) -> str:
    """The scene as one text, ending in a newline.

    command: what was typed, without the options that choose a view; what can be asked next is
    spelled out with it.
    """
    if isinstance(scene, scenes.FourSteps):
        lines = four_steps(scene, terminal)
    elif isinstance(scene, scenes.Sentence):
        lines = _sentence(scene, terminal, command)
    elif isinstance(scene, scenes.OneWord):
        lines = _one_word(scene, terminal, command)
    elif isinstance(scene, scenes.OneRow):
        lines = _one_row(scene, terminal, command)
    elif isinstance(scene, scenes.OneHead):
        lines = _one_head(scene, terminal, command)
    elif isinstance(scene, scenes.Rollout):
        lines = rollout(scene, terminal, command)
    else:
        lines = versus(scene, terminal, command)
    return terminal.finish(lines)


def _sentence(scene: Sentence, terminal: Terminal, command: Sequence[str]) -> list[str]:
    source = scene.source
    lines = [*heading(source, None, terminal), ""]
    if scene.links:
        lines += _ranking("Who reads whom, strongest beyond habit", scene, terminal)
        lines += link_table(scene.links, source, terminal, reader=True)
    else:
        but = "beyond habit" if source.habit else "but for those that heads rest on"
        lines.append(f"No word reads another one here {but}.")
    lines += _set_aside(scene, terminal) if scene.links else []
    lines += _specials(source, scene.special_mass, "the words' weight", terminal)
    lines += _kinds(scene, terminal)
    if scene.readers < scene.of:
        asked = f"Asked: {scene.readers:,} of {scene.of:,} words, evenly spread; any other: --word."
        lines += wrapped(asked, terminal.columns)
    lines += wrapped(NOT_WHY, terminal.columns)
    if scene.links:
        best = next((link for link in scene.links if abs(link.distance or 0) > 2), scene.links[0])
        lines += hints(
            terminal,
            command,
            ("One word:", ("--word", best.reader)),
            ("One head:", ("--head", best.head)),
            ("Picture:", ("--html", "a.html")),
        )
    return lines


def _one_word(scene: OneWord, terminal: Terminal, command: Sequence[str]) -> list[str]:
    source = scene.source
    word = named(scene.word, terminal)
    lines = heading(source, scene.place, terminal)
    lines += pieces_note(scene.row.pieces, terminal)
    lines += ["", *wrapped(_agreement(scene, terminal), terminal.columns)]
    if scene.links:
        lines += _ranking("Strongest beyond habit", scene, terminal)
        lines += link_table(scene.links, source, terminal, reader=False)
    elif scene.votes:
        lines += wrapped(f"No head reads another word from {word} beyond habit.", terminal.columns)
    lines += _set_aside(scene, terminal) if scene.links else []
    lines += _specials(source, scene.special_mass, word, terminal)
    lines += _read_by(scene, terminal)
    lines += ["", *wrapped(f"{scene.row.head} ({scene.why})", terminal.columns)]
    lines += row_table(scene.row, terminal)
    lines += _others(scene, terminal)
    lines += wrapped(NOT_WHY, terminal.columns)
    lines += hints(
        terminal,
        command,
        ("Arithmetic:", ("--word", scene.word, "--head", scene.row.head, "--steps")),
        ("Picture:", ("--word", scene.word, "--html", _file(scene.word))),
    )
    if scene.links:
        before = " before it" if source.kind == "decoder" else ""
        asked = f"Is it meaning? Add --versus and the same text with one word{before} changed."
        lines += wrapped(asked, terminal.columns)
    return lines


def _read_by(scene: OneWord, terminal: Terminal) -> list[str]:
    """Who reads the word: the strongest few."""
    source = scene.source
    links = scene.read_by[:READERS]
    word = named(scene.word, terminal)
    if not links:
        after = source.kind == "decoder" and scene.place == len(source.words) - 1
        why = ": no word comes after it" if after else " beyond habit"
        return ["", *wrapped(f"No word reads {word}{why}.", terminal.columns)]
    exact = replace(source, exact=scene.read_by_exact)
    by = "first" if source.habit is None or links[0].habit is None else "beyond habit"
    rows = [replace(link, word=link.reader) for link in links]
    return [
        "",
        f"Who reads {word}, strongest {by}:",
        *link_table(rows, exact, terminal, reader=False),
    ]


def _one_row(scene: OneRow, terminal: Terminal, command: Sequence[str]) -> list[str]:
    row = scene.row
    lines = heading(scene.source, scene.place, terminal)
    lines += pieces_note(row.pieces, terminal)
    lines += ["", f"Whom {named(row.reader, terminal)} reads in {row.head}:"]
    lines += row_table(row, terminal)
    lines += wrapped(NOT_WHY, terminal.columns)
    lines += hints(
        terminal,
        command,
        ("Arithmetic:", ("--word", row.reader, "--head", row.head, "--steps")),
        ("All heads:", ("--word", row.reader)),
    )
    return lines


def _one_head(scene: OneHead, terminal: Terminal, command: Sequence[str]) -> list[str]:
    source = scene.source
    lines = [*heading(source, None, terminal), ""]
    said = _character(scene)
    lines += wrapped(said, terminal.columns) if said else []
    grid = _matrix(scene, terminal)
    if grid:
        said = f"{scene.head}. Row: who reads. Column: who is read. A row sums to 1."
        lines += wrapped(said, terminal.columns)
        lines += grid
    elif scene.links:
        lines.append(f"{scene.head}: who reads whom, strongest first")
        lines += link_table(scene.links, source, terminal, reader=True, head=False)
    else:
        said = f"No word reads another one in {scene.head}: all its weight is on special tokens."
        lines += wrapped(said, terminal.columns)
    lines += wrapped(NOT_WHY, terminal.columns)
    if scene.links:
        reader = scene.links[0].reader
        lines += hints(
            terminal,
            command,
            ("One row:", ("--word", reader, "--head", scene.head)),
            ("Arithmetic:", ("--word", reader, "--head", scene.head, "--steps")),
            ("Picture:", ("--head", scene.head, "--html", f"{scene.head}.html")),
        )
    return lines


def _file(word: str) -> str:
    """What a page that begins with this word may be called on any system."""
    plain = word.isascii() and word.isalnum() and len(word) <= 20
    return f"{word}.html" if plain else "page.html"


def _ranking(title: str, scene: Sentence | OneWord, terminal: Terminal) -> list[str]:
    """The line above a ranking: what it ranks by."""
    first = title.replace("beyond habit", "first")
    if scene.source.habit is None:
        said = f"{first} (this model's habits are not known: heads that only read by position are"
        return wrapped(f"{said} among them):", terminal.columns)
    if all(link.habit is None for link in scene.links):  # special tokens have none as readers
        return wrapped(f"{first}:", terminal.columns)
    over = " over this text" if scene.source.habit == "this text" else ""
    said = f"{title} (habit = what that head usually gives a word at this distance{over}):"
    return wrapped(said, terminal.columns)


def _agreement(scene: OneWord, terminal: Terminal) -> str:
    word = named(scene.word, terminal)
    votes = [(named(vote.word, terminal), vote.heads) for vote in scene.votes[:3]]
    if not votes:
        return f"There is no other word for {word} to read."
    (first, most), *others = votes
    listed = f"{most} of {scene.voters} look most at {first}"
    listed = ", ".join([listed, *(f"{heads} at {other}" for other, heads in others)])
    if most * 2 > scene.voters:
        return f"Most heads agree on what {word} reads: {listed}."
    return f"Heads do not agree on what {word} reads: {listed}."


def _others(scene: OneWord, terminal: Terminal) -> list[str]:
    """Whether the link that leads is this word's own, or every word's."""
    if scene.leads is None or scene.others is None:
        return []
    weight = next(cell.weight for cell in scene.row.cells if cell.word == scene.leads)
    leads, given = named(scene.leads, terminal), number(scene.others)
    if scene.others * 2 > weight:
        word = named(scene.word, terminal)
        said = f"That is not special to {word}: the other words give {leads} {given} there"
    else:
        said = f"The other words give {leads} {given} there"
    return wrapped(f"{said} on average.", terminal.columns)


def _set_aside(scene: Sentence | OneWord, terminal: Terminal) -> list[str]:
    """The heads that read by position, which rankings leave out."""
    said = []
    for routine in scene.routines:
        if routine.reads not in scene.source.apart:
            how = "always" if routine.always else "mostly"
            said.append(f"{_some(routine.heads)} {how} {routine.reads}")
    return wrapped(f"Set aside, by position: {'; '.join(said)}.", terminal.columns) if said else []


def _kinds(scene: Sentence, terminal: Terminal) -> list[str]:
    """What the heads do in this text, most of them first."""
    total = sum(len(kind.heads) for kind in scene.kinds)
    if not total:
        return []
    kinds = sorted(scene.kinds, key=lambda kind: (kind.kind == "mixed", -len(kind.heads)))
    said = [f"{len(one.heads)} {_does(one.kind, len(one.heads), scene.source)}" for one in kinds]
    return wrapped(f"Of {total} heads, {', '.join(said)}.", terminal.columns)


def _character(scene: OneHead) -> str:
    """What a head does in this text and by habit."""
    said = ""
    if scene.kind is not None and scene.kind != "mixed":
        said = f"{scene.head} {_does(scene.kind, 1, scene.source)} here. "
    if scene.routine is None:
        return said.strip()
    how = "always" if scene.routine.always else "mostly"
    who = "it" if said else scene.head
    return f"{said}By habit {who} {how} reads {scene.routine.reads}, whatever the words."


def _does(kind: str, heads: int, source: Source) -> str:
    said = KINDS[kind][heads > 1]
    if kind != "special":
        return said
    names = [clip(name, 16) for name in source.apart] or ["the first word"]
    return f"{said} {' or '.join(names[:3])}"


def _some(heads: Sequence[str], most: int = 3) -> str:
    named = ", ".join(heads[:most])
    return f"{named} and {len(heads) - most} more" if len(heads) > most else named


def _specials(source: Source, mass: float | None, of: str, terminal: Terminal) -> list[str]:
    """How much of the weight goes where heads rest whatever the words: the sink of a decoder."""
    names = [clip(terminal.shown(name), 16) for name in source.apart][:3]
    if mass is None or not names:
        return []
    amount = ("" if source.exact else "at least ") + percent(mass)
    if source.kind == "decoder":
        first = names[0] if source.special[:1] == source.apart[:1] else f'"{names[0]}"'
        others = f" and {', '.join(names[1:])}" if names[1:] else ""
        said = f"{first}, which comes first{others}, {'take' if others else 'takes'} {amount} of"
        said += f" {of}, averaged over heads: decoders rest there, whatever the word (a sink)."
        return wrapped(said, terminal.columns)
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    are, take = ("are not words", "take") if len(names) > 1 else ("is not a word", "takes")
    said = f"{listed}, which {are}, {take} {amount} of {of}, averaged over heads."
    return wrapped(said, terminal.columns)


def _matrix(scene: OneHead, terminal: Terminal) -> list[str]:
    """The head's word by word weights, if the terminal is wide enough for them."""
    if scene.matrix is None:
        return []
    words = [terminal.shown(word) for word in scene.source.words]
    longest = max(width(word) for word in words)
    side = min(longest, 12)
    room = min((terminal.columns - 2 - side) // len(words) - 1, max(longest, MATRIX_COLUMN), 9)
    if room < MATRIX_COLUMN:
        return []
    names = [pad(clip(word, room), room, "right") for word in words]
    lines = [terminal.style("  " + " ".join([" " * side, *names]), "dim")]
    for word, weights in zip(words, scene.matrix, strict=True):
        cells = [pad(number(weight), room, "right") for weight in weights]
        strong = [
            terminal.style(cell, "bold") if weight >= STRONG else cell
            for cell, weight in zip(cells, weights, strict=True)
        ]
        lines.append("  " + " ".join([pad(clip(word, side), side), *strong]))
    return lines
