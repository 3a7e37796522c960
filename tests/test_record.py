"""Records: what is refused, and that look-ups by word are what a dense computation gives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import regard
from records import dense, given_record, layer_of, record_of, side_of, top_only
from regard.errors import InputError
from regard.mechanism.readings import Readings
from regard.record import Call, Record, Side
from regard.words import Word

WORDS = ("[CLS]", "a", "hug|ging", "dog", "did|n|'t", "[SEP]")


def word_level(record, layer, word):
    """Weights and shares of one word by the contract's own words, densely and in float64."""
    seen = record.layers[layer]
    weights, value = dense(seen)
    side = record.sides[0]
    mean = weights[:, list(side.words[word].tokens)].mean(axis=1)  # (heads, keys)
    result = np.einsum("hk,hkd->hd", mean, value)
    with np.errstate(invalid="ignore"):  # a row that sees nothing has no share
        share = mean * np.einsum("hkd,hd->hk", value, result) / (result**2).sum(1)[:, None]
    sums = [
        np.stack([part[:, list(one.tokens)].sum(axis=1) for one in side.words], axis=1)
        for part in (mean, share)
    ]
    return sums[0], sums[1]


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"mask": regard.Mask(causal=True)},
        {"mask": regard.Mask(window=(2, 1))},
        {"softcap": 1.5},
        {"sinks": np.array([0.5, -1.0, 2.0, 0.0], np.float32)},
        {"mask": regard.Mask(allowed=np.random.default_rng(2).random((4, 9, 9)) > 0.8)},
        {"mask": regard.Mask(allowed=np.eye(9, dtype=bool)[:, [0, 3, 2, 1, 8, 5, 7, 6, 4]])},
        {"mask": regard.Mask(segments=np.array([0, 1, 1, 0, 2, 0, 2, 1, 0]))},
        {"mask": regard.Mask(bias=np.linspace(-2, 2, 9 * 9).reshape(9, 9).astype(np.float32))},
    ],
    ids=["plain", "causal", "window", "softcap", "sinks", "by head", "one key", "segments", "bias"],
)
@pytest.mark.parametrize("word", range(len(WORDS)))
def test_weights_and_shares_are_those_of_the_steps(call, word):
    side = side_of(*WORDS)
    layer = layer_of(side, call=Call(scale=0.4, **call))
    record = Record((side,), (layer,), {})
    row = record.weights(0, word)
    weights, shares = word_level(record, 0, word)
    assert row.exact
    np.testing.assert_allclose(row.weights, weights, atol=2e-6)
    np.testing.assert_allclose(row.shares, shares, atol=2e-5)
    sees = weights.sum(axis=1) > 0
    np.testing.assert_allclose(row.shares[sees].sum(axis=1), 1, atol=1e-5)
    assert np.isnan(row.shares[~sees]).all()
    np.testing.assert_array_equal(row.visible, (weights > 0).any(axis=0))
    if "sinks" not in call:
        np.testing.assert_allclose(row.weights.sum(axis=1), weights.sum(axis=1), atol=1e-6)


def test_shares_ignore_values_that_are_not_seen():
    layer = record_of(*WORDS, mask=regard.Mask(causal=True)).layers[0]
    value = layer.value.copy()
    value[:, -1] = np.nan
    record = Record((side_of(*WORDS),), (dataclasses.replace(layer, value=value),), {})
    shares = record.weights(0, 2).shares
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)


def test_many_words_at_once_are_the_same_as_one_by_one(monkeypatch):
    from regard import rows

    record = record_of(*WORDS)
    one_by_one = [record.weights(0, word) for word in range(6)]
    for block in (1, 80, 2**22):
        monkeypatch.setattr(rows, "_BLOCK", block)
        together = rows.word_rows(record, 0, range(6))
        for single, other in zip(one_by_one, together, strict=True):
            np.testing.assert_allclose(single.weights, other.weights, atol=1e-6)
            np.testing.assert_allclose(single.shares, other.shares, atol=1e-5)


def test_kept_rows_come_before_recomputation():
    record = record_of(*WORDS)
    kept = np.full((4, 2, 9), 1 / 9, np.float32)
    ask = regard.Ask(queries=[5, 3], rows=[3, 5])
    layer = dataclasses.replace(
        record.layers[0],
        readings=Readings(backend="loop", queries=np.array([5, 3]), rows=kept * [[[1.0], [0.5]]]),
        ask=ask,
    )
    changed = Record(record.sides, (layer,), {})
    np.testing.assert_allclose(changed.row(0, 1, 3), 1 / 9)
    np.testing.assert_allclose(changed.row(0, 1, 5), 0.5 / 9)
    np.testing.assert_allclose(changed.row(0, 1, 4), record.row(0, 1, 4))


