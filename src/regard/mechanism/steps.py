"""The four steps spelled out, one visible array each: what everything else is checked against.

1. `scores`    Q·Kᵀ
2. `scaled`    × scale, by default 1/√d_k;  `capped` by the softcap;  `masked`: + bias, -inf unseen
3. `weights`   softmax over what a row sees: `exponentials` ÷ `row_sums`
4. `output`    weights · V

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, and for what came later
the ONNX operator Attention (softcap, order) and gpt-oss (sinks).

All of it holds queries × keys numbers several times over: for few words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import as_mask
from regard.mechanism.numbers import (
    checked_dtype,
    checked_scale,
    checked_sinks,
    checked_softcap,
    floats,
    plain,
)
from regard.mechanism.readings import check_budget
from regard.mechanism.scaling import jacobian_size
from regard.mechanism.sizes import AXES, Sizes, measure

if TYPE_CHECKING:
    import os

    from jaxtyping import Bool, Float
    from matplotlib.figure import Figure

    from regard.mechanism.mask import FlatMask, Mask
    from regard.views.page import Page

Words = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Steps:
    """Scaled dot-product attention with every intermediate kept, all in one dtype.

    Leading axes (`...`) are those of the inputs: none, heads, or batch and heads; `query`, `key`
    and `value` are as given, so key and value may have fewer heads. `print(steps)` shows the four
    steps, `steps.aloud()` says them in words, `steps.head(h)` picks one head.

    query, key, value: None where the steps began at given scores (value: where none was given).
    d_k: the query's dim. scale, softcap (None: not capped): the numbers of step 2.
    sinks: `(heads)` or None. bias: `(..., queries, keys)` or None.
    seen: bool, which keys each query may see.
    scores: Q·Kᵀ, raw. scaled: × scale. capped: softcap · tanh(scaled / softcap), or `scaled`
        itself without a softcap. masked: capped + bias, -inf where not seen. The first three show
        every pair, seen or not. (ONNX qk_matmul_output_mode 0, 1, 2, 3: scaled, capped, masked,
        weights.)
    row_max `(..., queries)`: the largest masked score, sinks excluded; -inf if nothing is seen.
    shift `(..., queries)`: what is subtracted before the exponential: row_max, or a larger sink.
    exponentials: e^(masked - shift), 0 where not seen.
    row_sums `(..., queries)`: their sum and e^(sink - shift); 0 if there is neither.
    weights: exponentials / row_sums, 0 where not seen. With sinks a row sums to less than 1.
    lse `(..., queries)`: ln Σ e^masked, sinks included: weight = e^(masked - lse).
    output `(..., queries, value_dim)`: weights · V over what each row sees.
    words: the words of the queries and of the keys, or None.
    """

    query: Float[np.ndarray, "*leading queries dim"] | None
    key: Float[np.ndarray, "*kv_leading keys dim"] | None
    value: Float[np.ndarray, "*kv_leading keys value_dim"] | None
    d_k: int
    scale: float
    softcap: float | None
    sinks: Float[np.ndarray, " heads"] | None
    bias: Float[np.ndarray, "*leading queries keys"] | None
    seen: Bool[np.ndarray, "*leading queries keys"]
    scores: Float[np.ndarray, "*leading queries keys"]
    scaled: Float[np.ndarray, "*leading queries keys"]
    capped: Float[np.ndarray, "*leading queries keys"]
    masked: Float[np.ndarray, "*leading queries keys"]
    row_max: Float[np.ndarray, "*leading queries"]
    shift: Float[np.ndarray, "*leading queries"]
    exponentials: Float[np.ndarray, "*leading queries keys"]
    row_sums: Float[np.ndarray, "*leading queries"]
    weights: Float[np.ndarray, "*leading queries keys"]
    lse: Float[np.ndarray, "*leading queries"]
    output: Float[np.ndarray, "*leading queries value_dim"] | None
    words: Words | None

    def head(self, *index: int) -> Steps:
        """The steps of one head, 2-D: head(h) of 3-D steps, head(b, h) of 4-D ones."""
        leading = self.scores.shape[:-2]
        if len(index) != len(leading):
            raise InputError(
                f"head{index} names {len(index)} axes and these steps have {len(leading)} leading "
                f"ones {leading}: expected {('head()', 'head(h)', 'head(b, h)')[len(leading)]}."
            )
        if any(not 0 <= place < size for place, size in zip(index, leading, strict=True)):
            raise InputError(f"head{index} is outside the leading axes {leading}, counted from 0.")
        of_key = index
        for array in (self.key, self.value):
            if array is not None and index:
                of_key = (*index[:-1], index[-1] // (leading[-1] // array.shape[-3]))
        parts = {
            name: array[of_key if name in ("key", "value") else index]
            for name, array in vars(self).items()
            if isinstance(array, np.ndarray) and name != "sinks"
        }
        if self.sinks is not None and index:
            parts["sinks"] = self.sinks[[index[-1]]]
        return replace(self, **parts)

    def share(self) -> Float[np.ndarray, "*leading queries keys"]:
        """Each key's exact part of the result z: w_j (v_j · z) / |z|².

        Over all keys it sums to 1, and it can be negative. 0 for keys that are not seen; NaN for
        those that are where the result is exactly 0. Raises InputError without a value.
        """
        if self.value is None or self.output is None:
            raise InputError("share needs the value vectors: give value=...")
        value = _per_query_head(self.value, self.scores)
        with np.errstate(all="ignore"):
            size = np.abs(self.output).max(axis=-1, keepdims=True, initial=0)
            unit = self.output / size  # so that |z|² neither under- nor overflows
            along = np.matmul(unit, np.swapaxes(value, -1, -2))
            share = self.weights * along / (size * (unit**2).sum(axis=-1, keepdims=True))
        return _only(self.seen, share)

    def entropy(self) -> Float[np.ndarray, "*leading queries"]:
        """-Σ p ln p of each row's weights, in nats; a weight of 0 adds nothing."""
        with np.errstate(all="ignore"):
            logs = np.log(np.where(self.weights == 0, 1, self.weights))
            total: Float[np.ndarray, " *leading"] = (self.weights * logs).sum(axis=-1)
        return 0 - total  # and not -total, which is -0 where one weight is 1

    def sink_weight(self) -> Float[np.ndarray, "*leading queries"]:
        """What the sink takes of each row: e^(sink - lse); 0 without sinks."""
        if self.sinks is None:
            return np.zeros_like(self.lse)
        with np.errstate(all="ignore"):
            sink = self.sinks[:, None] if self.lse.ndim > 1 else self.sinks
            weight: Float[np.ndarray, "*leading queries"] = np.exp(
                _only(sink != self.lse, sink - self.lse)
            )
        return weight

    def gradient_size(self) -> Float[np.ndarray, "*leading queries"]:
        """Frobenius norm of the derivative of each row of weights with respect to its raw scores.

        That is the softmax's Jacobian diag(w) - w wᵀ times, by the chain rule, the scale (and the
        slope of the softcap).
        """
        with np.errstate(all="ignore"):
            slope = np.full_like(self.weights, self.scale)
            if self.softcap is not None:
                slope = self.scale * (1 - (self.capped / self.softcap) ** 2)
            return jacobian_size(self.weights, self.sink_weight(), _only(self.seen, slope))

    def unscaled(self) -> Steps:
        """The same steps with step 2 left out, scale 1: what dividing by √d_k prevents."""
        return _compute(
            self.scores, self.seen, self.value, query=self.query, key=self.key, d_k=self.d_k,
            scale=1.0, softcap=self.softcap, sinks=self.sinks, bias=self.bias, words=self.words,
        )  # fmt: skip

    def aloud(self) -> str:
        """The steps in sentences, one a line; of a 2-D Steps."""
        from regard.views.aloud import aloud

        return aloud(self)

    def figure(self) -> Figure:
        """The four steps of 2-D steps as four panels: see `regard.views.figure.steps`."""
        from regard.views.figure.steps import steps_figure

        return steps_figure(self)

    def page(self, path: str | os.PathLike[str] | None = None, *, budget: int = 10_000_000) -> Page:
        """One HTML file with every number: see `regard.views.page.page_of_steps`."""
        from regard.views.page import page_of_steps

        return page_of_steps(self, path, budget=budget)

    def _repr_html_(self) -> str:
        from regard.views.page import steps_in_notebook

        return steps_in_notebook(self)

    def __str__(self) -> str:
        from regard.views.steps_text import steps_text

        return steps_text(self)

    def __repr__(self) -> str:
        leading = "".join(f"{size} × " for size in self.scores.shape[:-2])
        return (
            f"<Steps {leading}{self.scores.shape[-2]} queries × {self.scores.shape[-1]} keys, "
            f"d_k {self.d_k}, {self.scores.dtype}>"
        )


