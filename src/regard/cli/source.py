"""The options that say what to read with which model, shared by the commands that run one."""

from __future__ import annotations

import sys
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
KEPT: Final = ("query", "key", "value")
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


class Progress:
    """A bar on standard error, layer by layer; without a terminal there, its name alone.

    hidden: nothing at all.
    """

    def __init__(self, hidden: bool = False) -> None:
        self._bar: Any = click.progressbar(
            length=1, label="Reading", file=sys.stderr, show_pos=True, hidden=hidden
        )

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.__enter__()
        return self._step

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(*error)

    def _step(self, done: int, total: int) -> None:
        self._bar.length = total
        self._bar.update(done - self._bar.pos)


def make_room(needed: int) -> None:
    """Let a recording that was announced take its memory. Raises InputError if there is not so
    much, as far as the system says."""
    from regard.mechanism.readings import memory_budget, set_memory_budget

    free = _available()
    if free is not None and needed > free:
        raise InputError(
            f"This takes {in_bytes(needed)} and {in_bytes(free)} of memory are free. Choose some "
            "--layers; or regard capture --keep none --ask top=8,entropy,received."
        )
    set_memory_budget(max(memory_budget(), 2 * needed))


def in_bytes(count: int) -> str:
    """'1.2 GB', '31.4 MB'."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 0.1):.1f} MB"


def _available() -> int | None:
    """Bytes of memory that can be had without swapping, None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


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
