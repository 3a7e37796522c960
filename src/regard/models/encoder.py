"""A BERT encoder in NumPy, read from a local directory, with `regard.attention` as its attention.

BERT: Devlin et al. 2019, section 3; a layer is that of Vaswani et al. 2017, section 3.1, with the
layer norm after each addition. All arithmetic is float32.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.habit import Habit, read_habit
from regard.mechanism.threads import one_thread_blas
from regard.models.activations import activate
from regard.models.blocks import Block, Embeddings, read_block, read_embeddings
from regard.models.checkpoint import (
    EncoderConfig,
    Weights,
    find_files,
    read_config,
    read_tokenizer,
)

if TYPE_CHECKING:
    from jaxtyping import Bool, Float32, Int, Int64
    from tokenizers import Tokenizer

    from regard.mechanism.mask import Mask
    from regard.mechanism.readings import Ask, Readings

DEFAULT_DIRECTORY: Final = Path(__file__).parent / "minilm"
DEFAULT_NAME: Final = "all-MiniLM-L6-v2"
_FEW_TOKENS: Final = 128
"""Below this, waking BLAS's threads for each product costs more than they give; on a busy machine
five times the whole pass."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """One text as the model reads it.

    ids: the number of each token in the vocabulary.
    tokens: the tokens as the vocabulary spells them ("##" begins a piece inside a word).
    offsets: (start, end) of each token, in characters of the text; (0, 0) for special tokens.
    special: True for the tokens that the tokenizer added, [CLS] and [SEP].
    """

    ids: Int64[np.ndarray, " tokens"]
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    special: Bool[np.ndarray, " tokens"]


@dataclass(frozen=True, eq=False)
class LayerActivations:
    """What one layer computed; with the leading axis `batch` if the ids had it.

    layer: its number, from 0.
    query, key, value: what its attention was given (scale 1/√dim, no bias).
    output: what its attention gave, a head at a time, before the heads are joined.
    hidden: the layer's own output, after both of its halves.
    readings: what was asked of its attention, and which backend ran.
    """

    layer: int
    query: Float32[np.ndarray, "*batch heads tokens dim"]
    key: Float32[np.ndarray, "*batch heads tokens dim"]
    value: Float32[np.ndarray, "*batch heads tokens dim"]
    output: Float32[np.ndarray, "*batch heads tokens dim"]
    hidden: Float32[np.ndarray, "*batch tokens hidden"]
    readings: Readings


@dataclass(frozen=True, eq=False)
class EncoderRun:
    """hidden: the last layer's output. layers: the layers asked for, in the model's order."""

    hidden: Float32[np.ndarray, "*batch tokens hidden"]
    layers: tuple[LayerActivations, ...]


@dataclass(frozen=True, eq=False)
class Encoder:
    """A BERT encoder and its tokenizer. Made by `load_encoder` and `default_encoder`."""

    name: str
    config: EncoderConfig
    tokenizer: Tokenizer
    embeddings: Embeddings
    blocks: tuple[Block, ...]

    def encode(self, text: str) -> Encoding:
        """The tokens of `text`, with [CLS] and [SEP]; never cut, never padded.

        Raises InputError if it is no text, or has more tokens than the model has positions.
        """
        if not isinstance(text, str):
            raise InputError(f"text is {type(text).__name__}: expected a str.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"text has the lone surrogate {text[error.start]!r} at character {error.start}: "
                "expected Unicode text. Decode its bytes with the right encoding."
            ) from error
        encoded = self.tokenizer.encode(text)
        if len(encoded.ids) > self.config.positions:
            raise InputError(
                f"text has {len(encoded.ids)} tokens and {self.name} reads at most "
                f"{self.config.positions}, [CLS] and [SEP] included. Split it, or shorten it."
            )
        return Encoding(
            ids=np.array(encoded.ids, np.int64),
            tokens=tuple(encoded.tokens),
            offsets=tuple(encoded.offsets),
            special=np.array(encoded.special_tokens_mask, np.bool_),
        )

    def run(
        self,
        ids: Int[Any, "*batch tokens"],
        *,
        lengths: Int[Any, " batch"] | None = None,
        ask: Ask | None = None,
        layers: Iterable[int] | None = None,
    ) -> EncoderRun:
        """One forward pass, its memory linear in the number of tokens.

        ids: `(tokens)` for one text, `(batch, tokens)` for several padded at the end with any id.
        lengths: how many leading ids of each item are real; only with a batch.
        ask: what to read off the attention of every layer asked for.
        layers: the layers whose activations are kept, all if None; `hidden` is there either way.

        Raises InputError for ids, lengths or layers that do not fit the model; errors in `ask`
        are those of `regard.attention`.
        """
        numbers = self._checked_ids(ids)
        mask = _padding(lengths, numbers.shape)
        kept = self._checked_layers(layers)
        x = self._embed(numbers)
        activations = []
        with one_thread_blas() if numbers.size < _FEW_TOKENS else nullcontext():
            for number, block in enumerate(self.blocks):
                seen = self._layer(number, block, x, mask, ask if number in kept else None)
                x = seen.hidden
                if number in kept:
                    activations.append(seen)
        return EncoderRun(hidden=x, layers=tuple(activations))

    def _embed(self, ids: Int64[np.ndarray, "*batch tokens"]) -> Float32[np.ndarray, " ..."]:
        x = self.embeddings.words.take(ids)  # (*batch, tokens, hidden)
        x += self.embeddings.first_type
        x += self.embeddings.positions[: ids.shape[-1]]
        return self.embeddings.norm(x)

    def _layer(
        self,
        number: int,
        block: Block,
        x: Float32[np.ndarray, "*batch tokens hidden"],
        mask: Mask | None,
        ask: Ask | None,
    ) -> LayerActivations:
        from regard.mechanism.api import attention

        query, key, value = (self._split(part(x)) for part in (block.query, block.key, block.value))
        output, readings = attention(query, key, value, mask=mask, ask=ask)
        joined = np.swapaxes(output, -2, -3).reshape(x.shape)
        middle = block.attention_norm(block.joined(joined) + x)
        inner = block.inner(middle)  # (*batch, tokens, intermediate)
        inner = activate(self.config.activation, inner)
        return LayerActivations(
            layer=number,
            query=query,
            key=key,
            value=value,
            output=output,
            hidden=block.norm(block.outer(inner) + middle),
            readings=readings,
        )

    def _split(self, x: Float32[np.ndarray, "*batch tokens hidden"]) -> Float32[np.ndarray, " ..."]:
        """Each head's part, as `(*batch, heads, tokens, dim)`, contiguous."""
        parts = x.reshape(*x.shape[:-1], self.config.heads, self.config.dim)
        return np.ascontiguousarray(np.swapaxes(parts, -2, -3))

    def _checked_ids(self, ids: Any) -> Int64[np.ndarray, "*batch tokens"]:
        numbers = np.asarray(ids)
        if numbers.ndim not in (1, 2) or numbers.shape[-1] == 0:
            raise InputError(
                f"ids has shape {numbers.shape}: expected (tokens) or (batch, tokens), "
                "at least one token. Encode the text first: encoder.encode(text).ids."
            )
        if numbers.dtype.kind not in "iu":
            raise InputError(f"ids has dtype {numbers.dtype}: expected whole numbers.")
        if numbers.shape[-1] > self.config.positions:
            raise InputError(
                f"ids has {numbers.shape[-1]} tokens and {self.name} has "
                f"{self.config.positions} positions. Split the text, or shorten it."
            )
        low, high = (numbers.min(), numbers.max()) if numbers.size else (0, 0)
        if low < 0 or high >= self.config.vocabulary:
            raise InputError(
                f"ids holds {low if low < 0 else high}: {self.name} has the ids 0 to "
                f"{self.config.vocabulary - 1}. Do the tokenizer and the model belong together?"
            )
        return numbers.astype(np.int64)

    def _checked_layers(self, layers: Iterable[int] | None) -> frozenset[int]:
        if layers is None:
            return frozenset(range(self.config.layers))
        chosen = list(layers)
        for layer in chosen:
            whole = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
            if not whole or not 0 <= layer < self.config.layers:
                raise InputError(
                    f"layers holds {layer!r}: {self.name} has the layers 0 to "
                    f"{self.config.layers - 1}."
                )
        return frozenset(int(layer) for layer in chosen)


