"""What --json prints: plain values, stable keys, nothing rounded, no NaN."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from regard.views.scene import SCHEMA, as_json
from views import scenes

ALL = (
    scenes.sentence(),
    scenes.one_word(),
    scenes.one_row(),
    scenes.one_head(),
    scenes.four_steps(),
    scenes.versus(),
)


@pytest.mark.parametrize("scene", ALL)
def test_a_scene_is_json_and_says_which(scene: object) -> None:
    told = as_json(scene)  # type: ignore[arg-type]
    assert [*told][:2] == ["schema", "view"]
    assert told["schema"] == SCHEMA == "regard.show/1"
    assert {*told} == {"schema", "view", *(f.name for f in dataclasses.fields(scene))}  # type: ignore[arg-type]
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_every_view_has_its_name() -> None:
    views = [as_json(scene)["view"] for scene in ALL]
    assert views == ["sentence", "word", "row", "head", "steps", "versus"]


def test_numbers_are_not_rounded_and_those_that_are_none_are_null() -> None:
    row = scenes.row(weights=(1 / 3, math.nan, math.inf, 0.0, 0.0, 0.0))
    cells = as_json(scenes.one_row(row=row))["row"]["cells"]
    assert cells[0]["weight"] == 1 / 3
    assert cells[1]["weight"] is None
    assert cells[2]["weight"] is None
