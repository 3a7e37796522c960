"""How far a result may be from the exact one: judged by what plain arithmetic loses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from dense import Dense, attend, chosen, mixed, picked, readings, share, top_index

ACCUMULATED: Final = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
}
EPS: Final = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}

READINGS: Final = (
    *("top_index", "top_weight", "top_share", "entropy", "lse", "max_score", "received"),
    *("eligible", "rows", "columns", "group_mass", "thumbnail"),
)

ULPS: Final = 4
"""What a different order of summation may change beside the plain computation's own error."""


def error_allowed(exact: np.ndarray, plain: np.ndarray, size: np.ndarray, eps: float) -> np.ndarray:
    """The norm that each row's error may have; rows are the last axis.

    Twice the error of the same formula computed plainly in the same dtype, plus a few ulp of
    `size`, which is the size of what was added up for each number. (Without the last part a row
    where plain arithmetic happened to be lucky would fail an equally good one.)
    """
    both = np.isfinite(exact) & np.isfinite(plain)
    with np.errstate(all="ignore"):
        fair = np.linalg.norm(np.where(both, plain - exact, 0).astype(np.float64), axis=-1)
        sizes = np.where(np.isfinite(exact) & np.isfinite(size), size, 0).astype(np.float64)
        return 2 * fair + ULPS * eps * np.linalg.norm(sizes, axis=-1)


def check_close(
    name: str, ours: Any, exact: np.ndarray, plain: np.ndarray, size: np.ndarray, eps: float
) -> None:
    """Assert that every row of `ours` is as near to `exact` as `error_allowed` says.

    What is not finite must be so in both. (Which of NaN and infinity it is can depend on whether a
    weight underflows; a score's -inf cannot.)
    """
    ours = np.asarray(ours).astype(exact.dtype)
    assert ours.shape == exact.shape, f"{name}: shape {ours.shape}, expected {exact.shape}"
    finite = np.isfinite(exact)
    wrong = np.isfinite(ours) != finite
    assert not wrong.any(), f"{name}: not finite in one only, at {np.argwhere(wrong)[:4].tolist()}"
    lowest = (exact == -np.inf) & (name in ("lse", "max_score"))
    assert (ours[lowest] == -np.inf).all(), f"{name}: expected -inf, got {ours[lowest][:4]}"
    with np.errstate(all="ignore"):
        difference = np.where(finite, ours - exact, 0).astype(np.float64)
    error, allowed = np.linalg.norm(difference, axis=-1), error_allowed(exact, plain, size, eps)
    if (error > allowed).any():
        excess = np.where(error > allowed, error / np.maximum(allowed, 1e-300), 0)
        row = np.unravel_index(np.argmax(excess), excess.shape)
        raise AssertionError(
            f"{name}: row {tuple(map(int, row))} is {error[row]:.3g} from exact, allowed are "
            f"{allowed[row]:.3g}; {int((error > allowed).sum())} of {error.size} rows are wrong.\n"
            f"ours  {ours[row][:6]}\nexact {exact[row][:6]}"
        )


def check_result(output: Any, read: Any, given: Any, ask: Any) -> None:
    """Assert that an output (None: not computed) and every reading are as exact as they can be.

    given: a `cases.Given`. What was not asked for must be None.
    """
    exact, plain, eps = dense_of(given)
    if output is not None:
        check_output(output, given, exact)
    wanted, fair = readings(exact, ask), readings(plain, ask)
    for name in READINGS:
        assert (getattr(read, name) is None) == (name not in wanted), f"{name} asked or not"
    queries = chosen(ask.queries, exact.weights.shape[2])
    assert read.queries.tolist() == queries.tolist()
    sizes = sizes_of(exact, ask, queries)
    if "top_index" in wanted:
        index = four_axes(read.top_index, exact)
        assert index.dtype == np.int32
        check_top(index, exact, plain, queries, eps)
        # near ties may be in another order: the numbers of the keys that were named are checked
        weights, fairly = exact.weights[:, :, queries], plain.weights[:, :, queries]
        wanted["top_weight"] = picked(weights, index, weights)
        fair["top_weight"] = picked(fairly, index, weights)
        sizes["top_weight"] = picked(sizes.pop("weights"), index, weights)
        if ask.share:
            wanted["top_share"] = np.where(
                without_share(exact, queries, eps)[..., None],
                four_axes(read.top_share, exact),
                picked(share(exact)[:, :, queries], index, weights),
            )
            fair["top_share"] = picked(share(plain)[:, :, queries], index, weights)
            sizes["top_share"] = picked(sizes.pop("share"), index, weights)
    if "eligible" in wanted:
        eligible = four_axes(read.eligible, exact)
        assert eligible.dtype == np.int32
        assert (eligible == wanted["eligible"]).all(), "eligible"
    for name in wanted.keys() - {"top_index", "eligible"}:
        numbers = four_axes(getattr(read, name), exact)
        assert str(numbers.dtype) == ACCUMULATED[given.dtype], name
        parts = (numbers, wanted[name], fair[name], sizes[name])
        if name in ("entropy", "lse", "max_score"):  # each row's number is a row of its own
            parts = tuple(part[..., None] for part in parts)
        check_close(name, *parts, eps)


def check_output(output: Any, given: Any, exact: Dense) -> None:
    """Assert that an output has its query's dtype and shape and is as exact as it can be."""
    fair = attend(*given.exact, **given.exact_options, **plainly(given.dtype)).output
    with np.errstate(all="ignore"):
        size = mixed(exact.weights, exact.seen, np.abs(exact.value))
        if given.dtype in ("float32", "float64"):
            size = size * exact.reach[..., None]
    assert dtype_name(output) == given.dtype
    assert tuple(output.shape) == (*exact.leading, *exact.output.shape[2:])
    check_close("output", four_axes(output, exact), exact.output, fair, size, EPS[given.dtype])


