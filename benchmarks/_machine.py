"""What every benchmark shares: an unpinned BLAS, the machine's name, a table, a JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def unpin() -> None:
    """Start this program anew without what holds OpenBLAS to another processor.

    OpenBLAS chooses its kernels when it is loaded, so this comes before NumPy.
    """
    if any(name in os.environ for name in _PINS):
        kept = {name: value for name, value in os.environ.items() if name not in _PINS}
        os.execve(sys.executable, [sys.executable, *sys.argv], kept)


def options(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    return parser


def machine() -> dict[str, Any]:
    """Processor, cores, load, Python; BLAS and its kernels if NumPy is loaded."""
    named: dict[str, Any] = {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_info

        named["numpy"] = sys.modules["numpy"].__version__
        named["blas"] = [
            f"{lib['internal_api']} {lib['version']}, kernels for {lib.get('architecture', '?')}"
            for lib in threadpool_info()
            if lib["user_api"] == "blas"
        ]
    return named


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() or platform.processor()
    fields = {name.strip(): text.strip() for name, _, text in (x.partition(":") for x in lines)}
    wide = "AVX-512" if "avx512f" in fields.get("flags", "") else "no AVX-512"
    name = fields.get("model name", platform.machine())
    return f"{name} (family {fields.get('cpu family')}, model {fields.get('model')}, {wide})"


def say(figures: dict[str, Any], into: Path | None) -> None:
    """Name the machine, and keep the figures where asked."""
    print("\n" + "; ".join(f"{name} {value}" for name, value in figures["machine"].items()))
    if into:
        into.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
