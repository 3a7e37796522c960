"""A page keeps to its budget, and says what it leaves out."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import regard
from records import record_of
from regard.errors import InputError
from regard.record import Record
from regard.views.page import page_of_record
from regard.views.page.document import shell
from unpacked import unpacked

CAUSAL = regard.Mask(causal=True)
WORDS = tuple(f"wo|rd{i}" if i % 5 == 0 else f"word{i}" for i in range(150))
EMPTY = len(shell().script) + len(shell().style)


@pytest.fixture(scope="module")
def long() -> Record:
    """150 words, 180 tokens, in 24 heads."""
    return record_of(*WORDS, layers=6, mask=CAUSAL, kind="decoder")


@pytest.fixture(scope="module")
def bare(long: Record) -> Record:
    """The same, of which only readings were kept."""
    ask = regard.Ask(top=8, share=True, entropy=True, received=True, thumbnail=16, lse=True)
    layers = []
    for layer in long.layers:
        assert layer.call is not None
        read = regard.readings(
            layer.query,
            layer.key,
            layer.value,
            ask=ask,
            mask=layer.call.mask,
            scale=layer.call.scale,
        )
        layers.append(
            dataclasses.replace(layer, readings=read, ask=ask, query=None, key=None, value=None)
        )
    return Record(long.sides, tuple(layers), {})


@pytest.mark.parametrize("room", [60_000, 100_000, 200_000, 500_000, 1_000_000, 3_000_000])
@pytest.mark.parametrize("kept", ["all", "readings"])
def test_no_page_is_larger_than_its_budget(
    room: int, kept: str, long: Record, bare: Record
) -> None:
    budget = EMPTY + room
    page = page_of_record(long if kept == "all" else bare, budget=budget)
    assert len(page.html.encode("utf-8")) == page.size <= budget
    said = unpacked(page.html)["plan"]
    assert said["budget"] == budget
    assert said["bytes"] == page.size
    assert [(one["what"], one["command"]) for one in said["left"]] == [*page.left]


def test_more_room_is_more_in_it_and_less_left(long: Record) -> None:
    heads, left = [], []
    for room in (200_000, 500_000, 1_500_000):
        page = page_of_record(long, budget=EMPTY + room)
        links = unpacked(page.html)["books"][0]["words"]["links"]
        heads.append(0 if links is None else len(links["heads"]))
        left.append(len(page.left))
    assert heads == sorted(heads)
    assert heads[0] < heads[-1]
    whole = unpacked(page_of_record(long).html)["books"][0]
    assert whole["words"]["full"]["weight"].shape == (24, 150, 150)
    assert whole["pieces"]["full"]["weight"].shape == (24, 180, 180)
    assert whole["words"]["links"] is None


def test_even_the_smallest_has_pictures_and_the_strongest_links(long: Record) -> None:
    page = page_of_record(long, budget=EMPTY + 100_000)
    book = unpacked(page.html)["books"][0]
    assert book["thumbs"] is not None
    assert book["words"]["strongest"] is not None
    assert book["words"]["means"]["entropy"].shape == (24,)
    assert any(what.startswith("links of ") for what, _ in page.left)


def test_too_small_a_budget_says_what_would_do(long: Record) -> None:
    with pytest.raises(InputError) as error:
        page_of_record(long, budget=EMPTY)
    enough = re.search(r"give budget=(\d+)", str(error.value))
    assert enough is not None
    assert page_of_record(long, budget=int(enough[1])).size <= int(enough[1])


def test_words_and_heads_that_are_asked_for_are_in_it(long: Record) -> None:
    asked: dict[str, Any] = {"words": ["word77", 3], "heads": ["L4H1", "L2H0"]}
    page = unpacked(page_of_record(long, budget=EMPTY + 500_000, **asked).html)
    assert page["start"] == {
        "book": 0, "unit": 77, "head": 17, "step": None, "view": "sentence",
    }  # fmt: skip
    book = page["books"][0]
    full = book["words"]["full"]
    assert len(full["heads"]) == 24
    assert set(full["readers"].tolist()) == {77, 3}
    for place, head in enumerate(full["heads"]):
        for row, word in enumerate(full["readers"]):
            exact = long.weights(head // 4, int(word)).weights[head % 4]
            assert np.abs(full["weight"][place, row] - exact).max() <= 1 / 65534
    assert [steps["heads"].tolist() for steps in book["steps"]][:2] == [[17], [8]]
    assert {17, 8} <= set(book["words"]["links"]["heads"].tolist())


def test_a_head_alone_is_whole_where_it_fits(long: Record) -> None:
    page = unpacked(page_of_record(long, budget=EMPTY + 700_000, heads="L1H1").html)
    full = page["books"][0]["words"]["full"]
    assert full["heads"].tolist() == [5]
    assert len(full["readers"]) == 150


def test_layers_are_all_their_heads(long: Record) -> None:
    page = unpacked(page_of_record(long, budget=EMPTY + 1_000_000, layers=[3]).html)
    assert page["books"][0]["words"]["full"]["heads"].tolist() == [12, 13, 14, 15]


def test_steps_of_a_long_row_are_of_the_keys_it_reads_most() -> None:
    words = tuple(f"word{i}" for i in range(400))
    record = record_of(*words, layers=1, heads=2, kv_heads=1, mask=CAUSAL, kind="decoder")
    page = unpacked(page_of_record(record, budget=EMPTY + 600_000, words=100, heads="L0H1").html)
    steps = page["books"][0]["steps"][0]
    assert steps["heads"].tolist() == [1]
    spelled = record.steps(0, 1, 100)
    keys = steps["keys"]
    assert len(keys) == 256
    assert set(np.argsort(-spelled.weights[0], kind="stable")[:256]) == set(keys)
    assert np.array_equal(steps["weight"][0, 0], spelled.weights[0, keys])
    assert np.array_equal(steps["masked"][0, 0], spelled.masked[0, keys])
    assert np.array_equal(steps["share"][0, 0], spelled.share()[0, keys])
    assert np.array_equal(steps["output"][0, 0], spelled.output[0])  # type: ignore[index]
    assert steps["sum"][0, 0] == spelled.row_sums[0]


def test_links_are_the_largest_weights(long: Record) -> None:
    book = unpacked(page_of_record(long, budget=EMPTY + 500_000).html)["books"][0]
    links = book["words"]["links"]
    assert links["bound"] is False
    for place in (0, len(links["heads"]) - 1):
        head = int(links["heads"][place])
        for row in (0, 7, 149):
            exact = long.weights(head // 4, int(links["readers"][row])).weights[head % 4]
            most = links["key"].shape[2]
            keys = links["key"][place, row]
            keys = keys[keys != 65535].astype(int)
            assert keys.tolist() == np.argsort(-exact, kind="stable")[: min(most, row + 1)].tolist()
            weight = links["weight"][place, row, : len(keys)]
            assert np.abs(weight - exact[keys]).max() <= 1 / 65534


def test_who_sees_whom_is_a_run_of_keys_where_a_text_is_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regard.views.page.sight.MOST_CELLS", 10)
    mask = regard.Mask(causal=True, window=(2, 0))
    record = record_of("a", "b|c", "d", "e", "f", mask=mask, kind="decoder")
    book = unpacked(page_of_record(record).html)["books"][0]
    seen = book["pieces"]["seen"]
    assert seen["first"].tolist() == [[0, 0, 0, 1, 2, 3]]
    assert seen["stop"].tolist() == [[1, 2, 3, 4, 5, 6]]
    # a word sees what any of its pieces sees
    assert book["words"]["seen"]["first"].tolist() == [[0, 0, 1, 1, 2]]
    hole = np.ones((6, 6), np.bool_)
    hole[4, 2] = False
    record = record_of("a", "b|c", "d", "e", "f", mask=regard.Mask(allowed=hole))
    page = page_of_record(record)
    assert unpacked(page.html)["books"][0]["pieces"]["seen"] is None
    assert any("may see" in what for what, _ in page.left)


def test_commands_are_those_that_were_typed(long: Record) -> None:
    typed = ["regard", "show", "a long.regard"]
    page = page_of_record(long, budget=EMPTY + 300_000, typed=typed)
    commands = [command for what, command in page.left if what.startswith("links of")]
    assert commands
    for command in commands:
        assert re.fullmatch(r"regard show 'a long.regard' --head L\dH\d --html page.html", command)
