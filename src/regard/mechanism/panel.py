"""One panel: some rows of one head with all the keys they may see, from scores to weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.mechanism.sight import Sight, count_hidden

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.mechanism.arrays import Arrays
    from regard.mechanism.call import Call
    from regard.mechanism.sight import Rows


_NO_SHIFT_BELOW: Final = 60.0
"""Scores within this of 0 need no shift: e^60 times 10^11 keys still fits float32, and e^-60 is
far from its smallest number. Saves two passes over the panel."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Rows of one head after the softmax's exponentials, before the division by their sums.

    exponentials: `(rows, sight.width)`, e^(score - shift), 0 where unseen; weight = this / total.
        In a row that a NaN has reached, NaN where it sees a key.
    lse, total: `(rows, 1)`: the log-sum-exp; the sum of the exponentials, the sink's included,
        and 1 where it would be 0 or NaN.
    largest: `(rows, 1)`, the largest masked score; None unless it was wanted or needed.
    moment: `(rows, 1)`, sum of exponential x (score - shift); None unless it was wanted.
    spoiled: which rows a NaN has reached; None when there are none.
    """

    sight: Sight
    exponentials: Float[Any, "rows keys"]
    lse: Float[Any, "rows 1"]
    total: Float[Any, "rows 1"]
    largest: Float[Any, "rows 1"] | None
    moment: Float[Any, "rows 1"] | None
    spoiled: Bool[Any, " rows"] | None

    def pick(self, rows: Int64[np.ndarray, " picked"]) -> Weighed:
        """Some of the rows, copied."""
        hidden = tuple((first, last, cells[rows]) for first, last, cells in self.sight.hidden)
        return Weighed(
            sight=Sight(self.sight.start, self.sight.stop, hidden),
            exponentials=self.exponentials[rows],
            lse=self.lse[rows],
            total=self.total[rows],
            largest=None if self.largest is None else self.largest[rows],
            moment=None if self.moment is None else self.moment[rows],
            spoiled=None if self.spoiled is None else self.spoiled[rows],
        )


class Scratch:
    """Memory for the panels of one thread, taken once and used again by name."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.blocks: dict[str, Any] = {}

    def block(self, name: str, rows: int, columns: int) -> Float[Any, "rows columns"]:
        """A `(rows, columns)` array with whatever was left in it; the same memory by name."""
        numbers = rows * columns
        if name not in self.blocks or self.blocks[name].shape[0] < numbers:
            self.blocks[name] = self.arrays.empty(numbers)
        return self.blocks[name][:numbers].reshape(rows, columns)


def weigh(
    call: Call,
    batch: int,
    head: int,
    rows: Rows,
    scratch: Scratch,
    *,
    want_largest: bool = False,
    want_moment: bool = False,
) -> Weighed:
    """Scores, scale, softcap, bias, mask and exponentials of some query rows of one head.

    The exponentials are the scratch's memory: the next call overwrites them.
    """
    arrays = call.arrays
    sight = call.eyes.sight(batch, head, rows)
    query = arrays.widen(call.query[batch, head][rows]) * call.scale
    scores = _masked_scores(call, batch, head, rows, query, sight, scratch)
    sink = None if call.sinks is None else float(call.sinks[head])
    count = query.shape[0]
    shift: Any = 0.0
    largest = moment = None
    tame = _highest(call, batch, head, query, sink) <= _NO_SHIFT_BELOW
    if want_largest or want_moment or not tame:
        largest = arrays.row_max(scores)
    if want_moment or not tame:
        shift = _shift(arrays, sight, largest, sink)
        scores -= shift
    if want_moment:
        exponentials = arrays.exp(scores, out=scratch.block("powers", count, sight.width))
        hide(arrays, scores, sight, 0.0)  # where the power is 0 and the score -inf
        moment = _moment(arrays, exponentials, scores)
    else:
        exponentials = arrays.exp(scores, out=scores)
    # a product with ones sums a row three times as fast as a sum, to the same few roundings
    total = arrays.matmul(
        exponentials, arrays.full(1.0, sight.width, 1), out=arrays.empty(count, 1)
    )
    if sink is not None:
        total += arrays.exp(arrays.full(sink, count, 1) - shift, out=None)
    lse = shift + arrays.log(total)
    nan = arrays.is_nan(total)
    spoiled = nan[:, 0] if bool(nan.any()) else None
    if spoiled is not None:
        exponentials[spoiled] = np.nan
        hide(arrays, exponentials, sight, 0.0)
    total = arrays.where(nan | (total == 0), 1.0, total)
    return Weighed(sight, exponentials, lse, total, largest, moment, spoiled)


