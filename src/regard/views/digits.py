"""Numbers as they are printed: columns of equal decimals, weights without the leading zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float

_MOST: Final = 3  # decimals


def alike(array: Float[np.ndarray, "..."]) -> list[str]:
    """Every number of `array`, in its order, with as many decimals as all of them need.

    As few as say all of them exactly, and at most three, where that keeps enough digits; three
    significant digits in scientific notation where the numbers are very large or very small.
    """
    numbers = [float(number) for number in np.asarray(array).ravel()]
    sizes = [abs(number) for number in numbers if math.isfinite(number) and number]
    if sizes and (max(sizes) >= 1e6 or max(sizes) < 0.01):
        return [number_text(number, None) for number in numbers]
    decimals = _MOST if max(sizes, default=0) < 1000 else 1
    while decimals and all(
        math.isclose(round(size, decimals - 1), size, rel_tol=0, abs_tol=1e-9) for size in sizes
    ):
        decimals -= 1
    return [number_text(number, decimals) for number in numbers]


def number_text(number: float, decimals: int | None) -> str:
    """`number` with that many decimals, or with three significant digits; nan, inf, -inf."""
    if not math.isfinite(number):
        return str(number)
    if decimals is None:
        return f"{number:.3g}" if number else "0"
    text = f"{number:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def fraction(number: float) -> str:
    """A weight or a share, '.904': three decimals and no zero before the point."""
    text = number_text(float(number), 3)
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def small(number: Any) -> str:
    """A number that may be tiny, to two significant digits: '.019', '4e-09' as '4e-9'."""
    number = float(number)
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else str(number)
    if abs(number) >= 0.001:
        text = f"{number:.2g}" if abs(number) < 100 else f"{number:.0f}"
        return text.replace("0.", ".", 1) if abs(number) < 1 else text
    digits, exponent = f"{number:.0e}".split("e")
    return f"{digits}e{int(exponent)}"