def steps(
    query: Any,
    key: Any,
    value: Any,
    *,
    mask: Mask | Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    words: Any = None,
    dtype: Any = "float64",
) -> Steps:
    """softmax(Q·Kᵀ/√d_k)·V, a step at a time.

    query `(..., queries, dim)`, key `(..., keys, dim)`, value `(..., keys, value_dim)` with
    leading axes none, heads, or batch and heads; query heads a multiple of key heads. NumPy
    arrays, CPU tensors without gradients, or nested lists; whole numbers too. All are converted
    to `dtype`, "float64" or "float32", in which every step is computed and rounded.
    mask: a Mask, a bool array (allowed) or a float array (bias). scale: None is 1/√d_k.
    sinks: `(heads)`, a score each row has beside its keys'. words: one list, or a tuple of two
    lists, of the queries and of the keys.

    Raises InputError for anything else, MemoryBudgetError for too many words.
    """
    dtype = checked_dtype(dtype)
    query, key, value = (
        floats(name, array, dtype)
        for name, array in (("query", query), ("key", key), ("value", value))
    )
    sizes = measure(query, key, value)
    _check_memory(sizes.batch * sizes.heads * sizes.queries * sizes.keys, dtype)
    flat = as_mask(mask).flatten(sizes)
    bias = None if flat.bias is None else _leading(floats("bias", flat.bias, dtype), sizes)
    with np.errstate(all="ignore"):
        scores = np.matmul(query, np.swapaxes(_per_query_head(key, query), -1, -2))
    return _compute(
        scores,
        _leading(_seen(flat, sizes), sizes),
        value,
        query=query,
        key=key,
        d_k=sizes.dim,
        scale=checked_scale(scale, sizes.dim),
        softcap=checked_softcap(softcap),
        sinks=checked_sinks(sinks, sizes.heads, dtype),
        bias=bias,
        words=_checked_words(words, sizes.queries, sizes.keys),
    )


