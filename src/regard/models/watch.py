"""Reading a Hugging Face model as it runs: beside its own attention, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import whole_numbers
from regard.mechanism.readings import Ask
from regard.models.cut import Cut, apply, in_layer
from regard.models.watched.asked import Sample
from regard.models.watched.collection import Collection
from regard.models.watched.interface import (
    ModelCall,
    implementation_of,
    intercept,
    read_call,
    unpack,
)
from regard.models.watched.naming import Vocabulary
from regard.models.watched.passes import Frame, Passes
from regard.models.watched.places import Choice, Place, Places
from regard.models.watched.seen import Seen, architecture_of
from regard.models.watched.track import KEPT, Wanted


@contextmanager
def watch(
    model: Any,
    *,
    tokenizer: Any = None,
    texts: str | Iterable[str] | None = None,
    ask: Ask | None = None,
    layers: Iterable[int | str] | None = None,
    heads: Iterable[int] | None = None,
    keep: Iterable[str] = (),
    cut: Cut | Iterable[Cut] = (),
) -> Iterator[Seen]:
    """Read what a transformers model attends to while it runs; a context manager.

        ask = regard.Ask(queries="last", top=8)
        with regard.watch(model, tokenizer=tokenizer, ask=ask) as seen:
            model.generate(**inputs)
        seen.record

    The model's own attention does the work: its output is the same, bit for bit, and its
    gradients are untouched. Readings are computed beside it, of the chosen layers, heads and rows
    only, from the true softmax (without dropout), and never queries x keys at once. On exit
    everything is as it was, also after an exception.

    model: any model of transformers whose attention goes through its attention interface, with
        attn_implementation 'sdpa', 'eager' or a flash one; in eval or train mode; wrapped by PEFT.
    tokenizer: gives the record tokens, words and special tokens; without it they are positions.
        texts: what was tokenized, one for each item, so that words are cut from the text itself
        and not from the decoded ids.
    ask: what to read, in each chosen layer. Rows and keys count from an item's first token that
        is no padding. In a generation the prompt's rows are those asked for, and the row of each
        new token is added. Readings of rows (top, share, entropy, lse, max_score, rows, columns,
        groups) are put one after another, received and eligible are summed; thumbnail is of one
        pass and refused. None reads what `seen.summary()` needs, of 64 rows spread over a pass.
        Where it has no groups of its own, the weight on the first token and on special tokens is
        read as well.
    layers: numbers from 0, or names of modules, in which * stands for anything ('*cross*').
    heads: numbers of query heads, from 0, in every chosen layer.
    keep: which of 'query', 'key', 'value' to keep, so that any row or step can be asked for
        afterwards. `seen.memory` and the log say what they take; past the memory budget,
        MemoryBudgetError is raised before anything is kept.
    cut: attention to forbid in these passes (`regard.Cut`); those rows are computed again.

    A pass is the forward of the model, or of a part that takes ids or embeddings; attention
    computed outside of one (gradient checkpointing in the backward pass) is not read.

    Raises InputError within the pass for a keyword or kind of attention that is not known, for
    beam search and for two threads in one model; and on exit, if no exception is under way, when
    the model's attention never came by, naming its architecture, or a chosen layer did not.
    """
    watching = _Watching(model, tokenizer, texts, ask, layers, heads, keep, cut)
    with watching.passes, intercept(watching.handle):
        yield watching.seen
    watching.check()


class _Watching:
    """One open watch."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        texts: Any,
        ask: Any,
        layers: Any,
        heads: Any,
        keep: Any,
        cut: Any,
    ) -> None:
        _check_model(model)
        self.model = model
        self.choice = Choice(layers)
        self.places = Places()
        self.passes = Passes(model, self.begin)
        self.cuts = _cuts(cut)
        self.wanted = _wanted(ask, heads, keep)
        vocabulary = Vocabulary(tokenizer, getattr(model, "config", None))
        self.collection = Collection(self.wanted, vocabulary, self.layers_like)
        self.seen = Seen(
            model, self.collection, [texts] if isinstance(texts, str) else _list(texts)
        )

    def begin(self, frame: Frame, anew: bool) -> None:
        """A stack's forward begins; anew: of the outermost one, which goes on from nothing."""
        if anew and frame.past == 0:
            self.collection.forget(self.passes.within(frame.name))

    def handle(
        self,
        module: Any,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """One call of the attention interface, by this model or another."""
        output = function(module, *args, **kwargs)
        name = self.passes.name_of.get(module)
        frame = None if name is None else self.passes.frame(self.passes.stack_of[module])
        if name is None or frame is None:
            return output
        count = frame.calls[name] = frame.calls.get(name, -1) + 1
        place = self.places.place(module, name, frame.name, count)
        query, key, value, mask, rest = unpack(args, kwargs)
        if not frame.begun:
            frame.begun = True
            ids, padding = (self.passes.lookup(frame.name, it) for it in ("ids", "padding"))
            self.collection.begin(frame.name, frame.past, tuple(query.shape), ids, padding)
        cuts = in_layer(self.cuts, place.number)
        chosen = self.choice.takes(place)
        if not chosen and not cuts:
            return output
        import torch

        with torch.no_grad():
            implementation = implementation_of(function, name)
            call = read_call(module, name, query, key, value, mask, rest, implementation)
            if chosen:
                self.seen.implementation = implementation
                kind = _kind(module, place, call, rest)
                self.collection.take(place, frame.past, frame.cached, call, kind)
        if cuts:
            keys = call.key.shape[2]
            first_key = 0 if place.cross else max(frame.past + call.query.shape[2] - keys, 0)
            changed = apply(call, output[0], cuts, first_query=frame.past, first_key=first_key)
            return (changed, *output[1:])
        return output

    def layers_like(self, place: Place) -> int:
        """How many layers will be kept, as far as the kinds of their modules tell."""
        if self.choice.layers is not None:
            return len(self.choice.layers)
        kind = type(self.model.get_submodule(place.name.split(" (")[0]))
        return sum(type(module) is kind for module in self.passes.name_of)

    def check(self) -> None:
        """Raises InputError unless attention came by, of every layer that was chosen."""
        if not len(self.places):
            raise InputError(
                f"{architecture_of(self.model)} did not compute any attention through "
                "transformers' attention interface while it was watched: it has attention code of "
                "its own, or was not run inside the with block. For such a model, "
                "regard.from_weights takes the weights of output_attentions=True."
            )
        self.choice.check_used(self.places)
        for tracks in self.collection.layers:
            for track in tracks:
                if track.pieces:
                    track.check()


def _check_model(model: Any) -> None:
    named = getattr(model, "named_modules", None)
    if named is None:
        raise InputError(
            f"model is {type(model).__name__}: expected a model of transformers, as "
            "AutoModel.from_pretrained gives it."
        )
    if any(
        hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        for _, module in named()
    ):
        raise InputError(
            "model is compiled, and compiled code does not come by: watch the module that was "
            "compiled (model._orig_mod), or the model before model.compile()."
        )


def _wanted(ask: Any, heads: Any, keep: Any) -> Wanted:
    if ask is not None and not isinstance(ask, Ask):
        raise InputError(f"ask is {type(ask).__name__}: expected regard.Ask or None.")
    names = [keep] if isinstance(keep, str) else list(keep)
    for name in names:
        if name not in KEPT:
            raise InputError(f"keep holds {name!r}: expected some of {KEPT}, or () for none.")
    chosen = None
    if heads is not None:
        numbers = np.atleast_1d(whole_numbers("heads", heads))
        chosen = [int(head) for head in numbers]
        if not chosen or min(chosen) < 0 or len(set(chosen)) < len(chosen):
            raise InputError(f"heads is {chosen}: expected numbers of heads from 0, each once.")
    if ask is None:
        return Wanted(Sample(), Ask(entropy=True, max_score=True), frozenset(names), chosen)
    return Wanted(ask.queries, ask, frozenset(names), chosen)


def _cuts(cut: Any) -> tuple[Cut, ...]:
    cuts = (cut,) if isinstance(cut, Cut) else tuple(cut)
    for one in cuts:
        if not isinstance(one, Cut):
            raise InputError(f"cut holds {type(one).__name__}: expected regard.Cut.")
    return cuts


def _list(texts: Any) -> list[str] | None:
    return None if texts is None else list(texts)


def _kind(module: Any, place: Place, call: ModelCall, kwargs: Mapping[str, Any]) -> str:
    """'encoder', 'decoder' (causal) or 'cross'; where the mask does not tell, the module does."""
    if place.cross or (call.key.shape[2] < call.query.shape[2]):
        return "cross"
    if call.mask.causal:
        return "decoder"
    if call.mask.allowed is None and call.query.shape[2] > 1:
        return "encoder"
    causal = kwargs.get("is_causal")
    said = getattr(module, "is_causal", getattr(module, "is_decoder", False))
    return "decoder" if (said if causal is None else causal) else "encoder"
