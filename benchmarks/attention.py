"""Speed of attention and its readings, beside PyTorch and the machine's own matrix product.

One process, rounds interleaved; every answer is checked against float64 first, and one that is
wrong gets no time. The best round counts: on a shared machine the others measure the neighbours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from _machine import machine, options, say, table, unpin

unpin()

import numpy as np  # noqa: E402
import torch  # noqa: E402

import regard  # noqa: E402
from regard.mechanism import native  # noqa: E402


@dataclass(frozen=True)
class Shape:
    """A call to be measured. window: keys a query sees, its own and those before it."""

    heads: int
    kv_heads: int
    queries: int
    keys: int
    dim: int
    causal: bool = False
    window: int = 0

    def __str__(self) -> str:
        heads = f"{self.heads}" if self.heads == self.kv_heads else f"{self.heads}/{self.kv_heads}"
        tokens = f"{self.queries}" if self.queries == self.keys else f"{self.queries} × {self.keys}"
        extra = ", causal" * self.causal + (f", window {self.window}" if self.window else "")
        return f"{heads} × {tokens} × {self.dim}{extra}"

    @property
    def mask(self) -> regard.Mask:
        if self.window:
            return regard.Mask(window=(self.window - 1, 0))
        return regard.Mask(causal=self.causal, offset=self.keys - self.queries)

    @property
    def pairs(self) -> float:
        """Pairs of query and key that may see each other, in all heads, about."""
        seen = self.window or (self.keys / 2 if self.causal else self.keys)
        return self.heads * self.queries * seen


SHAPES = (
    Shape(8, 8, 4096, 4096, 64),
    Shape(8, 8, 4096, 4096, 128),
    Shape(12, 12, 2048, 2048, 64),
    Shape(12, 12, 512, 512, 64),
    Shape(12, 12, 128, 128, 32),
    Shape(8, 8, 4096, 4096, 64, causal=True),
    Shape(8, 8, 16384, 16384, 64, window=256),
    Shape(32, 8, 4096, 4096, 128),
    Shape(32, 8, 1, 16384, 128),
)
LONG = (
    Shape(2, 2, 16384, 16384, 64),
    Shape(1, 1, 65536, 65536, 64),
    Shape(1, 1, 131072, 131072, 64),
)
CHEAP = regard.Ask(entropy=True, lse=True, max_score=True, received=True)
READ = regard.Ask(top=8, entropy=True, lse=True, max_score=True, received=True)
CHECKED = 256
"""Rows of the first and the last head that are checked; float64 takes 2 KiB a key for each way."""


def main() -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--short", action="store_true", help="without the longest shapes")
    parser.add_argument("--only", type=int, help="the shape of this number alone")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    regard.set_num_threads(chosen.threads)
    figures: dict[str, Any] = {
        "machine": machine()
        | {"torch": torch.__version__, "kernel": native.instruction_set() or "not built"},
        "dtype": chosen.dtype,
        "shapes": [],
    }
    shapes = SHAPES if chosen.short else SHAPES + LONG
    for number, shape in enumerate(shapes):
        if chosen.only is None or chosen.only == number:
            rounds = chosen.rounds if shape in SHAPES else 1
            figures["shapes"].append(measure(shape, chosen.dtype, rounds))
    say(figures, chosen.json)
    wrong = [name for shape in figures["shapes"] for name in shape["wrong"]]
    return 1 if wrong else 0


def measure(shape: Shape, dtype: str, rounds: int) -> dict[str, Any]:
    """Best time of each way at one shape, after its answer was checked."""
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    q = torch.randn(shape.heads, shape.queries, shape.dim).to(kind)
    k, v = (torch.randn(shape.kv_heads, shape.keys, shape.dim).to(kind) for _ in range(2))
    ways = ways_of(shape, q, k, v)
    exact, plain = (rows_in(wide, shape, q, k, v, kind) for wide in (torch.float64, torch.float32))
    best: dict[str, float] = {}
    for name, way in ways.items():  # the first round is checked as well
        start = time.perf_counter()
        answer = way()
        seconds = time.perf_counter() - start
        if right(answer, exact, plain):
            best[name] = seconds
    wrong = [name for name in ways if name not in best]
    product, multiply = best_product(rounds, kind) if shape.keys <= 8192 else (None, None)
    for _ in range(rounds - 1):
        for name in best:
            time.sleep(0.3)  # until the threads of the way before have stopped looking for work
            for _ in range(min(20, 1 + int(0.1 / best[name]))):
                start = time.perf_counter()
                ways[name]()
                best[name] = min(best[name], time.perf_counter() - start)
    work = 4 * shape.pairs * shape.dim / 1e9
    speed = {name: work / seconds for name, seconds in best.items()}
    print(f"\n{shape}, {dtype}, GF/s (4·d for each pair that is seen)\n")
    rivals = [name for name in ("torch SDPA", "torch eager", "ONNX Runtime") if name in speed]
    rows = [
        [name, f"{1000 * best[name]:.2f}", f"{speed[name]:.0f}"]
        + [f"{speed[name] / speed[rival]:.2f}" for rival in rivals]
        for name in speed
    ]
    rows += [[name, "wrong answer", *[""] * (1 + len(rivals))] for name in wrong]
    if product:
        rows.append([f"best product ({multiply})", "", f"{product:.0f}", *[""] * len(rivals)])
    table(["", "ms", "GF/s", *(f"× {rival}" for rival in rivals)], rows)
    return {"shape": str(shape), "seconds": best, "gflops": speed, "product": product,
            "wrong": wrong}  # fmt: skip


def ways_of(shape: Shape, q: Any, k: Any, v: Any) -> dict[str, Callable[[], Any]]:
    """Each way to compute it, giving (output, readings or None)."""
    tq, tk, tv = q[None], k[None], v[None]
    grouped = shape.heads != shape.kv_heads
    mask = None
    if shape.window:
        distance = torch.arange(shape.keys) - torch.arange(shape.queries)[:, None]
        mask = (distance <= 0) & (distance > -shape.window)

    def sdpa() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(
            tq, tk, tv, attn_mask=mask, is_causal=shape.causal, enable_gqa=grouped
        )[0], None

    def weights() -> Any:
        scores = tq @ tk.mT * shape.dim**-0.5
        return (scores.softmax(-1) @ tv)[0], None

    def regard_way(ask: regard.Ask | None) -> Callable[[], Any]:
        seen = shape.mask
        return lambda: regard.attention(q, k, v, mask=seen, ask=ask)

    ways: dict[str, Callable[[], Any]] = {"torch SDPA": sdpa}
    if not (shape.window or shape.causal or grouped or shape.keys > 8192):
        ways["torch eager"] = weights
        if q.dtype == torch.float32:
            ways |= onnx_way(shape, q, k, v)
    ways["regard"] = regard_way(None)
    ways["regard, entropy, lse, max, received"] = regard_way(CHEAP)
    ways["regard, top 8 as well"] = regard_way(READ)
    return ways


def onnx_way(shape: Shape, q: Any, k: Any, v: Any) -> dict[str, Callable[[], Any]]:
    """ONNX Runtime's MultiHeadAttention, where it is installed. Its arrays are tokens first."""
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return {}
    names = ("query", "key", "value")
    node = onnx.helper.make_node(
        "MultiHeadAttention", names, ["output"], domain="com.microsoft", num_heads=shape.heads
    )
    floats = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in (*names, "output")
    ]
    graph = onnx.helper.make_graph([node], "attention", floats[:3], floats[3:])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    given = {
        name: x.transpose(0, 1).reshape(1, len(x[0]), -1).contiguous().numpy()
        for name, x in zip(names, (q, k, v), strict=True)
    }

    def run() -> Any:
        (output,) = session.run(None, given)
        turned = torch.from_numpy(output[0]).reshape(shape.queries, shape.heads, shape.dim)
        return turned.transpose(0, 1), None

    return {"ONNX Runtime": run}


