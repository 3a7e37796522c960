"""A text and a model -> a record of what every head read."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
from regard.record import Call, Layer, Record, Side

if TYPE_CHECKING:
    from jaxtyping import Bool

KEPT: Final = ("query", "key", "value")
EMBEDDED_HABIT: Final = "minilm"
"""Provenance 'habit' of records for which the habit table of the embedded model holds."""


def capture(
    text: str,
    model: str | os.PathLike[str] | Encoder | None = None,
    *,
    ask: Ask | None = None,
    layers: Iterable[int] | None = None,
    keep: Iterable[str] = KEPT,
) -> Record:
    """Run `text` through a model once and record its attention.

    model: None for the embedded all-MiniLM-L6-v2; a local directory of a BERT-family model
        (config.json, model.safetensors, tokenizer.json); or an `Encoder`.
    ask: readings to take in the pass, for every layer. Where query and key are not kept, the mass
        on special tokens is read as well (as `group_mass`), unless the ask has groups of its own.
    layers: numbers of the layers to record, from 0; None for all.
    keep: which of 'query', 'key', 'value' to keep (float32, linear in the text). With all three,
        the default, every question has an exact answer; without any, only what `ask` reads.

    Raises InputError for a text, model, layer or name that cannot be used.
    """
    encoder, habit = _encoder(model)
    kept = _checked_keep(keep)
    encoding = encoder.encode(text)
    side = Side.of_text(text, encoding.tokens, encoding.offsets, encoding.special)
    wanted = Ask(queries=()) if ask is None else ask
    if ask is not None and ask.groups is None and not {"query", "key"} <= kept:
        wanted = dataclasses.replace(ask, groups=_special_group(encoding.special))
    run = encoder.run(encoding.ids, ask=wanted, layers=layers)
    recorded = tuple(_layer(seen, wanted, kept) for seen in run.layers)
    return Record((side,), recorded, _provenance(encoder, recorded, habit))


def _encoder(model: Any) -> tuple[Encoder, str | None]:
    if model is None:
        return default_encoder(), EMBEDDED_HABIT
    if isinstance(model, Encoder):
        embedded = default_encoder.cache_info().currsize and model is default_encoder()
        return model, EMBEDDED_HABIT if embedded else None
    accepted = (
        f"expected None for the embedded {DEFAULT_NAME}, a local directory of a BERT-family model "
        "(config.json, model.safetensors, tokenizer.json), or a regard Encoder."
    )
    if not isinstance(model, (str, os.PathLike)):
        raise InputError(f"model is {type(model).__name__}: {accepted}")
    if not os.fspath(model) or not Path(model).is_dir():
        raise InputError(f"model is {os.fspath(model)!r}, which is no directory here: {accepted}")
    return load_encoder(model), None


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
