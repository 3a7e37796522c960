"""`regard steps`: the four steps on an example, on one for a pencil, or on your own matrices."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from regard.cli.examples import example
from regard.cli.matrices import Projection, read_matrices, steps_of, unused
from regard.cli.page import Wish, page_options
from regard.errors import InputError
from regard.mechanism.scaling import score_spread
from regard.views.aloud import quoted, sentences
from regard.views.cells import one_line
from regard.views.digits import fraction
from regard.views.projection import projection_screen
from regard.views.steps_text import step_screens, steps_text
from regard.views.terminal import Terminal, wrapped

if TYPE_CHECKING:
    from regard.mechanism.steps import Steps
    from regard.views.page import Page

SCHEMA: Final = "regard.steps/1"

_EPILOG: Final = """\b
Examples:
  regard steps --example              "I am good", Enter for the next step
  regard steps --pencil               whole numbers, every product shown
  regard steps mine.npz --words "the cat sat"
  regard steps mine.json --aloud      the same in sentences
  regard steps --pencil --html pencil.html   the same as a page
  regard steps mine.safetensors --json > steps.json

\b
FILE holds query, key and value (or q, k, v); or x, w_query, w_key and
w_value; or scores and d_k, and value if you have it. JSON:
  {"query": [[1, 0]], "key": [[1, 0]], "value": [[2, 3]], "words": ["hi"]}
