"""One HTML file that shows a record or the four steps; its script draws what is written here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from regard.views.page import plan
from regard.views.page.book import Book
from regard.views.page.document import assets, document
from regard.views.page.fallback import fallback, steps_fallback
from regard.views.page.packing import pack
from regard.views.page.steps_book import Projection, steps_book
from regard.views.staging import Stage, shipped_habit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.mechanism.steps import Steps
    from regard.record import Record

BUDGET: Final = 10_000_000
"""Bytes of a file, unless said otherwise."""


def page_of_record(record: Record) -> str:
    """The page of a record, as HTML."""
    kinds = dict.fromkeys(layer.kind for layer in record.layers)
    books = []
    for kind in kinds:
        stage = Stage(record, shipped_habit(record), kind)
        books.append(Book(stage, stage.sentence()))
    lead = books[0]
    source = lead.seen.source
    title = source.text or " ".join(source.words)
    subtitle = f"{source.model}, {len(source.heads)} layers × {max(source.heads, default=0)} heads"
    links = lead.seen.links
    start = {"book": 0, "unit": None, "head": None, "step": None, "view": "sentence"}
    if links:
        start["head"] = lead.labels.index(links[0].head)
        start["unit"] = source.words.index(links[0].reader)
    data = [plan.everything(book) for book in books]
    still = fallback(title, subtitle, source, links)
    return _page(title, subtitle, data, start, still)


def page_of_steps(
    steps: Steps,
    *,
    title: str = "The four steps of attention",
    projection: Projection | None = None,
    columns: Sequence[int] | None = None,
) -> str:
    """The page of four steps, as HTML. projection: what query, key and value were made with.
    columns: the numbers of the value's columns, where only some are known."""
    heads = "".join(f"{size} × " for size in steps.scores.shape[:-2])
    subtitle = f"{heads}{steps.scores.shape[-2]} queries × {steps.scores.shape[-1]} keys"
    start = {"book": 0, "unit": 0, "head": 0, "step": 1, "view": "steps"}
    still = steps_fallback(title, subtitle, steps)
    return _page(title, subtitle, [steps_book(steps, projection, columns)], start, still)


def _page(
    title: str, subtitle: str, books: list[dict[str, Any]], start: dict[str, Any], still: str
) -> str:
    page: dict[str, Any] = {
        "schema": "regard.page/1",
        "title": title,
        "subtitle": subtitle,
        "books": books,
        "versus": None,
        "plan": {"budget": BUDGET, "bytes": 0, "kept": [], "left": []},
        "start": start,
        "notes": [],
    }
    text, parts = pack(page)
    return document(assets(), title=title, fallback=still, book=text, parts=parts, version="")
