"""The page of architectures in the documentation, as measured.

`PYTHONPATH=tests python -m models.architecture_page` writes it anew; a test holds it to that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
import transformers

from models import zoo
from models.architectures import IMPLEMENTATIONS, Examination, examine, refusal

PAGE: Final = Path(__file__).parents[2] / "docs" / "architectures.md"
_INTRODUCTION: Final = """\
# Architectures

`regard.watch` reads models of transformers whose attention goes through its attention interface.
Here are {read} of them, tiny and random, and some that go their own ways. The page is written by
`PYTHONPATH=tests python -m models.architecture_page`; a test holds it to what is measured.

{versions}

A ✓ means, for that implementation of attention:

- the watched model's output is bit for bit what it is without a watch;
- the weights that regard computes from what the attention was given, and those in the records,
  are the model's own (of its eager attention, as `output_attentions=True` hands out) to 2e-5;
- after the watch, and after one in which the model raised an error, nothing is left changed: not
  the interface, the configuration, a module or a hook.

Texts are read whole, padded on the left and padded on the right, with a mask and without one.
Rows that see nothing, as those of padding on the left, are set aside: regard gives them no weight
at all, eager attention spreads theirs evenly over everything, sdpa does not.

| architecture | class | layers read | also brings | eager | sdpa |
|---|---|---|---|---|---|
"""

_OWN_WAYS: Final = """
"Also brings" is what the calls of its attention hold beyond queries, keys and values of one shape.
A model that refuses sdpa does so by itself, before any watch. Eight decoders are read with a cache
as well: eight tokens, three more at once, one more.

## Models that are not read

They compute their attention without the interface, have none, or do what regard does not know. A
watch of them raises an error.
"""


def page() -> str:
    """docs/architectures.md, measured anew."""
    text = _INTRODUCTION.format(read=len(zoo.READ), versions=versions())
    for specimen in zoo.READ:
        eager, sdpa = (examine(specimen, one) for one in IMPLEMENTATIONS)
        layers = ", ".join(f"{count} {kind}" for kind, count in eager.kinds[0])
        seen = "; ".join(dict.fromkeys(eager.traits + sdpa.traits))
        marks = " | ".join(_mark(one) for one in (eager, sdpa))
        text += f"| {specimen} | `{specimen.model}` | {layers} | {seen} | {marks} |\n"
    text += _OWN_WAYS
    said: dict[str, list[str]] = {}
    for specimen in zoo.APART:
        message = refusal(specimen).replace(specimen.model, "…")
        said.setdefault(message, []).append(f"{specimen} (`{specimen.model}`)")
    for message, names in said.items():
        text += f"\n> {message}\n\n{', '.join(names)}.\n"
    return text


def _mark(examination: Examination) -> str:
    if examination.refused is not None:
        return "refuses"
    return "✓" if examination.right else "✗"


def versions() -> str:
    return (
        f"Seen with transformers {transformers.__version__} and torch {_plain(torch.__version__)}."
    )


def _plain(version: str) -> str:
    return version.split("+")[0]


if __name__ == "__main__":
    torch.set_num_threads(1)
    PAGE.write_text(page(), encoding="utf-8")