"""


@click.command(epilog=_EPILOG)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--example", "name", flag_value="example", help="Three words, in a known example.")
@click.option("--pencil", "name", flag_value="pencil", help="An example to do by hand.")
@click.option("--errata", "name", flag_value="errata", help="Where the known example misprints.")
@click.option(
    "--words",
    multiple=True,
    metavar="TEXT",
    help="The words of the rows and columns; give it twice for those of queries and of keys.",
)
@click.option("--head", metavar="H", help="Which head of matrices with several: 3, or 0,3.")
@click.option("--all", "whole", is_flag=True, help="The whole at once, no waiting for Enter.")
@click.option("--aloud", is_flag=True, help="Read it in sentences instead.")
@page_options
@click.option("--json", "as_json", is_flag=True, help="Every number, as JSON.")
def steps(
    file: Path | None,
    name: str | None,
    words: tuple[str, ...],
    head: str | None,
    whole: bool,
    aloud: bool,
    html: str | None,
    opened: bool,
    as_json: bool,
) -> None:
    """Follow Q·Kᵀ, ÷ √d_k, softmax and × V with real numbers, a step at a time."""
    if (file is None) == (name is None):
        raise click.UsageError("expected one of --example, --pencil, --errata or FILE.")
    if len(words) > 2 or (words and file is None):
        raise click.UsageError("--words names the words of FILE: once, or twice (queries, keys).")
    wish = Wish(html, opened)
    wish.check()
    if html is not None and name == "errata":
        raise click.UsageError("--html shows steps: --example, --pencil or FILE.")
    terminal = Terminal.of(sys.stdout)
    if name == "errata":
        _print_errata(terminal, as_json)
        return
    made, projection = _steps(file, name, words)
    if head is not None:
        made = made.head(*_places(head))
    if as_json:
        click.echo(json.dumps(as_plain(made), allow_nan=False))
    elif aloud and made.scores.ndim == 2:
        lines = (wrapped(said, terminal.columns, "  ") for said in sentences(made))
        _write(terminal, [line for item in lines for line in item])
    else:
        _show(_screens(made, projection, name, terminal), terminal, whole)
    if html is not None:
        _write_page(wish, made, None if head is not None else projection, name, as_json)


def _write_page(
    wish: Wish, made: Steps, projection: Projection | None, name: str | None, as_json: bool
) -> None:
    from regard.views.page import page_of_steps

    known = example("worked") if name == "example" else {}
    columns = known.get("value_columns")

    def make(path: str) -> Page:
        return page_of_steps(made, path, projection=projection, columns=columns)

    stream = sys.stderr if as_json else sys.stdout
    stream.write(wish.write(make, Terminal.of(stream)))


def _steps(
    file: Path | None, name: str | None, words: tuple[str, ...]
) -> tuple[Steps, Projection | None]:
    if file is None:
        return steps_of(example("worked" if name == "example" else "pencil"))
    found = read_matrices(file)
    made = steps_of(found, words)
    if ignored := unused(found):
        names = ", ".join(one_line(each) for each in ignored[:8])
        click.echo(f"Not used: {names}", err=True)
    return made


def _places(head: str) -> list[int]:
    try:
        return [int(place) for place in head.split(",")]
    except ValueError:
        raise InputError(f"--head is {head!r}: expected a number, or two as in 0,3.") from None


def _screens(
    made: Steps, projection: Projection | None, name: str | None, terminal: Terminal
) -> list[list[str]]:
    if made.scores.ndim != 2:
        pick = ",".join("0" for _ in made.scores.shape[:-2])
        return [[steps_text(made).splitlines()[0], f"One head: --head {pick}"]]
    screens = step_screens(made, terminal)
    if name is not None:
        screens[2] += _said(_measured(), terminal)
    if projection is not None:
        screens.insert(1, projection_screen(made, projection.x, projection.weights, terminal))
    if name == "example":
        screens[0] += _said(
            f'The numbers of "{example("worked")["source"]}", exact. Where it misprints: --errata.',
            terminal,
            indent="",
        )
        screens[4][1:1] = _said(
            f"(columns {', '.join(map(str, example('worked')['value_columns'][:-1]))} and 64 of V: "
            "its source prints no others)",
            terminal,
        )
        screens[-1] += [
            "",
            *wrapped(
                "Q and K are only partly printed in the source, so step 1 cannot be redone here; "
                "for that: regard steps --pencil",
                terminal.columns,
            ),
        ]
    return screens


def _measured() -> str:
    spreads = score_spread()
    parts = ", ".join(f"{each.measured:.1f} at d_k {each.d_k}" for each in spreads)
    after = " ".join(f"{each.divided:.2f}" for each in spreads)
    return (
        f"Measured on {spreads[0].draws:,} random pairs each, q·k spreads by {parts}; "
        f"÷ √d_k: {after}."
    )


def _said(text: str, terminal: Terminal, indent: str = "   ") -> list[str]:
    return [indent + line for line in wrapped(text, terminal.columns - len(indent))]


def _show(screens: list[list[str]], terminal: Terminal, whole: bool) -> None:
    """One screen after another: at a terminal Enter brings the next, q leaves."""
    waits = not whole and sys.stdin.isatty() and sys.stdout.isatty() and len(screens) > 2
    _write(terminal, screens[0])
    for place, screen in enumerate(screens[1:]):
        _write(terminal, ["", *screen])
        if waits and place < len(screens) - 2 and _asked_to_leave(terminal):
            return


def _asked_to_leave(terminal: Terminal) -> bool:
    click.echo(terminal.style("Enter: next   q: leave   (--all: the whole)", "dim"), nl=False)
    try:
        answer = input(" ")
    except EOFError:
        click.echo()
        return True
    if terminal.colour:
        click.echo("\x1b[1A\x1b[2K", nl=False)  # the question goes, the steps stay
    return answer.strip().lower() in ("q", "quit", "exit")


def _write(terminal: Terminal, lines: list[str]) -> None:
    click.echo(terminal.finish(lines), nl=False)


def _print_errata(terminal: Terminal, as_json: bool) -> None:
    worked = example("worked")
    made, _ = steps_of(worked)
    names = worked["words"]
    found: list[tuple[str, str, str]] = []
    for wrong in worked["misprinted_weights"]:
        exact = made.weights[wrong["row"], wrong["keys"]]
        to = " ".join(quoted(names[key]) for key in wrong["keys"])
        found.append(
            (
                f"row {quoted(names[wrong['row']])}, weight of {to}",
                " ".join(wrong["printed"]),
                " ".join(fraction(weight) for weight in exact),
            )
        )
    for wrong in worked["misprinted_text"]:
        where = f"text on row {quoted(names[wrong['row']])}"
        found.append((where, wrong["printed"], wrong["correct"]))
    if as_json:
        errata = [dict(zip(("where", "printed", "exact"), each, strict=True)) for each in found]
        click.echo(json.dumps({"schema": SCHEMA, "errata": errata}))
        return
    lines = wrapped(
        f'What "{worked["source"]}" prints, and what its own scores give:', terminal.columns
    )
    for where, printed, exact in found:
        lines += ["", f"   {where}", f"      printed  {printed}", f"      exact    {exact}"]
    _write(terminal, lines)


def as_plain(made: Steps) -> dict[str, Any]:
    """Everything about the steps in lists and numbers; null where a number is not finite.

    Where `seen` is false, null in `masked` is -inf.
    """
    plain: dict[str, Any] = {"schema": SCHEMA, "words": None}
    if made.words is not None:
        plain["words"] = {"queries": list(made.words[0]), "keys": list(made.words[1])}
    for field, value in vars(made).items():
        if field != "words":
            plain[field] = _finite(value)
    plain["entropy"] = _finite(made.entropy())
    plain["share"] = None if made.value is None else _finite(made.share())
    plain["gradient_size"] = _finite(made.gradient_size())
    plain["gradient_size_unscaled"] = _finite(made.unscaled().gradient_size())
    return plain


def _finite(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
