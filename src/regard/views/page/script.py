"""The page's script: ES modules joined into one, for pages opened from disk may not import any."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRY: Final = "app.js"

_IMPORT: Final = re.compile(
    r'^import\s*\{([^}]*)\}\s*from\s*"(\.{1,2}/[\w./-]+)";[ \t]*\n?', re.MULTILINE
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
_TYPE: Final = re.compile(r"/\*\* @\w+.*?\*/ ?")


class AssetError(RuntimeError):
    """The page's own files do not fit together: a defect of this package."""


def joined_script(files: Mapping[str, str], entry: str | None = None) -> str:
    """What `entry` imports, and it, as one script that leaves nothing behind but what it shows.

    files: texts by their paths; without an entry, the one that is called `app.js`. Each module
    becomes a function that is called once and returns what the module exports, so that its other
    names stay its own. Comments stay in the package. Raises AssetError for a circle of imports, a
    name that is not exported, and what cannot stand inside a script element.
    """
    modules = {name: text for name, text in files.items() if name.endswith(".js")}
    order: list[str] = []
    _visit(_entry(modules) if entry is None else entry, modules, order, ())
    scopes = "\n".join(_scope(name, modules[name], order) for name in order)
    script = f'"use strict";\n(() => {{\n{scopes}}})();\n'
    check_inline(script, "the script", ("</script", "<script", "<!--"))
    return script


def _entry(modules: Mapping[str, str]) -> str:
    found = [name for name in modules if posixpath.basename(name) == ENTRY]
    if len(found) != 1:
        raise AssetError(f"{len(found)} modules are called {ENTRY}: expected one.")
    return found[0]


def _imports(name: str, text: str) -> list[tuple[str, str]]:
    """The names that a module takes, and the path of the module it takes them from."""
    folder = posixpath.dirname(name)
    return [
        (names, posixpath.normpath(posixpath.join(folder, other)))
        for names, other in _IMPORT.findall(text)
    ]


def _scope(name: str, text: str, order: list[str]) -> str:
    """One module as a scope of its own; `order` numbers the modules."""
    taken = [
        f"const {{{' '.join(names.split())}}} = module{order.index(other)};"
        for names, other in _imports(name, text)
    ]
    body = _EMPTY_EXPORT.sub("", _IMPORT.sub("", text))
    if odd := _ODD_IMPORT.search(body):
        line = body[odd.start() :].split("\n", 1)[0]
        raise AssetError(
            f"{name} has {line!r}: expected named imports from './...' and named exports."
        )
    given = ", ".join(one for export, one in _DECLARED.findall(body) if export)
    lines = [*taken, *_plain(_EXPORT.sub("", body)), f"return {{ {given} }};"]
    return (
        f"// {name}\nconst module{order.index(name)} = (() => {{\n" + "\n".join(lines) + "\n})();\n"
    )


def _plain(text: str) -> list[str]:
    """The lines of a module without comments and indentation, which only its readers need."""
    lines = []
    inside = within = False  # a comment; a text in backticks, where every blank counts
    for line in text.splitlines():
        bare = line.strip()
        if inside:
            inside = "*/" not in bare
            if bare.endswith("*/") or inside:
                continue
            bare = bare.partition("*/")[2].strip()
        if not within:
            bare = _TYPE.sub("", bare)
            if bare.startswith("/*") and "*/" not in bare:
                inside = True
                continue
            if not bare or bare.startswith("//") or (bare[:2] == "/*" and bare[-2:] == "*/"):
                continue
        lines.append(line if within else bare)
        within ^= line.count("`") % 2 == 1
    return lines


def _visit(name: str, modules: Mapping[str, str], order: list[str], above: tuple[str, ...]) -> None:
    if name in order:
        return
    if name in above:
        circle = " imports ".join([*above[above.index(name) :], name])
        raise AssetError(f"modules import one another in a circle: {circle}.")
    if name not in modules:
        raise AssetError(f"{above[-1] if above else 'the page'} needs {name}, which is not there.")
    for names, other in _imports(name, modules[name]):
        _visit(other, modules, order, (*above, name))
        exported = {one for export, one in _DECLARED.findall(modules[other]) if export}
        for wanted in (part.strip() for part in names.split(",")):
            if wanted and wanted not in exported:
                raise AssetError(
                    f"{name} imports {wanted!r} from {other}, which exports no such name."
                )
    order.append(name)


def check_inline(text: str, what: str, forbidden: tuple[str, ...]) -> None:
    """What an HTML parser would take for an end, or would change, so that the hash fails."""
    lower = text.lower()
    for wrong in (*forbidden, "\r", "\0"):
        if wrong in lower:
            line = text.count("\n", 0, lower.index(wrong)) + 1
            raise AssetError(
                f"{what} holds {wrong!r} at its line {line}, which HTML would misread."
            )