def steps_from_scores(scores: Any, *, d_k: int, value: Any = None, words: Any = None) -> Steps:
    """Steps 2 to 4 from given scores Q·Kᵀ `(..., queries, keys)`, in float64.

    d_k: the number of columns that Q and K had. value: as in `steps`; without one there is no
    output. Raises InputError for shapes that do not belong together.
    """
    scores = floats("scores", scores, np.float64)
    if scores.ndim not in AXES:
        raise InputError(
            f"scores has {scores.ndim} axes {scores.shape}: expected (queries, keys), "
            "(heads, queries, keys) or (batch, heads, queries, keys)."
        )
    if isinstance(d_k, bool) or not isinstance(d_k, (int, np.integer)) or d_k < 1:
        raise InputError(f"d_k is {d_k!r}: expected the number of columns of Q and K, 1 or more.")
    _check_memory(scores.size, scores.dtype)
    if value is not None:
        value = floats("value", value, np.float64)
        _check_value(value, scores)
    return _compute(
        scores,
        np.ones(scores.shape, dtype=bool),
        value,
        query=None,
        key=None,
        d_k=int(d_k),
        scale=checked_scale(None, int(d_k)),
        softcap=None,
        sinks=None,
        bias=None,
        words=_checked_words(words, *scores.shape[-2:]),
    )


