import logging
from importlib.resources import files

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

import regard
from models.tiny import build, eager_weights, entropy_of, lively, padding, random_ids
from regard.models.watched.naming import UNKNOWN, Vocabulary

TEXT = "A dog ate it, because it was hungry \N{DOG FACE}!"


@pytest.fixture(scope="module")
def pieces() -> PreTrainedTokenizerFast:
    """Byte-level pieces, as decoders have: an emoji is several of them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>", "<turn>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT.replace("\N{DOG FACE}", "")] * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=["<turn>"],
    )


@pytest.fixture(scope="module")
def wordpieces() -> PreTrainedTokenizerFast:
    path = files("regard.models.minilm") / "tokenizer.json"
    return PreTrainedTokenizerFast(
        tokenizer_file=str(path), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )


@pytest.fixture(scope="module")
def llama(pieces):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(pieces), hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return lively(LlamaForCausalLM(config))


def words(side) -> list[str]:
    return [word.text for word in side.words]


def test_a_record_has_the_words_of_the_text_that_was_tokenized(llama, pieces):
    inputs = pieces(TEXT, return_tensors="pt", return_token_type_ids=False)
    for texts in (None, TEXT, [TEXT]):
        with regard.watch(llama, tokenizer=pieces, texts=texts, ask=regard.Ask(top=2)) as seen:
            llama(**inputs)
        side = seen.record.sides[0]
        assert side.text == TEXT
        assert words(side) == [
            "A", "dog", "ate", "it", ",", "because", "it", "was", "hungry", "\N{DOG FACE}", "!",
        ]  # fmt: skip


def test_texts_keep_what_the_ids_have_lost(wordpieces):
    """A tokenizer for lower case: the ids alone say 'a dog', the text 'A Dóg'."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(wordpieces), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8,
    )  # fmt: skip
    model = BertModel(config).eval()
    texts = ["A Dóg ate.", "Why? Nobody knew it."]
    inputs = wordpieces(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    ask = regard.Ask(queries="last", top=2)
    with regard.watch(model, tokenizer=wordpieces, texts=texts, ask=ask) as seen:
        model(**inputs)
    assert [words(record.sides[0]) for record in seen.records] == [
        ["[CLS]", "A", "Dóg", "ate", ".", "[SEP]"],
        ["[CLS]", "Why", "?", "Nobody", "knew", "it", ".", "[SEP]"],
    ]
    assert [record.sides[0].text for record in seen.records] == texts
    assert words(seen.records[0].sides[0])[-1] == "[SEP]"
    assert seen.records[0].layers[0].readings.queries.tolist() == [5]  # the last that is real
    with regard.watch(model, tokenizer=wordpieces, ask=ask) as seen:
        model(**inputs)
    assert words(seen.records[0].sides[0])[1:3] == ["a", "dog"]
    with regard.watch(model, tokenizer=wordpieces, texts=["A cat.", "No"], ask=ask) as seen:
        model(**inputs)
    with pytest.raises(regard.InputError, match=r"texts give the ids .* as its text"):
        _ = seen.records
    with regard.watch(model, tokenizer=wordpieces, texts=texts[:1], ask=ask) as seen:
        model(**inputs)
    with pytest.raises(regard.InputError, match="texts has 1 and the batch more items"):
        _ = seen.records


def test_generated_tokens_continue_the_text(llama, pieces):
    inputs = pieces(TEXT, return_tensors="pt", return_token_type_ids=False)
    count = inputs["input_ids"].shape[1]
    for texts in (None, TEXT):
        with regard.watch(llama, tokenizer=pieces, texts=texts, ask=regard.Ask(top=2)) as seen:
            output = llama.generate(**inputs, max_new_tokens=9, min_new_tokens=9, do_sample=False)
        side = seen.record.sides[0]
        assert len(side.tokens) == count + 8
        assert side.text.startswith(TEXT)
        assert side.text == pieces.decode(output[0, :-1], clean_up_tokenization_spaces=False)
        whole = [side.text[word.start : word.stop] for word in side.words]
        assert whole == words(side)


def test_unusual_pieces_are_placed_by_their_length(pieces):
    vocabulary = Vocabulary(pieces, None)
    dog = pieces("dog", add_special_tokens=False)["input_ids"]
    letters = pieces.convert_tokens_to_ids(list("dog"))
    assert letters != dog
    ids = np.array([*pieces("it ", add_special_tokens=False)["input_ids"], *letters])
    side = vocabulary.side("text", ids, None)
    assert words(side) == ["it", "dog"]
    assert side.words[1].tokens == (1, 2, 3, 4)  # the blank before it is one of its pieces


def test_special_tokens_at_the_ends_are_no_text_and_those_within_are(pieces):
    vocabulary = Vocabulary(pieces, None)
    bos, eos, turn = pieces.convert_tokens_to_ids(["<s>", "</s>", "<turn>"])
    dog = pieces("dog", add_special_tokens=False)["input_ids"]
    side = vocabulary.side("text", np.array([bos, *dog, turn, *dog, eos]), None)
    assert side.text == "dog<turn>dog"
    assert words(side) == ["<s>", "dog", "<turn>", "dog", "</s>"]
    assert [word.special for word in side.words] == [True, False, True, False, True]
    assert words(vocabulary.side("text", np.array([bos, eos]), None)) == ["<s>", "</s>"]


def test_without_a_tokenizer_tokens_are_positions():
    vocabulary = Vocabulary(None, build("llama").config)
    side = vocabulary.side("text", np.array([1, 7, 2]), None)
    assert (words(side), side.special.tolist()) == (["0", "1", "2"], [True, False, True])
    side = vocabulary.side("text", np.array([UNKNOWN, 7]), None)
    assert words(side) == ["0", "1"]


def test_the_mass_on_words_apart_is_always_read():
    model = build("llama")
    ids = random_ids(1, 7)
    ids[0, 3] = 2  # special, in the middle
    weights = eager_weights(model, input_ids=ids).attentions
    with regard.watch(model, ask=regard.Ask(queries=[6, 2])) as seen:
        model(ids)
    layer = seen.record.layers[1]
    assert seen.record.apart(1).tolist() == [True, False, False, True, False, False, False]
    assert np.asarray(layer.ask.groups[0]).tolist() == [0, -1, -1, 0, -1, -1, -1]
    expected = weights[1][0].numpy()[:, [6, 2]][:, :, [0, 3]].sum(-1)
    assert np.abs(layer.readings.group_mass[..., 0] - expected).max() < 1e-5


def test_groups_of_the_callers_grow_with_the_text():
    model = build("llama")
    ids = random_ids(1, 6)
    ask = regard.Ask(groups=([0, 0, 1, 1, -1, 1], 2))
    with regard.watch(model, ask=ask) as seen:
        text = model.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    weights = eager_weights(model, input_ids=text[:, :-1]).attentions[0][0].numpy()
    mass = seen.record.layers[0].readings.group_mass
    assert np.abs(mass[..., 0] - weights[:, :, :2].sum(-1)).max() < 1e-5
    assert np.abs(mass[..., 1] - weights[:, :, [2, 3, 5]].sum(-1)).max() < 1e-5


@pytest.mark.parametrize("side", ["left", "none"])
def test_a_summary_says_what_each_head_did(side):
    model = build("llama")
    ids, mask = random_ids(2, 9), padding(side, 2, 9)
    ids[:, 5] = 2
    with regard.watch(model) as seen:
        model(input_ids=ids, attention_mask=mask)
    summary = seen.summary()
    weights = eager_weights(model, input_ids=ids, attention_mask=mask).attentions
    first = [int(row.argmax()) for row in mask]
    assert summary.layers == ("L0", "L1", "L2")
    assert summary.rows.tolist() == [18 - sum(first)] * 3
    for layer, own in enumerate(weights):
        parts = [own[item, :, start:].numpy() for item, start in enumerate(first)]
        rows = np.concatenate(parts, axis=1)
        assert np.abs(summary.entropy[layer] - entropy_of(rows).mean(1)).max() < 1e-4
        assert np.abs(summary.special_mass[layer] - rows[..., 5].mean(1)).max() < 1e-5
        lead = np.concatenate([p[..., s] for p, s in zip(parts, first, strict=True)], axis=1)
        assert np.abs(summary.first_mass[layer] - lead.mean(1)).max() < 1e-5
    flat = summary.as_dict("a")
    assert len(flat) == 3 * 4 * 4
    assert flat["a/L2H1/max_score"] == summary.max_score[2, 1]


def test_a_summary_of_a_long_text_is_of_some_rows():
    model = build("gpt2")
    with regard.watch(model) as seen:
        model(random_ids(1, 300))
    assert seen.summary().rows.tolist() == [64, 64]
    queries = seen.record.layers[0].readings.queries
    assert (queries[-1], len(queries)) == (299, 64)
    assert set(np.diff(queries)) == {4, 5}


def test_a_summary_leaves_out_what_was_not_read():
    model = build("gpt2")
    with regard.watch(model, ask=regard.Ask(queries="last", entropy=True)) as seen:
        model(random_ids(1, 5))
    assert np.isnan(seen.summary().max_score).all()
    assert not any(name.endswith("max_score") for name in seen.summary().as_dict())


def test_a_new_text_replaces_the_old_one():
    model = build("llama")
    with regard.watch(model, ask=regard.Ask(top=1)) as seen:
        model(random_ids(1, 5))
        assert len(seen.record.sides[0].tokens) == 5
        model(random_ids(2, 7))
    assert [len(record.sides[0].tokens) for record in seen.records] == [7, 7]
    with pytest.raises(regard.InputError, match=r"the batch had 2 items: seen\.records"):
        _ = seen.record


def test_nothing_was_seen_yet():
    model = build("llama")
    with regard.watch(model) as seen:
        for ask in (lambda: seen.records, seen.summary):
            with pytest.raises(regard.InputError, match="nothing was seen yet: run the model"):
                ask()
        model(random_ids(1, 5))


def test_what_keeping_takes_is_said(caplog):
    model = build("llama")
    with (
        caplog.at_level(logging.INFO, logger="regard"),
        regard.watch(model, keep=("query", "key")) as seen,
    ):
        model(random_ids(1, 5))
    assert "keeping query, key of 3 layers over 5 tokens" in caplog.text
    kept = [(layer.query, layer.key) for layer in seen.record.layers]
    assert seen.memory == sum(array.nbytes for arrays in kept for array in arrays)


def test_provenance_and_sixteen_bits(tmp_path):
    model = build("llama").bfloat16()
    try:
        with regard.watch(model, ask=regard.Ask(top=2), keep=("query", "key", "value")) as seen:
            model(random_ids(1, 5))
    finally:
        model.float()
    record = seen.record
    assert record.provenance["dtype"] == "bfloat16"
    assert record.provenance["model"] == "LlamaForCausalLM"
    assert record.provenance["attention"] in ("sdpa", "eager")
    assert record.layers[0].query.dtype == np.float32
    assert len(record.steps(0, 1).weights) == 5
    record.save(tmp_path / "seen.regard")
    again = regard.load(tmp_path / "seen.regard")
    assert np.array_equal(again.row(1, 2, 3), record.row(1, 2, 3))


@pytest.mark.parametrize("name", ["mistral", "t5"])
def test_steps_of_one_word_are_those_rows_of_all(name):
    model = build(name)
    inputs = {"input_ids": random_ids(1, 9)}
    if name == "t5":
        inputs["decoder_input_ids"] = random_ids(1, 6)
    with regard.watch(model, keep=("query", "key", "value")) as seen:
        model(**inputs)
    for index in range(len(seen.record.layers)):
        whole, one = seen.record.steps(index, 2), seen.record.steps(index, 2, word=4)
        assert np.allclose(one.weights, whole.weights[4:5])
        assert np.allclose(one.output, whole.output[4:5])
