"""What the rows and columns of a `Steps` are called, fit to be printed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from regard.views.cells import one_line
from regard.views.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.mechanism.steps import Steps

_PLAIN: Final = Terminal()


def query_labels(steps: Steps, terminal: Terminal = _PLAIN) -> tuple[str, ...]:
    """A label for each query: its word, numbered where it occurs twice; else q0, q1, ..."""
    if steps.words is None:
        return tuple(f"q{place}" for place in range(steps.scores.shape[-2]))
    return _numbered(steps.words[0], terminal)


def key_labels(steps: Steps, terminal: Terminal = _PLAIN) -> tuple[str, ...]:
    """A label for each key: its word, numbered where it occurs twice; else k0, k1, ..."""
    if steps.words is None:
        return tuple(f"k{place}" for place in range(steps.scores.shape[-1]))
    return _numbered(steps.words[1], terminal)


def one_text(steps: Steps) -> bool:
    """Whether queries and keys are the same words, so that 'itself' has a meaning."""
    return steps.words is not None and steps.words[0] == steps.words[1]


def _numbered(words: Sequence[str], terminal: Terminal) -> tuple[str, ...]:
    shown = [terminal.line(word) if one_line(word) else '""' for word in words]
    times, so_far = Counter(shown), Counter[str]()
    labels = []
    for word in shown:
        so_far[word] += 1
        labels.append(f"{word}#{so_far[word]}" if times[word] > 1 else word)
    return tuple(labels)
