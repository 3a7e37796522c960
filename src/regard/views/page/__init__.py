"""One HTML file that shows a record or the four steps; its script draws what is written here."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from regard.views.page import plan
from regard.views.page.book import Book
from regard.views.page.document import assets, document
from regard.views.page.fallback import fallback
from regard.views.page.packing import pack
from regard.views.staging import Stage

if TYPE_CHECKING:
    from regard.habit import Habit
    from regard.record import Record

BUDGET: Final = 10_000_000
"""Bytes of a file, unless said otherwise."""


def page_of_record(record: Record, *, habit: Habit | None = None, word: int | None = None) -> str:
    """The page of a record, as HTML."""
    kinds = dict.fromkeys(layer.kind for layer in record.layers)
    books = []
    for kind in kinds:
        stage = Stage(record, habit, kind)
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
    page: dict[str, Any] = {
        "schema": "regard.page/1",
        "title": title,
        "subtitle": subtitle,
        "books": [plan.everything(book) for book in books],
        "versus": None,
        "plan": {"budget": BUDGET, "bytes": 0, "kept": [], "left": []},
        "start": start,
        "notes": [],
    }
    text, parts = pack(page)
    return document(
        assets(),
        title=title,
        fallback=fallback(title, subtitle, source, links),
        book=text,
        parts=parts,
        version=record.provenance.get("regard", ""),
    )


def write(page: str, path: str | os.PathLike[str]) -> int:
    """Write a page whole or not at all; how many bytes it has."""
    data = page.encode("utf-8")
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".regard-", suffix=".html")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    return len(data)
