"""Tensors: what comes back is a tensor, on the same device, and no gradient is lost unsaid."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from accuracy import READINGS
from regard import Ask, Mask, attention, readings

torch = pytest.importorskip("torch")

EVERYTHING = Ask(
    queries=[30, 2, 9], top=3, share=True, entropy=True, lse=True, max_score=True, received=True,
    rows=[9], columns=[1, 0], groups=([0, 1] * 20, 2), thumbnail=4,
)  # fmt: skip


def tensors(dtype=torch.float32, requires_grad=False):
    torch.manual_seed(0)
    shapes = (2, 4, 40, 8), (2, 2, 40, 8), (2, 2, 40, 6)
    return [torch.randn(shape, dtype=dtype, requires_grad=requires_grad) for shape in shapes]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_come_back(dtype):
    output, read = attention(*tensors(dtype), mask=Mask(causal=True), ask=EVERYTHING)
    assert isinstance(output, torch.Tensor)
    assert output.dtype == dtype
    assert output.is_contiguous()
    kept = torch.float64 if dtype == torch.float64 else torch.float32
    for name in READINGS:
        reading = getattr(read, name)
        assert isinstance(reading, torch.Tensor), name
        assert reading.dtype == (torch.int32 if name in ("top_index", "eligible") else kept), name
        assert not reading.requires_grad
    assert isinstance(read.queries, np.ndarray)


def test_the_same_numbers_as_numpy():
    given = tensors()
    ours = attention(*given, mask=Mask(window=(9, 2)), ask=EVERYTHING)
    arrays = attention(*(x.numpy() for x in given), mask=Mask(window=(9, 2)), ask=EVERYTHING)
    np.testing.assert_allclose(ours.output, arrays.output, rtol=1e-4, atol=1e-6)
    for name in READINGS:
        here, there = getattr(ours.readings, name).numpy(), getattr(arrays.readings, name)
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-5, err_msg=name)


def test_as_torch_computes_it():
    query, key, value = tensors()
    output, _ = attention(query, key, value, mask=Mask(causal=True))
    theirs = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, enable_gqa=True
    )
    torch.testing.assert_close(output, theirs)


def test_inside_inference_mode_and_no_grad():
    plain = attention(*tensors(), ask=EVERYTHING)
    for quiet in (torch.inference_mode, torch.no_grad):
        with quiet():
            again = attention(*tensors(), ask=EVERYTHING)
        assert torch.equal(again.output, plain.output)


def test_detached_tensors_are_taken_and_the_graph_is_left_alone():
    given = tensors(requires_grad=True)
    output, _ = attention(*(x.detach() for x in given))
    assert not output.requires_grad
    assert all(x.grad is None and x.requires_grad for x in given)


def test_indices_and_labels_may_be_tensors():
    query, key, _ = tensors()
    ask = Ask(
        queries=torch.tensor([3, 1]),
        rows=torch.tensor([1]),
        columns=torch.tensor([2]),
        groups=(torch.arange(40) % 3, 3),
    )
    mask = Mask(
        causal=True,
        offset=torch.tensor([0, 2]),
        lengths=torch.tensor([40, 7]),
        segments=torch.arange(40) // 9,
    )
    same = Ask(queries=[3, 1], rows=[1], columns=[2], groups=(np.arange(40) % 3, 3))
    plain = Mask(True, np.array([0, 2]), lengths=np.array([40, 7]), segments=np.arange(40) // 9)
    read = readings(query, key, mask=mask, ask=ask)
    again = readings(query, key, mask=plain, ask=same)
    assert read.queries.tolist() == [3, 1]
    for name in ("rows", "columns", "group_mass"):
        assert torch.equal(getattr(read, name), getattr(again, name)), name


def test_masks_as_tensors():
    query, key, value = tensors()
    allowed = torch.ones(40, 40, dtype=torch.bool).tril()
    causal = attention(query, key, value, mask=Mask(causal=True)).output
    torch.testing.assert_close(attention(query, key, value, mask=allowed).output, causal)
    bias = torch.zeros(40, 40).masked_fill(~allowed, float("-inf"))
    torch.testing.assert_close(attention(query, key, value, mask=bias).output, causal)


def test_a_subclass_of_tensor_is_a_tensor():
    weight = torch.nn.Parameter(tensors()[0][0], requires_grad=False)
    assert attention(weight, weight, weight).output.shape == weight.shape


def test_numpy_alone_does_not_import_torch():
    code = (
        "import numpy as np, sys, regard\n"
        "x = np.ones((3, 2), np.float32)\n"
        "regard.attention(x, x, x, mask=regard.Mask(causal=True), ask=regard.Ask(top=1))\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
