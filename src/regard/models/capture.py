"""A text and a model -> a record of what every head read."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from regard.errors import InputError
from regard.mechanism.readings import Ask, Readings
from regard.models.encoder import (
    DEFAULT_NAME,
    Encoder,
    LayerActivations,
    default_encoder,
    load_encoder,
)
from regard.models.loading import is_bert, load_model
from regard.models.size import Size
from regard.record import Call, Layer, Record, Side

if TYPE_CHECKING:
    from jaxtyping import Bool

    from regard.models.running import Progress

KEPT: Final = ("query", "key", "value")
EMBEDDED_HABIT: Final = "minilm"
"""Provenance 'habit' of records for which the habit table of the embedded model holds."""


def capture(
    text: str,
    model: Any = None,
    *,
    tokenizer: Any = None,
    ask: Ask | None = None,
    layers: Iterable[int] | None = None,
    keep: Iterable[str] = KEPT,
    generate: int = 0,
) -> Record:
    """Run `text` through a model once and record its attention.

    model: None for the embedded all-MiniLM-L6-v2; a directory, a GGUF file or a name in the local
        Hugging Face cache (see `regard.load_model`; a BERT directory runs in regard's own NumPy
        encoder and needs no torch); a model of transformers, with its `tokenizer`; or an
        `Encoder`.
    ask: readings to take in the pass, for every layer. Where query and key are not kept, the mass
        on special tokens is read as well (as `group_mass`), unless the ask has groups of its own.
    layers: numbers of the layers to record, from 0; None for all.
    keep: which of 'query', 'key', 'value' to keep (float32, linear in the text). With all three,
        the default, every question has an exact answer; without any, only what `ask` reads.
    generate: how many tokens the model is to write (greedily), which are recorded as well. An
        encoder-decoder that writes nothing runs its encoder alone.

    Raises InputError for a text, model, layer or name that cannot be used, BackendError where a
    model needs the torch extra.
    """
    reader = open_reader(model, tokenizer=tokenizer)
    return reader.read(text, ask=ask, layers=layers, keep=keep, generate=generate)


def open_reader(
    model: Any = None, *, tokenizer: Any = None, device: str | None = None, dtype: str = "auto"
) -> Reader:
    """What reads texts with this model, loaded once; arguments as in `capture` and `load_model`."""
    if model is None or isinstance(model, (Encoder, str, os.PathLike)):
        if tokenizer is not None:
            raise InputError("tokenizer belongs with a model of transformers: leave it out.")
        if model is not None and not isinstance(model, Encoder):
            own = device in (None, "cpu") and dtype in ("auto", "float32")
            if own and is_bert(model):
                return EncoderReader(load_encoder(model), None)
            return ModelReader(*load_model(model, device=device, dtype=dtype))
        if device not in (None, "cpu") or dtype not in ("auto", "float32"):
            raise InputError(
                f"device is {device!r} and dtype {dtype!r}: the embedded {DEFAULT_NAME} runs in "
                "NumPy, on the CPU and in float32. Name another model with model=."
            )
        return EncoderReader(*_encoder(model))
    if not hasattr(model, "forward") or not hasattr(model, "config"):
        raise InputError(
            f"model is {type(model).__name__}: expected None for the embedded {DEFAULT_NAME}, a "
            "directory, a .gguf file, a name in the local Hugging Face cache, a model of "
            "transformers, or a regard Encoder."
        )
    if tokenizer is None:
        raise InputError(
            f"tokenizer is None: {type(model).__name__} needs its tokenizer to read a text."
        )
    return ModelReader(model, tokenizer)


class Reader(Protocol):
    """A model that reads texts."""

    def size(self, text: str, layers: Iterable[int] | None = None) -> Size:
        """What recording `text` will be about; 0 for what is not known before."""

    def read(
        self,
        text: str,
        *,
        ask: Ask | None,
        layers: Iterable[int] | None,
        keep: Iterable[str],
        generate: int,
        progress: Progress | None = None,
        keep_partial: bool = False,
    ) -> Record:
        """The record of one text: see `capture` and `running.read_text`."""


@dataclass(frozen=True, eq=False)
class EncoderReader:
    """A BERT in regard's own NumPy encoder. habit: the habit table that holds for it, or None."""

    encoder: Encoder
    habit: str | None

    def size(self, text: str, layers: Iterable[int] | None = None) -> Size:
        config = self.encoder.config
        count = config.layers if layers is None else len(set(layers))
        tokens = len(self.encoder.encode(text).ids)
        return Size(tokens, count, config.heads, config.heads, config.dim)

    def read(
        self,
        text: str,
        *,
        ask: Ask | None,
        layers: Iterable[int] | None,
        keep: Iterable[str],
        generate: int,
        progress: Progress | None = None,
        keep_partial: bool = False,
    ) -> Record:
        if generate:
            raise InputError(
                f"generate is {generate} and {self.encoder.name} writes no text: it is an encoder."
            )
        kept = _checked_keep(keep)
        encoding = self.encoder.encode(text)
        side = Side.of_text(text, encoding.tokens, encoding.offsets, encoding.special)
        wanted = Ask(queries=()) if ask is None else ask
        if ask is not None and ask.groups is None and not {"query", "key"} <= kept:
            wanted = dataclasses.replace(ask, groups=_special_group(encoding.special))
        run = self.encoder.run(encoding.ids, ask=wanted, layers=layers)
        recorded = tuple(_layer(seen, wanted, kept) for seen in run.layers)
        if progress is not None:
            progress(self.encoder.config.layers, self.encoder.config.layers)
        return Record((side,), recorded, _provenance(self.encoder, recorded, self.habit))


