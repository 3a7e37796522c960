"""The screen of `regard spans`, from scenes made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from regard.mechanism.readings import Readings
from regard.questions.span_readings import SpanReadings
from regard.questions.spans import Span
from regard.record import Layer, Record, Side
from regard.views.cells import width
from regard.views.spans_scene import LEADING, Part, Prompt, Reader, Spans, as_json, stage
from regard.views.spans_text import render
from regard.views.terminal import Terminal

TEXT = "The code is 4417. It rained all day."
COMMAND = ["regard", "spans", "--model", "m", "--file", "p.txt"]


def prompt(**more: Any) -> Prompt:
    parts = {
        "text": TEXT,
        "tokens": 12,
        "answer": " 4417",
        "answer_tokens": 4,
        "generated": False,
        "log_probability": -1.234,
        "model": "tiny-llama",
        "layers": (0, 2),
        "heads": (2, 2),
    }
    return Prompt(**{**parts, **more})


def part(name: str, start: int | None, stop: int | None, **more: Any) -> Part:
    parts = {
        "tokens": 5,
        "length": 0.4,
        "weight": 0.125,
        "without_apart": 0.5,
        "part": 0.25,
        "top_head": 0.45,
        "effect": None,
        "readers": (Reader("L0H1", 0.45), Reader("L2H0", 0.3)),
        "by_layer": (0.1, 0.15),
    }
    return Part(name, start, stop, **{**parts, **more})


def scene(**more: Any) -> Spans:
    parts = {
        "prompt": prompt(),
        "sorted_by": "part",
        "spans": (part("s1", 0, 17), part("s2", 18, 36, part=-0.03, weight=0.01)),
        "rest": (part("special and first tokens", None, None, tokens=1, weight=0.7, part=0.1),),
        "exact": True,
    }
    return Spans(**{**parts, **more})


def lines(shown: Spans, terminal: Terminal | None = None, **more: Any) -> list[str]:
    terminal = terminal or Terminal()
    text = render(shown, terminal, COMMAND, **more)
    assert text.endswith("\n")
    found = text.splitlines()
    assert all(width(line) <= terminal.columns for line in found)
    return found


def test_the_whole_screen() -> None:
    assert lines(scene())[:13] == [
        "12 tokens in 2 spans; read by tiny-llama, 2 layers × 2 heads",
        'Answer given: " 4417" (4 tokens, log p −1.23)',
        "",
        "What the answer read, by part",
        "  span  text                length  weight  bare  head  part",
        "  s1    The code is 4417.      .40     .12   .50   .45   .25  ████████████",
        "  s2    It rained all day.     .40     .01   .50   .45  -.03",
        "",
        "  in no span                tokens  length  weight  head  part",
        "  special and first tokens       1     .40     .70   .45   .10",
        "",
        "s1 is read most by L0H1 (.45), L2H0 (.30).",
        "s2 is read most by L0H1 (.45), L2H0 (.30).",
    ]
    assert lines(scene())[-1] == "Does it matter? regard spans --model m --file p.txt --test"


def test_a_tested_screen_has_the_fall_as_bars_and_says_what_a_cut_is() -> None:
    tested = scene(
        sorted_by="effect",
        spans=(
            part("s1", 0, 17, effect=-2.0),
            part("s2", 18, 26, effect=-0.5),
            part("s3", 27, 36, effect=0.001),
            part("s4", 36, 36, effect=None),
        ),
    )
    found = lines(tested)
    assert "What the answer read, by what cutting it does" in found
    ends = [line.split()[-2:] for line in found[5:9]]
    assert ends[0][0] == "−2.00"
    assert ends[0][1] == "█" * len(ends[0][1])
    assert ends[1][0] == "−0.50"
    assert len(ends[1][1]) * 4 <= len(ends[0][1]) + 4
    assert ends[2][1] == ".00"
    assert ends[3][1] == "–"
    assert "--test" not in "\n".join(found)
    assert "A cut takes the span from the rows that predict the answer" in "\n".join(found)


def test_by_layer() -> None:
    found = lines(scene(), by_layer=True)
    at = found.index("Weight by layer")
    assert found[at + 1 : at + 4] == ["  layer   s1   s2", "  L0     .10  .10", "  L2     .15  .15"]


def test_many_spans_are_summed_up() -> None:
    many = tuple(part(f"s{n}", 0, 17) for n in range(25))
    found = lines(scene(spans=many))
    assert "  and 5 more spans, together weight .62" in found


def test_without_values_or_measures_their_columns_are_gone() -> None:
    bare = scene(
        sorted_by="weight",
        spans=(part("s1", 0, 17, part=None),),
        rest=(),
        prompt=prompt(log_probability=None, generated=True, layers=(4,), heads=(1,)),
    )
    found = lines(bare)
    assert found[:2] == [
        "12 tokens in 1 span; read by tiny-llama, 1 layer × 1 head",
        'It generated: " 4417" (4 tokens)',
    ]
    assert "part" not in found[4].split()
    assert not any("in no span" in line for line in found)


@pytest.mark.parametrize("columns", [50, 79])
def test_long_and_hostile_texts_stay_within_the_line(columns: int) -> None:
    hostile = scene(
        prompt=prompt(text="\x1b[2J" + "word " * 99, answer="\x07" + "long " * 50, model="m" * 200),
        spans=(part("a name that is rather long", 0, 400, effect=-12.5),),
        sorted_by="effect",
    )
    found = lines(hostile, Terminal(columns=columns))
    assert not any(ord(char) < 32 for line in found for char in line)


def readings(**more: Any) -> SpanReadings:
    mass = np.zeros((2, 1, 5))
    mass[:, 0] = [[0.1, 0.4, 0.4, 0.0, 0.1], [0.3, 0.1, 0.5, 0.0, 0.1]]
    parts = {
        "spans": (Span("s1", 0, 17), Span("s2", 18, 36)),
        "tokens": np.array([5, 5, 1, 0, 2]),
        "length": np.array([0.4, 0.4, 0.1, 0.0, 0.1]),
        "heads": ((0, 0), (1, 0)),
        "mass": mass,
        "bare": np.where(np.arange(5) == 2, 0, mass),
        "share": np.broadcast_to([0.1, 0.6, 0.1, 0.0, 0.2], (2, 1, 5)),
        "exact": True,
    }
    return SpanReadings(**{**parts, **more})


def record() -> Record:
    layers = tuple(
        Layer(number, "l", "decoder", 1, 0, 0, np.arange(1), np.arange(1), Readings("loop"))
        for number in (4, 7)
    )
    return Record((Side.of_labels(["a"], [False]),), layers, {})


def test_staging_sorts_and_names_heads_by_their_layers_numbers() -> None:
    seen = stage(prompt(), record(), readings(), None)
    assert seen.sorted_by == LEADING
    assert [one.name for one in seen.spans] == ["s2", "s1"]
    assert [one.name for one in seen.rest] == ["special and first tokens", "outside the spans"]
    assert seen.spans[0].readers == (Reader("L4H0", 0.4), Reader("L7H0", 0.1))
    assert seen.spans[0].by_layer == (0.4, 0.1)
    np.testing.assert_allclose(seen.spans[0].without_apart, 0.25 / 0.55)
    tested = stage(prompt(), record(), readings(), [-1.0, -2.0])
    assert tested.sorted_by == "effect"
    assert [(one.name, one.effect) for one in tested.spans] == [("s2", -2.0), ("s1", -1.0)]
    partly = stage(prompt(), record(), readings(), [None, 3.0])
    assert [one.effect for one in partly.spans] == [3.0, None]


def test_json_has_a_schema_and_no_nan() -> None:
    share = np.full((2, 1, 5), np.nan)
    told = as_json(stage(prompt(), record(), readings(share=share), None))
    text = json.dumps(told, allow_nan=False)
    assert json.loads(text)["schema"] == "regard.spans/1"
    assert told["spans"][0]["part"] is None
    assert replace(scene(), exact=False).exact is False


def test_a_cut_of_the_first_token_is_told_apart() -> None:
    tested = {"sorted_by": "effect", "spans": (part("s1", 0, 17, effect=1.0),)}
    said = "s1 holds the first token"
    assert said in " ".join(lines(scene(**tested, rest=())))
    apart = part("special and first tokens", None, None)
    assert said not in " ".join(lines(scene(**tested, rest=(apart,))))
