"""Texts through transformers models: what is recorded is what their own eager attention gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import regard
from checkpoints import decoder, encoder, encoder_decoder, tokenizer
from regard.errors import InputError
from regard.models.capture import KEPT, open_reader
from regard.models.running import read_text
from regard.models.size import Size
from regard.record import Record

TEXT = "the dog ate the food because it was hungry"


def weights_of(model: Any, words: Any, text: str, **more: Any) -> Any:
    model.set_attn_implementation("eager")
    inputs = words(text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        return model(**inputs, output_attentions=True, **more)


@pytest.mark.parametrize(("make", "kind"), [(decoder, "decoder"), (encoder, "encoder")])
def test_a_record_has_the_models_own_weights(make: Any, kind: str) -> None:
    model, words = make(), tokenizer()
    record = regard.capture(TEXT, model, tokenizer=words)
    assert record.sides[0].text == TEXT
    assert record.sides[0].names[:3] == ("<s>", "the#1", "dog")
    assert {layer.kind for layer in record.layers} == {kind}
    given = weights_of(model, words, TEXT).attentions
    assert len(record.layers) == len(given)
    for index, weights in enumerate(given):
        for head in range(4):
            for token in range(10):
                np.testing.assert_allclose(
                    record.row(index, head, token), weights[0, head, token].numpy(), atol=2e-6
                )


def test_the_encoder_of_an_encoder_decoder_runs_alone_until_it_writes() -> None:
    model, words = encoder_decoder(), tokenizer("$A </s>")
    record = regard.capture(TEXT, model, tokenizer=words)
    assert [layer.kind for layer in record.layers] == ["encoder"] * 2
    given = weights_of(model, words, TEXT, decoder_input_ids=torch.tensor([[0]]))
    np.testing.assert_allclose(
        record.row(1, 2, 4), given.encoder_attentions[1][0, 2, 4].numpy(), atol=2e-6
    )
    written = regard.capture(TEXT, model, tokenizer=words, generate=3)
    kinds = {layer.kind for layer in written.layers}
    assert kinds == {"encoder", "decoder", "cross"}
    cross = next(layer for layer in written.layers if layer.kind == "cross")
    assert written.sides[cross.key_side].text == TEXT
    assert written.sides[cross.query_side].text != TEXT
    assert "generated" in written.provenance


def test_what_the_model_writes_is_stitched_to_what_it_read() -> None:
    model, words = decoder(), tokenizer()
    record = regard.capture(TEXT, model, tokenizer=words, generate=4)
    ids = words(TEXT, return_tensors="pt")["input_ids"]
    out = model.generate(ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
    assert record.provenance["generated"] == words.decode(out[0, 10:], skip_special_tokens=True)
    layer = record.layers[2]
    assert len(layer.query_positions) == out.shape[1] - 1  # the last token written reads nothing
    model.set_attn_implementation("eager")
    with torch.no_grad():
        whole = model(out[:, :-1], output_attentions=True).attentions[2]
    np.testing.assert_allclose(record.row(2, 3, 11), whole[0, 3, 11].numpy(), atol=2e-6)


def test_written_words_stay_apart_where_a_text_decodes_without_its_first_blank() -> None:
    record = regard.capture(TEXT, decoder(), tokenizer=tokenizer(), generate=5)
    side = record.sides[0]
    assert side.text is not None
    written = side.text.removeprefix(TEXT).split()
    assert len(written) > 1
    assert [word.text for word in side.words[10:]] == written
    assert [word.tokens for word in side.words[10:]] == [(10 + n,) for n in range(len(written))]


def test_steps_are_counted_by_layer_and_then_by_token() -> None:
    seen: list[tuple[int, int]] = []
    reader = open_reader(decoder(), tokenizer=tokenizer())
    asks: dict[str, Any] = {"ask": None, "layers": None, "keep": ()}
    reader.read(TEXT, **asks, generate=0, progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    seen.clear()
    reader.read(TEXT, **asks, generate=3, progress=lambda *step: seen.append(step))
    assert seen == [(step, 5) for step in (1, 2, 3, 4, 5)]


def interrupted(after: int, **more: Any) -> Record:
    def stop(done: int, total: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    return read_text(
        TEXT,
        decoder(),
        tokenizer(),
        ask=regard.Ask(lse=True),
        layers=None,
        keep=("query", "key", "value"),
        generate=0,
        progress=stop,
        **more,
    )


def test_an_interrupt_keeps_the_layers_that_are_done() -> None:
    whole = regard.capture(TEXT, decoder(), tokenizer=tokenizer())
    part = interrupted(2, keep_partial=True)
    assert [layer.number for layer in part.layers] == [0, 1]
    assert part.provenance["stopped"] == "with 2 of 3 layers"
    np.testing.assert_array_equal(part.row(1, 3, 7), whole.row(1, 3, 7))
    with pytest.raises(KeyboardInterrupt):
        interrupted(2)


def test_hooks_are_gone_afterwards_also_after_an_interrupt() -> None:
    model = decoder()
    reader = open_reader(model, tokenizer=tokenizer())

    def stop(*step: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reader.read(TEXT, ask=None, layers=None, keep=(), generate=0, progress=stop)
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_what_cannot_be_read_says_why() -> None:
    words = tokenizer()
    with pytest.raises(InputError, match="text is int: expected a str"):
        regard.capture(3, decoder(), tokenizer=words)
    with pytest.raises(InputError, match="text has no tokens for this model"):
        regard.capture("", encoder(), tokenizer=tokenizer("$A"))
    with pytest.raises(InputError, match=r"text has 71 tokens, and .* reads at most 64\. Split it"):
        regard.capture("dog " * 70, encoder(), tokenizer=words)
    small = decoder(max_position_embeddings=12)
    with pytest.raises(InputError, match=r"has 10 tokens and 3 to write, and .* at most 12"):
        regard.capture(TEXT, small, tokenizer=words, generate=3)
    with pytest.raises(InputError, match="generate is 3 and DistilBertModel writes no text"):
        regard.capture(TEXT, encoder(), tokenizer=words, generate=3)
    with pytest.raises(InputError, match="generate is -1: expected a whole number"):
        regard.capture(TEXT, decoder(), tokenizer=words, generate=-1)
    with pytest.raises(InputError, match="generate is 2 and all-MiniLM-L6-v2 writes no text"):
        regard.capture(TEXT, generate=2)
    with pytest.raises(InputError, match="LlamaForCausalLM needs its tokenizer to read a text"):
        regard.capture(TEXT, decoder())
    with pytest.raises(InputError, match="tokenizer belongs with a model of transformers"):
        regard.capture(TEXT, tokenizer=words)


def test_a_model_that_reads_no_text_is_named() -> None:
    import transformers

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    image = transformers.ViTModel(
        transformers.ViTConfig(**sizes, intermediate_size=8, image_size=8, patch_size=4)
    )
    with pytest.raises(InputError, match=r"ViTModel reads pixel_values, not text: run it .*watch"):
        regard.capture(TEXT, image, tokenizer=tokenizer())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (decoder, Size(10, 3, 4, 2, 4)),
        (encoder, Size(10, 2, 4, 4, 4)),
        (encoder_decoder, Size(10, 2, 4, 4, 4)),
    ],
)
def test_the_size_is_known_before(make: Any, expected: Size) -> None:
    reader = open_reader(make(), tokenizer=tokenizer())
    assert reader.size(TEXT) == expected
    assert reader.size(TEXT, [1]).layers == 1
    record = reader.read(TEXT, ask=None, layers=None, keep=KEPT, generate=0)
    kept = sum(
        layer.query.nbytes + layer.key.nbytes + layer.value.nbytes for layer in record.layers
    )
    assert kept == expected.kept(KEPT)


def test_the_size_of_readings_is_about_right() -> None:
    ask = regard.Ask(top=4, share=True, entropy=True, lse=True, received=True)
    record = regard.capture(TEXT, ask=ask, keep=())
    size = open_reader().size(TEXT)
    names = ("top_index", "top_weight", "top_share", "entropy", "lse", "received", "eligible")
    taken = sum(getattr(layer.readings, name).nbytes for layer in record.layers for name in names)
    assert taken <= size.readings(ask, size.tokens) <= 1.25 * taken
