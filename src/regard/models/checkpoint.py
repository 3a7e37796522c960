"""What a local Hugging Face BERT directory holds: its sizes, its tensors, its tokenizer, checked.

Nothing in it is run: JSON, safetensors and the `tokenizers` library's own file format.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from safetensors import SafetensorError, safe_open

from regard.errors import InputError
from regard.models.activations import ACTIVATIONS

if TYPE_CHECKING:
    from jaxtyping import Float32, Int
    from tokenizers import Tokenizer

FILES: Final = ("config.json", "model.safetensors", "tokenizer.json")
_SIZES: Final = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden": "hidden_size",
    "intermediate": "intermediate_size",
    "positions": "max_position_embeddings",
    "vocabulary": "vocab_size",
    "token_types": "type_vocab_size",
}
_LARGEST_CONFIG: Final = 1 << 22  # bytes; a config with a thousand labels has a few 10 000


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of a BERT encoder.

    layers, heads (of each layer), hidden (of a token's vector), intermediate (of the feed-forward
    layer), positions (the most tokens a text may have), vocabulary (pieces), token_types.
    epsilon: added to the variance in layer norms. activation: a name in `ACTIVATIONS`.
    """

    layers: int
    heads: int
    hidden: int
    intermediate: int
    positions: int
    vocabulary: int
    token_types: int
    epsilon: float
    activation: str

    @property
    def dim(self) -> int:
        """Size of one head's queries, keys and values."""
        return self.hidden // self.heads


def find_files(directory: str | os.PathLike[str]) -> Path:
    """`directory` as a path, once it is sure to hold the three files. Raises InputError."""
    if not isinstance(directory, (str, os.PathLike)):
        raise InputError(
            f"directory is {type(directory).__name__}: expected the path of a model directory."
        )
    path = Path(directory)
    expected = f"expected a local directory with {FILES[0]}, {FILES[1]} and {FILES[2]}"
    if not path.is_dir():
        raise InputError(
            f"{os.fspath(directory)!r} is not a directory: {expected}. "
            "A model on a hub must be downloaded first; then pass the path of its files."
        )
    for name in FILES:
        if not (path / name).is_file():
            raise InputError(f"{path} has no {name}: {expected}. {_next_step(path, name)}")
    return path


def _next_step(path: Path, missing: str) -> str:
    """What to do about a file that is not there."""
    if missing == "tokenizer.json":
        return "transformers writes it: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)."
    if missing == "model.safetensors" and (path / "pytorch_model.bin").exists():
        return (
            "pytorch_model.bin is not read, because unpickling can run code; transformers "
            "converts it: AutoModel.from_pretrained(DIR).save_pretrained(DIR)."
        )
    if missing == "model.safetensors" and (path / "model.safetensors.index.json").exists():
        return (
            "Weights split over several files are not read; transformers joins them: "
            "AutoModel.from_pretrained(DIR).save_pretrained(DIR, max_shard_size='100GB')."
        )
    return "Is it the directory that save_pretrained wrote?"


def read_config(path: Path) -> EncoderConfig:
    """The sizes in a `config.json`. Raises InputError for anything but a BERT encoder's."""
    try:
        if (size := path.stat().st_size) > _LARGEST_CONFIG:
            raise InputError(f"{path} has {size} bytes: expected at most {_LARGEST_CONFIG}.")
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as JSON ({error}). Is the file whole?") from error
    if not isinstance(config, dict):
        raise InputError(f"{path} holds a {type(config).__name__}: expected a JSON object.")
    _refuse_other_models(path, config)
    sizes = {field: _size(path, config, key) for field, key in _SIZES.items()}
    if sizes["hidden"] % sizes["heads"]:
        raise InputError(
            f"{path}: hidden_size {sizes['hidden']} is not a multiple of "
            f"num_attention_heads {sizes['heads']}. Is the file the model's own?"
        )
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"{path}: layer_norm_eps is {epsilon!r}: expected a number above 0.")
    activation = config.get("hidden_act", "gelu")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise InputError(
            f"{path}: hidden_act is {activation!r}: expected one of {', '.join(ACTIVATIONS)}."
        )
    return EncoderConfig(**sizes, epsilon=epsilon, activation=activation)


