"""Attention rollout: from one token down through all layers to the input.

Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3: of each layer the
mean over its heads, half of it and half of the identity (the residual stream carries each token on
beside what attention adds), and the product of all layers. One row of that product is a vector
times a matrix for each layer, and the matrix is computed some rows at a time: never n x n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.sources import token_rows

if TYPE_CHECKING:
    from jaxtyping import Float64

    from regard.record import Layer, Record

_BLOCK: Final = 2**22
"""Weights held at once: 16 MiB in float32."""


def rollout(
    record: Record, token: int | Sequence[int], *, side: int | None = None
) -> Float64[np.ndarray, " tokens"]:
    """How much of each input token the rollout finds in `token` after the last layer of `record`.

    token: its index in the side; of several (the pieces of a word) the mean. side: index in
        `record.sides`, of those that read themselves; None for what the first layer reads from.

    Returns a number a token of that side, float64; they sum to 1, with sinks to less. The token
    itself has at least 1/2 to the power of the number of layers, by the residual half alone.

    Raises InputError unless the record has the self-attention of each layer of this side, from
    0 on, and exact weights of every row that is needed: query and key kept, or all rows.
    """
    if not record.layers:
        raise InputError("the record has no layers: rollout multiplies them all.")
    chosen = record.layers[0].query_side if side is None else side
    if isinstance(chosen, bool) or not 0 <= chosen < len(record.sides):
        raise InputError(f"side is {side!r} and the record has {len(record.sides)}.")
    layers = _stack(record, chosen)
    count = len(record.sides[chosen].tokens)
    mass = _start(token, count)
    for layer in reversed(layers):
        mass = 0.5 * mass + 0.5 * _carried(layer, mass)
    return mass


def _stack(record: Record, side: int) -> list[Layer]:
    """The self-attention layers of a side, by number. Raises InputError if one is missing."""
    layers = [layer for layer in record.layers if layer.query_side == layer.key_side == side]
    layers.sort(key=lambda layer: layer.number)
    numbers = [layer.number for layer in layers]
    if numbers != list(range(len(layers))) or not layers:
        name = record.sides[side].name
        raise InputError(
            f"the record has the self-attention layers {numbers} of {name!r}: rollout needs each "
            "of them once, from 0. Capture without layers=."
        )
    return layers


def _start(token: int | Sequence[int], count: int) -> Float64[np.ndarray, " tokens"]:
    tokens = [token] if isinstance(token, (int, np.integer)) else list(token)
    for one in tokens:
        if isinstance(one, bool) or not 0 <= one < count:
            raise InputError(f"token is {one!r}: expected 0 to {count - 1}, a token of the side.")
    if not tokens:
        raise InputError("token names no token: expected at least one.")
    mass = np.zeros(count)
    np.add.at(mass, tokens, 1 / len(tokens))
    return mass


def _carried(layer: Layer, mass: Float64[np.ndarray, " tokens"]) -> Float64[np.ndarray, " tokens"]:
    """mass @ the mean over heads of the layer's weights."""
    row_of = np.full(len(mass), -1)
    row_of[layer.query_positions] = np.arange(len(layer.query_positions))
    needed = np.flatnonzero(mass)
    missing = needed[row_of[needed] < 0]
    if len(missing):
        raise InputError(
            f"token {missing[0]} is no reader in layer {layer.name!r}, and rollout needs the rows "
            "of every token that counts: capture all rows, with query and key kept."
        )
    carried = np.zeros(len(mass))
    most = max(1, _BLOCK // max(1, layer.heads * len(layer.key_positions)))
    for first in range(0, len(needed), most):
        tokens = needed[first : first + most]
        found = token_rows(layer, row_of[tokens])
        if not found.exact.all():
            raise InputError(
                f"layer {layer.name!r} knows only the largest weights of some rows: rollout needs "
                "them all. Capture with keep=('query', 'key')."
            )
        heads, rows, keys = found.weights.shape
        share = np.tile(mass[tokens] / heads, heads)  # a number for each row of each head
        carried[layer.key_positions] += share @ found.weights.reshape(heads * rows, keys)
    return carried
