"""The kernel without Python: every read and write in bounds, no race, right from Clang as well."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HAS_COMPILER = shutil.which("cmake") is not None and shutil.which("c++") is not None


@pytest.mark.skipif(
    not HAS_COMPILER and "CI" not in os.environ, reason="needs CMake and a C++ compiler"
)
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_no_sanitizer_complains(tmp_path: Path, sanitizer: str) -> None:
    assert HAS_COMPILER, "continuous integration needs CMake and a C++ compiler"
    _drive(tmp_path, f"-DSANITIZE={sanitizer}")


@pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("clang++") is None, reason="needs CMake and Clang"
)
def test_clang_gives_right_numbers(tmp_path: Path) -> None:
    _drive(tmp_path, "-DCMAKE_CXX_COMPILER=clang++")


def _drive(build: Path, option: str) -> None:
    # the text for AVX-512 as well, compiled for AVX2 where there is nothing wider
    configure = ["cmake", "-S", HERE, "-B", build, option,
                 f"-DREGARD_EMULATE_V4={'OFF' if _has_avx512() else 'ON'}"]  # fmt: skip
    for command in (configure, ["cmake", "--build", build, "--parallel", "2"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    done = subprocess.run([build / "driver"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    assert "base: right" in done.stdout


def _has_avx512() -> bool:
    try:
        return "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
