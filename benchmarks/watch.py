"""What watching a model costs: time and memory over its forward alone, and in training.

A Llama-type model of random weights: 4 layers, 8 heads of 64, 2 key heads, float32, torch's own
attention. Times are taken in one process, in turns, the best round of each; memory in a fresh
process each, because a peak never goes down again. Before that, every answer is checked: the
model's output bit for bit, the readings against the model's eager weights.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from _machine import machine, options, say, table, unpin
from _peak import peak

unpin()
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

import regard  # noqa: E402

LONG, EAGER, TRAINED, CHECKED = 8192, 4096, 1024, 300
"""Tokens: of a watched forward, of one that returns its weights, of a training step, of a check."""

LAST = regard.Ask(queries=slice(-64, None), top=8, entropy=True)
EVERY = regard.Ask(top=8, entropy=True, received=True)

MOST_TIME = {"last": 1.05, "every": 1.35}
"""× the forward alone."""

MOST_LAST, MOST_EVERY, MOST_STEP = 50, 150, 1.10
"""MiB above it, of the last 64 rows and of all; × a training step alone."""

NEAR = 2e-5
"""How far a weight may be from the model's own eager one, which is itself rounded."""


def main() -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--one", choices=[*WAYS, "nothing"], help="peak memory of this alone, JSON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=("time", "memory", "training"), help="one part")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    regard.set_num_threads(chosen.threads)
    if chosen.one:
        print(json.dumps(peak_of(chosen.one)))
        return 0
    check()
    figures: dict[str, Any] = {"machine": machine() | {"torch": torch.__version__}}
    missed: list[str] = []
    if chosen.only in (None, "memory"):
        figures["memory"] = say_memory(chosen.threads, missed)
    if chosen.only in (None, "time"):
        figures["time"] = say_time(chosen.rounds, missed)
    if chosen.only in (None, "training"):
        figures["training"] = say_training(chosen.rounds, missed)
    figures["missed"] = missed
    print("\n" + ("Missed: " + "; ".join(missed) if missed else "Every aim was met."))
    say(figures, chosen.json)
    return 1 if missed else 0


def model_of(attention: str = "sdpa") -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        num_hidden_layers=4, hidden_size=512, intermediate_size=1536, num_attention_heads=8,
        num_key_value_heads=2, head_dim=64, vocab_size=1024, max_position_embeddings=LONG,
        attn_implementation=attention,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def ids_of(tokens: int) -> torch.Tensor:
    return torch.randint(1024, (1, tokens), generator=torch.Generator().manual_seed(1))


def forward(model: Any, ids: torch.Tensor, ask: regard.Ask | None) -> tuple[Any, Any]:
    """The model's logits, and the record of a watch; the record is part of what is measured."""
    with torch.no_grad(), nullcontext() if ask is None else regard.watch(model, ask=ask) as seen:
        logits = model(ids).logits
    return logits, None if ask is None else seen.record


def eager(model: Any, ids: torch.Tensor) -> tuple[Any, Any]:
    with torch.no_grad():
        given = model(ids, output_attentions=True)
    return given.logits, given.attentions


WAYS: dict[str, tuple[str, str, int, Callable[[Any, Any], Any]]] = {
    "forward": ("forward alone", "sdpa", LONG, lambda m, ids: forward(m, ids, None)),
    "last": ("watch, last 64 rows", "sdpa", LONG, lambda m, ids: forward(m, ids, LAST)),
    "every": ("watch, all rows", "sdpa", LONG, lambda m, ids: forward(m, ids, EVERY)),
    "shorter": ("forward alone", "sdpa", EAGER, lambda m, ids: forward(m, ids, None)),
    "shorter_every": ("watch, all rows", "sdpa", EAGER, lambda m, ids: forward(m, ids, EVERY)),
    "eager": ("eager with output_attentions", "eager", EAGER, eager),
}
"""What each is called, the attention it runs, its tokens, and how."""

ALONE = {"last": "forward", "every": "forward", "shorter_every": "shorter", "eager": "shorter"}
"""What each is compared with."""


def check() -> None:
    """Stop unless watching leaves the output as it is and reads the model's own weights."""
    ids = ids_of(CHECKED)
    alone, _ = forward(model_of(), ids, None)
    _, weights = eager(model_of("eager"), ids)
    for ask in (LAST, EVERY):
        logits, record = forward(model_of(), ids, ask)
        if not torch.equal(logits, alone):
            raise SystemExit("the watched model's output is not its own: no figures")
        for layer, theirs in zip(record.layers, weights, strict=True):
            rows = theirs[0].double().numpy()[:, layer.readings.queries]
            top = np.sort(rows, axis=-1)[..., : -ask.top - 1 : -1]
            entropy = -(rows * np.log(np.where(rows == 0, 1, rows))).sum(-1)
            far = [np.abs(layer.readings.top_weight - top).max()]
            far.append(np.abs(layer.readings.entropy - entropy).max() / np.log(CHECKED))
            if ask.received:
                far.append(np.abs(layer.readings.received - rows.sum(1)).max() / CHECKED)
            if not max(far) <= NEAR:
                raise SystemExit(f"{layer.name} is {max(far):.1e} from its weights: no figures")


def peak_of(way: str) -> dict[str, float]:
    """Bytes at the peak of this process once it has run one way, or only made the model."""
    if way == "nothing":
        model_of()
        return {"peak": peak()}
    _, attention, tokens, run = WAYS[way]
    kept = run(model_of(attention), ids_of(tokens))  # as a caller keeps what he asked for
    return {"peak": peak(), "kept": len(kept)}


