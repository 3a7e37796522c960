"""One number a head, against the four steps in float64."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import regard
from records import dense, given_record, record_of, top_only
from regard.models.encoder import default_habit
from regard.questions import expected, find_word
from regard.questions.head_readings import head_readings

WORDS = ("[CLS]", "A", "play|ing", "dog", "ate", ".", "[SEP]")
READERS = [1, 2, 3, 4, 5]  # tokens of the words that are no special token and no mark


def entropy_of(weights: np.ndarray) -> np.ndarray:
    return -np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1)), 0).sum(-1)


def test_entropy_is_the_mean_over_the_rows_of_words() -> None:
    record = record_of(*WORDS, layers=2)
    found = head_readings(record, "entropy")
    for index, layer in enumerate(record.layers):
        weights, _ = dense(layer)
        np.testing.assert_allclose(
            found.numbers[index], entropy_of(weights)[:, READERS].mean(1), atol=1e-6
        )
    assert found.exact


def test_entropy_of_one_word_is_that_of_its_pieces() -> None:
    record = record_of(*WORDS)
    found = head_readings(record, "entropy", word=2)
    weights, _ = dense(record.layers[0])
    np.testing.assert_allclose(found.numbers[0], entropy_of(weights)[:, [2, 3]].mean(1), atol=1e-6)


def test_entropy_is_taken_as_it_was_read_in_the_pass() -> None:
    text = "A dog ate the food because it was hungry"
    asked = regard.capture(text, ask=regard.Ask(entropy=True), keep=())
    kept = regard.capture(text)
    np.testing.assert_allclose(head_readings(asked).numbers, head_readings(kept).numbers, atol=1e-5)
    assert asked.layers[0].query is None


def test_entropy_of_given_rows() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 4)).astype(np.float32)
    rows[0, 1] = (1, 0, 0, 0)
    found = head_readings(given_record(rows, "[CLS]", "a", "dog", "[SEP]"))
    np.testing.assert_allclose(found.numbers[0], entropy_of(rows)[:, 1:3].mean(1), atol=1e-6)


def test_entropy_needs_whole_rows() -> None:
    _, bare = top_only("[CLS]", "A", "dog", "ate", "[SEP]")
    with pytest.raises(regard.InputError, match=r"only the largest weights.*Ask\(entropy=True\)"):
        head_readings(bare)


def test_special_is_the_weight_on_special_tokens() -> None:
    record = record_of(*WORDS)
    weights, _ = dense(record.layers[0])
    mass = weights[:, :, [0, 7]].sum(-1)
    words = np.stack([mass[:, 1], mass[:, 2:4].mean(1), mass[:, 4], mass[:, 5]])
    np.testing.assert_allclose(
        head_readings(record, "special").numbers[0], words.mean(0), atol=1e-6
    )
    one = head_readings(record, "special", word=3).numbers[0]
    np.testing.assert_allclose(one, words[2], atol=1e-6)


def test_special_counts_the_first_token_of_a_decoder() -> None:
    record = record_of("A", "dog", "ate", kind="decoder", mask=regard.Mask(causal=True, offset=0))
    weights, _ = dense(record.layers[0])
    found = head_readings(record, "special", word=2).numbers[0]
    np.testing.assert_allclose(found, weights[:, 2, 0], atol=1e-6)


def test_weight_is_from_the_pieces_to_the_word() -> None:
    record = record_of(*WORDS)
    weights, _ = dense(record.layers[0])
    found = head_readings(record, "weight", word=3, to=2).numbers[0]
    np.testing.assert_allclose(found, weights[:, 4, 2:4].sum(-1), atol=1e-6)


def test_lift_is_the_weight_beyond_habit() -> None:
    record = regard.capture("A dog ate the food because it was hungry")
    it, dog = (find_word(record.sides[0], name) for name in ("it", "dog"))
    habit = default_habit()
    found = head_readings(record, "lift", word=it, to=dog, habit=habit)
    for layer in range(6):
        weights = record.weights(layer, it).weights[:, dog]
        usual = expected(record, layer, it, habit)[:, dog]
        np.testing.assert_allclose(found.numbers[layer], weights - usual, atol=1e-6)


def test_bounds_are_said_to_be_bounds() -> None:
    full, bare = top_only("[CLS]", "A", "dog", "ate", "[SEP]")
    found = head_readings(bare, "weight", word=1, to=2)
    assert not found.exact
    assert (found.numbers <= head_readings(full, "weight", word=1, to=2).numbers + 1e-6).all()


def test_layers_of_different_width_are_filled_up() -> None:
    record = record_of(*WORDS, layers=2)
    first = record.layers[0]
    few = dataclasses.replace(
        first, number=1, heads=2, query=first.query[:2], key=first.key[:1], value=first.value[:1]
    )
    found = head_readings(dataclasses.replace(record, layers=(first, few)))
    assert np.isnan(found.numbers[1]).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"reading": "mass"}, "reading is 'mass': expected one of entropy, special, weight, lift"),
        ({"reading": "weight", "word": 1}, "give word= and to="),
        ({"reading": "entropy", "to": 1}, "leave out to="),
        ({"reading": "lift", "word": 1, "to": 2}, "needs the heads' habits"),
        ({"reading": "weight", "word": 1, "to": 7}, "to is 7 and the text has 7 words"),
        ({"reading": "special", "word": 9}, "word 9 is no reader"),
    ],
)
def test_what_is_refused(asked: dict, said: str) -> None:
    with pytest.raises(regard.InputError, match=said):
        head_readings(record_of(*WORDS), **asked)
