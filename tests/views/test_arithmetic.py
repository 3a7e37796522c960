"""The four steps of one word in one head, as they are printed."""

from __future__ import annotations

from regard.views.arithmetic import four_steps
from regard.views.cells import width
from regard.views.terminal import Terminal
from views import scenes


def folded(scene: object, columns: int = 79) -> str:
    return " ".join(" ".join(four_steps(scene, Terminal(columns=columns))).split())  # type: ignore[arg-type]


def test_each_step_has_its_numbers() -> None:
    lines = four_steps(scenes.four_steps(), Terminal())
    assert "   dog  2.00·3.00 + -1.00·2.00 + 1.00·1.00 + 5.00 from 1 more = 10.00" in lines
    assert "2  ÷ √4 = 2.000" in lines
    assert "3  Softmax: e^(s − 5.00), ÷ their sum 2.000" in lines
    assert "   dog    10.00      5.00      1.500     .75" in lines
    assert lines[-1].startswith("   z(it)   1.00 = [  0.25  -0.50")
    assert lines[-1].endswith(" 1.00")


def test_the_heaviest_key_comes_first() -> None:
    lines = four_steps(scenes.four_steps(), Terminal())
    tables = [line.split()[0] for line in lines if line.startswith("   ")]
    assert tables.index("dog") < tables.index("ate")


def test_terms_that_do_not_fit_are_summed_up() -> None:
    keys = (scenes.key_step("hippopotamuses", 1.0, 10.0),)
    lines = four_steps(scenes.four_steps(keys=keys), Terminal(columns=50))
    assert "   hippopot…  2.00·3.00 + 4.00 from 3 more = 10.00" in lines
    assert all(width(line) <= 50 for line in lines)
    keys = (scenes.key_step("hippopotamuses", 1.0, 123456789.0),)
    lines = four_steps(scenes.four_steps(keys=keys), Terminal(columns=50))
    assert "   hippopot…  4 products = 123456789.00" in lines


def test_a_dot_product_of_few_terms_leaves_nothing_over() -> None:
    scene = scenes.four_steps(dim=3, keys=(scenes.key_step("dog", 1.0, 5.0),))
    assert "2.00·3.00 + -1.00·2.00 + 1.00·1.00 = 5.00" in folded(scene)


def test_what_else_was_done_to_the_scores_is_said() -> None:
    scene = scenes.four_steps(
        scale=0.3,
        softcap=20.0,
        sink=0.25,
        keys=(
            scenes.key_step("ate", 0.0, 6.0, masked=None, exponential=0.0),
            scenes.key_step("dog", 0.75, 10.0, masked=4.0),
        ),
    )
    text = folded(scene)
    assert "2 × the scale 0.3" in text
    assert "20·tanh(s ÷ 20), the softcap" in text
    assert "÷ their sum 2.000, the sink's 0.250 included" in text
    assert "Not seen: ate." in text
    assert "The weights sum to .75, not 1: the rest goes to this head's sink." in text


def test_a_word_of_several_pieces_says_whose_row_this_is() -> None:
    text = folded(scenes.four_steps(pieces=("hun", "##gry")))
    assert 'This word is 2 pieces and has a row for each; this is the row of "hun".' in text
    assert "z(hun)" in text


def test_a_long_text_shows_the_heaviest_tokens_and_sums_up_the_rest() -> None:
    keys = tuple(scenes.key_step(f"w{place}", 0.025, 1.0) for place in range(40))
    text = folded(scenes.four_steps(keys=keys))
    assert "and 28 more tokens, .70 of the weight together" in text
    assert "28 more .70 .70" in text
