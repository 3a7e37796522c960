import contextlib
import threading

import numpy as np
import pytest
import torch
import transformers
from transformers.modeling_utils import AttentionInterface

import regard
from models.tiny import build, eager_weights, entropy_of, lively, padding, random_ids

KEPT = ("query", "key", "value")
NEAR = 2e-5
EVERYTHING = regard.Ask(
    top=3, entropy=True, received=True, lse=True, max_score=True, columns=[0, 2]
)


def is_restored(model) -> bool:
    hooks = [
        hook
        for module in model.modules()
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
        if hook.__module__.startswith("regard")
    ]
    return "__getitem__" not in vars(AttentionInterface) and not hooks


@pytest.fixture(autouse=True)
def _leaves_nothing_changed():
    method = AttentionInterface.get_interface
    yield
    assert AttentionInterface.get_interface is method
    assert "__getitem__" not in vars(AttentionInterface)


def assert_agrees(layer, record, index, weights) -> None:
    """Rows computed again and every reading agree with the eager weights of this item and layer.

    weights: `(heads, tokens, tokens)`, padding left out.
    """
    rows = layer.query_positions
    mine = np.stack(
        [[record.row(index, head, int(row)) for row in rows] for head in range(layer.heads)]
    )
    seen = weights[:, rows][:, :, layer.key_positions]
    assert np.abs(mine - seen).max() < NEAR
    read = layer.readings
    asked = seen[:, read.queries]
    assert np.abs(read.entropy - entropy_of(asked)).max() < 10 * NEAR
    taken = np.take_along_axis(asked, np.maximum(read.top_index, 0), 2)
    assert np.abs(np.where(read.top_index >= 0, taken - read.top_weight, 0)).max() < NEAR
    assert np.abs(np.sort(asked)[..., -1] - read.top_weight[..., 0]).max() < NEAR
    if read.received is not None:
        assert np.abs(read.received - asked.sum(1)).max() < 10 * NEAR
    if read.columns is not None:
        assert np.abs(read.columns - asked[:, :, layer.ask.columns]).max() < NEAR


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("side", ["left", "right", "none"])
@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2", "bert"])
def test_a_forward_pass_is_read_and_its_output_is_the_same(name, side, implementation):
    model = build(name)
    ids, mask = random_ids(2, 12), padding(side, 2, 12)
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        alone = model(input_ids=ids, attention_mask=mask)[0]
        with regard.watch(model, ask=EVERYTHING, keep=KEPT) as seen:
            watched = model(input_ids=ids, attention_mask=mask)[0]
    assert torch.equal(alone, watched)
    weights = eager_weights(model, input_ids=ids, attention_mask=mask).attentions
    real = [np.flatnonzero(row) for row in mask.numpy()]
    assert len(seen.records) == 2
    for item, record in enumerate(seen.records):
        assert len(record.sides[0].tokens) == len(real[item])
        for index, layer in enumerate(record.layers):
            own = weights[index][item].numpy()[:, real[item]][:, :, real[item]]
            assert layer.kind == ("encoder" if name == "bert" else "decoder")
            assert layer.number == index
            assert_agrees(layer, record, index, own)


@pytest.mark.parametrize("how", ["growing", "fixed", "chunked"])
@pytest.mark.parametrize("side", ["left", "none"])
@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_a_generation_is_stitched_into_rows(name, side, how):
    model = build(name)
    model.set_attn_implementation("sdpa")
    ids, mask = random_ids(2, 9), padding(side, 2, 9)
    options = {
        "growing": {},
        "fixed": {"cache_implementation": "static", "disable_compile": True},
        "chunked": {"prefill_chunk_size": 4},
    }[how]
    options |= {"max_new_tokens": 7, "min_new_tokens": 7, "do_sample": False}
    alone = model.generate(ids, attention_mask=mask, **options)
    with regard.watch(model, ask=EVERYTHING, keep=KEPT) as seen:
        watched = model.generate(ids, attention_mask=mask, **options)
    assert torch.equal(alone, watched)
    read = watched[:, :-1]
    whole = torch.cat([mask, torch.ones(2, 6, dtype=torch.long)], 1)
    positions = (whole.cumsum(1) - 1).clamp(min=0)
    weights = eager_weights(
        model, input_ids=read, attention_mask=whole, position_ids=positions
    ).attentions
    for item, record in enumerate(seen.records):
        first = int(whole[item].argmax())
        for index, layer in enumerate(record.layers):
            assert layer.query_positions.tolist() == list(range(15 - first))
            assert layer.call.mask.allowed is None  # a few numbers say it all
            assert_agrees(layer, record, index, weights[index][item].numpy()[:, first:, first:])


