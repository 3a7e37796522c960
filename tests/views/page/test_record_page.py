"""The page of a record: each number is the record's own."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import regard
from records import dense, given_record, layer_of, record_of, side_of, top_only
from regard import questions
from regard.errors import InputError
from regard.mechanism.readings import Readings
from regard.record import Call, Layer, Record, Side
from regard.views.page import page_of_record
from regard.views.staging import shipped_habit
from unpacked import unpacked

HUNGRY = "A dog ate the food because it was hungry"
CAUSAL = regard.Mask(causal=True)


def data(record: Record, **asked: Any) -> dict[str, Any]:
    return unpacked(page_of_record(record, **asked).html)


def test_a_short_text_is_in_it_whole() -> None:
    record = regard.capture(HUNGRY)
    page = page_of_record(record)
    assert page.size < 1_300_000
    assert page.left == ()
    (book,) = unpacked(page.html)["books"]
    assert [head["label"] for head in book["heads"]] == [
        f"L{i}H{j}" for i in range(6) for j in range(12)
    ]
    assert book["pieces"] is None
    full = book["words"]["full"]
    for layer in range(6):
        for word in range(11):
            row = record.weights(layer, word)
            here = slice(12 * layer, 12 * layer + 12)
            # rows that are computed together round in another order
            assert np.abs(full["weight"][here, word] - row.weights).max() < 1e-6
            assert np.abs(full["share"][here, word] - row.shares).max() < 1e-5


def test_the_four_steps_are_those_of_python() -> None:
    record = regard.capture(HUNGRY)
    book = data(record)["books"][0]
    assert [steps["layer"] for steps in book["steps"]] == [*range(6)]
    names = {
        "score": "scores", "exponential": "exponentials", "weight": "weights", "largest": "shift",
        "sum": "row_sums", "query": "query", "key": "key", "value": "value",
    }  # fmt: skip
    for steps in book["steps"]:
        assert steps["scaled"] is steps["masked"] is steps["output"] is None
        for head in range(12):
            spelled = record.steps(steps["layer"], head)
            assert steps["heads"][head] == 12 * steps["layer"] + head
            for name, attribute in names.items():
                at = steps["kv"][head] if name in ("key", "value") else head
                assert np.array_equal(steps[name][at], getattr(spelled, attribute)), name
            assert np.array_equal(steps["share"][head], spelled.share())
            assert np.array_equal(steps["score"][head] * steps["scale"], spelled.scaled)
            mixed = steps["weight"][head] @ steps["value"][steps["kv"][head]].astype(float)
            assert np.abs(mixed - spelled.output).max() < 1e-14


def test_the_strongest_links_are_those_of_the_questions() -> None:
    record = regard.capture(HUNGRY)
    habit = shipped_habit(record)
    book = data(record)["books"][0]
    strongest = book["words"]["strongest"]
    for place, word in enumerate(strongest["readers"]):
        links = questions.strongest(record, int(word), habit).links[:12]
        heads = [12 * link.layer + link.head for link in links]
        count = len(links)
        assert strongest["head"][place, :count].tolist() == heads
        assert strongest["key"][place, :count].tolist() == [link.word for link in links]
        assert (strongest["head"][place, count:] == 65535).all()
        weights = np.array([link.weight for link in links])
        assert np.abs(strongest["weight"][place, :count] - weights).max(initial=0) < 1e-4
    habits = book["habit"]
    assert habits["over"] == "neutral texts"
    assert habits["bins"].shape == (72, 2 * habit.reach + 3) if habit else False


def test_readings_are_means_over_pieces_and_sums_over_keys() -> None:
    record = record_of("I", "un|der|stand", "it", layers=2, mask=CAUSAL, kind="decoder")
    book = data(record)["books"][0]
    owner = record.sides[0].word_of
    for index, layer in enumerate(record.layers):
        weights, _ = dense(layer)
        rows = np.stack([weights[:, owner == word].mean(axis=1) for word in range(3)], axis=1)
        to_words = np.stack([rows[..., owner == word].sum(axis=-1) for word in range(3)], axis=-1)
        here = slice(4 * index, 4 * index + 4)
        assert np.abs(book["words"]["full"]["weight"][here] - to_words).max() < 1e-6
        assert np.abs(book["pieces"]["full"]["weight"][here] - weights).max() < 1e-6
        with np.errstate(all="ignore"):
            entropy = -np.where(weights > 0, weights * np.log(weights), 0).sum(axis=-1)
        means = np.stack([entropy[:, owner == word].mean(axis=1) for word in range(3)], axis=1)
        assert np.abs(book["words"]["entropy"][here] - means).max() < 1e-5
        assert np.abs(book["pieces"]["entropy"][here] - entropy).max() < 1e-5
        # a decoder's first token is apart
        assert np.abs(book["words"]["apart"][here] - rows[:, :, 0]).max() < 1e-6
        received = weights.sum(axis=1) / np.arange(len(owner), 0, -1)
        assert np.abs(book["pieces"]["received"][here] - received).max() < 1e-6
    assert book["pieces"]["readers"]["word"].tolist() == owner.tolist()
    assert book["pieces"]["readers"]["apart"].tolist() == [1, 0, 0, 0, 0]
    seen = book["pieces"]["seen"]
    assert np.array_equal(seen, np.tril(np.ones((1, 5, 5))))
    assert book["steps"][0]["kv"].tolist() == [0, 0, 1, 1]
    assert book["steps"][0]["key"].shape == (2, 5, 6)


def test_only_the_largest_weights_are_lower_bounds_of_words() -> None:
    full, bare = top_only("one", "t|wo", "three", "fo|ur", "five")
    page = page_of_record(bare)
    book = unpacked(page.html)["books"][0]
    assert book["steps"] == []
    assert any("no query, key and value" in what for what, _ in page.left)
    assert any("keep=(" in command for _, command in page.left)
    words, pieces = book["words"], book["pieces"]
    assert words["full"] is pieces["full"] is None
    assert words["links"]["bound"] is True
    assert pieces["links"]["bound"] is False
    whole, _ = dense(full.layers[0])
    key, weight = pieces["links"]["key"], pieces["links"]["weight"]
    for head, row in np.ndindex(key.shape[:2]):
        order = np.argsort(-whole[head, row])[:2]
        kept = key[head, row][key[head, row] != 65535]
        assert kept.tolist() == order.tolist()
        assert np.abs(weight[head, row, :2] - whole[head, row, order]).max() < 1e-4
    for place, word in enumerate(words["links"]["readers"]):
        known = bare.weights(0, int(word)).weights
        for head in range(4):
            keys = words["links"]["key"][head, place]
            found = {
                int(k): w
                for k, w in zip(keys, words["links"]["weight"][head, place], strict=True)
                if k != 65535
            }
            assert found.keys() == set(np.flatnonzero(known[head]).tolist())
            assert all(abs(w - known[head, k]) < 1e-4 for k, w in found.items())


def test_one_text_reads_another() -> None:
    random = np.random.default_rng(3)
    record = regard.from_qkv(
        random.normal(size=(4, 3, 8)), random.normal(size=(2, 5, 8)), random.normal(size=(2, 5, 8)),
        ["the", "cat", "sat"], key_tokens=["le", "chat", "est", "assis", "."],
    )  # fmt: skip
    page = data(record)
    book = page["books"][0]
    assert book["kind"] == "cross"
    assert book["words"]["keys"]["names"] == ["le", "chat", "est", "assis", "."]
    assert book["words"]["full"]["weight"].shape == (4, 3, 5)
    # float64 vectors that 32 bits cannot hold are sent whole
    assert book["steps"][0]["query"].dtype == np.float64
    assert np.array_equal(book["steps"][0]["query"], record.layers[0].query)


def test_every_kind_of_attention_is_a_book() -> None:
    source, target = side_of("a", "b", "c", name="source"), side_of("x", "y", name="target")
    cross = layer_of(
        target, kind="cross", key_side=0, query_side=1, key_positions=np.arange(3),
        key=np.zeros((2, 3, 6), np.float32), value=np.ones((2, 3, 5), np.float32),
    )  # fmt: skip
    layers = (
        layer_of(source),
        layer_of(target, kind="decoder", mask=CAUSAL, query_side=1, key_side=1),
        cross,
    )
    record = Record((source, target), layers, {})
    page = data(record)
    assert [book["kind"] for book in page["books"]] == ["encoder", "decoder", "cross"]
    assert data(record, kind="cross")["books"][0]["kind"] == "cross"
    start = data(record, words="y")["start"]
    assert (start["book"], start["unit"]) == (1, 1)
    with pytest.raises(
        InputError, match="kind is 'x': the record has encoder and decoder and cross"
    ):
        page_of_record(record, kind="x")


def test_layers_of_one_kind_that_read_other_texts_are_books_of_their_own() -> None:
    first, second = side_of("a", "b"), side_of("x", "y", "z", name="image")
    layers = (layer_of(first), layer_of(second, number=1, query_side=1, key_side=1))
    page = data(Record((first, second), layers, {}))
    assert [book["name"] for book in page["books"]] == ["text", "image"]
    assert [len(book["heads"]) for book in page["books"]] == [4, 4]
    assert page["books"][1]["words"]["full"]["weight"].shape == (4, 3, 3)


def test_two_texts_and_what_turns() -> None:
    record = regard.capture(HUNGRY)
    other = regard.capture(HUNGRY.replace("hungry", "delicious"))
    page = data(record, words="it", versus=other)
    versus = page["versus"]
    seen = questions.turns(record, 7, other, 7)
    assert seen is not None
    assert (versus["a_unit"], versus["b_unit"]) == (7, 7)
    assert (versus["first"], versus["second"]) == ("dog", "food")
    assert [turn["head"] for turn in versus["there"]] == [12 * t.layer + t.head for t in seen.there]
    turn = versus["there"][0]
    head, (a, b) = turn["head"], page["books"]
    for book, weights, units in ((a, turn["a"], "a"), (b, turn["b"], "b")):
        row = book["words"]["full"]["weight"][head, 7]
        places = [versus[f"{units}_first"], versus[f"{units}_second"]]
        assert np.abs(row[places] - weights).max() < 1e-6
    assert page["start"]["view"] == "versus"
    with pytest.raises(InputError, match="versus needs words"):
        page_of_record(record, versus=other)


def test_what_the_model_wrote_begins_where_its_words_do() -> None:
    words = ("the", "dog", "ate", "be|cause", "it", "was")
    record = record_of(*words, mask=CAUSAL, kind="decoder")
    for written, unit, piece in (
        ("because it was hungry", 3, 3),
        ("because it was", 3, 3),
        ("was full", 5, 6),
    ):
        made = dataclasses.replace(record, provenance={"generated": written})
        assert data(made)["books"][0]["written"] == {"unit": unit, "piece": piece}
    for written in ("", "hungry", "something else"):
        made = dataclasses.replace(record, provenance={"generated": written})
        assert data(made)["books"][0]["written"] is None


def test_sinks_take_their_part() -> None:
    side = side_of("one", "two", "three")
    call = Call(scale=0.4, sinks=np.array([0.5, -1, 2, 0], np.float32))
    record = Record((side,), (layer_of(side, call=call),), {})
    book = data(record)["books"][0]
    weights, _ = dense(record.layers[0])
    assert np.abs(book["words"]["sums"] - weights.sum(axis=-1)).max() < 1e-6
    spelled = record.steps(0, 2)
    steps = book["steps"][0]
    assert np.allclose(steps["sink"][2], np.exp(2 - spelled.shift), rtol=1e-7)
    assert np.array_equal(steps["sum"][2], spelled.row_sums)


def test_sums_follow_from_sinks_where_rows_were_not_kept() -> None:
    side = side_of("one", "two", "three", "four")
    call = Call(scale=0.4, sinks=np.array([0.5, -1, 2, 0], np.float32))
    layer = layer_of(side, call=call)
    weights, _ = dense(layer)
    ask = regard.Ask(top=2, lse=True)
    read = regard.readings(layer.query, layer.key, ask=ask, scale=0.4, sinks=call.sinks)
    bare = dataclasses.replace(layer, readings=read, ask=ask, query=None, key=None, value=None)
    book = data(Record((side,), (bare,), {}))["books"][0]
    assert np.abs(book["words"]["sums"] - weights.sum(axis=-1)).max() < 1e-6


def test_softcap_bias_and_masks_of_heads_are_spelled_out() -> None:
    side = side_of("one", "two", "three")
    random = np.random.default_rng(5)
    bias = random.normal(size=(4, 3, 3)).astype(np.float32)
    bias[1, 2, 0] = -np.inf
    call = Call(scale=0.4, softcap=2.0, mask=regard.Mask(bias=bias))
    record = Record((side,), (layer_of(side, call=call),), {})
    steps = data(record)["books"][0]["steps"][0]
    assert steps["softcap"] == 2
    for head in range(4):
        assert np.array_equal(steps["masked"][head], record.steps(0, head).masked)
    allowed = random.random((4, 3, 3)) > 0.4
    allowed[..., 0] = True
    call = Call(scale=0.4, mask=regard.Mask(allowed=allowed))
    record = Record((side,), (layer_of(side, call=call),), {})
    steps = data(record)["books"][0]["steps"][0]
    assert np.array_equal(np.isfinite(steps["masked"]), allowed)


def test_rows_that_were_not_read_are_not_known() -> None:
    side = side_of("one", "two", "three", "four")
    layer = layer_of(side)
    assert layer.query is not None
    some = dataclasses.replace(
        layer, query=layer.query[:, 2:], query_positions=np.array([2, 3]), number=3
    )
    record = Record((side,), (some,), {})
    book = data(record)["books"][0]
    full = book["words"]["full"]["weight"]
    assert np.isnan(full[:, :2]).all()
    assert not np.isnan(full[:, 2:]).any()
    assert book["steps"][0]["readers"].tolist() == [2, 3]
    assert np.isnan(book["words"]["entropy"][:, :2]).all()
    assert book["heads"][1]["label"] == "L3H1"


def test_some_heads_keep_their_numbers_and_nan_stays_in_its_row() -> None:
    side = side_of("one", "two", "three")
    layer = layer_of(side, head_numbers=np.array([1, 3, 5, 7]))
    assert layer.query is not None
    query = layer.query.copy()
    query[0, 1] = np.nan
    record = Record((side,), (dataclasses.replace(layer, query=query),), {})
    book = data(record, heads="L0H5")["books"][0]
    assert [head["number"] for head in book["heads"]] == [1, 3, 5, 7]
    weight = book["words"]["full"]["weight"]
    assert np.isnan(weight[0, 1]).all()
    assert np.isfinite(weight[0, [0, 2]]).all()
    assert np.isnan(book["steps"][0]["score"][0, 1]).all()


@pytest.mark.parametrize("words", [(), ("one",), ("[CLS]",), ("[CLS]", "[SEP]")])
def test_texts_of_no_or_one_word(words: tuple[str, ...]) -> None:
    record = record_of(*words)
    book = data(record)["books"][0]
    assert len(book["words"]["readers"]["names"]) == len(words)
    assert page_of_record(record).html


def test_given_weights_show_without_steps() -> None:
    weights = np.tril(np.random.default_rng(0).random((2, 3, 3)))
    weights /= weights.sum(axis=-1, keepdims=True) * 1.25
    record = given_record(weights, "a", "b", "c", kind="decoder")
    book = data(record)["books"][0]
    assert np.abs(book["words"]["full"]["weight"] - weights).max() < 1e-7
    assert np.abs(book["words"]["sums"] - 0.8).max() < 1e-6
    assert np.abs(book["words"]["entropy"][0, 0] + 0.8 * np.log(0.8)) < 1e-6
    assert book["words"]["seen"].sum() == 6
    assert book["steps"] == []


def test_characters_are_counted_as_javascript_counts_them() -> None:
    side = Side.of_text(
        "\U0001f44d a\u0301 \U0001f468 z",
        ["x", "a", "y", "z"],
        [(0, 1), (2, 4), (5, 6), (7, 8)],
        [False] * 4,
    )
    layer = layer_of(side)
    readers = data(Record((side,), (layer,), {}))["books"][0]["words"]["readers"]
    utf16 = (side.text or "").encode("utf-16-le")
    for text, start, stop in zip(
        readers["texts"], readers["starts"], readers["stops"], strict=True
    ):
        assert utf16[2 * start : 2 * stop].decode("utf-16-le") == text


def test_what_is_not_there_is_said() -> None:
    record = regard.capture("the dog saw the cat")
    for asked, said in (
        ({"words": "the"}, "word 'the' occurs 2 times"),
        ({"words": ["cow"]}, "word 'cow' is not in 'text'"),
        ({"words": 99}, "words has 99: expected names, or indices 0 to 6"),
        ({"heads": "L9H0"}, "head L9H0: the record has no layer 9"),
        ({"heads": ["x"]}, "head is 'x'"),
        ({"layers": 7}, r"layers has 7: expected among \[0, 1, 2, 3, 4, 5\]"),
        ({"budget": 1000}, "budget is 1,000 bytes and the text, words and script"),
        ({"budget": 0}, "budget is 0"),
    ):
        with pytest.raises(InputError, match=said):
            page_of_record(record, **asked)
    with pytest.raises(InputError, match="no layers"):
        page_of_record(Record((), (), {}))


def test_a_layer_without_anything_known_is_no_error() -> None:
    side = side_of("one", "two")
    bare: Layer = layer_of(side, query=None, key=None, value=None, call=None)
    assert bare.readings == Readings(backend="loop") or bare.readings is not None
    page = page_of_record(Record((side,), (bare,), {}))
    assert unpacked(page.html)["books"][0]["words"]["full"] is None
