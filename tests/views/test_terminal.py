"""Width, colour and encoding: what is sent where."""

from __future__ import annotations

import io

import pytest

from regard.views.cells import width
from regard.views.terminal import Terminal, wrapped


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


def test_a_screen_has_colours_and_a_pipe_has_none() -> None:
    assert Terminal.of(Screen()).colour
    assert not Terminal.of(io.StringIO()).colour


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_left_out(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert not Terminal.of(Screen()).colour


@pytest.mark.parametrize(
    ("columns", "used"), [("50", 50), ("200", 79), ("10", 50), ("many", 79), ("0", 79)]
)
def test_columns_are_kept_to_what_can_be_read(
    monkeypatch: pytest.MonkeyPatch, columns: str, used: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert Terminal.of(Screen()).columns == used


@pytest.mark.parametrize(
    ("weight", "cells"),
    [(1.0, "████████████████████"), (0.5, "██████████"), (0.0, ""), (0.03, "▋"), (2.0, "█" * 20)],
)
def test_a_bar_is_drawn_to_an_eighth_of_a_cell(weight: float, cells: str) -> None:
    assert Terminal().bar(weight) == cells


def test_an_encoding_without_blocks_gets_plain_characters_in_the_same_columns() -> None:
    plain = Terminal(encoding="ascii")
    lines = [f"≥.84  {plain.bar(0.84)}", "2 × 3 → é"]
    assert plain.finish(lines) == ">=.84  " + "#" * 17 + "\n2 x 3 -> \\xe9\n"
    assert Terminal(encoding="latin-1").finish(["é ×"]) == "é x\n"
    assert Terminal(encoding="no-such-encoding").finish(["é"]) == "\\xe9\n"


def test_words_are_made_writable_before_they_are_measured() -> None:
    shown = Terminal(encoding="ascii").shown("漢\x1b")
    assert shown == "\\u6f22\\x1b"
    assert Terminal().shown("漢\x1b") == "漢\\x1b"


def test_finish_ends_lines_and_drops_spaces_at_their_ends() -> None:
    assert Terminal().finish(["a  ", "", "b"]) == "a\n\nb\n"


def test_styles_only_where_there_are_colours() -> None:
    assert Terminal().style("a", "bold") == "a"
    assert Terminal(colour=True).style("a", "bold") == "\x1b[1ma\x1b[0m"
    assert Terminal(colour=True).style("", "bold") == ""


def test_wrapped_lines_fit_and_lose_nothing() -> None:
    text = "Heads do not agree on what 漢字 reads: of 72, 17 look most at because."
    lines = wrapped(text, 20, "  ")
    assert all(width(line) <= 20 for line in lines)
    assert " ".join(line.strip() for line in lines) == text
    assert all(line.startswith("  ") for line in lines[1:])
