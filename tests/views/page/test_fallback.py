"""What a page shows without its script."""

from __future__ import annotations

import re

import numpy as np

import regard
from records import given_record, record_of, top_only
from regard import questions
from regard.views.page.fallback import hundredths
from regard.views.staging import shipped_habit
from unpacked import Elements

HUNGRY = "A dog ate the food because it was hungry"


def rows(html: str) -> list[list[str]]:
    """The cells of the table's rows, without markup."""
    found = re.findall(r"<tr>(.*?)</tr>", html.split("<tbody>")[1])
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in found
    ]


def test_the_links_of_a_word_are_those_of_the_questions() -> None:
    record = regard.capture(HUNGRY)
    html = record.page(words="it").html
    assert "<h2>Whom <bdi>it</bdi> reads</h2>" in html
    links = questions.strongest(record, 7, shipped_habit(record)).links
    names = record.sides[0].names
    shown = {cells[0]: cells[1:] for cells in rows(html)}
    assert len(shown) == len(links)
    for link in links:
        assert shown[f"it reads {names[link.word]}"] == [
            hundredths(link.weight), hundredths(link.habit), hundredths(link.share),
            record.layers[link.layer].label(link.head),
        ]  # fmt: skip
    # the one that a person asks about comes first: the strongest that is not next to it
    assert next(iter(shown)) == "it reads dog"
    lines = re.findall(r"<line [^>]+>", html)
    assert len(lines) == len(links)


def test_lower_bounds_are_marked_and_what_is_not_known_is_a_dash() -> None:
    _, bare = top_only("one", "two", "three", "four")
    assert all(cells[1].startswith("≥.") for cells in rows(bare.page().html))
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3))
    for cells in rows(given_record(weights, "a", "b", "c").page().html):
        assert cells[2] == "–"  # no habit
        assert cells[3] == "–"  # no values


def test_a_text_without_links_says_so() -> None:
    html = record_of("[CLS]").page().html
    assert "No link stands out here." in html
    assert "<svg" not in html.split("<script")[0]


def test_no_element_has_a_style_of_its_own() -> None:
    found = Elements(record_of("a", "b", "\u05d0\u05d1", "x" * 300).page().html)
    assert not [value for _, name, value in found.attributes if name == "style"]


def test_hundredths_as_the_command_line_writes_them() -> None:
    assert [hundredths(n) for n in (0.6, 1, -0.054, 0, -0.001, 12.345, None)] == [
        ".60", "1.00", "−.05", ".00", ".00", "12.35", "–",
    ]  # fmt: skip
