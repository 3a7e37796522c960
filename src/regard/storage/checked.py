"""Parts of a file taken one at a time, each checked as it is taken and nothing left over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from regard.errors import InputError


class Fields:
    """The fields of one JSON object, each taken once and of a type that was expected."""

    def __init__(self, name: str, form: Any) -> None:
        if not isinstance(form, dict):
            raise InputError(f"{name} is {type(form).__name__}: expected a JSON object.")
        self.name = name
        self.left = dict(form)

    def take(self, field: str, *kinds: type) -> Any:
        value = self.left.pop(field, ...)
        if type(value) not in kinds:  # True is no whole number here
            seen = "missing" if value is ... else type(value).__name__
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"{field} of {self.name} is {seen}: expected {wanted}.")
        return value

    def done(self) -> None:
        if self.left:
            unknown = ", ".join(repr(str(key)[:40]) for key in list(self.left)[:3])
            raise InputError(f"{self.name} has the unknown fields {unknown}.")


class Store:
    """The arrays of a file, each taken once; shapes are checked before an array is read."""

    def __init__(
        self, shapes: Mapping[str, tuple[int, ...]], read: Callable[[str], np.ndarray]
    ) -> None:
        self.left = dict(shapes)
        self.read = read

    def take(self, name: str, shape: tuple[int, ...] | None, kinds: str) -> np.ndarray:
        if name not in self.left:
            raise InputError(f"its array {name} is missing.")
        seen = self.left.pop(name)
        if shape is not None and (
            len(seen) != len(shape)
            or any(size not in (-1, found) for size, found in zip(shape, seen, strict=True))
        ):
            raise InputError(f"its array {name} has shape {seen}: expected {shape}.")
        array = self.read(name)
        if array.dtype.kind not in kinds:
            raise InputError(f"its array {name} has dtype {array.dtype}, which it cannot have.")
        return array

    def optional(self, name: str, shape: tuple[int, ...] | None, kinds: str) -> Any:
        return self.take(name, shape, kinds) if name in self.left else None

    def done(self) -> None:
        if self.left:
            unknown = ", ".join(repr(name[:40]) for name in list(self.left)[:3])
            raise InputError(f"it has the unknown arrays {unknown}.")
