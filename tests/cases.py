"""The one list of calls that every backend and dtype is tested on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from zlib import crc32

import numpy as np

from regard import Mask
from regard.mechanism import native

BACKENDS: Final = ("loop", *(f"native {isa}" for isa in native.instruction_sets()))
"""Every backend that computes, and each instruction set of the kernel that this machine executes;
a test of the mechanism runs on each."""


def runs_in(backend: str, dtype: str) -> bool:
    """Whether a backend takes numbers of a dtype, such as "numpy float64"."""
    return backend == "loop" or not dtype.endswith("float64")


@contextmanager
def backend_of(named: str) -> Iterator[Any]:
    """What to pass as `backend=` for one of `BACKENDS`, which is forced to its instruction set."""
    backend, _, isa = named.partition(" ")
    before = os.environ.get("REGARD_ISA")
    try:
        if isa:
            os.environ["REGARD_ISA"] = isa
        yield backend
    finally:
        if isa:
            os.environ.pop("REGARD_ISA")
            if before is not None:
                os.environ["REGARD_ISA"] = before


DTYPES: Final = (
    *("numpy float16", "numpy float32", "numpy float64"),
    *("torch float16", "torch bfloat16", "torch float32", "torch float64"),
)

LENGTHS: Final = (0, 1, 7, 63, 100, 257)


@dataclass(frozen=True)
class Case:
    """A call by its shapes; its numbers are drawn from its name.

    mask: a Mask, or what makes one of a random generator. fill: which numbers. layout: how the
    arrays lie in memory.
    """

    name: str
    query: tuple[int, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    mask: Mask | Callable[[np.random.Generator], Mask] = field(default_factory=Mask)
    scale: float | None = None
    softcap: float | None = None
    sinks: bool = False
    fill: str = "normal"
    layout: str = "contiguous"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Given:
    """The arguments of one call, and the same numbers exactly, as NumPy's float64."""

    dtype: str
    arrays: tuple[Any, Any, Any]
    options: dict[str, Any]
    exact: tuple[np.ndarray, np.ndarray, np.ndarray]
    exact_options: dict[str, Any]


def give(case: Case, dtype: str) -> Given:
    """The call of `case` in a dtype of a library, such as "torch bfloat16"."""
    rng = np.random.default_rng(crc32(case.name.encode()))
    drawn = [fill(case.fill, rng, shape) for shape in (case.query, case.key, case.value)]
    heads = case.query[-3] if len(case.query) > 2 else 1
    sinks = rng.normal(size=heads) if case.sinks else None
    mask = case.mask if isinstance(case.mask, Mask) else case.mask(rng)
    return given_of(drawn, mask, case.scale, case.softcap, sinks, dtype, case.layout)


def given_of(
    drawn: list[np.ndarray],
    mask: Mask,
    scale: float | None,
    softcap: float | None,
    sinks: np.ndarray | None,
    dtype: str,
    layout: str = "contiguous",
) -> Given:
    """Float64 numbers made into a call in `dtype`, rounded to it once."""

    def converted(array: Any) -> Any:
        return None if array is None else convert(array, dtype)

    arrays = tuple(laid(convert(array, dtype), layout) for array in drawn)
    bias, few = converted(mask.bias), converted(sinks)
    allowed = mask.allowed
    if allowed is not None and dtype.startswith("torch"):
        allowed = torch_of_one_thread().from_numpy(np.ascontiguousarray(allowed))
    same = {"scale": scale, "softcap": softcap}
    return Given(
        dtype=dtype.split()[1],
        arrays=arrays,
        options={**same, "sinks": few, "mask": replace(mask, allowed=allowed, bias=bias)},
        exact=tuple(as_float64(array) for array in arrays),
        exact_options={
            **same,
            "sinks": None if few is None else as_float64(few),
            "mask": replace(mask, bias=None if bias is None else as_float64(bias)),
        },
    )


