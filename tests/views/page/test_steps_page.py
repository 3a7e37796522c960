"""The page of four steps."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest

import regard
from regard.cli.matrices import steps_of
from regard.errors import InputError
from regard.views.page import page_of_steps
from unpacked import Elements, unpacked

RANDOM = np.random.default_rng(0)


def example(name: str) -> dict[str, object]:
    text = (resources.files("regard.cli.examples") / f"{name}.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def test_every_number_of_the_pencil_example_is_in_it() -> None:
    steps, projection = steps_of(example("pencil"))
    page = unpacked(page_of_steps(steps, projection=projection).html)
    (book,) = page["books"]
    assert book["kind"] == "steps"
    assert book["words"]["readers"]["names"] == ["cats", "like", "milk"]
    assert book["words"]["keys"] is None
    assert np.array_equal(book["words"]["full"]["weight"][0], steps.weights)
    assert np.array_equal(book["words"]["full"]["share"][0], steps.share())
    (spelled,) = book["steps"]
    for name, attribute in (
        ("score", "scores"),
        ("exponential", "exponentials"),
        ("query", "query"),
    ):
        assert np.array_equal(spelled[name][0], getattr(steps, attribute))
    made = spelled["projection"]
    assert projection is not None
    assert np.array_equal(made["x"] @ made["w_query"], steps.query)
    assert np.array_equal(made["w_value"], projection.weights[2])
    assert page["title"] == "cats like milk"
    assert page["start"]["view"] == "steps"


def test_given_scores_have_no_vectors_and_columns_have_numbers() -> None:
    worked = example("worked")
    steps, _ = steps_of(worked)
    page = unpacked(page_of_steps(steps, columns=worked["value_columns"]).html)  # type: ignore[arg-type]
    (spelled,) = page["books"][0]["steps"]
    assert spelled["query"] is spelled["key"] is None
    assert spelled["columns"] == [1, 2, 64]
    assert (spelled["dim"], spelled["value_dim"]) == (64, 3)
    assert np.allclose(spelled["weight"][0] @ spelled["value"][0], steps.output)
    assert "d_k = 64" in page["subtitle"]


@pytest.mark.parametrize("leading", [(4,), (2, 4)])
def test_heads_and_items_are_all_there(leading: tuple[int, ...]) -> None:
    steps = regard.steps(
        RANDOM.normal(size=(*leading, 3, 6)),
        RANDOM.normal(size=(*leading[:-1], 2, 5, 6)),
        RANDOM.normal(size=(*leading[:-1], 2, 5, 7)),
        sinks=[0.0, 1.0, 2.0, 3.0],
    )
    book = unpacked(page_of_steps(steps).html)["books"][0]
    labels = [head["label"] for head in book["heads"]]
    assert len(labels) == len(set(labels)) == np.prod(leading)
    assert len(book["steps"]) == (leading[0] if len(leading) == 2 else 1)
    flat = steps.weights.reshape(-1, 3, 5)
    assert np.array_equal(book["words"]["full"]["weight"], flat)
    assert book["words"]["sums"] is not None
    for layer, spelled in enumerate(book["steps"]):
        for head in range(4):
            one = steps.head(head) if len(leading) == 1 else steps.head(layer, head)
            key_head = spelled["kv"][head]
            assert np.array_equal(spelled["key"][key_head], one.key)
            assert np.array_equal(spelled["value"][key_head], one.value)
            assert np.array_equal(spelled["score"][head], one.scores)
            assert spelled["heads"][head] == 4 * layer + head


def test_two_texts_and_rows_that_see_nothing() -> None:
    steps = regard.steps(
        RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 3)),
        mask=np.array([[True, False, True], [False, False, False]]),
        words=(["a", "b"], ["x", "", "x"]),
    )  # fmt: skip
    html = page_of_steps(steps).html
    book = unpacked(html)["books"][0]
    assert book["words"]["keys"]["names"] == ["x#1", '""', "x#2"]
    assert book["words"]["seen"].tolist() == [[[1, 0, 1], [0, 0, 0]]]
    assert book["words"]["full"]["weight"][0, 1].tolist() == [0, 0, 0]
    assert "x#2" in "".join(Elements(html).text)


def test_float32_steps_are_sent_as_they_were_rounded() -> None:
    query = RANDOM.normal(size=(3, 5))
    steps = regard.steps(query, query, query, dtype="float32")
    spelled = unpacked(page_of_steps(steps).html)["books"][0]["steps"][0]
    scaled = spelled["score"] * spelled["scale"] if spelled["scaled"] is None else spelled["scaled"]
    assert np.array_equal(scaled[0], steps.scaled)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3)])
def test_no_words_and_one(shape: tuple[int, int]) -> None:
    steps = regard.steps(np.ones(shape), np.ones(shape), np.ones(shape))
    book = unpacked(page_of_steps(steps).html)["books"][0]
    assert len(book["words"]["readers"]["names"]) == shape[0]


def test_what_does_not_fit_is_said() -> None:
    query = RANDOM.normal(size=(300, 8))
    with pytest.raises(InputError, match="budget is 500,000 bytes"):
        page_of_steps(regard.steps(query, query, query), budget=500_000)
