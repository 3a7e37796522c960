"""Models and tokenizers from files that are here."""

from __future__ import annotations

import builtins
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import pytest
import torch
import transformers

from checkpoints import decoder, encoder, encoder_decoder, save, tokenizer, write_gguf
from regard.errors import BackendError, InputError
from regard.models.loading import load_model


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(decoder(), tokenizer(), tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.mark.parametrize("make", [decoder, encoder, encoder_decoder])
def test_a_directory_gives_the_model_that_was_saved(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    saved = make()
    model, words = load_model(save(saved, tokenizer(), tmp_path / "tiny"))
    assert type(model) is type(saved)
    assert not model.training
    assert model.config._name_or_path == "tiny"
    assert all(
        torch.equal(tensor, model.state_dict()[name]) for name, tensor in saved.state_dict().items()
    )
    assert words("a dog")["input_ids"] == [1, 4, 5]
    assert words.is_fast


def test_a_gguf_file_gives_its_model_and_its_tokenizer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model, words = load_model(write_gguf(tmp_path / "small.gguf"))
    assert capfd.readouterr() == ("", "")
    assert type(model) is transformers.LlamaForCausalLM
    assert (model.config.num_hidden_layers, model.config.num_key_value_heads) == (1, 2)
    assert model.config._name_or_path == "small"
    random = np.random.default_rng(0)
    embedded = random.normal(0, 0.3, (13, 16)).astype(np.float32)
    np.testing.assert_array_equal(model.get_input_embeddings().weight.detach().numpy(), embedded)
    assert words("a dog")["input_ids"] == [2, 12]


def test_a_model_is_called_what_its_directory_is_called(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short-name").symlink_to(llama)
    assert load_model(tmp_path / "short-name")[0].config._name_or_path == "short-name"
    monkeypatch.chdir(llama)
    assert load_model(".")[0].config._name_or_path == "tiny-llama"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_dtype_is_the_one_asked_for(llama: Path, dtype: str) -> None:
    assert load_model(llama, dtype=dtype)[0].dtype == getattr(torch, dtype)


def test_auto_is_the_dtype_of_the_checkpoint(tmp_path: Path) -> None:
    path = save(decoder().to(torch.bfloat16), tokenizer(), tmp_path / "half")
    assert load_model(path)[0].dtype == torch.bfloat16


def test_a_checkpoint_that_does_not_say_its_class_gets_one_for_its_kind(
    llama: Path, tmp_path: Path
) -> None:
    path = save(decoder(), tokenizer(), tmp_path / "nameless")
    config = json.loads((path / "config.json").read_text())
    del config["architectures"]
    (path / "config.json").write_text(json.dumps(config))
    assert type(load_model(path)[0]) is transformers.LlamaForCausalLM


def test_a_name_is_found_in_the_local_cache_and_nowhere_else(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    commit = "0" * 40
    entry = tmp_path / "models--someone--tiny-llama"
    (entry / "refs").mkdir(parents=True)
    (entry / "refs" / "main").write_text(commit)
    (entry / "snapshots").mkdir()
    (entry / "snapshots" / commit).symlink_to(llama)
    model, _ = load_model("someone/tiny-llama")
    assert model.config._name_or_path == "someone/tiny-llama"
    with pytest.raises(InputError, match=r"fetch it once.*: hf download someone/other$"):
        load_model("someone/other")
    (tmp_path / "models--someone--part" / "refs").mkdir(parents=True)
    (tmp_path / "models--someone--part" / "refs" / "main").write_text(commit)
    (tmp_path / "models--someone--part" / "snapshots" / commit).mkdir(parents=True)
    with pytest.raises(InputError, match=r"only partly in .* cache: fetch it once"):
        load_model("someone/part")


def test_nothing_is_printed_and_transformers_settings_are_put_back(
    llama: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    level = transformers.logging.get_verbosity()
    assert transformers.logging.is_progress_bar_enabled()
    load_model(llama)
    assert capfd.readouterr() == ("", "")
    assert transformers.logging.get_verbosity() == level
    assert transformers.logging.is_progress_bar_enabled()
    with pytest.raises(InputError):
        load_model(llama / "config.json")
    assert transformers.logging.get_verbosity() == level


def test_code_that_comes_with_a_model_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("raise AssertionError('code was run')\n")
    auto = {"AutoConfig": "model.Config", "AutoModel": "model.Model"}
    config = {"model_type": "of_its_own", "architectures": ["Model"], "auto_map": auto}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="code that comes with it, which regard never runs: load"):
        load_model(tmp_path)


def test_an_architecture_that_transformers_does_not_know_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "unheard_of"}))
    with pytest.raises(InputError, match=r"does not know the architecture .*unheard_of"):
        load_model(tmp_path)


def test_weights_that_are_missing_would_be_random_and_are_refused(tmp_path: Path) -> None:
    path = save(decoder(num_hidden_layers=1), tokenizer(), tmp_path / "part")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 2}))
    with pytest.raises(InputError, match=r"no weights for 9 parts of LlamaForCausalLM \(model\.la"):
        load_model(path)


def test_a_model_without_a_tokenizer_reads_no_text(tmp_path: Path) -> None:
    decoder().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="no tokenizer that can be read, and so reads no text"):
        load_model(tmp_path)


def test_a_model_whose_weights_are_broken_or_missing_cannot_be_read(
    llama: Path, tmp_path: Path
) -> None:
    path = save(decoder(), tokenizer(), tmp_path / "broken")
    (path / "model.safetensors").write_bytes(b"none")
    with pytest.raises(InputError, match="model 'broken' cannot be read: "):
        load_model(path)
    (path / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"model 'broken' cannot be read: .*no file named"):
        load_model(path)


def test_what_is_no_model_says_what_one_is(llama: Path, tmp_path: Path) -> None:
    (tmp_path / "weights.gguf").write_bytes(b"")
    for given, said in (
        (tmp_path, r"with weights\.gguf: name the file, .*weights\.gguf\."),
        (tmp_path / "none.gguf", "and there is no such file"),
        (llama / "config.json", "is the file .*: expected a directory with config.json"),
        ("not a name", "is no directory here: expected a directory with config.json and"),
        ("", "is no directory here"),
    ):
        with pytest.raises(InputError, match=said):
            load_model(given)
    (tmp_path / "weights.gguf").unlink()
    with pytest.raises(InputError, match=r"has no config\.json"):
        load_model(tmp_path)


def test_devices_and_dtypes_that_are_not_to_be_had(llama: Path) -> None:
    assert load_model(llama, device="cpu")[0].device.type == "cpu"
    with pytest.raises(InputError, match=r"device is 'toaster', which torch .* cannot use here"):
        load_model(llama, device="toaster")
    with pytest.raises(InputError, match="dtype is 'int8': expected one of auto, float32, bf"):
        load_model(llama, dtype="int8")


def test_without_the_torch_extra_it_says_how_to_get_it(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name == "transformers":
            raise ModuleNotFoundError("No module named 'transformers'", name=name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BackendError, match=r"needs transformers, .*: pip install 'regard\[torch\]"):
        load_model(llama)
