"""Records of data from elsewhere: weights that another program computed, or its Q, K and V."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import as_mask
from regard.mechanism.numbers import checked_scale
from regard.mechanism.readings import Ask, Readings
from regard.models.layers import is_steps, vector_layers, weight_layers
from regard.record import Call, Layer, Record, Side

if TYPE_CHECKING:
    from jaxtyping import Float

_SPECIAL: Final = re.compile(r"\[(CLS|SEP|PAD)\]|</?s>|<(pad|bos|eos)>|<\|[^|]+\|>")
_ROUNDING: Final = 1e-2
"""How far beyond 1 a row may sum: bfloat16 weights are rounded by 1 part in 256."""


def from_weights(
    weights: Any,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    text: str | None = None,
    offsets: Sequence[tuple[int, int]] | None = None,
    special: Sequence[bool] | None = None,
    item: int | None = None,
) -> Record:
    """A record of attention weights, as a model gave them.

    weights: `(keys)`, `(queries, keys)`, `(heads, queries, keys)` or `(batch, heads, queries,
        keys)`; a tuple or list of such over layers (transformers' output_attentions); over
        generation steps, each a tuple over layers, which are stitched into rows (its generate);
        or a mapping with names as 'blocks.0.attn.hook_pattern' (TransformerLens). NumPy arrays,
        CPU tensors without gradients, or nested lists.
    tokens: a string for each key, that is for each column. With fewer rows than tokens the rows
        are the last ones (a cached decode); of generation steps, one more token, the last new
        one, may be named.
    key_tokens: for cross-attention, the strings of the keys; `tokens` are then of the queries.
    text, offsets: what the tokens were cut from and each one's (start, stop) characters: then
        they are grouped into words; otherwise each token is a word.
    special: True for each token that the tokenizer added. None: [CLS] [SEP] [PAD] <s> </s> <pad>
        <bos> <eos> and <|...|> are.
    item: which item of a batch.

    Where all weights above the diagonal are 0 the layers are decoders, else encoders. Rows may
    sum to less than 1 (a sink, a mask). Raises InputError for negative weights, rows that sum to
    more than 1, NaN, and shapes that do not fit the tokens.
    """
    stitched = is_steps(weights)
    layers = weight_layers(weights, item)
    side = _side(tokens, text, offsets, special)
    sides = (side,) if key_tokens is None else (side, _labels("keys", key_tokens))
    for name, rows in layers.values():
        _check_fit(name, rows.shape[1], rows.shape[2], sides, stitched)
        _check_weights(name, rows)
    kind: Literal["encoder", "decoder", "cross"] = "encoder"
    if key_tokens is not None:
        kind = "cross"
    elif stitched or all(_is_causal(rows) for _, rows in layers.values()):
        kind = "decoder"
    made = []
    for number, (_, rows) in layers.items():
        heads, queries, keys = rows.shape
        readings = Readings(backend="given", queries=np.arange(queries), rows=rows)
        made.append(_layer(number, kind, heads, queries, keys, readings))
    return Record(sides, tuple(made), _provenance("given weights"))


def from_qkv(
    query: Any,
    key: Any = None,
    value: Any = None,
    tokens: Sequence[str] = (),
    mask: Any = None,
    *,
    scale: float | None = None,
    key_tokens: Sequence[str] | None = None,
    text: str | None = None,
    offsets: Sequence[tuple[int, int]] | None = None,
    special: Sequence[bool] | None = None,
    item: int | None = None,
) -> Record:
    """A record of Q, K and V, from which every weight is computed when it is asked for.

    query, key, value: `(dim)`, `(tokens, dim)`, `(heads, tokens, dim)` or `(batch, heads, tokens,
        dim)`, or tuples of such over layers; key and value may have fewer heads. value may be
        None: then nothing is known of results. Or as query alone a mapping with names as
        'blocks.0.attn.hook_q', each `(batch, tokens, heads, dim)` (TransformerLens); it needs
        `mask`, regard.Mask(causal=True) for most models.
    mask: None, a Mask, a bool array (allowed) or a float one (bias); for every layer.
    scale: what scores are multiplied with; None is 1/√dim.
    tokens and the others: as in `from_weights`.

    Raises InputError for shapes that do not belong together or do not fit the tokens.
    """
    layers = vector_layers(query, key, value, mask, item)
    side = _side(tokens, text, offsets, special)
    sides = (side,) if key_tokens is None else (side, _labels("keys", key_tokens))
    mask = as_mask(mask)
    kind: Literal["encoder", "decoder", "cross"] = "decoder" if mask.causal else "encoder"
    if key_tokens is not None:
        kind = "cross"
    made = []
    for number, (name, (of_query, of_key, of_value)) in layers.items():
        queries, keys = of_query.shape[1], of_key.shape[1]
        _check_fit(name, queries, keys, sides, stitched=False)
        call = Call(scale=checked_scale(scale, of_query.shape[2]), mask=mask)
        _try(of_query, of_key, of_value, call)
        made.append(
            _layer(
                number, kind, of_query.shape[0], queries, keys, Readings(backend="given"),
                call=call, query=of_query, key=of_key, value=of_value,
            )
        )  # fmt: skip
    return Record(sides, tuple(made), _provenance("given Q, K, V"))


def _layer(
    number: int,
    kind: Literal["encoder", "decoder", "cross"],
    heads: int,
    queries: int,
    keys: int,
    readings: Readings,
    **kept: Any,
) -> Layer:
    first = 0 if kind == "cross" else keys - queries
    return Layer(
        number=number,
        name=f"layer {number}",
        kind=kind,
        heads=heads,
        query_side=0,
        key_side=1 if kind == "cross" else 0,
        query_positions=np.arange(first, first + queries),
        key_positions=np.arange(keys),
        readings=readings,
        **kept,
    )


def _side(
    tokens: Sequence[str],
    text: str | None,
    offsets: Sequence[tuple[int, int]] | None,
    special: Sequence[bool] | None,
) -> Side:
    labels = _labels("text", tokens, special)
    if (text is None) != (offsets is None):
        missing = "text" if text is None else "offsets"
        raise InputError(f"{missing} is None: words need the text and the offsets of its tokens.")
    if text is None or offsets is None:
        return labels
    pairs = [(int(start), int(stop)) for start, stop in offsets]
    return Side.of_text(text, labels.tokens, pairs, labels.special)


def _labels(name: str, tokens: Sequence[str], special: Sequence[bool] | None = None) -> Side:
    if isinstance(tokens, str):
        raise InputError(
            f"tokens is the text {tokens[:40]!r}: expected a list, one string a token; "
            "tokens.split() makes one."
        )
    listed = list(tokens)
    for token in listed:
        if not isinstance(token, str):
            raise InputError(f"tokens holds {token!r}: expected strings, as the vocabulary has.")
    if special is None:
        special = [bool(_SPECIAL.fullmatch(token)) for token in listed]
    if len(special) != len(listed):
        raise InputError(f"special has {len(special)} flags for {len(listed)} tokens.")
    return Side.of_labels(listed, special, name=name)


def _check_fit(name: str, queries: int, keys: int, sides: tuple[Side, ...], stitched: bool) -> None:
    count = len(sides[0].tokens)
    if len(sides) > 1:
        if (queries, keys) != (count, len(sides[1].tokens)):
            raise InputError(
                f"{name} has {queries} queries and {keys} keys; there are {count} tokens and "
                f"{len(sides[1].tokens)} key_tokens: expected as many."
            )
    elif keys != count and not (stitched and keys + 1 == count):
        raise InputError(
            f"{name} has {keys} keys and there are {count} tokens: expected a token for each key, "
            "special ones included."
        )
    elif queries > keys:
        raise InputError(
            f"{name} has {queries} queries and {keys} keys: for cross-attention give key_tokens."
        )


def _check_weights(name: str, rows: Float[np.ndarray, "heads queries keys"]) -> None:
    if not np.isfinite(rows).all():
        raise InputError(f"{name} holds NaN or an infinity: expected weights from 0 to 1.")
    if rows.size and rows.min() < 0:
        raise InputError(
            f"{name} holds {rows.min():.3g}: weights are not negative. Are these scores, from "
            "before the softmax? regard.steps_from_scores begins there."
        )
    sums = rows.sum(axis=2)
    if sums.size and sums.max() > 1 + _ROUNDING:
        head, row = np.unravel_index(int(sums.argmax()), sums.shape)
        raise InputError(
            f"{name} has a row that sums to {sums.max():.4g} (head {head}, row {row}): expected 1 "
            "at most. Is the model in training, with dropout? Is the last axis the keys?"
        )


def _is_causal(rows: Float[np.ndarray, "heads queries keys"]) -> bool:
    """Whether there are weights that a later key might have, and all of them are 0."""
    above = np.triu(np.ones(rows.shape[1:], np.bool_), 1 + rows.shape[2] - rows.shape[1])
    return bool(above.any()) and not rows[:, above].any()


def _try(query: Any, key: Any, value: Any, call: Call) -> None:
    """Raises InputError if these cannot be attended with; reads no row."""
    from regard.mechanism.api import readings

    readings(query, key, value, ask=Ask(queries=()), mask=call.mask, scale=call.scale)


def _provenance(model: str) -> dict[str, str]:
    try:
        version = metadata.version("regard")
    except metadata.PackageNotFoundError:  # run from a source tree
        version = "unknown"
    return {"model": model, "regard": version, "numpy": np.__version__}