def test_top_k_gives_lower_bounds():
    full, bare = top_only(*WORDS)
    exact, bound = full.weights(0, 2), bare.weights(0, 2)
    assert not bound.exact
    assert (bound.weights <= exact.weights + 1e-6).all()
    assert (bound.weights > 0).sum() > 0
    assert bound.shares is None  # two pieces: their shares are of different results
    assert bound.visible.all()
    single, one = full.weights(0, 3), bare.weights(0, 3)
    known = np.isfinite(one.shares)
    assert known.any()
    assert not known.all()
    np.testing.assert_allclose(one.shares[known], single.shares[known], atol=1e-5)


def test_top_k_that_covers_the_row_is_exact():
    full, bare = top_only(*WORDS, mask=regard.Mask(causal=True), top=4)
    assert bare.weights(0, 2).exact  # its last piece sees four keys
    assert not bare.weights(0, 4).exact
    np.testing.assert_allclose(bare.weights(0, 2).weights, full.weights(0, 2).weights, atol=1e-6)
    np.testing.assert_allclose(bare.row(0, 3, 1), full.row(0, 3, 1), atol=1e-6)
    with pytest.raises(InputError, match="token 8 of layer 0 has only its top keys known"):
        bare.row(0, 0, 8)


def test_nothing_known():
    layer = dataclasses.replace(record_of(*WORDS).layers[0], query=None)
    record = Record((side_of(*WORDS),), (layer,), {})
    with pytest.raises(InputError, match=r"knows no weights.*keep=\('query', 'key'\), or ask="):
        record.weights(0, 1)


def test_cross_attention_reads_another_side():
    side = side_of("le", "chien")
    patches = Side.of_labels(["p0", "p1", "p2"], [False] * 3, name="image")
    layer = layer_of(
        side,
        kind="cross",
        key_side=1,
        key_positions=np.arange(3),
        key=np.ones((2, 3, 6), np.float32),
        value=np.arange(30, dtype=np.float32).reshape(2, 3, 5),
    )
    record = Record((side, patches), (layer,), {})
    row = record.weights(0, 1)
    np.testing.assert_allclose(row.weights, 1 / 3, atol=1e-6)
    assert [word.text for word in record.sides[1].words] == ["p0", "p1", "p2"]


def test_rows_that_are_a_part_of_the_text():
    side = side_of("a", "dog", "ran")
    layer = layer_of(
        side,
        kind="decoder",
        query_positions=np.array([2]),
        query=np.ones((4, 1, 6), np.float32),
        call=Call(scale=0.4, mask=regard.Mask(causal=True, offset=2)),
    )
    record = Record((side,), (layer,), {})
    assert record.weights(0, 2).visible.all()
    with pytest.raises(InputError, match=r"word 'dog' of side 'text' is no reader.*tokens 2 to 2"):
        record.weights(0, 1)
    with pytest.raises(InputError, match=r"token 0 \('a'\)"):
        record.row(0, 0, 0)


def test_steps_of_one_head():
    sinks = np.array([0.5, -1.0, 2.0, 0.0], np.float32)
    bias = np.random.default_rng(1).normal(size=(4, 9, 9)).astype(np.float32)
    call = Call(scale=0.4, softcap=2.0, sinks=sinks, mask=regard.Mask(bias=bias))
    layer = layer_of(side_of(*WORDS), call=call)
    record = Record((side_of(*WORDS),), (layer,), {})
    weights, _ = dense(layer)
    for head in range(4):
        np.testing.assert_allclose(record.steps(0, head).weights, weights[head], atol=1e-12)
    assert record.steps(0, 1).words[0][:4] == ("[CLS]", "a", "hug", "ging")


def test_steps_need_what_was_kept():
    layer = dataclasses.replace(record_of(*WORDS).layers[0], value=None)
    record = Record((side_of(*WORDS),), (layer,), {})
    with pytest.raises(InputError, match=r"layer 0 keeps no value: .*keep=\('query', 'key', 'val"):
        record.steps(0, 0)


def test_words_apart():
    assert record_of(*WORDS).apart(0).tolist() == [True, False, False, False, False, True]
    decoder = given_record(np.full((1, 2, 2), 0.5), "a", "dog", kind="decoder")
    assert decoder.apart(0).tolist() == [True, False]


def test_repr_says_how_much():
    assert repr(record_of(*WORDS)) == "Record(text: 9 tokens, 6 words; 1 layer × 4 heads of random)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.weights(3, 0), "layer is 3 and the record has 1 layer"),
        (lambda r: r.weights(0, 6), "word is 6 and side 'text' has 6: expected 0 to 5"),
        (lambda r: r.weights(0, -1), "word is -1"),
        (lambda r: r.row(0, 4, 0), "head is 4 and layer 0 has 4"),
        (lambda r: r.row(0, 0, 9), "token is 9"),
        (lambda r: r.weights(True, 0), "layer is True"),
    ],
)
def test_look_ups_outside(call, message):
    with pytest.raises(InputError, match=message):
        call(record_of(*WORDS))


