"""`regard show`, as people type it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from regard.cli import main
from regard.views.cells import width

HUNGRY = "A dog ate the food because it was hungry"
DELICIOUS = "A dog ate the food because it was delicious"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def show(*args: str, given: str | bytes | None = None, **surroundings: str) -> Result:
    runner = CliRunner(env=surroundings)
    return runner.invoke(main, ["show", *args], input=given)


def shown(*args: str, **more: str) -> str:
    result = show(*args, **more)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def refused(*args: str, given: str | bytes | None = None) -> str:
    result = show(*args, given=given)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("regard: ")
    return result.stderr


def told(*args: str) -> dict[str, object]:
    return json.loads(shown(*args, "--json"))  # type: ignore[no-any-return]


def test_a_sentence_without_a_word_says_what_stands_out() -> None:
    text = shown(HUNGRY)
    assert "all-MiniLM-L6-v2, 6 layers × 12 heads" in text
    assert re.search(r"it +hungry +\.84 +\.\d\d +L2H8 +█", text)
    assert "L0H2 always the word before" in text
    assert "Of 72 heads, " in text
    assert re.search(r"\[CLS\] and \[SEP\], which are not words, take \d\d % of", text)
    assert "Weight is where a head looks, not why the model decides." in text


def test_what_it_says_to_type_next_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = shown(HUNGRY)
    commands = [
        line.split(":", 1)[1].strip()
        for line in text.splitlines()
        if ": " in line and "regard show" in line
    ]
    assert len(commands) == 3
    for command in commands:
        program, name, *args = shlex.split(command)
        assert (program, name) == ("regard", "show")
        assert shown(*args)
    assert (tmp_path / "a.html").is_file()


def test_a_word_is_read_over_all_heads_and_in_one_in_full() -> None:
    text = shown(HUNGRY, "--word", "it")
    assert text.startswith("A dog ate the food because [it] was hungry\n")
    assert 'Heads do not agree on what "it" reads: 17 of 72 look most at "because", 12 at' in text
    assert re.search(r"hungry +\.84 +\.1\d +L2H8 +█{16}", text)
    assert "L5H11 (the strongest that looks more than 2 words away)" in text
    assert re.search(r"dog +\.60 +\.94 +█{12}", text)
    assert re.search(r"\[CLS\] +\.14 +\.00 +██", text)
    assert 'That is not special to "it": the other words give "dog" .54 there on average.' in text
    assert '[CLS] and [SEP], which are not words, take 42 % of "it"' in text


def test_a_head_alone_is_a_matrix_of_all_words() -> None:
    text = shown(HUNGRY, "--head", "l5h11")
    assert "L5H11. Row: who reads. Column: who is read. A row sums to 1." in text
    assert re.search(r"it +\.14 +\.01 +\.60 +\.01", text)


def test_a_word_in_a_head_is_one_row_and_with_steps_its_arithmetic() -> None:
    assert re.search(r"dog +\.60 +\.94", shown(HUNGRY, "--word", "it", "--head", "L5H11"))
    text = shown(HUNGRY, "--word", "it", "--head", "L5H11", "--steps")
    assert "2  ÷ √32 = 5.657" in text
    assert "29 more = 23.06" in text
    assert re.search(r"dog +23\.06 +4\.08 +1\.000 +\.60", text)


def test_versus_leads_with_what_turns_and_what_stays() -> None:
    text = shown(HUNGRY, "--word", "it", "--versus", DELICIOUS)
    assert text.startswith(
        "A  A dog ate the food because [it] was hungry\n"
        "B  A dog ate the food because [it] was delicious\n\n"
        '10 heads turn from "dog" to "food", 1 the other way;'
    )
    assert "clearest L5H11 (.60 → .51)" in text
    assert re.search(r"L3H1 +\.53 +\.05 +\.10 +\.25", text)


def test_versus_finds_the_same_word_by_its_place() -> None:
    text = shown("the dog saw the cat", "--word", "the#2", "--versus", "a dog saw the cow")
    assert text.startswith("A  the dog saw [the] cat\nB  a dog saw [the] cow\n")


def test_json_tells_what_is_shown_unrounded() -> None:
    views = {
        "sentence": (HUNGRY,),
        "word": (HUNGRY, "--word", "it"),
        "row": (HUNGRY, "--word", "it", "--head", "L5H11"),
        "head": (HUNGRY, "--head", "L5H11"),
        "steps": (HUNGRY, "--word", "it", "--head", "L5H11", "--steps"),
        "versus": (HUNGRY, "--word", "it", "--versus", DELICIOUS),
    }
    for view, args in views.items():
        scene = told(*args)
        assert (scene["schema"], scene["view"]) == ("regard.show/1", view)
    scene = told(HUNGRY, "--word", "it", "--head", "L5H11")
    cells = scene["row"]["cells"]  # type: ignore[index]
    assert sum(cell["weight"] for cell in cells) == pytest.approx(1, abs=1e-5)
    assert len(str(cells[2]["weight"])) > 8
    assert "NaN" not in shown("a [SEP] b", "--word", "a", "--json")


def test_a_saved_record_is_shown_in_place_of_a_text(tmp_path: Path) -> None:
    path = str(tmp_path / "dog.regard")
    first = shown(HUNGRY, "--word", "it", "--save", path)
    again = shown(path, "--word", "it")
    assert (
        again.split("Arithmetic:")[0]
        .rstrip()
        .removesuffix("Next, added to the same command:")
        .rstrip()
        == first.split("Arithmetic:")[0]
        .rstrip()
        .removesuffix("Next, added to the same command:")
        .rstrip()
    )
    assert "10 heads turn" in shown(path, "--word", "it", "--versus", DELICIOUS)


def test_a_text_from_a_file_and_from_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes("\ufeffA dog\r\nate\tthe food".encode())
    assert shown("--file", str(path)).startswith("A dog ate the food  ")
    result = show("-", given="A dog\nate the food\n")
    assert result.exit_code == 0
    assert result.stdout.startswith("A dog ate the food  ")


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_text_is_refused(text: str) -> None:
    assert "The text is empty: give at least one word." in refused(text)


def test_a_text_beyond_the_model_is_refused() -> None:
    assert "reads at most 512" in refused("dog " * 600)


def test_a_text_at_the_models_limit_is_shown() -> None:
    assert "Who reads whom" in shown("dog " * 510)


def test_bad_input_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"caf\xe9")
    (tmp_path / "broken.regard").write_bytes(b"no record")
    assert 'write regard show "A dog ate the food", or --file FILE' in refused()
    assert "put the whole text in quotation marks" in refused("A", "dog")
    assert "Both TEXT and --file were given" in refused("A", "--file", "b.txt")
    assert "is not UTF-8 at byte 3" in refused("--file", str(tmp_path / "bytes.txt"))
    assert "Standard input is not UTF-8 at byte 0" in refused("-", given=b"\xff")
    assert "No such file or directory" in refused("--file", str(tmp_path / "none.txt"))
    assert "for a saved record, regard show x.regard" in refused("--file", "x.regard")
    assert "No such file or directory" in refused(str(tmp_path / "none.regard"))
    assert "is no regard record" in refused(str(tmp_path / "broken.regard"))
    assert "expected a name that ends in .regard" in refused("A", "--save", "x.txt")
    assert "cannot be written" in refused("A", "--save", str(tmp_path / "no" / "x.regard"))
    assert "a saved record names its own" in refused("x.regard", "--model", "x")
    assert "--steps needs --word and --head" in refused("A", "--steps", "--word", "A")
    assert "--versus needs --word" in refused("A", "--versus", "B")
    assert "--versus looks at all heads" in refused(
        "A", "--word", "A", "--versus", "A b", "--head", "L0H0"
    )
    assert "has no config.json" in refused("A", "--model", str(tmp_path))
    assert "is no directory here" in refused("A", "--model", str(tmp_path / "none"))
    assert "no layer 9" in refused("A", "--head", "L9H1")
    assert "expected a layer and a head from 0, as in L3H1" in refused("A", "--head", "3.1")
    assert "--versus: word 'food' is not in" in refused(
        "the food", "--word", "food", "--versus", "the rice"
    )


def test_a_word_that_occurs_twice_must_say_which() -> None:
    said = refused("the dog saw the cat", "--word", "the")
    assert "the#1: [the] dog saw; the#2: dog saw [the] cat" in said
    assert shown("the dog saw the cat", "--word", "the#2").startswith("the dog saw [the] cat")


def test_a_word_that_is_not_there_names_the_nearest() -> None:
    assert "Nearest: hungry" in refused(HUNGRY, "--word", "hungri")


def test_pieces_are_said_where_a_word_has_several() -> None:
    text = shown("an unbelievable tokenization", "--word", "tokenization")
    assert "Its weights are the mean over its 2 pieces: token ##ization" in text


REAL = (
    "أكل الكلب الطعام لأنه كان جائعا",
    "这只狗吃了食物，因为它饿了",
    "Собака съела еду, потому что была голодна",
    f"I love my {FAMILY} \U0001f1eb\U0001f1f7 tre\u0300s e\u0301te\u0301",
    "हिन्दी में कुत्ता",
    "สุนัขกินอาหาร",
    "שלום dog عليكم 12",
)
HOSTILE = (
    "\x1b[31mred\x1b[0m dog",
    "\u202egod\u202c dog",
    "a\tb\nc\r\nd",
    "</script><script>alert(1)</script>",
    "x" * 10_000 + " dog",
    "z\u200bero wi\u00addth",
    "a\u2028b\u2029c\x85d\x9be",
    "\x00\x07\x7f dog",
    "e" + "\u0301" * 50 + " dog",
    "\U000e0041\U000e0042 dog",
    "$(rm -rf x) `ls` 'quoted' \"twice\" \\",
)


@pytest.mark.parametrize("columns", [50, 79])
@pytest.mark.parametrize("text", [*REAL, *HOSTILE])
def test_any_text_is_shown_harmless_and_within_the_screen(text: str, columns: int) -> None:
    result = show(text, COLUMNS=str(columns))
    if result.exit_code == 2:  # more pieces than the model reads
        assert "reads at most 512" in result.stderr
        return
    assert result.exit_code == 0
    for line in result.stdout.split("\n"):
        assert width(line.replace("\u2068", "").replace("\u2069", "")) <= columns
        assert line.count("\u2068") == line.count("\u2069")
        categories = {
            unicodedata.category(char) for char in line if char not in "\u2068\u2069\u200c\u200d"
        }
        assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    json.loads(show(text, "--json").stdout)


def in_process(*args: str | bytes, **surroundings: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "regard", "show", *args],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **surroundings},
    )


def test_bytes_that_are_no_text_are_refused() -> None:
    done = in_process(b"a \xff dog")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr == b"regard: 'a \\udcff dog' is not UTF-8 at byte 2: convert it.\n"
    assert "holds half a character" in refused("a \ud800 dog")


def test_a_locale_without_utf_8_still_takes_utf_8_words() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = in_process("a 漢 dog", "--word", "漢", **plain)
    assert done.returncode == 0
    assert done.stdout.startswith(b"a [\\u6f22] dog")


def test_a_terminal_that_only_carries_ascii_still_lines_up() -> None:
    done = in_process(HUNGRY.replace("dog", "漢"), "--word", "it", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    text = done.stdout.decode("ascii")
    assert "\\u6f22" in text
    bars = [line.index("#") for line in text.splitlines() if re.search(r" #{4,}$", line)]
    assert len(set(bars)) <= 2  # one column a table


def test_a_pipe_gets_no_colours_and_a_terminal_does() -> None:
    assert b"\x1b" not in in_process(HUNGRY, "--word", "it", TERM="xterm").stdout
    coloured = _in_terminal(TERM="xterm-256color")
    assert b"\x1b[1;33m[it]\x1b[0m" in coloured
    assert b"\x1b" not in _in_terminal(TERM="xterm-256color", NO_COLOR="1")
    assert b"\x1b" not in _in_terminal(TERM="dumb")


def _in_terminal(**surroundings: str) -> bytes:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [sys.executable, "-m", "regard", "show", HUNGRY, "--word", "it"],
        stdout=theirs,
        stderr=theirs,
        env={**environment, **surroundings},
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end has closed
                break
            if not part:
                break
            seen += part
        process.wait(timeout=60)
    os.close(ours)
    return seen
