"""What is said of steps is true of them, also where nothing can be said."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from regard import InputError, Mask, steps, steps_from_scores
from regard.views.aloud import (
    asymmetry,
    division,
    no_cosine,
    row_of_scores,
    row_of_weights,
    row_of_z,
    sentences,
)

WORDS = ["I", "am", "good"]
VALUES = [[67.85, 91.2, 0.13], [13.13, 63.1, 4.44], [12.12, 96.1, 43.4]]
EXAMPLE = steps_from_scores(
    [[110, 90, 80], [70, 99, 70], [90, 70, 100]], d_k=64, value=VALUES, words=WORDS
)


def given_scores(scores, words=None, **more):
    return steps_from_scores(scores, d_k=4, words=words or list("abcdefgh")[: len(scores)], **more)


def test_the_example():
    said = EXAMPLE.aloud().splitlines()
    assert said == sentences(EXAMPLE)
    assert "'am' matches itself best: 99, against 70 for 'I' and 70 for 'good'." in said
    assert "'I' gives .904 of its weight to itself, .074 to 'am' and .021 to 'good'." in said
    assert "z('I') is the sum of .904 of v('I'), .074 of v('am') and .021 of v('good')." in said
    assert "Of the result z('I'), .943 comes from 'I', .040 from 'am' and .017 from 'good'." in said
    assert asymmetry(EXAMPLE)[0].startswith(
        "Scores are not symmetric: the query of 'I' with the key of 'am' gives 90, "
        "the query of 'am' with the key of 'I' gives 70."
    )
    assert "has size 4e-9 without and .019 with it" in division(EXAMPLE)[0]


def test_ties():
    tied = given_scores([[5, 5, 1], [2, 2, 2], [3, 7, 1]])
    assert (
        row_of_scores(tied, 0)
        == "'a' matches itself and 'b' best, all equally: 5 each, against 1 for 'c'."
    )
    assert row_of_scores(tied, 1) == "'b' matches every word equally well: 2 each."
    assert row_of_scores(tied, 2) == "'c' matches 'b' best: 7, against 3 for 'a' and 1 for itself."


def test_many_words_are_summed():
    row = [9, 8, 7, 6, 5, 4, 3, 3]
    many = given_scores([row] * 8)
    assert row_of_scores(many, 7).endswith("6 for 'd', and lower still for 4 more.")
    weights = many.weights[7]
    rest = f"{weights[3:].sum():.3f}"[1:]
    assert row_of_weights(many, 7).endswith(f"and {rest} to 5 more words together.")
    level = given_scores([[9, 3, 3, 3, 3, 3, 3, 3]] * 8)
    assert row_of_scores(level, 0).endswith("3 for 'd', and no higher for 4 more.")


def test_symmetric_scores_and_other_sides():
    assert "happen to be symmetric" in asymmetry(given_scores([[1, 2], [2, 5]]))[0]
    assert asymmetry(given_scores([[1]])) == []
    cross = steps_from_scores([[1, 2], [3, 4]], d_k=1, words=(["x", "y"], ["a", "b"]))
    assert asymmetry(cross) == []
    one = np.ones((2, 1))
    causal = steps(one, 2 * one, one, mask=Mask(causal=True), words=["a", "b"])
    assert asymmetry(causal) == []  # no two words see each other


def test_a_longer_key_scores_higher_at_a_smaller_cosine():
    # q = (1, 0): the key (3, 4) has cosine .6 and scores 3, the key (2, 0) cosine 1 and scores 2
    found = steps([[1, 0]], [[3, 4], [2, 0]], [[1], [1]], words=(["q"], ["long", "along"]))
    assert no_cosine(found) == [
        "A dot product is no cosine: a key twice as long gets scores twice as large. See 'q': "
        "'long' scores 3 and 'along' 2, although the key of 'along' points more the way of its "
        "query (cosine 1.000 against .600); the key of 'long' is longer (5 against 2)."
    ]
    alike = steps([[1, 0]], [[1, 0], [0.5, 0.1]], [[1], [1]], words=(["q"], ["a", "b"]))
    assert "See" not in no_cosine(alike)[0]
    # scores -1 and -2 at cosines -1 and -.4: here the key that scores higher is the shorter one
    below = steps([[1, 0]], [[-1, 0], [-2, 4]], [[1], [1]], words=(["q"], ["a", "b"]))
    assert "See" not in no_cosine(below)[0]
    assert "See" not in no_cosine(EXAMPLE)[0]  # no Q and K to look at


def test_what_is_not_seen_is_not_spoken_of():
    one = np.arange(1.0, 4.0)[:, None]
    result = steps(one, one, one, mask=Mask(causal=True, offset=-1), words=WORDS)
    assert row_of_scores(result, 0) == "'I' may see nothing: it is compared with no word."
    assert row_of_weights(result, 0) == "'I' gives no weight to any word, since it may see none."
    assert row_of_z(result, 0) == ["z('I') is zero: 'I' sees nothing to add up."]
    assert row_of_scores(result, 1) == "'am' may see only 'I'; their score is 2."
    assert "gives all of its weight to 'I', the only word that it may see" in row_of_weights(
        result, 1
    )
    assert row_of_z(result, 1) == ["z('am') is 1.000 of v('I')."]
    assert row_of_scores(result, 2).startswith("Among the words it may see, 'good' matches 'am'")
    assert "itself" not in row_of_scores(result, 2)


def test_nan_is_said():
    result = steps([[np.nan], [1]], [[1], [2]], [[1], [np.inf]], words=["a", "b"])
    assert "hold NaN" in row_of_scores(result, 0)
    assert "weights of 'a' are NaN" in row_of_weights(result, 0)
    assert row_of_z(result, 0) == ["z('a') holds NaN."]
    assert row_of_z(result, 1) == ["z('b') holds an infinity."]
    sentences(result)


def test_a_sink_is_said():
    result = steps([[0.0]], [[1.0]], [[1.0]], sinks=[0.0], words=["a"])
    assert row_of_weights(result, 0) == (
        "'a' gives .500 of its weight to itself. The sink takes .500, so this row sums to .500."
    )


def test_weights_that_only_print_as_all_or_nothing():
    result = given_scores([[40, 0], [40, 0]])
    said = row_of_weights(result, 0)
    assert said == "'a' gives more than .999 of its weight to itself and less than .001 to 'b'."


def test_weight_and_part_apart():
    # w = (1/2, 1/2), v = (4, 0) and (-1, 0): z = (1.5, 0); parts 4/3 and -1/3
    result = steps([[0]], [[1], [1]], [[4, 0], [-1, 0]], words=(["q"], ["a", "b"]))
    assert row_of_z(result, 0)[1:] == [
        "Of the result z('q'), 1.333 comes from 'a' and -.333 from 'b'.",
        "Weight is not part: 'a' has .500 of the weight and 1.333 of the result: its value vector, "
        "measured along the result, is longer than the result.",
    ]
    against = steps([[0]], [[1], [1]], [[4.0], [-4.0]], words=(["q"], ["a", "b"]))
    assert row_of_z(against, 0)[1] == "It is exactly zero, so nobody has a part in it."
    assert (
        sum("measured along" in said for said in sentences(_three_apart())) == 1
    )  # explained once


def _three_apart():
    value = [[9.0], [1.0], [1.0]]
    return steps(np.zeros((3, 1)), np.zeros((3, 1)), value, words=WORDS)


def test_one_head_at_a_time_and_long_texts():
    with pytest.raises(InputError, match=r"steps\.head\(0, 0\)\.aloud\(\)"):
        steps(*np.zeros((3, 1, 2, 3, 4))).aloud()
    long = steps(*np.random.default_rng(0).normal(size=(3, 40, 4)))
    assert sentences(long)[-1] == "So far the first 12 of 40 rows."
    assert sentences(steps(*np.zeros((3, 0, 4)))) == [
        "A dot product is no cosine: a key twice as long gets scores twice as large."
    ]


def test_hostile_words_are_harmless():
    result = given_scores([[1]], words=["\x1b[31mred\u202e"])
    assert "\x1b" not in result.aloud()
    assert "\u202e" not in result.aloud()


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.1, 1, 30]))
def test_every_number_that_is_said_of_weights_is_there(words, seed, masked, size):
    generator = np.random.default_rng(seed)
    query, key, value = size * generator.normal(size=(3, words, 3))
    allowed = generator.random((words, words)) < 0.5 if masked else None
    names = [f"w{place}" for place in range(words)]
    result = steps(query, key, value, mask=allowed, words=names)
    for row in range(words):
        said = row_of_weights(result, row)
        for amount, name in re.findall(r"(?<!\d)(\.\d{3}) (?:of its weight )?to '(w\d)'", said):
            weight = result.weights[row, names.index(name)]
            assert abs(float(amount) - weight) < 6e-4 or amount in (".001", ".999")
        best = re.search(r"matches (itself|'w\d') best:", row_of_scores(result, row))
        if best:
            key_named = row if best[1] == "itself" else names.index(best[1].strip("'"))
            assert result.seen[row, key_named]
            assert result.scores[row, key_named] == result.scores[row, result.seen[row]].max()
    sentences(result)
