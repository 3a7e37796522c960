"""The command as a whole: help, version, exit codes, one line for every error."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result

from regard.cli import COMMANDS, main

HUNGRY = "A dog ate the food because it was hungry"


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def in_process(args: Sequence[str | bytes], **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "regard", *args],
        capture_output=True,
        timeout=60,
        check=False,
        **more,
    )  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help_names_every_command_and_the_first_thing_to_type(args: tuple[str, ...]) -> None:
    result = run(*args)
    assert result.exit_code == 0
    assert all(name in result.output for name in COMMANDS)
    assert f'regard show "{HUNGRY}" --word it' in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches_by_example_in_a_narrow_screen(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"regard {command}" in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 80


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.startswith("regard ")


@pytest.mark.parametrize(
    ("args", "said"),  # click's own words differ from version to version
    [
        (("shwo",), r"regard: No such command 'shwo'\..* See regard --help\."),
        (("show", "a", "--nope"), r"regard: No such option.* '?--nope.* See regard show --help\."),
        (("show", "a", "--word"), r"regard: Option '--word' requires an argument\."),
        (("info", "a"), r"regard: Got unexpected extra argument.* See regard info --help\."),
    ],
)
def test_wrong_usage_is_one_line_and_2(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.fullmatch(said + "\n", result.stderr)


def test_an_error_repeats_hostile_words_harmlessly() -> None:
    result = run("show", HUNGRY, "--word", "\x1b[31m\u202e")
    assert result.exit_code == 2
    assert "\\x1b[31m" in result.stderr
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
    result = run("show", "go\u202ed \x1b", "--word", "dog")
    assert result.exit_code == 2
    assert "go\\u202ed" in result.stderr
    assert "\u202e" not in result.stderr


def test_no_torch_and_nothing_else_heavy_is_imported_for_the_first_screen() -> None:
    code = (
        "import sys; sys.argv = ['regard', 'show', 'A dog ate it', '--word', 'it']\n"
        "from regard.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'scipy', 'matplotlib', 'wcwidth', 'asyncio'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stderr.decode().strip() == "[]"


def test_a_reader_that_stops_reading_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "show", HUNGRY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(timeout=60)


def test_ctrl_c_ends_quietly_with_130() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "show", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    # it waits for its text once it holds no CPU: the state of a process that sleeps
    while time.monotonic() < deadline and not _waits(process.pid):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err.strip() == b""


def _waits(pid: int) -> bool:
    """Whether a process waits for its standard input; where that cannot be seen, a moment later."""
    try:
        with open(f"/proc/{pid}/wchan") as file:
            return "pipe" in file.read()
    except OSError:
        time.sleep(3)
        return True


def test_the_same_lines_in_a_process_as_in_a_test() -> None:
    done = in_process(["show", HUNGRY, "--word", "it"], env={**os.environ, "PYTHONUTF8": "1"})
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.decode() == run("show", HUNGRY, "--word", "it").output
