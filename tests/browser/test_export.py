"""What is seen, taken along: files that other programs can read, of what is on the screen."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from browser.pages import PAGES, Shown
from regard.record import Record

HEADS = 12
IT, LAYER, HEAD = 7, 3, 1


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


def saved(shown: Shown, what: str) -> bytes:
    with shown.page.expect_download() as waiting:
        shown.page.locator(f"button[data-export={what}]").click()
    return Path(waiting.value.path()).read_bytes()


def held(shown: Shown) -> Shown:
    shown.let_go()
    shown.choose_head(LAYER * HEADS + HEAD)
    shown.hold(IT)
    return shown


def test_svg(show: Callable[..., Shown], record: Record) -> None:
    tree = ElementTree.fromstring(saved(held(show("sentence")), "svg"))
    assert tree.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join(
        "".join(one.itertext()) for one in tree.iter("{http://www.w3.org/2000/svg}text")
    )
    for word in record.sides[0].words:
        assert word.text in text
    assert "L3H1" in text


@pytest.mark.parametrize("what", ["png", "matrix"])
def test_png(show: Callable[..., Shown], what: str) -> None:
    data = saved(held(show("sentence")), what)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert width > 300
    assert height > 200


def test_csv(show: Callable[..., Shown], record: Record) -> None:
    """One line a link of the held word, with the weights of Python."""
    text = saved(held(show("sentence")), "csv").decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    weights = record.weights(LAYER, IT).weights[HEAD]
    assert len(rows) == len(weights)
    names = record.sides[0].names
    assert {row["from"] for row in rows} == {"it"}
    assert {row["head"] for row in rows} == {"L3H1"}
    found = {row["to"]: float(row["weight"]) for row in rows}
    assert found == {
        name: pytest.approx(weight, abs=1e-5) for name, weight in zip(names, weights, strict=True)
    }


def test_dark_is_saved_light(show: Callable[..., Shown]) -> None:
    """What is taken along is for paper, whatever the screen looks like."""
    light = saved(held(show("sentence", color_scheme="light")), "svg")
    assert saved(held(show("sentence", color_scheme="dark")), "svg") == light
