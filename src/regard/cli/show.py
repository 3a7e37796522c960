"""`regard show`: what a word attends to, in a real model."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

import click

from regard.cli.page import Wish, page_options
from regard.cli.source import (
    KEPT,
    MOST_BYTES,
    SAVED,
    Progress,
    Source,
    check_text,
    decoded,
    make_room,
    model_options,
    read_file,
)
from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.record import Record
    from regard.views.page import Page
    from regard.views.scene import Scene

_HELP: Final = """See what a word attends to, in a real model.

TEXT is a sentence; or the name of a saved record, ending in .regard; or - for standard input.
Without --model it is read by all-MiniLM-L6-v2, which comes inside the package.

\b
What stands out in a sentence:
  regard show "A dog ate the food because it was hungry"
\b
What "it" reads: over all heads, then the sums behind one of them:
  regard show "A dog ate the food because it was hungry" --word it
  regard show "A dog ate the food because it was hungry" \\
    --word it --head L5H11 --steps
\b
Is it meaning, or only position? Change one word and see which heads turn:
  regard show "A dog ate the food because it was hungry" --word it \\
    --versus "A dog ate the food because it was delicious"
\b
One head, every word:
  regard show "A dog ate the food because it was hungry" --head L2H8
\b
A word that occurs twice is numbered:
  regard show "the dog saw the cat" --word "the#2"
\b
A page to look at, in one file: point at a word, follow the four steps:
  regard show "A dog ate the food because it was hungry" --word it \\
    --html it.html --open
\b
Keep what was seen, and look again later:
  regard show "A dog ate the food because it was hungry" --save dog.regard
  regard show dog.regard --word food
\b
Another model: a directory, a .gguf file, or a name in the local Hugging
Face cache (nothing is downloaded: hf download Qwen/Qwen3-0.6B does that).
Needs pip install 'regard[torch]'.
  regard show "A dog ate the food" --model Qwen/Qwen3-0.6B
  regard show "The capital of France is" --model ./smollm2 --generate 8
\b
Down through all layers at once (attention rollout):
  regard show "A dog ate the food because it was hungry" --word it --rollout
\b
From a file, from a pipe, to a program:
  regard show --file letter.txt
  echo "A dog ate the food" | regard show -
  regard show "A dog ate the food" --word ate --json
