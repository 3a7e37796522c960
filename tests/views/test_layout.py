"""Numbers, tables, the text with one word marked, and commands to type."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from regard.views.cells import width
from regard.views.layout import hints, named, number, passage, percent, table
from regard.views.terminal import Terminal
from views import scenes

TERMINAL = Terminal()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.84, ".84"),
        (0.0049, ".00"),
        (0.005001, ".01"),
        (0.0, ".00"),
        (1.0, "1.00"),
        (0.996, "1.00"),
        (0.9949, ".99"),
        (-0.03, "-.03"),
        (-0.001, ".00"),
        (-1.5, "-1.50"),
        (12.345, "12.35"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_a_fraction_has_two_decimals_and_no_leading_zero(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_a_lower_bound_is_marked() -> None:
    assert number(0.84, bound=True) == "≥.84"


@pytest.mark.parametrize(
    ("fraction", "shown"), [(0.42, "42 %"), (0.0, "0 %"), (0.001, "<1 %"), (1.0, "100 %")]
)
def test_percent(fraction: float, shown: str) -> None:
    assert percent(fraction) == shown


def test_a_word_in_a_sentence_is_quoted_harmless_and_short() -> None:
    assert named("dog", TERMINAL) == '"dog"'
    assert named("a\x1bb", TERMINAL) == '"a\\x1bb"'
    assert named("x" * 99, TERMINAL) == '"' + "x" * 23 + '…"'
    assert named("שלום", TERMINAL) == '"\u2068שלום\u2069"'


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    lines = table([["word", "w"], ["漢字漢字", ".84"], ["a", "1.00"]], ["left", "right"])
    assert lines == ["  word         w", "  漢字漢字   .84", "  a         1.00"]


@pytest.mark.parametrize(
    ("place", "room", "shown"),
    [
        (4, 79, "A dog ate [it]"),
        (1, 79, "[A] dog ate it"),
        (0, 79, "A dog ate it  [[CLS]]"),
        (None, 79, "A dog ate it"),
        (4, 12, "…og ate [it]"),
        (1, 12, "[A] dog ate…"),
        (2, 12, "A [dog] ate…"),
        (None, 8, "A dog a…"),
    ],
)
def test_the_word_is_marked_and_stays_in_sight(place: int | None, room: int, shown: str) -> None:
    assert passage(scenes.source(), place, TERMINAL, room) == shown
    assert width(shown) <= room


def test_line_ends_in_a_text_are_folded_around_the_marked_word() -> None:
    source = replace(scenes.source(), text="A\tdog\nate\r\nit")
    spans = ((0, 0), (0, 1), (2, 5), (6, 9), (11, 13), (0, 0))
    source = replace(source, spans=spans)
    assert passage(source, 3, TERMINAL, 79) == "A dog [ate] it"


def test_a_word_within_a_word_is_marked_without_spaces() -> None:
    source = replace(scenes.source(), text="这只狗", spans=((0, 0), (0, 1), (1, 2), (2, 3)))
    assert passage(source, 2, TERMINAL, 79) == "这[只]狗"


def test_a_right_to_left_text_is_isolated_as_a_whole() -> None:
    source = replace(scenes.source(), text="שלום לך", spans=((0, 0), (0, 4), (5, 7)))
    assert passage(source, 2, TERMINAL, 79) == "\u2068שלום [לך]\u2069"


def test_hints_are_whole_commands_where_they_fit() -> None:
    command = ("regard", "show", "A dog ate it")
    asks = ("One word:", ("--word", "it")), ("One head:", ("--head", "L0H2"))
    assert hints(TERMINAL, command, *asks) == [
        "",
        "One word: regard show 'A dog ate it' --word it",
        "One head: regard show 'A dog ate it' --head L0H2",
    ]
    assert hints(Terminal(columns=50), ("regard", "show", "word " * 9), *asks) == [
        "",
        "Next, added to the same command:",
        "  One word: --word it",
        "  One head: --head L0H2",
    ]


@pytest.mark.parametrize("word", ["\x1b[2J", "שלום", "x" * 200])
def test_a_word_that_cannot_be_printed_as_it_is_typed_makes_no_hint(word: str) -> None:
    assert hints(TERMINAL, ("regard", "show", "text"), ("One word:", ("--word", word))) == []
