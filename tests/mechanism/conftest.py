"""What every test of the mechanism runs under."""

from __future__ import annotations

import pytest

from cases import BACKENDS
from regard.mechanism import arrays, native, tensors


@pytest.fixture(params=BACKENDS)
def each_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What "auto" takes where it serves: every backend in turn."""
    name, _, isa = request.param.partition(" ")
    if name == "loop":
        monkeypatch.setattr(native, "_kernels", lambda: None)
    else:
        monkeypatch.setenv("REGARD_ISA", isa)


@pytest.fixture(autouse=True)
def poisoned_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers begin as NaN, so that a number that was never written shows."""

    def empty(self, *shape):
        return self.full(float("nan"), *shape)

    def blank(self, model, *shape):
        return self.like(self.full(float("nan"), *shape), model)

    for dialect in (arrays.NumpyArrays, tensors.TorchArrays):
        monkeypatch.setattr(dialect, "empty", empty)
        monkeypatch.setattr(dialect, "blank", blank)
    monkeypatch.setattr(tensors.CpuTensors, "blank", blank)