"""


@click.command(help=_HELP, options_metavar="[OPTIONS]")
@click.argument("texts", metavar="[TEXT]", nargs=-1)
@click.option("--word", metavar="WORD", help="Whom this word reads; word#2 for its second place.")
@click.option("--head", metavar="L3H1", help="Look at one head: layer 3, head 1, from 0.")
@click.option("--steps", is_flag=True, help="The arithmetic of --word in --head, in four steps.")
@click.option("--versus", metavar="TEXT", help="The same --word in another text: who turns?")
@click.option("--rollout", is_flag=True, help="What --word is made of after all layers.")
@click.option(
    "--attention",
    type=click.Choice(["encoder", "decoder", "cross"]),
    help="Of an encoder-decoder: which attention to show.",
)
@model_options
@page_options
@click.option("--file", metavar="FILE", help="Read the text from a file (UTF-8).")
@click.option("--save", metavar="FILE", help=f"Keep what was seen, in FILE, ending in {SAVED}.")
@click.option("--json", "as_json", is_flag=True, help="Print what is shown as JSON.")
def show(
    texts: tuple[str, ...],
    word: str | None,
    head: str | None,
    steps: bool,
    versus: str | None,
    rollout: bool,
    attention: str | None,
    model: str | None,
    device: str | None,
    dtype: str,
    generate: int,
    html: str | None,
    opened: bool,
    file: str | None,
    save: str | None,
    as_json: bool,
) -> None:
    """The command; its help is `_HELP`."""
    if len(texts) > 1:
        given = f"{texts[0]!r}, {texts[1]!r}" + ", ..." * (len(texts) > 2)
        raise click.UsageError(f"TEXT is {given}: put the whole text in quotation marks.")
    text = _argument(texts[0] if texts else None)
    word, versus = _argument(word), _argument(versus)
    ask = Asked(word, head, steps, versus, rollout, attention)
    _check_usage(text, ask, file, save)
    wish = Wish(html, opened)
    wish.check()
    source = Source(model, device, dtype, generate)
    command = ["regard", "show"]
    command += ["--file", file] if file is not None else [text or ""]
    command += source.typed() + ([] if attention is None else ["--attention", attention])
    record = _record(text, file, source)
    other = None if versus is None else _captured(versus, source)
    scene = _scene(record, ask, other)
    if save is not None:
        record.save(save)
    if as_json:
        from regard.views.scene import as_json as plain

        shown = json.dumps(plain(scene), indent=2, allow_nan=False) + "\n"
    else:
        from regard.views.terminal import Terminal
        from regard.views.text import render

        shown = render(scene, Terminal.of(sys.stdout), command)
    sys.stdout.write(shown)
    sys.stdout.flush()
    if html is not None:
        _write_page(wish, record, other, ask, command, sys.stderr if as_json else sys.stdout)


def _write_page(
    wish: Wish,
    record: Record,
    other: Record | None,
    ask: Asked,
    command: Sequence[str],
    stream: TextIO,
) -> None:
    """The page of what was shown; what is said of it goes to `stream`."""
    from regard.views.page import page_of_record
    from regard.views.terminal import Terminal

    def make(path: str) -> Page:
        return page_of_record(
            record,
            path,
            words=() if ask.word is None else ask.word,
            heads=() if ask.head is None else ask.head,
            versus=other,
            kind=ask.attention,
            view="steps" if ask.steps else None,
            typed=command,
        )

    stream.write(wish.write(make, Terminal.of(stream)))


@dataclass(frozen=True)
class Asked:
    """Which view was asked for."""

    word: str | None
    head: str | None
    steps: bool
    versus: str | None
    rollout: bool
    attention: str | None


def _check_usage(text: str | None, ask: Asked, file: str | None, save: str | None) -> None:
    """What the options say together, before anything is computed."""
    if (text is None) == (file is None):
        given = "Both TEXT and --file were given" if text is not None else "No text was given"
        raise click.UsageError(f'{given}: write regard show "A dog ate the food", or --file FILE.')
    if ask.steps and (ask.word is None or ask.head is None):
        raise click.UsageError("--steps needs --word and --head: whose sums, and in which head.")
    if ask.versus is not None and ask.word is None:
        raise click.UsageError("--versus needs --word: the word to compare in both texts.")
    if ask.versus is not None and (ask.head is not None or ask.steps):
        raise click.UsageError("--versus looks at all heads: leave out --head and --steps.")
    if ask.rollout and (ask.word is None or ask.head is not None or ask.versus is not None):
        raise click.UsageError("--rollout needs --word, and goes through all heads of one text.")
    if save is not None and not save.endswith(SAVED):
        raise click.UsageError(f"--save is {save!r}: expected a name that ends in {SAVED}.")


def _record(text: str | None, file: str | None, source: Source) -> Record:
    """What was seen: a saved record, or `text` (or a file, or standard input) read now."""
    if file is not None:
        return _captured(read_file(file), source)
    if text == "-":
        return _captured(decoded(sys.stdin.buffer.read(MOST_BYTES), "Standard input"), source)
    assert text is not None
    if text.endswith(SAVED) and not any(char.isspace() for char in text):
        if source.typed():
            raise click.UsageError(
                f"{source.typed()[0]} belongs with a text; a saved record names its own model."
            )
        from regard.storage import load

        return load(text)
    return _captured(text, source)


def _argument(given: str | None) -> str | None:
    """An argument as it was typed: in a locale that is not UTF-8, Python leaves its bytes be."""
    if given is None or given.isascii():
        return given
    try:
        return os.fsencode(given).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{given!r} is not UTF-8 at byte {error.start}: convert it.") from error
    except UnicodeEncodeError as error:  # a lone surrogate of its own, which no system passes on
        raise InputError(f"{given!r} holds half a character at {error.start}.") from error


def _captured(text: str, source: Source) -> Record:
    check_text(text)
    reader = source.reader()
    if source.model is not None:
        make_room(reader.size(text).kept(KEPT))
    hidden = source.model is None or not sys.stderr.isatty()
    with Progress(hidden) as progress:
        return reader.read(
            text,
            ask=None,
            layers=None,
            keep=KEPT,
            generate=source.generate,
            progress=progress,
        )


def _scene(record: Record, ask: Asked, other: Record | None) -> Scene:
    from regard.questions import find_head, find_word
    from regard.questions.turns import counterpart
    from regard.views.staging import Stage, shipped_habit

    stage = Stage(record, shipped_habit(record), ask.attention)
    record = stage.record
    side = record.sides[record.layers[0].query_side]
    if ask.word is None:
        if ask.head is None:
            return stage.sentence()
        return stage.one_head(*find_head(record, ask.head))
    place = find_word(side, ask.word)
    if other is not None:
        try:
            other_place = counterpart(side, place, other.sides[0])
        except InputError as error:
            raise InputError(f"--versus: {error}") from error
        return stage.versus(other, place, other_place)
    if ask.rollout:
        return stage.rollout(place)
    if ask.head is None:
        return stage.one_word(place)
    if ask.steps:
        return stage.four_steps(*find_head(record, ask.head), place)
    return stage.one_row(*find_head(record, ask.head), place)