def _padding(lengths: Any, shape: tuple[int, ...]) -> Mask | None:
    """The mask that hides what follows each item's real ids."""
    if lengths is None:
        return None
    from regard.mechanism.mask import Mask

    if len(shape) != 2:
        raise InputError(
            f"lengths was given with ids of shape {shape}: it belongs to a batch, "
            "ids of shape (batch, tokens)."
        )
    numbers = np.asarray(lengths)
    if numbers.dtype.kind not in "iu" or numbers.shape != shape[:1]:
        raise InputError(
            f"lengths has shape {numbers.shape} and dtype {numbers.dtype}: "
            f"expected {shape[0]} whole numbers, one an item."
        )
    wrong = numbers[(numbers < 1) | (numbers > shape[1])]
    if wrong.size:
        raise InputError(f"lengths holds {wrong[0]}: expected 1 to {shape[1]}, the tokens of ids.")
    return Mask(lengths=numbers)


def load_encoder(directory: str | os.PathLike[str]) -> Encoder:
    """The encoder in a local Hugging Face BERT directory, named after the directory.

    Reads config.json, model.safetensors (float32 or float16) and tokenizer.json; a pooler or a
    task's head is left unread. Raises InputError if a file is missing or broken, if it is another
    architecture, or if a tensor is missing or has another shape than config.json says.
    """
    path = find_files(directory)
    config = read_config(path / "config.json")
    weights = Weights(path / "model.safetensors")
    return Encoder(
        name=path.resolve().name,
        config=config,
        tokenizer=read_tokenizer(path / "tokenizer.json"),
        embeddings=read_embeddings(weights, config),
        blocks=tuple(read_block(weights, config, layer) for layer in range(config.layers)),
    )


@functools.cache
def default_encoder() -> Encoder:
    """The embedded model, all-MiniLM-L6-v2 in float16, read once in a process."""
    return dataclasses.replace(load_encoder(DEFAULT_DIRECTORY), name=DEFAULT_NAME)


@functools.cache
def default_habit() -> Habit:
    """What each head of the embedded model usually does, over the texts in neutral.txt."""
    return read_habit(DEFAULT_DIRECTORY / "habit.safetensors")
