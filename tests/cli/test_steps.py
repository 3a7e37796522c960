"""`regard steps`: what it prints, and how it turns away a file that it cannot use."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import save_file

from regard import steps
from regard.cli import main

Q, K, V = np.random.default_rng(3).normal(size=(3, 3, 4))


def run(*args):
    result = CliRunner().invoke(main, ["steps", *map(str, args)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*args):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_example():
    result = run("--example")
    assert result.exit_code == 0
    assert "   I     1.000 +  .082 +  .024 = 1.106 → .904 .074 .021" in result.stdout
    assert "columns 1, 2 and 64 of V" in result.stdout
    assert "Q and K are only partly printed in the source" in result.stdout
    assert "2.0 at d_k 4, 4.0 at" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 79
    assert "Enter" not in result.stdout  # nobody is there to press it
    assert run("--example", "--all").stdout == result.stdout


def test_the_pencil():
    shown = run("--pencil").stdout
    for line in (
        "   q(cats) = [1·1+0·1+1·0  1·0+0·0+1·1  1·1+0·0+1·1  1·1+0·1+1·1] = [1 1 2 2]",
        "   k(milk) = [0·0+2·1+1·2  0·1+2·0+1·0  0·1+2·0+1·0  0·0+2·0+1·0] = [4 0 0 0]",
        "   v(milk) = [0·0+2·0+1·1  0·1+2·2+1·0] = [1 4]",
        "   q(milk)·k(cats) = 2·2 + 1·1 + 1·1 + 3·0 = 6",
        "   cats     5     1     4   largest: cats",
        "   like     2     1     4   largest: milk",
        "   cats   2.5   0.5   2.0",
        "   z(cats) = .574·[1 1] + .078·[0 2] + .348·[1 4]",
        "           = [0.922 2.122]",
        "   cats  .326  .062  .612",
    ):
        assert line in shown.splitlines()
    # by hand: e^0 + e^-2 + e^-.5 = 1 + .135 + .607
    assert "1.000 +  .135 +  .607 = 1.742" in shown


def test_the_errata():
    shown = " ".join(run("--errata").stdout.split())
    for part in ("printed 0.03 exact .021", "printed 0.21 0.03 0.76 exact .219 .018 .763"):
        assert part in shown
    assert "text on row 'am' printed calls the word of this row 'I' exact it is 'am'" in shown
    assert "a word 'you' exact it is 'good'" in shown
    found = json.loads(run("--errata", "--json").stdout)
    assert [each["exact"] for each in found["errata"]][:2] == [".021", ".219 .018 .763"]


def test_aloud_and_json():
    aloud = run("--pencil", "--aloud").stdout
    assert "'like' matches 'milk' best: 4, against 2 for 'cats' and 1 for itself." in aloud
    assert max(map(len, aloud.splitlines())) <= 79
    plain = json.loads(run("--pencil", "--json").stdout)
    assert plain["schema"] == "regard.steps/1"
    assert plain["words"] == {"queries": ["cats", "like", "milk"], "keys": ["cats", "like", "milk"]}
    assert plain["scores"] == [[5, 1, 4], [2, 1, 4], [6, 2, 8]]
    assert np.sum(plain["share"], axis=1) == pytest.approx([1, 1, 1])


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "m.npz", Q=Q, K=K, v=V, words=np.array(["a", "b", "c"]))
    notes = {"words": '["a", "b", "c"]'}
    save_file({"query": Q, "key": K, "value": V}, tmp_path / "m.safetensors", metadata=notes)
    lists = {"q": Q.tolist(), "k": K.tolist(), "v": V.tolist(), "words": "a b c"}
    (tmp_path / "m.json").write_text(json.dumps(lists))
    return tmp_path


@pytest.mark.parametrize("name", ["m.npz", "m.safetensors", "m.json"])
def test_own_matrices(files, name):
    plain = json.loads(run(files / name, "--json").stdout)
    expected = steps(Q, K, V)
    assert np.array(plain["weights"]) == pytest.approx(expected.weights)
    assert plain["words"]["keys"] == ["a", "b", "c"]
    renamed = run(files / name, "--words", "x y z").stdout
    assert renamed.startswith('"x y z", d_k = 4.')
    two = run(files / name, "--words", "x y z", "--words", "p q r").stdout
    assert two.startswith('"x y z" reads "p q r", d_k = 4.')


def write(tmp_path, name="m.json", **content):
    path = tmp_path / name
    path.write_text(json.dumps(content))
    return path


def test_other_ways_in(tmp_path):
    scores = write(tmp_path, scores=[[1, 2], [3, 4]], d_k=4, words=["a", "b"], aside="!")
    result = run(scores)
    assert "Step 4, × V, needs the value vectors" in result.stdout
    assert result.stderr == "Not used: aside\n"
    eye = [[1, 0], [0, 1]]
    made = write(tmp_path, x=eye, w_q=eye, wk=eye, W_Value=[[1, 2], [3, 4]])
    assert "q(q0) = [1·1+0·0  1·0+0·1] = [1 0]" in run(made).stdout
    masked = write(
        tmp_path, query=eye, key=eye, value=eye, mask=[[True, False], [True, True]], scale=1,
        query_words=["a", "b"], key_words=["c", "d"],
    )  # fmt: skip
    plain = json.loads(run(masked, "--json").stdout)
    assert plain["weights"][0] == [1, 0]
    assert plain["masked"][0][1] is None
    large = write(
        tmp_path, x=[[0.123] * 9] * 3, w_q=[[1] * 5] * 9, w_k=[[1] * 5] * 9, w_v=[[1]] * 9
    )
    assert "X 3 × 9, W_Q 9 × 5, W_K 9 × 5, W_V 9 × 1" in run(large).stdout


def test_heads(tmp_path):
    path = tmp_path / "heads.npz"
    np.savez(path, q=np.stack([Q, 2 * Q]), k=np.stack([K, K]), v=np.stack([V, V]))
    assert "One head: --head 0" in run(path).stdout
    assert "One head: --head 0" in run(path, "--aloud").stdout
    plain = json.loads(run(path, "--head", "1", "--json").stdout)
    assert np.array(plain["weights"]) == pytest.approx(steps(2 * Q, K, V).weights)
    assert "outside the leading axes (2,)" in refused(path, "--head", "2")
    assert "--head is 'x': expected a number" in refused(path, "--head", "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "found nothing: expected query, key and value; or x,"),
        ({"a": 1}, "found 'a': expected query, key and value"),
        ({"query": [[1]], "value": [[1]]}, "found 'query', 'value', but not key"),
        ({"scores": [[1]]}, "found 'scores', but not d_k"),
        ({"scores": [[1]], "d_k": 1.5}, "d_k is 1.5: expected a whole number"),
        ({"scores": [[1]], "d_k": "8"}, "d_k must be one finite number"),
        ({"scores": [[1]], "d_k": 1, "mask": [[True]]}, "mask cannot be used with scores"),
        ({"scores": [[1]], "d_k": 1, "query": [[1]]}, "both query and scores are there"),
        ({"q": [[1]], "Query": [[1]], "k": [[1]], "v": [[1]]}, "holds query twice"),
        ({"q": [[1], [1, 2]], "k": [[1]], "v": [[1]]}, "query is no rectangle of numbers"),
        ({"q": "abc", "k": None, "v": {}}, "query has dtype <U3"),
        ({"q": [[1]], "k": [[1, 2]], "v": [[1]]}, "query has dim 1 and key has dim 2"),
        ({"q": [[10**400]], "k": [[1]], "v": [[1]]}, "query has dtype object"),
        ({"q": [[1]], "k": [[1]], "v": [[1]], "mask": [[1]]}, "mask has dtype int64"),
        ({"q": [[1]], "k": [[1]], "v": [[1]], "words": [1]}, "words must be a text or a list"),
        ({"q": [[1]], "k": [[1]], "v": [[1]], "words": ["a", "b"]}, "expected 1 strings"),
        ({"q": [[1]], "k": [[1]], "v": [[1]], "key_words": ["a"]}, "belong together"),
        ({"x": [[1, 2]], "w_q": [[1]], "w_k": [[1]], "w_v": [[1]]}, "w_query has shape (1, 1)"),
    ],
)
def test_wrong_content(tmp_path, content, message):
    assert message in refused(write(tmp_path, **content))


def test_broken_and_hostile_files(tmp_path):
    path = tmp_path / "evil.npz"
    np.savez(path, q=np.array([{}], dtype=object), k=K, v=V)
    assert "allow_pickle=False" in refused(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", b"\0" * (257 << 20))
    assert "holds 257 MiB: expected at most 256 MiB" in refused(path)
    header = (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }".ljust(117)
        + b"\n"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header)
    assert "'evil.npz' cannot be read" in refused(path)
    path.write_bytes(b"PK\x03\x04")
    assert "'evil.npz' cannot be read: File is not a zip file" in refused(path)

    path = tmp_path / "evil.safetensors"
    path.write_bytes(struct.pack("<Q", 2**60) + b"{}")
    assert "'evil.safetensors' cannot be read" in refused(path)

    path = tmp_path / "evil.json"
    for content in (b"[" * 100_000, b'{"q": [1', b"\xff\xfe\x00", b""):
        path.write_bytes(content)
        assert "'evil.json' cannot be read" in refused(path)
    path.write_text("[1]")
    assert "'evil.json' holds a list: expected an object" in refused(path)

    assert "expected a file ending in .npz" in refused(tmp_path / "m.csv")
    assert "No such file" in refused(tmp_path / "absent.json")
    (tmp_path / "folder.json").mkdir()
    assert "'folder.json' is not a file" in refused(tmp_path / "folder.json")


def test_bfloat16_is_named(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    save_tensors({"q": torch.ones(1, 1, dtype=torch.bfloat16)}, tmp_path / "m.safetensors")
    assert "holds 'q' as BF16: save it as float32" in refused(tmp_path / "m.safetensors")


def test_hostile_words_are_harmless(tmp_path):
    path = write(tmp_path, scores=[[1]], d_k=1, words=["\x1b[2J\u202e"], **{"\x1b[2J": 1})
    for options in ([], ["--aloud"], ["--json"]):
        result = run(path, *options)
        assert result.exit_code == 0
        assert "\x1b" not in result.output
    wrong = write(tmp_path, **{"\x1b[2J": 1})
    assert "\x1b" not in refused(wrong)


def test_usage():
    for args in ([], ["--pencil", "file.json"]):
        assert "expected one of --example, --pencil, --errata or FILE" in refused(*args)
    assert "--words names the words of FILE" in refused("--pencil", "--words", "a b c")
    shown = run("--help").stdout
    assert "regard steps mine.npz --words" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("keys", "last"), [(b"\n\nq\n", "3  Softmax"), (b"\n\n\n", "4  × V")])
def test_enter_at_a_terminal(keys, last):
    import os
    import pty

    ours, theirs = pty.openpty()
    program = "from regard.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "steps", "--example"],
        stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"},
    ) as process:  # fmt: skip
        os.close(theirs)
        os.write(ours, keys)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so when the other end has closed
                break
            if not part:
                break
            shown += part
        os.close(ours)
    text = shown.decode()
    assert process.returncode == 0
    assert text.count("Enter: next") == 3
    assert last in text
    assert ("4  × V" in text) == (last == "4  × V")
