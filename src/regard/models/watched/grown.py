"""Where results are kept: memory of their own, and arrays that grow with room to spare."""

from __future__ import annotations

import math
from typing import Any, Final

_SLAB: Final = 33 * 2**20
"""Bytes. More than 32 MiB, glibc maps for itself, and pages count only once they are written."""


class Slab:
    """Memory apart from the model's, for results that outlive its pass.

    A model takes and frees large blocks, layer after layer. A small result that is put in a freed
    one keeps it from being used again, and the process grows by a block a layer: for 4 layers at
    8 192 tokens, 100 MB.
    """

    def __init__(self) -> None:
        self._memory: Any = None
        self._used = 0

    def place(self, tensor: Any) -> Any:
        """A copy of a tensor in this memory; itself if it is large, or on a device of its own."""
        import torch

        size = tensor.numel() * tensor.element_size()
        if tensor.device.type != "cpu" or size >= _SLAB or size == 0:
            return tensor
        if self._memory is None or self._used + size > _SLAB:
            self._memory, self._used = torch.empty(_SLAB, dtype=torch.uint8), 0
        copy = self._memory[self._used : self._used + size].view(tensor.dtype)
        self._used += math.ceil(size / 64) * 64
        return copy.view(tensor.shape).copy_(tensor)


class Grown:
    """Parts put one after another along an axis. The first is kept as it is, not copied.

    Hundreds of small tensors, one a generated token, would fragment the heap; here each part is
    copied into memory that was taken for many.
    """

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self.count = 0
        self._array: Any = None

    def append(self, part: Any) -> None:
        """Put a tensor at the end."""
        size = int(part.shape[self.axis])
        if self._array is None:
            self._array, self.count = part, size
            return
        room = int(self._array.shape[self.axis])
        if self.count + size > room:
            wanted = max(self.count + size, room + max(room // 2, 64))
            self._array = self._moved(wanted)
        self._array.narrow(self.axis, self.count, size).copy_(part)
        self.count += size

    def add(self, part: Any, start: int) -> None:
        """Add a tensor to the numbers from `start` on, which are 0 where nothing was added yet."""
        size = start + int(part.shape[self.axis])
        if self._array is None and start == 0:
            self.append(part)
            return
        if size > self.count:
            shape = list(part.shape)
            shape[self.axis] = size - self.count
            self.append(part.new_zeros(shape))
        self._array.narrow(self.axis, start, part.shape[self.axis]).add_(part)

    def cut(self, count: int) -> None:
        """Forget all but the first `count`."""
        self.count = min(self.count, count)

    @property
    def array(self) -> Any:
        """All that was put in: a view."""
        return self._array.narrow(self.axis, 0, self.count)

    def _moved(self, room: int) -> Any:
        shape = list(self._array.shape)
        shape[self.axis] = room
        moved = self._array.new_empty(shape)
        moved.narrow(self.axis, 0, self.count).copy_(self.array)
        return moved