def project(
    x: Any, w_query: Any, w_key: Any, w_value: Any
) -> tuple[
    Float[np.ndarray, "tokens dim"],
    Float[np.ndarray, "tokens dim"],
    Float[np.ndarray, "tokens value_dim"],
]:
    """Query, key and value: x @ w for each of three weight matrices, in float64.

    x `(tokens, d_model)`; w_query, w_key `(d_model, dim)`; w_value `(d_model, value_dim)`.
    Raises InputError that names the matrix and both shapes.
    """
    x = floats("x", x, np.float64)
    if x.ndim != 2:
        raise InputError(f"x has shape {x.shape}: expected (tokens, d_model), one row a word.")
    weights = {"w_query": w_query, "w_key": w_key, "w_value": w_value}
    for name, weight in weights.items():
        weights[name] = weight = floats(name, weight, np.float64)
        if weight.ndim != 2 or weight.shape[0] != x.shape[1]:
            raise InputError(
                f"{name} has shape {weight.shape} and x has shape {x.shape}: expected "
                f"({x.shape[1]}, columns), as many rows as x has columns."
            )
    if weights["w_query"].shape[1] != weights["w_key"].shape[1]:
        raise InputError(
            f"w_query has shape {weights['w_query'].shape} and w_key has shape "
            f"{weights['w_key'].shape}: a dot product q·k needs equally many columns."
        )
    with np.errstate(all="ignore"):
        query, key, value = (np.matmul(x, weight) for weight in weights.values())
    return query, key, value


def _compute(
    scores: Float[np.ndarray, "*leading queries keys"],
    seen: Bool[np.ndarray, "*leading queries keys"],
    value: Float[np.ndarray, "*kv_leading keys value_dim"] | None,
    *,
    query: Float[np.ndarray, "*leading queries dim"] | None,
    key: Float[np.ndarray, "*kv_leading keys dim"] | None,
    d_k: int,
    scale: float,
    softcap: float | None,
    sinks: Float[np.ndarray, " heads"] | None,
    bias: Float[np.ndarray, "*leading queries keys"] | None,
    words: Words | None,
) -> Steps:
    kind = scores.dtype.type  # keeps a float32 step float32
    with np.errstate(all="ignore"):  # NaN and infinities are arithmetic here, not accidents
        scaled = scores * kind(scale)
        capped = scaled if softcap is None else kind(softcap) * np.tanh(scaled / kind(softcap))
        biased = capped if bias is None else capped + bias
        masked = np.where(seen, biased, kind(-np.inf))

        row_max = masked.max(axis=-1, initial=-np.inf)
        shift = row_max
        if sinks is not None:
            sink = np.broadcast_to(sinks[:, None] if scores.ndim > 2 else sinks, row_max.shape)
            shift = np.maximum(row_max, sink)
        exponentials = _only(seen, np.exp(masked - shift[..., None]))
        row_sums = exponentials.sum(axis=-1)
        if sinks is not None:
            row_sums = row_sums + np.exp(_only(sink != shift, sink - shift))
        weights = _only(seen, exponentials / row_sums[..., None])
        lse = shift + np.log(row_sums)
        output = None if value is None else _mix(weights, seen, value)
    return Steps(
        query=query, key=key, value=value, d_k=d_k, scale=scale, softcap=softcap, sinks=sinks,
        bias=bias, seen=seen, scores=scores, scaled=scaled, capped=capped, masked=masked,
        row_max=row_max, shift=shift, exponentials=exponentials, row_sums=row_sums,
        weights=weights, lse=lse, output=output, words=words,
    )  # fmt: skip


