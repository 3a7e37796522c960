"""What an installed regard brings, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from importlib.resources import files

import pytest

import regard

HEAVY = ("torch", "transformers", "tokenizers", "matplotlib", "numpy")
OPTIONAL = ("torch", "transformers", "matplotlib")


def fresh_python(code: str) -> str:
    """Run `code` in a new interpreter and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_version_is_the_installed_one():
    assert regard.__version__ == metadata.version("regard")


@pytest.mark.parametrize("name", regard.__all__)
def test_public_name_resolves(name):
    assert getattr(regard, name) is not None
    assert name in dir(regard)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'atention'"):
        regard.atention  # noqa: B018 - the look-up is the test


def test_import_loads_nothing_heavy():
    loaded = fresh_python("import sys, regard; print(*sys.modules)").split()
    assert "regard" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_import_takes_less_than_a_tenth_of_a_second():
    code = (
        "import time; start = time.perf_counter(); import regard; "
        "print(time.perf_counter() - start)"
    )
    assert min(float(fresh_python(code)) for _ in range(3)) < 0.1


def test_every_public_name_resolves_without_the_extras():
    # None in sys.modules makes Python refuse the import as if the library were absent.
    fresh_python(
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({OPTIONAL!r}))\n"
        "import regard, regard.cli\n"
        "for name in regard.__all__: getattr(regard, name)\n"
    )


def test_command_is_installed():
    (command,) = metadata.entry_points(group="console_scripts", name="regard")
    assert callable(command.load())


@pytest.mark.parametrize(
    "path",
    [
        "py.typed",
        "models/minilm/model.safetensors",
        "models/minilm/config.json",
        "models/minilm/tokenizer.json",
        "models/minilm/habit.safetensors",
        "models/minilm/neutral.txt",
        "models/minilm/LICENSE",
        "models/minilm/NOTICE",
        "cli/examples/pencil.json",
        "cli/examples/worked.json",
    ],
)
def test_data_is_installed(path):
    assert files("regard").joinpath(path).is_file()


def test_the_main_job_starts_without_what_it_does_not_need() -> None:
    """numpy.ma, which np.unique and its like import, costs a twentieth of the first screen."""
    code = (
        "import sys; from regard.cli import main\n"
        "try: main(['show', 'A dog ate the food', '--word', 'ate'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(sorted({'numpy.ma', 'torch', 'transformers'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
