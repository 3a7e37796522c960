"""One HTML file from its parts: style and script inline, let in by their hashes; nothing else.

The script is written as ES modules. A page that is opened from disk may not import modules, so
they are joined into one script, each after those it imports.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import TYPE_CHECKING, Final

from regard.views.cells import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRY: Final = "app.js"
FIRST_STYLE: Final = "page.css"
TEMPLATE: Final = "page.html"

_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_IMPORT: Final = re.compile(
    r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w.-]+)";[ \t]*\n?', re.MULTILINE
)
_ODD_IMPORT: Final = re.compile(
    r"^(?:import\b|export\s+(?:default\b|\*|\{\s*[^}\s]))", re.MULTILINE
)
_EMPTY_EXPORT: Final = re.compile(r"^export\s*\{\s*\};?[ \t]*\n?", re.MULTILINE)
_EXPORT: Final = re.compile(
    r"^export\s+(?=(?:async\s+)?(?:function|class|const|let|var)\b)", re.MULTILINE
)
_DECLARED: Final = re.compile(
    r"^(export\s+)?(?:async\s+)?(?:function\s*\*?|class|const|let|var)\s+([\w$]+)", re.MULTILINE
)
_FIELD: Final = re.compile(r"@(\w+)@")


class AssetError(RuntimeError):
    """The page's own files do not fit together: a defect of this package."""


def assets() -> dict[str, str]:
    """The text of every file that pages are made of, by name."""
    folder = resources.files("regard.views.page") / "assets"
    return {
        file.name: file.read_text("utf-8")
        for file in folder.iterdir()
        if file.name.endswith((".js", ".css", ".html"))
    }


def document(
    files: Mapping[str, str],
    *,
    title: str,
    fallback: str,
    book: str,
    parts: Mapping[str, str],
    version: str,
) -> str:
    """The page. title: plain text. fallback: HTML that stands where the script does not run.
    book: JSON, and parts: base64, both as `packing.pack` gives them. Raises AssetError."""
    script, style = joined_script(files), joined_style(files)
    filled = {
        "policy": _POLICY.format(script=_hash(script), style=_hash(style)),
        "title": escaped(title),
        "version": escaped(version),
        "style": style,
        "fallback": fallback,
        "book": book,
        "parts": "\n".join(
            f'<script type="text/plain" data-part="{name}">{data}</script>'
            for name, data in parts.items()
        ),
        "script": script,
    }
    return _FIELD.sub(lambda found: filled[found[1]], files[TEMPLATE])


def joined_script(files: Mapping[str, str], entry: str = ENTRY) -> str:
    """What `entry` imports, and it, as one script that leaves nothing behind but what it shows.

    Each module becomes a function that is called once and returns what the module exports, so
    that its other names stay its own. Raises AssetError for a circle of imports, a name that is
    not exported, and what cannot stand inside a script element.
    """
    modules = {name: text for name, text in files.items() if name.endswith(".js")}
    order: list[str] = []
    _visit(entry, modules, order, ())
    scopes = "\n".join(_scope(name, modules[name], order) for name in order)
    script = f'"use strict";\n(() => {{\n{scopes}}})();\n'
    _check_inline(script, "the script", ("</script", "<script", "<!--"))
    return script


def _scope(name: str, text: str, order: list[str]) -> str:
    """One module as a scope of its own; `order` numbers the modules."""
    taken = [
        f"const {{{names}}} = module{order.index(other)};" for names, other in _IMPORT.findall(text)
    ]
    body = _EMPTY_EXPORT.sub("", _IMPORT.sub("", text))
    if odd := _ODD_IMPORT.search(body):
        line = body[odd.start() :].split("\n", 1)[0]
        raise AssetError(
            f"{name} has {line!r}: expected named imports from './...' and named exports."
        )
    given = ", ".join(one for export, one in _DECLARED.findall(body) if export)
    lines = [*taken, _EXPORT.sub("", body).strip(), f"return {{ {given} }};"]
    return (
        f"// {name}\nconst module{order.index(name)} = (() => {{\n" + "\n".join(lines) + "\n})();\n"
    )


def joined_style(files: Mapping[str, str]) -> str:
    """Every style sheet: the page's own first, the views' after it by name. Raises AssetError."""
    names = sorted(
        (name for name in files if name.endswith(".css")), key=lambda n: (n != FIRST_STYLE, n)
    )
    style = "\n".join(files[name].strip() for name in names) + "\n"
    _check_inline(style, "the style", ("</style", "@import"))
    return style


def escaped(text: str) -> str:
    """Text from anywhere as it can stand in HTML, in an attribute too; what cannot be drawn, and
    what turns the line around, is written as a visible escape."""
    safe = clean(" ".join(text.split()))
    for character, entity in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#39")):
        safe = safe.replace(character, f"&{entity};")
    return safe


def _visit(name: str, modules: Mapping[str, str], order: list[str], above: tuple[str, ...]) -> None:
    if name in order:
        return
    if name in above:
        circle = " imports ".join([*above[above.index(name) :], name])
        raise AssetError(f"modules import one another in a circle: {circle}.")
    if name not in modules:
        raise AssetError(f"{above[-1] if above else 'the page'} needs {name}, which is not there.")
    for names, other in _IMPORT.findall(modules[name]):
        _visit(other, modules, order, (*above, name))
        exported = {one for export, one in _DECLARED.findall(modules[other]) if export}
        for wanted in (part.strip() for part in names.split(",")):
            if wanted and wanted not in exported:
                raise AssetError(
                    f"{name} imports {wanted!r} from {other}, which exports no such name."
                )
    order.append(name)


def _check_inline(text: str, what: str, forbidden: tuple[str, ...]) -> None:
    """What an HTML parser would take for an end, or would change, so that the hash fails."""
    lower = text.lower()
    for wrong in (*forbidden, "\r", "\0"):
        if wrong in lower:
            line = text.count("\n", 0, lower.index(wrong)) + 1
            raise AssetError(
                f"{what} holds {wrong!r} at its line {line}, which HTML would misread."
            )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
