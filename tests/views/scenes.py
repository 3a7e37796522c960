"""Scenes made by hand, for the views to draw."""

from __future__ import annotations

from regard.views.scene import (
    Cell,
    FourSteps,
    KeyStep,
    Kind,
    Link,
    OneHead,
    OneRow,
    OneWord,
    Routine,
    Row,
    Sentence,
    Source,
    Term,
    Turn,
    Versus,
    Vote,
)

WORDS = ("[CLS]", "A", "dog", "ate", "it", "[SEP]")


def source(text: str | None = "A dog ate it", words: tuple[str, ...] = WORDS) -> Source:
    spans = []
    place = 0
    for word in words:
        if text is None or word.startswith("["):
            spans.append((0, 0))
            continue
        place = text.index(word, place)
        spans.append((place, place + len(word)))
        place += len(word)
    return Source(
        text=text,
        words=words,
        spans=tuple(spans),
        special=("[CLS]", "[SEP]"),
        unknown=(),
        tokens=len(words),
        model="all-MiniLM-L6-v2",
        heads=(12,) * 6,
        habit="neutral texts",
        exact=True,
        kind="encoder",
        kinds=("encoder",),
        read=None,
        apart=("[CLS]", "[SEP]"),
        written=None,
        stopped=None,
    )


def text_source(*words: str) -> Source:
    return source(" ".join(words), ("[CLS]", *words, "[SEP]"))


def row(
    words: tuple[str, ...] = WORDS,
    weights: tuple[float, ...] = (),
    reader: str = "it",
    **more: object,
) -> Row:
    weights = weights or (0.14, 0.01, 0.6, 0.05, 0.18, 0.02)
    cells = tuple(
        Cell(
            word=word,
            weight=weight,
            share=weight / 2,
            habit=None,
            special=word.startswith("["),
            seen=True,
        )
        for word, weight in zip(words, weights, strict=True)
    )
    parts = {"reader": reader, "pieces": (reader,), "head": "L5H11", "cells": cells, "exact": True}
    return Row(**{**parts, **more})  # type: ignore[arg-type]


LINKS = (
    Link("it", "ate", -1, "L2H8", 0.84, 0.16, 0.9),
    Link("it", "dog", -2, "L5H11", 0.6, 0.04, 0.94),
)
ROUTINES = (
    Routine("the word before", True, ("L0H2", "L1H3", "L2H2", "L3H3")),
    Routine("itself", False, ("L4H9",)),
    Routine("[SEP]", False, ("L4H8",)),
)


ONE_KIND = Kind("before", ("L0H2",))


def sentence(**more: object) -> Sentence:
    parts = {"source": source(), "links": LINKS, "routines": ROUTINES, "special_mass": 0.42}
    parts["kinds"] = (Kind("mixed", ("L0H0",) * 40), Kind("special", ("L0H1",) * 31), ONE_KIND)
    parts["readers"] = parts["of"] = 4
    return Sentence(**{**parts, **more})  # type: ignore[arg-type]


def one_word(**more: object) -> OneWord:
    parts = {
        "source": source(),
        "word": "it",
        "place": 4,
        "links": LINKS,
        "read_by": (Link("dog", "it", 2, "L1H1", 0.3, 0.1, None),),
        "read_by_exact": True,
        "routines": ROUTINES,
        "votes": (Vote("ate", 17), Vote("dog", 12), Vote("A", 3)),
        "voters": 72,
        "special_mass": 0.42,
        "row": row(),
        "why": "the strongest that looks more than 2 words away",
        "leads": "dog",
        "others": 0.55,
    }
    return OneWord(**{**parts, **more})  # type: ignore[arg-type]


def one_row(**more: object) -> OneRow:
    parts = {"source": source(), "place": 4, "row": row()}
    return OneRow(**{**parts, **more})  # type: ignore[arg-type]


def one_head(**more: object) -> OneHead:
    parts = {
        "source": source(),
        "head": "L5H11",
        "routine": None,
        "kind": "mixed",
        "links": LINKS,
        "matrix": ((0.5, 0.1, 0.1, 0.1, 0.1, 0.1),) * 6,
    }
    return OneHead(**{**parts, **more})  # type: ignore[arg-type]


def key_step(token: str, weight: float, score: float, **more: object) -> KeyStep:
    parts = {
        "token": token,
        "score": score,
        "terms": (Term(7, 2.0, 3.0, 6.0), Term(1, -1.0, 2.0, -2.0), Term(0, 1.0, 1.0, 1.0)),
        "scaled": score / 2,
        "masked": score / 2,
        "exponential": weight * 2,
        "weight": weight,
        "share": weight,
        "value": (0.25, -0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    }
    return KeyStep(**{**parts, **more})  # type: ignore[arg-type]


def four_steps(**more: object) -> FourSteps:
    parts = {
        "source": source(),
        "word": "it",
        "place": 4,
        "piece": 0,
        "pieces": ("it",),
        "head": "L5H11",
        "dim": 4,
        "value_dim": 32,
        "scale": 0.5,
        "softcap": None,
        "sink": None,
        "largest": 5.0,
        "row_sum": 2.0,
        "keys": (key_step("ate", 0.25, 6.0), key_step("dog", 0.75, 10.0)),
        "output": (0.25, -0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    }
    return FourSteps(**{**parts, **more})  # type: ignore[arg-type]


def versus(**more: object) -> Versus:
    parts = {
        "source": source(),
        "other": source("A dog saw it", ("[CLS]", "A", "dog", "saw", "it", "[SEP]")),
        "word": "it",
        "place": 4,
        "other_place": 4,
        "first": "dog",
        "second": "A",
        "there": (Turn("L3H1", 0.53, 0.05, 0.1, 0.25), Turn("L4H1", 0.4, 0.39, 0.1, 0.3)),
        "back": (Turn("L4H2", 0.1, 0.4, 0.3, 0.1),),
        "stays": (Turn("L5H11", 0.6, 0.02, 0.51, 0.01),),
        "heads": 72,
    }
    return Versus(**{**parts, **more})  # type: ignore[arg-type]
