"""Largest weights of tokens merged into those of words, and the strongest over all heads."""

from __future__ import annotations

import numpy as np
import pytest

import regard
from records import record_of
from regard import questions
from regard.layer_readings import layer_readings
from regard.views.page.level import Level, largest
from regard.views.page.strongest import Strongest

CAUSAL = regard.Mask(causal=True)
WORDS = ("I", "un|der|stand", "em|bed|dings", "[SEP]", "we|ll", ".", "it", "is", "so", "ve|ry")


@pytest.mark.parametrize("mask", [None, CAUSAL])
@pytest.mark.parametrize("top", [1, 2, 5, 20])
def test_merged_weights_are_sums_of_what_is_known(mask: regard.Mask | None, top: int) -> None:
    record = record_of(*WORDS, mask=mask)
    level = Level(record, None)
    layer = record.layers[0]
    read = layer_readings(layer, top=top)
    tops = level.tops(0, read, 4)
    assert tops is not None
    assert read.top_index is not None
    assert read.top_weight is not None
    side = record.sides[0]
    for head in range(4):
        for reader, word in enumerate(side.words):
            sums = np.zeros(len(side.words))
            for token in word.tokens:
                index, weight = read.top_index[head, token], read.top_weight[head, token]
                np.add.at(sums, side.word_of[index[index >= 0]], weight[index >= 0])
            sums /= len(word.tokens)
            keys = tops.key[head, reader]
            kept = keys[keys >= 0]
            assert len(kept) == min(4, np.count_nonzero(sums))
            assert np.abs(tops.weight[head, reader, : len(kept)] - sums[kept]).max() < 1e-6
            assert np.abs(np.sort(sums)[::-1][: len(kept)] - sums[kept]).max() < 1e-6
            exact = record.weights(0, reader)
            assert exact.shares is not None
            share = tops.share[head, reader, : len(kept)]
            known = ~np.isnan(share)
            assert known.all() or len(word.tokens) > 1 or top < 20
            assert np.abs(share - exact.shares[head, kept])[known].max(initial=0) < 1e-4


def test_the_strongest_are_the_same_however_they_come_in() -> None:
    record = record_of(*WORDS, layers=5)
    level = Level(record, None)
    whole, merged = Strongest(level, 4), Strongest(level, 4)
    for index in range(5):
        for rows in level.rows(index):
            whole.add_rows(index, rows)
        tops = level.tops(index, layer_readings(record.layers[index], top=99), 99)
        assert tops is not None
        merged.add_tops(index, tops)
    assert np.array_equal(whole.key, merged.key)
    assert np.array_equal(whole.head, merged.head)
    assert np.allclose(whole.weight, merged.weight, atol=1e-6)
    for reader in range(len(WORDS)):
        links = questions.strongest(record, reader).links[:4]
        found = whole.key[reader][whole.key[reader] >= 0]
        assert found.tolist() == [link.word for link in links]
        heads = whole.head[reader][: len(links)]
        assert heads.tolist() == [4 * link.layer + link.head for link in links]


def test_the_strongest_of_the_text_are_those_of_the_overview() -> None:
    record = record_of(*WORDS, layers=3)
    level = Level(record, None)
    strongest = Strongest(level, 12)
    for index in range(3):
        for rows in level.rows(index):
            strongest.add_rows(index, rows)
    for mine, theirs in zip(strongest.links(), questions.overview(record).links, strict=True):
        assert (mine.layer, mine.head, mine.reader, mine.word) == (
            theirs.layer, theirs.head, theirs.reader, theirs.word,
        )  # fmt: skip
        assert mine.weight == pytest.approx(theirs.weight, abs=1e-6)
        assert mine.share == pytest.approx(theirs.share, abs=1e-5)
        assert mine.distance == theirs.distance


def test_largest_first_and_earlier_ones_first_among_equals() -> None:
    numbers = np.array([[1, 3, 3, 2, 0, 3.0] + [0] * 20, [*range(25), 99.0]])
    assert largest(numbers, 3).tolist() == [[1, 2, 5], [25, 24, 23]]
    assert largest(numbers[:, :4], 9).tolist() == [[1, 2, 3, 0], [3, 2, 1, 0]]
