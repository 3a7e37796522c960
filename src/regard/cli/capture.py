"""`regard capture`: record what a model attends to in a long text, to look at later."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from regard.cli.source import (
    KEPT,
    MOST_BYTES,
    SAVED,
    Progress,
    Source,
    check_text,
    decoded,
    in_bytes,
    make_room,
    model_options,
    read_file,
)
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.mechanism.readings import Ask
    from regard.models.size import Size
    from regard.record import Record

FLAGS: Final = ("share", "entropy", "lse", "max_score", "received")
NUMBERS: Final = ("top", "thumbnail")
_HELP: Final = """Record what a model attends to in a text, to look at later.

\b
The whole of it: any word, head or row can be asked for later, exactly.
  regard capture --model ./smollm2 --file contract.txt -o seen.regard
  regard show seen.regard --word refund
\b
Little of it, where queries and keys would not fit: of each row its 8
largest weights and its entropy, and what every token receives.
  regard capture --model ./smollm2 --file contract.txt -o seen.regard \\
    --keep none --ask top=8,entropy,received
\b
Only the last 64 rows, of two layers:
  regard capture --model ./smollm2 --file contract.txt -o seen.regard \\
    --keep none --ask top=8 --rows 64 --layers 3,17
\b
What the model writes, and what it looked at meanwhile:
  regard capture "The capital of France is" --model ./smollm2 \\
    --generate 20 -o seen.regard
\b
--ask, names parted by commas, or none:
  top=8         the 8 largest weights of each row
  share         their part of the result (with top)
  entropy       how spread each row is, in nats
  max_score     its largest score
  lse           the log of its sum of e^score: with queries and keys kept,
                who reads a word is then found at once
  received      what each token gets from all rows
  thumbnail=32  the whole as a picture of 32 x 32; not with --generate