def _only(
    where: Bool[np.ndarray, "..."], numbers: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """The numbers where it holds, 0 elsewhere: even for NaN, as multiplying by 0 would not."""
    return np.where(where, numbers, numbers.dtype.type(0))


def _mix(
    weights: Float[np.ndarray, "*leading queries keys"],
    seen: Bool[np.ndarray, "*leading queries keys"],
    value: Float[np.ndarray, "*kv_leading keys value_dim"],
) -> Float[np.ndarray, "*leading queries value_dim"]:
    """weights · V, where 0 × NaN of a key that is not seen is nothing rather than NaN."""
    value = _per_query_head(value, weights)
    finite = np.isfinite(value).all(axis=-1, keepdims=True)
    output: Float[np.ndarray, "*leading queries value_dim"]
    output = np.matmul(weights, _only(finite, value))
    wild = _only(~finite, value)
    for key in range(value.shape[-2]):
        if not finite[..., key, :].all():
            terms = weights[..., key, None] * wild[..., key, None, :]
            output = output + _only(seen[..., key, None], terms)
    return output


def _seen(flat: FlatMask, sizes: Sizes) -> Bool[np.ndarray, "batch heads queries keys"]:
    """Which keys each query may see, every pair asked one by one."""
    keys = np.arange(sizes.keys)
    # (batch, queries, keys): how far after the query's own position each key is
    after = keys - (np.arange(sizes.queries)[:, None] + flat.offset[:, None, None])
    seen: Bool[np.ndarray, "..."]
    seen = (-flat.left <= after) & (after <= flat.right) & (keys < flat.lengths[:, None, None])
    if flat.query_segments is not None and flat.key_segments is not None:
        of_query, of_key = flat.query_segments[:, :, None], flat.key_segments[:, None, :]
        seen = seen & (of_query == of_key) & (of_query >= 0)
    seen = seen[:, None].repeat(sizes.heads, axis=1)
    if flat.allowed is not None:
        seen = seen & plain("allowed", flat.allowed)
    if flat.bias is not None:
        seen = seen & (plain("bias", flat.bias) != -np.inf)
    return seen


def _per_query_head(
    array: Float[np.ndarray, "*kv_leading keys any"],
    like: Float[np.ndarray, "*leading queries any"],
) -> Float[np.ndarray, "*leading keys any"]:
    """Key heads repeated so that query head h meets key head h // (heads / kv_heads)."""
    if array.ndim == 2 or array.shape[-3] == like.shape[-3]:
        return array
    return array.repeat(like.shape[-3] // array.shape[-3], axis=-3)


def _leading(array: np.ndarray[Any, Any], sizes: Sizes) -> np.ndarray[Any, Any]:
    """(batch, heads, queries, keys) with the leading axes the caller's arrays had."""
    return array.reshape(*sizes.leading, sizes.queries, sizes.keys)


def _check_memory(pairs: int, dtype: np.dtype[Any]) -> None:
    check_budget(
        f"steps keeps seven matrices of {pairs} numbers, which",
        7 * pairs,
        dtype.itemsize,
        "regard.attention(..., ask=regard.Ask(...)) reads long texts in linear memory.",
    )


def _check_value(
    value: Float[np.ndarray, "..."], scores: Float[np.ndarray, "*leading queries keys"]
) -> None:
    wrong = value.ndim != scores.ndim or value.shape[-2] != scores.shape[-1]
    if not wrong and scores.ndim > 2:
        heads, kv_heads = scores.shape[-3], value.shape[-3]
        grouped = heads == kv_heads or (kv_heads > 0 and heads % kv_heads == 0)
        wrong = not grouped or value.shape[:-3] != scores.shape[:-3]
    if wrong:
        raise InputError(
            f"value has shape {value.shape} and scores has shape {scores.shape}: expected the same "
            "leading axes, then one row for each key, that is each column of scores."
        )


def _checked_words(words: Any, queries: int, keys: int) -> Words | None:
    if words is None:
        return None
    if isinstance(words, str):
        raise InputError(f"words is the text {words!r}: expected a list; words.split() makes one.")
    two = isinstance(words, tuple) and len(words) == 2 and not isinstance(words[0], str)
    if not two and queries != keys:
        raise InputError(
            f"words is one list, with {queries} queries and {keys} keys: "
            "give a tuple (words of the queries, words of the keys)."
        )
    sides = []
    for side, given, count in zip(
        ("queries", "keys"), words if two else (words, words), (queries, keys), strict=True
    ):
        labels = tuple(given)
        if len(labels) != count or not all(isinstance(label, str) for label in labels):
            raise InputError(
                f"words of the {side} are {len(labels)}, {_some(labels)}: "
                f"expected {count} strings, one for each of the {side}."
            )
        sides.append(labels)
    return sides[0], sides[1]


def _some(labels: tuple[Any, ...]) -> str:
    return ", ".join(repr(label) for label in labels[:4]) + (", ..." if len(labels) > 4 else "")
