"""How large a recording will be, said before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from regard.mechanism.readings import Ask


@dataclass(frozen=True)
class Size:
    """What a text is to a model: its tokens, and the attention that will be recorded."""

    tokens: int
    layers: int
    heads: int
    kv_heads: int
    dim: int

    def kept(self, keep: Iterable[str]) -> int:
        """Bytes that keeping these of 'query', 'key', 'value' takes, in float32."""
        heads = sum(self.heads if name == "query" else self.kv_heads for name in set(keep))
        return 4 * self.layers * heads * self.tokens * self.dim

    def readings(self, ask: Ask, rows: int) -> int:
        """Bytes that the readings of `rows` rows take, about."""
        a_row = ask.top * (3 if ask.share else 2) + ask.entropy + ask.lse + ask.max_score + 2
        a_head = rows * a_row + 2 * self.tokens * ask.received + ask.thumbnail**2
        return 4 * self.layers * self.heads * a_head
