"""From the numbers of its books to a page, within its budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from regard.errors import InputError
from regard.views.page.document import document, shell
from regard.views.page.file import write
from regard.views.page.frame import frame
from regard.views.page.packing import as_json, cost, pack

if TYPE_CHECKING:
    import os

SCHEMA: Final = "regard.page/1"

_SPARE: Final = 6000
"""Bytes for what a page says of its own plan."""


@dataclass(frozen=True, eq=False)
class Page:
    """A page as it was written. html: all of it. size: bytes. left: what is not in it, and what
    to type to have it. path: the file it was written to, if it was."""

    title: str
    html: str = field(repr=False)
    size: int
    left: tuple[tuple[str, str], ...] = ()
    path: str | None = None

    def _repr_html_(self) -> str | None:
        """The page in a notebook; of one that is in a file, nothing."""
        return frame(self.html, self.title) if self.path is None else None


@dataclass(eq=False)
class Draft:
    """A page in the making. books: frames, without numbers. still: HTML without the script."""

    title: str
    subtitle: str
    books: list[dict[str, Any]]
    start: dict[str, Any]
    still: str
    budget: int
    versus: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    left: list[dict[str, str]] = field(default_factory=list)

    @cached_property
    def room(self) -> int:
        """Bytes for numbers. Raises InputError if the budget does not hold the rest."""
        empty = as_json(self._tree(), lambda _: None)
        rest = len(self._document(empty, {}).encode("utf-8")) + cost(self.books) + _SPARE
        if rest > self.budget:
            raise InputError(
                f"budget is {self.budget:,} bytes and the text, words and script of this page take "
                f"{rest:,}: give budget={rest + rest // 4}, or more to have numbers in it."
            )
        return self.budget - rest

    def page(self, path: str | os.PathLike[str] | None) -> Page:
        """The page, written to `path` if one is given. Raises InputError."""
        text, parts = pack(self._tree())
        html = self._document(text, parts)
        size = len(html.encode("utf-8"))
        before = f'"plan":{{"budget":{self.budget},"bytes":'
        digits = len(str(size + len(str(size)) - 1))
        html = html.replace(f"{before}0,", f"{before}{size + digits - 1},", 1)
        left = tuple((one["what"], one["command"]) for one in self.left)
        written = None if path is None else str(path)
        if path is not None:
            write(path, html)
        return Page(self.title, html, size + digits - 1, left, written)

    def _tree(self) -> dict[str, Any]:
        plan = {"budget": self.budget, "bytes": 0, "kept": self.kept, "left": self.left}
        return {
            "schema": SCHEMA,
            "title": self.title,
            "subtitle": self.subtitle,
            "plan": plan,
            "start": self.start,
            "notes": self.notes,
            "versus": self.versus,
            "books": self.books,
        }

    def _document(self, book: str, parts: dict[str, str]) -> str:
        return document(
            shell(),
            title=self.title,
            fallback=self.still,
            book=book,
            parts=parts,
            version=_version(),
        )


def _version() -> str:
    try:
        return version("regard")
    except PackageNotFoundError:
        return ""
