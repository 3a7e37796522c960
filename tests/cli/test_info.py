"""`regard info`: true, complete, and as JSON."""

from __future__ import annotations

import json
import platform

import numpy as np
import pytest
from click.testing import CliRunner

from regard.cli import info as command, main
from regard.mechanism import native, threads


def test_it_says_what_runs_here() -> None:
    result = CliRunner().invoke(main, ["info"])
    assert result.exit_code == 0
    text = result.output
    assert f"Python    {platform.python_version()}" in text
    assert f"NumPy     {np.__version__}" in text
    assert "all-MiniLM-L6-v2" in text
    assert "6 layers × 12 heads, d_k 32, up to 512 tokens" in text
    assert "files as shipped, by SHA-256" in text
    assert "1,024 MiB at most for one answer" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_json_has_the_same_facts_under_fixed_keys() -> None:
    result = CliRunner().invoke(main, ["info", "--json"])
    facts = json.loads(result.output)
    assert facts["schema"] == "regard.info/1"
    assert {*facts} == {
        "schema",
        "regard",
        "python",
        "platform",
        "processors",
        "numpy",
        "blas",
        "blas_held_to",
        "threads",
        "backends",
        "instruction_set",
        "instruction_sets",
        "memory_budget_bytes",
        "model",
        "extras",
    }
    assert facts["backends"] == {"loop": True, "native": native.is_built()}
    assert facts["instruction_set"] == native.instruction_set()
    assert facts["model"]["hashes_match"] is True
    assert facts["memory_budget_bytes"] == 2**30
    assert {*facts["extras"]} == {"torch", "figures"}


def test_threads_are_those_that_will_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_chosen", 3)
    assert "threads   3, with" in CliRunner().invoke(main, ["info"]).output


@pytest.mark.skipif(not native.is_built(), reason="regard was installed without a compiler")
def test_which_instructions_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_ISA", "base")
    output = CliRunner().invoke(main, ["info"]).output
    assert f"native with base instructions, of {', '.join(native.instruction_sets())}" in output
    monkeypatch.setenv("REGARD_ISA", "v9")
    result = CliRunner().invoke(main, ["info"])
    assert result.exit_code != 0
    assert "REGARD_ISA is 'v9': this processor runs" in result.output


@pytest.mark.skipif(not native.is_built(), reason="regard was installed without a compiler")
def test_what_has_not_run_on_its_processor_is_not_taken_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REGARD_ISA", raising=False)
    proved = [name for name in native.instruction_sets() if not name.startswith("v4")]
    assert native.instruction_set() == proved[0]


def test_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_kernels", lambda: None)
    assert "loop; native was not built" in CliRunner().invoke(main, ["info"]).output


def test_a_blas_held_to_an_older_processor_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert (
        "held to Haswell kernels by OPENBLAS_CORETYPE" in CliRunner().invoke(main, ["info"]).output
    )
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    assert "OPENBLAS_CORETYPE" not in CliRunner().invoke(main, ["info"]).output


def test_an_extra_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "installed_version", lambda package: None)
    output = CliRunner().invoke(main, ["info"]).output
    assert "not installed: pip install 'regard[torch]'" in output


def test_a_model_file_that_was_changed_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_digest", lambda path: "0" * 64)
    assert "files NOT AS SHIPPED: reinstall" in CliRunner().invoke(main, ["info"]).output
