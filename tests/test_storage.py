"""Saving and loading: nothing is lost, and no file but a whole record is read."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import struct
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
import safetensors.numpy

import regard
from records import layer_of, record_of, side_of
from regard.errors import InputError
from regard.mechanism.readings import Readings
from regard.record import Call, Record, Side
from regard.storage import file, load, save

WORDS = ("[CLS]", "hug|ging", "dog", "[SEP]")


def same(one, other):
    """Equal in every field, arrays with their dtypes."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        assert isinstance(one, np.ndarray)
        assert isinstance(other, np.ndarray)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif dataclasses.is_dataclass(one):
        assert type(one) is type(other)
        for field in dataclasses.fields(one):
            same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, (tuple, list)):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    else:
        assert type(one) is type(other)
        assert one == other


def full_record():
    """A record with every field in use."""
    text = side_of(*WORDS)
    strange = Side.of_text(
        "a\ud800 狗\n", ["a\ud800", "狗", "\n"], [(0, 2), (3, 4), (4, 5)], [False] * 3
    )
    labels = Side.of_labels(["p0", "", "p2"], [True, False, False], name="image")
    random = np.random.default_rng(3)
    mask = regard.Mask(
        causal=True,
        offset=np.array([1]),
        window=(3, None),
        lengths=4,
        segments=(np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, -1])),
        allowed=random.random((4, 1, 5)) > 0.2,
        bias=random.normal(size=(5, 5)).astype(np.float32),
    )
    call = Call(scale=0.25, softcap=3.0, sinks=np.ones(4, np.float32), mask=mask)
    layer = layer_of(text, call=call, kind="decoder")
    ask = regard.Ask(
        queries=np.array([4, 1, 2]),
        top=2,
        share=True,
        entropy=True,
        lse=True,
        max_score=True,
        received=True,
        rows=np.array([2, 4]),
        columns=np.array([0]),
        groups=(np.array([0, 1, -1, 0, 0]), 2),
        thumbnail=2,
    )
    readings = regard.readings(
        layer.query, layer.key, layer.value, ask=ask, mask=mask, scale=0.25, softcap=3.0,
        sinks=call.sinks,
    )  # fmt: skip
    asked = dataclasses.replace(layer, ask=ask, readings=readings)
    plain = layer_of(text, number=1, call=None, query=None, key=None, value=None)
    cross = layer_of(
        strange,
        number=2,
        kind="cross",
        query_side=1,
        key_side=2,
        key=None,
        value=None,
        call=Call(scale=1.0, mask=regard.Mask(window=(0, 0), offset=-1)),
        ask=regard.Ask(queries=slice(None, None, 2)),
        readings=Readings("native", queries=np.array([0, 2])),
    )
    last = dataclasses.replace(
        plain, number=3, ask=regard.Ask(queries="last"), readings=Readings("loop")
    )
    return Record(
        (text, strange, labels), (asked, plain, cross, last), {"model": "m", "": "\ud800"}
    )


