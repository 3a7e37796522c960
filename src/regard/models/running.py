"""A text through a transformers model, once, watched: forward, or with what the model writes."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from regard.errors import InputError
from regard.models.size import Size
from regard.models.watch import watch

if TYPE_CHECKING:
    from regard.mechanism.readings import Ask
    from regard.record import Record

Progress = Callable[[int, int], None]
"""Called with how many steps are done, and how many there are: layers, then tokens written."""

_NO_LIMIT: Final = 10**9
"""Tokenizers that know no limit give a number far beyond."""


def read_text(
    text: str,
    model: Any,
    tokenizer: Any,
    *,
    ask: Ask | None,
    layers: Iterable[int] | None,
    keep: Iterable[str],
    generate: int,
    progress: Progress | None = None,
    keep_partial: bool = False,
) -> Record:
    """The record of one pass over `text`, and of `generate` tokens that the model adds greedily.

    Of an encoder-decoder that writes nothing, the encoder alone runs. keep_partial: whether an
    interrupt by Ctrl-C gives the record of the layers that were done, with 'stopped' in its
    provenance, where there are any. Raises InputError for what the model cannot read.
    """
    import torch

    inputs = _inputs(text, model, tokenizer)
    tokens = int(inputs["input_ids"].shape[1])
    _check_length(model, tokenizer, tokens, generate)
    steps = _Steps(model, max(generate - 1, 0), progress)
    stopped = False
    said: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        seen = stack.enter_context(
            watch(model, tokenizer=tokenizer, texts=text, ask=ask, layers=layers, keep=keep)
        )
        stack.enter_context(torch.no_grad())
        stack.enter_context(steps.followed())
        try:
            said = _run(model, tokenizer, inputs, tokens, generate)
        except KeyboardInterrupt:
            if not (keep_partial and steps.done):
                raise
            stopped = True
    record = seen.record
    if stopped:
        said["stopped"] = steps.reached(len(record.layers))
    return dataclasses.replace(record, provenance={**record.provenance, **said})


def size_of(text: str, model: Any, tokenizer: Any, layers: Iterable[int] | None) -> Size:
    """What recording a text will be about, before it is done; 0 for what is not known."""
    config = _text_config(model.config)
    heads = _number(config, "num_attention_heads", "n_head", "num_heads")
    hidden = _number(config, "hidden_size", "n_embd", "d_model", "dim")
    return Size(
        tokens=len(tokenizer(text)["input_ids"]),
        layers=_layers(config) if layers is None else len(set(layers)),
        heads=heads,
        kv_heads=_number(config, "num_key_value_heads") or heads,
        dim=_number(config, "head_dim", "d_kv") or hidden // max(heads, 1),
    )


def writes(model: Any) -> bool:
    """Whether a model can go on with a text, or write an answer to it."""
    can = getattr(model, "can_generate", None)
    return bool(can is not None and can())


def _run(model: Any, tokenizer: Any, inputs: Any, tokens: int, generate: int) -> dict[str, str]:
    """Run the model; what is to be said of it in the provenance."""
    two_stacks = bool(getattr(model.config, "is_encoder_decoder", False))
    if generate:
        if not writes(model):
            raise InputError(
                f"generate is {generate} and {type(model).__name__} writes no text: leave it out, "
                "or load a decoder."
            )
        written = model.generate(
            **inputs,
            max_new_tokens=generate,
            do_sample=False,
            num_beams=1,
            pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
        )[0]
        new = written if two_stacks else written[tokens:]
        return {"generated": tokenizer.decode(new, skip_special_tokens=True)}
    whole = model.get_encoder() if two_stacks else model
    accepted = inspect.signature(whole.forward).parameters
    more = {"use_cache": False, "logits_to_keep": 1}
    whole(**inputs, **{name: value for name, value in more.items() if name in accepted})
    return {}


def _inputs(text: str, model: Any, tokenizer: Any) -> dict[str, Any]:
    if not isinstance(text, str):
        raise InputError(f"text is {type(text).__name__}: expected a str.")
    reads = getattr(model, "main_input_name", "input_ids")
    if reads != "input_ids":
        raise InputError(
            f"{type(model).__name__} reads {reads}, not text: run it yourself inside "
            "regard.watch(model)."
        )
    made = tokenizer(text, return_tensors="pt")
    if not made["input_ids"].shape[1]:
        raise InputError("text has no tokens for this model: give at least one word.")
    accepted = inspect.signature(model.forward).parameters
    return {
        name: tensor.to(model.device)
        for name, tensor in made.items()
        if name in accepted or name in ("input_ids", "attention_mask")
    }


def _check_length(model: Any, tokenizer: Any, tokens: int, generate: int) -> None:
    config = _text_config(model.config)
    most = _number(config, "max_position_embeddings", "n_positions") or _NO_LIMIT
    if getattr(model.config, "model_type", "") in ("t5", "mt5", "umt5"):
        most = _NO_LIMIT  # positions are relative
    longest = getattr(tokenizer, "model_max_length", None) or _NO_LIMIT
    if most < _NO_LIMIT:
        most = min(most, longest)
    two_stacks = bool(getattr(model.config, "is_encoder_decoder", False))
    needed = tokens + (0 if two_stacks else generate)
    if needed > most:
        and_new = f" and {generate} to write" if generate and not two_stacks else ""
        raise InputError(
            f"text has {tokens} tokens{and_new}, and {model.config._name_or_path or 'the model'} "
            f"reads at most {most}. Split it, or shorten it."
        )


class _Steps:
    """How far a run is: a step a layer in the first pass over the text, then one a pass."""

    def __init__(self, model: Any, more: int, progress: Progress | None) -> None:
        self._layers = _stack(model)
        self._progress = progress
        self.total = len(self._layers) + more
        self.done = 0

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Count while this is open."""
        handles = [
            layer.register_forward_hook(self._hook(place))
            for place, layer in enumerate(self._layers)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def reached(self, recorded: int) -> str:
        """How far it got, in words."""
        layers = len(self._layers)
        if self.done < layers:
            return f"with {recorded} of {layers} layers"
        return f"after {self.done - layers + 1} of {self.total - layers + 1} tokens"

    def _hook(self, place: int) -> Callable[..., None]:
        def after(*given: Any) -> None:
            count = len(self._layers)
            if self.done < count or place == count - 1:
                self.done = min(self.done + 1, self.total)
                if self._progress is not None:
                    self._progress(self.done, self.total)

        return after


def _stack(model: Any) -> list[Any]:
    """The layers that a text goes through first: the longest list of equal modules of a stack."""
    from torch.nn import ModuleList

    whole = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
    lists = [
        module
        for module in whole.modules()
        if isinstance(module, ModuleList) and len({type(layer) for layer in module}) == 1
    ]
    return max((list(layers) for layers in lists), key=len, default=[])


def _text_config(config: Any) -> Any:
    whole = config.get_text_config() if hasattr(config, "get_text_config") else config
    return whole if whole is not None else config


def _layers(config: Any) -> int:
    count = _number(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if getattr(config, "is_encoder_decoder", False):
        count = _number(config, "encoder_layers", "num_layers") or count
    return count


def _number(config: Any, *names: str) -> int:
    for name in names:
        found = getattr(config, name, None)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return 0
