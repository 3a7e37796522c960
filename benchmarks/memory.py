"""Peak memory above the inputs and the results against length: linear, or this fails.

Each length runs in a process of its own, because a peak never goes down again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import pairwise
from typing import Any

from _machine import machine, options, say, table, unpin
from _peak import forget_peak, peak

LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
DIM = 64
MOST, SLOWER = 100e6, 4.4
"""Bytes that the longest may take, and how many times as long as one half as long."""


def main() -> int:
    unpin()
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--one", type=int, help="measure this length here and print JSON")
    parser.add_argument("--longest", type=int, default=LENGTHS[-1])
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one)))
        return 0
    lengths = [n for n in LENGTHS if n <= chosen.longest]
    found = [alone(n) for n in lengths]
    print(f"\n1 × n × {DIM}, float32, with top=8, entropy, lse, max_score, received\n")
    table(
        ["n", "above inputs and results, MB", "bytes a token", "n × n would be, MB", "seconds"],
        [
            [str(n), f"{one['peak'] / 1e6:.1f}", f"{one['peak'] / n:.0f}",
             f"{4 * n * n / 1e6:.0f}", f"{one['seconds']:.1f}"]
            for n, one in zip(lengths, found, strict=True)
        ],
    )  # fmt: skip
    steps = [b["peak"] - a["peak"] for a, b in pairwise(found)]
    # twice the length: a linear peak grows by twice as much as before, a quadratic one by 4 times
    growth = steps[-1] / max(steps[-2], 2**20) if len(steps) > 1 else 0.0
    linear, small = growth < 3, found[-1]["peak"] <= MOST
    slower = found[-1]["seconds"] / found[-2]["seconds"] if len(found) > 1 else 0.0
    print(f"\nThe last doubling grew by {growth:.1f} × the one before (2 is linear, 4 quadratic),")
    print(f"and took {slower:.1f} × the time, at most {SLOWER} allowed.")
    print(f"Longest: {found[-1]['peak'] / 1e6:.0f} MB, at most {MOST / 1e6:.0f} allowed.")
    say({"machine": machine(), "lengths": lengths, "found": found}, chosen.json)
    return 0 if linear and small and slower <= SLOWER else 1


def alone(tokens: int) -> Any:
    command = [sys.executable, __file__, "--one", str(tokens)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(tokens: int) -> dict[str, float]:
    """Peak in bytes above what is resident with the inputs made, less the results; and seconds."""
    import numpy as np

    import regard

    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, tokens, DIM), np.float32) for _ in range(3))
    ask = regard.Ask(top=8, entropy=True, lse=True, max_score=True, received=True)
    before = forget_peak()
    start = time.perf_counter()
    output, read = regard.attention(q, k, v, ask=ask)
    seconds = time.perf_counter() - start
    results = output.nbytes + sum(
        array.nbytes for array in vars(read).values() if isinstance(array, np.ndarray)
    )
    above = peak() - before - results
    assert np.isfinite(output).all()
    assert abs(float(read.received.sum()) / tokens - 1) < 1e-4
    return {"peak": above, "seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
