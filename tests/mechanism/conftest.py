"""What every test of the mechanism runs under."""

from __future__ import annotations

import pytest

from regard.mechanism import arrays, tensors


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