def test_round_trip_of_every_field(tmp_path):
    record = full_record()
    save(record, tmp_path / "a.regard")
    same(record, load(tmp_path / "a.regard"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_round_trip_of_dtypes(tmp_path, dtype):
    side = side_of(*WORDS)
    layer = layer_of(side)
    kept = {name: getattr(layer, name).astype(dtype) for name in ("query", "key", "value")}
    record = Record((side,), (dataclasses.replace(layer, **kept),), {})
    record.save(tmp_path / "a.regard")
    same(record, regard.load(tmp_path / "a.regard"))


def test_round_trip_of_a_capture(tmp_path):
    record = regard.capture("A dog ate.", layers=[2], ask=regard.Ask(top=3), keep=("query",))
    record.save(str(tmp_path / "a.regard"))
    same(record, regard.load(str(tmp_path / "a.regard")))


def test_arrays_can_be_read_by_other_programs(tmp_path):
    record_of(*WORDS).save(tmp_path / "a.regard")
    tensors = safetensors.numpy.load_file(tmp_path / "a.regard")
    assert tensors["layer.0.query"].shape == (4, 5, 6)


def test_non_contiguous_arrays(tmp_path):
    side = side_of(*WORDS)
    layer = layer_of(side)
    turned = np.asfortranarray(layer.query)
    record = Record((side,), (dataclasses.replace(layer, query=turned),), {})
    record.save(tmp_path / "a.regard")
    np.testing.assert_array_equal(load(tmp_path / "a.regard").layers[0].query, layer.query)


# writing


def test_older_file_stays_whole_when_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.regard"
    record_of(*WORDS).save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file.os, "fsync", fail)
    with pytest.raises(InputError, match=r"a\.regard cannot be written: No space left on device\."):
        record_of("other").save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.regard"]


def test_nothing_is_left_when_interrupted(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(file.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        record_of(*WORDS).save(tmp_path / "a.regard")
    assert os.listdir(tmp_path) == []


def test_saved_file_can_be_read_by_others(tmp_path):
    record_of(*WORDS).save(tmp_path / "a.regard")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "a.regard").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_paths_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="is a directory: expected the path of a file"):
        record_of(*WORDS).save(tmp_path)
    with pytest.raises(InputError, match=r"missing.a\.regard cannot be written: No such file"):
        record_of(*WORDS).save(tmp_path / "missing" / "a.regard")


def test_texts_too_long_to_load_are_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "_MOST_HEADER", 2000)
    with pytest.raises(InputError, match="the texts and tokens of the record take"):
        save(record_of(*[f"word{i}" for i in range(500)]), tmp_path / "a.regard")
    assert os.listdir(tmp_path) == []


# attacks: each makes a file; each must be refused, in one line, fast and in little memory


