"""The effect of cuts against an eager model that is given explicit masks."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_utils import AttentionInterface

import regard
from regard.errors import InputError
from regard.models.cut import Cut, apply, in_layer
from regard.models.effect import effect
from regard.models.watched.interface import implementation_of, intercept, read_call, unpack

SIZES = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "initializer_range": 0.3,  # random heads that look somewhere
}
PROMPT = np.random.default_rng(5).integers(1, 97, 14)
ANSWER = np.array([8, 3, 90])
ROWS = len(PROMPT) + len(ANSWER) - 1


def made(kind: str = "llama", attention: str = "sdpa") -> PreTrainedModel:
    torch.manual_seed(3)
    if kind == "llama":
        model = LlamaForCausalLM(LlamaConfig(**SIZES, attn_implementation=attention))
    else:
        config = MistralConfig(**SIZES, sliding_window=5, attn_implementation=attention)
        model = MistralForCausalLM(config)
    return model.double().eval()


def brute(model: PreTrainedModel, cuts: list[Cut], window: int | None = None) -> np.ndarray:
    """log p of each answer token in one pass; every layer is given a mask of every cell."""
    model.set_attn_implementation("eager")
    ids = torch.as_tensor(np.concatenate((PROMPT, ANSWER)))[None, :ROWS]
    place = np.arange(ROWS)
    seen = place[None] <= place[:, None]
    if window is not None:
        seen &= place[:, None] - place[None] < window
    with ExitStack() as hooks, torch.no_grad():
        for number, layer in enumerate(model.model.layers):
            allowed = np.repeat(seen[None], 4, 0)
            for cut in in_layer(cuts, number):
                heads = cut.chooses("heads", 0, 4)[:, None, None]
                rows = cut.chooses("queries", 0, ROWS)[:, None]
                allowed &= ~(heads & rows & cut.chooses("keys", 0, ROWS))
            assert allowed.any(-1).all()
            mask = torch.zeros(1, 4, ROWS, ROWS, dtype=torch.float64)
            mask.masked_fill_(~torch.as_tensor(allowed), -torch.inf)

            def give(module: Any, args: Any, kwargs: Any, mask: Any = mask) -> Any:
                return args, {**kwargs, "attention_mask": mask}

            handle = layer.self_attn.register_forward_pre_hook(give, with_kwargs=True)
            hooks.callback(handle.remove)
        logits = model(input_ids=ids, use_cache=False).logits[0, len(PROMPT) - 1 :]
    return logits.log_softmax(-1)[np.arange(len(ANSWER)), ANSWER].numpy()


ANSWER_ROWS = slice(len(PROMPT) - 1, None)
CUTS = {
    "a span for the answer's rows": Cut(queries=ANSWER_ROWS, keys=slice(3, 7)),
    "a span for every row": Cut(keys=slice(3, 7)),
    "one layer": Cut(layers=1, keys=[2, 9]),
    "one head": Cut(heads=3, keys=slice(1, 12)),
    "two heads, some rows": Cut([0, 2], [1, 2], slice(8, 15), [0, 5]),
    "an answer token": Cut(queries=[14, 15], keys=14),
}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_log_probabilities_equal_those_of_explicit_masks(attention: str) -> None:
    model = made(attention=attention)
    cuts = [*CUTS.values(), Cut(queries=[14], keys=[14])]
    found = effect(model, PROMPT, ANSWER, cuts[:5])
    base = brute(made(), [])
    for seen, cut in zip(found, cuts, strict=False):
        assert seen.cut is cut
        changed = brute(made(), [cut])
        # logits are cast to float32 for their softmax
        np.testing.assert_allclose(seen.by_token, changed - base, rtol=0, atol=5e-6)
        np.testing.assert_allclose(seen.before, base.sum(), rtol=0, atol=5e-6)
        np.testing.assert_allclose(seen.after, changed.sum(), rtol=0, atol=5e-6)
        np.testing.assert_allclose(seen.change, seen.by_token.sum(), rtol=0, atol=1e-12)
        assert abs(seen.change) > 1e-3


def test_with_a_window_whose_cache_drops_old_keys() -> None:
    cuts = [Cut(queries=ANSWER_ROWS, keys=slice(10, 12)), Cut(layers=[0, 2], keys=[6, 11])]
    found = effect(made("mistral"), PROMPT, ANSWER, cuts)
    base = brute(made("mistral"), [], window=5)
    for seen, cut in zip(found, cuts, strict=True):
        changed = brute(made("mistral"), [cut], window=5)
        np.testing.assert_allclose(seen.by_token, changed - base, rtol=0, atol=5e-6)
        assert abs(seen.change) > 1e-3


def rows_computed(model: PreTrainedModel, cuts: list[Cut]) -> list[int]:
    """How many rows each pass of the model got."""
    counts: list[int] = []

    def count(module: Any, args: Any, kwargs: Any) -> None:
        counts.append(kwargs["input_ids"].shape[1])

    handle = model.register_forward_pre_hook(count, with_kwargs=True)
    effect(model, PROMPT, ANSWER, cuts)
    handle.remove()
    return counts


def test_the_prompt_is_computed_once_for_all_cuts_of_the_answers_rows() -> None:
    cuts = [Cut(queries=ANSWER_ROWS, keys=key) for key in range(6)]
    # the prompt but its last row; then its last row and the answer but its last, 1 + 6 times
    assert rows_computed(made(), cuts) == [13, *[3] * 7]


def test_rows_before_the_first_key_are_shared_too_from_short_to_long() -> None:
    cuts = [Cut(keys=slice(9, 11)), Cut(keys=slice(4, 6)), Cut(queries=ANSWER_ROWS, keys=2)]
    assert rows_computed(made(), cuts) == [4, 12, 12, 5, 7, 7, 4, 3, 3]


def test_a_cut_that_concerns_nothing_changes_nothing() -> None:
    model = made().float()
    for cut in (Cut(queries=40), Cut(keys=slice(40, None)), Cut(queries=3, keys=7)):
        (seen,) = effect(model, PROMPT, ANSWER, cut)
        assert (seen.change, seen.before) == (0.0, seen.after)
        assert not seen.by_token.any()


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_a_cut_in_cached_decode_is_that_of_one_pass(kind: str) -> None:
    """Greedy tokens and their logits while the cut holds, step after step, and all at once."""
    model = made(kind)
    cuts = [Cut(layers=[0, 1], queries=slice(3, None), keys=[1, 2, 12, 13])]

    def handler(module: Any, function: Any, args: Any, kwargs: Any) -> Any:
        result = function(module, *args, **kwargs)
        query, key, value, mask, rest = unpack(args, kwargs)
        implementation = implementation_of(function, "attention")
        call = read_call(module, "attention", query, key, value, mask, rest, implementation)
        first_key = seen[0] + query.shape[2] - key.shape[2]
        here = in_layer(cuts, module.layer_idx)
        return apply(call, result[0], here, first_key=first_key), *result[1:]

    def before(module: Any, args: Any, kwargs: Any) -> None:
        cache = kwargs.get("cache")
        seen[0] = 0 if cache is None else cache.get_seq_length()

    seen = [0]
    handle = model.register_forward_pre_hook(before, with_kwargs=True)
    prompt = torch.as_tensor(PROMPT)[None]
    with intercept(handler):
        made_ids = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, do_sample=False,
            output_logits=True, return_dict_in_generate=True, pad_token_id=0, eos_token_id=None,
        )  # fmt: skip
        seen[0] = 0
        whole = model(input_ids=made_ids.sequences[:, :-1], use_cache=False).logits[0]
    handle.remove()
    steps = torch.cat(made_ids.logits)
    torch.testing.assert_close(steps, whole[len(PROMPT) - 1 :].float(), rtol=0, atol=1e-5)
    uncut = model(input_ids=made_ids.sequences[:, :-1], use_cache=False).logits[0]
    assert (uncut[3:] - whole[3:]).abs().amax(-1).min() > 1e-3
    torch.testing.assert_close(uncut[:3], whole[:3], rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_watch_cuts_alike_in_one_pass_and_step_by_step(kind: str) -> None:
    model = made(kind)
    cut = Cut(layers=[0, 2], queries=ANSWER_ROWS, keys=[9, 11])
    (seen,) = effect(model, PROMPT, ANSWER, cut)
    ids = torch.as_tensor(np.concatenate((PROMPT, ANSWER)))[None, :ROWS]
    at = np.arange(len(ANSWER))
    with torch.no_grad(), regard.watch(model, cut=[cut]):
        whole = model(input_ids=ids).logits[0, len(PROMPT) - 1 :]
        cache = model(input_ids=ids[:, : len(PROMPT)], use_cache=True)
        steps, past = [cache.logits[0, -1]], cache.cache
        for place in range(len(PROMPT), ROWS):
            step = model(input_ids=ids[:, place : place + 1], cache=past, use_cache=True)
            steps, past = [*steps, step.logits[0, -1]], step.cache
    for logits in (whole, torch.stack(steps)):
        found = logits.float().log_softmax(-1)[at, ANSWER].double().sum()
        assert float(found) == pytest.approx(seen.after, abs=5e-6)
    assert abs(seen.change) > 1e-3


def test_everything_is_put_back_also_after_an_error() -> None:
    kept = {name: vars(AttentionInterface).get(name) for name in ("get_interface", "__getitem__")}
    model = made()
    before = model(input_ids=torch.as_tensor(PROMPT)[None]).logits
    effect(model, PROMPT, ANSWER, Cut(keys=2))
    with pytest.raises(InputError, match="names head 9"):
        effect(model, PROMPT, ANSWER, Cut(heads=9))
    assert kept == {name: vars(AttentionInterface).get(name) for name in kept}
    assert torch.equal(model(input_ids=torch.as_tensor(PROMPT)[None]).logits, before)


class Letters:
    """A tokenizer of one token a letter, with a token before the text."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids = [1] * add_special_tokens + [ord(letter) - 30 for letter in text]
        return {"input_ids": ids, "attention_mask": [1] * len(ids)}