def test_rows_asked_for_are_those_of_the_prompt_and_every_new_one():
    model = build("llama")
    with regard.watch(model, ask=regard.Ask(queries=slice(-2, None), top=1)) as seen:
        model.generate(random_ids(1, 9), max_new_tokens=4, min_new_tokens=4, prefill_chunk_size=5)
    assert seen.record.layers[0].readings.queries.tolist() == [7, 8, 9, 10, 11]


def test_rows_are_kept_in_the_order_asked():
    model = build("llama")
    ids = random_ids(1, 9)
    weights = eager_weights(model, input_ids=ids).attentions
    with regard.watch(model, ask=regard.Ask(queries=[5, -2, 0], rows=[0, 5], entropy=True)) as seen:
        model(ids)
    layer = seen.record.layers[1]
    assert layer.readings.queries.tolist() == [5, 7, 0]
    own = weights[1][0].numpy()
    assert np.abs(layer.readings.entropy - entropy_of(own[:, [5, 7, 0]])).max() < NEAR
    assert np.abs(seen.record.row(1, 2, 5) - own[2, 5]).max() < NEAR


def test_a_model_that_goes_back_computes_rows_anew():
    model = build("llama")
    ids = random_ids(1, 9)
    torch.manual_seed(3)
    small = lively(
        transformers.LlamaForCausalLM(
            transformers.LlamaConfig(**model.config.to_dict() | {"num_hidden_layers": 1})
        )
    )
    options = {"assistant_model": small, "do_sample": False, "max_new_tokens": 8}
    with regard.watch(model, ask=regard.Ask(top=3, entropy=True), keep=KEPT) as seen:
        text = model.generate(ids, **options)
    weights = eager_weights(model, input_ids=text).attentions
    for index, layer in enumerate(seen.record.layers):
        count = len(layer.query_positions)
        assert layer.query_positions.tolist() == list(range(count))
        own = weights[index][0].numpy()[:, :count, :count]
        assert_agrees(layer, seen.record, index, own)


def test_an_encoder_decoder_has_a_source_and_a_target():
    model = build("t5")
    model.set_attn_implementation("sdpa")
    ids, mask = random_ids(2, 9), padding("right", 2, 9)
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    alone = model.generate(ids, attention_mask=mask, **options)
    with regard.watch(model, ask=regard.Ask(top=3, entropy=True), keep=KEPT) as seen:
        watched = model.generate(ids, attention_mask=mask, **options)
    assert torch.equal(alone, watched)
    output = eager_weights(
        model, input_ids=ids, attention_mask=mask, decoder_input_ids=watched[:, :-1]
    )
    weights = {
        "encoder": output.encoder_attentions,
        "decoder": output.decoder_attentions,
        "cross": output.cross_attentions,
    }
    assert [side.name for side in seen.records[0].sides] == ["source", "target"]
    for item, record in enumerate(seen.records):
        length = int(mask[item].sum())
        kinds = [layer.kind for layer in record.layers]
        assert kinds == ["encoder", "encoder", "decoder", "cross", "decoder", "cross"]
        for index, layer in enumerate(record.layers):
            own = weights[layer.kind][layer.number][item].numpy()
            own = own[:, :, :length] if layer.kind == "cross" else own
            assert_agrees(layer, record, index, own[:, : len(layer.query_positions)])
    assert seen.summary().layers[2:4] == ("decoder.L0", "cross.L0")


def test_only_the_chosen_layers_are_read(monkeypatch):
    from regard.models import watch as module

    read = []
    true = module.read_call
    monkeypatch.setattr(
        module, "read_call", lambda one, name, *rest: read.append(name) or true(one, name, *rest)
    )
    model = build("llama")
    with regard.watch(model, layers=[1], ask=regard.Ask(top=1)) as seen:
        model(random_ids(1, 5))
    assert read == ["model.layers.1.self_attn"]
    assert [layer.label(3) for layer in seen.record.layers] == ["L1H3"]