def container(header, data=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def with_json(text):
    return container({"__metadata__": {"regard.record": text}})


def good():
    record = record_of(*WORDS, layers=1)
    from regard.storage.form import to_form

    return to_form(record)


def changed(change):
    """A file whose JSON or arrays were changed after a record was taken apart."""
    form, arrays = good()
    change(form, arrays)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(arrays, {"regard.record": json.dumps(form)})


def put(path, value):
    """Sets form[path...] to a value."""

    def change(form, _):
        at = form
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


def array(name, make):
    def change(_, arrays):
        made = make(arrays.get(name))
        if made is None:
            del arrays[name]
        else:
            arrays[name] = made

    return change


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/regard-was-attacked",)


def whole():
    form, arrays = good()
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(arrays, {"regard.record": json.dumps(form)})


def swapped_offsets():
    raw = whole()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    header["layer.0.query"]["data_offsets"][1] += 10**6
    return container(header, raw[8 + length :])


def wrong_dtype(name):
    raw = whole()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    header["layer.0.query"]["dtype"] = name
    return container(header, raw[8 + length :])


def zipped(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a", b"0" * 1000)
    return (tmp_path / "zip").read_bytes()


FOREIGN = "is no regard record: expected a file that record.save wrote"
ATTACKS = {
    "empty": (lambda: b"", FOREIGN),
    "short": (lambda: b"\x01\x02", FOREIGN),
    "zeros": (lambda: b"\0" * 64, FOREIGN),
    "text": (lambda: b"A dog ate the food because it was hungry\n" * 9, FOREIGN),
    "pickle": (lambda: pickle.dumps(Bomb()), FOREIGN),
    "header longer than the file": (lambda: struct.pack("<Q", 2**63) + b"{}", FOREIGN),
    "header of 17 MiB": (lambda: container(b" " * (17 * 2**20)), "has a header of 17825792 bytes"),
    "header is no JSON": (lambda: container(b"{'a'}"), "its header is no JSON"),
    "header is a list": (lambda: container(b"[]"), FOREIGN),
    "header is not UTF-8": (lambda: container(b'{"\xff\xfe": 1}'), "its header is no JSON"),
    "nested header": (lambda: container(b"[" * 10**6), r"nested too deeply"),
    "model file": (lambda: safetensors.numpy.save({"w": np.ones(3)}, {"format": "np"}), FOREIGN),
    "nested record": (lambda: with_json("[" * 10**6), "nested too deeply"),
    "huge number": (lambda: with_json("1" * 10**5), "its header is no JSON"),
    "record is a number": (lambda: with_json("3"), "its JSON does not say format"),
    "NaN": (lambda: with_json('{"format": NaN}'), "NaN is no JSON number"),
    "other format": (lambda: with_json('{"format": "x"}'), "its JSON does not say format"),
    "newer version": (lambda: changed(put(["version"], 2)), "version 2 and this regard reads 1"),
    "version of another type": (lambda: changed(put(["version"], [1] * 999)), r"version \[1, 1, 1"),
    "version True": (lambda: changed(put(["version"], True)), "version of the record is bool"),
    "extra field": (lambda: changed(put(["run"], "rm")), "the record has the unknown fields 'run'"),
    "extra layer field": (
        lambda: changed(put(["layers", 0, "code"], "x")),
        "layer.0 has the unknown fields 'code'",
    ),
    "missing sides": (
        lambda: changed(lambda f, a: f.pop("sides")),
        "sides of the record is missing",
    ),
    "layers of another type": (
        lambda: changed(put(["layers"], {})),
        "layers of the record is dict",
    ),
    "layer of another type": (lambda: changed(put(["layers", 0], 3)), "layer.0 is int"),
    "token of another type": (
        lambda: changed(put(["sides", 0, "tokens", 0], 3)),
        "has the token 3",
    ),
    "one token more": (
        lambda: changed(lambda f, a: f["sides"][0]["tokens"].append("x")),
        r"array side.0.special has shape \(5,\): expected \(6,\)",
    ),
    "text cut": (lambda: changed(put(["sides", 0, "text"], "")), "expected to lie within the text"),
    "heads beyond all": (
        lambda: changed(put(["layers", 0, "heads"], 10**12)),
        "expected at most 65536",
    ),
    "negative heads": (lambda: changed(put(["layers", 0, "heads"], -4)), r"expected \(-4, 5, -1\)"),
    "other heads": (lambda: changed(put(["layers", 0, "heads"], 3)), r"layer.0.query has shape"),
    "kind": (lambda: changed(put(["layers", 0, "kind"], "x")), "kind of layer"),
    "side beyond all": (lambda: changed(put(["layers", 0, "key_side"], 7)), "key_side of layer"),
    "scale is text": (
        lambda: changed(put(["layers", 0, "call", "scale"], "1")),
        "scale of layer.0.call",
    ),
    "softcap 0": (lambda: changed(put(["layers", 0, "call", "softcap"], 0.0)), "softcap is 0.0"),
    "window of text": (
        lambda: changed(put(["layers", 0, "call", "window"], ["a", 0])),
        "the window",
    ),
    "window of one": (
        lambda: changed(put(["layers", 0, "call", "window"], [1])),
        r"window is \(1,\)",
    ),
    "window beyond all": (
        lambda: changed(put(["layers", 0, "call", "window"], [10**30, 0])),
        "has the window",
    ),
    "offset beyond all": (lambda: changed(put(["layers", 0, "call", "offset"], 10**30)), "offset"),
    "offset that is not there": (
        lambda: changed(put(["layers", 0, "call", "offset"], "array")),
        "array layer.0.mask.offset is missing",
    ),
    "provenance": (lambda: changed(put(["provenance", "model"], 3)), "provenance has 'model': 3"),
    "missing array": (
        lambda: changed(array("side.0.starts", lambda a: None)),
        "array side.0.starts is missing",
    ),
    "extra array": (
        lambda: changed(array("other", lambda a: np.ones(3, np.float32))),
        "unknown arrays 'other'",
    ),
    "float positions": (
        lambda: changed(array("layer.0.query_positions", lambda a: a.astype(np.float32))),
        "query_positions has dtype float32",
    ),
    "NaN positions": (
        lambda: changed(array("layer.0.key_positions", lambda a: a * np.nan)),
        "key_positions has dtype float64",
    ),
    "positions outside": (
        lambda: changed(array("layer.0.key_positions", lambda a: a + 9)),
        "reach from 9",
    ),
    "positions twice": (
        lambda: changed(array("layer.0.key_positions", lambda a: a * 0)),
        "names a token",
    ),
    "word beyond all": (
        lambda: changed(array("side.0.word_of", lambda a: a + 10**9)),
        "word_of does not",
    ),
    "word without tokens": (
        lambda: changed(array("side.0.word_of", lambda a: a * 0 + 3)),
        "expected at least one",
    ),
    "word outside of the text": (
        lambda: changed(array("side.0.stops", lambda a: a + 10**6)),
        "expected to lie within the text",
    ),
    "query with 2 axes": (
        lambda: changed(array("layer.0.query", lambda a: a[0])),
        r"has shape \(5, 6\)",
    ),
    "query of whole numbers": (
        lambda: changed(array("layer.0.query", lambda a: a.astype(np.int32))),
        "query has dtype int32",
    ),
    "complex": (lambda: wrong_dtype("C64"), "'layer.0.query' has no dtype or shape we know"),
    "bfloat16": (lambda: wrong_dtype("BF16"), "'layer.0.query' has no dtype or shape we know"),
    "dtype of another size": (lambda: wrong_dtype("F64"), "is broken"),
    "offsets past the end": (swapped_offsets, "is broken"),
    "truncated": (lambda: whole()[:-40], "is broken"),
    "longer": (lambda: whole() + b"\0" * 40, "is broken"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(tmp_path, attack):
    make, message = ATTACKS[attack]
    path = tmp_path / "attack.regard"
    path.write_bytes(make())
    tracemalloc.start()
    began = time.perf_counter()
    with pytest.raises(InputError, match=message) as error:
        load(path)
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert str(path) in str(error.value)
    assert seconds < 5
    assert peak < 100 * 2**20
    assert not os.path.exists("/tmp/regard-was-attacked")


def test_other_kinds_of_file(tmp_path):
    with pytest.raises(InputError, match="is no regular file"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"missing\.regard cannot be read: No such file"):
        load(tmp_path / "missing.regard")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no regular file"):  # and does not wait for a writer
        load(tmp_path / "pipe")
    (tmp_path / "a.zip").write_bytes(zipped(tmp_path))
    with pytest.raises(InputError, match="is no regard record"):
        load(tmp_path / "a.zip")


def test_large_files_are_refused_unread(tmp_path):
    with open(tmp_path / "sparse.regard", "wb") as sparse:
        sparse.write(whole())
        sparse.truncate(2**40)
    with pytest.raises(InputError, match=r"has 1099511627776 bytes: expected at most 4294967296"):
        load(tmp_path / "sparse.regard")
    (tmp_path / "a.regard").write_bytes(whole())
    with pytest.raises(InputError, match=r"most_bytes=\.\.\.\) admits larger"):
        load(tmp_path / "a.regard", most_bytes=100)


def test_every_cut_of_a_file_is_refused(tmp_path):
    raw = whole()
    path = tmp_path / "cut.regard"
    for length in range(0, len(raw), 37):
        path.write_bytes(raw[:length])
        with pytest.raises(InputError):
            load(path)


def test_flipped_bytes_never_raise_anything_else(tmp_path):
    raw = whole()
    random = np.random.default_rng(0)
    path = tmp_path / "flipped.regard"
    messages = []
    for _ in range(300):
        damaged = bytearray(raw)
        for place in random.integers(0, struct.unpack("<Q", raw[:8])[0] + 8, 3):
            damaged[place] = random.integers(0, 256)
        path.write_bytes(bytes(damaged))
        try:
            load(path)
        except InputError as error:
            messages.append(str(error))
    assert len(messages) > 200
    assert not any("\n" in message for message in messages)
