"""Attention rollout, against the dense product of the paper."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

import regard
from records import dense, given_record, layer_of, record_of, side_of, top_only
from regard.errors import InputError
from regard.questions import rollout as by_panels
from regard.questions.rollout import rollout
from regard.record import Record


def product(record: Record) -> np.ndarray:
    """The whole rollout matrix, (tokens, tokens), as Abnar & Zuidema write it."""
    tokens = len(record.sides[0].tokens)
    result = np.eye(tokens)
    for layer in record.layers:
        result = (0.5 * dense(layer)[0].mean(axis=0) + 0.5 * np.eye(tokens)) @ result
    return result


@pytest.mark.parametrize(
    ("mask", "kind"),
    [
        (regard.Mask(), "encoder"),
        (regard.Mask(causal=True), "decoder"),
        (regard.Mask(causal=True, window=(2, 0)), "decoder"),
    ],
)
def test_each_row_is_that_of_the_dense_product(mask: regard.Mask, kind: str) -> None:
    record = record_of("a", "b|c", "d", "e", "f|g|h", "i", layers=3, mask=mask, kind=kind)
    whole = product(record)
    for token in range(9):
        np.testing.assert_allclose(rollout(record, token), whole[token], atol=1e-6)
    np.testing.assert_allclose(rollout(record, [4, 5, 6]), whole[4:7].mean(axis=0), atol=1e-6)
    assert rollout(record, 3).sum() == pytest.approx(1)
    assert rollout is by_panels


def test_rows_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["regard.questions.rollout"]
    record = record_of(*"abcdefghijkl", layers=2)
    whole = product(record)[7]
    monkeypatch.setattr(module, "_BLOCK", 5 * 4 * 12)
    asked: list[int] = []
    real = module.token_rows

    def counted(layer: object, rows: np.ndarray) -> object:
        asked.append(len(rows))
        return real(layer, rows)

    monkeypatch.setattr(module, "token_rows", counted)
    np.testing.assert_allclose(rollout(record, 7), whole, atol=1e-6)
    assert asked == [1, 5, 5, 2]  # the last layer has one row to read, the first all


def test_layers_are_taken_by_number_not_by_place() -> None:
    record = record_of("a", "b", "c", layers=3)
    turned = Record(record.sides, record.layers[::-1], record.provenance)
    np.testing.assert_array_equal(rollout(turned, 1), rollout(record, 1))


def test_whole_rows_serve_as_well_as_query_and_key() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 3))
    record = given_record(weights, "a", "b", "c")
    expected = 0.5 * weights.mean(axis=0)[2] + [0, 0, 0.5]
    np.testing.assert_allclose(rollout(record, 2), expected)


def test_what_a_sink_takes_is_lost() -> None:
    record = record_of("a", "b", "c")
    layer = record.layers[0]
    call = dataclasses.replace(layer.call, sinks=np.full(4, 9.0, np.float32))
    sunk = Record(record.sides, (dataclasses.replace(layer, call=call),), {})
    assert 0.5 <= rollout(sunk, 0).sum() < 0.51
    np.testing.assert_allclose(rollout(sunk, 0), product(sunk)[0], atol=1e-6)


def test_of_two_sides_the_one_that_reads_itself() -> None:
    text, answer = side_of("a", "b", "c"), side_of("x", "y", name="answer")
    own = layer_of(text)
    cross = layer_of(answer, kind="cross", query_side=1, key_side=0)
    cross = dataclasses.replace(
        cross, key_positions=own.key_positions, key=own.key, value=own.value
    )
    record = Record((text, answer), (own, cross), {})
    alone = rollout(Record((text,), (own,), {}), 1)
    np.testing.assert_array_equal(rollout(record, 1), alone)
    with pytest.raises(InputError, match=r"self-attention layers \[\] of 'answer'"):
        rollout(record, 1, side=1)


def test_what_is_missing_is_said() -> None:
    record = record_of("a", "b", "c", layers=3)
    without_first = Record(record.sides, record.layers[1:], {})
    with pytest.raises(InputError, match=r"layers \[1, 2\] of 'text': rollout needs each"):
        rollout(without_first, 0)
    with pytest.raises(InputError, match="knows only the largest weights of some rows"):
        rollout(top_only("a", "b", "c", "d")[1], 0)
    layer = record.layers[0]
    few = dataclasses.replace(
        layer, query_positions=layer.query_positions[2:], query=layer.query[:, 2:]
    )
    with pytest.raises(InputError, match=r"token 0 is no reader in layer 'layer\.0', and rollout"):
        rollout(Record(record.sides, (few, *record.layers[1:]), {}), 2)
    with pytest.raises(InputError, match="token is 3: expected 0 to 2"):
        rollout(record, 3)
    with pytest.raises(InputError, match="token is True"):
        rollout(record, True)
    with pytest.raises(InputError, match="names no token"):
        rollout(record, [])
    with pytest.raises(InputError, match="side is 1 and the record has 1"):
        rollout(record, 0, side=1)
    with pytest.raises(InputError, match="has no layers"):
        rollout(Record(record.sides, (), {}), 0)
