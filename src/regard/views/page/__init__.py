"""One HTML file that shows a record or the four steps; its script draws what is written here."""

from regard.views.page.assembly import Page
from regard.views.page.notebook import record_in_notebook, steps_in_notebook
from regard.views.page.record_page import BUDGET, page_of_record
from regard.views.page.steps_book import page_of_steps

__all__ = [
    "BUDGET",
    "Page",
    "page_of_record",
    "page_of_steps",
    "record_in_notebook",
    "steps_in_notebook",
]