@dataclass(frozen=True, eq=False)
class ModelReader:
    """A model of transformers, watched as it runs."""

    model: Any
    tokenizer: Any

    def size(self, text: str, layers: Iterable[int] | None = None) -> Size:
        from regard.models.running import size_of

        return size_of(text, self.model, self.tokenizer, layers)

    def read(
        self,
        text: str,
        *,
        ask: Ask | None,
        layers: Iterable[int] | None,
        keep: Iterable[str],
        generate: int,
        progress: Progress | None = None,
        keep_partial: bool = False,
    ) -> Record:
        from regard.models.running import read_text

        if isinstance(generate, bool) or not isinstance(generate, int) or generate < 0:
            raise InputError(f"generate is {generate!r}: expected a whole number, 0 or more.")
        return read_text(
            text,
            self.model,
            self.tokenizer,
            ask=Ask(queries=()) if ask is None else ask,
            layers=layers,
            keep=_checked_keep(keep),
            generate=generate,
            progress=progress,
            keep_partial=keep_partial,
        )


def _encoder(model: Any) -> tuple[Encoder, str | None]:
    if model is None:
        return default_encoder(), EMBEDDED_HABIT
    embedded = default_encoder.cache_info().currsize and model is default_encoder()
    return model, EMBEDDED_HABIT if embedded else None


def _checked_keep(keep: Iterable[str]) -> frozenset[str]:
    names = [keep] if isinstance(keep, str) else list(keep)
    for name in names:
        if name not in KEPT:
            raise InputError(f"keep holds {name!r}: expected some of {KEPT}, or () for none.")
    return frozenset(names)


def _special_group(special: Bool[np.ndarray, " tokens"]) -> tuple[Any, int]:
    return np.where(special, 0, -1), 1


def _layer(seen: LayerActivations, ask: Ask, kept: frozenset[str]) -> Layer:
    heads, tokens, dim = seen.query.shape
    positions = np.arange(tokens)
    return Layer(
        number=seen.layer,
        name=f"encoder.layer.{seen.layer}.attention.self",
        kind="encoder",
        heads=heads,
        query_side=0,
        key_side=0,
        query_positions=positions,
        key_positions=positions,
        readings=Readings(backend="loop") if seen.readings is None else seen.readings,
        call=Call(scale=1 / math.sqrt(dim)),
        query=seen.query if "query" in kept else None,
        key=seen.key if "key" in kept else None,
        value=seen.value if "value" in kept else None,
        ask=ask,
    )


def _provenance(encoder: Encoder, layers: tuple[Layer, ...], habit: str | None) -> dict[str, str]:
    seen = {
        "model": encoder.name,
        "dtype": "float32",
        "backend": ", ".join(sorted({layer.readings.backend for layer in layers})),
        "regard": _version("regard"),
        "numpy": np.__version__,
        "tokenizers": _version("tokenizers"),
    }
    return seen if habit is None else {**seen, "habit": habit}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"
