"""Run the notebooks of `examples/`, and with --write keep what they show.

    python scripts/run_examples.py examples/*.ipynb
    REGARD_MODEL=./SmolLM2-135M-Instruct python scripts/run_examples.py --write \\
        examples/long_text.ipynb

Each runs from top to bottom in a kernel of the Python that runs this, and fails with the cell that
fails. Whole pages (the HTML of a record) are not kept: they are shown wherever a notebook is run.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
import time
from pathlib import Path
from typing import Any, Final

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from PIL import Image
from traitlets import default

SECONDS: Final = 300  # for one cell
COLOURS: Final = 256  # of a kept picture
KEPT: Final = ("text/plain", "image/png")


class ThisPython(KernelSpecManager):
    """The one kernel there is: the Python that runs this."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


class Kernel(AsyncKernelManager):
    """A kernel of this Python."""

    @default("kernel_spec_manager")
    def _this_python(self) -> KernelSpecManager:
        return ThisPython(parent=self)


def run(path: Path) -> Any:
    """The notebook with what its cells show now. Raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(
        notebook,
        kernel_manager_class=Kernel,
        timeout=SECONDS,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    return notebook


def tidied(notebook: Any) -> Any:
    """Without what another run would change for no reason, and without whole pages."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        outputs = cell.get("outputs", [])  # what goes to stderr is about this machine
        outputs[:] = [output for output in outputs if output.get("name") != "stderr"]
        for output in outputs:
            output.pop("metadata", None)
            if "data" in output:
                shown = output["data"]
                output["data"] = {kind: shown[kind] for kind in KEPT if kind in shown}
                if "image/png" in shown:
                    output["data"]["image/png"] = smaller(shown["image/png"])
                output["metadata"] = {}
    return notebook


def smaller(picture: str) -> str:
    """A PNG in base64 with a palette of its own: a third of the size, and looks the same."""
    written = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    palette = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette.save(written, "PNG", optimize=True)
    return base64.b64encode(written.getvalue()).decode("ascii")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="keep what the cells show")
    asked = parser.parse_args()
    for path in asked.notebooks:
        began = time.perf_counter()
        notebook = run(path)
        if asked.write:
            path.write_text(nbformat.writes(tidied(notebook)) + "\n", encoding="utf-8")
        print(f"{path.name}: {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