What is taken in memory is said before. Ctrl-C keeps the layers that are done.
"""


@click.command(help=_HELP, options_metavar="[OPTIONS]")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--file", metavar="FILE", help="Read the text from a file (UTF-8); - for a pipe.")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help=f"Where to keep it; ends in {SAVED}."
)
@model_options
@click.option(
    "--ask",
    metavar="NAMES",
    default="lse,entropy,received",
    show_default=True,
    help="What to read in the pass, as above.",
)
@click.option(
    "--rows",
    metavar="WHICH",
    default="all",
    help="Rows to ask: all (default), last, or the last N.",
)
@click.option(
    "--keep",
    metavar="NAMES",
    default=",".join(KEPT),
    show_default=True,
    help="What to keep, or none.",
)
@click.option("--layers", metavar="NUMBERS", help="As 0,1,5-8; all if left out.")
def capture(
    text: str | None,
    file: str | None,
    output: str,
    model: str | None,
    device: str | None,
    dtype: str,
    generate: int,
    ask: str,
    rows: str,
    keep: str,
    layers: str | None,
) -> None:
    """The command; its help is `_HELP`."""
    if (text is None) == (file is None):
        given = "Both TEXT and --file were given" if text is not None else "No text was given"
        raise click.UsageError(f"{given}: write regard capture --file FILE -o seen{SAVED}.")
    if not output.endswith(SAVED):
        raise click.UsageError(f"-o is {output!r}: expected a name that ends in {SAVED}.")
    kept = _names(keep)
    chosen = _numbers(layers)
    wanted = replace(asked(ask), queries=_rows(rows))
    if not kept and not wanted.anything:
        raise click.UsageError("--keep none and --ask none would record nothing.")
    read = text or ""
    if file is not None:
        piped = file == "-"
        read = (
            decoded(sys.stdin.buffer.read(MOST_BYTES), "Standard input")
            if piped
            else (read_file(file))
        )
    check_text(read)
    source = Source(model, device, dtype, generate)
    _say(f"Loading {model}" if model is not None else "Loading the embedded model")
    reader = source.reader()
    size = reader.size(read, chosen)
    size = replace(size, tokens=size.tokens + generate)
    needed = size.kept(kept), size.readings(wanted, _asked_rows(wanted, size.tokens, generate))
    _say(_about(size, generate, kept, needed))
    make_room(sum(needed))
    with Progress() as progress:
        record = reader.read(
            read,
            ask=wanted,
            layers=chosen,
            keep=kept,
            generate=generate,
            progress=progress,
            keep_partial=True,
        )
    record.save(output)
    _report(record, output)


def asked(names: str) -> Ask:
    """The `Ask` that --ask means, without its rows. Raises UsageError."""
    from regard.mechanism.readings import Ask

    fields: dict[str, int | bool] = {}
    for name in [] if names.strip() == "none" else names.split(","):
        key, _, value = name.strip().partition("=")
        if key in FLAGS and not value:
            fields[key] = True
        elif key in NUMBERS and value.isdecimal():
            fields[key] = int(value)
        else:
            known = ", ".join([*(f"{number}=N" for number in NUMBERS), *FLAGS])
            raise click.UsageError(f"--ask has {name.strip()!r}: expected some of {known}.")
    return Ask(**fields)  # type: ignore[arg-type]


def _rows(which: str) -> slice | str | None:
    if which in ("all", "last"):
        return None if which == "all" else "last"
    if which.isdecimal() and int(which) > 0:
        return slice(-int(which), None)
    raise click.UsageError(f"--rows is {which!r}: expected all, last, or how many from the end.")


def _names(keep: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in keep.split(",")) if keep.strip() != "none" else ()
    for name in names:
        if name not in KEPT:
            raise click.UsageError(f"--keep has {name!r}: expected {', '.join(KEPT)}, or none.")
    return names


def _numbers(layers: str | None) -> list[int] | None:
    if layers is None:
        return None
    chosen: list[int] = []
    for part in layers.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.UsageError(f"--layers has {part.strip()!r}: expected numbers, as 0,1,5-8.")
        chosen += range(int(first), int(last if dash else first) + 1)
    return list(dict.fromkeys(chosen))


def _asked_rows(ask: Ask, tokens: int, generate: int) -> int:
    """How many rows will be read."""
    if isinstance(ask.queries, str):
        return 1 + generate
    if isinstance(ask.queries, slice):
        return min(-int(ask.queries.start) + generate, tokens)
    return tokens


def _about(size: Size, generate: int, kept: tuple[str, ...], needed: tuple[int, int]) -> str:
    """What will be read, and the memory that it takes."""
    new = f", {generate} of them to write" if generate else ""
    keeps = f"{', '.join(kept)} {in_bytes(needed[0])}; " if kept else ""
    return (
        f"{size.tokens:,} tokens{new}, {size.layers} layers × {size.heads} heads. "
        f"Memory and disk: {keeps}readings about {in_bytes(needed[1])}"
    )


def _say(text: str) -> None:
    """A line on standard error: what is under way, apart from what was asked for."""
    from regard.views.terminal import Terminal

    terminal = Terminal.of(sys.stderr)
    sys.stderr.write(terminal.finish([f"{terminal.line(text)} ..."]))
    sys.stderr.flush()


def _report(record: Record, output: str) -> None:
    from pathlib import Path

    from regard.views.terminal import Terminal, wrapped

    terminal = Terminal.of(sys.stdout)
    words = [word for word in record.sides[0].words if not word.special]
    lines = [f"{terminal.shown(output)}: {in_bytes(Path(output).stat().st_size)}, {record!r}"]
    for name, title in (("generated", "It wrote"), ("stopped", "Stopped early")):
        if name in record.provenance:
            lines += wrapped(f"{title}: {terminal.line(record.provenance[name])}", terminal.columns)
    longest = max(words, key=lambda word: len(word.text), default=None)
    if longest is None:
        raise InputError("The text has no words.")
    import shlex

    for more in ("", f" --word {shlex.quote(longest.text)}"):
        lines.append(f"  regard show {shlex.quote(output)}{more}")
    sys.stdout.write(terminal.finish(lines))