def test_layers_by_name():
    model = build("t5")
    with regard.watch(model, layers=["*EncDec*"], ask=regard.Ask(top=1)) as seen:
        model(input_ids=random_ids(1, 5), decoder_input_ids=random_ids(1, 4))
    assert [layer.kind for layer in seen.record.layers] == ["cross", "cross"]


def test_only_the_chosen_heads_are_read_and_keep_their_numbers(tmp_path):
    model = build("llama")
    ids = random_ids(1, 6)
    weights = eager_weights(model, input_ids=ids).attentions
    with regard.watch(model, heads=[1, 3], ask=EVERYTHING, keep=KEPT) as seen:
        model(ids)
    layer = seen.record.layers[2]
    assert [layer.label(head) for head in range(layer.heads)] == ["L2H1", "L2H3"]
    assert_agrees(layer, seen.record, 2, weights[2][0].numpy()[[1, 3]])
    seen.record.save(tmp_path / "heads.regard")
    assert regard.load(tmp_path / "heads.regard").layers[2].label(1) == "L2H3"


@pytest.mark.parametrize("checkpointing", [False, True])
def test_training_is_untouched(checkpointing):
    model = build("llama")
    ids = random_ids(2, 20)

    def step(watcher):
        torch.manual_seed(1)
        model.zero_grad()
        with watcher as seen:
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
            loss.backward()
        return loss.item(), [one.grad.clone() for one in model.parameters()], seen

    try:
        model.train()
        if checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": False})
        loss, gradients, _ = step(contextlib.nullcontext())
        watched, others, seen = step(regard.watch(model))
    finally:
        model.activation_checkpointing_disable()
        model.eval()
        model.zero_grad()
    assert loss == watched
    assert all(torch.equal(one, other) for one, other in zip(gradients, others, strict=True))
    # dropout leaves the weights alone: these are of the true softmax
    assert seen.summary().rows.tolist() == [40, 40, 40]
    first = eager_weights(model, input_ids=ids).attentions[0].numpy()
    assert np.abs(seen.summary().entropy[0] - entropy_of(first).mean((0, 2))).max() < NEAR


def test_watches_may_overlap_and_end_in_any_order():
    model = build("llama")
    ids = random_ids(1, 5)
    first = regard.watch(model, ask=regard.Ask(top=1))
    second = regard.watch(model, ask=regard.Ask(top=2))
    with torch.no_grad():
        alone = model(ids).logits
        one = first.__enter__()
        other = second.__enter__()
        assert torch.equal(model(ids).logits, alone)
        first.__exit__(None, None, None)
        assert torch.equal(model(ids).logits, alone)
        second.__exit__(None, None, None)
    assert one.record.layers[0].readings.top_index.shape[2] == 1
    assert other.record.layers[0].readings.top_index.shape[2] == 2
    assert is_restored(model)


def test_other_models_are_left_alone():
    model, other = build("llama"), build("gpt2")
    with regard.watch(model, ask=regard.Ask(top=1)) as seen:
        other(random_ids(1, 7))
        model(random_ids(1, 5))
    assert len(seen.record.sides[0].tokens) == 5


def test_a_model_may_run_in_another_thread():
    model = build("llama")
    with regard.watch(model, ask=regard.Ask(top=1)) as seen:
        thread = threading.Thread(target=lambda: model(random_ids(1, 5)))
        thread.start()
        thread.join()
    assert len(seen.record.sides[0].tokens) == 5


def test_two_threads_at_once_are_refused():
    model = build("llama")
    caught = []

    def other(*_):
        def run():
            try:
                model(random_ids(1, 5))
            except regard.InputError as error:
                caught.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    handle = model.model.layers[0].register_forward_pre_hook(other)
    try:
        with regard.watch(model):
            model(random_ids(1, 5))
    finally:
        handle.remove()
    assert "two threads run the watched model at once" in caught[0]


def test_everything_is_put_back_after_an_exception():
    model = build("gpt2")
    # no error about a model that was not run hides the one under way
    with pytest.raises(ZeroDivisionError), regard.watch(model):
        raise ZeroDivisionError
    handle = model.transformer.h[1].register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), regard.watch(model):
        model(random_ids(1, 5))
    handle.remove()
    assert is_restored(model)


