"""Writing a page: whole, or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from regard.errors import InputError


def write(path: str | os.PathLike[str], text: str) -> int:
    """Write `text` as UTF-8 in place of what was at `path`; how many bytes. Raises InputError."""
    target = Path(os.fspath(path))
    if target.is_dir():
        raise InputError(f"{target} is a directory: expected the path of a file.")
    data = text.encode("utf-8")
    beside = target.with_name(f".{target.name[:60]}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{str(target)!r} cannot be written: {reason}.") from error
    finally:
        with suppress(OSError, ValueError):
            beside.unlink()
    return len(data)