def rows_in(wide: Any, shape: Shape, q: Any, k: Any, v: Any, kind: Any) -> list[dict[str, Any]]:
    """Some rows of the first and the last head, computed plainly in `wide`.

    In float32, what comes of them is rounded to `kind` after every step, as plain code would.
    """

    def rounded(x: Any) -> Any:
        return x.to(kind).to(wide) if wide == torch.float32 else x

    found = []
    for head in {0, shape.heads - 1}:
        few = min(CHECKED, shape.queries)
        every = np.linspace(0, shape.queries - 1, few).astype(int)
        kv_head = head // (shape.heads // shape.kv_heads)
        query, key, value = q[head][every].to(wide), k[kv_head].to(wide), v[kv_head].to(wide)
        position = torch.from_numpy(every)[:, None] + shape.keys - shape.queries
        distance = torch.arange(shape.keys) - position
        hidden = torch.zeros(distance.shape, dtype=torch.bool)
        if shape.causal or shape.window:
            hidden |= distance > 0
        if shape.window:
            hidden |= distance <= -shape.window
        scores = (query @ key.T * shape.dim**-0.5).masked_fill(hidden, float("-inf"))
        largest = scores.amax(1, keepdim=True)
        weights = (scores - largest).exp()
        total = weights.sum(1, keepdim=True)
        weights /= total
        order = torch.argsort(-weights, dim=1, stable=True)[:, : READ.top + 1]
        terms = torch.where(weights == 0, 0, weights * weights.log())
        one = {
            "output": rounded(rounded(weights) @ value),
            "top_weight": weights.gather(1, order[:, :-1]),
            "order": order,
            "gaps": -weights.gather(1, order).diff(dim=1),
            "entropy": -terms.sum(1, keepdim=True),
            "lse": largest + total.log(),
            "max_score": largest,
        }
        found.append({name: x.numpy() for name, x in one.items()} | {"head": head, "rows": every})
    return found


