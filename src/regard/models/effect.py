"""What cut attention does to an answer: the change of its log-probability."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import whole_numbers
from regard.models.cut import Cut, apply, in_layer
from regard.models.watched.interface import implementation_of, intercept, read_call, unpack
from regard.models.watched.places import Places

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

_READ: Final = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, eq=False)
class Effect:
    """What one cut does to an answer; log-probabilities are natural and teacher-forced.

    before, after: log p of the whole answer without and with the cut. by_token: `(answer)`,
    float64, the change of each token's; they sum to `change`.
    """

    cut: Cut
    before: float
    after: float
    by_token: Float[np.ndarray, " answer"]

    @property
    def change(self) -> float:
        """Δ log p = after − before: negative where the answer rested on what was cut."""
        return self.after - self.before


def effect(
    model: Any,
    inputs: Any,
    answer: Any,
    cuts: Cut | Iterable[Cut],
    *,
    tokenizer: Any = None,
) -> tuple[Effect, ...]:
    """Δ log p of an answer for each cut: the same pass with that attention forbidden.

    model: a causal language model of transformers, in eval mode. inputs: what its tokenizer gave
        for one prompt, without padding; or the ids; or, with `tokenizer`, the prompt itself.
    answer: ids; or, with `tokenizer`, a string, tokenized by itself as it stands: begin it with
        the blank that the prompt lacks.
    cuts: positions count through prompt and answer. The rows that predict the answer are the
        prompt's last and those of the answer but its last. To ask what reading some keys
        means to the answer and nothing else, cut `queries=slice(prompt_tokens - 1, None)`;
        with queries None, every row loses them, and what other tokens had gathered from there.

    Cost: a cut changes no row before its first query, nor, in a causal model, before its first
    key. Up to there keys and values are computed once and shared by all cuts, which is exact;
    each cut (and once for each such place the model without cut, computed in the same way) then
    costs a copy of that cache and the rows from there on: for a cut of the answer's rows, these.

    Raises InputError for a model that cannot generate, is an encoder-decoder or in training mode
    (dropout), for a padded prompt or more than one, and for a layer or head that is not there.
    """
    import torch

    chosen = (cuts,) if isinstance(cuts, Cut) else tuple(cuts)
    for cut in chosen:
        if not isinstance(cut, Cut):
            raise InputError(f"cuts holds {type(cut).__name__}: expected regard.Cut.")
    check_model(model)
    prompt = _prompt(inputs, tokenizer)
    wanted = _answer(answer, tokenizer)
    starts = [_start(cut, len(prompt)) for cut in chosen]
    found: dict[int, Effect] = {}
    with torch.no_grad():
        passes = _Passes(model, prompt, wanted)
        for start in sorted(set(starts)):
            passes.share(start)
            before = passes.log_probabilities(())
            for number, cut in enumerate(chosen):
                if starts[number] == start:
                    after = passes.log_probabilities((cut,))
                    found[number] = Effect(
                        cut, float(before.sum()), float(after.sum()), after - before
                    )
    return tuple(found[number] for number in range(len(chosen)))


class _Passes:
    """Passes over one prompt and answer that share what no cut concerns."""

    def __init__(
        self, model: Any, prompt: Int64[np.ndarray, " n"], answer: Int64[np.ndarray, " m"]
    ) -> None:
        import torch

        self.model = model
        self.names = {module: name for name, module in model.named_modules()}
        ids = np.concatenate((prompt, answer[:-1]))
        self.ids = torch.as_tensor(ids, device=model.device)[None]
        self.answer = torch.as_tensor(answer, device=model.device)
        self.keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.cache_name = _cache_name()
        self.cache: Any = None
        self.shared = 0

    def share(self, stop: int) -> None:
        """Compute keys and values up to `stop`, once."""
        if stop > self.shared:
            last = {"logits_to_keep": 1} if self.keeps else {}
            past = {} if self.cache is None else {self.cache_name: self.cache}
            ids = self.ids[:, self.shared : stop]
            seen = self.model(input_ids=ids, use_cache=True, **past, **last)
            self.cache, self.shared = getattr(seen, self.cache_name, None), stop
            if self.cache is None:
                raise InputError(
                    f"{type(self.model).__name__} gives no {self.cache_name}: expected a causal "
                    "language model with a cache."
                )

    def log_probabilities(self, cuts: Sequence[Cut]) -> Float[np.ndarray, " answer"]:
        """log p of each answer token, with these cuts."""
        import torch

        count = len(self.answer)
        last = {"logits_to_keep": count} if self.keeps else {}
        given = {"input_ids": self.ids[:, self.shared :], "use_cache": self.cache is not None}
        if self.cache is not None:
            given[self.cache_name] = copy.deepcopy(self.cache)  # a pass adds to it
        if cuts:
            cutting = _Cutting(self.names, cuts, self.shared)
            with intercept(cutting):
                seen = self.model(**given, **last)
            cutting.check()
        else:
            seen = self.model(**given, **last)
        logits = seen.logits[0, -count:].float()
        at = torch.arange(count, device=logits.device)
        found = logits.log_softmax(-1)[at, self.answer.to(logits.device)]
        result: Float[np.ndarray, " answer"] = found.double().cpu().numpy()
        return result


class _Cutting:
    """Handles the attention calls of one model while cuts hold. past: rows before this pass."""

    def __init__(self, names: Mapping[Any, str], cuts: Sequence[Cut], past: int) -> None:
        self.names, self.cuts, self.past = names, cuts, past
        self.places = Places()

    def __call__(
        self, module: Any, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        result = function(module, *args, **kwargs)
        if module not in self.names:
            return result
        name = self.names[module]
        cuts = in_layer(self.cuts, self.places.place(module, name, "", 0).number)
        if not cuts:
            return result
        query, key, value, mask, rest = unpack(args, kwargs)
        call = read_call(
            module, name, query, key, value, mask, rest, implementation_of(function, name)
        )
        # a cache with a window drops its oldest keys; the last one is always the last row's
        first_key = self.past + call.query.shape[2] - call.key.shape[2]
        output = apply(call, result[0], cuts, first_query=self.past, first_key=first_key)
        return (output, *result[1:])

    def check(self) -> None:
        """Raises InputError if a cut named no layer that was there."""
        numbers = sorted({place.number for place in self.places})
        if not numbers:
            raise InputError(
                "no attention of this model went through transformers' attention interface: "
                "nothing was cut."
            )
        for cut in self.cuts:
            if not any(in_layer((cut,), number) for number in numbers):
                raise InputError(
                    f"{cut!r} names no layer of this model: expected {numbers[0]} to {numbers[-1]}."
                )


def _cache_name() -> str:
    """What models call the keys and values of the rows before; it changed in transformers 5."""
    from transformers.modeling_outputs import CausalLMOutputWithPast

    named = CausalLMOutputWithPast.__dataclass_fields__
    return "cache" if "cache" in named else "past_key_values"


def _start(cut: Cut, prompt: int) -> int:
    """The first row that a cut can change, or the first that predicts the answer if before."""
    return min(max(_first(cut.queries), _first(cut.keys)), prompt - 1)


def _first(chosen: Any) -> int:
    if chosen is None:
        return 0
    if isinstance(chosen, slice):
        return int(chosen.start or 0)
    return int(np.min(whole_numbers("cut", chosen)))


def check_model(model: Any) -> None:
    """Raises InputError unless the model goes on writing a prompt, the same each time."""
    name = type(model).__name__
    can_generate = getattr(model, "can_generate", None)
    if can_generate is None or not can_generate():
        raise InputError(f"model is {name}: expected a causal language model of transformers.")
    if getattr(model.config, "is_encoder_decoder", False):
        raise InputError(
            f"{name} is an encoder-decoder: expected a model that reads prompt and answer as one "
            "sequence. regard.watch(model, cut=...) cuts there."
        )
    if model.training:
        raise InputError(f"{name} is in training mode, and dropout is noise: call model.eval().")


def _prompt(inputs: Any, tokenizer: Any) -> Int64[np.ndarray, " n"]:
    if isinstance(inputs, str):
        inputs = _tokenizer(tokenizer, "inputs")(inputs)
    if isinstance(inputs, Mapping):
        for name in inputs:
            if name not in _READ:
                raise InputError(f"inputs has {name!r}: expected some of {', '.join(_READ)}.")
        if "input_ids" not in inputs:
            raise InputError("inputs has no 'input_ids': pass what the tokenizer gave.")
        mask = inputs.get("attention_mask")
        if mask is not None and not whole_numbers("attention_mask", mask).all():
            raise InputError("inputs is padded: expected one prompt, all of attention_mask 1.")
        inputs = inputs["input_ids"]
    return _ids("inputs", inputs)


def _answer(answer: Any, tokenizer: Any) -> Int64[np.ndarray, " m"]:
    if isinstance(answer, str):
        given = _tokenizer(tokenizer, "answer")(answer, add_special_tokens=False)
        return _ids("answer", given["input_ids"])
    return _ids("answer", answer)


def _tokenizer(tokenizer: Any, name: str) -> Any:
    if tokenizer is None:
        raise InputError(f"{name} is a text: give tokenizer= as well, or token ids.")
    return tokenizer


def _ids(name: str, given: Any) -> Int64[np.ndarray, " n"]:
    ids = whole_numbers(name, given)
    if ids.ndim == 2 and len(ids) == 1:
        ids = ids[0]
    if ids.ndim != 1:
        raise InputError(f"{name} has shape {ids.shape}: expected the token ids of one text.")
    if not len(ids):
        raise InputError(f"{name} is empty: expected at least one token.")
    return ids
