"""Every refusal of the mechanism, word for word: what came, what was expected, what to do next."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from regard import (
    Ask,
    BackendError,
    InputError,
    Mask,
    MemoryBudgetError,
    attention,
    memory_budget,
    readings,
    set_memory_budget,
    steps,
)
from regard.mechanism import native

needs_kernel = pytest.mark.skipif(
    not native.is_built(), reason="regard was installed without a compiler"
)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


Q, K = zeros(5, 4), zeros(7, 4)
Q4, K4 = zeros(2, 4, 5, 8), zeros(2, 2, 7, 8)


def call(query=Q, key=K, value=None, **rest):
    return attention(query, key, key if value is None else value, **rest)


def batched(**mask):
    return attention(Q4, K4, K4, mask=Mask(**mask))


def asked(**ask):
    return readings(Q, K, ask=Ask(**ask))


INT = np.array([[0, 1]])

REFUSED = [
    # the arrays
    (lambda: call([[1.0, 2.0]]), "query is list: expected a NumPy array or a torch tensor."),
    (lambda: attention(Q, None, K), "key is NoneType: expected a NumPy array or a torch tensor."),
    (lambda: call(None), "query is NoneType: expected a NumPy array or a torch tensor."),
    (lambda: attention(Q, K, None),
     "value is None: expected the values; regard.readings needs none."),
    (lambda: call(value="v"), "value is str: expected a NumPy array or a torch tensor."),
    (lambda: call(np.ma.masked_array(Q)),
     "query is a masked array, whose mask would be ignored: pass mask= instead."),
    (lambda: call(key=K.astype(np.float64)),
     "query is float32 and key is float64: convert one of them."),
    (lambda: call(zeros(5, 4, dtype=int), zeros(7, 4, dtype=int)),
     "query has dtype int64: expected float16, bfloat16 (torch), float32 or float64. "
     "Convert it; nothing is cast for you."),
    (lambda: call(Q.astype(complex), K.astype(complex)),
     "query has dtype complex128: expected float16, bfloat16 (torch), float32 or float64. "
     "Convert it; nothing is cast for you."),
    # their shapes
    (lambda: call(zeros(4)),
     "query has 1 axes (4,): expected (tokens, dim), (heads, tokens, dim) or "
     "(batch, heads, tokens, dim)."),
    (lambda: call(zeros(1, 1, 1, 5, 4)),
     "query has 5 axes (1, 1, 1, 5, 4): expected (tokens, dim), (heads, tokens, dim) or "
     "(batch, heads, tokens, dim)."),
    (lambda: call(Q, zeros(1, 7, 4)),
     "query has 2 axes (5, 4) and key has 3 (1, 7, 4): give all the same axes, (tokens, dim)."),
    (lambda: call(Q, zeros(7, 3)),
     "query has dim 4 and key has dim 3: a dot product needs the same. Is the last axis of both "
     "the head's dim?"),
    (lambda: call(zeros(5, 0), zeros(7, 0)),
     "query has dim 0: a dot product needs at least one column."),
    (lambda: call(Q4, zeros(3, 2, 7, 8)),
     "query has batch 2 and key has batch 3: give the same."),
    (lambda: call(zeros(12, 5, 8), zeros(7, 5, 8)),
     "query has 12 heads and key has 7: query heads must be a multiple of key heads. "
     "Is the order (batch, heads, tokens, dim)?"),
    (lambda: call(zeros(2, 5, 8), zeros(0, 5, 8)),
     "query has 2 heads and key has 0: query heads must be a multiple of key heads. "
     "Is the order (batch, heads, tokens, dim)?"),
    (lambda: call(value=zeros(6, 4)),
     "value is (6, 4) and key is (7, 4): every key needs one value, so all axes but the last "
     "must be equal."),
    # the numbers
    (lambda: call(scale=float("nan")),
     "scale is nan: expected a finite number, or None for 1/√d_k."),
    (lambda: call(scale="1"), "scale is '1': expected a finite number, or None for 1/√d_k."),
    (lambda: call(scale=True), "scale is True: expected a finite number, or None for 1/√d_k."),
    (lambda: call(softcap=0.0),
     "softcap is 0.0: expected a finite number above 0, or None for none."),
    (lambda: call(softcap=float("inf")),
     "softcap is inf: expected a finite number above 0, or None for none."),
    (lambda: call(sinks=1.0),
     "query is a numpy array and sinks is float: pass sinks as a numpy array."),
    (lambda: call(sinks=zeros(2)),
     "sinks has shape (2,): expected (1,), one number a query head."),
    (lambda: call(sinks=zeros(1, dtype=np.float64)),
     "query is float32 and sinks is float64: convert sinks."),
    (lambda: call(backend="cuda"), "backend is 'cuda': expected 'auto', 'loop' or 'native'."),
    (lambda: call(ask={}), "ask is dict: expected regard.Ask or None."),
    (lambda: readings(Q, K, ask=None), "ask is NoneType: expected regard.Ask."),
    (lambda: readings(Q, K, ask=Ask(top=1, share=True)),
     "share is a part of the result, which needs the values: pass value."),
    # masks
    (lambda: call(mask="causal"),
     "mask is str: expected regard.Mask, a bool array or a float array."),
    (lambda: call(mask=np.ones((5, 7), int)),
     "mask has dtype int64: expected bool (True where a query may see a key) or float (added to "
     "the scaled scores). 0/1 integers are ambiguous: convert them yourself."),
    (lambda: Mask(causal=1), "causal is 1: expected True or False."),
    (lambda: Mask(window=3),
     "window is 3: expected (left, right), each a whole number or None for unlimited; (255, 0) "
     "keeps a query's own position and 255 before it."),
    (lambda: Mask(window=(1, 2, 3)),
     "window is (1, 2, 3): expected (left, right), each a whole number or None for unlimited; "
     "(255, 0) keeps a query's own position and 255 before it."),
    (lambda: Mask(window=(1.5, 0)),
     "window is (1.5, 0): each side must be a whole number or None."),
    (lambda: Mask(window=(True, 0)),
     "window is (True, 0): each side must be a whole number or None."),
    (lambda: Mask(allowed=[[True]]),
     "allowed is list: expected a bool array broadcast to (batch, heads, queries, keys)."),
    (lambda: Mask(bias=0.0),
     "bias is float: expected a float array broadcast to (batch, heads, queries, keys)."),
    (lambda: Mask(allowed=INT),
     "allowed has dtype int64: expected bool. Did you mean bias=? 0/1 integers are ambiguous: "
     "convert them yourself."),
    (lambda: Mask(bias=INT == 1),
     "bias has dtype bool: expected float. Did you mean allowed=? 0/1 integers are ambiguous: "
     "convert them yourself."),
    (lambda: call(mask=Mask(causal=True)),
     "causal with 5 queries and 7 keys needs an offset: Mask(..., offset=2) aligns the last query "
     "with the last key (cached decode), offset=0 the first with the first."),
    (lambda: call(mask=Mask(window=(1, 0))),
     "window with 5 queries and 7 keys needs an offset: Mask(..., offset=2) aligns the last query "
     "with the last key (cached decode), offset=0 the first with the first."),
    (lambda: batched(offset=[1, 2, 3]),
     "offset has shape (3,) and the batch is 2: expected one whole number, or one a batch item."),
    (lambda: batched(offset=0.5), "offset has dtype float64: expected whole numbers."),
    (lambda: batched(offset=2**60),
     f"offset holds {2**60}: expected {-(2**48)} to {2**48}."),
    (lambda: batched(lengths=8), "lengths holds 8: expected 0 to 7."),
    (lambda: batched(lengths=[3, -1]), "lengths holds -1: expected 0 to 7."),
    (lambda: batched(lengths=[[1, 2]]),
     "lengths has shape (1, 2) and the batch is 2: expected one whole number, or one a batch "
     "item."),
    (lambda: batched(lengths=np.array([2**63], np.uint64)),
     f"lengths holds {2**63}: expected less than 2**63."),
    (lambda: batched(segments=np.zeros(7, int)),
     "segments has one array, with 5 queries and 7 keys: give a tuple (labels of the queries, "
     "labels of the keys)."),
    (lambda: batched(segments=(np.zeros(5, int),)),
     "segments is a tuple of 1: expected labels of the keys, or a tuple (labels of the queries, "
     "labels of the keys)."),
    (lambda: batched(segments=(np.zeros(5, int), np.zeros(6, int))),
     "segments of the keys have shape (6,): expected (7,) or (2, 7), one label a token."),
    (lambda: batched(segments=(np.zeros(5), np.zeros(7))),
     "segments of the queries has dtype float64: expected whole numbers."),
    (lambda: batched(segments=(np.zeros(5, int), np.full(7, 2**31))),
     f"segments of the keys hold {2**31}: expected labels below 2**31."),
    (lambda: batched(allowed=np.ones((3, 7), bool)),
     "allowed has shape (3, 7): expected one that broadcasts, right-aligned, to "
     "(batch, heads, queries, keys) = (2, 4, 5, 7)."),
    (lambda: batched(bias=zeros(1, 2, 4, 5, 7)),
     "bias has shape (1, 2, 4, 5, 7): expected one that broadcasts, right-aligned, to "
     "(batch, heads, queries, keys) = (2, 4, 5, 7)."),
    (lambda: batched(bias=zeros(5, 7, dtype=np.float64)),
     "query is float32 and bias is float64: convert bias."),
    # what to read
    (lambda: Ask(top=-1), "top is -1: expected a whole number, 0 or more."),
    (lambda: Ask(top=2.0), "top is 2.0: expected a whole number, 0 or more."),
    (lambda: Ask(top=True), "top is True: expected a whole number, 0 or more."),
    (lambda: Ask(thumbnail=-2), "thumbnail is -2: expected a whole number, 0 or more."),
    (lambda: Ask(entropy=1), "entropy is 1: expected True or False."),
    (lambda: Ask(share=True), "share is read for the top keys: ask top=k as well."),
    (lambda: Ask(queries="first"),
     "queries is 'first': expected 'last', a slice, whole numbers or None."),
    (lambda: Ask(groups=[0, 1]),
     "groups must be (labels, count): a label for each key, and how many."),
    (lambda: asked(queries=[5]), "queries holds 5 and there are 5 queries."),
    (lambda: asked(queries=[-6]), "queries holds -6 and there are 5 queries."),
    (lambda: asked(queries=[0.5]), "queries has dtype float64: expected whole numbers."),
    (lambda: asked(queries=[[0]]), "queries has shape (1, 1): expected a list of whole numbers."),
    (lambda: asked(queries=3), "queries has shape (): expected a list of whole numbers."),
    (lambda: asked(queries=[1, -4]), "queries names one of the queries twice: give each once."),
    (lambda: asked(columns=[7]), "columns holds 7 and there are 7 keys."),
    (lambda: asked(columns=[0, 0]), "columns names one of the keys twice: give each once."),
    (lambda: asked(rows=[5]), "rows holds 5 and there are 5 queries."),
    (lambda: asked(queries=[1, 2], rows=[3]),
     "rows asks for query 3, which is not among queries: add it there, or leave queries at None "
     "for all."),
    (lambda: asked(groups=([0, 1], 2)),
     "labels of groups have shape (2,): expected (7,), one label a key."),
    (lambda: asked(groups=([0] * 7, -1)),
     "count of groups is -1: expected a whole number, 0 or more."),
    (lambda: asked(groups=([0] * 6 + [2], 2)),
     "labels of groups hold 2 and there are 2 groups: expected -1 (no group) to 1."),
    (lambda: asked(groups=([0] * 6 + [-2], 2)),
     "labels of groups hold -2 and there are 2 groups: expected -1 (no group) to 1."),
    (lambda: set_memory_budget(-1), "bytes is -1: expected a whole number, 0 or more."),
    (lambda: set_memory_budget(1e9),
     "bytes is 1000000000.0: expected a whole number, 0 or more."),
]  # fmt: skip


@pytest.mark.parametrize(("refused", "words"), REFUSED, ids=[words[:60] for _, words in REFUSED])
def test_refused(refused, words):
    with pytest.raises(InputError) as caught:
        refused()
    assert str(caught.value) == words


def test_a_backend_that_is_not_there(monkeypatch):
    monkeypatch.setattr(native, "_kernels", lambda: None)
    x = np.ones((3, 2), np.float32)
    with pytest.raises(BackendError) as caught:
        attention(x, x, x, backend="native")
    assert str(caught.value) == (
        "backend 'native' cannot serve: regard was installed without a C++ compiler: install one, "
        "then regard again. Use 'auto' or 'loop'."
    )
    assert attention(x, x, x).readings.backend == "loop"


def test_a_dtype_that_a_backend_does_not_take():
    x = np.ones((3, 2))
    assert attention(x, x, x).readings.backend == "loop"
    with pytest.raises(BackendError) as caught:
        attention(x, x, x, backend="native")
    assert str(caught.value) == (
        "backend 'native' cannot serve: the arrays are float64, and it takes float32, float16, "
        "bfloat16. Use 'auto' or 'loop'."
    )


def test_a_device_that_a_backend_does_not_reach():
    call = SimpleNamespace(query=Q, arrays=SimpleNamespace(device="mps:0"))
    assert native.refusal(call) == (
        "the arrays are on mps:0, and it takes those in the processor's memory"
    )


@needs_kernel
@pytest.mark.parametrize("isa", ["v9", "AVX2", "v4 "])
def test_instructions_that_are_not_there(monkeypatch, isa):
    monkeypatch.setenv("REGARD_ISA", isa)
    x = np.ones((3, 2), np.float32)
    names = ", ".join(native.instruction_sets())
    with pytest.raises(BackendError) as caught:
        attention(x, x, x)
    assert str(caught.value) == (
        f"REGARD_ISA is '{isa}': this processor runs {names}. Unset it, or name one of those."
    )


@pytest.mark.parametrize("function", [attention, partial(readings, ask=Ask(lse=True))])
def test_tensors_are_refused_like_arrays(function):
    torch = pytest.importorskip("torch")
    x, wild = torch.zeros(5, 4), torch.zeros(5, 4, requires_grad=True)
    meta = torch.zeros(5, 4, device="meta")
    sink = torch.zeros(1, requires_grad=True)
    refused = [
        ((wild, x, x), {}, "query requires gradients, and nothing here computes them: pass "
         "query.detach(), or leave training to the model's own attention."),
        ((x, x, wild), {}, "value requires gradients, and nothing here computes them: pass "
         "value.detach(), or leave training to the model's own attention."),
        ((x, x.numpy(), x), {},
         "query is a torch array and key a numpy one: pass all arrays of one library."),
        ((x.numpy(), x, x), {},
         "query is a numpy array and key a torch one: pass all arrays of one library."),
        ((x, x.double(), x), {}, "query is float32 and key is float64: convert one of them."),
        ((x, x, x.bfloat16()), {},
         "query is float32 and value is bfloat16: convert one of them."),
        ((x, meta, x), {}, "query is on cpu and key on meta: move one of them."),
        ((x.int(), x.int(), x.int()), {}, "query has dtype int32: expected float16, bfloat16 "
         "(torch), float32 or float64. Convert it; nothing is cast for you."),
        ((x, x, x), {"sinks": sink}, "sinks requires gradients: pass sinks.detach()."),
        ((x, x, x), {"sinks": np.zeros(1, np.float32)},
         "query is a torch array and sinks is ndarray: pass sinks as a torch array."),
        ((x, x, x), {"mask": np.ones((5, 5), bool)},
         "query is a torch array and allowed is ndarray: pass allowed as a torch array."),
        ((x, x, x), {"mask": meta[:, :1]}, "query is on cpu and bias on meta: move bias."),
        ((x, x, x), {"mask": wild[:, :1]}, "bias requires gradients: pass bias.detach()."),
        ((x, x, x), {"mask": x[:, :1].double()},
         "query is float32 and bias is float64: convert bias."),
        ((x, x, x), {"mask": torch.ones(5, 5, dtype=torch.int64)},
         "mask has dtype torch.int64: expected bool (True where a query may see a key) or float "
         "(added to the scaled scores). 0/1 integers are ambiguous: convert them yourself."),
        ((x.numpy(),) * 3, {"mask": torch.ones(5, 5, dtype=torch.bool)},
         "query is a numpy array and allowed is Tensor: pass allowed as a numpy array."),
    ]  # fmt: skip
    for arrays, rest, words in refused:
        with pytest.raises(InputError) as caught:
            function(*arrays, **rest)
        assert str(caught.value) == words


def test_a_tensor_without_numbers_is_refused():
    torch = pytest.importorskip("torch")
    x = torch.zeros(5, 4, device="meta")
    with pytest.raises(InputError) as caught:
        attention(x, x, x)
    assert str(caught.value) == "query is on meta, which holds no numbers: give it some."


@pytest.fixture
def budget():
    before = memory_budget()
    yield set_memory_budget
    set_memory_budget(before)


QUADRATIC = {
    "rows": (Ask(rows=range(50)), "rows of shape (50, 100)",
             "Ask fewer rows; top=k or groups keep what most readings need."),
    "columns": (Ask(columns=range(50)), "columns of shape (100, 50)",
                "Ask fewer columns; received keeps what each key gets."),
    "top": (Ask(top=50), "top_index of shape (100, 50)", "Ask a smaller top."),
    "groups": (Ask(groups=([0] * 100, 50)), "group_mass of shape (100, 50)", "Ask fewer groups."),
    "thumbnail": (Ask(thumbnail=71), "thumbnail of shape (71, 71)", "Ask a smaller thumbnail."),
}  # fmt: skip


@pytest.mark.parametrize("name", QUADRATIC)
def test_what_would_be_quadratic_is_refused_above_the_budget(name, budget):
    ask, what, instead = QUADRATIC[name]
    x = zeros(3, 100, 4)
    budget(2**15)
    assert memory_budget() == 2**15
    with pytest.raises(MemoryBudgetError) as caught:
        readings(x, x, ask=ask)
    assert str(caught.value) == (
        f"{what} for every head would take 0 MiB; the budget is 0 MiB. {instead} "
        "(regard.set_memory_budget raises it.)"
    )
    budget(2**16)
    assert readings(x, x, ask=ask).queries.shape == (100,)
    assert issubclass(MemoryBudgetError, InputError)


def test_the_budget_is_a_gibibyte_and_is_checked_before_any_work(budget):
    assert memory_budget() == 2**30
    x = np.broadcast_to(np.float32(0), (40_000, 1))
    with pytest.raises(MemoryBudgetError, match=r"rows of shape .* take 6,104 MiB; the budget is "
                       r"1,024 MiB"):  # fmt: skip
        readings(x, x, ask=Ask(rows=range(40_000)))


@pytest.mark.parametrize("sink", [np.nan, np.inf])
@pytest.mark.parametrize("function", [attention, steps])
def test_a_sink_must_be_a_number_or_no_sink(function, sink):
    q = zeros(2, 3, 4)
    with pytest.raises(InputError, match=f"sinks holds {sink}: expected finite numbers, or -inf"):
        function(q, q, q, sinks=np.array([0.0, sink], np.float32))
