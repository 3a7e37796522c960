"""`regard info`: what runs here, and what would run faster or better with what."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any, Final

import click

SCHEMA: Final = "regard.info/1"
UNPACKED: Final = "unknown version (not installed, run from its source)"
EXTRAS: Final = {
    "torch": (
        ("torch", "transformers", "gguf", "accelerate"),
        "other people's models (--model), and attention on torch tensors",
    ),
    "figures": (("matplotlib",), "matplotlib, for a record's and the steps' figures"),
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def info(as_json: bool) -> None:
    """Show versions, threads, the embedded model, and what an extra would add.

    \b
      regard info
      regard info --json
    """
    facts = gather()
    if as_json:
        click.echo(json.dumps(facts, indent=2, allow_nan=False))
        return
    from regard.views.terminal import Terminal

    terminal = Terminal.of(sys.stdout)
    click.echo(terminal.finish(_lines(facts)), nl=False)


def gather() -> dict[str, Any]:
    """What `regard info` says, in plain values with fixed keys."""
    from regard.mechanism import native
    from regard.mechanism.readings import memory_budget
    from regard.mechanism.threads import num_threads

    return {
        "schema": SCHEMA,
        "regard": installed_version("regard"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": _processors(),
        "numpy": installed_version("numpy"),
        "blas": _blas(),
        "blas_held_to": os.environ.get("OPENBLAS_CORETYPE"),
        "threads": num_threads(),
        "backends": {"loop": True, "native": native.is_built()},
        "instruction_set": native.instruction_set(),
        "instruction_sets": native.instruction_sets(),
        "memory_budget_bytes": memory_budget(),
        "model": _model(),
        "extras": {
            name: {
                "adds": adds,
                "packages": {package: installed_version(package) for package in packages},
            }
            for name, (packages, adds) in EXTRAS.items()
        },
    }


def installed_version(package: str) -> str | None:
    """The version of a package, None if it is not installed (regard itself: run from a tree)."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _blas() -> list[dict[str, Any]]:
    """The matrix libraries that NumPy brought in, as threadpoolctl finds them."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return [
        {
            "library": pool["internal_api"],
            "version": pool["version"],
            "kernels": pool.get("architecture"),
            "threads": pool["num_threads"],
        }
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]


def _model() -> dict[str, Any]:
    """The embedded model: its size as its config says, and whether its files are as shipped."""
    from regard.models.encoder import DEFAULT_DIRECTORY, DEFAULT_NAME

    config = json.loads((DEFAULT_DIRECTORY / "config.json").read_text("utf-8"))
    hashes = json.loads((DEFAULT_DIRECTORY / "hashes.json").read_text("utf-8"))["shipped"]
    return {
        "name": DEFAULT_NAME,
        "layers": config["num_hidden_layers"],
        "heads": config["num_attention_heads"],
        "head_dim": config["hidden_size"] // config["num_attention_heads"],
        "most_tokens": config["max_position_embeddings"],
        "bytes": sum((DEFAULT_DIRECTORY / name).stat().st_size for name in hashes),
        "hashes_match": all(
            _digest(DEFAULT_DIRECTORY / name) == digest for name, digest in hashes.items()
        ),
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _backends(facts: dict[str, Any]) -> str:
    if not facts["backends"]["native"]:
        return "loop; native was not built: there was no C++ compiler"
    usable = ", ".join(facts["instruction_sets"])
    return f"loop; native with {facts['instruction_set']} instructions, of {usable} (REGARD_ISA)"


def _lines(facts: dict[str, Any]) -> list[str]:
    model, held = facts["model"], facts["blas_held_to"]
    budget = facts["memory_budget_bytes"] / 2**20
    blas = ", ".join(
        f"{pool['library']} {pool['version']}" + (f" ({pool['kernels']})" * bool(pool["kernels"]))
        for pool in facts["blas"]
    )
    size = f"{model['layers']} layers × {model['heads']} heads, d_k {model['head_dim']}"
    hashes = "as shipped, by SHA-256" if model["hashes_match"] else "NOT AS SHIPPED: reinstall"
    lines = [
        f"regard    {facts['regard'] or UNPACKED}",
        f"Python    {facts['python']}, {facts['platform']}",
        f"NumPy     {facts['numpy']}, {blas or 'a matrix library unknown to threadpoolctl'}",
        *(
            [f"          held to {held} kernels by OPENBLAS_CORETYPE; unset it for full speed"]
            if held
            else []
        ),
        f"threads   {facts['threads']}, with {facts['processors']} processors (OMP_NUM_THREADS)",
        f"backends  {_backends(facts)}",
        f"memory    {budget:,.0f} MiB at most for one answer of queries × keys numbers",
        "",
        f"model     {model['name']}, in the package, {model['bytes'] / 1e6:.0f} MB",
        f"          {size}, up to {model['most_tokens']} tokens",
        f"          files {hashes}",
        "",
    ]
    for name, extra in facts["extras"].items():
        found = {package: version for package, version in extra["packages"].items() if version}
        missing = [package for package in extra["packages"] if package not in found]
        state = ", ".join(f"{package} {version}" for package, version in found.items())
        if missing:
            state = f"not installed: pip install 'regard[{name}]'"
        lines += [f"{name:8}  {extra['adds']}", f"          {state}"]
    return lines
