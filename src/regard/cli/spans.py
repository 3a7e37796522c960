"""`regard spans`: which parts of a prompt an answer reads, and what it loses without them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from regard.cli.source import MOST_BYTES, Source, check_text, decoded, model_options, read_file
from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from regard.cli.answer import Answer
    from regard.questions.spans import Span
    from regard.record import Record
    from regard.views.spans_scene import Prompt

KINDS: Final = ("sentences", "paragraphs", "messages")
NEW_TOKENS: Final = 20
_HELP: Final = """Which parts of a prompt an answer reads, and what it loses without them.

\b
A prompt in a file, and the answer that is looked at. It is appended as it
stands, so it begins with a blank where the prompt ends without one:
  regard spans --model ./smollm2 --file prompt.txt --answer " Paris"
\b
What the model itself would answer, word by likeliest word, 20 tokens or N:
  regard spans --model ./smollm2 --file prompt.txt
  regard spans --model ./smollm2 --file prompt.txt --generate 60
\b
Does it matter? Forbid the answer to read each part, one at a time, and see
how much less likely it becomes (one short pass a part):
  regard spans --model ./smollm2 --file prompt.txt --answer " Paris" --test
\b
A chat, as a JSON list of {"role": ..., "content": ...}, through the model's
own template:
  regard spans --model ./smollm2 --file chat.json --test
\b
By layer; to a program:
  regard spans --model ./smollm2 --file prompt.txt --by-layer
  regard spans --model ./smollm2 --file prompt.txt --json

Parts are messages for a chat; for a text its paragraphs, which blank lines part, if there are
three or more, else its sentences; --spans chooses.
"""


@click.command(help=_HELP, options_metavar="[OPTIONS]")
@click.option("--file", metavar="FILE", required=True, help="The prompt (UTF-8); - for a pipe.")
@click.option("--answer", metavar="TEXT", help="The answer that is looked at.")
@click.option("--spans", "kind", type=click.Choice(KINDS), help="What the parts are.")
@click.option("--test", is_flag=True, help="Cut each part from the answer's rows, and measure.")
@click.option("--by-layer", is_flag=True, help="The weight of the first parts, layer by layer.")
@click.option("--json", "as_json", is_flag=True, help="Print what is shown, and the rest, as JSON.")
@model_options
def spans(
    file: str,
    answer: str | None,
    kind: str | None,
    test: bool,
    by_layer: bool,
    as_json: bool,
    model: str | None,
    device: str | None,
    dtype: str,
    generate: int,
) -> None:
    """The command; its help is `_HELP`."""
    if model is None:
        raise click.UsageError("--model is missing: the embedded model writes no answers.")
    if answer is not None and generate:
        raise click.UsageError("--generate is for the model's own answer: leave out --answer.")
    given = _given(file)
    messages = _messages(given)
    if kind == "messages" and messages is None:
        raise click.UsageError("--spans messages needs a chat: a JSON list of role and content.")
    if messages is None:
        check_text(given)
    from regard.cli.answer import answer_to, read, rendered
    from regard.models.effect import check_model
    from regard.models.loading import load_model

    loaded, tokenizer = load_model(model, device=device, dtype=dtype)
    check_model(loaded)
    text = given if messages is None else rendered(tokenizer, messages)
    parts = _parts(text, messages, kind)
    answered = answer_to(
        loaded, tokenizer, text, answer, generate or NEW_TOKENS, chat=messages is not None
    )
    record, log_p = read(loaded, answered)
    source = Source(model, device, dtype, generate)
    command = ["regard", "spans", *source.typed(), "--file", file]
    command += [] if answer is None else ["--answer", answer]
    command += [] if kind is None else ["--spans", kind]
    shown = _shown(loaded, answered, parts, record, log_p, test, by_layer, as_json, command)
    sys.stdout.write(shown)
    sys.stdout.flush()


def _shown(
    model: Any,
    answered: Answer,
    parts: Sequence[Span],
    record: Record,
    log_p: float,
    test: bool,
    by_layer: bool,
    as_json: bool,
    command: Sequence[str],
) -> str:
    from regard.questions.span_readings import read_spans
    from regard.questions.spans import token_labels
    from regard.views.spans_scene import stage

    labels = token_labels(answered.text, parts, answered.offsets, answered.special)
    readings = read_spans(record, parts, labels, list(answered.readers), answered.apart)
    effects = _effects(model, answered, labels, len(parts)) if test else None
    scene = stage(_prompt(model, answered, record, log_p), record, readings, effects)
    if as_json:
        from regard.views.spans_scene import as_json as plain

        return json.dumps(plain(scene), indent=2, allow_nan=False) + "\n"
    from regard.views.spans_text import render
    from regard.views.terminal import Terminal

    return render(scene, Terminal.of(sys.stdout), command, by_layer=by_layer)


def _effects(model: Any, answered: Answer, labels: Any, count: int) -> list[float | None]:
    """Δ log p of the answer without each span; None for a span that has no token of its own."""
    from regard.models.cut import Cut
    from regard.models.effect import effect

    keys = [(labels == number).nonzero()[0] for number in range(count)]
    first = answered.readers.start
    cuts = [Cut(queries=slice(first, None), keys=found) for found in keys if len(found)]
    found = iter(effect(model, answered.prompt, answered.answer, cuts))
    return [next(found).change if len(one) else None for one in keys]


def _prompt(model: Any, answered: Answer, record: Record, log_p: float) -> Prompt:
    from regard.views.spans_scene import Prompt

    return Prompt(
        text=answered.text,
        tokens=len(answered.prompt),
        answer=answered.written,
        answer_tokens=len(answered.answer),
        generated=answered.generated,
        log_probability=log_p,
        model=str(getattr(model.config, "_name_or_path", "") or type(model).__name__),
        layers=tuple(layer.number for layer in record.layers),
        heads=tuple(layer.heads for layer in record.layers),
    )


def _given(file: str) -> str:
    if file == "-":
        return decoded(sys.stdin.buffer.read(MOST_BYTES), "Standard input")
    return read_file(file)


def _messages(given: str) -> list[Mapping[str, Any]] | None:
    """The messages of a chat, or None for a text. Raises InputError for a broken chat."""
    if not given.lstrip().startswith("["):
        return None
    try:
        found = json.loads(given)
    except ValueError:
        return None  # a text that begins with a bracket
    if not isinstance(found, list) or not found:
        return None
    for number, message in enumerate(found):
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise InputError(
                f"message {number} of the chat is {str(message)[:60]!r}: expected "
                '{"role": ..., "content": ...}.'
            )
    return found


def _parts(
    text: str, messages: Sequence[Mapping[str, Any]] | None, kind: str | None
) -> tuple[Span, ...]:
    """The spans of the prompt. Raises InputError if there is none."""
    from regard.questions.spans import (
        Span,
        check_spans,
        message_spans,
        paragraph_spans,
        sentence_spans,
    )

    if messages is None:
        paragraphs = paragraph_spans(text)
        if kind is None:
            kind = "paragraphs" if len(paragraphs) >= 3 else "sentences"
        return check_spans(text, paragraphs if kind == "paragraphs" else sentence_spans(text))
    whole = message_spans(text, messages)
    if kind in (None, "messages"):
        return check_spans(text, whole)
    within = sentence_spans if kind == "sentences" else paragraph_spans
    return check_spans(
        text,
        [
            Span(f"{message.name} {part.name}", part.start, part.stop)
            for message in whole
            for part in within(text, message.start, message.stop)
        ],
    )
