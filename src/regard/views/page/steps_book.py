"""Four steps, of one head or of several, as the page's book of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from regard.record import Side
from regard.views.cells import clip, one_line
from regard.views.labels import key_labels, one_text, query_labels
from regard.views.page.assembly import Draft
from regard.views.page.fallback import steps_fallback
from regard.views.page.packing import block
from regard.views.page.spelled import numbers
from regard.views.page.units import side_data

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from jaxtyping import Float

    from regard.mechanism.steps import Steps
    from regard.views.page.assembly import Page

    Matrix = Float[np.ndarray, "rows columns"]


class Projection(Protocol):
    """X and the three weight matrices that query, key and value were made with."""

    @property
    def x(self) -> Matrix: ...

    @property
    def weights(self) -> tuple[Matrix, Matrix, Matrix]: ...


def page_of_steps(
    steps: Steps,
    path: str | os.PathLike[str] | None = None,
    *,
    projection: Projection | None = None,
    columns: Sequence[int] | None = None,
    budget: int = 10_000_000,
) -> Page:
    """One HTML file with every number of the four steps; written to `path` if given.

    projection: what query, key and value were made with (`.x`, `.weights`). columns: the numbers
    of the value's columns, where only some are known. Raises InputError if it does not fit the
    budget, in bytes, or cannot be written.
    """
    title, subtitle = _titles(steps)
    draft = Draft(
        title=title,
        subtitle=subtitle,
        books=[steps_book(steps, projection, columns)],
        start={
            "book": 0,
            "unit": 0 if steps.scores.shape[-2] else None,
            "head": 0 if steps.scores.size else None,
            "step": 1,
            "view": "steps",
        },
        still=steps_fallback(title, subtitle, steps),
        budget=budget,
        kept=["every number of the four steps"],
    )
    _ = draft.room  # all of it is there already: says so if it does not fit
    return draft.page(path)


def _titles(steps: Steps) -> tuple[str, str]:
    """The words, and what is shown of them."""
    leading = steps.scores.shape[:-2]
    count = f", {' × '.join(map(str, leading))} heads" if leading else ""
    said = f"the four steps of scaled dot-product attention, d_k = {steps.d_k}{count}"
    words = "" if steps.words is None else one_line(" ".join(steps.words[0]))
    return (clip(words, 120), said) if words else (said[:1].upper() + said[1:], "")


def steps_book(
    steps: Steps, projection: Projection | None = None, columns: Sequence[int] | None = None
) -> dict[str, Any]:
    """All numbers of `steps`; columns: the numbers of the value's columns, if only some are
    known."""
    queries, keys = query_labels(steps), key_labels(steps)
    same = one_text(steps)
    readers = _side(queries)
    data: dict[str, Any] = {
        "text": None,
        "name": "",
        "model": "",
        "kind": "steps",
        "layers": [],
        "heads": [],
        "words": {
            "readers": readers,
            "keys": None if same else _side(keys),
            **_rows(steps),
            **dict.fromkeys(("links", "strongest", "apart", "received")),
        },
        "pieces": None,
        "habit": None,
        "thumbs": None,
        "steps": [],
        "written": None,
    }
    for layer, (title, made, groups, kv) in enumerate(_layers(steps)):
        first = len(data["heads"])
        data["layers"].append({"number": layer, "name": title})
        data["heads"] += [
            {"label": label, "layer": layer, "number": head, "does": None, "kind": None}
            for head, label in enumerate(_labels(steps, layer, len(made)))
        ]
        data["steps"].append(
            {
                "layer": layer,
                "heads": block("steps", np.arange(first, first + len(made)), "i4"),
                "readers": block("steps", np.arange(len(queries)), "i4"),
                "keys": block("steps", np.arange(len(keys)), "i4"),
                "kv": block("steps", kv, "i4"),
                **numbers(made, groups, sighted=True),
                "projection": None if projection is None else _projection(projection),
                "columns": None if columns is None else [int(column) for column in columns],
            }
        )
    return data


def _layers(steps: Steps) -> Iterator[tuple[str, list[Steps], list[Steps], list[int]]]:
    """Each batch item: its title, its heads, those that have each key head once, and for each
    head the place of its key head among these."""
    leading = steps.scores.shape[:-2]
    for item in range(leading[0] if len(leading) == 2 else 1):
        index: list[tuple[int, ...]] = [()]
        if leading:
            index = [(item, head)[-len(leading) :] for head in range(leading[-1])]
        made = [steps.head(*place) for place in index]
        share = len(made)
        if steps.key is not None and steps.key.ndim > 2:
            share = steps.key.shape[-3]
        elif steps.value is not None and steps.value.ndim > 2:
            share = steps.value.shape[-3]
        of_each = max(len(made) // max(share, 1), 1)
        kv = [place // of_each for place in range(len(made))]
        title = f"item {item}" if len(leading) == 2 else "attention"
        yield title, made, made[::of_each], kv


def _labels(steps: Steps, layer: int, heads: int) -> list[str]:
    """How heads are written: L0H3 of a record would say a layer, which steps have none of."""
    if steps.scores.ndim == 2:
        return ["one head"]
    item = f"item {layer}, " if steps.scores.ndim == 4 else ""
    return [f"{item}head {head}" for head in range(heads)]


def _side(labels: Sequence[str]) -> dict[str, Any]:
    side = Side.of_labels(labels, np.zeros(len(labels), np.bool_))
    return side_data(side, np.zeros(len(labels), np.bool_), None)


def _rows(steps: Steps) -> dict[str, Any]:
    """The weights of every head, `(H, readers, keys)`, in the dtype they were computed in."""
    queries, keys = steps.scores.shape[-2:]
    heads = int(np.prod(steps.scores.shape[:-2], dtype=int))
    weights = steps.weights.reshape(heads, queries, keys)
    dtype = "f4" if weights.dtype == np.float32 else "f8"
    shares = None if steps.value is None else steps.share().reshape(heads, queries, keys)
    seen = steps.seen.reshape(heads, queries, keys)
    items = steps.scores.shape[0] if steps.scores.ndim == 4 else 1
    by_layer = seen.reshape(items, heads // max(items, 1), queries, keys).any(axis=1)
    entropy = steps.entropy().reshape(heads, queries)
    sums = weights.sum(axis=-1)
    with np.errstate(all="ignore"):
        means = np.nanmean(entropy, axis=1) if entropy.size else np.zeros(len(entropy))
    return {
        "full": {
            "heads": block("rows", np.arange(len(weights)), "i4"),
            "readers": block("rows", np.arange(queries), "i4"),
            "weight": block("rows", weights, dtype),
            "share": None if shares is None else block("rows", shares, dtype),
        },
        "seen": None if seen.all() else block("core", by_layer, "u1"),
        "sums": block("core", sums, "f4") if (np.abs(sums - 1) > 1e-3).any() else None,
        "entropy": block("core", entropy, "f4"),
        "means": {"entropy": block("core", means, "f4"), "apart": None},
    }


def _projection(found: Projection) -> dict[str, Any]:
    names = ("w_query", "w_key", "w_value")
    matrices = {
        name: block("steps", weight, "f8")
        for name, weight in zip(names, found.weights, strict=True)
    }
    return {"x": block("steps", found.x, "f8"), **matrices}
