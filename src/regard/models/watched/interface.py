"""One call of transformers' attention interface in regard's terms, and how such calls are met.

Models ask `ALL_ATTENTION_FUNCTIONS` for the function that computes their attention, at every
forward pass. While an `intercept` is open, the function they are given passes each call on to a
handler. Nothing is registered and no configuration is changed, so masks are built as ever.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from regard.errors import BackendError, InputError
from regard.mechanism.mask import Mask
from regard.models.watched.masks import fitting, flash_mask, plain_mask

if TYPE_CHECKING:
    from jaxtyping import Float

    Handler = Callable[[Any, Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Any]

_HARMLESS: Final = frozenset(
    {
        "cache_position",
        "deterministic",
        "dropout",
        "is_causal",
        "labels",
        "logits_to_keep",
        "num_items_in_batch",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "position_bias",
        "position_ids",
        "return_dict",
        "s_aux",
        "scaling",
        "seq_idx",
        "sinks",
        "sliding_window",
        "softcap",
        "token_type_ids",
        "use_cache",
    }
)
"""Keywords that are read here, or that no attention function lets change its result."""

_PACKED: Final = frozenset({"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"})
"""Where packed sequences end: the flash functions read it, the others have it in their mask."""


@dataclass(frozen=True, eq=False)
class ModelCall:
    """One call of the attention interface. Tensors are detached views of the model's own.

    query: `(batch, heads, queries, dim)`. key: `(batch, kv_heads, keys, dim)`. value: `(batch,
        kv_heads, keys, value_dim)`. Grouped heads are not repeated.
    mask: what holds for this call, its arrays tensors on the model's device.
    scale, softcap, sinks `(heads)`: as `regard.attention` takes them.
    """

    query: Float[Any, "batch heads queries dim"]
    key: Float[Any, "batch kv_heads keys dim"]
    value: Float[Any, "batch kv_heads keys value_dim"]
    mask: Mask
    scale: float
    softcap: float | None
    sinks: Float[Any, " heads"] | None


def unpack(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
    """query, key, value, attention_mask and all other keywords, however a model passed them."""
    rest = dict(kwargs)
    names = ("query", "key", "value", "attention_mask")
    if len(args) > len(names):
        raise InputError(
            f"attention was called with {len(args)} arguments before its keywords: expected query, "
            "key, value and attention_mask. Watch other layers."
        )
    given = dict(zip(names, args, strict=False))
    found = [given[name] if name in given else rest.pop(name, None) for name in names]
    return found[0], found[1], found[2], found[3], rest


def implementation_of(function: Callable[..., Any], name: str) -> str:
    """'eager', 'sdpa' or 'flash': how this function of the interface reads its mask.

    Raises InputError for one that is not known, naming the module that uses it.
    """
    from transformers.modeling_utils import AttentionInterface

    own = inspect.unwrap(function)
    registered: dict[str, Any] = AttentionInterface._global_mapping
    for known, function_of in registered.items():
        if inspect.unwrap(function_of) is own and known in _IMPLEMENTATIONS:
            return _IMPLEMENTATIONS[known]
    called = getattr(own, "__name__", type(own).__name__)
    if "eager" in called and "paged" not in called:
        return "eager"
    raise InputError(
        f"{name} computes its attention with {called}, whose mask regard does not read: load the "
        "model with attn_implementation='sdpa' or 'eager'."
    )


_IMPLEMENTATIONS: Final = {
    "sdpa": "sdpa",
    "flash_attention_2": "flash",
    "flash_attention_3": "flash",
    "flash_attention_4": "flash",
}


def read_call(
    module: Any,
    name: str,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    kwargs: Mapping[str, Any],
    implementation: str,
) -> ModelCall:
    """What a module's call of the attention interface computes.

    name: what to call the module in errors. kwargs: the call's other keywords. implementation:
    see `implementation_of`. Dropout is left out: the weights are those of the true softmax.

    A mask of floats that says 'not seen' with the lowest number of its dtype, as transformers'
    do, becomes `allowed`. Raises InputError for a keyword not known to be harmless, since it may
    change the mathematics, and for arguments that cannot be read.
    """
    _check_keywords(name, kwargs, implementation)
    for what, tensor in (("query", query), ("key", key), ("value", value)):
        if getattr(tensor, "ndim", 0) != 4:
            shape = tuple(getattr(tensor, "shape", ())) or type(tensor).__name__
            raise InputError(
                f"{what} of {name} is {shape}: expected (batch, heads, tokens, dim). This "
                "attention is of a kind that regard does not read: leave the layer out."
            )
    query, key, value = query.detach(), key.detach(), value.detach()
    scale = kwargs.get("scaling")
    if implementation == "flash":
        mask = flash_mask(module, query, key, attention_mask, kwargs)
    else:
        mask = plain_mask(module, name, query, key, attention_mask, kwargs, implementation)
    return ModelCall(
        query=query,
        key=key,
        value=value,
        mask=mask,
        scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
        softcap=None if kwargs.get("softcap") is None else float(kwargs["softcap"]),
        sinks=_sinks(module, name, query, kwargs, implementation),
    )


def _check_keywords(name: str, kwargs: Mapping[str, Any], implementation: str) -> None:
    for keyword, given in kwargs.items():
        if given is not None and keyword not in _HARMLESS and keyword not in _PACKED:
            raise InputError(
                f"{name} passes {keyword}={_brief(given)} to its attention, and regard does not "
                "know whether it changes the mathematics: leave the layer out with layers=, or "
                f"call the model without {keyword}."
            )


def _brief(given: Any) -> str:
    shape = getattr(given, "shape", None)
    return repr(given)[:40] if shape is None else f"{type(given).__name__}{tuple(shape)}"


def _sinks(
    module: Any, name: str, query: Any, kwargs: Mapping[str, Any], implementation: str
) -> Any:
    """One number a head, or None; the sdpa function knows no sinks."""
    if implementation == "sdpa":
        return None
    given = [kwargs.get("s_aux"), kwargs.get("sinks")]
    if implementation == "eager":
        given.append(getattr(module, "sinks", None))
    sinks = next((sink for sink in given if sink is not None), None)
    if sinks is None:
        return None
    if sinks.numel() != query.shape[1]:
        raise InputError(
            f"sinks of {name} have shape {tuple(sinks.shape)}: expected one number for each of "
            f"its {query.shape[1]} heads. Leave the layer out with layers=."
        )
    return fitting(sinks.reshape(-1), query)


class intercept:  # noqa: N801 - used as a context manager, and reads as a verb
    """While it is open, every call of the attention interface goes through `handler`.

    handler(module, function, args, kwargs) must give what the model is to get:
    `function(module, *args, **kwargs)` is the model's own (output, weights or None). Intercepts
    may overlap and end in any order: the one opened first stands nearest to the model. When the
    last is closed, everything is as it was.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    def __enter__(self) -> Self:
        with _lock:
            if not _open:
                _patch()
            _open.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                _restore()


