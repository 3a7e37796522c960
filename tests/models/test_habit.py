"""The habit table of the embedded model, and the script that measures it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors

import regard
from regard.models.encoder import DEFAULT_DIRECTORY, default_encoder, default_habit, load_encoder
from regard.words import group_words

SCRIPT = Path(__file__).parents[2] / "scripts" / "measure_habit.py"
TABLE = DEFAULT_DIRECTORY / "habit.safetensors"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("measure_habit", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    sys.modules["measure_habit"] = module  # dataclasses look their module up by name
    specification.loader.exec_module(module)
    yield module
    del sys.modules["measure_habit"]


@pytest.fixture(scope="module")
def provenance():
    with safetensors.safe_open(TABLE, framework="numpy") as file:
        return json.loads(file.metadata()["provenance"])


def test_table_belongs_to_the_shipped_texts_and_weights(provenance):
    for name in ("neutral.txt", "model.safetensors"):
        content = (DEFAULT_DIRECTORY / name).read_bytes()
        assert provenance["sha256"][name] == hashlib.sha256(content).hexdigest(), (
            f"{name} has changed: run scripts/measure_habit.py"
        )


def test_table_rests_on_enough(provenance, script):
    assert provenance["texts"] == len(script.read_texts()) >= 200
    assert len(provenance["pairs"]) == 35
    assert min(provenance["pairs"]) > 5_000


def test_table_is_that_of_the_embedded_model():
    habit = default_habit()
    assert default_habit() is habit
    assert habit.distance.shape == (6, 12, 35)
    assert habit.distance.dtype == np.float32
    assert habit.reach == 16
    assert (habit.distance >= 0).all()
    assert (habit.distance <= 1).all()
    assert (habit.spread > 0).all()
    assert ((habit.first > 0) & (habit.last > 0) & (habit.first + habit.last < 1)).all()


def test_positional_heads_are_in_the_table():
    habit = default_habit()
    before, after = habit.reach, habit.reach + 2  # distances -1 and +1
    positional = np.argwhere(habit.distance > 0.5).tolist()
    assert positional == [[0, 2, before], [1, 8, after]]
    assert habit.distance[0, 2, before] > 0.95


def test_table_is_what_a_few_texts_give_again(script):
    """A rough measurement, one text in ten, agrees with the table where it has much to say."""
    again = script.measure(default_encoder(), script.read_texts()[::10]).habit
    shipped = default_habit()
    near = slice(shipped.reach - 3, shipped.reach + 6)
    assert np.abs(again.distance - shipped.distance)[..., near].max() < 0.1
    assert np.abs(again.first - shipped.first).max() < 0.1


def slow_habit(encoder, texts, reach):
    """Mean and spread by distance, and both ends, one pair at a time."""
    bins = 2 * reach + 3
    shape = (encoder.config.layers, encoder.config.heads)
    means, squares, firsts, lasts = [[] for _ in range(bins)], [[] for _ in range(bins)], [], []
    for text in texts:
        encoding = encoder.encode(text)
        words = group_words(text, encoding.tokens, encoding.offsets, encoding.special.tolist())
        words = [word.tokens for word in words if not word.special]
        tokens = range(len(encoding.ids))
        run = encoder.run(encoding.ids, ask=regard.Ask(rows=tokens))
        rows = np.stack([layer.readings.rows for layer in run.layers]).astype(float)
        found = [[] for _ in range(bins)]
        for reader, from_tokens in enumerate(words):
            for read, to_tokens in enumerate(words):
                weight = np.zeros(shape)
                for source in from_tokens:
                    for target in to_tokens:
                        weight += rows[:, :, source, target] / len(from_tokens)
                place = min(max(read - reader, -reach - 1), reach + 1) + reach + 1
                found[place].append(weight)
        for place, weights in enumerate(found):
            if weights:
                means[place].append(np.mean(weights, axis=0))
                squares[place].append(np.mean(np.square(weights), axis=0))
        firsts.append(np.mean([rows[:, :, list(w), 0].mean(-1) for w in words], axis=0))
        lasts.append(np.mean([rows[:, :, list(w), -1].mean(-1) for w in words], axis=0))
    mean = np.stack([np.mean(weights, axis=0) for weights in means], axis=-1)
    square = np.stack([np.mean(weights, axis=0) for weights in squares], axis=-1)
    return mean, np.sqrt(square - mean**2), np.mean(firsts, axis=0), np.mean(lasts, axis=0)


def test_measure_is_the_slow_one(script, write_tiny, monkeypatch):
    monkeypatch.setattr(script, "REACH", 2)
    encoder = load_encoder(write_tiny())
    texts = [
        "the dogs ate the food.",
        "dog ate dogs",
        "a dogs",
        "the food the foods ate dogseds a.",
    ]
    measured = script.measure(encoder, texts)
    mean, spread, first, last = slow_habit(encoder, texts, 2)
    assert measured.texts == 4
    assert measured.pairs.sum() == 6**2 + 3**2 + 2**2 + 8**2
    assert measured.pairs[3] == 6 + 3 + 2 + 8  # distance 0
    np.testing.assert_allclose(measured.habit.distance, mean, atol=1e-6)
    np.testing.assert_allclose(measured.habit.spread, spread, atol=1e-5)
    np.testing.assert_allclose(measured.habit.first, first, atol=1e-6)
    np.testing.assert_allclose(measured.habit.last, last, atol=1e-6)


def test_measure_leaves_no_holes(script, write_tiny):
    with pytest.raises(SystemExit, match="no text has words 17 apart"):
        script.measure(load_encoder(write_tiny()), ["the dog ate"])
