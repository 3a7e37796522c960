"""`regard show` and `regard capture` with models of transformers, as people type it."""

from __future__ import annotations

import importlib
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import transformers
from click.testing import CliRunner, Result

import regard
from checkpoints import decoder, encoder, encoder_decoder, save, tokenizer
from regard.cli import main

TEXT = "the dog ate the food because it was hungry"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    save(decoder(), tokenizer(), place / "llama")
    save(decoder(), tokenizer("$A"), place / "plain")  # adds no <s>, as many decoders
    save(encoder(), tokenizer("<s> $A </s>"), place / "distil")
    save(encoder_decoder(), tokenizer("$A </s>"), place / "t5")
    return place


def run(*args: object, given: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args], input=given)


def shown(*args: object, given: str | None = None) -> str:
    result = run(*args, given=given)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(*args: object) -> str:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("regard: ")
    return result.stderr


def test_a_decoder_says_that_no_word_sees_what_comes_after(directory: Path) -> None:
    text = shown("show", TEXT, "--model", directory / "plain")
    assert "plain, 3 layers × 4 heads" in text
    assert "A decoder: each word sees itself and what stands before it, nothing after." in text
    assert re.search(r'"the", which comes first, takes \d+ % of the words\' weight', text)
    text = " ".join(text.split())
    assert "decoders rest there, whatever the word (a sink)." in text
    assert "(this model's habits are not known: heads that only read by position are" in text
    text = shown("show", TEXT, "--model", directory / "llama", "--word", "it")
    assert re.search(r'<s>, which comes first, takes \d+ % of "it"', text)
    assert "Not seen: was, hungry." in text
    assert re.search(r'Who reads "it", strongest first:\n +word +weight', text)
    assert "No word reads" in shown(
        "show", TEXT, "--model", directory / "llama", "--word", "hungry"
    )


def test_an_encoder_says_nothing_of_that(directory: Path) -> None:
    text = shown("show", TEXT, "--model", directory / "distil")
    assert "decoder" not in text
    assert "<s> and </s>, which are not words, take" in text


def test_an_encoder_decoder_is_shown_by_its_encoder_and_by_each_attention(
    directory: Path, tmp_path: Path
) -> None:
    text = shown("show", TEXT, "--model", directory / "t5")
    assert "t5, 2 layers × 4 heads" in text
    assert "attention" not in text
    saved = tmp_path / "t5.regard"
    asked = ("--model", directory / "t5", "--generate", 6)
    text = shown("show", TEXT, *asked, "--save", saved)
    folded = " ".join(text.split())
    assert "for the others, --attention decoder and --attention cross." in folded
    cross = " ".join(shown("show", saved, "--attention", "cross").split())
    assert f"Its words read another text: {TEXT}" in cross
    assert "cross-attention: the words of the output read those of the input" in cross
    assert "A decoder: each word" in shown("show", saved, "--attention", "decoder")
    scene = json.loads(shown("show", saved, "--attention", "cross", "--json"))
    assert scene["source"]["kind"] == "cross"
    assert scene["source"]["read"] == TEXT
    said = refused("show", TEXT, "--attention", "cross")
    assert "the record has no cross attention: it has encoder." in said


def test_what_a_model_writes_is_shown_with_it(directory: Path) -> None:
    text = shown("show", TEXT, "--model", directory / "plain", "--generate", 4)
    assert "It wrote: " in text
    assert "--generate" in text or "Next, added to the same command" in text
    assert "writes no text" in refused(
        "show", TEXT, "--model", directory / "distil", "--generate", 4
    )


def test_rollout_is_the_librarys(directory: Path) -> None:
    model = directory / "plain"
    scene = json.loads(shown("show", TEXT, "--model", model, "--word", "it", "--rollout", "--json"))
    record = regard.capture(TEXT, model)
    mass = regard.questions.rollout(record, 6)
    assert scene["view"] == "rollout"
    assert scene["layers"] == 3
    assert [cell["weight"] for cell in scene["row"]["cells"]] == pytest.approx(list(mass))
    assert [cell["seen"] for cell in scene["row"]["cells"]] == [True] * 7 + [False] * 2
    text = shown("show", TEXT, "--model", model, "--word", "it", "--rollout")
    assert 'Rollout: what "it" is made of after 3 layers' in text
    assert "--rollout needs --word" in refused("show", TEXT, "--rollout")


