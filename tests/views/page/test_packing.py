"""Arrays and text as a page carries them."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given, strategies as st

from regard.views.page.packing import (
    as_json,
    block,
    cost,
    fractions,
    indices,
    pack,
    positive,
    signed,
)

RANDOM = np.random.default_rng(0)


def test_arrays_come_back_as_they_were_wherever_they_stand() -> None:
    arrays = {
        "f8": RANDOM.normal(size=(3, 5)), "f4": RANDOM.normal(size=7).astype(np.float32),
        "u1": np.arange(3), "u2": np.array([0, 65535]), "i4": np.array([[-1, 2**31 - 1]]),
        "i2": np.array([-32768]), "u4": np.array([2**32 - 1]),
    }  # fmt: skip
    arrays |= {"empty": np.zeros((0, 4))}
    blocks = {
        name: block("steps" if len(name) % 2 else "core", array, "f8" if name == "empty" else name)
        for name, array in arrays.items()
    }
    text, parts = pack(blocks)
    placed = json.loads(text)
    for name, array in arrays.items():
        part, at, dtype, shape, scale = placed[name]["$"]
        raw = zlib.decompress(base64.b64decode(parts[part]), -zlib.MAX_WBITS)
        back = np.frombuffer(raw, f"<{dtype}", int(np.prod(shape)), at).reshape(shape)
        assert np.array_equal(back, array)
        assert at % 8 == 0
        assert scale is None


def test_the_size_of_a_page_is_known_before_it_is_made() -> None:
    tree = {"a": [block("core", RANDOM.normal(size=n), "f8") for n in range(200)], "b": None}
    empty = len(as_json(tree, lambda _: None)) + sum(map(len, pack({})[1].values()))
    text, parts = pack(tree)
    whole = len(text) + sum(map(len, parts.values()))
    assert whole <= empty + cost(tree)
    assert whole > empty + cost(tree) - 72 * 200 - 100


def test_weights_keep_four_digits_and_what_is_not_known() -> None:
    weights = np.array([0, 1, np.nan, 0.5, 1 / 3, 1e-9, 1.0000001])
    back = _back(fractions("core", weights))
    assert np.isnan(back[2])
    assert back[0] == 0
    assert back[1] == 1
    assert np.nanmax(np.abs(back - weights)) <= 0.5 / 65534 + 1e-7


def test_shares_keep_their_sign_and_large_ones_their_hundredths() -> None:
    shares = np.array([-0.25, 0.5, np.nan, 1.5])
    back = _back(signed("core", shares))
    assert np.isnan(back[2])
    assert np.nanmax(np.abs(back - shares)) <= 0.5 * 1.5 / 32767
    wild = np.array([-4000.0, 0.01, np.inf, np.nan])
    assert np.array_equal(_back(signed("core", wild)), wild.astype(np.float32), equal_nan=True)


def test_numbers_above_zero_are_scaled_by_the_largest() -> None:
    entropy = np.array([0, 3.25, np.nan, 1e-3])
    back = _back(positive("core", entropy))
    assert np.isnan(back[2])
    assert np.nanmax(np.abs(back - entropy)) <= 0.5 * 3.25 / 65534
    assert np.array_equal(_back(positive("core", np.zeros(3))), np.zeros(3))


@pytest.mark.parametrize(("count", "dtype"), [(12, "u2"), (65534, "u2"), (65535, "u4")])
def test_no_place_is_all_bits_set(count: int, dtype: str) -> None:
    made = indices("core", [-1, count - 1], count)
    assert made.dtype == dtype
    none = 65535 if dtype == "u2" else 2**32 - 1
    assert _back(made).tolist() == [none, count - 1]


@given(st.text(st.characters(), max_size=30) | st.just("\ud800</script>\u2028<!--\0"))
def test_any_text_is_safe_inside_a_script_element_and_comes_back(text: str) -> None:
    made = as_json({"text": text, text: 1})
    made.encode("utf-8")
    assert not set(made) & set("<\u2028\u2029\0\r\n")
    back = json.loads(made)
    assert back == json.loads(json.dumps({"text": text, text: 1}))


def _back(made: object) -> np.ndarray:
    text, parts = pack({"it": made})
    part, at, dtype, shape, scale = json.loads(text)["it"]["$"]
    raw = zlib.decompress(base64.b64decode(parts[part]), -zlib.MAX_WBITS)
    array = np.frombuffer(raw, f"<{dtype}", int(np.prod(shape)), at).reshape(shape)
    if scale is None:
        return array
    return np.where(array == {"u2": 65535, "i2": -32768}[dtype], np.nan, array * scale)
