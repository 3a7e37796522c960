"""Spans of a text, their tokens, and what rows of a record read of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import regard
from regard.errors import InputError
from regard.mechanism.readings import Ask
from regard.questions.span_readings import REST, read_spans
from regard.questions.spans import (
    Span,
    check_spans,
    message_spans,
    paragraph_spans,
    sentence_spans,
    token_labels,
)
from regard.record import Layer, Record, Side


def parts(text: str, spans: tuple[Span, ...]) -> list[str]:
    return [text[span.start : span.stop] for span in spans]


def test_sentences() -> None:
    text = (
        'Dr. A. Who came (e.g. by box)! "Did he?" asked Pi 3.14.  Yes...\nA title\n你好。再见！ok'
    )
    assert parts(text, sentence_spans(text)) == [
        "Dr. A. Who came (e.g. by box)!",
        '"Did he?"',
        "asked Pi 3.14.",
        "Yes...",
        "A title",
        "你好。",
        "再见！",
        "ok",
    ]
    assert [span.name for span in sentence_spans(text)][:2] == ["s1", "s2"]


def test_sentences_of_a_part_of_a_text() -> None:
    text = "Before. One. Two. After."
    assert parts(text, sentence_spans(text, 8, 17)) == ["One.", "Two."]
    assert sentence_spans(" \n ") == ()


def test_paragraphs() -> None:
    text = "\n one\ntwo \n \n\n three\r\n\r\nfour\n"
    assert parts(text, paragraph_spans(text)) == ["one\ntwo", "three", "four"]
    assert [span.name for span in paragraph_spans(text)] == ["p1", "p2", "p3"]


def test_messages_are_found_in_their_order() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": " yes "},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "yes"}, {"type": "image"}]},
    ]
    text = "<sys>Be kind.<user>yes<bot><user>yes<bot>"
    spans = message_spans(text, messages)
    assert [(span.name, span.start) for span in spans] == [
        ("system", 5),
        ("user#1", 19),
        ("user#2", 33),
    ]
    with pytest.raises(InputError, match=r"message 1 \(user\) is not in the rendered text as it"):
        message_spans("<sys>Be kind.<user>no", messages)
    with pytest.raises(InputError, match="message 0 has the content 3: expected a string, or a"):
        message_spans("3", [{"role": "user", "content": 3}])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("a", 3, 3), "span 'a' is at 3:3: expected 0 <= start < stop"),
        (("a", -1, 3), "span 'a' is at -1:3"),
        (("a", 0, 1.5), "span 'a' has the end 1.5: expected characters"),
        ((" ", 0, 1), "name of a span is ' ': expected a name"),
    ],
)
def test_spans_that_are_wrong_by_themselves(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Span(*given)


def test_spans_that_do_not_fit() -> None:
    assert [span.name for span in check_spans("abcd", [Span("y", 2, 4), Span("x", 0, 2)])] == [
        "x",
        "y",
    ]
    with pytest.raises(InputError, match=r"span 'y' begins at 1, within 'x' \(0:2\): a token can"):
        check_spans("abcd", [Span("x", 0, 2), Span("y", 1, 4)])
    with pytest.raises(InputError, match="span 'x' is at 0:9 and the text has 4 characters"):
        check_spans("abcd", [Span("x", 0, 9)])
    with pytest.raises(InputError, match="spans is empty"):
        check_spans("abcd", [])


def test_a_token_belongs_where_its_first_character_lies() -> None:
    text = "One. Two"
    spans = (Span("first", 0, 4), Span("second", 5, 8))
    #         <s>     One     . T     wo     empty   blank   One (special)
    offsets = [(0, 0), (0, 3), (3, 6), (6, 8), (8, 8), (4, 5), (0, 3)]
    special = [True, False, False, False, False, False, True]
    assert token_labels(text, spans, offsets, special).tolist() == [-1, 0, 0, 1, -1, -1, -1]
    # the blank before a word is no character of it
    assert token_labels(text, spans, [(4, 8)]).tolist() == [1]
    with pytest.raises(InputError, match=r"token 0 has the offset \(0, 9\) and the text has 8"):
        token_labels(text, spans, [(0, 9)])


def record(values: bool = True, sinks: bool = False) -> tuple[Record, Any]:
    """Two causal layers of 4 heads over 2 key heads, 9 tokens, random; and their Q, K, V."""
    draw = np.random.default_rng(0).standard_normal
    query, key, value = (draw((2, heads, 9, 6)) for heads in (4, 2, 2))
    layers = []
    for number in range(2):
        call = regard.record.Call(
            scale=0.7,
            mask=regard.Mask(causal=True),
            sinks=np.array([0.5, 0.0, -1.0, 2.0]) if sinks else None,
        )
        layers.append(
            Layer(
                number=number + 3,
                name=f"layer {number}",
                kind="decoder",
                heads=4,
                query_side=0,
                key_side=0,
                query_positions=np.arange(9),
                key_positions=np.arange(9),
                readings=regard.Readings(backend="loop"),
                call=call,
                query=query[number],
                key=key[number],
                value=value[number] if values else None,
                ask=Ask(queries=()),
            )
        )
    side = Side.of_labels([str(n) for n in range(9)], [False] * 9)
    return Record((side,), tuple(layers), {}), (query, key, value)


SPANS = (Span("a", 0, 2), Span("b", 3, 6))
#                  first  a     b     -   b   -      answer
LABELS = np.array([0, 0, 1, 1, -1, 1, -1, 1, -1])
APART = np.array([True, False, False, False, True, False, False, False, False])
GROUPS = np.array([0, 0, 1, 1, 2, 1, 4, 3, 3])  # what comes after row 6 is the answer
READERS = [6, 7]


def dense(arrays: Any, sinks: bool = False) -> tuple[Any, Any]:
    """weights and shares, `(layers, heads, rows, keys)`, by the formula."""
    query, key, value = arrays
    key, value = key.repeat(2, axis=1), value.repeat(2, axis=1)
    scores = query[:, :, READERS] @ key.swapaxes(2, 3) * 0.7
    scores = np.where(np.arange(9) <= np.array(READERS)[:, None], scores, -np.inf)
    total = np.exp(scores).sum(-1, keepdims=True)
    if sinks:
        total = total + np.exp([0.5, 0.0, -1.0, 2.0])[:, None, None]
    weights = np.exp(scores) / total
    z = weights @ value
    shares = weights * (z @ value.swapaxes(2, 3)) / (z * z).sum(-1, keepdims=True)
    return weights, shares


def grouped(numbers: Any) -> Any:
    return np.stack([numbers[..., group == GROUPS].sum(-1) for group in range(5)], -1)


@pytest.mark.parametrize("sinks", [False, True])
def test_readings_are_those_of_the_formula(sinks: bool) -> None:
    seen, arrays = record(sinks=sinks)
    found = read_spans(seen, SPANS, LABELS, READERS, APART)
    weights, shares = dense(arrays, sinks)
    flat = (8, 2, 5)
    assert found.exact
    np.testing.assert_allclose(found.mass, grouped(weights).reshape(flat), atol=1e-12)
    np.testing.assert_allclose(found.share, grouped(shares).reshape(flat), atol=1e-12)
    np.testing.assert_allclose(found.share.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(found.weight, grouped(weights).mean((0, 1, 2)), atol=1e-12)
    np.testing.assert_allclose(found.part, grouped(shares).mean((0, 1, 2)), atol=1e-12)
    left = grouped(np.where(APART, 0, weights)).mean((0, 1, 2))
    np.testing.assert_allclose(found.without_apart, left / left.sum(), atol=1e-12)
    np.testing.assert_allclose(found.by_layer, grouped(weights).mean((1, 2)), atol=1e-12)


def test_tokens_and_what_their_number_alone_would_give() -> None:
    found = read_spans(record()[0], SPANS, LABELS, READERS, APART)
    assert found.tokens.tolist() == [2, 3, 1, 2, 1]
    # row 6 sees 7 tokens, row 7 sees 8, one of them of the answer
    np.testing.assert_allclose(
        found.length,
        np.mean([[2 / 7, 3 / 7, 1 / 7, 0, 1 / 7], [2 / 8, 3 / 8, 1 / 8, 1 / 8, 1 / 8]], 0),
    )
    assert len(REST) == 3


def test_the_heads_that_read_a_span_most() -> None:
    seen, arrays = record()
    found = read_spans(seen, SPANS, LABELS, READERS, APART)
    masses = grouped(dense(arrays)[0]).mean(2)[..., 1]
    layer, head = np.unravel_index(masses.argmax(), masses.shape)
    first, *rest = found.top_heads(1, 3)
    assert first[:2] == (layer, head)
    np.testing.assert_allclose(found.top_head, grouped(dense(arrays)[0]).mean(2).max((0, 1)))
    np.testing.assert_allclose(first[2], masses.max())
    np.testing.assert_allclose([one[2] for one in rest], sorted(masses.ravel())[-2:-4:-1])


def test_without_values_there_are_no_shares() -> None:
    found = read_spans(record(values=False)[0], SPANS, LABELS, READERS, APART)
    assert found.share is None
    assert found.part is None


def test_rows_whose_result_is_0_are_left_out() -> None:
    seen, _ = record()
    for layer in seen.layers:
        assert layer.value is not None
        layer.value[0] = 0
    found = read_spans(seen, SPANS, LABELS, READERS, APART)
    assert found.share is not None
    assert np.isnan(found.share[[0, 1, 4, 5]]).all()
    np.testing.assert_allclose(found.part, found.share[[2, 3, 6, 7]].mean((0, 1)))


def test_what_does_not_fit_is_refused() -> None:
    seen, _ = record()
    with pytest.raises(InputError, match="labels are of 3 tokens and apart of 9"):
        read_spans(seen, SPANS, LABELS[:3], READERS, APART)
    with pytest.raises(
        InputError, match="labels are of 8 tokens and the side that 'layer 0' reads"
    ):
        read_spans(seen, SPANS, LABELS[:8], READERS, APART[:8])
    with pytest.raises(InputError, match="token 9 is no reader in layer 'layer 0'"):
        read_spans(seen, SPANS, LABELS, [6, 9], APART)
    with pytest.raises(InputError, match="readers is empty"):
        read_spans(seen, SPANS, LABELS, [], APART)
    with pytest.raises(InputError, match="the record has no layers"):
        read_spans(Record(seen.sides, (), {}), SPANS, LABELS, READERS, APART)