def test_a_long_text_is_its_own_measure_of_habit(directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("the cat saw a dog because it was hungry . " * 12)
    text = shown("show", "--file", path, "--model", directory / "plain", "--word", "hungry#7")
    assert "over this text):" in " ".join(text.split())
    assert len(text.splitlines()) < 55
    assert re.search(r"  and \d+ more words, together \.\d\d", text)


def captured(path: Path, *args: object, given: str | None = None) -> tuple[str, str, regard.Record]:
    result = run("capture", *args, "-o", path, given=given)
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr, regard.load(path)


def test_capture_keeps_everything_by_default_and_says_what_it_takes(
    directory: Path, tmp_path: Path
) -> None:
    path = tmp_path / "seen.regard"
    out, said, record = captured(path, TEXT, "--model", directory / "plain")
    assert "9 tokens, 3 layers × 4 heads." in said
    assert "query, key, value 0.1 MB; readings about 0.1 MB" in said
    assert "Reading" in said
    assert record.layers[0].query is not None
    assert record.layers[0].readings.lse is not None
    for line in out.splitlines()[1:]:
        program, *args = line.split()
        assert program == "regard"
        assert shown(*args)


def test_capture_takes_what_is_asked_of_the_rows_asked(directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "seen.regard"
    little = ("--keep", "none", "--ask", "top=3,entropy,share", "--rows", "2", "--layers", "0,2")
    record = captured(path, TEXT, "--model", directory / "plain", *little)[2]
    assert [layer.number for layer in record.layers] == [0, 2]
    readings = record.layers[0].readings
    assert record.layers[0].key is None
    assert readings.top_index.shape == (4, 2, 3)
    assert readings.entropy is not None
    assert readings.lse is None
    text = shown("show", path, "--word", "hungry")
    assert "≥" in text
    assert "takes at least" in " ".join(text.split())
    record = captured(path, TEXT, "--keep", "key,value", "--rows", "last", "--ask", "lse")[2]
    assert record.layers[0].query is None
    assert list(record.layers[0].readings.queries) == [10]


def test_capture_reads_files_and_pipes(tmp_path: Path) -> None:
    path, letter = tmp_path / "seen.regard", tmp_path / "letter.txt"
    letter.write_text(TEXT)
    assert captured(path, "--file", letter)[2].sides[0].text == TEXT
    assert captured(path, "--file", "-", given=TEXT)[2].sides[0].text == TEXT


def test_an_interrupt_keeps_the_layers_that_are_done(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.cli.source import Progress

    class Stopping(Progress):
        def _step(self, done: int, total: int) -> None:
            super()._step(done, total)
            if done == 2:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(importlib.import_module("regard.cli.capture"), "Progress", Stopping)
    path = tmp_path / "part.regard"
    out, _, record = captured(path, TEXT, "--model", directory / "plain")
    assert [layer.number for layer in record.layers] == [0, 1]
    assert "Stopped early: with 2 of 3 layers" in out
    text = " ".join(shown("show", path).split())
    assert "Stopped early, with 2 of 3 layers: the rest is missing." in text


def test_more_than_there_is_memory_for_is_refused_before_it_is_taken(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.cli.source._available", lambda: 1000)
    plain = ("--model", directory / "plain")
    out = tmp_path / "x.regard"
    result = run("capture", TEXT, *plain, "-o", out)
    assert result.exit_code == 2
    assert "This takes 0.1 MB and 0.1 MB of memory are free. Choose some --layers" in result.stderr
    assert not out.exists()
    assert "of memory are free" in refused("show", TEXT, *plain)


def test_a_model_that_cannot_be_watched_is_named(tmp_path: Path) -> None:
    config = transformers.BloomConfig(vocab_size=17, hidden_size=8, n_layer=1, n_head=2)
    bloom = save(transformers.BloomForCausalLM(config), tokenizer(), tmp_path / "bloom")
    assert "BloomForCausalLM did not compute any attention through" in refused(
        "show", TEXT, "--model", bloom
    )


def test_bad_input_says_what_to_do(directory: Path, tmp_path: Path) -> None:
    model: tuple[Any, ...] = ("--model", directory / "plain")
    out = ("-o", tmp_path / "x.regard")
    assert "hf download no/such" in refused("show", TEXT, "--model", "no/such")
    assert "cannot use here" in refused("show", TEXT, *model, "--device", "toaster")
    assert "saved record names its own" in refused("show", "x.regard", "--generate", "3")
    assert "No text was given" in refused("capture", *out)
    assert "Both TEXT and --file" in refused("capture", TEXT, "--file", "x", *out)
    assert "ends in .regard" in refused("capture", TEXT, "-o", "x.json")
    assert "Missing option '-o'" in refused("capture", TEXT)
    assert "--ask has 'tops': expected some of top=N, thumbnail=N, share" in refused(
        "capture", TEXT, "--ask", "tops", *out
    )
    assert "--ask has 'top': expected" in refused("capture", TEXT, "--ask", "top", *out)
    assert "--keep has 'queries'" in refused("capture", TEXT, "--keep", "queries", *out)
    assert "--rows is '0'" in refused("capture", TEXT, "--rows", "0", *out)
    assert "--layers has 'x'" in refused("capture", TEXT, "--layers", "1,x", *out)
    assert "would record nothing" in refused(
        "capture", TEXT, "--keep", "none", "--ask", "none", *out
    )
    assert "layers holds 9" in run("capture", TEXT, "--layers", "9", *out).stderr
    assert "cannot be written" in run("capture", TEXT, "-o", tmp_path / "no" / "x.regard").stderr