def test_texts_and_what_a_tokenizer_gives() -> None:
    model, cut = made(), Cut(keys=[2, 3])
    (by_text,) = effect(model, "A dog", " ran", cut, tokenizer=Letters())
    given = Letters()("A dog")
    (by_ids,) = effect(model, given, torch.tensor([[2, 84, 67, 80]]), [cut])
    assert by_text.change == by_ids.change
    assert len(by_text.by_token) == 4


def test_what_is_refused() -> None:
    model = made()
    cases: list[tuple[str, Any, Any, Any]] = [
        ("inputs is a text: give tokenizer=", "a text", ANSWER, Cut()),
        ("answer is a text: give tokenizer=", PROMPT, "a text", Cut()),
        ("answer is empty: expected at least one token", PROMPT, [], Cut()),
        (
            r"inputs has shape \(2, 7\): expected the token ids of one",
            PROMPT.reshape(2, 7),
            [1],
            (),
        ),
        ("inputs has 'pixel_values': expected some of input_ids", {"pixel_values": 0}, [1], ()),
        ("inputs has no 'input_ids'", {"attention_mask": [1]}, [1], ()),
        ("is padded", {"input_ids": [[0, 5]], "attention_mask": [[0, 1]]}, [1], ()),
        ("cuts holds int: expected regard.Cut", PROMPT, ANSWER, [3]),
        (r"Cut\(layers=7\) names no layer of this model: expected 0 to 2", PROMPT, [1], Cut(7)),
    ]
    for said, inputs, answer, cuts in cases:
        with pytest.raises(InputError, match=said):
            effect(model, inputs, answer, cuts)
    with pytest.raises(InputError, match="LlamaForCausalLM is in training mode"):
        effect(model.train(), PROMPT, ANSWER, Cut())


def test_models_that_give_no_answer_are_refused() -> None:
    bert = BertForMaskedLM(
        BertConfig(
            vocab_size=97,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        )
    ).eval()
    with pytest.raises(InputError, match="model is BertForMaskedLM: expected a causal language"):
        effect(bert, PROMPT, ANSWER, Cut())
    t5 = T5ForConditionalGeneration(
        T5Config(vocab_size=97, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    ).eval()
    with pytest.raises(InputError, match="T5ForConditionalGeneration is an encoder-decoder"):
        effect(t5, PROMPT, ANSWER, Cut())
