"""A page inside a notebook: a frame of its own, so that several do not meet."""

from __future__ import annotations

from html import escape
from typing import Final

HEIGHT: Final = 720


def frame(html: str, title: str) -> str:
    """An iframe that holds the whole page: plain HTML, which every notebook shows. Its script
    runs in it alone, and may save files but reach nothing else."""
    return (
        f'<iframe srcdoc="{escape(html)}" title="{escape(title[:200])}" '
        f'sandbox="allow-scripts allow-downloads" width="100%" height="{HEIGHT}" '
        'frameborder="0"></iframe>'
    )
