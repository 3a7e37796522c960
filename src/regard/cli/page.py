"""The page that `--html` writes: from a record or from four steps, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.source import in_bytes
from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from regard.views.page import Page
    from regard.views.terminal import Terminal

ENDINGS = (".html", ".htm")


@dataclass(frozen=True)
class Wish:
    """What `--html` and `--open` say."""

    path: str | None
    opened: bool

    def check(self) -> None:
        """Before anything is computed. Raises click.UsageError."""
        if self.path is None:
            if self.opened:
                raise click.UsageError("--open opens the page that --html FILE writes: give both.")
            return
        if not self.path.lower().endswith(ENDINGS):
            raise click.UsageError(f"--html is {self.path!r}: expected a name that ends in .html.")
        folder = Path(self.path).parent
        if not folder.is_dir():
            raise InputError(f"--html is {self.path!r}: there is no directory {str(folder)!r}.")

    def write(self, make: Callable[[str], Page], terminal: Terminal) -> str:
        """Write the page that `make` makes; one line that says where it is, its size, and what is
        not in it."""
        assert self.path is not None
        page = make(self.path)
        said = f"Page: {terminal.line(self.path)} ({in_bytes(page.size)})"
        if self.opened and click.launch(Path(self.path).resolve().as_uri()):
            said += ", which no browser here would open"
        if page.left:
            more = f" and {len(page.left) - 2} more, listed on it" if len(page.left) > 2 else ""
            said += f"; not in it: {', '.join(what for what, _ in page.left[:2])}{more}"
        return terminal.finish([said])


def page_options(command: Any) -> Any:
    """Adds --html and --open."""
    for option in (
        click.option("--open", "opened", is_flag=True, help="Open that page in a browser."),
        click.option("--html", metavar="FILE", help="Write a page to look at, in one file."),
    ):
        command = option(command)
    return command
