"""Which layer of a model a call of its attention belongs to: its number and its name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CROSS: Final = re.compile(r"cross|enc_?dec|encoder_attn", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """A layer's attention. stack: the name of the stack it is in; key_stack: of the one it reads.

    number: as written in L3H1. order: which was called first. cross: whether it reads another
    sequence than its own.
    """

    number: int
    name: str
    stack: str
    cross: bool
    order: int


class Places:
    """Every layer that has called so far, numbered as the model numbers it.

    A number is the module's `layer_idx`, else the one index in its name, else the order of the
    first call, counted for each stack and for cross-attention by itself.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Place] = {}

    def __iter__(self) -> Any:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def place(self, module: Any, name: str, stack: str, call: int) -> Place:
        """The layer of a module's call; call: the how-manieth of this module in the pass."""
        if (name, call) not in self._found:
            cross = bool(getattr(module, "is_cross_attention", False) or _CROSS.search(name))
            family = [place for place in self if (place.stack, place.cross) == (stack, cross)]
            taken = {place.number for place in family}
            number, sure = _own_number(module, name)
            if not sure or (number in taken and call == 0):
                number = max(taken, default=-1) + 1
            called = name if call == 0 else f"{name} (call {call + 1})"
            self._found[name, call] = Place(number, called, stack, cross, len(self._found))
        return self._found[name, call]


def _own_number(module: Any, name: str) -> tuple[int, bool]:
    """The number that a module or its name says it has, and whether it says one."""
    indices = re.findall(r"\.([0-9]+)(?=\.|$)", f".{name}")
    said = getattr(module, "layer_idx", None)
    if isinstance(said, int) and not isinstance(said, bool):
        return said, True
    return (int(indices[0]), True) if len(indices) == 1 else (0, False)


class Choice:
    """The layers that were chosen, by number or by the name of their module."""

    def __init__(self, layers: Iterable[int | str] | None) -> None:
        given = [layers] if isinstance(layers, (int, str)) else layers
        self.layers = None if given is None else list(given)
        for one in self.layers or ():
            whole = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
            if not isinstance(one, str) and not (whole and one >= 0):
                raise InputError(
                    f"layers holds {one!r}: expected numbers from 0, or names of modules as "
                    "'*cross*', or None for all."
                )
        self._used: set[int | str] = set()

    def takes(self, place: Place) -> bool:
        """Whether this layer was chosen."""
        if self.layers is None:
            return True
        fitting = {
            one
            for one in self.layers
            if (
                fnmatch.fnmatchcase(place.name, one)
                if isinstance(one, str)
                else one == place.number
            )
        }
        self._used |= fitting
        return bool(fitting)

    def check_used(self, places: Places) -> None:
        """Raises InputError if some of what was chosen never appeared."""
        missing = [one for one in self.layers or () if one not in self._used]
        if missing:
            numbers = sorted({place.number for place in places})
            raise InputError(
                f"layers holds {missing[0]!r}, and the layers that attended are numbered "
                f"{_runs(numbers)}, named as {next(iter(places)).name!r}."
            )


def _runs(numbers: Sequence[int]) -> str:
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers)
