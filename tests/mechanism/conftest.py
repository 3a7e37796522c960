"""What every test of the mechanism runs under."""

from __future__ import annotations

import pytest

from regard.mechanism import arrays, tensors


@pytest.fixture(autouse=True)
def poisoned_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers begin as NaN, so that a number that was never written shows."""

    def empty(self, *shape):
        return self.full(float("nan"), *shape)

    monkeypatch.setattr(arrays.NumpyArrays, "empty", empty)
    monkeypatch.setattr(tensors.TorchArrays, "empty", empty)
