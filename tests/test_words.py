"""Words by character offsets, with the offsets that real tokenizers give."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from regard.errors import InputError
from regard.models.encoder import default_encoder
from regard.words import Word, group_words, label_words, word_names

FAMILY = "👨‍👩‍👧"  # five characters: three people and two joiners


def word_pieces(text):
    encoding = default_encoder().encode(text)
    return text, encoding.tokens, encoding.offsets, encoding.special.tolist()


def byte_pieces(text):
    """Byte-level BPE, offsets with the space before a word, as GPT-2 and Llama 3 give."""
    vocabulary = {symbol: i for i, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = [("Ġ", "d"), ("Ġd", "o"), ("Ġdo", "g")]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    encoding = tokenizer.encode(text)
    return text, encoding.tokens, encoding.offsets, [False] * len(encoding.tokens)


def metaspace_pieces(text):
    """SentencePiece-like: '▁' begins a word, alone where nothing merges with it."""
    symbols = sorted({*text.replace(" ", "▁"), *"▁dog"})
    vocabulary = {symbol: i for i, symbol in enumerate(symbols)}
    merges = [("▁", "d"), ("▁d", "o"), ("▁do", "g")]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    encoding = tokenizer.encode(text)
    return text, encoding.tokens, encoding.offsets, [False] * len(encoding.tokens)


TOKENIZERS = (word_pieces, byte_pieces, metaspace_pieces)


def texts(words):
    return [word.text for word in words if not word.special]


@pytest.mark.parametrize("pieces", TOKENIZERS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog ate.", ["A", "dog", "ate", "."]),
        ("don't stop", ["don't", "stop"]),
        ("the dog’s dogs'", ["the", "dog’s", "dogs", "'"]),
        ("pay 3.14, or 1,000.", ["pay", "3.14", ",", "or", "1,000", "."]),
        ("well-known snake_case", ["well", "-", "known", "snake_case"]),
        ("Wait... what?!", ["Wait", "...", "what", "?", "!"]),
        ("(a)(b)", ["(", "a", ")", "(", "b", ")"]),
        ("我喜欢狗", ["我", "喜", "欢", "狗"]),
        ("한국어 말", ["한국어", "말"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("cafe\u0301s café", ["cafe\u0301s", "café"]),
        ("naïve—yes “no”", ["naïve", "—", "yes", "“", "no", "”"]),
        (f"a {FAMILY} 👍🏽 b", ["a", FAMILY, "👍🏽", "b"]),
        ("", []),
    ],
)
def test_words_of_text(pieces, text, expected):
    words = group_words(*pieces(text))
    assert texts(words) == expected
    for word in words:
        assert word.special or word.text == text[word.start : word.stop]


@pytest.mark.parametrize("pieces", [byte_pieces, metaspace_pieces])
def test_neighbouring_emoji_are_separate_words(pieces):
    assert texts(group_words(*pieces("🐶🐱 🇫🇷🇩🇪"))) == ["🐶", "🐱", "🇫🇷", "🇩🇪"]


def test_four_byte_pieces_with_one_span_are_one_word():
    _, pieces, offsets, special = byte_pieces("a 🐶")
    assert offsets[-4:] == [(2, 3)] * 4
    words = group_words("a 🐶", pieces, offsets, special)
    assert words[-1] == Word("🐶", 2, 3, tuple(range(1, len(pieces))), False)


def test_leading_space_is_trimmed_from_the_span():
    _, pieces, offsets, special = byte_pieces("a dog")
    assert offsets[-1] == (1, 5)
    assert group_words("a dog", pieces, offsets, special)[-1] == Word("dog", 2, 5, (1,), False)


def test_piece_without_characters_joins_the_word_after_it():
    # Llama: "▁" of no width, or of the space alone, before a word of other pieces
    words = group_words("狗", ["▁", "狗"], [(0, 0), (0, 1)], [False] * 2)
    assert words == (Word("狗", 0, 1, (0, 1), False),)
    words = group_words(
        "a 狗b", ["a", "▁", "狗", "b"], [(0, 1), (1, 2), (2, 3), (3, 4)], [False] * 4
    )
    assert [(word.text, word.tokens) for word in words] == [
        ("a", (0,)),
        ("狗", (1, 2)),
        ("b", (3,)),
    ]


def test_piece_without_characters_keeps_to_itself_where_no_word_follows_at_once():
    words = group_words("x  y", ["x", " ", "y"], [(0, 1), (1, 2), (3, 4)], [False] * 3)
    assert [(word.text, word.tokens) for word in words] == [("x", (0,)), (" ", (1,)), ("y", (2,))]


def test_accent_outside_of_every_span_is_part_of_its_word():
    words = group_words(
        "cafe\u0301s e\u0301", ["cafe", "s", "e"], [(0, 4), (5, 6), (7, 8)], [False] * 3
    )
    assert [word.text for word in words] == ["cafe\u0301s", "e\u0301"]


def test_piece_without_characters_at_the_end_is_a_word():
    words = group_words("a", ["a", "▁"], [(0, 1), (1, 1)], [False] * 2)
    assert [(word.text, word.start, word.stop) for word in words] == [("a", 0, 1), ("▁", 1, 1)]


def test_line_breaks_are_a_word():
    words = group_words(*byte_pieces("x\n\ny"))
    assert texts(words) == ["x", "\n\n", "y"]


def test_special_tokens_are_words_and_part_their_neighbours():
    words = group_words(
        "ab",
        ["[CLS]", "a", "[X]", "b"],
        [(0, 0), (0, 1), (0, 0), (1, 2)],
        [True, False, True, False],
    )
    assert [word.text for word in words] == ["[CLS]", "a", "[X]", "b"]
    assert words[0] == Word("[CLS]", 0, 0, (0,), True)


def test_only_special_tokens():
    words = group_words("", ["[CLS]", "[SEP]"], [(0, 0)] * 2, [True] * 2)
    assert [word.text for word in words] == ["[CLS]", "[SEP]"]


def test_overlapping_spans_are_one_word():
    words = group_words("abcd ef", ["abc", "cd", "ef"], [(0, 3), (2, 4), (5, 7)], [False] * 3)
    assert [(word.text, word.tokens) for word in words] == [("abcd", (0, 1)), ("ef", (2,))]


def test_spans_that_go_backward_are_separate_words():
    words = group_words("ab cd", ["cd", "ab"], [(3, 5), (0, 2)], [False] * 2)
    assert [(word.text, word.tokens) for word in words] == [("cd", (0,)), ("ab", (1,))]


@pytest.mark.parametrize("offset", [(0, 4), (-1, 2), (2, 1), (5, 9)])
def test_offset_outside_of_the_text(offset):
    message = rf"token 1 has the offset \({offset[0]}, {offset[1]}\) and the text has 3 characters"
    with pytest.raises(InputError, match=message):
        group_words("abc", ["a", "b"], [(0, 1), offset], [False] * 2)


def test_lengths_that_differ():
    with pytest.raises(InputError, match="there are 2 tokens, 1 offsets and 2 special flags"):
        group_words("ab", ["a", "b"], [(0, 1)], [False] * 2)


@given(st.data())
def test_every_token_is_in_one_word(data):
    text = data.draw(st.text(alphabet="ab '.🐶\u0301\u200d狗\n9_", max_size=8))
    place = st.integers(0, len(text))
    offsets = data.draw(st.lists(st.tuples(place, place).map(sorted).map(tuple), max_size=8))
    special = data.draw(st.lists(st.booleans(), min_size=len(offsets), max_size=len(offsets)))
    words = group_words(text, ["x"] * len(offsets), offsets, special)
    assert sorted(token for word in words for token in word.tokens) == list(range(len(offsets)))
    assert [word.tokens[0] for word in words] == sorted(word.tokens[0] for word in words)
    for word in words:
        assert list(word.tokens) == sorted(word.tokens)
        assert 0 <= word.start <= word.stop <= len(text)


def test_names_number_only_what_repeats():
    words = label_words(["it", "dog", "It", "it", "[SEP]"], [False] * 4 + [True])
    assert word_names(words) == ("it#1", "dog", "It", "it#2", "[SEP]")


def test_names_differ_even_where_a_label_looks_like_one():
    names = word_names(label_words(["it", "it", "it#1"], [False] * 3))
    assert names == ("it##1", "it##2", "it#1")
