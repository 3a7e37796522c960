"""An array that grows along one axis, with room to spare, so that few allocations are made."""

from __future__ import annotations

from typing import Any


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
