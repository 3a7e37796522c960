"""Which keys a query may see: as data (`Mask`), and as plain numbers (`FlatMask`).

A `Mask` is what a person writes. `Mask.flatten` checks it against the sizes of a call and gives
the one flat encoding that the loop reads, and that a compiled kernel can read: integers and
arrays, nothing to call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.arrays import dtype_name

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Int32, Int64

    from regard.mechanism.sizes import Sizes

UNLIMITED: Final = 2**62
"""A side of the window that does not end; no index plus offset comes near it."""

_LARGEST_OFFSET: Final = 2**48


@dataclass(frozen=True, eq=False)
class Mask:
    """Which keys each query may see. All parts hold at once; the default hides nothing.

    A query's position is its index plus `offset`.

    causal: key <= position.
    offset: one whole number, or one a batch item; may be negative. Needed with `causal` or
        `window` when queries and keys differ in number: 0 aligns the first query with the first
        key (top-left), keys - queries the last with the last (bottom-right, a cached decode).
    window: (left, right), -left <= key - position <= right; None on a side is unlimited.
    lengths: how many leading keys are real; one whole number, or one a batch item.
    segments: whole-number labels `(keys)` or `(batch, keys)`, or a tuple of two such arrays for
        (queries, keys). Equal labels see each other; a negative label neither sees nor is seen.
    allowed: bool array, True where a query may see a key; broadcast right-aligned to
        (batch, heads, queries, keys).
    bias: float array added to the scaled scores, broadcast likewise. Exactly -inf means not
        seen; a very negative number is arithmetic like any other.

    A field that is wrong by itself raises InputError here, one that does not fit the arrays
    when it is used.
    """

    causal: bool = False
    offset: int | Int[Any, " batch"] | None = None
    window: tuple[int | None, int | None] | None = None
    lengths: int | Int[Any, " batch"] | None = None
    segments: Any = None
    allowed: Bool[Any, "..."] | None = None
    bias: Float[Any, "..."] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.causal, (bool, np.bool_)):
            raise InputError(f"causal is {self.causal!r}: expected True or False.")
        if self.window is not None:
            if not isinstance(self.window, tuple) or len(self.window) != 2:
                raise InputError(
                    f"window is {self.window!r}: expected (left, right), each a whole number or "
                    "None for unlimited; (255, 0) keeps a query's own position and 255 before it."
                )
            for side in self.window:
                if side is not None and not _is_whole(side):
                    raise InputError(
                        f"window is {self.window!r}: each side must be a whole number or None."
                    )
        for name, wanted in (("allowed", "bool"), ("bias", "float")):
            array = getattr(self, name)
            if array is None:
                continue
            if not hasattr(array, "dtype") or not hasattr(array, "shape"):
                raise InputError(
                    f"{name} is {type(array).__name__}: expected a {wanted} array broadcast to "
                    "(batch, heads, queries, keys)."
                )
            kind = _kind(array)
            if kind != wanted:
                other = "bias" if name == "allowed" else "allowed"
                raise InputError(
                    f"{name} has dtype {array.dtype}: expected {wanted}. "
                    f"Did you mean {other}=? 0/1 integers are ambiguous: convert them yourself."
                )

    def flatten(self, sizes: Sizes) -> FlatMask:
        """Check against `sizes` and give the flat encoding. Raises InputError."""
        positional = self.causal or self.window is not None
        if positional and self.offset is None and sizes.queries != sizes.keys:
            raise InputError(
                f"{'causal' if self.causal else 'window'} with {sizes.queries} queries and "
                f"{sizes.keys} keys needs an offset: Mask(..., offset={sizes.keys - sizes.queries})"
                " aligns the last query with the last key (cached decode), offset=0 the first "
                "with the first."
            )
        left, right = (None, None) if self.window is None else self.window
        left = UNLIMITED if left is None else int(left)
        right = UNLIMITED if right is None else int(right)
        if self.causal:
            right = min(right, 0)
        query_segments, key_segments = _labels(self.segments, sizes)
        return FlatMask(
            left=left,
            right=right,
            offset=_per_item(
                "offset", self.offset, 0, sizes.batch, -_LARGEST_OFFSET, _LARGEST_OFFSET
            ),
            lengths=_per_item("lengths", self.lengths, sizes.keys, sizes.batch, 0, sizes.keys),
            query_segments=query_segments,
            key_segments=key_segments,
            allowed=_spread("allowed", self.allowed, sizes),
            bias=_spread("bias", self.bias, sizes),
        )


@dataclass(frozen=True, eq=False)
class FlatMask:
    """The flat encoding of a `Mask`: C integers and arrays, all sizes known.

    left, right: a key is in the window when -left <= key - (query + offset) <= right;
        `UNLIMITED` where a side does not end. causal is right <= 0.
    offset, lengths: int64, contiguous; whatever the caller gave, one a batch item.
    query_segments, key_segments: int32, contiguous, or None both.
    allowed: bool, and bias: float, as strided views (a broadcast axis has stride 0), or None.
    """

    left: int
    right: int
    offset: Int64[np.ndarray, " batch"]
    lengths: Int64[np.ndarray, " batch"]
    query_segments: Int32[np.ndarray, "batch queries"] | None
    key_segments: Int32[np.ndarray, "batch keys"] | None
    allowed: Bool[Any, "batch heads queries keys"] | None
    bias: Float[Any, "batch heads queries keys"] | None


_NOTHING_HIDDEN: Final = Mask()


def as_mask(mask: Any) -> Mask:
    """`mask=` as people write it: None, a Mask, a bool array (allowed) or a float one (bias)."""
    if mask is None:
        return _NOTHING_HIDDEN
    if isinstance(mask, Mask):
        return mask
    if hasattr(mask, "dtype") and hasattr(mask, "shape"):
        kind = _kind(mask)
        if kind == "bool":
            return Mask(allowed=mask)
        if kind == "float":
            return Mask(bias=mask)
        raise InputError(
            f"mask has dtype {mask.dtype}: expected bool (True where a query may see a key) or "
            "float (added to the scaled scores). 0/1 integers are ambiguous: convert them yourself."
        )
    raise InputError(
        f"mask is {type(mask).__name__}: expected regard.Mask, a bool array or a float array."
    )


def _is_whole(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, (bool, np.bool_))


def _kind(array: Any) -> str:
    """'bool', 'float', 'int' or another kind, alike for NumPy and torch dtypes."""
    name = dtype_name(array)
    if name == "bool":
        return "bool"
    return "float" if name.startswith(("float", "bfloat")) else name.rstrip("0123456789")


def whole_numbers(name: str, values: Any) -> Int64[np.ndarray, "..."]:
    """Whole numbers from a number, a sequence or an array of either library, as int64."""
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    if array.size == 0 and array.ndim == 1:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}: expected whole numbers.")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise InputError(f"{name} holds {int(array.max())}: expected less than 2**63.")
    return array.astype(np.int64)


def _per_item(
    name: str, value: Any, default: int, batch: int, low: int, high: int
) -> Int64[np.ndarray, " batch"]:
    value = default if value is None else value
    if _is_whole(value) and low <= value <= high:
        return np.array([value] * batch, np.int64)
    numbers = whole_numbers(name, value)
    if numbers.ndim > 1 or (numbers.ndim == 1 and numbers.shape[0] != batch):
        raise InputError(
            f"{name} has shape {numbers.shape} and the batch is {batch}: "
            "expected one whole number, or one a batch item."
        )
    if numbers.size and (numbers.min() < low or numbers.max() > high):
        wrong = numbers.min() if numbers.min() < low else numbers.max()
        raise InputError(f"{name} holds {wrong}: expected {low} to {high}.")
    return np.ascontiguousarray(np.broadcast_to(numbers, (batch,)))


def _labels(
    segments: Any, sizes: Sizes
) -> tuple[Int32[np.ndarray, "batch queries"] | None, Int32[np.ndarray, "batch keys"] | None]:
    if segments is None:
        return None, None
    if isinstance(segments, tuple):
        if len(segments) != 2:
            raise InputError(
                f"segments is a tuple of {len(segments)}: expected labels of the keys, or a tuple "
                "(labels of the queries, labels of the keys)."
            )
        queries, keys = segments
    elif sizes.queries == sizes.keys:
        queries = keys = segments
    else:
        raise InputError(
            f"segments has one array, with {sizes.queries} queries and {sizes.keys} keys: "
            "give a tuple (labels of the queries, labels of the keys)."
        )
    return (
        _label_rows("queries", queries, sizes.batch, sizes.queries),
        _label_rows("keys", keys, sizes.batch, sizes.keys),
    )


def _label_rows(axis: str, labels: Any, batch: int, count: int) -> Int32[np.ndarray, "batch n"]:
    numbers = whole_numbers(f"segments of the {axis}", labels)
    if numbers.shape not in ((count,), (batch, count)):
        raise InputError(
            f"segments of the {axis} have shape {numbers.shape}: "
            f"expected ({count},) or ({batch}, {count}), one label a token."
        )
    if numbers.size and numbers.max() >= 2**31:
        raise InputError(
            f"segments of the {axis} hold {numbers.max()}: expected labels below 2**31."
        )
    clipped = np.maximum(numbers, -1).astype(np.int32)  # every negative label means the same
    return np.ascontiguousarray(np.broadcast_to(clipped, (batch, count)))


def _spread(name: str, array: Any, sizes: Sizes) -> Any:
    """A view of `array` with all four axes; a broadcast axis costs no memory."""
    if array is None:
        return None
    full = (sizes.batch, sizes.heads, sizes.queries, sizes.keys)
    shape = tuple(int(size) for size in array.shape)
    padded = (1,) * (4 - len(shape)) + shape
    if len(shape) > 4 or any(
        size not in (1, wanted) for size, wanted in zip(padded, full, strict=True)
    ):
        raise InputError(
            f"{name} has shape {shape}: expected one that broadcasts, right-aligned, to "
            f"(batch, heads, queries, keys) = {full}."
        )
    if isinstance(array, np.ndarray):
        return np.broadcast_to(array, full)
    return array.expand(full)
