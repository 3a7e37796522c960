"""What an Ask becomes: its flat encoding, and which answers it has."""

from __future__ import annotations

import numpy as np
import pytest

from regard import Ask
from regard.mechanism.readings import reading_shapes
from regard.mechanism.sizes import measure

SIZES = measure(np.zeros((2, 6, 9, 4)), np.zeros((2, 3, 11, 4)), None)


def flat(**ask):
    return Ask(**ask).flatten(SIZES, 4)


def test_nothing_is_asked_by_default():
    asked = flat()
    assert asked.queries.tolist() == list(range(9))
    assert (asked.top, asked.thumbnail, asked.groups, asked.labels) == (0, 0, 0, None)
    assert reading_shapes(asked, SIZES) == {}


@pytest.mark.parametrize(
    ("queries", "wanted"),
    [
        (None, range(9)),
        ("last", [8]),
        (slice(2, 8, 3), [2, 5]),
        (slice(None, None, -4), [8, 4, 0]),
        ([-1, 3, -9], [8, 3, 0]),
        (range(3), [0, 1, 2]),
        (np.array([7, 1], np.uint8), [7, 1]),
        ([], []),
        ((), []),
    ],
    ids=str,
)
def test_queries(queries, wanted):
    asked = flat(queries=queries).queries
    assert asked.tolist() == list(wanted)
    assert asked.dtype == np.int64


def test_last_of_no_queries():
    empty = measure(np.zeros((0, 4)), np.zeros((3, 4)), None)
    assert Ask(queries="last", top=2).flatten(empty, 4).queries.tolist() == []


def test_rows_are_places_among_the_queries():
    assert flat(queries=[7, 2, 5], rows=[5, -2]).rows.tolist() == [2, 0]
    assert flat(rows=[5, -1]).rows.tolist() == [5, 8]


def test_columns_and_labels():
    asked = flat(columns=[-1, 0], groups=(np.arange(11, dtype=np.int8) % 3 - 1, 2))
    assert asked.columns.tolist() == [10, 0]
    assert asked.labels.dtype == np.int32
    assert asked.labels.tolist() == [-1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0]
    assert asked.groups == 2


def test_the_shape_of_every_reading():
    asked = flat(
        queries=[1, 2, 3, 4],
        top=np.int64(5),
        share=True,
        entropy=True,
        lse=True,
        max_score=np.True_,
        received=True,
        rows=[1],
        columns=[0, 1],
        groups=([0] * 11, 3),
        thumbnail=2,
    )
    assert reading_shapes(asked, SIZES) == {
        **dict.fromkeys(("top_index", "top_weight", "top_share"), (4, 5)),
        **dict.fromkeys(("entropy", "lse", "max_score"), (4,)),
        **dict.fromkeys(("received", "eligible"), (11,)),
        "rows": (1, 11),
        "columns": (4, 2),
        "group_mass": (4, 3),
        "thumbnail": (2, 2),
    }


@pytest.mark.parametrize(
    "ask",
    [
        {"top": 1},
        {"entropy": True},
        {"lse": True},
        {"max_score": True},
        {"received": True},
        {"rows": [0]},
        {"columns": np.array([1])},
        {"groups": ([0] * 11, 1)},
        {"thumbnail": 1},
    ],
    ids=str,
)
def test_whether_anything_is_asked(ask):
    assert Ask(**ask).anything
    assert not Ask(queries=[0]).anything
    assert len(reading_shapes(flat(**ask), SIZES)) >= 1