_lock: Final = RLock()
_open: Final[list[intercept]] = []
_before: Final[dict[str, Any]] = {}
_METHODS: Final = ("get_interface", "__getitem__")


def _patch() -> None:
    """Hand out functions that pass by the open intercepts, whichever way a model asks for them."""
    from transformers.modeling_utils import AttentionInterface

    if not hasattr(AttentionInterface, "get_interface"):
        raise BackendError(
            "this version of transformers has no AttentionInterface.get_interface: "
            "pip install 'transformers>=5.0'."
        )
    for method in _METHODS:
        if method in vars(AttentionInterface):
            _before[method] = vars(AttentionInterface)[method]
        setattr(AttentionInterface, method, _handing_out(getattr(AttentionInterface, method)))


def _restore() -> None:
    from transformers.modeling_utils import AttentionInterface

    for method in _METHODS:
        delattr(AttentionInterface, method)
        if method in _before:
            setattr(AttentionInterface, method, _before.pop(method))


def _handing_out(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def hand_out(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = method(self, *args, **kwargs)
        # get_interface looks the name up through __getitem__
        return function if isinstance(function, _Passing) else _Passing(function)

    return hand_out


class _Passing:
    """An attention function that passes each call by the intercepts open at that time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        function = self.function
        for one in tuple(_open):
            function = _handled(one.handler, function)
        return function(module, *args, **kwargs)


def _handled(handler: Handler, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def handle(module: Any, *args: Any, **kwargs: Any) -> Any:
        return handler(module, function, args, kwargs)

    return handle
