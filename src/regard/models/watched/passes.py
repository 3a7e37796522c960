"""A model's forward passes as they happen: which part of it is running, and what it was given."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from regard.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64


@dataclass(eq=False)
class Frame:
    """One running forward of a stack: a part of the model that takes ids or embeddings.

    past: tokens that its cache held before; cached: whether it was given one.
    ids: `(batch, tokens)` that it was given, or None.
    padding: `(batch, tokens)` its 2-D attention_mask, past included, False at padding, or None.
    calls: how often each module has called attention, less one. begun: whether any has.
    """

    stack: Any
    name: str
    past: int
    cached: bool
    ids: Int64[np.ndarray, "batch tokens"] | None
    padding: Bool[np.ndarray, "batch tokens"] | None
    calls: dict[str, int] = field(default_factory=dict)
    begun: bool = False


class Passes:
    """Follows the forward passes of a model, while it is open.

    begin(frame, outermost) is called as each stack's forward begins. A pass is the forward of
    the outermost stack; outside of one, as when gradient checkpointing computes a layer again in
    the backward pass, `frames` is empty.
    """

    def __init__(self, model: Any, begin: Callable[[Frame, bool], None]) -> None:
        self.frames: list[Frame] = []
        self.stack_of: dict[Any, str] = {}
        self.name_of: dict[Any, str] = {}
        self._stacks: dict[str, Any] = {}
        self._begin = begin
        self._thread = 0
        self._handles: list[Any] = []
        self._caches: list[Any] = []
        self._lay_out(model)

    def __enter__(self) -> Self:
        for name, stack in self._stacks.items():
            self._handles.append(
                stack.register_forward_pre_hook(self._enter_stack(name), with_kwargs=True)
            )
            self._handles.append(
                stack.register_forward_hook(self._leave_stack, with_kwargs=True, always_call=True)
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            handle.remove()
        for cache in self._caches:
            vars(cache).pop("reorder_cache", None)
        self._handles.clear()
        self._caches.clear()
        self.frames.clear()

    def within(self, name: str) -> list[str]:
        """The names of all stacks inside the stack of this name, itself included."""
        inside = f"{name}." if name else ""
        return [other for other in self._stacks if other == name or other.startswith(inside)]

    def lookup(self, stack: str, wanted: str) -> Any:
        """`ids` or `padding` of a stack as its innermost running frame or one around it has it.

        Embeddings come to a language model from the model around it, which was given the ids; an
        encoder-decoder's own ids are its encoder's, so they are not looked for there.
        """
        for frame in reversed(self.frames):
            if not _holds(frame.name, stack):
                continue
            found = getattr(frame, wanted)
            config = getattr(frame.stack, "config", None)
            if found is not None and (
                frame.name == stack or not getattr(config, "is_encoder_decoder", False)
            ):
                return found
            if getattr(frame.stack, "main_input_name", "input_ids") != "input_ids":
                return None
        return None

    def frame(self, stack: str) -> Frame | None:
        """The innermost running frame of this stack."""
        return next((frame for frame in reversed(self.frames) if frame.name == stack), None)

    def _lay_out(self, model: Any) -> None:
        """Name every module, and the stack that it belongs to."""
        from transformers import PreTrainedModel

        self._stacks[""] = model
        for name, module in model.named_modules():
            if module is not model and isinstance(module, PreTrainedModel):
                self._stacks[name] = module
            self.name_of[module] = name
        owners = sorted(self._stacks, key=len, reverse=True)
        for module, name in self.name_of.items():
            self.stack_of[module] = next(owner for owner in owners if _holds(owner, name))

    def _enter_stack(self, name: str) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], None]:
        def enter(stack: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            thread = threading.get_ident()
            if self.frames and self._thread != thread:
                raise InputError(
                    "two threads run the watched model at once, and their passes would mix: run "
                    "one after the other, or give each thread a model and a watch of its own."
                )
            self._thread = thread
            given = _arguments(stack, args, kwargs)
            cache = next((given[name] for name in _CACHES if given.get(name) is not None), None)
            self._refuse_beams(cache)
            frame = Frame(
                stack=stack,
                name=name,
                past=_length(cache),
                cached=cache is not None,
                ids=_two_axes(given.get("input_ids")),
                padding=_flags(given.get("attention_mask")),
            )
            outermost = not self.frames
            self.frames.append(frame)
            self._begin(frame, outermost and given.get("encoder_outputs") is None)

        return enter

    def _leave_stack(self, stack: Any, args: Any, kwargs: Any, output: Any) -> None:
        if self.frames and self.frames[-1].stack is stack:
            self.frames.pop()

    def _refuse_beams(self, cache: Any) -> None:
        """Let a cache say no when a beam search reorders its rows."""
        if cache is None or not hasattr(cache, "reorder_cache") or not hasattr(cache, "__dict__"):
            return
        if "reorder_cache" not in vars(cache):
            cache.reorder_cache = _no_beams
            self._caches.append(cache)


_CACHES: Final = ("cache", "past_key_values", "cache_params")
"""What models call the keys and values of the tokens before."""

_BEAMS: Final = (
    "beam search moves rows from one beam to another, so that no row is one text from start to "
    "end: watch model.generate(..., num_beams=1)."
)


def _no_beams(*args: Any, **kwargs: Any) -> None:
    raise InputError(_BEAMS)


def _holds(outer: str, name: str) -> bool:
    """Whether the module of one name contains that of the other, or is it."""
    return outer in ("", name) or name.startswith(f"{outer}.")


def _arguments(stack: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a forward was given, by name."""
    if not args:
        return kwargs
    names = [
        name
        for name, parameter in inspect.signature(stack.forward).parameters.items()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    if not names:  # a wrapper's forward(*args, **kwargs): its model's own frame knows more
        return kwargs
    return dict(zip(names, args, strict=False)) | kwargs


def _length(cache: Any) -> int:
    return int(cache.get_seq_length()) if hasattr(cache, "get_seq_length") else 0


def _two_axes(ids: Any) -> Int64[np.ndarray, "batch tokens"] | None:
    if getattr(ids, "ndim", 0) != 2:
        return None
    return np.array(ids.detach().cpu().numpy(), np.int64)


def _flags(mask: Any) -> Bool[np.ndarray, "batch tokens"] | None:
    if getattr(mask, "ndim", 0) != 2:
        return None
    return np.array((mask.detach() > 0).cpu().numpy(), np.bool_)
