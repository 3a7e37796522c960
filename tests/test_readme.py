"""The README tells the truth: its screen is what the command prints, its code runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_screen_is_what_the_command_prints() -> None:
    block = re.search(r"```\n\$ (?P<command>regard .*)\n(?P<screen>[^`]*)```", README)
    assert block is not None
    words = shlex.split(block["command"])
    printed = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert printed.stdout == block["screen"]


def test_the_code_runs(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL))
    assert "regard.attention" in code
    assert "record.save" in code
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
