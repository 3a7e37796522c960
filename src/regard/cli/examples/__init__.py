"""The two examples that need no file: one from a text that many have read, one for a pencil."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def example(name: str) -> dict[str, Any]:
    """The numbers of 'worked' or 'pencil', as its JSON file has them."""
    text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers
