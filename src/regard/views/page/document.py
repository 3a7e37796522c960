"""One HTML file from its parts: style and script inline, let in by their hashes; nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from regard.views.cells import clean
from regard.views.page.script import check_inline, joined_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

FIRST_STYLE: Final = "page.css"
TEMPLATE: Final = "page.html"

_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_FIELD: Final = re.compile(r"@(\w+)@")


@cache
def assets() -> dict[str, str]:
    """The text of every file that pages are made of, by its path."""
    return dict(_texts(resources.files("regard.views.page") / "assets", ""))


@cache
def shell() -> Shell:
    """What all pages have in common."""
    files = assets()
    template = next(text for name, text in files.items() if name.rsplit("/")[-1] == TEMPLATE)
    return Shell(joined_script(files), joined_style(files), template)


@dataclass(frozen=True)
class Shell:
    """A page without its content: script, style, and the HTML around them."""

    script: str
    style: str
    template: str


def document(
    shell: Shell,
    *,
    title: str,
    fallback: str,
    book: str,
    parts: Mapping[str, str],
    version: str,
) -> str:
    """The page. title: plain text. fallback: HTML that stands where the script does not run.
    book: JSON, and parts: base64, both as `packing.pack` gives them."""
    filled = {
        "policy": _POLICY.format(script=_hash(shell.script), style=_hash(shell.style)),
        "title": escaped(title),
        "version": escaped(version),
        "style": shell.style,
        "fallback": fallback,
        "book": book,
        "parts": "\n".join(
            f'<script type="text/plain" data-part="{name}">{data}</script>'
            for name, data in parts.items()
        ),
        "script": shell.script,
    }
    return _FIELD.sub(lambda found: filled[found[1]], shell.template)


def joined_style(files: Mapping[str, str]) -> str:
    """Every style sheet: the page's own first, the views' after it by name. Raises AssetError."""
    names = sorted(
        (name for name in files if name.endswith(".css")),
        key=lambda name: (name.rsplit("/")[-1] != FIRST_STYLE, name),
    )
    lines = (line.strip() for name in names for line in files[name].splitlines())
    style = "\n".join(line for line in lines if line) + "\n"
    check_inline(style, "the style", ("</style", "@import"))
    return style


def escaped(text: str) -> str:
    """Text from anywhere as it can stand in HTML, in an attribute too; what cannot be drawn, and
    what turns the line around, is written as a visible escape."""
    safe = clean(" ".join(text.split()))
    for character, entity in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#39")):
        safe = safe.replace(character, f"&{entity};")
    return safe


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _texts(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for file in folder.iterdir():
        if file.is_dir():
            yield from _texts(file, f"{path}{file.name}/")
        elif file.name.endswith((".js", ".css", ".html")):
            yield path + file.name, file.read_text("utf-8")
