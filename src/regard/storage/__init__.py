"""Records in one file: a safetensors container, its JSON in the metadata. Loading runs no code."""

from regard.storage.file import load, save

__all__ = ["load", "save"]
