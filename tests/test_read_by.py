"""Who reads a word: columns, against the rows that they are cut from."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import regard
from records import dense, given_record, layer_of, record_of, top_only
from regard.errors import InputError
from regard.habit import Habit
from regard.questions import ReadBy, habit_of, read_by
from regard.record import Layer, Record
from regard.sources import known_rows, token_columns

RANDOM = np.random.default_rng(1)
MASKS = {
    "none": regard.Mask(),
    "causal": regard.Mask(causal=True),
    "offset": regard.Mask(causal=True, offset=2),
    "window": regard.Mask(window=(2, 1)),
    "lengths": regard.Mask(lengths=5),
    "length of one item": regard.Mask(lengths=np.array([6])),
    "segments": regard.Mask(segments=np.array([0, 0, 1, 1, 1, -1, 2])),
    "two segments": regard.Mask(segments=(np.arange(7) % 2, np.arange(7) % 3)),
    "allowed": regard.Mask(allowed=RANDOM.random((4, 7, 7)) < 0.6),
    "allowed by row": regard.Mask(allowed=RANDOM.random((7, 1)) < 0.6),
    "bias": regard.Mask(bias=RANDOM.normal(size=(7, 7)).astype(np.float32), causal=True),
}


def with_lse(layer: Layer) -> Layer:
    ask = regard.Ask(lse=True)
    call = layer.call
    readings = regard.readings(
        layer.query, layer.key, ask=ask, mask=call.mask, scale=call.scale,
        softcap=call.softcap, sinks=call.sinks,
    )  # fmt: skip
    return dataclasses.replace(layer, readings=readings, ask=ask)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("sinks", [None, np.array([0.5, 1, -1, 2], np.float32)])
def test_columns_are_those_of_the_dense_weights(
    mask: regard.Mask, softcap: float | None, sinks: np.ndarray | None
) -> None:
    record = record_of("a", "b|c", "d", "e", "f", "g", mask=mask)
    call = dataclasses.replace(record.layers[0].call, softcap=softcap, sinks=sinks)
    layer = dataclasses.replace(record.layers[0], call=call)
    whole = dense(layer)[0]
    for one in (layer, with_lse(layer)):
        found = token_columns(one, np.array([4, 0, 5]))
        assert found.exact.all()
        np.testing.assert_allclose(found.weights, whole[:, :, [4, 0, 5]], atol=2e-6)


def test_a_known_log_sum_exp_saves_the_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = layer_of(record_of("a", "b", "c").sides[0])

    def refuse(*given: object) -> None:
        raise AssertionError("panels were computed")

    monkeypatch.setattr("regard.sources._computed_columns", refuse)
    token_columns(with_lse(layer), np.array([1]))
    with pytest.raises(AssertionError, match="panels were computed"):
        token_columns(layer, np.array([1]))


def test_from_whole_rows_and_from_the_largest_weights() -> None:
    weights = RANDOM.dirichlet(np.ones(4), size=(2, 4))
    layer = given_record(weights, "a", "b", "c", "d").layers[0]
    found = token_columns(layer, np.array([3]))
    np.testing.assert_array_equal(found.weights[:, :, 0], weights[:, :, 3])
    full, bare = top_only("a", "b", "c", "d", "e", top=2)
    found = token_columns(bare.layers[0], np.array([1]))
    whole = dense(full.layers[0])[0][:, :, 1]
    assert not found.exact.any()
    assert (found.weights[:, :, 0] <= whole + 1e-6).all()
    assert (found.weights > 0).any()


def test_rows_that_were_not_asked_are_not_known() -> None:
    full = record_of("a", "b", "c", "d").layers[0]
    ask = regard.Ask(queries=[3, 1], top=4)
    readings = regard.readings(
        full.query, full.key, ask=ask, mask=full.call.mask, scale=full.call.scale
    )
    bare = dataclasses.replace(full, readings=readings, ask=ask, query=None, key=None, value=None)
    assert list(known_rows(bare)) == [False, True, False, True]
    assert known_rows(full).all()
    found = token_columns(bare, np.array([2]))
    assert list(found.exact) == [False, True, False, True]
    whole = dense(full)[0][:, [1, 3], 2]
    np.testing.assert_allclose(found.weights[:, [1, 3], 0], whole, atol=2e-6)
    record = Record(record_of("a", "b", "c", "d").sides, (bare,), {})
    seen = read_by(record, 2)
    assert not seen.exact
    assert {link.reader for link in seen.links} == {1, 3}


def best_by_rows(record: Record, word: int, habit: Habit | None = None) -> dict[int, tuple]:
    """For each reader, (weight, layer, head) of the head that goes furthest beyond its habit."""
    best: dict[int, tuple] = {}
    for reader in range(len(record.sides[0].words)):
        if reader == word or record.sides[0].words[reader].special:
            continue
        for index in range(len(record.layers)):
            row = record.weights(index, reader).weights[:, word]
            usual = np.zeros_like(row)
            if habit is not None:
                usual = regard.questions.expected(record, index, reader, habit)[:, word]
            for head, (weight, normal) in enumerate(zip(row, usual, strict=True)):
                lift = weight - np.nan_to_num(normal)
                if lift > 0 and (reader not in best or lift > best[reader][0]):
                    best[reader] = (lift, weight, index, head)
    return best


def check(seen: ReadBy, expected: dict[int, tuple]) -> None:
    assert {link.reader for link in seen.links} == set(expected)
    for link in seen.links:
        lift, weight, index, head = expected[link.reader]
        assert (link.layer, link.head) == (index, head)
        assert link.weight == pytest.approx(weight, abs=2e-6)
        assert link.lift == pytest.approx(lift, abs=2e-6)
    lifts = [link.lift for link in seen.links]
    assert lifts == sorted(lifts, reverse=True)


def test_each_reader_by_the_head_that_reads_it_most() -> None:
    record = record_of("[CLS]", "a", "b|c", "d", "e|f", "[SEP]", layers=3)
    seen = read_by(record, 2)
    assert seen.exact
    check(seen, best_by_rows(record, 2))
    assert {link.distance for link in seen.links} == {1, -1, -2}
    causal = record_of("a", "b", "c", "d", mask=regard.Mask(causal=True), kind="decoder")
    assert {link.reader for link in read_by(causal, 2).links} == {3}
    assert read_by(causal, 3).links == ()


def test_beyond_habit() -> None:
    record = record_of(*(f"w{n}" for n in range(70)), layers=2)
    habit = habit_of(record)
    expected = best_by_rows(record, 30, habit)
    check(read_by(record, 30, habit), expected)


def test_a_word_that_nobody_reads_is_refused() -> None:
    record = record_of("a", "b")
    with pytest.raises(InputError, match="word 2 is read in none of 1 layers"):
        read_by(record, 2)
