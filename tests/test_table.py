"""The tidy table: every pair once, what is left out, and how it is written."""

from __future__ import annotations

import csv
import dataclasses
import io

import numpy as np
import pytest

import regard
from records import given_record, layer_of, record_of, side_of, top_only
from regard.errors import InputError, MemoryBudgetError
from regard.record import Record, Side

WORDS = ("[CLS]", "a", "hug|ging", "dog", "[SEP]")
COLUMNS = ["layer", "head", "from", "to", "weight", "share"]


def test_every_pair_once_in_order():
    record = record_of(*WORDS, layers=2)
    table = record.table(minimum=0)
    assert list(table.columns) == COLUMNS
    assert len(table) == 2 * 4 * 5 * 5
    names = record.sides[0].names
    expected = [
        (layer, head, names[reader], names[word])
        for layer in range(2)
        for head in range(4)
        for reader in range(5)
        for word in range(5)
    ]
    assert [row[:4] for row in table.rows()] == expected
    for layer, head, reader, word, weight, share in table.rows():
        row = record.weights(layer, names.index(reader))
        assert weight == pytest.approx(row.weights[head, names.index(word)], abs=1e-6)
        assert share == pytest.approx(row.shares[head, names.index(word)], abs=1e-5)


def test_tokens_each_by_itself():
    record = record_of(*WORDS)
    table = record.table(level="tokens", minimum=0, heads=[1], readers=[3])
    assert table.columns["to"].tolist() == ["[CLS]", "a", "hug", "ging", "dog", "[SEP]"]
    np.testing.assert_allclose(table.columns["weight"], record.row(0, 1, 3), atol=1e-6)


def test_words_not_visible_are_no_rows():
    table = record_of(*WORDS, mask=regard.Mask(causal=True)).table(minimum=0, heads=[0])
    assert len(table) == 1 + 2 + 3 + 4 + 5


def test_minimum_top_and_chosen_parts():
    record = record_of(*WORDS, layers=2)
    full = list(record.table(minimum=0).rows())
    assert list(record.table().rows()) == [row for row in full if row[4] >= 0.01]
    assert list(record.table(minimum=0.2).rows()) == [row for row in full if row[4] >= 0.2]
    chosen = record.table(minimum=0, layers=[1], heads=[2, 0], readers=[3])
    wanted = [row for row in full if row[0] == 1 and row[1] in (0, 2) and row[2] == "dog"]
    assert [row[:4] for row in chosen.rows()] == [row[:4] for row in wanted]
    top = record.table(minimum=0, top=2)
    assert len(top) == 2 * 4 * 5 * 2
    for key in {row[:3] for row in full}:
        best = sorted((row[4] for row in full if row[:3] == key), reverse=True)[:2]
        assert sorted((row[4] for row in top.rows() if row[:3] == key), reverse=True) == best
    assert top.note == "the 2 largest of each row"


def test_minimum_is_the_smallest_weight_in_the_table():
    record = given_record(np.array([[[0.25, 0.75], [0.125, 0.875]]], np.float32), "a", "b")
    weights = record.table(minimum=0.25).columns["weight"]
    assert weights.tolist() == [0.25, 0.75, 0.875]


def test_without_special_is_renormalised():
    record = record_of(*WORDS)
    table = record.table(minimum=0, without_special=True)
    assert set(table.columns["to"]) == set(table.columns["from"]) == {"a", "hugging", "dog"}
    sums: dict[tuple[int, str], float] = {}
    for _, head, reader, _, weight, _ in table.rows():
        sums[head, reader] = sums.get((head, reader), 0) + weight
    assert len(sums) == 4 * 3
    assert all(total == pytest.approx(1, abs=1e-6) for total in sums.values())
    assert "special tokens" in table.note
    assert "renormalised" in table.note
    shares = record.weights(0, 1).shares[0, 1:4]
    found = [row[5] for row in table.rows() if row[1] == 0 and row[2] == "a"]
    assert found == pytest.approx(list(shares), abs=1e-5)  # parts of the whole result still


