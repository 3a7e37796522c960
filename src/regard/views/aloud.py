"""Reading steps aloud: each row of scores, of weights and of Z as a sentence that is true of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.views.cells import isolate
from regard.views.digits import alike, fraction, number_text, small
from regard.views.labels import key_labels, one_text, query_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jaxtyping import Float

    from regard.mechanism.steps import Steps

    Places = np.ndarray[tuple[int], np.dtype[np.intp]]

ROWS: Final = 12  # rows read aloud; the others are counted
NAMED: Final = 3  # words named in a sentence; the others are summed
_REMARK: Final = "Weight is not part:"
_APART: Final = 0.1  # weight and share this far apart are remarked on


def aloud(steps: Steps) -> str:
    """`sentences`, one a line."""
    return "\n".join(sentences(steps))


def sentences(steps: Steps) -> list[str]:
    """What the rows of scores, of weights and of Z say, in order. Raises InputError beyond 2-D."""
    if steps.scores.ndim != 2:
        leading = steps.scores.shape[:-2]
        raise InputError(
            f"these steps have leading axes {leading}: read one head aloud, "
            f"steps.head({', '.join('0' for _ in leading)}).aloud()."
        )
    rows = range(min(len(steps.scores), ROWS))
    said = [row_of_scores(steps, row) for row in rows]
    said += [*asymmetry(steps), *no_cosine(steps), *division(steps)]
    said += [row_of_weights(steps, row) for row in rows]
    for row in rows:
        because = not any(sentence.startswith(_REMARK) for sentence in said)  # explained once
        said += row_of_z(steps, row, because=because)
    if len(steps.scores) > ROWS:
        said.append(f"So far the first {ROWS} of {len(steps.scores)} rows.")
    return said


def row_of_scores(steps: Steps, row: int) -> str:
    """Which key a query matches best, ties and all."""
    me, name, seen = _names(steps, row)
    if not len(seen):
        return f"{me} may see nothing: it is compared with no word."
    scores = steps.scores[row, seen]
    if np.isnan(scores).any():
        return f"The scores of {me} hold NaN, so there is no best match in its row."
    texts = dict(zip(seen.tolist(), alike(scores), strict=True))
    if len(seen) == 1:
        return f"{me} may see only {name(seen[0])}; their score is {texts[int(seen[0])]}."
    among = "" if steps.seen[row].all() else "Among the words it may see, "
    ranked = sorted(texts, key=lambda key: -steps.scores[row, key])
    best = [key for key in ranked if steps.scores[row, key] == scores.max()]
    if len(best) == len(seen):
        return f"{among}{me} matches every word equally well: {texts[best[0]]} each."
    rest = ranked[len(best) :]
    against = listed([f"{texts[key]} for {name(key)}" for key in rest[:NAMED]])
    more = f", and lower still for {len(rest) - NAMED} more" if len(rest) > NAMED else ""
    if len(rest) > NAMED and steps.scores[row, rest[NAMED]] == steps.scores[row, rest[NAMED - 1]]:
        more = f", and no higher for {len(rest) - NAMED} more"
    best_names = listed([name(key) for key in best[:NAMED]])
    if len(best) > NAMED:
        best_names = f"{', '.join(name(key) for key in best[:NAMED])} and {len(best) - NAMED} more"
    how = "best" if len(best) == 1 else "best, all equally"
    each = "" if len(best) == 1 else " each"
    return (
        f"{among}{me} matches {best_names} {how}: {texts[best[0]]}{each}, against {against}{more}."
    )


def asymmetry(steps: Steps) -> list[str]:
    """The pair of words whose two scores differ most, if any differ in what is printed."""
    pair = most_asymmetric(steps)
    if pair is None:
        return []
    one, other, there, back = pair
    if there == back:
        return ["To the digits shown, the scores happen to be symmetric here."]
    asks, found = (quoted(key_labels(steps)[place]) for place in (one, other))
    return [
        f"Scores are not symmetric: the query of {asks} with the key of {found} gives {there}, "
        f"the query of {found} with the key of {asks} gives {back}. "
        "A word asks with its query and is found by its key."
    ]


def most_asymmetric(steps: Steps) -> tuple[int, int, str, str] | None:
    """(i, j, score of i with j, score of j with i) that differ most of pairs that see each other.

    None where queries and keys are not the same words, or no two see each other.
    """
    if not one_text(steps):
        return None
    both = steps.seen & steps.seen.T & np.isfinite(steps.scores) & np.isfinite(steps.scores.T)
    np.fill_diagonal(both, False)
    if not both.any():
        return None
    there, back = np.where(both, steps.scores, 0), np.where(both, steps.scores.T, 0)
    one, other = divmod(int(np.abs(there - back).argmax()), len(both))
    if not both[one, other]:  # all equal: argmax fell on the first entry of all
        one, other = (int(place) for place in np.argwhere(both)[0])
    texts = alike(steps.scores[[one, other], [other, one]])
    return one, other, texts[0], texts[1]


def no_cosine(steps: Steps) -> list[str]:
    """A key that scores higher at a smaller cosine, if there is one; what is always true if not."""
    always = "A dot product is no cosine: a key twice as long gets scores twice as large."
    if steps.query is None or steps.key is None or not steps.seen.any():
        return [always]
    found = _longer_key(steps)
    if found is None:
        return [always]
    row, high, low, cosine, length = found
    me, name, _ = _names(steps, row, itself=False)
    scores = alike(steps.scores[row, [high, low]])
    return [
        f"{always} See {me}: {name(high)} scores {scores[0]} and {name(low)} {scores[1]}, although "
        f"the key of {name(low)} points more the way of its query (cosine {fraction(cosine[1])} "
        f"against {fraction(cosine[0])}); the key of {name(high)} is longer "
        f"({length[1]} against {length[0]})."
    ]


def _longer_key(
    steps: Steps,
) -> tuple[int, int, int, tuple[float, float], tuple[str, str]] | None:
    """(row, key that scores higher, key with the larger cosine, cosines, lengths low and high)."""
    assert steps.query is not None
    assert steps.key is not None
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(steps.key, axis=-1)
        cosines = steps.scores / (np.linalg.norm(steps.query, axis=-1)[:, None] * lengths)
    best, most = None, 0.02  # a smaller difference could not be told from rounding in print
    for row in range(min(len(cosines), ROWS)):
        able = np.flatnonzero(steps.seen[row] & np.isfinite(cosines[row]))
        for high in able[np.argsort(-steps.scores[row, able])][:ROWS]:
            lower = able[(steps.scores[row, able] < steps.scores[row, high])]
            lower = lower[steps.scores[row, lower] > 0]  # two positive scores: length is the reason
            if not len(lower):
                continue
            low = lower[cosines[row, lower].argmax()]
            gain = float(cosines[row, low] - cosines[row, high])
            shown = alike(steps.scores[row, [high, low]])
            if gain > most and shown[0] != shown[1]:
                pair = alike(lengths[[low, high]])
                of_both = float(cosines[row, high]), float(cosines[row, low])
                best, most = (row, int(high), int(low), of_both, (pair[0], pair[1])), gain
    return best


def division(steps: Steps) -> list[str]:
    """What step 2 did to the first row that has a choice."""
    row = chooser(steps)
    if row is None or steps.scale == 1:
        return []
    bare = steps.unscaled()
    if not np.isfinite(bare.weights[row]).all():
        return []
    label = quoted(query_labels(steps)[row])
    said = f"Step 2 {scaling(steps)}. Without it the largest weight of {label} would be "
    return [
        f"{said}{fraction(bare.weights[row].max())}, with it it is "
        f"{fraction(steps.weights[row].max())}; the gradient of its weights with respect to the "
        f"raw scores has size {small(bare.gradient_size()[row])} without and "
        f"{small(steps.gradient_size()[row])} with it."
    ]


def chooser(steps: Steps) -> int | None:
    """The first row that sees two keys or more and holds no NaN, or None."""
    for row in range(len(steps.scores)):
        if steps.seen[row].sum() > 1 and np.isfinite(steps.weights[row]).all():
            return row
    return None


def scaling(steps: Steps) -> str:
    """'divides by √64 = 8', or 'multiplies by 0.25' where the scale is another."""
    if is_usual(steps):
        return f"divides by √{steps.d_k} = {root(steps.d_k)}"
    return f"multiplies by {steps.scale:.6g}"


def is_usual(steps: Steps) -> bool:
    """Whether the scale is 1/√d_k."""
    return bool(np.isclose(steps.scale, steps.d_k**-0.5, rtol=1e-6, atol=0))


def root(d_k: int) -> str:
    """√d_k as it is printed: 8, or 1.414."""
    return number_text(d_k**0.5, 0 if float(d_k**0.5).is_integer() else 3)


def row_of_weights(steps: Steps, row: int) -> str:
    """To whom a query gives its weight."""
    me, name, seen = _names(steps, row)
    weights = steps.weights[row]
    if not len(seen):
        return f"{me} gives no weight to any word, since it may see none."
    if np.isnan(weights).any():
        return f"The weights of {me} are NaN: its scores left no number to divide by."
    sink = float(steps.sink_weight()[row])
    rest = f" The sink takes {_of_weight(sink)}, so this row sums to {fraction(weights.sum())}."
    after = rest if steps.sinks is not None else ""
    if len(seen) == 1 and steps.sinks is None:
        return f"{me} gives all of its weight to {name(seen[0])}, the only word that it may see."
    return f"{me} gives {_parts(weights, seen, name, ' of its weight to ', ' to ')}.{after}"


def row_of_z(steps: Steps, row: int, *, because: bool = True) -> list[str]:
    """The result as a weighted sum of value vectors; then, apart, whose part of it is how large."""
    if steps.output is None:
        return []
    me, name, seen = _names(steps, row, itself=False)
    z = steps.output[row]
    if not len(seen):
        return [f"z({me}) is zero: {me} sees nothing to add up."]
    if not np.isfinite(z).all():
        return [f"z({me}) holds {'NaN' if np.isnan(z).any() else 'an infinity'}."]
    order = _by_size(steps.weights[row], seen)
    terms = [f"{_of_weight(steps.weights[row, key])} of v({name(key)})" for key in order[:NAMED]]
    left = len(order) - NAMED
    if left > 0:
        terms.append(f"{left} more term{'s' if left > 1 else ''}")
    added = [f"z({me}) is {'the sum of ' if len(terms) > 1 else ''}{listed(terms)}."]
    if not z.any():
        return [*added, "It is exactly zero, so nobody has a part in it."]
    return [*added, *_shares(steps, row, because)]


def _shares(steps: Steps, row: int, because: bool) -> list[str]:
    me, name, seen = _names(steps, row, itself=False)
    share, weights = steps.share()[row], steps.weights[row]
    if len(seen) == 1 or not np.isfinite(share).all():
        return []
    said = [f"Of the result z({me}), {_parts(share, seen, name, ' comes from ', ' from ')}."]
    furthest = int(np.abs(share - weights).argmax())
    if abs(share[furthest] - weights[furthest]) < _APART:
        return said
    remark = (
        f"{_REMARK} {name(furthest)} has {fraction(weights[furthest])} of the weight and "
        f"{fraction(share[furthest])} of the result"
    )
    if not because:
        return [*said, f"{remark}."]
    if share[furthest] < 0:
        why = "points the other way"
    else:
        why = f"is {'longer' if share[furthest] > weights[furthest] else 'shorter'} than the result"
    return [*said, f"{remark}: its value vector, measured along the result, {why}."]


def _parts(
    amounts: Float[np.ndarray, " keys"],
    seen: Places,
    name: Callable[[int], str],
    first: str,
    then: str,
) -> str:
    order = _by_size(amounts, seen)
    said = [f"{_of_weight(amounts[key])}{then}{name(key)}" for key in order[:NAMED]]
    said[0] = f"{_of_weight(amounts[order[0]])}{first}{name(order[0])}"
    if len(order) > NAMED:
        left = order[NAMED:]
        others = "one more word" if len(left) == 1 else f"{len(left)} more words together"
        said.append(f"{_of_weight(amounts[left].sum())}{then}{others}")
    return listed(said)


def _names(
    steps: Steps, row: int, *, itself: bool = True
) -> tuple[str, Callable[[int], str], Places]:
    """The reader in quotes, what it calls each key, and the keys that it may see."""
    queries, keys = query_labels(steps), key_labels(steps)
    same = itself and one_text(steps)

    def name(key: int) -> str:
        return "itself" if same and key == row else quoted(keys[key])

    return quoted(queries[row]), name, np.flatnonzero(steps.seen[row])


def _by_size(amounts: Float[np.ndarray, " keys"], seen: Places) -> Places:
    keys = np.asarray(seen)
    return keys[np.argsort(-np.abs(amounts[keys]), kind="stable")]


def _of_weight(amount: float) -> str:
    """An amount whose three decimals would say 0 or 1 although it is neither is said in words."""
    text = fraction(amount)
    if text == ".000" and amount != 0:
        return "less than .001" if amount > 0 else "less than .001 below zero"
    if text == "1.000" and amount < 1:
        return "more than .999"
    return text


def quoted(label: str) -> str:
    """'am'; a word that is read right to left keeps to its place in the sentence."""
    return f"'{isolate(label)}'"


def listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
