"""The file of a record: written atomically, checked before anything large is read.

safetensors holds both parts, the arrays and, in its metadata, JSON: one file, no code to run,
sizes in a header that comes first, and other programs can read the arrays.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from regard.errors import InputError
from regard.record import Record
from regard.storage.form import from_form, to_form

KEY: Final = "regard.record"
_MOST_HEADER: Final = 2**24
_MOST_BYTES: Final = 2**32
_DTYPES: Final = {"F16", "F32", "F64", "I32", "I64", "BOOL"}


def save(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to `path`, by custom named *.regard; an older file is replaced.

    The file is whole or not there: it is written beside `path` under another name, flushed to the
    disk, then renamed. Raises InputError if it cannot be written or would be too large to load.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    target = Path(os.fspath(path))
    if target.is_dir():
        raise InputError(f"{target} is a directory: expected the path of a file.")
    form, arrays = to_form(record)
    metadata = {KEY: json.dumps(form, allow_nan=False)}
    header = len(json.dumps(metadata)) + sum(len(name) + 128 for name in arrays)
    if header > _MOST_HEADER:
        raise InputError(
            f"the texts and tokens of the record take {header / 2**20:.0f} MiB; a file holds "
            f"{_MOST_HEADER / 2**20:.0f} MiB of them. Save shorter texts, one record each."
        )
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()}, beside, metadata)
        beside.chmod(mode)  # that of any new file; safetensors leaves it to the owner alone
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, target)
        _flush_directory(target.parent)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{target} cannot be written: {reason}.") from error
    finally:
        with suppress(OSError):
            beside.unlink()


def load(path: str | os.PathLike[str], *, most_bytes: int = _MOST_BYTES) -> Record:
    """Read a record that `save` wrote. Nothing in the file is run, and nothing is guessed.

    most_bytes: larger files are refused unread; 4 GiB unless given.
    Raises InputError, in one line, for a file that is missing, broken, hostile or of a version
    that this regard does not know.
    """
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    sizes, form = _read_header(name, most_bytes)
    try:
        with safe_open(name, framework="numpy") as file:
            return from_form(form, sizes, file.get_tensor)
    except InputError as error:
        raise InputError(f"{name} is no whole record: {error}") from error
    except (OSError, SafetensorError) as error:
        raise InputError(f"{name} is broken: {error}.") from error


def _read_header(name: str, most_bytes: int) -> tuple[Mapping[str, tuple[int, ...]], Any]:
    """The shape of each array and the record's JSON, both from the header alone."""
    foreign = f"{name} is no regard record: expected a file that record.save wrote."
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):  # a pipe might block, a directory cannot be read
            raise InputError(f"{name} is no regular file: expected one that record.save wrote.")
        if status.st_size > most_bytes:
            raise InputError(
                f"{name} has {status.st_size} bytes: expected at most {most_bytes}. "
                "load(path, most_bytes=...) admits larger files."
            )
        with open(name, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if status.st_size < 8 or not 2 <= length <= status.st_size - 8:
                raise InputError(foreign)
            if length > _MOST_HEADER:
                raise InputError(
                    f"{name} has a header of {length} bytes: expected {_MOST_HEADER} at most."
                )
            header = _parse(name, file.read(length))
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name} cannot be read: {reason}.") from error
    metadata = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise InputError(foreign)
    form = _parse(name, metadata[KEY])
    return {key: _shape(name, key, entry) for key, entry in header.items()}, form


def _shape(name: str, key: str, entry: Any) -> tuple[int, ...]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    whole = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    if not isinstance(shape, list) or not whole or entry.get("dtype") not in _DTYPES:
        raise InputError(f"{name} is broken: its array {key[:80]!r} has no dtype or shape we know.")
    return tuple(shape)


def _parse(name: str, text: bytes | str) -> Any:
    def constant(word: str) -> float:
        raise ValueError(f"{word} is no JSON number")

    try:
        return json.loads(text, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{name} is no regard record: its header is no JSON ({reason}).") from None


def _flush_directory(directory: Path) -> None:
    """So that the new name survives a power cut; where directories cannot be opened, nothing."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
