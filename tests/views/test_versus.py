"""One word in two texts: what turns, what stays, and how clearly."""

from __future__ import annotations

from dataclasses import replace

from regard.views.terminal import Terminal
from regard.views.versus import versus
from views import scenes

COMMAND = ("regard", "show", "A dog ate it")


def lines_of(scene: object) -> list[str]:
    return versus(scene, Terminal(), COMMAND)  # type: ignore[arg-type]


def text_of(scene: object) -> str:
    return " ".join(" ".join(lines_of(scene)).split())


def test_versus_leads_with_what_turns_and_what_stays() -> None:
    lines = lines_of(scenes.versus())
    assert lines[0] == "A  A dog ate [it]"
    assert lines[1] == "B  A dog saw [it]"
    text = text_of(scenes.versus())
    assert (
        '2 heads turn from "dog" to "A", 1 the other way; 2 of these by .05 or more in both texts. '
        '1 of 72 stays on "dog", clearest L5H11 (.60 → .51).'
    ) in text
    assert '"dog" in A, "A" in B head A: dog A B: dog A L3H1 .53 .05 .10 .25' in text
    none = text_of(scenes.versus(there=(), back=()))
    assert 'No head turns from "dog" to "A", none the other way. 1 of 72 stays' in none
    alien = text_of(scenes.versus(first=None, second=None, there=(), back=(), stays=()))
    assert "No two words that both texts have can be compared." in alien


def test_the_clearest_heads_are_listed_and_the_rest_counted() -> None:
    turns = tuple(scenes.Turn(f"L0H{head}", 0.5, 0.1, 0.1, 0.5) for head in range(9))
    text = text_of(scenes.versus(there=turns))
    assert "9 heads turn" in text
    assert "L0H5 .50 .10 .10 .50 and 3 more, less clearly" in text
    assert "L0H6" not in text


def test_small_leads_are_not_called_clear() -> None:
    turns = (scenes.Turn("L0H0", 0.5, 0.46, 0.1, 0.5), scenes.Turn("L0H1", 0.5, 0.4, 0.1, 0.2))
    text = text_of(scenes.versus(there=turns, back=(), stays=()))
    assert "2 heads turn from" in text
    assert "none the other way; 1 of these by .05 or more in both texts. None stays on" in text


def test_a_decoders_word_cannot_tell_texts_apart_that_are_the_same_up_to_it() -> None:
    one = replace(scenes.source(), kind="decoder")
    text = text_of(scenes.versus(source=one, other=one))
    assert 'A decoder: "it" sees nothing after it, and up to it the texts are the same' in text
    other = replace(scenes.versus().other, kind="decoder")
    assert "A decoder" not in text_of(scenes.versus(source=one, other=other))
    assert "A decoder" not in text_of(scenes.versus(other=scenes.source()))
