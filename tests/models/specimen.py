"""A small random model of one architecture of transformers, and something for it to read.

Nothing is downloaded: a model is its class, the settings that make it small, and a seed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
import transformers

Inputs = dict[str, torch.Tensor]

VOCABULARY: Final = 97
PADDING: Final = 0
IMAGE_TOKEN: Final = 3
_LIVELY: Final = 1.5


def _random() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def _ids(items: int, tokens: int) -> torch.Tensor:
    return torch.randint(5, VOCABULARY, (items, tokens), generator=_random())


def padded_text() -> Inputs:
    """Three texts of 12 tokens: whole, padded on the left, padded on the right."""
    ids, mask = _ids(3, 12), torch.ones(3, 12, dtype=torch.long)
    mask[1, :3] = 0
    mask[2, -4:] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


def bare_text() -> Inputs:
    """A text without padding or mask, so that a model may leave masks out altogether."""
    return {"input_ids": _ids(1, 12)}


def padded_pair() -> Inputs:
    mask = torch.ones(3, 7, dtype=torch.long)
    mask[1, -2:] = 0
    mask[2, :2] = 0
    return padded_text() | {"decoder_input_ids": _ids(3, 7), "decoder_attention_mask": mask}


def bare_pair() -> Inputs:
    return bare_text() | {"decoder_input_ids": _ids(1, 7)}


def images() -> Inputs:
    return {"pixel_values": torch.randn(2, 3, 24, 24, generator=_random())}


def large_images() -> Inputs:
    return {"pixel_values": torch.randn(2, 3, 32, 32, generator=_random())}


def sounds() -> Inputs:
    return {"input_values": torch.randn(2, 700, generator=_random())}


def padded_sounds() -> Inputs:
    mask = torch.ones(2, 700, dtype=torch.long)
    mask[1, 400:] = 0
    return sounds() | {"attention_mask": mask}


def spectrograms() -> Inputs:
    frames = torch.randn(2, 8, 40, generator=_random())
    return {"input_features": frames, "decoder_input_ids": _ids(2, 7)}


def illustrated() -> Inputs:
    """Two prompts with an image of nine patches each; the second is padded on the left."""
    image = [IMAGE_TOKEN] * 9
    ids = torch.tensor([[5, 6, *image, 8, 9, 10, 11], [PADDING, PADDING, 5, *image, 8, 9, 10]])
    return {"input_ids": ids, "attention_mask": (ids != PADDING).long(), **images()}


READS_TEXT: Final = (padded_text, bare_text)
READS_PAIRS: Final = (padded_pair, bare_pair)


@dataclass(frozen=True, eq=False)
class Specimen:
    """An architecture: its name, its class in transformers, small settings, and what it reads."""

    name: str
    model: str
    settings: Mapping[str, Any]
    inputs: tuple[Callable[[], Inputs], ...] = READS_TEXT

    def __str__(self) -> str:
        return self.name


@functools.cache
def build(specimen: Specimen) -> Any:
    """The model, eager and in eval mode. The same each time: callers put back what they change."""
    kind = getattr(transformers, specimen.model)
    config = kind.config_class(**specimen.settings)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    _enliven(model)
    return model


@torch.no_grad()
def _enliven(model: torch.nn.Module) -> None:
    """Weights far from even: in a newborn model, a softcap or a sink would hardly show."""
    random = _random()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            spread = _LIVELY / parameter.shape[1] ** 0.5
            parameter.copy_(spread * torch.randn(parameter.shape, generator=random))
        elif name.endswith("sinks"):
            parameter.copy_(torch.randn(parameter.shape, generator=random))