def right(answer: Any, exact: list[dict[str, Any]], plain: list[dict[str, Any]]) -> bool:
    """Whether the checked rows err, by norm, at most twice as much as plain arithmetic does."""
    output, read = answer
    for true, fair in zip(exact, plain, strict=True):
        at = (true["head"], true["rows"])
        eps = 2.0**-23
        found = {"output": output[at].double().numpy()}
        if read is not None and read.lse is not None:
            names = ["entropy", "lse", "max_score"] + ["top_weight"] * (read.top_weight is not None)
            for name in names:
                found[name] = getattr(read, name)[at].double().numpy().reshape(len(at[1]), -1)
            # every weight is received by some key: all rows sum to 1
            if abs(float(read.received[true["head"]].double().sum()) / output.shape[1] - 1) > 1e-4:
                return False
        if read is not None and read.top_index is not None:
            clear = true["gaps"] > 1e-6 * true["top_weight"][:, :1]
            clear[:, 1:] &= clear[:, :-1].copy()
            if not (read.top_index[at].numpy() == true["order"][:, :-1])[clear].all():
                return False
        for name, numbers in found.items():
            error, allowed = (np.linalg.norm(x[name] - true[name], axis=1).max()
                              for x in (found, fair))  # fmt: skip
            few = 4 * eps * np.linalg.norm(true[name], axis=1).max()
            if not np.isfinite(numbers).all() or error > 2 * allowed + few:
                print(f"{name}: {error:.2e} from exact, {allowed:.2e} in plain arithmetic")
                return False
    return True


def best_product(rounds: int, kind: Any) -> tuple[float, str]:
    """GF/s of the fastest product of NumPy or torch: what no loop over it can pass."""
    best, shape = 0.0, ""
    for rows, inner, columns in ((2048, 2048, 2048), (4096, 64, 4096), (4096, 4096, 64)):
        a, b = torch.randn(rows, inner).to(kind), torch.randn(inner, columns).to(kind)
        out = torch.empty(rows, columns, dtype=kind)
        ways = {"torch": lambda a=a, b=b, out=out: torch.mm(a, b, out=out)}
        if kind == torch.float32:
            arrays = a.numpy(), b.numpy(), out.numpy()
            ways["NumPy"] = lambda arrays=arrays: np.matmul(*arrays[:2], out=arrays[2])
        for library, way in ways.items():
            for _ in range(rounds):
                start = time.perf_counter()
                way()
                speed = 2 * rows * inner * columns / (time.perf_counter() - start) / 1e9
                if speed > best:
                    best, shape = speed, f"{library}, {rows} × {inner} · {inner} × {columns}"
    return best, shape


if __name__ == "__main__":
    sys.exit(main())