def dense_of(given: Any) -> tuple[Dense, Dense, float]:
    """The exact answer, the plain one in the dtype that sums are kept in, and that one's ulp."""
    wide = np.longdouble if given.dtype == "float64" else np.float64
    kept = ACCUMULATED[given.dtype]
    exact = attend(*given.exact, **given.exact_options, dtype=wide)
    plain = attend(*given.exact, **given.exact_options, dtype=np.dtype(kept).type)
    return exact, plain, EPS[kept]


def sizes_of(exact: Dense, ask: Any, queries: np.ndarray) -> dict[str, np.ndarray]:
    """For every reading, the size of what is added up: a score's error is relative in a weight."""
    spread = replace(exact, weights=exact.weights * exact.reach[..., None])
    sizes = readings(spread, replace(ask, top=0, share=False))
    reach, weights = exact.reach[:, :, queries], exact.weights[:, :, queries]
    with np.errstate(all="ignore"):
        sizes["weights"] = weights * reach[..., None]
        if ask.entropy:
            each = np.where(weights == 0, 0, weights * np.abs(np.log(weights)))
            sizes["entropy"] = reach * (1 + each.sum(-1))
        if ask.lse or ask.max_score:
            sizes["lse"] = sizes["max_score"] = reach + np.nan_to_num(
                np.abs(exact.lse[:, :, queries]), posinf=0
            )
        if ask.share:
            z = np.linalg.norm(exact.output[:, :, queries].astype(np.float64), axis=-1)[..., None]
            v = np.linalg.norm(exact.value.astype(np.float64), axis=-1)[:, :, None]
            terms = np.where(weights == 0, 0, weights * v)
            # z, whose terms may cancel, stands three times in w (v . z) / (z . z)
            cancelled = 1 + 3 * terms.sum(-1)[..., None] / z
            sizes["share"] = reach[..., None] * terms / z * cancelled
    return sizes


def without_share(exact: Dense, queries: np.ndarray, eps: float) -> np.ndarray:
    """Rows whose result is lost in rounding, or too small for its dtype: of nothing, no share.

    (A row that sees nothing is not among them: its result is 0 for certain.)
    """
    weights = exact.weights[:, :, queries]
    with np.errstate(all="ignore"):
        z = np.linalg.norm(exact.output[:, :, queries].astype(np.float64), axis=-1)
        v = np.linalg.norm(exact.value.astype(np.float64), axis=-1)[:, :, None]
        added = np.where(weights == 0, 0, weights * v).sum(-1)
        smallest = np.finfo(np.float32 if eps > 2**-30 else np.float64).tiny / eps
        lost = z <= np.maximum(64 * eps * exact.reach[:, :, queries] * added, smallest)
    return lost & (added > 0)


def check_top(
    index: np.ndarray, exact: Dense, plain: Dense, queries: np.ndarray, eps: float
) -> None:
    """Assert that `index` names the largest weights, in order where their gap is beyond error."""
    weights, seen = exact.weights[:, :, queries], exact.seen[:, :, queries]
    if weights.shape[-1] == 0:
        assert (index == -1).all()
        return
    wanted = top_index(weights, seen, index.shape[-1] + 1)
    size = weights * exact.reach[:, :, queries, None]
    slack = 2 * error_allowed(weights, plain.weights[:, :, queries], size, eps)[..., None]
    assert ((index == -1) == (wanted[..., :-1] == -1)).all(), "top_index: places that hold -1"
    named = picked(weights, index, weights)
    best = picked(weights, wanted, weights)
    gap = -np.diff(best, axis=-1)  # to the next one down
    with np.errstate(invalid="ignore"):
        alone = gap > slack
        alone[..., 1:] &= gap[..., :-1] > slack
        far = np.abs(named - best[..., :-1]) > slack
    assert not far.any(), f"top_index: not the largest weights, at {np.argwhere(far)[:4].tolist()}"
    assert (index == wanted[..., :-1])[alone].all(), "top_index: another order"
    for row in np.ndindex(index.shape[:-1]):
        keys = index[row][index[row] >= 0]
        assert seen[row][keys].all(), f"top_index: row {row} names a key that it may not see"
        assert len(set(keys.tolist())) == len(keys), f"top_index: row {row} names a key twice"


def four_axes(array: Any, exact: Dense) -> np.ndarray:
    """A result as NumPy with batch and heads in front, its leading axes checked."""
    array = array.float() if dtype_name(array) == "bfloat16" else array
    array = np.asarray(array)
    assert array.shape[: len(exact.leading)] == exact.leading
    return array.reshape(exact.seen.shape[:2] + array.shape[len(exact.leading) :])


def dtype_name(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")


def plainly(dtype: str) -> dict[str, Any]:
    """How `dense.attend` computes plainly in a dtype: 16 bits are rounded to after each step."""
    if dtype == "float16":
        return {"dtype": np.float32, "rounded": lambda a: a.astype(np.float16).astype(np.float32)}
    if dtype == "bfloat16":
        return {"dtype": np.float32, "rounded": to_bfloat16}
    return {"dtype": np.dtype(dtype).type}


def to_bfloat16(array: np.ndarray) -> np.ndarray:
    """float32 numbers rounded, ties to even, to the 8 bits of precision of bfloat16."""
    array = np.asarray(array, np.float32)
    bits = array.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isfinite(array), bits.astype(np.uint32).view(np.float32), array)
