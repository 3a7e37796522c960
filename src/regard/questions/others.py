"""What other words do in the same head: whether a link is one word's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from regard.questions.links import readers_of
from regard.rows import iterate_word_rows

if TYPE_CHECKING:
    from regard.record import Record

_MOST_READERS: Final = 256


def weight_from_others(record: Record, layer: int, head: int, word: int, reader: int) -> float:
    """The mean weight that `word` gets in one head from all readers but `reader` and itself.

    Special tokens and punctuation are no readers; of many, 256 are read, evenly spread. NaN if
    there is no other reader that may see the word. A head that every word reads alike says little
    of any one of them.
    """
    readers = [other for other in readers_of(record, layer) if other not in (reader, word)]
    if len(readers) > _MOST_READERS:
        readers = [readers[i] for i in np.linspace(0, len(readers) - 1, _MOST_READERS).astype(int)]
    weights = [
        float(row.weights[head, word])
        for row in iterate_word_rows(record, layer, readers)
        if row.visible[word]
    ]
    return float(np.mean(weights)) if weights else float("nan")