def test_without_special_where_all_weight_was_special():
    record = given_record(np.eye(3, dtype=np.float32)[None][:, [0, 0, 0]], "[CLS]", "a", "b")
    table = record.table(minimum=0, without_special=True)
    assert len(table) == 0  # neither a nor b is known to be visible
    assert record.table().columns["weight"].tolist() == [1.0] * 3


def test_first_token_of_a_decoder_is_left_out():
    weights = np.tril(np.ones((1, 3, 3), np.float32))
    weights /= weights.sum(axis=2, keepdims=True)
    record = given_record(weights, "a", "dog", "ran", kind="decoder")
    table = record.table(without_special=True)
    assert [row[2:5] for row in table.rows()] == [
        ("dog", "dog", 1.0), ("ran", "dog", 0.5), ("ran", "ran", 0.5),
    ]  # fmt: skip


def test_lower_bounds_are_said():
    _, bare = top_only(*WORDS, top=2)
    table = bare.table(minimum=0)
    assert "lower bounds (≥)" in table.note
    assert (table.columns["weight"] > 0).all()  # a word that is not among the largest is unknown


def test_shares_that_are_not_known():
    record = given_record(np.full((1, 2, 2), 0.5, np.float32), "a", "b")
    assert np.isnan(record.table().columns["share"]).all()
    assert next(iter(record.table().rows()))[5] is None


def test_csv(tmp_path):
    side = side_of("a,b", 'say "it"', "\ud800")
    record = Record((side,), (layer_of(side, heads=1, kv_heads=1),), {})
    table = record.table(minimum=0)
    table.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
        read = list(csv.reader(file))
    assert read[0] == COLUMNS
    assert len(read) == 1 + 9
    assert read[1][2:4] == ["a,b", "a,b"]
    assert read[4][2] == 'say "it"'
    assert read[7][2] == "\\ud800"
    assert float(read[1][4]) == pytest.approx(table.columns["weight"][0], rel=1e-6)
    stream = io.StringIO()
    given_record(np.ones((1, 1, 1), np.float32), "a").table().to_csv(stream)
    assert stream.getvalue() == "layer,head,from,to,weight,share\n0,0,a,a,1,\n"
    with pytest.raises(InputError, match=r"missing/table\.csv cannot be written: No such file"):
        table.to_csv(tmp_path / "missing" / "table.csv")


def test_long_records_do_not_make_rows_for_every_pair():
    side = Side.of_labels([f"w{i}" for i in range(3000)], [False] * 3000)
    random = np.random.default_rng(0)
    parts = {
        name: random.normal(size=(8, 3000, 2)).astype(np.float32)
        for name in ("query", "key", "value")
    }
    record = Record((side,), (layer_of(side, heads=8, **parts),), {})
    with pytest.raises(MemoryBudgetError, match=r"a table of up to 72000000 rows.*larger minimum"):
        record.table(minimum=0)
    assert len(record.table(minimum=0, readers=[5], heads=[0])) == 3000


def test_columns_cannot_tell_layers_of_one_number_apart():
    side = side_of(*WORDS)
    layers = (layer_of(side), dataclasses.replace(layer_of(side), name="other"))
    record = Record((side,), layers, {})
    with pytest.raises(InputError, match="two layers of the same number"):
        record.table()
    assert len(record.table(layers=[1], minimum=0)) == 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": "pieces"}, "level is 'pieces': expected 'words' or 'tokens'"),
        ({"minimum": -0.1}, "minimum is -0.1"),
        ({"minimum": float("nan")}, "minimum is nan"),
        ({"top": 0}, "top is 0"),
        ({"layers": [1]}, "layer is 1 and the record has 1 layer"),
        ({"heads": [4]}, "heads holds 4 and layer 0 has 4"),
        ({"readers": [9]}, "word is 9"),
    ],
)
def test_arguments_that_cannot_be_used(settings, message):
    with pytest.raises(InputError, match=message):
        record_of(*WORDS).table(**settings)
