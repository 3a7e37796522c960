"""`--html` and `--open`, as people type them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from regard.cli import main

HUNGRY = "A dog ate the food because it was hungry"


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


def data(path: Path) -> dict[str, object]:
    found = re.search(r'id="regard-book">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_html_prints_the_same_screen_and_where_the_page_is(tmp_path: Path) -> None:
    target = tmp_path / "it.html"
    plain = run("show", HUNGRY, "--word", "it")
    both = run("show", HUNGRY, "--word", "it", "--html", str(target))
    assert both.exit_code == 0, both.stderr
    *screen, last = both.stdout.splitlines(keepends=True)
    assert "".join(screen) == plain.stdout
    assert last == f"Page: {target} ({target.stat().st_size / 1e6:.1f} MB)\n"
    page = data(target)
    assert page["start"]["unit"] == 7  # type: ignore[index]
    assert page["plan"]["bytes"] == target.stat().st_size  # type: ignore[index]


def test_json_stays_json(tmp_path: Path) -> None:
    target = tmp_path / "it.html"
    both = run("show", HUNGRY, "--json", "--html", str(target))
    assert json.loads(both.stdout)["schema"] == "regard.show/1"
    assert both.stderr.startswith(f"Page: {target} (")


def test_steps_and_versus_begin_there(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    args = ("show", HUNGRY, "--word", "it")
    done = run(*args, "--head", "L5H11", "--steps", "--html", str(target))
    assert done.exit_code == 0, done.stderr
    start = data(target)["start"]
    assert (start["view"], start["unit"], start["head"]) == ("steps", 7, 71)  # type: ignore[index]
    other = HUNGRY.replace("hungry", "delicious")
    done = run(*args, "--versus", other, "--html", str(target))
    assert done.exit_code == 0, done.stderr
    page = data(target)
    assert page["start"]["view"] == "versus"  # type: ignore[index]
    assert len(page["books"]) == 2  # type: ignore[arg-type]
    assert page["versus"]["first"] == "dog"  # type: ignore[index]


def test_the_pencil_example_brings_its_matrices(tmp_path: Path) -> None:
    target = tmp_path / "pencil.html"
    done = run("steps", "--pencil", "--html", str(target))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith(f"Page: {target} ({target.stat().st_size / 1e6:.1f} MB)\n")
    assert data(target)["books"][0]["steps"][0]["projection"] is not None  # type: ignore[index]
    done = run("steps", "--example", "--json", "--html", str(target))
    json.loads(done.stdout)
    assert data(target)["books"][0]["steps"][0]["columns"] == [1, 2, 64]  # type: ignore[index]


def test_open_opens_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", opened.append)
    target = tmp_path / "a page.html"
    assert run("show", HUNGRY, "--html", str(target), "--open").exit_code == 0
    assert opened == [target.as_uri()]
    monkeypatch.setattr(click, "launch", lambda _: 3)
    done = run("show", HUNGRY, "--html", str(target), "--open")
    assert done.exit_code == 0
    assert done.stdout.endswith(" MB), which no browser here would open\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", HUNGRY, "--open"), "--open opens the page that --html FILE writes"),
        (("show", HUNGRY, "--html", "page.png"), "expected a name that ends in .html"),
        (("show", HUNGRY, "--html", "/nowhere/at/all.html"), "there is no directory '/nowhere/at'"),
        (("steps", "--errata", "--html", "e.html"), "--html shows steps: --example, --pencil"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_read(
    args: tuple[str, ...], said: str
) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert said in done.stderr
