"""The screens: what they say, how wide they are, and that hostile words stay words."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest

from regard.views.cells import width
from regard.views.layout import NOT_WHY
from regard.views.scene import Routine, Vote
from regard.views.terminal import Terminal
from regard.views.text import render
from views import scenes

COMMAND = ("regard", "show", "A dog ate it")
ALL = (
    scenes.sentence(),
    scenes.sentence(links=(), routines=()),
    scenes.one_word(),
    scenes.one_row(),
    scenes.one_head(),
    scenes.one_head(matrix=None),
    scenes.four_steps(),
    scenes.versus(),
)
ESCAPES = re.compile("\x1b\\[[0-9;]*m")


def lines_of(
    scene: object, terminal: Terminal | None = None, command: tuple[str, ...] = COMMAND
) -> list[str]:
    return render(scene, terminal or Terminal(), command).splitlines()  # type: ignore[arg-type]


def text_of(scene: object, **more: object) -> str:
    """The screen with line breaks folded, to look for sentences in."""
    return " ".join(" ".join(lines_of(scene, **more)).split())  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [50, 64, 79])
@pytest.mark.parametrize("scene", ALL)
def test_no_line_is_wider_than_the_terminal(scene: object, columns: int) -> None:
    for line in lines_of(scene, Terminal(columns=columns)):
        assert width(line) <= columns, line


@pytest.mark.parametrize("scene", ALL)
def test_colour_only_adds_escape_sequences(scene: object) -> None:
    plain = lines_of(scene)
    coloured = lines_of(scene, Terminal(colour=True))
    assert [ESCAPES.sub("", line).rstrip() for line in coloured] == plain
    assert coloured != plain or not scene


@pytest.mark.parametrize("scene", ALL)
def test_everything_can_be_written_in_ascii(scene: object) -> None:
    text = render(scene, Terminal(encoding="ascii"), COMMAND)  # type: ignore[arg-type]
    text.encode("ascii")
    assert "\\u" not in text  # every character of our own has a plain one


HOSTILE = ("\x1b[31mred", "\u202egod", "a\tb\nc", "\ud800", "</script>", "x" * 10_000, "\u200b", "")


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_are_shown_and_nothing_else_happens(word: str) -> None:
    words = ("[CLS]", "A", word, "ate", "it", "[SEP]")
    source = scenes.source(None, words)
    row = scenes.row(words)
    links = (scenes.Link("it", word, -2, "L2H8", 0.84, 0.16, 0.9),)
    for scene in (
        scenes.sentence(source=source, links=links),
        scenes.one_word(source=source, links=links, row=row, votes=(Vote(word, 9),), leads=word),
        scenes.one_head(source=source, links=links),
        scenes.one_head(source=source, links=links, matrix=None),
        scenes.four_steps(source=source, keys=(scenes.key_step(word, 1.0, 2.0),)),
        scenes.versus(source=source, first=word),
    ):
        text = render(scene, Terminal(), COMMAND)  # type: ignore[arg-type]
        categories = {unicodedata.category(char) for char in text if char != "\n"}
        assert not categories & {"Cc", "Cs", "Cf", "Zl", "Zp"}
        assert all(width(line) <= 79 for line in text.splitlines())
        assert text.splitlines() == text.split("\n")[:-1]


@pytest.mark.parametrize(
    "word", ["漢字", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "e\u0301", "שלום", "מ"]
)
def test_bars_stand_under_one_another_whatever_the_words(word: str) -> None:
    words = ("[CLS]", "A", word, "ate", "it", "[SEP]")
    lines = lines_of(scenes.one_row(source=scenes.source(None, words), row=scenes.row(words)))
    bars = [width(line.split("█")[0]) for line in lines if "██" in line]
    assert len(bars) >= 2
    assert len(set(bars)) == 1
    assert any(word in line for line in lines if "█" in line or ".60" in line)


def test_the_word_screen_says_that_heads_do_not_agree() -> None:
    text = text_of(scenes.one_word())
    assert (
        'Heads do not agree on what "it" reads: 17 of 72 look most at "ate", 12 at "dog", 3 at "A".'
        in text
    )
    agreed = text_of(scenes.one_word(votes=(Vote("ate", 40), Vote("dog", 12))))
    assert (
        'Most heads agree on what "it" reads: 40 of 72 look most at "ate", 12 at "dog".' in agreed
    )
    assert 'There is no other word for "it" to read.' in text_of(scenes.one_word(votes=()))


def test_the_word_screen_marks_the_word_and_ranks_what_it_reads() -> None:
    lines = lines_of(scenes.one_word())
    assert lines[0].startswith("A dog ate [it]")
    assert "all-MiniLM-L6-v2, 6 layers × 12 heads" in lines[0]
    assert [line for line in lines if "L2H8" in line] == [
        "  ate      .84    .16  L2H8    ████████████████▊"
    ]
    assert "L5H11 (the strongest that looks more than 2 words away)" in lines
    assert "  [CLS]     .14             .07   ██▊" in lines
    assert NOT_WHY in lines


def test_what_was_set_aside_and_what_specials_take_is_said() -> None:
    text = text_of(scenes.one_word())
    assert (
        "Set aside, by position: L0H2, L1H3, L2H2 and 1 more always the word before; "
        "L4H9 mostly itself."
    ) in text
    assert ('[CLS] and [SEP], which are not words, take 42 % of "it", averaged over heads.') in text
    one = replace(scenes.source(), special=("[SEP]",), apart=("[SEP]",))
    text = text_of(scenes.sentence(source=one, special_mass=0.05))
    assert "[SEP], which is not a word, takes 5 % of the words' weight, averaged over" in text


def test_the_kinds_of_heads_are_counted() -> None:
    assert (
        "Of 72 heads, 31 give most of their weight to [CLS] or [SEP], 1 reads the word before, "
        "40 do none of these."
    ) in text_of(scenes.sentence())


def test_a_link_that_every_word_has_is_said_not_to_be_special() -> None:
    said = 'That is not special to "it": the other words give "dog" .55 there on average.'
    assert said in text_of(scenes.one_word())
    text = text_of(scenes.one_word(others=0.05))
    assert "not special" not in text
    assert 'The other words give "dog" .05 there on average.' in text


def test_words_that_the_model_does_not_know_are_named() -> None:
    source = replace(scenes.source(), unknown=("dog", "ate"))
    said = "Not in this model's vocabulary, all read as the same [UNK]: dog, ate."
    assert said in text_of(scenes.one_word(source=source))
    many = replace(scenes.source(), unknown=("a", "b", "c", "d", "e"))
    assert "all read as the same [UNK]: a, b, c and 2 more." in text_of(
        scenes.sentence(source=many)
    )


def test_a_word_alone_is_said_to_be_alone() -> None:
    text = text_of(scenes.one_word(votes=(), links=(), leads=None, others=None))
    assert 'There is no other word for "it" to read.' in text
    assert "beyond habit" not in text
    assert "--versus" not in text


def test_a_word_of_several_pieces_says_what_its_weights_are() -> None:
    row = scenes.row(pieces=("hun", "##gry"))
    assert "Its weights are the mean over its 2 pieces: hun ##gry" in text_of(
        scenes.one_row(row=row)
    )
    text = text_of(scenes.four_steps(pieces=("hun", "##gry")))
    assert 'This word is 2 pieces and has a row for each; this is the row of "hun".' in text


def test_lower_bounds_are_marked_and_explained() -> None:
    row = scenes.row(weights=(0.0, 0.0, 0.6, 0.0, 0.2, 0.0), exact=False)
    text = text_of(scenes.one_row(row=row))
    assert "≥.60" in text
    assert "≥: only the largest weights are known; they sum to .80 of 1." in text
    bounded = replace(scenes.source(), exact=False)
    assert "take at least 42 % of" in text_of(scenes.one_word(source=bounded))


def test_a_row_that_does_not_sum_to_1_says_why() -> None:
    sunk = scenes.row(weights=(0.1, 0.1, 0.1, 0.1, 0.1, 0.1))
    assert "The weights sum to .60, not 1: the rest goes to this head's sink." in text_of(
        scenes.one_row(row=sunk)
    )
    blind = scenes.row(weights=(0.0,) * 6)
    assert "It may see nothing here: all its weights are 0." in text_of(scenes.one_row(row=blind))


def test_a_long_row_shows_the_heaviest_and_sums_up_the_rest() -> None:
    words = tuple(f"w{place}" for place in range(40))
    row = scenes.row(words, (*(0.01,) * 39, 0.61))
    source = scenes.text_source(*words)
    text = text_of(scenes.one_row(source=source, row=row, place=1))
    assert "word weight part of result w39 .61" in text
    assert "and 28 more words, together .28" in text


def test_without_a_habit_nothing_is_said_of_habit() -> None:
    links = (scenes.Link("it", "dog", -2, "L5H11", 0.6, None, None),)
    source = replace(scenes.source(), habit=None)
    text = text_of(scenes.one_word(source=source, links=links, routines=()))
    assert "beyond habit" not in text
    assert "Strongest first (this model's habits are not known: heads that only read by" in text
    assert "word weight head dog .60 L5H11" in text
    text = text_of(scenes.one_word(links=links))  # a special token that reads has no habits
    assert "Strongest first: word" in text


def test_a_small_head_is_a_matrix_and_a_wide_one_a_list() -> None:
    assert "Row: who reads. Column: who is read. A row sums to 1." in text_of(scenes.one_head())
    words = tuple(f"word{place}" for place in range(12))
    matrix = ((1 / 12,) * 12,) * 12
    wide = scenes.one_head(source=scenes.source(None, words), matrix=matrix)
    assert "Row: who reads" in text_of(wide)
    narrow = text_of(wide, terminal=Terminal(columns=60))
    assert "Row: who reads" not in narrow
    assert "who reads whom, strongest first" in narrow


def test_a_head_says_what_it_does_here_and_by_habit() -> None:
    routine = Routine("the word before", True, ("L0H2",))
    text = text_of(scenes.one_head(head="L0H2", routine=routine, kind="before"))
    assert "L0H2 reads the word before here. By habit it always reads the word before" in text
    text = text_of(scenes.one_head(kind="special"))
    assert "L5H11 gives most of its weight to [CLS] or [SEP] here." in text


def test_what_to_type_next_is_whole_and_quoted() -> None:
    lines = lines_of(scenes.one_word(), command=("regard", "show", "a dog's food"))
    assert """Arithmetic: regard show 'a dog'"'"'s food' --word it --head L5H11 --steps""" in lines


@pytest.mark.parametrize("text", ["dog " * 30, "\x1b[31m dog", "שלום dog"])
def test_a_command_that_is_long_or_cannot_be_printed_is_left_to_its_options(text: str) -> None:
    lines = lines_of(scenes.one_word(), command=("regard", "show", text))
    assert "Next, added to the same command:" in lines
    assert "  Arithmetic: --word it --head L5H11 --steps" in lines


def test_a_long_text_is_cut_around_the_word() -> None:
    words = [*(f"w{place}" for place in range(60)), "it", *(f"v{place}" for place in range(60))]
    source = scenes.text_source(*words)
    lines = lines_of(scenes.one_row(source=source, place=61))
    assert re.fullmatch("….*w59 \\[it\\] v0 .*…", lines[0])
    assert width(lines[0]) <= 79
