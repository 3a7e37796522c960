"""`regard spans`, as people type it, on a small random model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from checkpoints import decoder, encoder, save, tokenizer
from regard.cli import main
from regard.models.cut import Cut
from regard.models.effect import effect
from regard.models.loading import load_model

PROMPT = "a dog ate the food. a cat saw it. the dogs was hungry because"
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message.role }} {{ message.content }}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}it{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    words = tokenizer()
    words.chat_template = TEMPLATE
    return str(
        save(decoder(initializer_range=0.4), words, tmp_path_factory.mktemp("m") / "tiny-llama")
    )


@pytest.fixture
def prompt(tmp_path: Path) -> str:
    path = tmp_path / "prompt.txt"
    path.write_text(PROMPT)
    return str(path)


def spans(*args: str, given: str | None = None) -> Result:
    return CliRunner(env={"COLUMNS": "79"}).invoke(main, ["spans", *args], input=given)


def shown(*args: str, given: str | None = None) -> str:
    result = spans(*args, given=given)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert all(len(line) <= 79 for line in result.stdout.splitlines())
    return result.stdout


def told(*args: str) -> dict[str, Any]:
    return json.loads(shown(*args, "--json"))  # type: ignore[no-any-return]


def refused(*args: str, given: str | None = None) -> str:
    result = spans(*args, given=given)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("regard: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_screen(model: str, prompt: str) -> None:
    text = shown("--model", model, "--file", prompt, "--answer", "the food")
    assert "18 tokens in 3 spans; read by tiny-llama, 3 layers × 4 heads" in text
    assert re.search(r'Answer given: "the food" \(2 tokens, log p −\d+\.\d\d\)', text)
    assert re.search(r"s1 +a dog ate the \S+ +-?\.\d\d +-?\.\d\d +-?\.\d\d +-?\.\d\d", text)
    assert re.search(r"special and first tokens +1 +\.\d\d +\.\d\d", text)
    assert re.search(r"the answer so far +1 +\.\d\d +\.\d\d", text)
    assert re.search(r"s\d is read most by L\dH\d \(\.\d\d\), L\dH\d", text)
    assert "Weight is where a head looks, not why the model decides." in text
    assert "--test" in text
    assert "Δ" not in text


def test_with_test_the_spans_are_sorted_by_what_their_cut_does(model: str, prompt: str) -> None:
    text = shown("--model", model, "--file", prompt, "--answer", "the food", "--test")
    changes = re.findall(r"^  s\d .*?([+−]\d\.\d\d|\.00)(?: +█.*)?$", text, re.M)
    numbers = [float(change.replace("−", "-")) for change in changes]
    assert len(numbers) == 3
    assert numbers == sorted(numbers)
    assert "Δ log p: of the answer, when it cannot read the span" in text
    assert "what other tokens have gathered from it is still there" in " ".join(text.split())


def test_what_is_told_is_what_the_library_gives(model: str, prompt: str) -> None:
    seen = told("--model", model, "--file", prompt, "--answer", "the food", "--test")
    assert (seen["schema"], seen["view"], seen["sorted_by"]) == (
        "regard.spans/1",
        "spans",
        "effect",
    )
    assert seen["exact"] is True
    loaded, words = load_model(model)
    ids = words(PROMPT)["input_ids"]
    tokens = {"s1": slice(1, 7), "s2": slice(7, 12), "s3": slice(12, 18)}
    for part in seen["spans"]:
        where = tokens[part["name"]]
        (found,) = effect(loaded, ids, [7, 8], Cut(queries=slice(17, None), keys=where))
        assert part["effect"] == pytest.approx(found.change, abs=1e-6)
        assert part["tokens"] == where.stop - where.start
        assert seen["prompt"]["log_probability"] == pytest.approx(found.before, abs=1e-5)
    with torch.no_grad():
        loaded.set_attn_implementation("eager")
        out = loaded(input_ids=torch.tensor([[*ids, 7]]), output_attentions=True)
    weights = np.stack([layer[0, :, 17:].numpy() for layer in out.attentions])
    for part in seen["spans"]:
        mine = weights[..., tokens[part["name"]]].sum(-1)
        assert part["weight"] == pytest.approx(mine.mean(), abs=1e-5)
        assert part["by_layer"] == pytest.approx(mine.mean((1, 2)), abs=1e-5)
        left = weights[..., 1:].sum(-1).mean()
        assert part["without_apart"] == pytest.approx(mine.mean() / left, abs=1e-5)
        best = np.unravel_index(mine.mean(2).argmax(), (3, 4))
        assert part["top_head"] == part["readers"][0]["weight"]
        assert part["readers"][0]["head"] == f"L{best[0]}H{best[1]}"
    parts = [*seen["spans"], *seen["rest"]]
    for name in ("length", "weight", "part"):
        assert sum(part[name] for part in parts) == pytest.approx(1, abs=1e-5)


def test_the_models_own_answer(model: str, prompt: str) -> None:
    seen = told("--model", model, "--file", prompt, "--generate", "4")
    loaded, words = load_model(model)
    ids = torch.tensor([words(PROMPT)["input_ids"]])
    written = loaded.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False
    )[0, 18:]
    written = written[written != 2]
    assert seen["prompt"]["generated"] is True
    assert seen["prompt"]["answer"] == words.decode(written)
    assert seen["prompt"]["answer_tokens"] == len(written)
    assert "It generated" in shown("--model", model, "--file", prompt, "--generate", "4")


def test_paragraphs_sentences_and_layers(model: str, tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("a dog. it ate\n\nthe cat\n\nsaw it was")
    given = ("--model", model, "--file", str(path), "--answer", "food")
    assert [part["name"] for part in told(*given)["spans"]].sort() == ["p1", "p2", "p3"].sort()
    assert len(told(*given, "--spans", "sentences")["spans"]) == 4
    text = shown(*given, "--by-layer")
    assert re.search(r"layer +p\d +p\d +p\d\n  L0 +\.\d\d +\.\d\d +\.\d\d\n  L1 ", text)


def test_a_chat(model: str) -> None:
    chat = json.dumps(
        [{"role": "system", "content": "a dog"}, {"role": "user", "content": "the cat. it ate"}]
    )
    text = shown("--model", model, "--file", "-", "--answer", "food", given=chat)
    assert re.search(r"^  system +a dog ", text, re.M)
    assert re.search(r"^  user +the cat\. it ate ", text, re.M)
    # one at the beginning, one after each message
    assert re.search(r"special and first tokens +3 ", text)
    text = shown(
        "--model", model, "--file", "-", "--answer", "food", "--spans", "sentences", given=chat
    )
    assert re.search(r"^  user s2 +it ate ", text, re.M)


def test_control_characters_do_no_harm(model: str) -> None:
    text = shown("--model", model, "--file", "-", "--answer", "a\x1b[31m", given="a \x1b[2Jdog. it")
    assert "\x1b" not in text


def test_what_is_refused(model: str, prompt: str, tmp_path: Path) -> None:
    to = ("--model", model, "--file")
    assert "--model is missing: the embedded model writes no answers" in refused("--file", prompt)
    assert "Missing option '--file'" in refused("--model", model)
    assert "The text is empty" in refused(*to, "-", given=" \n")
    assert "--answer is '': expected at least one token" in refused(*to, prompt, "--answer", "")
    assert "leave out --answer" in refused(*to, prompt, "--answer", "a", "--generate", "3")
    assert "--spans messages needs a chat" in refused(*to, prompt, "--spans", "messages")
    broken = json.dumps([{"role": "user"}])
    assert "message 0 of the chat is \"{'role': 'user'}\"" in refused(*to, "-", given=broken)
    other = str(save(encoder(), tokenizer(), tmp_path / "tiny-bert"))
    said = refused("--model", other, "--file", prompt)
    assert "expected a causal language model" in said
