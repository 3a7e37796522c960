"""The parts of a BERT encoder that have weights, and how they are read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.models.checkpoint import EncoderConfig, Rows, Weights

if TYPE_CHECKING:
    from jaxtyping import Float32


@dataclass(frozen=True, eq=False)
class Linear:
    """x · weightᵀ + bias."""

    weight: Float32[np.ndarray, "out inner"]
    bias: Float32[np.ndarray, " out"]

    def __call__(self, x: Float32[np.ndarray, "... inner"]) -> Float32[np.ndarray, "... out"]:
        result: Float32[np.ndarray, "... out"] = x @ self.weight.T
        result += self.bias
        return result


@dataclass(frozen=True, eq=False)
class Norm:
    """Layer normalisation (Ba et al. 2016): mean 0 and variance 1 over `hidden`, then × and +."""

    weight: Float32[np.ndarray, " hidden"]
    bias: Float32[np.ndarray, " hidden"]
    epsilon: float

    def __call__(self, x: Float32[np.ndarray, "... hidden"]) -> Float32[np.ndarray, "... hidden"]:
        centred: Float32[np.ndarray, "... hidden"] = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        centred /= np.sqrt(variance + np.float32(self.epsilon))
        centred *= self.weight
        centred += self.bias
        return centred


@dataclass(frozen=True, eq=False)
class Block:
    """The weights of one layer: attention, then a feed-forward network for each token."""

    query: Linear
    key: Linear
    value: Linear
    joined: Linear
    attention_norm: Norm
    inner: Linear
    outer: Linear
    norm: Norm


@dataclass(frozen=True, eq=False)
class Embeddings:
    """What a token starts as: its word's vector, its position's and its type's, added."""

    words: Rows
    positions: Float32[np.ndarray, "positions hidden"]
    first_type: Float32[np.ndarray, " hidden"]
    norm: Norm


def read_embeddings(weights: Weights, config: EncoderConfig) -> Embeddings:
    """The embeddings' tensors. Raises InputError for a missing one or a wrong shape."""
    hidden = config.hidden
    positions = weights.tensor("embeddings.position_embeddings.weight", (config.positions, hidden))
    types = weights.tensor("embeddings.token_type_embeddings.weight", (config.token_types, hidden))
    return Embeddings(
        words=weights.rows("embeddings.word_embeddings.weight", (config.vocabulary, hidden)),
        positions=positions,
        first_type=types[0],
        norm=_read_norm(weights, "embeddings.LayerNorm", config),
    )


def read_block(weights: Weights, config: EncoderConfig, layer: int) -> Block:
    """The tensors of one layer, by its number. Raises as `read_embeddings` does."""

    def linear(name: str, out: int, inner: int) -> Linear:
        return Linear(
            weight=weights.tensor(f"{prefix}.{name}.weight", (out, inner)),
            bias=weights.tensor(f"{prefix}.{name}.bias", (out,)),
        )

    prefix = f"encoder.layer.{layer}"
    hidden, intermediate = config.hidden, config.intermediate
    return Block(
        query=linear("attention.self.query", hidden, hidden),
        key=linear("attention.self.key", hidden, hidden),
        value=linear("attention.self.value", hidden, hidden),
        joined=linear("attention.output.dense", hidden, hidden),
        attention_norm=_read_norm(weights, f"{prefix}.attention.output.LayerNorm", config),
        inner=linear("intermediate.dense", intermediate, hidden),
        outer=linear("output.dense", hidden, intermediate),
        norm=_read_norm(weights, f"{prefix}.output.LayerNorm", config),
    )


def _read_norm(weights: Weights, name: str, config: EncoderConfig) -> Norm:
    return Norm(
        weight=weights.tensor(f"{name}.weight", (config.hidden,)),
        bias=weights.tensor(f"{name}.bias", (config.hidden,)),
        epsilon=config.epsilon,
    )
