"""What a notebook shows of a record or of steps that stand at the end of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from regard.errors import InputError, MemoryBudgetError
from regard.views.page.document import escaped
from regard.views.page.frame import frame
from regard.views.page.record_page import page_of_record
from regard.views.page.steps_book import page_of_steps

if TYPE_CHECKING:
    from regard.mechanism.steps import Steps
    from regard.record import Record

BUDGET: Final = 2_000_000
"""Bytes of a page in a notebook: they are saved with it."""

MOST_CELLS: Final = 2**25
"""Weights that are looked at without being asked to: a second or two."""


def record_in_notebook(record: Record) -> str:
    """The page of a record as a frame; of one that is long or does not fit, what it is and how to
    write its page. Never raises for a record."""
    cells = sum(
        layer.heads * len(layer.query_positions) * len(layer.key_positions)
        for layer in record.layers
    )
    if 0 < cells <= MOST_CELLS:
        try:
            page = page_of_record(record, budget=BUDGET)
        except (InputError, MemoryBudgetError):
            return _still(repr(record), "record")
        return frame(page.html, page.title)
    return _still(repr(record), "record")


def steps_in_notebook(steps: Steps) -> str:
    """The page of four steps as a frame, or what they are, as of a record."""
    if 0 < steps.scores.size * 40 <= BUDGET:
        try:
            page = page_of_steps(steps, budget=BUDGET)
        except InputError:
            return _still(repr(steps), "steps")
        return frame(page.html, page.title)
    return _still(repr(steps), "steps")


def _still(said: str, name: str) -> str:
    call = f'{name}.page("{name}.html")'
    return f"<p><code>{escaped(said)}</code></p><p>Its page: <code>{escaped(call)}</code></p>"