def changed_side(**changes):
    return dataclasses.replace(side_of("a", "dog"), **changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: changed_side(special=np.zeros(3, np.bool_)),
            r"special of side 'text' is bool \(3,",
        ),
        (lambda: changed_side(special=np.zeros(2, np.int64)), "expected a NumPy bool array"),
        (lambda: changed_side(words=()), "expected each of its 2 tokens exactly once"),
        (
            lambda: changed_side(
                words=(Word("a", 0, 1, (0, 1), False), Word("b", 0, 1, (1,), False))
            ),
            r"name the tokens \[0, 1, 1\]",
        ),
        (
            lambda: changed_side(
                words=(Word("a", 0, 1, (0,), False), Word("b", 4, 9, (1,), False))
            ),
            "is at 4:9: expected to lie within the text of 5 characters",
        ),
        (
            lambda: changed_side(words=(Word("a", 0, 1, (0,), True), Word("b", 0, 1, (1,), False))),
            "has special=True",
        ),
    ],
)
def test_sides_that_do_not_fit(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "both"}, "kind of layer 'layer.0' is 'both'"),
        ({"heads": -1}, "heads of layer 'layer.0' is -1"),
        ({"number": True}, "number of layer 'layer.0' is True"),
        ({"query_positions": np.arange(9.0)}, "query_positions of layer.0 is float64"),
        (
            {"key_positions": np.zeros(9, np.int64)},
            "key_positions of layer 'layer.0' names a token",
        ),
        ({"query": np.ones((4, 8, 6), np.float32)}, r"query of layer.0 is float32 \(4, 8, 6\)"),
        ({"query": np.ones((2, 9, 6), np.float32)}, "query of layer 'layer.0' has 2 heads"),
        ({"key": np.ones((3, 9, 6), np.float32)}, "key of layer 'layer.0' has 3 heads"),
        ({"key": np.ones((2, 9, 7), np.float32)}, "has dim 6 and key 7"),
        (
            {"value": np.ones((4, 9, 5), np.float32)},
            "value of layer 'layer.0' has 4 heads and key 2",
        ),
        ({"call": Call(scale=1.0, sinks=np.ones(3))}, r"sinks of layer.0 is float64 \(3,\)"),
        ({"call": Call(scale=1.0, mask=regard.Mask(lengths=10))}, "lengths holds 10"),
        (
            {"readings": Readings("loop", queries=np.arange(9), top_weight=np.ones((4, 9, 2)))},
            "have top_weight, which their ask does not name",
        ),
        (
            {
                "readings": Readings("loop", queries=np.arange(9), entropy=np.ones((4, 8))),
            },
            r"entropy of layer.0 is float64 \(4, 8\): expected a NumPy float array \(4, 9\)",
        ),
        (
            {
                "readings": Readings(
                    "loop",
                    queries=np.arange(1),
                    top_index=np.full((4, 1, 1), 9, np.int32),
                    top_weight=np.ones((4, 1, 1)),
                ),
            },
            "reaches from 9 to 9: expected -1 to 8",
        ),
        (
            {"readings": Readings("loop", queries=np.arange(9), columns=np.ones((4, 9, 2)))},
            "readings with columns or group_mass need ask",
        ),
    ],
)
def test_layers_that_do_not_fit(changes, message):
    layer = layer_of(side_of(*WORDS))
    with pytest.raises(InputError, match=message):
        dataclasses.replace(layer, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": float("nan")}, "scale is nan"),
        ({"softcap": 0.0}, "softcap is 0.0"),
    ],
)
def test_calls_that_do_not_fit(changes, message):
    with pytest.raises(InputError, match=message):
        Call(**({"scale": 1.0} | changes))


def test_records_that_do_not_fit():
    side = side_of(*WORDS)
    layer = layer_of(side)
    with pytest.raises(
        InputError, match=r"query_side of layer 'layer\.0' is 0 and the record has 0"
    ):
        Record((), (layer,), {})
    with pytest.raises(InputError, match="reach from 0 to 8 and its side has 2 tokens"):
        Record((side_of("a", "b"),), (layer,), {})
    with pytest.raises(InputError, match="provenance has 'model': 3"):
        Record((side,), (layer,), {"model": 3})


def test_empty_sides_have_empty_answers():
    side = side_of("[CLS]")
    record = Record((side,), (layer_of(side, heads=0, kv_heads=0),), {})
    assert record.weights(0, 0).weights.shape == (0, 1)
