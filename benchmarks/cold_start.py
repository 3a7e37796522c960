"""How long `regard show` takes in a fresh process, and which imports that is."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time

from _machine import machine, options, say, table, unpin

TEXT = "A dog ate the food because it was hungry"
COMMAND = ["-c", "from regard.cli import main; main()", "show", TEXT, "--word", "it"]
MOST = 0.8
"""Seconds, on two cores."""


def main() -> int:
    unpin()
    parser = options(__doc__)
    parser.add_argument("--times", type=int, default=9)
    chosen = parser.parse_args()
    run()  # the files come into the system's cache
    seconds = [run() for _ in range(chosen.times)]
    imports = imported()
    best, middle = min(seconds), statistics.median(seconds)
    print(f'\nregard show "{TEXT}" --word it: best {best:.3f} s, median {middle:.3f} s of ', end="")
    print(f"{chosen.times}; at most {MOST} wanted\n")
    table(
        ["import", "own, ms", "with what it imports, ms"],
        [[name, f"{own / 1000:.1f}", f"{whole / 1000:.1f}"] for own, whole, name in imports],
    )
    figures = {"machine": machine(), "best": best, "median": middle, "seconds": seconds}
    say(figures | {"imports": imports}, chosen.json)
    return 0 if best <= MOST else 1


def run() -> float:
    """Seconds of one run, whose answer must name the word."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode or "it" not in done.stdout:
        raise SystemExit(f"regard show failed, so there is no time to tell:\n{done.stderr}")
    return seconds


def imported() -> list[tuple[int, int, str]]:
    """The 15 imports that take longest by themselves: own and whole microseconds, name."""
    command = [sys.executable, "-X", "importtime", *COMMAND]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)", done.stderr)
    return sorted(((int(own), int(whole), name) for own, whole, name in lines), reverse=True)[:15]


if __name__ == "__main__":
    sys.exit(main())
