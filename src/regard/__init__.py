"""See what self-attention does: exactly, at any length, with the numbers behind every picture.

`attention` computes softmax(Q K^T / sqrt(d_k)) V a panel of rows at a time and reads what is
asked for off the weights in the same pass; `steps` spells the four steps out for few words;
`capture` runs a text through a real model and gives a `Record` to look at.

Names load on first use, so that importing regard costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

# "as" tells type checkers that a name is meant to be used from here.
if TYPE_CHECKING:
    from regard.errors import (
        BackendError as BackendError,
        InputError as InputError,
        MemoryBudgetError as MemoryBudgetError,
    )
    from regard.mechanism.api import attention as attention, readings as readings
    from regard.mechanism.loop import Panel as Panel, panels as panels
    from regard.mechanism.mask import Mask as Mask
    from regard.mechanism.readings import (
        Ask as Ask,
        AttentionResult as AttentionResult,
        Readings as Readings,
        memory_budget as memory_budget,
        set_memory_budget as set_memory_budget,
    )
    from regard.mechanism.steps import (
        Steps as Steps,
        project as project,
        steps as steps,
        steps_from_scores as steps_from_scores,
    )
    from regard.mechanism.threads import (
        num_threads as num_threads,
        set_num_threads as set_num_threads,
    )
    from regard.models.capture import capture as capture
    from regard.models.cut import Cut as Cut
    from regard.models.effect import Effect as Effect, effect as effect
    from regard.models.given import from_qkv as from_qkv, from_weights as from_weights
    from regard.models.loading import load_model as load_model
    from regard.models.watch import watch as watch
    from regard.record import Layer as Layer, Record as Record, Side as Side
    from regard.storage import load as load

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
    "regard.models.cut": ("Cut",),
    "regard.models.effect": ("Effect", "effect"),
    "regard.models.given": ("from_qkv", "from_weights"),
    "regard.models.loading": ("load_model",),
    "regard.models.watch": ("watch",),
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
