"""Capturing a text: the model, what is kept, what is read in the pass."""

from __future__ import annotations

import numpy as np
import pytest

import regard
from regard.errors import InputError
from regard.models.capture import EncoderReader, open_reader
from regard.models.encoder import DEFAULT_DIRECTORY, default_encoder, load_encoder
from regard.questions import special_mass

TEXT = "A dog isn't hungry."


def test_record_of_the_embedded_model():
    record = regard.capture(TEXT)
    (side,) = record.sides
    assert side.text == TEXT
    assert side.names == ("[CLS]", "A", "dog", "isn't", "hungry", ".", "[SEP]")
    assert side.words[3].tokens == (3, 4, 5)
    assert [layer.label(0) for layer in record.layers] == [f"L{n}H0" for n in range(6)]
    assert record.layers[3].name == "encoder.layer.3.attention.self"
    assert {layer.kind for layer in record.layers} == {"encoder"}
    assert record.provenance["model"] == "all-MiniLM-L6-v2"
    assert record.provenance["habit"] == "minilm"
    assert record.provenance["dtype"] == "float32"
    assert record.provenance["backend"] in ("loop", "native")
    assert set(record.provenance) >= {"regard", "numpy", "tokenizers"}


def test_every_question_is_exact_by_default():
    record = regard.capture(TEXT)
    encoder = default_encoder()
    run = encoder.run(encoder.encode(TEXT).ids, ask=regard.Ask(rows=range(9)))
    for index, layer in enumerate(record.layers):
        rows = run.layers[index].readings.rows
        for token in range(9):
            np.testing.assert_allclose(record.row(index, 5, token), rows[5, token], atol=1e-6)
        assert layer.value is not None
        shares = record.weights(index, 3).shares
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(
        record.steps(2, 4).weights, run.layers[2].readings.rows[4], atol=1e-5
    )


def test_models_that_are_accepted(write_tiny):
    record = regard.capture("a dog", write_tiny())
    assert record.provenance["model"] == "tiny"
    assert "habit" not in record.provenance
    assert len(record.layers) == 2
    assert regard.capture("a dog", str(write_tiny())).provenance["model"] == "tiny"
    tiny = load_encoder(write_tiny())
    assert regard.capture("a dog", tiny).provenance["model"] == "tiny"
    assert regard.capture(TEXT, default_encoder()).provenance["habit"] == "minilm"
    assert "habit" not in regard.capture(TEXT, DEFAULT_DIRECTORY).provenance


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("bert-base-uncased", r"not in the local Hugging Face cache.*hf download bert-base-un"),
        (3, "model is int: expected None for the embedded all-MiniLM-L6-v2, a directory"),
        ("", "model is '', which is no directory"),
    ],
)
def test_models_that_are_not(model, message):
    with pytest.raises(InputError, match=message):
        regard.capture(TEXT, model)


def test_file_as_a_model(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match=r"is the file .*: expected a directory with config\.json"):
        regard.capture(TEXT, tmp_path / "model.safetensors")


def test_device_and_dtype_of_the_embedded_model():
    assert open_reader(device="cpu", dtype="float32").encoder is default_encoder()
    with pytest.raises(InputError, match="device is 'cuda' and dtype 'auto': the embedded all-"):
        open_reader(device="cuda")
    with pytest.raises(InputError, match="runs in NumPy, on the CPU and in float32"):
        open_reader(dtype="bfloat16")


def test_bert_runs_in_numpy_unless_another_device_or_dtype_is_asked(write_tiny):
    assert isinstance(open_reader(write_tiny()), EncoderReader)
    assert isinstance(open_reader(write_tiny(), device="cpu", dtype="float32"), EncoderReader)


def test_chosen_layers_and_what_is_kept():
    record = regard.capture(TEXT, layers=[4, 1], keep=["query", "key"])
    assert [layer.number for layer in record.layers] == [1, 4]
    assert record.layers[0].value is None
    assert record.weights(1, 2).exact
    assert record.weights(1, 2).shares is None
    with pytest.raises(InputError, match="layers holds 6"):
        regard.capture(TEXT, layers=[6])
    with pytest.raises(InputError, match=r"keep holds 'scores': expected some of \('query', 'key'"):
        regard.capture(TEXT, keep=["scores"])


def test_keeping_nothing_needs_an_ask():
    record = regard.capture(TEXT, keep=())
    with pytest.raises(InputError, match=r"knows no weights.*ask=regard\.Ask\(top=8\)"):
        record.weights(0, 1)


def test_readings_are_taken_in_the_pass():
    full = regard.capture(TEXT)
    record = regard.capture(TEXT, ask=regard.Ask(top=2, share=True, rows=[2]), keep=())
    layer = record.layers[3]
    assert layer.readings.top_index.shape == (12, 9, 2)
    np.testing.assert_allclose(record.row(3, 1, 2), full.row(3, 1, 2), atol=1e-6)
    assert record.weights(3, 2).exact
    row = record.weights(3, 4)
    assert not row.exact
    assert (row.weights <= full.weights(3, 4).weights + 1e-6).all()


def test_mass_on_special_tokens_is_always_read():
    full = regard.capture(TEXT)
    record = regard.capture(TEXT, ask=regard.Ask(top=1), keep=())
    for word in (1, 3):
        assert special_mass(record, word) == pytest.approx(special_mass(full, word), abs=1e-6)
    own = regard.Ask(top=1, groups=([0] * 9, 1))
    assert regard.capture(TEXT, ask=own, keep=()).layers[0].ask.groups is own.groups


def test_texts_that_cannot_be_read():
    with pytest.raises(InputError, match="text is int"):
        regard.capture(3)
    with pytest.raises(InputError, match="reads at most 512"):
        regard.capture("dog " * 600)


def test_empty_text():
    record = regard.capture("")
    assert record.sides[0].names == ("[CLS]", "[SEP]")
    assert record.weights(0, 0).weights.shape == (12, 2)