def _refuse_other_models(path: Path, config: dict[str, Any]) -> None:
    expected = "this reader knows BERT encoders only (model_type 'bert')"
    advice = "For other architectures, pass the model itself, loaded with transformers."
    if config.get("model_type") != "bert":
        raise InputError(
            f"{path}: model_type is {config.get('model_type')!r} and {expected}. {advice}"
        )
    for key in ("is_decoder", "add_cross_attention", "is_encoder_decoder"):
        if config.get(key):
            raise InputError(f"{path}: {key} is {config[key]!r} and {expected}. {advice}")
    position = config.get("position_embedding_type", "absolute")
    if position != "absolute":
        raise InputError(
            f"{path}: position_embedding_type is {position!r}: expected 'absolute'. {advice}"
        )


def _size(path: Path, config: dict[str, Any], key: str) -> int:
    size = config.get(key)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size < 2**31:
        shown = "missing" if key not in config else repr(size)[:40]
        raise InputError(f"{path}: {key} is {shown}: expected a whole number from 1 to 2**31 - 1.")
    return size


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a `tokenizer.json`, with cutting and padding switched off."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise InputError(f"{path} cannot be read as a tokenizer ({error}).") from error
    # Sentence models are shipped with both on: texts would be cut, silently, after 128 tokens.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class Weights:
    """The tensors of a `model.safetensors`, by BertModel's names, read one at a time.

    Names may carry the prefix `bert.`, and layer norms the old `gamma` and `beta`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = cast(Any, safe_open(path, framework="numpy"))  # its methods are untyped
            stored = list(self._file.keys())
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"{path} cannot be read as safetensors ({error}). Is the file whole?"
            ) from error
        prefix = "bert." if any(name.startswith("bert.embeddings.") for name in stored) else ""
        self._stored = {
            _modern(name.removeprefix(prefix)): name for name in stored if name.startswith(prefix)
        }

    def tensor(self, name: str, shape: tuple[int, ...]) -> Float32[np.ndarray, " ..."]:
        """The whole tensor in float32. Raises InputError if it is missing or of another shape."""
        self._check(name, shape)
        return np.asarray(self._file.get_tensor(self._stored[name]), dtype=np.float32)

    def rows(self, name: str, shape: tuple[int, int]) -> Rows:
        """The tensor as a table whose rows are read on demand. Raises as `tensor` does."""
        return Rows(self._check(name, shape))

    def _check(self, name: str, shape: tuple[int, ...]) -> Any:
        """The tensor's unread slice, once its name, shape and dtype are as expected."""
        if name not in self._stored:
            raise InputError(
                f"{self._path} has no tensor {name}, with or without the prefix 'bert.'. "
                "Is it a BERT encoder, and does config.json belong to it?"
            )
        stored = self._file.get_slice(self._stored[name])
        if (seen := tuple(stored.get_shape())) != shape:
            raise InputError(
                f"{self._path}: tensor {name} has shape {seen}, expected {shape} "
                "from config.json. Do the two files belong together?"
            )
        if stored.get_dtype() not in ("F16", "F32"):
            raise InputError(
                f"{self._path}: tensor {name} is {stored.get_dtype()}, expected F32 or F16. "
                "Convert it with transformers: model.float().save_pretrained(DIR)."
            )
        return stored


class Rows:
    """A table on disk, of which only the rows asked for are read: few of 30 000 words are used."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored
        self._width = stored.get_shape()[1]

    def take(self, indices: Int[np.ndarray, " ..."]) -> Float32[np.ndarray, "... width"]:
        """The rows at `indices`, which must be in range, in float32."""
        row_of = {index: row for row, index in enumerate(sorted(set(indices.ravel().tolist())))}
        table = np.empty((len(row_of), self._width), np.float32)
        for index, row in row_of.items():
            table[row] = self._stored[index : index + 1][0]
        return table[[row_of[index] for index in indices.ravel().tolist()]].reshape(
            *indices.shape, self._width
        )


def _modern(name: str) -> str:
    """The name that BertModel gives a tensor today."""
    if name.endswith("LayerNorm.gamma"):
        return name.removesuffix("gamma") + "weight"
    if name.endswith("LayerNorm.beta"):
        return name.removesuffix("beta") + "bias"
    return name