class Wrapper(torch.nn.Module):
    """As adapters wrap a model: generate goes to the model inside, past this forward."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.config = inner.config

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)

    def get_base_model(self):
        return self.inner


def test_a_wrapped_model_is_read():
    model = Wrapper(build("llama"))
    with regard.watch(model, ask=regard.Ask(top=1)) as seen:
        model(random_ids(1, 5))
        assert seen.record.layers[1].name == "inner.model.layers.1.self_attn"
        assert seen.record.provenance["model"] == "LlamaForCausalLM"
        model.inner.generate(random_ids(1, 5), max_new_tokens=3, min_new_tokens=3)
    assert len(seen.record.sides[0].tokens) == 7


def test_beam_search_is_refused_and_leaves_no_trace_on_the_cache():
    model = build("llama")
    with (
        pytest.raises(regard.InputError, match=r"beam search moves rows .* num_beams=1"),
        regard.watch(model),
    ):
        model.generate(random_ids(1, 5), num_beams=2, max_new_tokens=4)
    assert is_restored(model)


def test_a_model_that_never_uses_the_interface_is_named():
    config = transformers.FalconConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, vocab_size=90
    )
    model = transformers.FalconForCausalLM(config)
    with (
        pytest.raises(regard.InputError, match="FalconForCausalLM did not compute any attention"),
        regard.watch(model),
    ):
        model(random_ids(1, 5))


def test_a_layer_that_is_not_there_is_named():
    model = build("llama")
    with (
        pytest.raises(regard.InputError, match=r"layers holds 7, and .* numbered 0 to 2"),
        regard.watch(model, layers=[0, 7]),
    ):
        model(random_ids(1, 5))


def test_a_compiled_model_is_refused():
    compiled = torch.compile(build("gpt2"), backend="eager")
    with pytest.raises(regard.InputError, match=r"model is compiled.*_orig_mod"):
        regard.watch(compiled).__enter__()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"model": 3}, "model is int: expected a model of transformers"),
        ({"ask": 3}, "ask is int: expected regard.Ask"),
        ({"keep": "weights"}, "keep holds 'weights'"),
        ({"layers": [-1]}, "layers holds -1: expected numbers from 0"),
        ({"heads": [0, 0]}, r"heads is \[0, 0\]: expected numbers of heads from 0, each once"),
        ({"cut": [3]}, "cut holds int: expected regard.Cut"),
        ({"tokenizer": 3}, "tokenizer is int: expected the model's own tokenizer"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, said):
    arguments = {"model": build("gpt2")} | arguments
    with pytest.raises(regard.InputError, match=said):
        regard.watch(arguments.pop("model"), **arguments).__enter__()


def test_a_head_that_is_not_there():
    model = build("gpt2")
    with (
        pytest.raises(regard.InputError, match="heads holds 4 and the layer has 4 heads"),
        regard.watch(model, heads=[4]),
    ):
        model(random_ids(1, 5))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (regard.Ask(thumbnail=2), "thumbnail is a picture of one pass"),
        (
            regard.Ask(queries="last", received=True),
            "received, rows or columns counted from its end",
        ),
    ],
)
def test_readings_that_cannot_be_stitched(ask, said):
    model = build("llama")
    with pytest.raises(regard.InputError, match=said), regard.watch(model, ask=ask):
        model.generate(random_ids(1, 9), max_new_tokens=3, prefill_chunk_size=4)


def test_keeping_beyond_the_budget_is_refused_before_it_is_done():
    model = build("llama")
    before = regard.memory_budget()
    regard.set_memory_budget(1000)
    try:
        with (
            pytest.raises(regard.MemoryBudgetError, match=r"keeping query, key, value of 3 layers"),
            regard.watch(model, keep=KEPT) as seen,
        ):
            model(random_ids(1, 50))
    finally:
        regard.set_memory_budget(before)
    assert seen.memory == 3 * 50 * (4 * 8 + 2 * 2 * 8) * 4


def test_cut_attention_changes_only_rows_that_see_it():
    model = build("llama")
    ids = random_ids(1, 9)
    cut = regard.Cut(layers=2, queries=slice(6, None), keys=[1])
    with torch.no_grad():
        alone = model(ids).logits
        with regard.watch(model, cut=cut):
            other = model(ids).logits
    assert torch.equal(alone[:, :6], other[:, :6])
    assert not torch.equal(alone[:, 6:], other[:, 6:])
