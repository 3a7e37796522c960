"""A transformers model and its tokenizer, from files that are here: nothing is fetched or run.

A directory, a GGUF file, or a name that the local Hugging Face cache holds. Code that comes with
a checkpoint is never run (transformers' `trust_remote_code`), and no connection is opened.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from regard.errors import BackendError, InputError

DTYPES: Final = ("auto", "float32", "bfloat16", "float16")
INSTALL: Final = "pip install 'regard[torch]'"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_ACCEPTED: Final = (
    "expected a directory with config.json and weights, a .gguf file, or a name that is in the "
    "local Hugging Face cache"
)
_HARMLESS: Final = re.compile(r"pooler\.|position_ids$|inv_freq$")
"""Weights that a checkpoint may lack: attention does not depend on them."""


@dataclass(frozen=True)
class Place:
    """Where a model's files are. gguf: its file name in `directory`, None where there is none."""

    name: str
    directory: Path
    gguf: str | None = None


def load_model(
    model: str | os.PathLike[str], *, device: str | None = None, dtype: str = "auto"
) -> tuple[Any, Any]:
    """A transformers model, in eval mode and on its device, and its tokenizer.

    model: a directory as transformers saves it; a GGUF file; or a name as 'Qwen/Qwen3-0.6B' that
        the local Hugging Face cache holds. The class is the one that the checkpoint was saved
        from, so that a decoder can generate.
    device: 'cpu', 'cuda', 'cuda:1', 'mps'; None for a GPU if there is one, else the CPU.
    dtype: 'float32', 'bfloat16', 'float16'; 'auto' for the dtype of the checkpoint.

    Prints nothing. `model.config._name_or_path` is then a short name of the model. Raises
    BackendError where the torch extra is missing; InputError for anything else that stands in
    the way, saying what to do.
    """
    place = find_model(model)
    torch, transformers = _libraries(place.name)
    if dtype not in DTYPES:
        raise InputError(f"dtype is {dtype!r}: expected one of {', '.join(DTYPES)}.")
    on = _device(torch, device)
    with quiet(transformers):
        config = _config(transformers, place)
        loaded = _weights(transformers, place, config, dtype)
        tokenizer = _tokenizer(transformers, place)
        loaded.eval()
        if not getattr(loaded, "hf_device_map", None):
            loaded = loaded.to(on)
    loaded.config._name_or_path = place.name
    return loaded, tokenizer


def find_model(model: str | os.PathLike[str]) -> Place:
    """The files that `model` means. Raises InputError, saying how to get what is not here."""
    given = os.fspath(model)
    path = Path(given)
    if given and path.is_dir():
        return _in_directory(path)
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise InputError(f"model is {given!r}, and there is no such file.")
        return Place(path.stem, path.resolve().parent, path.name)
    if path.is_file():
        raise InputError(f"model is the file {given!r}: {_ACCEPTED}.")
    if not _NAME.fullmatch(given) or given.endswith((".", "-")):
        raise InputError(f"model is {given!r}, which is no directory here: {_ACCEPTED}.")
    return Place(given, _cached(given))