def say_memory(threads: int, missed: list[str]) -> dict[str, Any]:
    """Print the peaks of fresh processes, with two settings of the C library's heap.

    Of glibc's heap as it comes, the peak of the forward alone varies by a hundred MiB from run to
    run: it is how well the holes between tensors happen to be used. Where every tensor is a
    mapping of its own, the peak is what is really held. That one is compared; both are printed.
    """
    found: dict[str, dict[str, float]] = {"held": {}, "default heap": {}}
    for heap, settings in (("held", {"MALLOC_MMAP_THRESHOLD_": "1000000"}), ("default heap", {})):
        for way in ("nothing", *WAYS):
            command = [sys.executable, __file__, "--one", way, "--threads", str(threads)]
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=os.environ | settings
            )
            found[heap][way] = json.loads(done.stdout)["peak"] / 2**20
    held, default = found["held"], found["default heap"]
    print("\nPeak memory of a fresh process, MiB\n")
    rows = [["the model alone", "", f"{held['nothing']:.0f}", "", "", f"{default['nothing']:.0f}"]]
    for way, (name, _, tokens, _) in WAYS.items():
        over = held[way] - held[ALONE[way]] if way in ALONE else None
        most = {"last": MOST_LAST, "every": MOST_EVERY}.get(way)
        if over is not None and most is not None and over > most:
            missed.append(f"{name} takes {over:.0f} MiB over the forward alone, {most} wanted")
        said = "" if over is None else f"{over:.0f}"
        wanted = "" if most is None else f"≤ {most}"
        numbers = (f"{held[way]:.0f}", said, wanted, f"{default[way]:.0f}")
        rows.append([name, str(tokens), *numbers])
    table(["", "tokens", "held", "over the forward alone", "wanted", "default heap"], rows)
    return found


def say_time(rounds: int, missed: list[str]) -> dict[str, Any]:
    """Print the times of a forward, alone and watched, in turns."""
    models = {attention: model_of(attention) for attention in ("sdpa", "eager")}
    best, work = race(
        {
            way: partial(run, models[attention], ids_of(tokens))
            for way, (_, attention, tokens, run) in WAYS.items()
        },
        rounds,
    )
    print(f"\nTime of a forward pass, best of {rounds}\n")
    rows = []
    for way, (name, _, tokens, _) in WAYS.items():
        alone = ALONE.get(way)
        ratio = best[way] / best[alone] if alone else None
        if ratio is not None and ratio > MOST_TIME.get(way, ratio):
            missed.append(f"{name} takes {ratio:.3f} × the forward alone, {MOST_TIME[way]} wanted")
        rows.append(
            [name, str(tokens), f"{best[way]:.3f}", f"{ratio:.3f}" if ratio else "",
             f"{work[way] / work[alone]:.3f}" if alone else "",
             f"≤ {MOST_TIME[way]}" if way in MOST_TIME else ""]
        )  # fmt: skip
    table(["", "tokens", "seconds", "× forward alone", "× its processor time", "wanted"], rows)
    return {"seconds": best, "processor": work}


def say_training(rounds: int, missed: list[str]) -> dict[str, Any]:
    """Print the times of a training step, alone and with a summary of it."""
    model = model_of().train()
    ids = ids_of(TRAINED)
    adam = torch.optim.AdamW(model.parameters(), lr=0.0)

    def step(watched: bool) -> tuple[Any, Any]:
        adam.zero_grad()
        with regard.watch(model) if watched else nullcontext() as seen:
            loss = model(ids, labels=ids).loss
        loss.backward()
        gradient = next(model.parameters()).grad.clone()
        adam.step()
        return (loss.detach(), gradient), seen.summary().as_dict() if watched else None

    plain, watched = step(False), step(True)
    if not all(torch.equal(*pair) for pair in zip(plain[0], watched[0], strict=True)):
        raise SystemExit("the watched step's loss or gradient is not its own: no figures")
    if len(watched[1]) < 4 * 8 * 3 or not np.isfinite(list(watched[1].values())).all():
        raise SystemExit("the summary is not whole: no figures")
    best, work = race(
        {"step": lambda: step(False), "watched": lambda: step(True)}, max(4 * rounds, 12)
    )
    ratio = best["watched"] / best["step"]
    if ratio > MOST_STEP:
        missed.append(f"the summary takes a training step to {ratio:.3f} ×, {MOST_STEP} wanted")
    print(f"\nTime of a training step of 1 × {TRAINED} tokens\n")
    table(
        ["", "seconds", "× step alone", "× its processor time", "wanted"],
        [
            ["step alone", f"{best['step']:.4f}", "", "", ""],
            ["step with its summary", f"{best['watched']:.4f}", f"{ratio:.3f}",
             f"{work['watched'] / work['step']:.3f}", f"≤ {MOST_STEP}"],
        ],
    )  # fmt: skip
    return {"seconds": best, "processor": work}


def race(ways: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], ...]:
    """Least seconds and least processor seconds of each, in turns."""
    best: dict[str, float] = {}
    work: dict[str, float] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            time.sleep(0.05)  # until the threads of the way before have stopped waiting for work
            start, used = time.perf_counter(), time.process_time()
            way()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
            work[name] = min(work.get(name, np.inf), time.process_time() - used)
    return best, work


if __name__ == "__main__":
    sys.exit(main())
