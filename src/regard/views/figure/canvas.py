"""What figures are drawn on: a figure that notebooks show, harmless text, colours for everyone.

Figures are made without pyplot: they need no display and nothing keeps them alive. Text is drawn
as it stands, never as mathematics or TeX. A character that no font here has is written as an
escape, as control characters are.
"""

from __future__ import annotations

import functools
import io
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import BackendError
from regard.views.cells import clip, one_line, width as cells
from regard.views.terminal import wrapped

try:
    from matplotlib import colormaps, font_manager
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
except ImportError as error:
    raise BackendError(
        "figures need matplotlib, which is not installed: pip install 'regard[figures]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Bool, Float
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

INK: Final = "#1b1b1b"
PALE: Final = "#6b6b6b"
ACCENT: Final = "#9a4a00"
BLUE: Final = "#2a6fae"
WEIGHTS: Final = "Blues"
"""From 0, nearly white, to 1, nearly black: told apart by lightness alone."""
SIGNED: Final = "PuOr"
LABEL: Final = 14  # cells of a word beside a row or column
SMALL: Final = 8  # points

_FAMILIES: Final = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC",
    "Noto Sans JP", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Emoji",
    "Noto Sans Symbols", "Noto Sans Symbols 2", "Segoe UI Symbol", "Nirmala UI", "Microsoft YaHei",
    "Malgun Gothic", "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "Unifont",
)  # fmt: skip
_CHARACTERS_AN_INCH: Final = 15.5  # of our own words in small print
_TITLE_AN_INCH: Final = 9.5


class Drawing(Figure):
    """A matplotlib Figure that a notebook shows as it is; `savefig` writes SVG, PDF or PNG."""

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png")
        return written.getvalue()


def drawing(
    width: float, height: float, title: str, notes: Sequence[str], model: str = ""
) -> Drawing:
    """An empty figure of so many inches, with what it shows above and what to know below.

    model: the name of the model, which stands on a line of its own where the title is long.
    """
    room = int(width * _CHARACTERS_AN_INCH)
    lines = [line for note in notes if note for line in wrapped(note, room)]
    figure = Drawing(
        figsize=(width, height + 0.15 * len(lines)),
        dpi=110,
        layout="constrained",
        facecolor="white",
    )
    most = int(width * _TITLE_AN_INCH)
    titles = [f"{title} · {model}"] if model else [title]
    if cells(titles[0]) > most and model:
        titles = [title, model]
    above = "\n".join(clip(line, most) for line in titles)
    figure.suptitle(above, x=0.01, ha="left", fontsize=11, color=INK, **plain())
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=SMALL, color=PALE, **plain())
    return figure


def plain() -> dict[str, Any]:
    """How every text from outside is drawn: as it stands."""
    return {"parse_math": False, "usetex": False, "fontfamily": [name for name, _ in _fonts()]}


def label(text: str, cells: int = LABEL) -> str:
    """A word from outside, fit to be drawn beside something."""
    return clip(drawn(one_line(text)) or '""', cells)


def drawn(text: str) -> str:
    """`text` with what no font here can draw written as an escape."""
    if text.isascii():
        return text
    known = [characters for _, characters in _fonts()]
    return "".join(
        char if any(ord(char) in characters for characters in known) else _escape(char)
        for char in text
    )


def model_name(name: str) -> str:
    """A model as a figure names it: figures are handed on, and where it lies on a disk is not."""
    path = PurePath(name)
    local = path.is_absolute() or name.startswith((".", "~"))
    return drawn(one_line(path.name if local and path.name else name))


def heat(
    axes: Axes,
    numbers: Float[np.ndarray, "rows columns"],
    *,
    limits: tuple[float, float],
    colours: str = WEIGHTS,
    known: Bool[np.ndarray, "rows columns"] | None = None,
    texts: Sequence[Sequence[str]] | None = None,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    square: bool = True,
) -> AxesImage:
    """A matrix in colours, its columns named above; hatched where `known` is false.

    What is not a number is orange.
    """
    count, width = numbers.shape
    known = np.ones(numbers.shape, np.bool_) if known is None else known
    finite = np.isfinite(numbers)
    axes.set_facecolor("#d9d9d9")
    axes.patch.set(hatch="//////", edgecolor="#a9a9a9", linewidth=0)
    image = axes.imshow(
        np.ma.masked_array(np.where(finite, numbers, 0), ~known | ~finite),
        cmap=colormaps[colours].with_extremes(bad=(0, 0, 0, 0)),
        vmin=limits[0],
        vmax=limits[1],
        interpolation="nearest",
        aspect="equal" if square else "auto",
    )
    if (known & ~finite).any():
        odd = np.ma.masked_array(np.ones(numbers.shape), ~known | finite)
        axes.imshow(
            odd,
            cmap=ListedColormap(["#ffb000"]).with_extremes(bad=(0, 0, 0, 0)),
            interpolation="nearest",
            aspect="equal" if square else "auto",
        )
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=INK)
    upright = max((len(name) for name in columns), default=0) <= 4
    turned: dict[str, Any] = {} if upright else {"rotation": 45, "ha": "left"}
    axes.set_xticks(range(len(columns)), columns, rotation_mode="anchor", **turned, **plain())
    axes.set_yticks(range(len(rows)), rows, **plain())
    for spine in axes.spines.values():
        spine.set(edgecolor="#c0c0c0", linewidth=0.8)
    for row, line in enumerate(texts or ()):
        for column, text in enumerate(line):
            at: Any = numbers[row, column] if known[row, column] else np.nan
            dark = bool(np.isfinite(at)) and _is_dark(image.cmap(image.norm(at)))
            axes.text(
                column, row, text, ha="center", va="center", fontsize=SMALL - 0.5,
                color="white" if dark else INK, **plain(),
            )  # fmt: skip
    axes.set(xlim=(-0.5, max(width, 1) - 0.5), ylim=(max(count, 1) - 0.5, -0.5))
    return image


def colour_scale(figure: Drawing, image: object, title: str) -> None:
    bar = figure.colorbar(image, shrink=0.7, aspect=18, pad=0.02)  # type: ignore[arg-type]
    bar.ax.tick_params(labelsize=SMALL - 1, labelcolor=PALE, length=2)
    bar.outline.set_visible(False)
    bar.set_label(title, fontsize=SMALL, color=PALE)


@functools.cache
def _fonts() -> tuple[tuple[str, frozenset[int]], ...]:
    """The fonts that are here, in order, each with the characters that it has."""
    here = {font.name for font in font_manager.fontManager.ttflist}
    found = []
    for family in _FAMILIES:
        if family in here:
            path = font_manager.findfont(font_manager.FontProperties(family=[family]))
            found.append((family, frozenset(font_manager.get_font(path).get_charmap())))
    return tuple(found)


def _is_dark(colour: Any) -> bool:
    """Whether white can be read better on it than black, by WCAG's relative luminance."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance: float = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return luminance < 0.179


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