def is_bert(model: str | os.PathLike[str]) -> bool:
    """Whether `model` is a directory with a BERT, which needs no torch."""
    try:
        config = json.loads((Path(os.fspath(model) or "-") / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "bert"


@contextlib.contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No progress bars, warnings and remarks of transformers; its settings are put back."""
    log = transformers.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


def _in_directory(path: Path) -> Place:
    name = Path(os.path.abspath(path)).name  # as it was named, also by a link
    if (path / "config.json").is_file():
        return Place(name, path)
    files = sorted(file.name for file in path.glob("*.gguf"))
    if files:
        raise InputError(
            f"model is the directory {os.fspath(path)!r} with {', '.join(files[:3])}: name the "
            f"file, {os.fspath(path / files[0])}."
        )
    raise InputError(f"{os.fspath(path)} has no config.json: {_ACCEPTED}.")


def _cached(name: str) -> Path:
    """The directory of a name in the local cache; never asks the network."""
    _libraries(name)
    from huggingface_hub import snapshot_download

    fetch = f"fetch it once, where there is a network: hf download {name}"
    try:
        directory = Path(snapshot_download(name, local_files_only=True))
    except Exception as error:
        raise InputError(
            f"model is {name!r}, which is no directory here and not in the local Hugging Face "
            f"cache. regard never downloads; {fetch}"
        ) from error
    if not (directory / "config.json").is_file():
        raise InputError(f"model {name!r} is only partly in the local Hugging Face cache: {fetch}")
    return directory


def _libraries(model: str) -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise BackendError(
            f"model {model!r} needs {error.name or 'torch'}, which is not installed: {INSTALL}"
        ) from error
    return torch, transformers


def _device(torch: Any, device: str | None) -> Any:
    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise InputError(
            f"device is {device!r}, which torch {torch.__version__} cannot use here: expected cpu, "
            f"cuda, cuda:1 or mps. ({_first_line(error)})"
        ) from error
    return chosen


def _config(transformers: Any, place: Place) -> Any:
    try:
        return transformers.AutoConfig.from_pretrained(
            place.directory, **_where(place), trust_remote_code=False
        )
    except Exception as error:
        said = _first_line(error)
        if "custom code" in said or "trust_remote_code" in str(error):
            raise InputError(
                f"model {place.name!r} needs code that comes with it, which regard never runs: "
                "load it yourself, then regard.capture(text, model, tokenizer=tokenizer)."
            ) from error
        if "does not recognize this architecture" in str(error):
            raise InputError(
                f"transformers {transformers.__version__} does not know the architecture of "
                f"{place.name!r}: a newer one may, pip install -U transformers. ({said})"
            ) from error
        raise _unreadable(place, error) from error


def _weights(transformers: Any, place: Place, config: Any, dtype: str) -> Any:
    kind = _class(transformers, config)
    try:
        model, info = kind.from_pretrained(
            place.directory,
            **_where(place),
            config=config,
            dtype=dtype,
            output_loading_info=True,
        )
    except Exception as error:
        raise _unreadable(place, error) from error
    missing = sorted(name for name in info["missing_keys"] if not _HARMLESS.search(name))
    if missing:
        listed = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise InputError(
            f"model {place.name!r} has no weights for {len(missing)} parts of {kind.__name__} "
            f"({listed}), which would be random: is the checkpoint whole?"
        )
    return model


def _class(transformers: Any, config: Any) -> Any:
    """The class that the checkpoint was saved from, else the one for its kind of model."""
    for name in config.architectures or ():
        kind = getattr(transformers, name, None)
        if kind is not None:
            return kind
    kinds = [transformers.MODEL_MAPPING]
    if getattr(config, "is_encoder_decoder", False):
        kinds.insert(0, transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING)
    elif type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        kinds.insert(0, transformers.MODEL_FOR_CAUSAL_LM_MAPPING)
    for mapping in kinds:
        if type(config) in mapping:
            return mapping[type(config)]
    raise InputError(
        f"transformers {transformers.__version__} has no model class for {config.model_type!r}: "
        "load the model yourself, then regard.capture(text, model, tokenizer=tokenizer)."
    )


def _tokenizer(transformers: Any, place: Place) -> Any:
    try:
        return transformers.AutoTokenizer.from_pretrained(
            place.directory, **_where(place), trust_remote_code=False
        )
    except Exception as error:
        raise InputError(
            f"model {place.name!r} has no tokenizer that can be read, and so reads no text: "
            f"is tokenizer.json there? ({_first_line(error)})"
        ) from error


def _where(place: Place) -> dict[str, Any]:
    where: dict[str, Any] = {"local_files_only": True}
    return where if place.gguf is None else {**where, "gguf_file": place.gguf}


def _unreadable(place: Place, error: Exception) -> Exception:
    said = _first_line(error)
    if isinstance(error, ImportError):
        return BackendError(f"model {place.name!r} needs a package that is not installed: {said}")
    return InputError(f"model {place.name!r} cannot be read: {said}")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else type(error).__name__
    return said if len(said) <= 300 else said[:299] + "…"
