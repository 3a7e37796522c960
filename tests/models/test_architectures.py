"""What regard.watch does to models of many architectures, and reads of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import regard
from models import zoo
from models.architecture_page import PAGE, page, versions
from models.architectures import (
    IMPLEMENTATIONS,
    LARGEST_DIFFERENCE,
    Examination,
    collect,
    compare,
    examine,
    own_weights,
    refusal,
    run,
    same,
)
from models.specimen import Specimen, bare_text, build, padded_text

REFUSES = [("Gemma 2", "sdpa"), ("gpt-oss", "sdpa")]
CASES = [
    (specimen, name)
    for specimen in zoo.READ
    for name in IMPLEMENTATIONS
    if (specimen.name, name) not in REFUSES
]
WITH_CACHE = [
    "GPT-2",
    "Llama",
    "Mistral",
    "Gemma 2",
    "Gemma 3",
    "Llama 4 text",
    "gpt-oss",
    "DeepSeek-V3",
]
CASES_WITH_CACHE = [case for case in CASES if case[0].name in WITH_CACHE]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Models this small only wait for one another's threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def seen(specimen: Specimen, implementation: str) -> Examination:
    examination = examine(specimen, implementation)
    assert examination.refused is None
    return examination


def test_there_are_enough() -> None:
    names = [specimen.name for specimen in zoo.READ]
    assert len(names) == len(set(names)) >= 38


@pytest.mark.parametrize(("specimen", "implementation"), CASES, ids=str)
def test_a_watched_model_gives_bit_for_bit_what_it_gives_otherwise(seen: Examination) -> None:
    assert seen.identical


@pytest.mark.parametrize(("specimen", "implementation"), CASES, ids=str)
def test_weights_are_the_models_own(seen: Examination) -> None:
    assert seen.difference <= LARGEST_DIFFERENCE
    assert seen.recorded <= LARGEST_DIFFERENCE
    assert seen.peak > 0.7  # not so even that a wrong scale or mask would pass


@pytest.mark.parametrize(("specimen", "implementation"), CASES, ids=str)
def test_nothing_is_left_changed(seen: Examination) -> None:
    assert seen.changed == ()


@pytest.mark.parametrize(("name", "implementation"), REFUSES)
def test_transformers_refuses_what_the_page_says_it_refuses(name: str, implementation: str) -> None:
    specimen = next(specimen for specimen in zoo.READ if specimen.name == name)
    assert "does not support an attention implementation" in (
        examine(specimen, implementation).refused or ""
    )


@pytest.mark.parametrize("specimen", zoo.READ, ids=str)
def test_a_layers_kind_is_the_same_however_its_mask_is_given(specimen: Specimen) -> None:
    kinds = {kinds for name in IMPLEMENTATIONS for kinds in examine(specimen, name).kinds}
    assert len(kinds) == 1


@pytest.mark.parametrize("specimen", zoo.APART, ids=str)
def test_a_model_that_cannot_be_read_is_named(specimen: Specimen) -> None:
    named = "layers.0.self_attn" if specimen.name == "Inkling 2" else specimen.model
    assert named in refusal(specimen)


@pytest.mark.parametrize(("specimen", "implementation"), CASES_WITH_CACHE, ids=str)
def test_weights_are_the_models_own_with_a_cache(specimen: Specimen, implementation: str) -> None:
    model = build(specimen)
    _, own = collect(lambda: in_pieces(model, 3))
    model.set_attn_implementation(implementation)
    try:
        _, calls = collect(lambda: in_pieces(model, 3))
    finally:
        model.set_attn_implementation("eager")
    queries = [called.call.query.shape[2] for called in calls]
    assert sorted(set(queries)) == [1, 3, 8]
    weights = tuple(called.weights for called in own if called.weights is not None)
    difference, peak = compare(calls, weights)
    assert difference <= LARGEST_DIFFERENCE
    assert peak > 0.7


@pytest.mark.parametrize(("specimen", "implementation"), CASES_WITH_CACHE, ids=str)
def test_records_are_stitched_over_a_cache(specimen: Specimen, implementation: str) -> None:
    """As if the whole text were read at once, padded on the left or not."""
    model = build(specimen)
    own = own_weights(specimen, padded_text)
    model.set_attn_implementation(implementation)
    try:
        with regard.watch(model, keep=("query", "key")) as seen:
            in_pieces(model, 2)
    finally:
        model.set_attn_implementation("eager")
    for item, padding in ((0, 0), (1, 3)):
        record = seen.records[item]
        assert len(record.layers) == len(own)
        for number, weights in enumerate(own):
            expected = weights[item, :, padding:, padding:].numpy()
            tokens = [0, 7 - padding, 8 - padding, 11 - padding]  # at the ends of each piece
            rows = [
                [record.row(number, head, token) for token in tokens]
                for head in range(len(expected))
            ]
            assert abs(np.array(rows) - expected[:, tokens]).max() <= LARGEST_DIFFERENCE


@pytest.mark.parametrize("kind", [torch.bool, torch.float32])
def test_an_eager_model_adds_the_mask_it_is_given(kind: torch.dtype) -> None:
    """A bool one too, as numbers: transformers passes what has four axes on as it is."""
    llama = next(specimen for specimen in zoo.READ if specimen.name == "Llama")
    inputs = bare_text()
    given = torch.ones(1, 1, 12, 12, dtype=torch.bool).tril()
    mask = given if kind == torch.bool else torch.zeros(given.shape).masked_fill(~given, -1e4)
    _, calls = collect(lambda: run(build(llama), inputs | {"attention_mask": mask}))
    difference, _ = compare(calls, tuple(called.weights for called in calls))
    assert difference <= LARGEST_DIFFERENCE


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["Llama", "Gemma 2", "gpt-oss", "T5", "BEiT"])
def test_a_16_bit_model_gives_what_it_gives_otherwise(name: str, dtype: torch.dtype) -> None:
    """Masks, sinks and biases come in its dtype, or beside it in another."""
    specimen = next(specimen for specimen in zoo.READ if specimen.name == name)
    model = copy.deepcopy(build(specimen)).to(dtype)
    inputs = {
        key: part.to(dtype) if part.is_floating_point() else part
        for key, part in specimen.inputs[0]().items()
    }
    plain = run(model, inputs)
    with regard.watch(model, ask=regard.Ask(entropy=True, received=True)) as seen:
        watched = run(model, inputs)
    assert same(plain, watched)
    for layer in seen.records[0].layers:
        assert layer.readings.entropy is not None
        assert layer.readings.entropy.dtype == np.float32
        assert np.isfinite(layer.readings.entropy).all()


@pytest.mark.parametrize("field", ["rows", "columns"])
def test_what_a_text_does_not_have_is_named_by_the_field_that_asks(field: str) -> None:
    llama = build(next(specimen for specimen in zoo.READ if specimen.name == "Llama"))
    with (
        pytest.raises(regard.InputError, match=f"^{field} holds 12 and the text has 12 tokens"),
        regard.watch(llama, ask=regard.Ask(**{field: [12]})),
    ):
        run(llama, bare_text())


@torch.no_grad()
def in_pieces(model: Any, items: int) -> None:
    """Prompts of 8 tokens, three more at once, and one more."""
    ids, mask = (padded_text()[name][:items] for name in ("input_ids", "attention_mask"))
    past: dict[str, Any] = {}
    for start, stop in ((0, 8), (8, 11), (11, 12)):
        output = model(
            input_ids=ids[:, start:stop], attention_mask=mask[:, :stop], use_cache=True, **past
        )
        name = "cache" if "cache" in output else "past_key_values"
        past = {name: output[name]}


def test_the_page_says_what_is_measured() -> None:
    written = PAGE.read_text(encoding="utf-8").splitlines()
    measured = page().splitlines()
    for lines in (written, measured):
        lines.remove(next(line for line in lines if line.startswith("Seen with transformers")))
    assert written == measured
    assert versions().startswith("Seen with transformers")
