"""Rows of a record by word: whom a word reads, and what its result is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.record import Layer, Record, Side, WordRow, many
from regard.sources import token_rows

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.mechanism.steps import Steps

_BLOCK: Final = 2**22
"""Weights held at once while many words are read: 16 MiB in float32."""


def find_layer(record: Record, layer: int) -> Layer:
    """The layer at this index in `record.layers`. Raises InputError."""
    if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)):
        raise InputError(f"layer is {layer!r}: expected an index into record.layers.")
    if not 0 <= layer < len(record.layers):
        raise InputError(
            f"layer is {layer} and the record has {many(len(record.layers), 'layer')}: expected "
            f"an index into record.layers, 0 to {len(record.layers) - 1}."
        )
    return record.layers[layer]


def word_rows(record: Record, layer: int, words: Sequence[int]) -> list[WordRow]:
    """Whom each of these words reads, in one layer: see `Record.weights`."""
    return list(iterate_word_rows(record, layer, words))


def iterate_word_rows(record: Record, layer: int, words: Sequence[int]) -> Iterator[WordRow]:
    """`word_rows` one after another, with memory for few rows at a time."""
    for block in iterate_blocks(record, layer, words):
        yield from block.rows()


@dataclass(frozen=True, eq=False)
class WordBlock:
    """Whom some words read: what `WordRow` says of one. words: their indices.

    weights `(heads, readers, words)`; shares alike or None; of rows that are not exact, what is
    known, by `known_shares`. exact `(readers)`; visible `(readers, words)`.
    """

    words: Int64[np.ndarray, " readers"]
    weights: Float[np.ndarray, "heads readers words"]
    shares: Float[np.ndarray, "heads readers words"] | None
    exact: Bool[np.ndarray, " readers"]
    visible: Bool[np.ndarray, "readers words"]
    known_shares: tuple[Any, ...]

    def rows(self) -> Iterator[WordRow]:
        """One after another."""
        for place, exact in enumerate(self.exact):
            share = self.known_shares[place]
            if exact:
                share = None if self.shares is None else self.shares[:, place]
            yield WordRow(self.weights[:, place], share, bool(exact), self.visible[place])


def iterate_blocks(record: Record, layer: int, words: Sequence[int]) -> Iterator[WordBlock]:
    """`word_rows`, as many at a time as memory for few rows holds."""
    seen = find_layer(record, layer)
    query_side = record.sides[seen.query_side]
    row_of = _row_of(seen, query_side)
    chosen = [(word, _rows_of_word(seen, query_side, row_of, word)) for word in words]
    most = max(1, _BLOCK // max(1, seen.heads * len(seen.key_positions)))
    block: list[tuple[int, Int64[np.ndarray, " rows"]]] = []
    held = 0
    for word, rows in chosen:
        if block and held + len(rows) > most:
            yield _rows_of_words(record, seen, block)
            block, held = [], 0
        block.append((word, rows))
        held += len(rows)
    if block:
        yield _rows_of_words(record, seen, block)


def token_row(record: Record, layer: int, head: int, token: int) -> Float[np.ndarray, " keys"]:
    """The exact weights of one token: see `Record.row`."""
    seen = find_layer(record, layer)
    side = record.sides[seen.query_side]
    _check_index("head", head, seen.heads, f"layer {layer}")
    _check_index("token", token, len(side.tokens), f"side {side.name!r}")
    row = _row_of(seen, side)[token]
    if row < 0:
        raise _not_read(seen, side, f"token {token} ({side.tokens[token]!r})")
    found = token_rows(seen, np.array([row]))
    if not found.exact.all():
        raise InputError(
            f"token {token} of layer {layer} has only its top keys known: for the whole row, "
            "capture with ask=regard.Ask(rows=[...]) or keep query and key."
        )
    weights: Float[np.ndarray, " keys"] = found.weights[head, 0]
    return weights


def head_steps(record: Record, layer: int, head: int, word: int | None = None) -> Steps:
    """The four steps of one head: see `Record.steps`."""
    from regard.mechanism.steps import steps

    seen = find_layer(record, layer)
    _check_index("head", head, seen.heads, f"layer {layer}")
    missing = [name for name in ("query", "key", "value") if getattr(seen, name) is None]
    if seen.query is None or seen.key is None or seen.value is None or seen.call is None:
        raise InputError(
            f"layer {layer} keeps no {', '.join(missing) or 'call'}: the four steps need query, "
            "key and value. Capture with keep=('query', 'key', 'value')."
        )
    of_key = seen.sizes.kv_head(head)
    call = seen.call
    mask, rows = _one_head(call.mask, head), np.arange(len(seen.query_positions))
    if word is not None:
        side = record.sides[seen.query_side]
        rows = _rows_of_word(seen, side, _row_of(seen, side), word)
        mask = _some_rows(mask, seen, rows)
    return steps(
        seen.query[head, rows],
        seen.key[of_key],
        seen.value[of_key],
        mask=mask,
        scale=call.scale,
        softcap=call.softcap,
        sinks=None if call.sinks is None else call.sinks[head : head + 1],
        words=(
            _labels(record.sides[seen.query_side], seen.query_positions[rows]),
            _labels(record.sides[seen.key_side], seen.key_positions),
        ),
    )


def by_word(
    numbers: Float[np.ndarray, "*leading keys"], owner: Int64[np.ndarray, " keys"], words: int
) -> Float[np.ndarray, "*leading words"]:
    """The sum over the last axis of the columns of each word; 0 for words without columns."""
    if not len(owner):
        return np.zeros((*numbers.shape[:-1], words), numbers.dtype)
    if (np.diff(owner) < 0).any():
        order = np.argsort(owner, kind="stable")
        numbers, owner = numbers[..., order], owner[order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    if len(starts) == words:
        sums = numbers.take(starts, axis=-1)
    else:
        sums = np.zeros((*numbers.shape[:-1], words), numbers.dtype)
        sums[..., owner[starts]] = numbers[..., starts]
    piece = np.arange(len(owner)) - np.repeat(starts, np.diff(starts, append=len(owner)))
    for place in range(1, int(piece.max()) + 1):  # the second pieces of all words, the third ...
        these = np.flatnonzero(piece == place)
        sums[..., owner[these]] += numbers[..., these]
    return sums


def _rows_of_words(
    record: Record, layer: Layer, block: list[tuple[int, Int64[np.ndarray, " rows"]]]
) -> WordBlock:
    side = record.sides[layer.key_side]
    owner, count = side.word_of[layer.key_positions], len(side.words)
    rows = np.concatenate([rows for _, rows in block])
    found = token_rows(layer, rows)
    sizes = np.array([len(rows) for _, rows in block])
    # (heads, readers, keys): the mean over the pieces of each reader
    means = _summed(found.weights, sizes, np.add, axis=1)
    if (sizes > 1).any():
        means = means / sizes[:, None].astype(means.dtype)
    seen = _summed(found.visible, sizes, np.logical_or, axis=0)
    shares = None if layer.value is None else by_word(_shares(layer, means), owner, count)
    exact = _summed(found.exact, sizes, np.logical_and, axis=0)
    return WordBlock(
        words=np.array([word for word, _ in block]),
        weights=by_word(means, owner, count),
        shares=shares,
        exact=exact,
        visible=by_word(seen.astype(np.int64), owner, count) > 0,
        known_shares=tuple(
            None if whole else _top_shares(layer, rows, owner, count)
            for whole, (_, rows) in zip(exact, block, strict=True)
        ),
    )


def _summed(array: Any, sizes: Int64[np.ndarray, " readers"], add: Any, axis: int) -> Any:
    """Runs of so many rows, each brought together; far quicker than `reduceat` where runs are
    short."""
    if (sizes == 1).all():
        return array
    starts = np.cumsum([0, *sizes[:-1]])
    lead = (slice(None),) * axis
    total = array[(*lead, starts)]
    for place in range(1, int(sizes.max())):
        more = np.flatnonzero(sizes > place)
        total[(*lead, more)] = add(total[(*lead, more)], array[(*lead, starts[more] + place)])
    return total


def _shares(
    layer: Layer, weights: Float[np.ndarray, "heads readers keys"]
) -> Float[np.ndarray, "heads readers keys"]:
    """Each key's part of the result z = Σ w v: w (v · z) / |z|²; NaN where z is 0."""
    value = layer.value
    assert value is not None
    if value.dtype.itemsize < 4:
        value = value.astype(np.float32)
    heads, readers, keys = weights.shape
    kv_heads = len(value)  # the heads of one key head follow one another
    grouped = weights.reshape(kv_heads, heads // max(kv_heads, 1) * readers, keys)
    from regard.mechanism.threads import one_thread_blas

    # many small products: threads would only wait for one another
    with np.errstate(all="ignore"), one_thread_blas():
        if np.isfinite(value).all():
            result = grouped @ value
            largest = np.abs(result).max(axis=-1, keepdims=True, initial=0)
            unit = result / largest  # so that |z|² neither under- nor overflows
            parts = unit @ np.swapaxes(value, -1, -2)
            parts *= grouped
            parts /= largest * np.square(unit).sum(axis=-1, keepdims=True)
        else:  # a key that has no weight adds nothing, even where its value is not a number
            parts = np.zeros(grouped.shape, value.dtype)
            for head, row in np.ndindex(grouped.shape[:2]):
                used = grouped[head, row] != 0
                terms = grouped[head, row, used, None] * value[head, used]
                result = terms.sum(axis=0)
                parts[head, row, used] = terms @ result / (result @ result)
    shares: Float[np.ndarray, "heads readers keys"] = parts.reshape(heads, readers, keys)
    return shares


def _top_shares(
    layer: Layer, rows: Int64[np.ndarray, " rows"], owner: Int64[np.ndarray, " keys"], count: int
) -> Any:
    """The shares of the top keys of a reader of one piece; NaN for words not wholly among them."""
    readings = layer.readings
    if readings.top_share is None or readings.top_index is None or len(rows) != 1:
        return None
    assert readings.queries is not None
    place = int(np.flatnonzero(readings.queries == rows[0])[0])
    shares = np.full((layer.heads, len(owner)), np.nan, readings.top_share.dtype)
    for head in range(layer.heads):
        index = readings.top_index[head, place]
        shares[head, index[index >= 0]] = readings.top_share[head, place][index >= 0]
    return by_word(shares, owner, count)


def _row_of(layer: Layer, side: Side) -> Int64[np.ndarray, " tokens"]:
    """The row of each token of the query side, -1 where it was not read."""
    row_of = np.full(len(side.tokens), -1, np.int64)
    row_of[layer.query_positions] = np.arange(len(layer.query_positions))
    return row_of


def _rows_of_word(
    layer: Layer, side: Side, row_of: Int64[np.ndarray, " tokens"], word: int
) -> Int64[np.ndarray, " rows"]:
    _check_index("word", word, len(side.words), f"side {side.name!r}")
    rows = row_of[list(side.words[word].tokens)]
    rows = rows[rows >= 0]
    if not len(rows):
        raise _not_read(layer, side, f"word {side.names[word]!r}")
    return rows


def _not_read(layer: Layer, side: Side, what: str) -> InputError:
    positions = layer.query_positions
    reach = f"{positions.min()} to {positions.max()}" if len(positions) else "none"
    return InputError(
        f"{what} of side {side.name!r} is no reader in layer {layer.name!r}: its rows are the "
        f"tokens {reach}. Choose a word among them."
    )


def _check_index(name: str, index: Any, count: int, of: str) -> None:
    whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
    if not whole or not 0 <= index < count:
        raise InputError(f"{name} is {index!r} and {of} has {count}: expected 0 to {count - 1}.")


def _one_head(mask: Any, head: int) -> Any:
    """A mask as one head sees it."""
    from dataclasses import replace

    parts = {}
    for name in ("allowed", "bias"):
        array = getattr(mask, name)
        if array is not None and array.ndim >= 3:
            array = array.reshape(array.shape[-3:])
            parts[name] = array[head if array.shape[0] > 1 else 0]
    segments = mask.segments
    if isinstance(segments, tuple):
        segments = tuple(np.asarray(part).reshape(-1) for part in segments)
    elif segments is not None:
        segments = np.asarray(segments).reshape(-1)
    return replace(mask, **parts, segments=segments)


def _some_rows(mask: Any, layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Any:
    """A mask of one head as some ascending rows have it."""
    from dataclasses import replace

    from regard.mechanism.arrays import NumpyArrays
    from regard.mechanism.mask import Mask
    from regard.mechanism.sight import Eyes

    flat = mask.flatten(replace(layer.sizes, heads=1, kv_heads=1))
    sight = Eyes(flat, NumpyArrays("float32")).sight(0, 0, rows)
    cells = np.zeros((len(rows), layer.sizes.keys), np.bool_)
    cells[:, sight.start : sight.stop] = True
    for first, last, hidden in sight.hidden:
        cells[:, sight.start + first : sight.start + last] &= ~hidden
    return Mask(allowed=cells, bias=None if flat.bias is None else flat.bias[0, 0][rows])


def _labels(side: Side, positions: Int64[np.ndarray, " n"]) -> tuple[str, ...]:
    """A label a token: its word's name where it is the whole word, else the piece itself."""
    labels = []
    for token in positions:
        word = side.word_of[token]
        whole = len(side.words[word].tokens) == 1
        labels.append(side.names[word] if whole else side.tokens[token])
    return tuple(labels)
