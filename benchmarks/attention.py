"""Speed of attention and its readings, beside PyTorch and the machine's own matrix product.

One process, rounds interleaved; every answer is checked against float64 first, and one that is
wrong gets no time. The best round counts: on a shared machine the others measure the neighbours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from _machine import machine, options, say, table, unpin

unpin()

import numpy as np  # noqa: E402
import torch  # noqa: E402

import regard  # noqa: E402

SHAPES = ((8, 4096, 64), (12, 2048, 64))
LONG = (1, 65536, 64)
READ = regard.Ask(top=8, entropy=True, lse=True, max_score=True, received=True)
CHECKED = 256
"""Rows of the first and the last head that are checked; float64 takes 2 KiB a key for them."""


def main() -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--short", action="store_true", help="without the longest shape")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    regard.set_num_threads(chosen.threads)
    figures: dict[str, Any] = {"machine": machine() | {"torch": torch.__version__}, "shapes": []}
    for shape in SHAPES:
        figures["shapes"].append(measure(shape, chosen.rounds))
    if not chosen.short:
        figures["shapes"].append(measure(LONG, 1))
    say(figures, chosen.json)
    wrong = [name for shape in figures["shapes"] for name in shape["wrong"]]
    return 1 if wrong else 0


def measure(shape: tuple[int, int, int], rounds: int) -> dict[str, Any]:
    """Best time of each way at one shape, after its answer was checked."""
    heads, tokens, dim = shape
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape, np.float32) for _ in range(3))
    ways = ways_of(q, k, v, eager=tokens <= 8192)
    exact, plain = rows_in(np.float64, q, k, v), rows_in(np.float32, q, k, v)
    best: dict[str, float] = {}
    for name, way in ways.items():  # the first round is checked as well
        start = time.perf_counter()
        answer = way()
        seconds = time.perf_counter() - start
        if right(answer, exact, plain):
            best[name] = seconds
    wrong = [name for name in ways if name not in best]
    product, multiply = best_product(rounds) if tokens <= 8192 else (None, None)
    for _ in range(rounds - 1):
        for name in best:
            time.sleep(0.05)  # until the threads of the way before have stopped waiting for work
            start = time.perf_counter()
            ways[name]()
            best[name] = min(best[name], time.perf_counter() - start)
    work = 4 * heads * tokens**2 * dim / 1e9
    speed = {name: work / seconds for name, seconds in best.items()}
    print(f"\n{heads} × {tokens} × {dim}, float32, GF/s (4·heads·n²·d)\n")
    rows = [
        [name, f"{best[name]:.3f}", f"{speed[name]:.0f}"]
        + [f"{speed[name] / speed[rival]:.2f}" for rival in ("torch SDPA", "torch eager")
           if rival in speed]
        for name in speed
    ]  # fmt: skip
    rows += [[name, "wrong answer", "", "", ""][: len(rows[0])] for name in wrong]
    if product:
        rows.append([f"best product of NumPy ({multiply})", "", f"{product:.0f}", "", ""])
    heads_of = ["", "seconds", "GF/s", "× SDPA"] + ["× eager"] * ("torch eager" in speed)
    table(heads_of, rows)
    return {"shape": shape, "seconds": best, "gflops": speed, "product": product, "wrong": wrong}


def ways_of(q: Any, k: Any, v: Any, *, eager: bool) -> dict[str, Callable[[], Any]]:
    """Each way to compute it, giving (output, readings or None)."""
    tq, tk, tv = (torch.from_numpy(x)[None] for x in (q, k, v))

    def sdpa() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(tq, tk, tv)[0].numpy(), None

    def weights() -> Any:
        return ((tq @ tk.mT * q.shape[-1] ** -0.5).softmax(-1) @ tv)[0].numpy(), None

    return {
        "torch SDPA": sdpa,
        **({"torch eager": weights} if eager else {}),
        "regard": lambda: (regard.attention(q, k, v).output, None),
        "regard, readings": lambda: regard.attention(q, k, v, ask=READ),
    }


def rows_in(dtype: Any, q: Any, k: Any, v: Any) -> list[dict[str, Any]]:
    """Some rows of the first and the last head, computed plainly in `dtype`."""
    found = []
    for head in {0, len(q) - 1}:
        every = np.linspace(0, q.shape[1] - 1, CHECKED).astype(int)
        scores = q[head][every].astype(dtype) @ k[head].astype(dtype).T * dtype(q.shape[2] ** -0.5)
        largest = scores.max(1, keepdims=True)
        weights = np.exp(scores - largest)
        total = weights.sum(1, keepdims=True)
        weights /= total
        order = np.argsort(-weights, axis=1, kind="stable")[:, : READ.top + 1]
        found.append(
            {
                "head": head,
                "rows": every,
                "output": weights @ v[head].astype(dtype),
                "top_weight": np.take_along_axis(weights, order[:, :-1], 1),
                "order": order,
                "gaps": -np.diff(np.take_along_axis(weights, order, 1), axis=1),
                "entropy": -(weights * np.log(weights)).sum(1, keepdims=True),
                "lse": largest + np.log(total),
                "max_score": largest,
            }
        )
    return found


def right(answer: Any, exact: list[dict[str, Any]], plain: list[dict[str, Any]]) -> bool:
    """Whether the checked rows err, by norm, at most twice as much as plain float32 does."""
    output, read = answer
    for true, fair in zip(exact, plain, strict=True):
        at = (true["head"], true["rows"])
        found = {"output": output[at]}
        if read is not None:
            for name in ("top_weight", "entropy", "lse", "max_score"):
                found[name] = getattr(read, name)[at].reshape(CHECKED, -1)
            clear = true["gaps"] > 1e-6 * true["top_weight"][:, :1]
            clear[:, 1:] &= clear[:, :-1].copy()
            if not (read.top_index[at] == true["order"][:, :-1])[clear].all():
                return False
            # every weight is received by some key: all rows sum to 1
            if abs(read.received[true["head"]].sum() / len(read.queries) - 1) > 1e-4:
                return False
        for name, numbers in found.items():
            error, allowed = (np.linalg.norm(x[name] - true[name], axis=1).max()
                              for x in (found, fair))  # fmt: skip
            few = 4 * np.finfo(np.float32).eps * np.linalg.norm(true[name], axis=1).max()
            if not np.isfinite(numbers).all() or error > 2 * allowed + few:
                print(f"{name}: {error:.2e} from exact, {allowed:.2e} in plain float32")
                return False
    return True


def best_product(rounds: int) -> tuple[float, str]:
    """GF/s of NumPy's fastest product among some shapes: what no loop over it can pass."""
    best, shape = 0.0, ""
    for rows, inner, columns in ((2048, 2048, 2048), (4096, 64, 4096), (4096, 4096, 64)):
        rng = np.random.default_rng(0)
        a = rng.standard_normal((rows, inner), np.float32)
        b = rng.standard_normal((inner, columns), np.float32)
        out = np.empty((rows, columns), np.float32)
        for _ in range(rounds):
            start = time.perf_counter()
            np.matmul(a, b, out=out)
            speed = 2 * rows * inner * columns / (time.perf_counter() - start) / 1e9
            if speed > best:
                best, shape = speed, f"{rows} × {inner} · {inner} × {columns}"
    return best, shape


if __name__ == "__main__":
    sys.exit(main())
