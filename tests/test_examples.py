"""The notebooks run from top to bottom, with nothing but this repository, and are stored as run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
MOST_BYTES = 300_000
PATHS = re.compile(r"/(?:home|root|tmp|Users|usr|work|opt)/|[A-Z]:\\\\|site-packages")


def test_all_four_are_here() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["four_steps", "it_and_the_dog", "long_text", "training"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    """Its own assertions hold, in a fresh kernel, with settings of nobody."""
    settings = {name: value for name, value in os.environ.items() if name != "REGARD_MODEL"}
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        settings[name] = str(tmp_path)
    if "PYTHONPATH" in settings:  # the kernel starts in another folder
        parts = settings["PYTHONPATH"].split(os.pathsep)
        settings["PYTHONPATH"] = os.pathsep.join(str(Path(part).resolve()) for part in parts)
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "run_examples.py"), str(path)],
        env=settings,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert path.read_bytes() == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_with_what_it_shows(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert len(text.encode()) <= MOST_BYTES
    plain = re.sub(r'"image/png": "[^"]*"', "", text)
    assert not PATHS.search(plain)


def test_a_failing_notebook_fails(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("assert 1 == 2, 'as it should'")
    path = tmp_path / "wrong.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "run_examples.py"), str(path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode != 0
    assert "as it should" in done.stderr
