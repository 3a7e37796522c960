"""Questions of a record, on weights made by hand and on the embedded model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import regard
from records import given_record, layer_of, record_of, side_of, top_only
from regard.errors import InputError
from regard.habit import Habit
from regard.models.encoder import default_habit
from regard.questions import (
    align_words,
    counterpart,
    expected,
    find_head,
    find_word,
    habit_of,
    head_kinds,
    head_links,
    overview,
    routines,
    special_mass,
    strongest,
    turns,
    weight_from_others,
)
from regard.record import Record, Side

HUNGRY = "A dog ate the food because it was hungry"
DELICIOUS = "A dog ate the food because it was delicious"


@pytest.fixture(scope="module")
def hungry():
    return regard.capture(HUNGRY)


@pytest.fixture(scope="module")
def delicious():
    return regard.capture(DELICIOUS)


def rows_of(*rows):
    """Weights (1 head, tokens, tokens)."""
    return np.array([rows], np.float32)


def habit_with(heads=1, reach=2, layers=1, **distances):
    """A habit of .1 everywhere, and for head 0 what is named: before=.9, after=.9."""
    distance = np.full((layers, heads, 2 * reach + 3), 0.1)
    spread = np.full(distance.shape, 0.05)
    for name, size in distances.items():
        distance[0, 0, reach + 1 + {"before": -1, "itself": 0, "after": 1}[name]] = size
    return Habit(distance, np.full((layers, heads), 0.3), np.full((layers, heads), 0.2), spread)


# finding words and heads


def test_find_word():
    side = side_of("[CLS]", "It", "was", "it", "that", "was", "Dog", "[SEP]")
    assert find_word(side, "it") == 3
    assert find_word(side, "It") == 1
    assert find_word(side, "dog") == 6  # case counts only where it tells words apart
    assert find_word(side, " was#2 ") == 5
    assert find_word(side, "WAS#1") == 2
    assert find_word(side, "[cls]") == 0


def test_find_word_composes_accents():
    assert find_word(side_of("cafe\u0301"), "café") == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "was",
            r"word 'was' occurs 2 times: say which\. "
            r"was#1: It \[was\] it that; was#2: it that \[was\] Dog\.",
        ),
        (
            "IT",
            r"word 'IT' occurs 2 times: say which. It: \[It\] was it; it: It was \[it\] that was",
        ),
        ("was#3", r"word 'was#3': 'was' occurs 2 times. was#1: .*was#2"),
        ("Dog#2", r"word 'Dog#2': 'Dog' occurs once. Dog: "),
        ("thta", r"word 'thta' is not in 'text'\. Nearest: that"),
        ("zzz", r"is not in 'text'\. Its words: It, was#1, it, that, was#2, Dog\."),
        ("", "word is '': expected a word of 'text', as in It, was#1"),
        (3, "word is 3"),
    ],
)
def test_find_word_that_is_not_one(name, message):
    side = side_of("[CLS]", "It", "was", "it", "that", "was", "Dog", "[SEP]")
    with pytest.raises(InputError, match=message):
        find_word(side, name)


def test_find_word_names_at_most_six_places():
    side = Side.of_labels(["it"] * 5000, [False] * 5000)
    with pytest.raises(InputError, match="and 4994 more") as error:
        find_word(side, "it")
    assert len(str(error.value)) < 400


def test_find_head(hungry):
    assert find_head(hungry, "L3H1") == (3, 1)
    part = regard.capture(HUNGRY, layers=[2, 5])
    assert find_head(part, " l5h11 ") == (1, 11)
    for name, message in (
        ("L3H1", "the record has no layer 3, only L2, L5"),
        ("L5H12", "layer 5 has 12 heads, H0 to H11"),
        ("H3", "head is 'H3': expected a layer and a head from 0, as in L3H1"),
        ("L٣H1", "expected a layer and a head"),
        (None, "head is None"),
    ):
        with pytest.raises(InputError, match=message):
            find_head(part, name)


def test_a_head_is_found_by_its_number_in_the_model():
    side = Side.of_labels(["a", "b"], [False] * 2)
    layer = layer_of(side, number=18, heads=2, kv_heads=2, head_numbers=np.array([6, 3]))
    record = Record((side,), (layer,), {})
    assert find_head(record, "L18H6") == (0, 0)
    assert find_head(record, "L18H3") == (0, 1)
    with pytest.raises(InputError, match="head L18H0: layer 18 has recorded H6, H3"):
        find_head(record, "L18H0")


def test_find_head_in_two_layers_of_one_number():
    record = record_of("a", "b")
    twice = (record.layers[0], dataclasses.replace(record.layers[0], name="other"))
    with pytest.raises(InputError, match=r"in several layers: layer\.0, other"):
        find_head(Record(record.sides, twice, {}), "L0H0")


# habit, lift, links


def test_expected_counts_distance_in_words():
    record = record_of("[CLS]", "a", "hug|ging", "dog", "[SEP]", heads=1, kv_heads=1)
    habit = habit_with(before=0.9)
    assert expected(record, 0, 3, habit)[0] == pytest.approx([0.3, 0.1, 0.9, 0.1, 0.2])
    assert expected(record, 0, 1, habit)[0] == pytest.approx([0.3, 0.1, 0.1, 0.1, 0.2])
    assert np.isnan(expected(record, 0, 0, habit)).all()


def test_expected_passes_over_special_tokens():
    record = record_of("[CLS]", "a", "[SEP]", "b", "[SEP]", heads=1, kv_heads=1)
    found = expected(record, 0, 3, habit_with(before=0.9))[0]
    assert found[[0, 1, 3, 4]] == pytest.approx([0.3, 0.9, 0.1, 0.2])
    assert np.isnan(found[2])  # neither the first special token nor the last


def test_expected_far_words_share_a_bin():
    habit = Habit(
        np.arange(5.0).reshape(1, 1, 5), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 5))
    )
    record = record_of(*"abcdef", heads=1, kv_heads=1)
    assert expected(record, 0, 2, habit)[0].tolist() == [0, 1, 2, 3, 4, 4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": np.zeros((1, 2))}, r"first has shape \(1, 2\) and distance \(1, 1, 7\)"),
        ({"spread": np.zeros((1, 1, 5))}, r"spread has shape \(1, 1, 5\)"),
        ({"distance": np.zeros((1, 1, 6))}, r"distance has shape \(1, 1, 6\): expected .*odd"),
        ({"last": np.full((1, 1), np.nan)}, "last of a habit, dtype float64, must be finite"),
    ],
)
def test_habits_that_do_not_fit(changes, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(habit_with(), **changes)


def test_habit_of_another_model(hungry):
    with pytest.raises(InputError, match=r"habit has 1 layers × 1 heads and the record has L0H11"):
        strongest(hungry, 7, habit_with())


def test_strongest_ranks_by_weight_beyond_habit():
    weights = np.array(
        [
            [[0.0] * 4, [0.1, 0.2, 0.6, 0.1], [0.0] * 4, [0.0] * 4],
            [[0.0] * 4, [0.2, 0.0, 0.3, 0.5], [0.0] * 4, [0.0] * 4],
        ],
        np.float32,
    )
    record = given_record(weights, "a", "b", "c", "d")
    habit = habit_with(heads=2, reach=1)
    habit.distance[0, 0, 3] = 0.45  # head 0 often reads the word after
    found = strongest(record, 1, habit)
    assert [(link.word, link.head) for link in found.links] == [(3, 1), (2, 1), (0, 1)]
    best = found.links[0]
    assert (best.weight, best.habit, best.distance) == pytest.approx((0.5, 0.1, 2))
    assert best.lift == pytest.approx(0.4)
    assert best.share is None
    assert [(vote.word, vote.heads) for vote in found.votes] == [(2, 1), (3, 1)]
    assert found.voters == 2
    assert found.far is None
    assert strongest(record, 1).links[0].word == 2  # without a habit, by weight


def test_strongest_leaves_out_what_is_no_other_word():
    row = [0.3, 0.3, 0.1, 0.2, 0.1]
    record = given_record(rows_of(*[row] * 5), "[CLS]", "it", "dog", "!", "[SEP]")
    found = strongest(record, 1)
    assert [link.word for link in found.links] == [2]
    assert found.special_mass == pytest.approx(0.4)
    assert special_mass(record, 1) == pytest.approx(0.4)


def test_positional_heads_are_set_aside_and_named():
    record = given_record(rows_of(*[[0.6, 0.2, 0.2]] * 3), "a", "b", "c")
    habit = habit_with(before=0.6)
    found = strongest(record, 1, habit)
    assert found.links == ()
    (aside,) = found.set_aside
    assert (aside.does, aside.distance, aside.heads) == ("the word before", -1, ((0, 0),))
    assert not aside.always
    assert found.votes[0].heads == 1  # heads set aside still vote
    assert strongest(record, 1, habit_with(before=0.5)).set_aside == ()


@pytest.mark.parametrize(
    ("size", "spread", "always"), [(0.97, 0.1, True), (0.97, 0.3, False), (0.9, 0.1, False)]
)
def test_always_is_said_only_of_steady_heads(size, spread, always):
    record = given_record(rows_of(*[[0.5, 0.5]] * 2), "a", "b")
    habit = habit_with(after=size)
    habit.spread[:] = spread
    (routine,) = routines(record, habit)
    assert routine.does == "the word after"
    assert routine.always is always
    assert routine.habits == pytest.approx((size,))


def test_routine_on_a_special_token():
    record = given_record(rows_of(*[[0.5, 0.5]] * 2), "[CLS]", "b")
    habit = habit_with()
    habit.first[:] = 0.7
    (routine,) = routines(record, habit)
    assert (routine.does, routine.distance) == ("[CLS]", None)
    assert strongest(record, 1, habit).set_aside == ()


def test_links_do_not_go_below_habit():
    record = given_record(rows_of(*[[0.05, 0.15, 0.8]] * 3), "a", "b", "c")
    assert [link.word for link in strongest(record, 2, habit_with()).links] == [1]
    below = given_record(rows_of([0.9, 0.05], [0.05, 0.9]), "a", "b")
    assert overview(below, habit_with()).links == ()


def test_weight_from_others_tells_a_head_that_reads_one_word_from_everywhere():
    rows = rows_of([0.2, 0.8, 0], [0.5, 0.4, 0.1], [0.1, 0.6, 0.3])
    record = given_record(rows, "a", "dog", "ran")
    link = strongest(record, 2).links[0]
    assert (link.word, link.weight) == (1, pytest.approx(0.6))
    assert weight_from_others(record, 0, 0, word=1, reader=2) == pytest.approx(0.8)
    short = given_record(rows[:, 1:, 1:], "dog", "ran")
    assert np.isnan(weight_from_others(short, 0, 0, word=0, reader=1))


def test_weight_from_others_reads_few_of_many():
    weights = np.zeros((1, 400, 400), np.float32)
    weights[:, :, 7] = 0.25
    record = given_record(weights, *[f"w{i}" for i in range(400)])
    assert weight_from_others(record, 0, 0, word=7, reader=3) == pytest.approx(0.25)


def test_lower_bounds_are_said():
    full, bare = top_only("[CLS]", "a", "dog", "ran", "[SEP]", top=1)
    found = strongest(bare, 2)
    assert not found.exact
    assert strongest(full, 2).exact
    exact = {link.word: link.weight for link in strongest(full, 2).links}
    assert all(link.weight <= exact[link.word] + 1e-6 for link in found.links)
    assert not overview(bare).exact


def test_word_that_reads_nothing():
    with pytest.raises(InputError, match="word 9 is no reader in any of 1 layers"):
        strongest(record_of("a", "b"), 9)


def test_head_links_in_the_order_of_the_text():
    rows = rows_of([0.1, 0.2, 0.7, 0], [0.3, 0.1, 0.6, 0], [0.5, 0.4, 0.1, 0], [0, 0, 0, 1])
    links = head_links(given_record(rows, "a", "b", "c", "."), 0, 0)
    assert [(link.reader, link.word) for link in links] == [(0, 2), (1, 2), (2, 0)]
    with pytest.raises(InputError, match="head is 1 and layer 0 has 1"):
        head_links(given_record(rows, "a", "b", "c", "."), 0, 1)


def test_habit_of_a_long_text():
    count = 80
    weights = np.full((2, count, count), 0.2 / count, np.float32)
    weights[0, np.arange(1, count), np.arange(count - 1)] += 0.8  # the word before
    weights[1, :, 0] += 0.8  # the first token
    side = [f"w{i}" for i in range(count)]
    habit = habit_of(given_record(weights, *side))
    assert habit.distance[0, 0, habit.reach] == pytest.approx(0.8025, abs=1e-4)
    assert habit.distance[0, 0, habit.reach + 2] == pytest.approx(0.0025, abs=1e-6)
    assert habit.spread[0, 0, habit.reach] == pytest.approx(0, abs=1e-3)
    record = given_record(weights, *side, kind="decoder")
    habit = habit_of(record)
    assert habit.first[0, 1] == pytest.approx(0.8025, abs=1e-4)
    assert [routine.does for routine in routines(record, habit)] == ["the word before", "w0"]


def test_habit_of_a_short_text_is_not_guessed():
    assert habit_of(record_of("a", "b", "c")) is None


# kinds of heads, overview


def one_kind(rows, *words):
    (kind,) = head_kinds(given_record(rows_of(*rows), *words), 0)
    return kind.kind, kind.size


def test_kinds_of_heads():
    three = ("[CLS]", "a", "b", "c")
    assert one_kind([[0.8, 0.1, 0.1, 0]] * 4, *three) == ("special", pytest.approx(0.8))
    eye = np.eye(4) * 0.7 + 0.075
    assert one_kind(eye, *three) == ("itself", pytest.approx(0.775))
    assert one_kind(np.roll(eye, 1, axis=1), *three)[0] == "after"
    before = np.roll(eye, -1, axis=1)
    before[1] = [0.1, 0.3, 0.3, 0.3]
    assert one_kind(before, *three)[0] == "before"
    same = [[0.1, 0.1, 0.7, 0.1], [0.3, 0.3, 0.2, 0.2], [0.7, 0.1, 0.1, 0.1], [0.25] * 4]
    assert one_kind(same, "it", "b", "it", "d")[0] == "same"
    far = [[0.1, 0.1, 0.1, 0.7], [0.1, 0.1, 0.1, 0.7], [0.7, 0.1, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]]
    assert one_kind(far, "a", "b", "c", "d")[0] == "selective"
    assert one_kind([[0.25] * 4] * 4, "a", "b", "c", "d") == ("broad", pytest.approx(1))


def test_overview_names_each_pair_once_and_no_reader_or_head_too_often(hungry):
    found = overview(hungry, default_habit(), top=20)
    pairs = [frozenset((link.reader, link.word)) for link in found.links]
    assert len(set(pairs)) == len(pairs)
    for part in (
        [link.reader for link in found.links],
        [(link.layer, link.head) for link in found.links],
    ):
        assert max(part.count(one) for one in part) <= 2
    lifts = [link.lift for link in found.links]
    assert lifts == sorted(lifts, reverse=True)
    assert found.readers == found.words == 9
    assert len(found.kinds) == 72
    assert 0.3 < found.special_mass < 0.7


def test_overview_of_texts_without_words():
    for text in ("", "...", "Hello"):
        found = overview(regard.capture(text), default_habit())
        assert found.links == ()
    assert overview(regard.capture("")).readers == 0


def test_overview_reads_at_most_512_words():
    side = Side.of_labels([f"w{i}" for i in range(600)], [False] * 600)
    random = np.random.default_rng(0)
    parts = {
        name: random.normal(size=(1, 600, 2)).astype(np.float32)
        for name in ("query", "key", "value")
    }
    record = Record((side,), (layer_of(side, heads=1, **parts),), {})
    found = overview(record)
    assert (found.readers, found.words) == (512, 600)


# the embedded model: what the first screen says


def test_first_screen(hungry):
    found = strongest(hungry, find_word(hungry.sides[0], "it"), default_habit())
    names = hungry.sides[0].names
    seen = [
        (names[link.word], hungry.layers[link.layer].label(link.head), round(link.weight, 2))
        for link in found.links
    ]
    assert seen == [
        ("hungry", "L2H8", 0.84), ("dog", "L5H11", 0.60), ("was", "L1H2", 0.61),
        ("because", "L2H0", 0.57), ("ate", "L3H10", 0.38), ("A", "L4H10", 0.30),
        ("food", "L2H2", 0.28), ("the", "L2H4", 0.18),
    ]  # fmt: skip
    assert (found.far.layer, found.far.head) == (5, 11)
    assert found.far.share == pytest.approx(0.94, abs=0.01)
    assert [(one.does, one.always, one.heads) for one in found.set_aside] == [
        ("the word before", True, ((0, 2),)), ("the word after", False, ((1, 8),)),
    ]  # fmt: skip
    assert {names[vote.word]: vote.heads for vote in found.votes}["dog"] == 12
    assert {names[vote.word]: vote.heads for vote in found.votes}["because"] == 17
    assert found.voters == 72
    assert found.special_mass == pytest.approx(0.42, abs=0.005)


def test_dog_is_read_from_everywhere_in_l5h11(hungry):
    link = strongest(hungry, 7, default_habit()).far
    others = weight_from_others(hungry, link.layer, link.head, link.word, link.reader)
    assert others == pytest.approx(0.54, abs=0.01)


def test_what_turns(hungry, delicious):
    it = find_word(hungry.sides[0], "it")
    found = turns(hungry, it, delicious, it)
    names = hungry.sides[0].names
    assert (names[found.first], names[found.second]) == ("dog", "food")
    assert (len(found.there), len(found.back), found.heads) == (10, 1, 72)
    first = found.there[0]
    assert (first.layer, first.head) == (3, 1)
    assert [round(weight, 2) for weight in first.weights] == [0.53, 0.05, 0.10, 0.25]
    assert first.margin == pytest.approx(0.25 - 0.10, abs=0.01)
    stays = found.stays[0]
    assert (stays.layer, stays.head) == (5, 11)
    assert [round(weight, 2) for weight in stays.weights[::2]] == [0.60, 0.51]
    assert found.exact


def test_turns_between_chosen_words(hungry, delicious):
    found = turns(hungry, 7, delicious, 7, between=(5, 2))
    assert (len(found.there), len(found.back)) == (1, 10)
    with pytest.raises(InputError, match="between names word 9 of text A, which cannot"):
        turns(hungry, 7, delicious, 7, between=(2, 9))


def test_nothing_to_turn_between(hungry):
    other = regard.capture("it")
    assert turns(hungry, 7, other, 1) is None


def test_turns_need_the_same_layers(hungry):
    with pytest.raises(InputError, match=r"layer 'encoder.layer.0.attention.self' with 12 heads"):
        turns(hungry, 7, regard.capture(DELICIOUS, layers=[3]), 7)
    other = dataclasses.replace(hungry, provenance={"model": "other"})
    with pytest.raises(InputError, match="of all-MiniLM-L6-v2 and of other: expected one model"):
        turns(hungry, 7, other, 7)


def test_align_words():
    side_a = side_of("[CLS]", "The", "big", "dog", "ran", "[SEP]")
    side_b = side_of("[CLS]", "the", "dog", "quickly", "ran", "[SEP]")
    assert align_words(side_a, side_b) == {1: 1, 3: 2, 4: 4}
    assert counterpart(side_a, 3, side_b) == 2
    with pytest.raises(InputError, match="word 'big' is not in 'text'"):
        counterpart(side_a, 2, side_b)
