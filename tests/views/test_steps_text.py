"""The printed form: right numbers, aligned, nothing left out in silence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from regard import Mask, steps, steps_from_scores
from regard.views.cells import width
from regard.views.steps_text import step_screens, steps_text
from regard.views.terminal import Terminal

EXAMPLE = steps_from_scores(
    [[110, 90, 80], [70, 99, 70], [90, 70, 100]],
    d_k=64,
    value=[[67.85, 91.2, 0.13], [13.13, 63.1, 4.44], [12.12, 96.1, 43.4]],
    words=["I", "am", "good"],
)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_the_example_as_it_is_printed():
    lines = str(EXAMPLE).splitlines()
    for line in (
        '"I am good", d_k = 64.   Row = who reads; column = who is read.',
        "   I     110  90    80   largest: I",
        "   Not symmetric: I→am 90, am→I 70.",
        "2  ÷ √64 = 8",
        "   am     8.750  12.375   8.750",
        "   Without dividing, the weights of row I would be 1.000 .000 .000, and their",
        "   gradient with respect to the raw scores 4e-9 in size; with it, .019.",
        "   I     1.000 +  .082 +  .024 = 1.106 → .904 .074 .021",
        "   good   .287 +  .024 + 1.000 = 1.310 → .219 .018 .763",
        "   z(I)    = .904·[67.85 91.20  0.13] + .074·[13.13 63.10  4.44]",
        "           = [62.602 89.218  1.370]",
        "   good  .212  .011  .778",
    ):
        assert line in lines
    assert steps_text(EXAMPLE) == str(EXAMPLE)
    assert [screen[0][:2] for screen in step_screens(EXAMPLE)[1:]] == ["1 ", "2 ", "3 ", "4 "]


def test_products_are_spelled_out_where_few():
    text = str(steps([[1, -2]], [[3, 0], [0, 1]], [[1], [2]], words=(["q"], ["a", "b"])))
    assert "q(q)·k(a) = 1·3 + (-2)·0 = 3" in text
    assert "q(q)·k(b) = 1·0 + (-2)·1 = -2" in text
    assert '"q" reads "a b"' in text


def test_what_is_not_seen_is_a_dot_and_not_a_zero():
    one = np.array([[0.0], [1.0]])
    text = str(steps(one, one, one, mask=Mask(causal=True), words=["a", "b"]))
    assert "   a  0  ·" in text.splitlines()
    assert "· = may not be seen: no score at all, which is not a 0." in text
    assert "   a  1.000 +     · = 1.000 → 1.000     ·" in text
    blind = str(steps(one, one, one, mask=np.zeros((2, 2), bool), words=["a", "b"]))
    assert "sees nothing" in blind
    assert "A row that may see nothing has no weights; its result is 0." in blind


def test_softcap_bias_and_sink_are_shown():
    text = str(
        steps([[2.0]], [[3.0]], [[1.0]], mask=np.array([[0.5]]), softcap=5, sinks=[1.5], scale=2)
    )
    assert "2  × 2" in text
    assert "Softcap: 5·tanh(score ÷ 5)" in text
    assert "Plus the bias:" in text
    assert f"{5 * np.tanh(12 / 5) + 0.5:.3f}" in text
    assert "A sink of score 1.5 stands beside the keys" in text
    assert "rows of weights sum" in text


def test_what_is_left_out_is_counted():
    text = str(steps(*drawn(3, 30, 64)))
    assert "Shown: the first 12 of 30 rows and the first 12 of 30 columns" in text
    assert "26 more terms" in text
    assert "… stands for 61 of the 64 columns of V." in text
    assert "k12" not in text.replace("largest: k12", "")
    assert "q12" not in text


def test_several_heads_say_how_to_pick_one():
    text = str(steps(*drawn(3, 2, 4, 3, 8)))
    assert text == (
        "The four steps of 2 × 4 heads, 3 queries × 3 keys each, d_k = 8.\n"
        "One head: print(steps.head(0, 0))"
    )


def test_without_values_three_steps():
    text = str(steps_from_scores([[1, 2]], d_k=1))
    assert "Step 4, × V, needs the value vectors" in text


def test_nan_and_sizes_of_zero_print():
    assert "holds NaN" in str(steps([[np.nan]], [[1.0]], [[1.0]]))
    for queries, keys, value_dim in ((0, 2, 1), (2, 0, 1), (0, 0, 0), (2, 2, 0)):
        str(steps(drawn(queries, 3), drawn(keys, 3), drawn(keys, value_dim)))


def test_hostile_and_wide_words():
    words = ["\x1b[2J", "狗狗狗", "שלום", "e\u0301e\u0301", "👨‍👩‍👧", "x" * 500, "two\nlines", ""]
    result = steps(*drawn(3, 8, 4), words=words)
    text = str(result)
    for unwanted in ("\x1b", "x" * 100, "two\nlines"):
        assert unwanted not in text
    heads = [line for line in text.splitlines() if "   largest: " in line]
    starts = {width(line[: line.index("largest")]) for line in heads}
    assert len(starts) == 1  # the column of notes is straight


@given(
    st.lists(st.text(max_size=9), min_size=1, max_size=15),
    st.integers(1, 9),
    st.sampled_from([40, 60, 79]),
    st.sampled_from([1e-8, 1.0, 1e5]),
    st.booleans(),
)
def test_no_line_is_wider_than_the_terminal(words, value_dim, columns, size, causal):
    count = len(words)
    result = steps(
        size * drawn(count, 4), drawn(count, 4, seed=1), size * drawn(count, value_dim, seed=2),
        mask=Mask(causal=causal), words=words,
    )  # fmt: skip
    text = steps_text(result, Terminal(columns=columns))
    widest = max(text.splitlines(), key=width)
    assert width(widest) <= columns, widest


@pytest.mark.parametrize("mask", [None, Mask(causal=True)])
def test_printed_weights_are_those_of_the_steps(mask):
    result = steps(*drawn(3, 3, 5), mask=mask, words=["aa", "bb", "cc"])
    rows = [
        line.split("→")[1].split()
        for line in str(result).splitlines()
        if "→" in line and "=" in line
    ]
    for row, texts in enumerate(rows):
        for key, text in enumerate(texts):
            shown = 0.0 if text == "·" else float(text)
            assert shown == pytest.approx(result.weights[row, key], abs=5.1e-4)
            assert (text == "·") != result.seen[row, key]
    assert len(rows) == 3
