"""See what self-attention does: exactly, at any length, with the numbers behind every picture.

`attention` computes softmax(Q K^T / sqrt(d_k)) V a panel of rows at a time and reads what is
asked for off the weights in the same pass; `steps` spells the four steps out for few words;
`capture` runs a text through a real model and gives a `Record` to look at.

Names load on first use, so that importing regard costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from regard.errors import BackendError, InputError, MemoryBudgetError
    from regard.mechanism.api import attention, readings
    from regard.mechanism.loop import Panel, panels
    from regard.mechanism.mask import Mask
    from regard.mechanism.readings import (
        Ask,
        AttentionResult,
        Readings,
        memory_budget,
        set_memory_budget,
    )
    from regard.mechanism.steps import Steps, project, steps, steps_from_scores
    from regard.mechanism.threads import num_threads, set_num_threads
    from regard.models.capture import capture
    from regard.models.given import from_qkv, from_weights
    from regard.record import Layer, Record, Side
    from regard.storage import load

_HOMES: Final = {
    "regard.errors": ("BackendError", "InputError", "MemoryBudgetError"),
    "regard.mechanism.api": ("attention", "readings"),
    "regard.mechanism.loop": ("Panel", "panels"),
    "regard.mechanism.mask": ("Mask",),
    "regard.mechanism.readings": (
        "Ask",
        "AttentionResult",
        "Readings",
        "memory_budget",
        "set_memory_budget",
    ),
    "regard.mechanism.steps": ("Steps", "project", "steps", "steps_from_scores"),
    "regard.mechanism.threads": ("num_threads", "set_num_threads"),
    "regard.models.capture": ("capture",),
    "regard.models.given": ("from_qkv", "from_weights"),
    "regard.record": ("Layer", "Record", "Side"),
    "regard.storage": ("load",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the table above is the one list of public names
    "__version__",
    *_HOME_OF,
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("regard")
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
