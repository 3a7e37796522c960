"""The screens: what they say, how wide they are, and that hostile words stay words."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest

from regard.views.cells import width
from regard.views.layout import NOT_WHY
from regard.views.scene import Rollout, Routine, Vote
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
    text = text_of(scenes.one_word(votes=(), links=(), read_by=(), leads=None, others=None))
    assert 'There is no other word for "it" to read.' in text
    assert 'No word reads "it" beyond habit.' in text
    assert "strongest beyond habit" not in text
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


def decoder(**more: object) -> scenes.Source:
    apart = {"special": (), "apart": ("A",), "kind": "decoder", "kinds": ("decoder",)}
    return replace(scenes.source(words=("A", "dog", "ate", "it")), **{**apart, **more})


def test_a_decoder_says_what_a_word_sees_and_where_heads_rest() -> None:
    text = text_of(scenes.sentence(source=decoder(), special_mass=0.66))
    assert "A decoder: each word sees itself and what stands before it, nothing after." in text
    assert '"A", which comes first, takes 66 % of the words\' weight, averaged over heads:' in text
    assert "decoders rest there, whatever the word (a sink)." in text
    assert "31 give most of their weight to A" in text
    one = decoder(special=("<s>", "</s>"), apart=("<s>", "</s>"))
    text = text_of(scenes.sentence(source=one, special_mass=0.66))
    assert "<s>, which comes first and </s>, take 66 % of the words' weight" in text


def test_who_reads_a_word_is_listed_strongest_first() -> None:
    links = tuple(scenes.Link(f"w{n}", "it", n, "L1H1", 0.9 - n / 10, 0.1, None) for n in range(6))
    text = text_of(scenes.one_word(read_by=links))
    assert 'Who reads "it", strongest beyond habit: word weight habit head w0 .90 .10' in text
    assert "w3 .60" in text
    assert "w4" not in text
    text = text_of(scenes.one_word(read_by=links, read_by_exact=False))
    assert "w0 ≥.90" in text
    one = decoder()
    text = text_of(scenes.one_word(source=one, place=3, read_by=()))
    assert 'No word reads "it": no word comes after it.' in text


def test_what_is_not_seen_is_named_and_not_tabled() -> None:
    row = scenes.row()
    unseen = tuple(replace(cell, seen=False, weight=0.0) for cell in row.cells[3:])
    text = text_of(scenes.one_row(row=replace(row, cells=row.cells[:3] + unseen)))
    assert "Not seen: ate, it, [SEP]." in text
    assert "not seen" not in text
    many = tuple(replace(unseen[0], word=f"w{n}") for n in range(1200))
    text = text_of(scenes.one_row(row=replace(row, cells=row.cells[:3] + many)))
    assert "Not seen: w0, w1, w2, w3, w4, w5 and 1,194 more." in text


def test_in_a_long_row_what_has_next_to_nothing_is_summed_up() -> None:
    row = scenes.row()
    small = tuple(replace(row.cells[0], word=f"w{n}", weight=0.0001) for n in range(2000))
    text = text_of(
        scenes.one_row(row=replace(row, cells=(replace(row.cells[0], weight=0.8), *small)))
    )
    assert "[CLS] .80 .07 ████████████████ and 2,000 more words, together .20" in text


def test_a_rollout_says_what_it_is_and_what_it_leaves_out() -> None:
    cells = tuple(replace(cell, share=None) for cell in scenes.row().cells)
    row = scenes.row(head="", pieces=("i", "##t"))
    scene = Rollout(scenes.source(), "it", 4, 6, 0.5**6, replace(row, cells=cells))
    text = text_of(scene)
    assert 'Rollout: what "it" is made of after 6 layers, if each layer were half' in text
    assert "[CLS] and [SEP], where heads rest, have 16 % of it. Of what is left:" in text
    assert "word part of rest A .01 ▎ dog .71 █" in text
    assert "the mean over its 2 pieces: i ##t" in text
    assert "It leaves out values, projections and what stands between the layers" in text


def test_of_a_long_text_it_is_said_how_many_words_were_asked() -> None:
    assert "Asked" not in text_of(scenes.sentence())
    text = text_of(scenes.sentence(readers=106, of=3_800))
    assert "Asked: 106 of 3,800 words, evenly spread" in text


def test_what_was_written_and_where_a_recording_stopped_is_said() -> None:
    one = replace(scenes.source(), written="a\x1b dog", stopped="after 2 of 3 steps")
    text = text_of(scenes.sentence(source=one))
    assert "It wrote: a\\x1b dog What it read to write a word is the row of the word before" in text
    assert "Stopped early, after 2 of 3 steps: the rest is missing." in text


def test_of_several_kinds_of_attention_the_others_are_named() -> None:
    one = replace(scenes.source(), kind="cross", kinds=("encoder", "cross"), read="le chien")
    text = text_of(scenes.sentence(source=one))
    assert "Its words read another text: le chien" in text
    assert "for the others, --attention encoder." in text