def _moment(
    arrays: Arrays, powers: Float[Any, "rows keys"], shifted: Float[Any, "rows keys"]
) -> Float[Any, "rows 1"]:
    """Sum of power x shifted, where a power of 0 counts as 0, though shifted is -inf there."""
    moment = arrays.row_dot(powers, shifted)
    odd = arrays.is_nan(moment)
    if bool(odd.any()):
        some = powers[odd]
        moment[odd] = arrays.row_dot(some, arrays.where(some == 0, 0.0, shifted[odd]))
    return moment[:, None]


def _masked_scores(
    call: Call,
    batch: int,
    head: int,
    rows: Rows,
    query: Float[Any, "rows dim"],
    sight: Sight,
    scratch: Scratch,
) -> Float[Any, "rows keys"]:
    arrays = call.arrays
    key = call.key[batch, call.sizes.kv_head(head)][sight.start : sight.stop]
    scores = scratch.block("scores", query.shape[0], sight.width)
    arrays.matmul(query, key.T, out=scores)
    if call.softcap is not None:
        scores /= call.softcap
        arrays.tanh_(scores)
        scores *= call.softcap
    if call.mask.bias is not None:
        bias = call.mask.bias[batch, head][rows, sight.start : sight.stop]
        scores += arrays.widen(bias)
    hide(arrays, scores, sight, -np.inf)
    return scores


def _highest(
    call: Call, batch: int, head: int, query: Float[Any, "rows dim"], sink: float | None
) -> float:
    """A bound of the scores' size, by Cauchy-Schwarz; infinite or NaN when there is none.

    Powers are multiplied with values, so the size of those, as a power of e, comes on top.
    """
    if call.mask.bias is not None:
        return math.inf
    longest = math.sqrt(float(call.arrays.row_dot(query, query).max())) if len(query) else 0.0
    highest = longest * float(call.longest_key[batch, call.sizes.kv_head(head)])
    if call.softcap is not None:
        highest = min(highest, call.softcap)
    if sink is not None:
        highest = max(highest, abs(sink))
    size = float(call.largest_value[batch, call.sizes.kv_head(head)])
    return highest if size == 0 else highest + abs(math.log(size))


def _shift(
    arrays: Arrays, sight: Sight, largest: Float[Any, "rows 1"], sink: float | None
) -> Float[Any, "rows 1"]:
    """What to subtract from each row: its largest score, or the sink; 0 where nothing is seen."""
    shift = largest if sink is None else arrays.maximum(largest, sink)
    lowest = shift == -np.inf
    if not bool(lowest.any()):
        return shift
    # -inf - -inf is NaN: right for a row whose every score is -inf, wrong for one that sees none
    hidden = count_hidden(sight, arrays, largest.shape[0])
    return arrays.where(lowest & (hidden == sight.width)[:, None], 0.0, shift)


def hide(arrays: Arrays, cells: Float[Any, "rows keys"], sight: Sight, number: float) -> None:
    """Set every cell of a panel that its row may not see to `number`."""
    for first, last, hidden in sight.hidden:
        arrays.fill(cells[:, first:last], hidden, number)


def mix(call: Call, batch: int, head: int, weighed: Weighed) -> Float[Any, "rows value_dim"]:
    """The panel's rows of the result: weights x V, in the accumulating dtype.

    A key that some rows may not see, and whose value is not finite, would reach them as 0 x NaN:
    such keys are left out of the product and added only to the rows that see them.
    """
    arrays, sight, exponentials = call.arrays, weighed.sight, weighed.exponentials
    kv_head = call.sizes.kv_head(head)
    value = call.values[batch, kv_head][sight.start : sight.stop]
    product: Any = value
    wild: Any = ()
    if sight.hidden and not math.isfinite(call.largest_value[batch, kv_head]):
        tame = arrays.is_finite(value).all(1)
        wild = arrays.nonzero(~tame[:, None])[0]
        product = arrays.where(tame[:, None], value, 0.0)
    out = arrays.empty(exponentials.shape[0], call.sizes.value_dim)
    arrays.matmul(exponentials, product, out=out)
    if len(wild):
        seen = arrays.full(1.0, *exponentials.shape)
        hide(arrays, seen, sight, 0.0)
        for key in wild:
            rows = seen[:, key] > 0
            out[rows] += exponentials[rows, key][:, None] * value[key]
    out /= weighed.total
    return out
