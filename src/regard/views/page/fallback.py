"""What a page shows where its script does not run: a picture and a table of the strongest links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from regard.views.cells import clip, one_line, width
from regard.views.digits import fraction
from regard.views.labels import key_labels, query_labels
from regard.views.page.document import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.mechanism.steps import Steps
    from regard.views.scene import Link, Source

_MOST_LINKS: Final = 12
_MOST_WORDS: Final = 40
_LINE: Final = 24  # units of the picture from one word to the next
_LETTER: Final = 8.5


def fallback(
    title: str, subtitle: str, source: Source, links: Sequence[Link], word: str | None = None
) -> str:
    """HTML of a record as a text, a picture of its strongest links, and a table of them.

    word: whose links they are; None for those of the whole text.
    """
    said = "The strongest links"
    if word is not None:
        said = f"Whom <bdi>{escaped(clip(one_line(word), 40))}</bdi> reads"
    links = [*links][:_MOST_LINKS]
    picture = _picture(source, links)
    parts = [
        f"<header><h1><bdi>{escaped(title)}</bdi></h1><p>{escaped(subtitle)}</p></header>",
        f'<section data-view="still"><h2>{said}</h2>{picture}{_table(links, source)}',
        "<p>The left reads, the right is read. Weight is where a head looks, not why the model "
        "decides.</p></section>",
    ]
    return "\n".join(parts)


def _table(links: Sequence[Link], source: Source) -> str:
    if not links:
        return "<p>No link stands out here.</p>"
    least = "" if source.exact else "≥"
    rows = "".join(
        "<tr>"
        f"<th scope='row'><bdi>{escaped(link.reader)}</bdi> reads "
        f"<bdi>{escaped(link.word)}</bdi></th>"
        f"<td>{least}{hundredths(link.weight)}</td><td>{hundredths(link.habit)}</td>"
        f"<td>{hundredths(link.share)}</td><td>{escaped(link.head)}</td></tr>"
        for link in links
    )
    usual = "" if source.habit is None else " Habit is what the head usually gives a word there."
    return (
        "<table><thead><tr><th scope='col'>link</th><th scope='col'>weight</th>"
        "<th scope='col'>habit</th><th scope='col'>part of result</th><th scope='col'>head</th>"
        f"</tr></thead><tbody>{rows}</tbody></table><p>{usual.strip()}</p>"
    )


def _picture(source: Source, links: Sequence[Link]) -> str:
    """Two columns of words and a line for each link, as one would draw it on paper."""
    if not links:
        return ""
    left = _shown(source.words, [link.reader for link in links])
    right = _shown(
        source.words if source.kind != "cross" else [link.word for link in links],
        [link.word for link in links],
    )
    names = {name: clip(one_line(name) or "∅", 20) for name in (*left, *right)}
    room = max(width(name) for name in names.values()) * _LETTER + 12
    height = (max(len(left), len(right)) + 1) * _LINE
    marks = []
    for names_of, x, anchor in ((left, room - 8, "end"), (right, room + 188, "start")):
        marks += [
            f'<text x="{x:.0f}" y="{(place + 1) * _LINE + 5}" text-anchor="{anchor}" '
            f'font-size="15" fill="currentColor">{escaped(names[name])}</text>'
            for place, name in enumerate(names_of)
        ]
    lines = [
        f'<line x1="{room:.0f}" y1="{(left.index(link.reader) + 1) * _LINE}" '
        f'x2="{room + 180:.0f}" y2="{(right.index(link.word) + 1) * _LINE}" '
        f'stroke="currentColor" stroke-opacity="{0.25 + 0.6 * min(link.weight, 1):.2f}" '
        f'stroke-width="{0.5 + 6 * min(link.weight, 1):.1f}"/>'
        for link in links
    ]
    return (
        f'<svg viewBox="0 0 {2 * room + 180:.0f} {height}" width="{2 * room + 180:.0f}" '
        f'role="img" aria-label="Lines from words that read, on the left, to words that they read">'
        f"{''.join(lines)}{''.join(marks)}</svg>"
    )


def _shown(words: Sequence[str], used: Sequence[str]) -> list[str]:
    """All words of a short text, else those that a link has."""
    return list(dict.fromkeys(words if len(words) <= _MOST_WORDS else used))


def hundredths(number: float | None) -> str:
    """A weight or a share as the command line writes it: .60, 1.00, −.05; a dash for None."""
    if number is None:
        return "–"
    text = f"{abs(number):.2f}"
    return ("−" if number < 0 and float(text) else "") + text.removeprefix("0")


def steps_fallback(title: str, subtitle: str, steps: Steps) -> str:
    """HTML of the weights of the first head of `steps` as a table."""
    first = steps.head(*(0 for _ in steps.scores.shape[:-2]))
    rows, columns = query_labels(first)[:_MOST_LINKS], key_labels(first)[:_MOST_LINKS]
    head = "".join(f"<th scope='col'><bdi>{escaped(name)}</bdi></th>" for name in columns)
    body = "".join(
        f"<tr><th scope='row'><bdi>{escaped(name)}</bdi></th>"
        + "".join(f"<td>{fraction(weight)}</td>" for weight in first.weights[row, : len(columns)])
        + "</tr>"
        for row, name in enumerate(rows)
    )
    return (
        f"<header><h1>{escaped(title)}</h1><p>{escaped(subtitle)}</p></header>\n"
        f'<section data-view="still"><h2>Weights</h2><table><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table><p>Rows read, columns are read.</p></section>"
    )
