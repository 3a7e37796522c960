"""Scenes of a record that a real model made: every number is the record's own."""

from __future__ import annotations

import pytest

from regard import questions
from regard.errors import InputError
from regard.models.capture import capture
from regard.models.encoder import default_habit
from regard.record import Record
from regard.views.staging import Stage

TEXT = "A dog ate the food because it was hungry"


@pytest.fixture(scope="module")
def record() -> Record:
    return capture(TEXT)


@pytest.fixture(scope="module")
def stage(record: Record) -> Stage:
    return Stage(record, default_habit())


def test_the_source_is_the_text_and_the_model(stage: Stage) -> None:
    source = stage.source(exact=True)
    assert source.text == TEXT
    assert source.words[0] == "[CLS]"
    assert source.special == ("[CLS]", "[SEP]")
    assert [TEXT[slice(*span)] for span in source.spans[1:-1]] == TEXT.split()
    assert source.model == "all-MiniLM-L6-v2"
    assert source.heads == (12,) * 6
    assert source.habit == "neutral texts"


def test_words_that_the_model_does_not_know_are_named() -> None:
    seen = capture("a \U0001f468\u200d\U0001f469\u200d\U0001f467 dog")
    assert Stage(seen, None).source(exact=True).unknown == (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    )


def test_one_word_ranks_its_links_and_shows_the_far_one_in_full(
    record: Record, stage: Stage
) -> None:
    word = questions.find_word(record.sides[0], "it")
    scene = stage.one_word(word)
    assert [scene.links[0].word, scene.links[0].head] == ["hungry", "L2H8"]
    assert scene.links[0].weight == pytest.approx(0.84, abs=0.01)
    assert scene.row.head == "L5H11"
    assert scene.leads == "dog"
    dog = next(cell for cell in scene.row.cells if cell.word == "dog")
    assert dog.weight == float(record.weights(5, word).weights[11, 2])
    assert dog.weight == pytest.approx(0.60, abs=0.01)
    assert dog.share == pytest.approx(0.94, abs=0.01)
    assert sum(cell.weight for cell in scene.row.cells) == pytest.approx(1, abs=1e-5)
    assert sum(cell.share or 0 for cell in scene.row.cells) == pytest.approx(1, abs=1e-5)
    assert scene.voters == 72
    assert scene.votes[0].word == "because"
    assert scene.special_mass == pytest.approx(0.42, abs=0.01)


def test_what_the_other_words_give_is_their_mean(record: Record, stage: Stage) -> None:
    it, dog = (questions.find_word(record.sides[0], name) for name in ("it", "dog"))
    others = [word for word in range(1, 10) if word not in (it, dog)]
    given = [float(record.weights(5, word).weights[11, dog]) for word in others]
    assert stage.one_word(it).others == pytest.approx(sum(given) / len(given))


def test_the_row_of_one_head_is_that_of_the_record(record: Record, stage: Stage) -> None:
    scene = stage.one_row(3, 1, 4)
    weights = record.weights(3, 4).weights[1]
    assert [cell.weight for cell in scene.row.cells] == [float(weight) for weight in weights]
    assert scene.row.head == "L3H1"
    assert scene.row.reader == "the"


def test_a_short_text_has_a_matrix_and_a_long_one_has_none(record: Record, stage: Stage) -> None:
    matrix = stage.one_head(3, 1).matrix
    assert matrix is not None
    assert matrix[4] == tuple(float(weight) for weight in record.weights(3, 4).weights[1])
    long = Stage(capture("dog " * 20), default_habit()).one_head(3, 1)
    assert long.matrix is None
    assert len(long.links) == 20


def test_a_head_knows_its_routine(stage: Stage) -> None:
    scene = stage.one_head(0, 2)
    assert scene.routine is not None
    assert (scene.routine.reads, scene.routine.always) == ("the word before", True)
    assert scene.kind == "before"


def test_the_sentence_has_its_strongest_links_and_all_heads(stage: Stage) -> None:
    scene = stage.sentence()
    assert 0 < len(scene.links) <= 8
    lifts = [link.weight - (link.habit or 0) for link in scene.links]
    assert lifts == sorted(lifts, reverse=True)
    assert sum(len(kind.heads) for kind in scene.kinds) == 72
    assert scene.readers == 9


def test_four_steps_end_at_the_weights_of_the_record(record: Record, stage: Stage) -> None:
    word = questions.find_word(record.sides[0], "it")
    scene = stage.four_steps(5, 11, word)
    weights = record.row(5, 11, word)
    assert [key.token for key in scene.keys] == list(record.sides[0].names)
    assert [key.weight for key in scene.keys] == pytest.approx(list(weights), abs=1e-5)
    assert scene.dim == 32
    query, keys = record.layers[5].query[11, word], record.layers[5].key[11]  # type: ignore[index]
    for key, products in zip(scene.keys, abs(query * keys), strict=True):
        assert key.scaled == pytest.approx(key.score / 32**0.5)
        assert key.exponential / scene.row_sum == pytest.approx(key.weight)
        assert all(term.product == term.query * term.key for term in key.terms)
        sizes = [abs(term.product) for term in key.terms]
        assert sizes == pytest.approx(sorted(products, reverse=True)[:3])
    assert sum(key.share or 0 for key in scene.keys) == pytest.approx(1)


def test_tokens_in_the_arithmetic_are_told_apart() -> None:
    stage = Stage(capture("the dog saw the tokenization"), None)
    tokens = [key.token for key in stage.four_steps(0, 0, 1).keys]
    assert tokens[1:-1] == ["the#1", "dog", "saw", "the#2", "token", "##ization"]


def test_versus_finds_the_heads_that_turn(record: Record, stage: Stage) -> None:
    other = capture(TEXT.replace("hungry", "delicious"))
    word = questions.find_word(record.sides[0], "it")
    scene = stage.versus(other, word, word)
    assert (scene.first, scene.second) == ("dog", "food")
    assert [scene.there[0].head, len(scene.there), len(scene.back)] == ["L3H1", 10, 1]
    turn = scene.there[0]
    shown = [turn.first_in_a, turn.second_in_a, turn.first_in_b, turn.second_in_b]
    assert shown == pytest.approx([0.53, 0.05, 0.10, 0.25], abs=0.01)
    assert scene.stays[0].head == "L5H11"
    assert scene.heads == 72


def test_without_a_habit_table_a_short_text_has_no_habits(record: Record) -> None:
    stage = Stage(record, None)
    assert stage.source(exact=True).habit is None
    assert all(link.habit is None for link in stage.sentence().links)


def test_without_a_habit_table_a_long_text_is_its_own_measure() -> None:
    stage = Stage(capture("the dog saw a cat and " * 14), None)
    assert stage.source(exact=True).habit == "this text"
    assert stage.sentence().links[0].habit is not None


def test_one_word_alone_has_nothing_to_read() -> None:
    scene = Stage(capture("dog"), default_habit()).one_word(1)
    assert scene.links == ()
    assert scene.leads is None
    assert scene.row.head == "L0H0"


def test_arithmetic_of_what_was_not_kept_is_refused() -> None:
    from regard.mechanism.readings import Ask

    bare = capture("A dog ate", ask=Ask(top=2), keep=())
    with pytest.raises(InputError, match="the four steps need query, key and value"):
        Stage(bare, None).four_steps(0, 0, 1)
    row = Stage(bare, None).one_row(0, 0, 1)
    assert not row.row.exact
    assert not row.source.exact
