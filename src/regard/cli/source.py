"""The options that say what to read with which model, shared by the commands that run one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from regard.errors import InputError

if TYPE_CHECKING:
    from regard.models.capture import Reader

SAVED: Final = ".regard"
MOST_BYTES: Final = 4_000_000  # far beyond any model here; stops a wrong file early
DTYPES: Final = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Source:
    """Which model reads, and how: the options that `model_options` adds."""

    model: str | None
    device: str | None
    dtype: str
    generate: int

    def reader(self) -> Reader:
        """The model, loaded once however many texts it reads."""
        return self._reader

    @cached_property
    def _reader(self) -> Reader:
        from regard.models.capture import open_reader

        return open_reader(self.model, device=self.device, dtype=self.dtype)

    def typed(self) -> list[str]:
        """The options as they are typed, without those left alone."""
        return [
            *(["--model", self.model] if self.model is not None else []),
            *(["--device", self.device] if self.device is not None else []),
            *(["--dtype", self.dtype] if self.dtype != "auto" else []),
            *(["--generate", str(self.generate)] if self.generate else []),
        ]


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --model, --device, --dtype and --generate."""
    for option in (
        click.option(
            "--generate",
            metavar="N",
            type=click.IntRange(min=0),
            default=0,
            help="Let the model write N tokens, and show those too.",
        ),
        click.option(
            "--dtype",
            type=click.Choice(DTYPES),
            default="auto",
            help="What the model computes in; auto: what it was saved in.",
        ),
        click.option("--device", metavar="NAME", help="cpu, cuda, cuda:1 or mps."),
        click.option(
            "--model",
            metavar="MODEL",
            help="A directory, a .gguf file, or a name in the local Hugging Face cache.",
        ),
    ):
        command = option(command)
    return command


def check_text(text: str) -> None:
    """Raises InputError for a text without a word."""
    if not text.strip():
        raise InputError("The text is empty: give at least one word.")


def read_file(file: str) -> str:
    """The text in a file. Raises InputError."""
    if file.endswith(SAVED):
        raise click.UsageError(f"--file reads a text: for a saved record, regard show {file}.")
    try:
        with Path(file).open("rb") as source:
            return decoded(source.read(MOST_BYTES), f"File {file}")
    except OSError as error:
        raise InputError(f"--file is {file!r}: {error.strerror or error}.") from error


def decoded(data: bytes, name: str) -> str:
    """Bytes as the UTF-8 text that they should be. Raises InputError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 at byte {error.start}: convert it first.") from error
