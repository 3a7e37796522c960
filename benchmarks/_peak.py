"""The most memory that this process has held."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path


def forget_peak() -> int:
    """Bytes resident now; the peak counts from here where the system lets it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


def peak() -> int:
    """The most bytes that have been resident at once."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [x for x in status.read_text(encoding="ascii").splitlines() if "VmHWM" in x]
        return int(line.split()[1]) * 1024
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