def fill(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Float64 numbers of a shape."""
    if kind == "normal":
        return rng.normal(size=shape)
    if kind == "large":  # scores in the hundreds: few weights do not underflow
        return 8 * rng.normal(size=shape)
    if kind == "constant":
        return np.full(shape, 0.5)
    assert kind == "whole"  # small whole numbers: every sum is exact, and many are equal
    return rng.integers(-1, 2, size=shape).astype(np.float64)


def convert(array: np.ndarray, dtype: str) -> Any:
    """A NumPy float64 array in a dtype of a library."""
    library, name = dtype.split()
    if library == "numpy":
        return array.astype(name)
    torch = torch_of_one_thread()
    return torch.from_numpy(np.ascontiguousarray(array)).to(getattr(torch, name))


def torch_of_one_thread() -> Any:
    """Torch, imported when the first case needs it; its threads only wait for one another here."""
    import torch

    torch.set_num_threads(1)
    return torch


def as_float64(array: Any) -> np.ndarray:
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double().numpy()


def laid(array: Any, layout: str) -> Any:
    """The same numbers, otherwise in memory."""
    numpy = isinstance(array, np.ndarray)
    if layout == "contiguous":
        return array
    if layout == "heads inside":  # (batch, tokens, heads, dim) in memory, as models hold them
        turned = array.swapaxes(-3, -2)
        return (np.ascontiguousarray(turned) if numpy else turned.contiguous()).swapaxes(-3, -2)
    if layout == "columns":
        turned = array.swapaxes(-1, -2)
        return (np.ascontiguousarray(turned) if numpy else turned.contiguous()).swapaxes(-1, -2)
    if layout == "backwards" and numpy:
        return np.ascontiguousarray(array[..., ::-1, ::-1])[..., ::-1, ::-1]
    assert layout in ("every second", "backwards")  # torch has no negative strides
    twice = np.repeat(array, 2, axis=-1) if numpy else array.repeat_interleave(2, -1)
    return twice[..., ::2]


def self_attention(name: str, tokens: int, **rest: Any) -> Case:
    shape = rest.pop("shape", (2, tokens, 16))
    return Case(name, shape, shape, shape, **rest)


def documents(tokens: int, *starts: int) -> np.ndarray:
    """Labels 0, 1, ... of packed documents that begin at `starts`."""
    return np.searchsorted(np.array(starts), np.arange(tokens), side="right") - 1


def some_blind(rng: np.random.Generator) -> Mask:
    allowed = rng.random((2, 63, 63)) < 0.3
    allowed[0, 5] = allowed[1, 62] = False
    return Mask(allowed=allowed)


def some_minus_infinity(rng: np.random.Generator) -> Mask:
    bias = rng.normal(size=(2, 63, 63))
    bias[rng.random(bias.shape) < 0.3] = -np.inf
    bias[0, 5] = bias[1, 62] = -np.inf
    bias[:, :, 3] = -1e4  # not unseen, only very small
    return Mask(bias=bias)


def everything_at_once(rng: np.random.Generator) -> Mask:
    bias = rng.normal(size=(1, 63, 100))
    bias[rng.random(bias.shape) < 0.1] = -np.inf
    return Mask(
        causal=True,
        offset=np.array([37, 12]),
        window=(40, 20),
        lengths=np.array([97, 60]),
        segments=(rng.integers(-1, 2, (2, 63)), rng.integers(-1, 2, (2, 100))),
        allowed=rng.random((2, 4, 63, 100)) < 0.9,
        bias=bias,
    )


CROSS: Final = ((2, 4, 63, 16), (2, 2, 100, 16), (2, 2, 100, 24))

CASES: Final = (
    *(self_attention(f"{tokens} tokens", tokens) for tokens in LENGTHS),
    *(self_attention(f"{n} tokens, causal", n, mask=Mask(causal=True)) for n in LENGTHS),
    Case("two axes", (63, 16), (100, 16), (100, 24)),
    Case("four axes, grouped heads, narrow keys", *CROSS),
    Case("one key head for all", (1, 6, 7, 8), (1, 1, 9, 8), (1, 1, 9, 8)),
    Case("more queries than keys", (2, 100, 16), (2, 7, 16), (2, 7, 5)),
    Case("one query", (2, 4, 1, 16), (2, 2, 257, 16), (2, 2, 257, 16)),
    Case("no queries", (2, 0, 16), (2, 7, 16), (2, 7, 16)),
    Case("no keys", (2, 7, 16), (2, 0, 16), (2, 0, 16)),
    Case("no heads", (0, 7, 16), (0, 7, 16), (0, 7, 16)),
    Case("no batch", (0, 2, 7, 16), (0, 2, 7, 16), (0, 2, 7, 16)),
    Case("values without columns", (2, 7, 16), (2, 7, 16), (2, 7, 0)),
    Case("dim 1", (2, 63, 1), (2, 63, 1), (2, 63, 1)),
    self_attention("several panels", 600, shape=(1, 600, 8)),
    self_attention("scale given", 63, scale=0.3),
    self_attention("scale below 0", 63, scale=-0.2),
    self_attention("scale 0", 7, scale=0.0),
    self_attention("softcap", 63, fill="large", softcap=5.0),
    self_attention("softcap, causal", 63, fill="large", softcap=5.0, mask=Mask(causal=True)),
    self_attention("sinks", 63, sinks=True),
    self_attention("sinks, causal", 100, sinks=True, mask=Mask(causal=True)),
    self_attention("scores in the hundreds", 63, fill="large", shape=(2, 63, 64)),
    self_attention("constant rows", 63, fill="constant"),
    self_attention("ties", 100, fill="whole", shape=(2, 100, 4)),
    self_attention("ties, causal", 257, fill="whole", shape=(2, 257, 4), mask=Mask(causal=True)),
    self_attention("window", 100, mask=Mask(window=(10, 3))),
    self_attention("window, one side", 100, mask=Mask(window=(None, 3))),
    self_attention("window, other side", 100, mask=Mask(window=(10, None))),
    self_attention("window of one key", 63, mask=Mask(window=(0, 0))),
    self_attention("window behind", 63, mask=Mask(window=(20, -3))),
    self_attention("window ahead", 63, mask=Mask(window=(-3, 20))),
    self_attention("window of no key", 63, mask=Mask(window=(-3, 2))),
    self_attention("window, causal, panels", 600, mask=Mask(True, window=(50, 9)), shape=(600, 8)),
    Case("causal, top-left", *CROSS, mask=Mask(causal=True, offset=0)),
    Case("causal, bottom-right", *CROSS, mask=Mask(causal=True, offset=37)),
    Case("causal, before the keys", *CROSS, mask=Mask(causal=True, offset=-30)),
    Case("causal, offset per item", *CROSS, mask=Mask(causal=True, offset=np.array([37, -5]))),
    Case("window, offset per item", *CROSS, mask=Mask(window=(9, 4), offset=np.array([80, -5]))),
    Case("lengths", *CROSS, mask=Mask(lengths=np.array([100, 41]))),
    Case("lengths, one without keys", *CROSS, mask=Mask(lengths=np.array([0, 7]))),
    Case("lengths, causal", *CROSS, mask=Mask(causal=True, offset=9, lengths=41)),
    self_attention("packed documents", 100, mask=Mask(segments=documents(100, 0, 31, 32, 70))),
    self_attention(
        "packed documents, causal", 100, mask=Mask(causal=True, segments=documents(100, 0, 31, 70))
    ),
    self_attention("padding left and right", 63, mask=Mask(segments=documents(63, 9) * 2 - 1)),
    self_attention("interleaved", 63, mask=Mask(segments=np.arange(63) % 3 - 1)),
    Case(
        "segments, a pair per item",
        *CROSS,
        mask=lambda rng: Mask(
            segments=(rng.integers(-1, 3, (2, 63)), rng.integers(-2, 4, (2, 100)))
        ),
    ),
    self_attention("allowed, rows that see nothing", 63, mask=some_blind),
    self_attention("allowed, sinks", 63, mask=some_blind, sinks=True),
    self_attention("bias", 63, mask=lambda rng: Mask(bias=rng.normal(size=(63, 63)))),
    self_attention("bias with -inf", 63, mask=some_minus_infinity),
    self_attention("bias, softcap", 63, mask=some_minus_infinity, softcap=2.0),
    Case("everything at once", *CROSS, mask=everything_at_once, softcap=9.0, sinks=True),
    Case(
        "decode on a long cache",
        *((2, 8, 2, 64), (2, 2, 1700, 64), (2, 2, 1700, 64)),
        mask=Mask(causal=True, offset=1698, lengths=np.array([1700, 900])),
    ),
    Case(
        "decode, values of another width, backwards",
        *((1, 3, 3, 80), (1, 1, 1111, 80), (1, 1, 1111, 70)),
        mask=Mask(window=(1000, 0), offset=1108),
        layout="backwards",
        sinks=True,
    ),
    self_attention("dim 130", 63, shape=(1, 63, 130)),
    self_attention("dim 512", 33, shape=(1, 33, 512), mask=Mask(causal=True)),
    Case("heads inside", *CROSS, layout="heads inside"),
    Case("columns first", *CROSS, layout="columns"),
    Case("every second number", *CROSS, layout="every second"),
    Case("backwards", *CROSS, layout="backwards"),
)
