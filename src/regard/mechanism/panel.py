"""One panel: some rows of one head with all the keys they may see, from scores to weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.sight import Sight, count_hidden

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.mechanism.arrays import Arrays
    from regard.mechanism.call import Call
    from regard.mechanism.sight import Rows


@dataclass(frozen=True, eq=False)
class Weighed:
    """Rows of one head after the softmax's exponentials, before the division by their sums.

    exponentials: `(rows, sight.width)`, e^(score - shift), 0 where unseen; weight = this / total.
        In a row that a NaN has reached, NaN where it sees a key.
    shifted: `(rows, sight.width)`, score - shift, 0 where unseen; kept only on request.
    largest, lse, total: `(rows, 1)`: the largest masked score; the log-sum-exp; the sum of the
        exponentials, the sink's included, and 1 where it would be 0 or NaN.
    spoiled: which rows a NaN has reached; None when there are none.
    """

    sight: Sight
    exponentials: Float[Any, "rows keys"]
    shifted: Float[Any, "rows keys"] | None
    largest: Float[Any, "rows 1"]
    lse: Float[Any, "rows 1"]
    total: Float[Any, "rows 1"]
    spoiled: Bool[Any, " rows"] | None

    def pick(self, rows: Int64[np.ndarray, " picked"]) -> Weighed:
        """Some of the rows, copied."""
        hidden = tuple((first, last, cells[rows]) for first, last, cells in self.sight.hidden)
        return Weighed(
            sight=Sight(self.sight.start, self.sight.stop, hidden),
            exponentials=self.exponentials[rows],
            shifted=None if self.shifted is None else self.shifted[rows],
            largest=self.largest[rows],
            lse=self.lse[rows],
            total=self.total[rows],
            spoiled=None if self.spoiled is None else self.spoiled[rows],
        )


class Scratch:
    """Memory for the panels of one thread, taken once: two blocks of rows x keys numbers."""

    def __init__(self, arrays: Arrays, numbers: int) -> None:
        self.arrays = arrays
        self.numbers = numbers
        self.blocks: dict[str, Any] = {}

    def block(self, name: str, rows: int, columns: int) -> Float[Any, "rows columns"]:
        """A `(rows, columns)` array whose contents are left over; the same memory by name."""
        if name not in self.blocks:
            self.blocks[name] = self.arrays.empty(self.numbers)
        return self.blocks[name][: rows * columns].reshape(rows, columns)


def weigh(
    call: Call, batch: int, head: int, rows: Rows, scratch: Scratch, *, keep_shifted: bool = False
) -> Weighed:
    """Scores, scale, softcap, bias, mask and exponentials of some query rows of one head.

    The arrays of the result are the scratch's: the next call overwrites them.
    """
    arrays = call.arrays
    sight = call.eyes.sight(batch, head, rows)
    key = call.key[batch, call.sizes.kv_head(head)][sight.start : sight.stop]
    query = arrays.widen(call.query[batch, head][rows]) * call.scale
    scores = scratch.block("scores", query.shape[0], sight.width)
    arrays.matmul(query, key.T, out=scores)
    if call.softcap is not None:
        scores /= call.softcap
        arrays.tanh_(scores)
        scores *= call.softcap
    if call.mask.bias is not None:
        scores += call.mask.bias[batch, head][rows, sight.start : sight.stop]
    hide(arrays, scores, sight, -np.inf)
    largest = arrays.row_max(scores)
    sink = None if call.sinks is None else float(call.sinks[head])
    shift = largest if sink is None else arrays.maximum(largest, sink)
    blind = _blind(arrays, sight, largest)
    if blind is not None:  # -inf - -inf is NaN, and there is nothing to scale down
        shift = arrays.where(blind & (shift == -np.inf), 0.0, shift)
    scores -= shift
    exponentials = scores
    if keep_shifted:
        exponentials = scratch.block("exponentials", query.shape[0], sight.width)
    arrays.exp(scores, out=exponentials)
    total = exponentials.sum(1)[:, None]
    if sink is not None:
        total += arrays.exp(sink - shift, out=None)
    lse = shift + arrays.log(total)
    nan = arrays.is_nan(total)
    spoiled = nan[:, 0] if bool(nan.any()) else None
    if spoiled is not None:
        exponentials[spoiled] = np.nan
        hide(arrays, exponentials, sight, 0.0)
    if blind is not None or spoiled is not None:
        total = arrays.where(nan | (total == 0), 1.0, total)
    if keep_shifted:
        hide(arrays, scores, sight, 0.0)
    return Weighed(
        sight=sight,
        exponentials=exponentials,
        shifted=scores if keep_shifted else None,
        largest=largest,
        lse=lse,
        total=total,
        spoiled=spoiled,
    )


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
    product, wild = value, ()
    if sight.hidden and not call.finite[batch, kv_head]:
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


def _blind(
    arrays: Arrays, sight: Sight, largest: Float[Any, "rows 1"]
) -> Bool[Any, "rows 1"] | None:
    """Rows that may see no key. Only a row whose largest score is -inf can be one."""
    candidates = largest == -np.inf
    if not bool(candidates.any()):
        return None
    hidden = count_hidden(sight, arrays, largest.shape[0])
    return candidates & (hidden == sight.width)[:, None]
