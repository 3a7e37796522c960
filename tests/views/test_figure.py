"""Figures say what the four steps say, draw any text as text, and need no display."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import regard
from records import dense, given_record, layer_of, record_of, side_of, top_only
from regard.record import Call, Record
from regard.views.figure.canvas import drawn, model_name

WORDS = ("[CLS]", "A", "play|ing", "dog", "ate", "it", "[SEP]")
SPANS_TEXT = "A dog ate. The cat saw it. Nobody else did."
HOSTILE = (
    "$\\frac{1}{", "$x$", "a\nb\tc", "", "  ", "</script><script>", "\u202egnirts\u202c", "\ud800",
    "\\usepackage{x}", "e\u0301\u0301", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\x1b[31mred",
    "سلام", "שלום", "नमस्ते", "你好", "x" * 10_000, "%s{}", "^_&#~",
)  # fmt: skip


def note(figure: Figure) -> str:
    """What stands under it, as one line."""
    return figure._supxlabel.get_text().replace("\n", " ")


def cells(figure: Figure, axes: int = 0) -> np.ma.MaskedArray:
    return figure.axes[axes].images[0].get_array()


def words_of(weights: np.ndarray) -> np.ndarray:
    """Word by word from token by token, of the words in WORDS."""
    whole = np.insert(np.delete(weights, [2, 3], 1), 2, weights[:, 2:4].sum(1), 1)
    return np.insert(np.delete(whole, [2, 3], 0), 2, whole[2:4].mean(0), 0)


@pytest.fixture(scope="module")
def record() -> Record:
    return regard.capture("A dog ate the food because it was hungry")


# The matrix


def test_heatmap_shows_the_weights_word_by_word() -> None:
    record = record_of(*WORDS)
    weights, _ = dense(record.layers[0])
    figure = record.heatmap("L0H2")
    np.testing.assert_allclose(cells(figure), words_of(weights[2]), atol=1e-6)
    written = [text.get_text() for text in figure.axes[0].texts]
    expected = [f"{one:.2f}".replace("0.", ".", 1) for one in words_of(weights[2]).ravel()]
    assert written == expected
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["[CLS]", "A", "playing", "dog", "ate", "it", "[SEP]"]
    assert "A row reads, the columns are read." in note(figure)
    assert figure._suptitle.get_text() == "L0H2 · random"


def test_heatmap_takes_a_head_by_index_as_by_name() -> None:
    record = record_of(*WORDS, layers=2)
    by_name, by_index = record.heatmap("L1H3"), record.heatmap((1, 3))
    np.testing.assert_array_equal(cells(by_name), cells(by_index))


def test_what_is_not_seen_is_hatched_and_not_zero() -> None:
    record = record_of("A", "dog", "ate", mask=regard.Mask(causal=True, offset=0), kind="decoder")
    figure = record.heatmap("L0H0")
    assert cells(figure).mask.tolist() == [
        [False, True, True], [False, False, True], [False, False, False],
    ]  # fmt: skip
    assert figure.axes[0].patch.get_hatch()
    assert figure.axes[0].images[0].cmap.get_bad()[3] == 0  # the hatch shows through
    assert [text.get_text() for text in figure.axes[0].texts][1:3] == ["", ""]
    assert "Hatched: not seen; that is no 0." in note(figure)


def test_a_seen_zero_is_not_hatched() -> None:
    rows = np.array([[[1, 0], [0.25, 0.75]]], np.float32)
    figure = given_record(rows, "a", "b").heatmap("L0H0")
    # what was given without a mask tells only that nothing of it was read
    assert cells(figure).mask.tolist() == [[False, True], [False, False]]
    seen = record_of("a", "b", heads=1, kv_heads=1)
    far = dataclasses.replace(
        seen.layers[0],
        query=np.full((1, 2, 1), 40, np.float32),
        key=np.array([[[40], [-40]]], np.float32),
    )
    drawn_cells = cells(Record(seen.sides, (far,), {}).heatmap("L0H0"))
    assert not np.ma.is_masked(drawn_cells)
    assert drawn_cells[0, 1] == 0


def test_bounds_are_drawn_as_bounds() -> None:
    _, bare = top_only("[CLS]", "A", "dog", "ate", "[SEP]")
    figure = bare.heatmap("L0H1")
    numbers = [text.get_text() for text in figure.axes[0].texts]
    assert sum(number.startswith("≥") for number in numbers) == 2 * 5
    assert sum(number == "" for number in numbers) == 3 * 5
    assert "Hatched: not among the largest; that is no 0." in note(figure)
    assert "≥: only the largest weights are known" in note(figure)


def test_rows_that_do_not_sum_to_one_are_said() -> None:
    sinks = np.array([3, 3, 3, 3], np.float32)
    record = record_of("A", "dog", "ate", call=Call(0.4, sinks=sinks))
    weights, _ = dense(record.layers[0])
    sums = weights[0].sum(1)
    said = note(record.heatmap("L0H0"))
    low, high = (f"{one:.2f}".replace("0.", ".", 1) for one in (sums.min(), sums.max()))
    assert f"The rows sum to {low} to {high}, not 1: the rest goes to this head's sink." in said
    word = note(record.lines("dog", head="L0H0"))
    assert f"The weights sum to {sums[1]:.2f}".replace("0.", ".", 1) in word


def test_a_row_that_sees_nothing_is_said() -> None:
    hidden = np.array([[True, True], [False, False]])
    record = record_of("a", "b", mask=regard.Mask(allowed=hidden))
    assert "1 of the rows may see nothing" in note(record.heatmap("L0H0"))
    assert "It may see nothing" in note(record.lines("b", head="L0H0"))


def test_a_weight_that_is_not_a_number_stands_out() -> None:
    rows = np.full((1, 2, 2), 0.5, np.float32)
    rows[0, 0] = np.nan
    layer = given_record(rows, "a", "b").layers[0]
    figure = Record(
        (side_of("a", "b"),), (dataclasses.replace(layer, call=Call(1.0)),), {}
    ).heatmap("L0H0")
    assert len(figure.axes[0].images) == 2
    figure.savefig(io.BytesIO(), format="png")


def test_a_long_text_is_shown_in_blocks_or_refused() -> None:
    text = "word " * 100
    with pytest.raises(regard.InputError, match=r"102 words.*at most 64.*Ask\(thumbnail=64\)"):
        regard.capture(text, layers=[0]).heatmap("L0H0")
    record = regard.capture(text, layers=[0], ask=regard.Ask(thumbnail=8))
    figure = record.heatmap("L0H0")
    np.testing.assert_allclose(cells(figure), record.layers[0].readings.thumbnail[0], atol=1e-7)
    assert "8 × 8 blocks" in note(figure)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("L9H0", "no layer 9"),
        ("L0H9", "layer 0 has 4 heads"),
        ((0, 4), "that layer has 4"),
        ((3, 0), "the record has 1 layer"),
        (3, r"expected 'L5H11', or \(layer, head\)"),
        ((0, 1.5), "expected whole numbers"),
    ],
)
def test_heads_that_are_not_there(head: object, said: str) -> None:
    with pytest.raises(regard.InputError, match=said):
        record_of("a", "b").heatmap(head)


def two_kinds() -> Record:
    side = side_of(*WORDS)
    return Record((side,), (layer_of(side), layer_of(side, kind="cross", seed=1)), {})


def test_heads_of_several_kinds_of_attention() -> None:
    weights, _ = dense(two_kinds().layers[1])
    figure = two_kinds().heatmap("L0H2", kind="cross")
    np.testing.assert_allclose(cells(figure), words_of(weights[2]), atol=1e-6)
    lines = two_kinds().lines("dog", head="L0H2", kind="cross").axes[0].lines
    assert len(lines) == 7
    with pytest.raises(regard.InputError, match=r"several layers.*Give kind=, one of encoder, cr"):
        two_kinds().heatmap("L0H2")
    with pytest.raises(regard.InputError, match="kind is 'decoder' and the record has encoder and"):
        two_kinds().heatmap("L0H2", kind="decoder")


# The lines


def test_lines_are_as_thick_as_their_weights(record: Record) -> None:
    figure = record.lines("it", head="L5H11")
    row = record.weights(5, 7)
    widths = [line.get_linewidth() for line in figure.axes[0].lines]
    np.testing.assert_allclose(np.diff(widths), 9 * np.diff(row.weights[11]), atol=1e-5)
    shown = [text.get_text() for text in figure.axes[0].texts]
    dog = shown.index("dog", shown.index("[SEP]"))
    assert shown[dog : dog + 3] == ["dog", ".60", ".94"]
    (reader,) = (text for text in figure.axes[0].texts if text.get_fontweight() == "bold")
    assert reader.get_text() == "it"
    ends = {line.get_ydata()[0] for line in figure.axes[0].lines}
    assert ends == {reader.get_position()[1]}  # all start at the word that reads


def test_lines_without_a_head_show_the_one_of_the_first_screen(record: Record) -> None:
    figure = record.lines("it")
    assert figure._suptitle.get_text() == "What “it” reads in L5H11 · all-MiniLM-L6-v2"
    assert "the strongest that looks more than 2 words away" in note(figure)


def test_lines_leave_out_what_is_not_seen() -> None:
    record = record_of("A", "dog", "ate", mask=regard.Mask(causal=True, offset=0), kind="decoder")
    figure = record.lines(1, head="L0H0")
    assert len(figure.axes[0].lines) == 2
    assert "Grey and without a number: not seen." in note(figure)


def test_lines_of_a_long_text_sum_up_the_rest() -> None:
    record = regard.capture("word " * 60 + "dog", layers=[0])
    figure = record.lines("dog", head="L0H0")
    row = np.sort(record.weights(0, 61).weights[0])[::-1]
    assert len(figure.axes[0].lines) == 24
    rest = f"{row[24:].sum():.2f}".replace("0.", ".", 1)
    assert f"39 more words have {rest} together." in note(figure)


def test_lines_of_a_long_text_leave_out_weights_of_nothing() -> None:
    words = [f"w{number}" for number in range(40)]
    rows = np.full((1, 40, 40), 0.1 / 38, np.float32)
    rows[0, :, :2] = 0.45
    figure = given_record(rows, *words, kind="decoder").lines("w39", head="L0H0")
    assert len(figure.axes[0].lines) == 2
    assert "38 more words have .10 together." in note(figure)


def test_words_that_are_not_there() -> None:
    with pytest.raises(regard.InputError, match="word 'cat' is not in 'text'"):
        record_of(*WORDS).lines("cat")
    with pytest.raises(regard.InputError, match="word is 7 and the text has 7"):
        record_of(*WORDS).lines(7)


# All heads


def test_heads_show_the_reading_of_every_head(record: Record) -> None:
    figure = record.heads("weight", word="it", to="dog")
    wanted = [record.weights(layer, 7).weights[:, 2] for layer in range(6)]
    np.testing.assert_allclose(cells(figure), np.stack(wanted), atol=1e-6)
    assert "Highest: L5H11 .60, L3H1 .53" in note(figure)
    assert figure._suptitle.get_text().startswith("Weight, “it” to “dog” · ")


def test_heads_beyond_habit_say_what_habit_is(record: Record) -> None:
    figure = record.heads("lift", word="it", to="dog")
    assert "measured over neutral texts" in note(figure)
    assert figure.axes[0].images[0].get_clim() == (-1, 1)
    with pytest.raises(regard.InputError, match="needs the heads' habits"):
        record_of(*WORDS).heads("lift", word="dog", to="it")


def test_recorded_heads_keep_their_numbers() -> None:
    layer = layer_of(side_of(*WORDS), heads=2, kv_heads=2, head_numbers=np.array([3, 7]))
    figure = Record((side_of(*WORDS),), (layer,), {}).heads()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["H3", "H7"]


# The four steps


def test_steps_show_every_matrix() -> None:
    query, key, value = np.random.default_rng(0).normal(size=(3, 3, 4))
    steps = regard.steps(query, key, value, words=["I", "am", "good"])
    figure = steps.figure()
    for axes, matrix in enumerate(
        (steps.scores, steps.scaled, steps.weights, steps.value, steps.output)
    ):
        np.testing.assert_array_equal(cells(figure, axes), matrix)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "1  Q·Kᵀ", "2  ÷ √4 = 2", "3  softmax of each row", "4  × V", "= Z",
    ]  # fmt: skip
    written = [text.get_text() for text in figure.axes[2].texts]
    assert written[0] == f"{steps.weights[0, 0]:.3f}".lstrip("0")
    assert written[-3:] == ["Σ 1.000"] * 3


def test_steps_hatch_what_is_not_seen_and_name_the_sink() -> None:
    query, key, value = np.random.default_rng(0).normal(size=(3, 1, 3, 4))
    steps = regard.steps(query, key, value, mask=regard.Mask(causal=True), sinks=[0.5]).head(0)
    figure = steps.figure()
    assert not np.ma.is_masked(cells(figure, 0))
    assert np.array_equal(cells(figure, 1).mask, ~np.tri(3, dtype=bool))
    assert np.array_equal(cells(figure, 2).mask, ~np.tri(3, dtype=bool))
    total = f"Σ {steps.weights[1].sum():.3f}".replace("0.", ".", 1)
    assert total in [text.get_text() for text in figure.axes[2].texts]
    assert "A sink stands beside the keys" in note(figure)


def test_step_2_is_what_the_softmax_gets() -> None:
    query, key, value, bias = np.random.default_rng(0).normal(size=(4, 3, 3))
    steps = regard.steps(query, key, value, mask=bias, scale=0.5, softcap=2)
    figure = steps.figure()
    np.testing.assert_array_equal(cells(figure, 1), steps.masked)
    assert figure.axes[1].get_title(loc="left") == "2  × 0.5, capped at 2, + bias"


def test_steps_of_a_long_row_show_the_keys_of_most_weight() -> None:
    query, key, value = np.random.default_rng(0).normal(size=(3, 40, 4))
    steps = regard.steps(query[:1], key, value)
    figure = steps.figure()
    shown = np.sort(np.argsort(-steps.weights[0])[:12])
    np.testing.assert_array_equal(cells(figure, 2), steps.weights[:, shown])
    assert "of 40 keys the 12 of most weight" in note(figure)


def test_steps_without_values_end_at_the_weights() -> None:
    figure = regard.steps_from_scores([[1, 2], [3, 4]], d_k=4).figure()
    assert len(figure.axes) == 3
    assert "Step 4, × V, needs the value vectors" in note(figure)


def test_steps_of_several_heads_are_refused() -> None:
    query = np.zeros((2, 3, 4))
    with pytest.raises(regard.InputError, match=r"leading axes \(2,\).*steps.head\(0\).figure"):
        regard.steps(query, query, query).figure()
    with pytest.raises(regard.InputError, match="nothing to draw"):
        regard.steps(query[0, :0], query[0], query[0]).figure()


# The spans


def test_spans_show_what_the_last_row_reads() -> None:
    record = regard.capture(SPANS_TEXT)
    figure = record.spans_figure()
    side = record.sides[0]
    last = len(side.tokens) - 1
    weights = np.stack([record.row(layer, head, last) for layer in range(6) for head in range(12)])
    starts = [SPANS_TEXT.index(word) for word in ("A dog", "The cat", "Nobody")]
    owner = np.array(
        [-1 if w.special else sum(w.start >= s for s in starts) - 1 for w in side.words]
    )[side.word_of]
    groups = np.stack([weights[:, owner == group].sum(1) for group in (0, 1, 2, -1)], 1)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    np.testing.assert_allclose(widths, groups.mean(0), atol=1e-6)
    strongest = [bar.get_width() for bar in figure.axes[1].patches]
    np.testing.assert_allclose(strongest, groups.max(0), atol=1e-6)
    layer, head = divmod(int(groups[:, 0].argmax()), 12)
    assert figure.axes[1].texts[0].get_text().endswith(f"L{layer}H{head}")
    assert figure._suptitle.get_text().startswith("What 1 row read of each span")


def test_spans_show_effects_in_the_order_given() -> None:
    from regard.questions.spans import sentence_spans

    record = regard.capture(SPANS_TEXT)
    spans = sentence_spans(SPANS_TEXT)
    figure = record.spans_figure([spans[2], spans[0], spans[1]], effects=[0.5, -1.25, None])
    effects = [text.get_text() for text in figure.axes[-1].texts]
    assert effects == ["−1.25", "–", "+0.50", "–"]
    with pytest.raises(regard.InputError, match="effects has 1 numbers and there are 3 spans"):
        record.spans_figure(spans, effects=[1.0])


def test_spans_of_rows_that_were_read() -> None:
    words = ["A", "dog", "ate", ".", "The", "cat", "saw", "it", "."]
    causal = {"kind": "decoder", "mask": regard.Mask(causal=True, offset=0)}
    layer = record_of(*words, **causal).layers[0]
    ask = regard.Ask(queries=[6, 7], rows=[6, 7])
    parts = {"ask": ask, "mask": layer.call.mask, "scale": layer.call.scale}
    read = regard.readings(layer.query, layer.key, layer.value, **parts)
    bare = dataclasses.replace(layer, readings=read, ask=ask, query=None, key=None)
    record = Record((side_of(*words),), (bare,), {})
    assert record.spans_figure()._suptitle.get_text().startswith("What 2 rows read")
    figure = record.spans_figure(readers=[6])
    weights, _ = dense(layer)
    wide = [bar.get_width() for bar in figure.axes[0].patches]
    spans = [weights[:, 6, :4].sum(1).mean(), weights[:, 6, 4:7].sum(1).mean(), 0, 0]
    np.testing.assert_allclose(wide[:2], spans[:2], atol=1e-6)


def test_spans_are_of_a_text_that_an_answer_follows() -> None:
    record = record_of(*WORDS)
    with pytest.raises(regard.InputError, match="expected a decoder, or an encoder's last row"):
        record.spans_figure(readers=[2, 3])
    with pytest.raises(regard.InputError, match="of this cross attention"):
        two_kinds().spans_figure(kind="cross")


def test_spans_say_which_holds_the_first_token_of_a_decoder() -> None:
    words = ["A", "dog", "ate", ".", "The", "cat", "saw", "it", "."]
    record = record_of(*words, kind="decoder", mask=regard.Mask(causal=True, offset=0))
    assert "s1 holds the first token" in note(record.spans_figure())
    assert "first token" not in note(record_of(*words).spans_figure())


def test_spans_need_a_text() -> None:
    weights = np.full((1, 2, 2), 0.5, np.float32)
    record = regard.from_weights(weights, ["a", "b"])
    with pytest.raises(regard.InputError, match="has labels and no text"):
        record.spans_figure()


# Any text, any place


def hostile_record() -> Record:
    record = record_of(*["a"] * len(HOSTILE))
    side = regard.Side.of_labels(list(HOSTILE), [False] * len(HOSTILE))
    return Record((side,), record.layers, {"model": "$m_1$ \\ud800 \ud800\n" + "y" * 300})


def figures() -> Iterator[Figure]:
    record = hostile_record()
    yield record.heatmap("L0H0")
    yield record.lines(1, head="L0H1")
    yield record.lines(16, head="L0H1")
    yield record.heads("weight", word=0, to=5)
    yield record.steps(0, 0).figure()
    text = "$x_1$ is\u202e it. \ud800 end."
    tokens = text.split(" ")
    offsets = [(text.index(token), text.index(token) + len(token)) for token in tokens]
    side = regard.Side.of_text(text, tokens, offsets, [False] * len(tokens))
    yield Record((side,), record_of(*["a"] * len(tokens)).layers, {}).spans_figure()


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_hostile_text_is_drawn_as_text(kind: str) -> None:
    for figure in figures():
        for text in figure.findobj(Text):
            if "$" in text.get_text():
                assert text.get_parse_math() is False
                assert text.get_usetex() is False
            lines = 2 if text is figure._suptitle else 1  # what it is, and the model
            assert text.get_text().count("\n") < lines or text is figure._supxlabel
            assert not any(0xD800 <= ord(char) < 0xE000 for char in text.get_text())
            assert max(map(len, text.get_text().split("\n")), default=0) < 200
        written = io.BytesIO()
        figure.savefig(written, format=kind)
        assert len(written.getvalue()) > 1000


def test_a_style_of_ones_own_does_not_turn_text_into_mathematics() -> None:
    with matplotlib.rc_context({"text.usetex": True, "text.parse_math": True}):
        figure = hostile_record().heatmap("L0H0")
        for text in figure.axes[0].get_xticklabels():
            assert text.get_usetex() is False
            assert text.get_parse_math() is False


def test_words_are_drawn_as_they_are_where_a_font_has_them() -> None:
    assert drawn("naïve שלום сад") == "naïve שלום сад"
    assert drawn("\U000f0000") == "\\U000f0000"  # no font has what is nobody's


def test_a_model_is_named_without_where_it_lies() -> None:
    assert model_name("/home/someone/models/SmolLM2") == "SmolLM2"
    assert model_name("./SmolLM2/") == "SmolLM2"
    assert model_name("org/SmolLM2") == "org/SmolLM2"


def test_a_notebook_shows_a_figure_as_it_is() -> None:
    assert record_of("a", "b").heatmap("L0H0")._repr_png_().startswith(b"\x89PNG")


def test_no_display_and_no_pyplot() -> None:
    code = (
        "import sys, io, regard\n"
        "figure = regard.capture('A dog ate it').lines('it')\n"
        "figure.savefig(io.BytesIO(), format='svg')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_without_matplotlib_the_extra_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import regard\n"
        "try:\n"
        "    regard.capture('A dog').heatmap('L0H0')\n"
        "except regard.BackendError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'regard[figures]'" in done.stdout, done.stderr
