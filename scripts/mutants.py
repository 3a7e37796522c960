"""Break the core in known ways, and see that the tests notice.

Each mutant is a textual patch to a temporary copy of src; the working tree is never touched. A
mutant that survives, or a patch that no longer applies, fails the run. Add one with each rule that
could be got wrong. Names as arguments run those alone; --list names them all.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("mask", "readings", "attention", "panels", "random", "threads")
SOONEST = {
    "panel.py": "attention",
    "loop.py": "attention",
    "dialect.py": "attention",
    "reader.py": "readings",
    "top.py": "readings",
    "sizes.py": "readings",
    "threads.py": "threads",
}
"""Which tests notice soonest that a file is broken; test_mask.py for the others."""


@dataclass(frozen=True)
class Mutant:
    """What is broken, the file under mechanism/, and (text, instead) that break it."""

    name: str
    file: str
    patches: tuple[tuple[str, str], ...]


def mutant(name: str, file: str, *texts: str) -> Mutant:
    return Mutant(name, file, tuple(zip(texts[::2], texts[1::2], strict=True)))


SCALED = "query = arrays.widen(call.query[batch, head][rows]) * call.scale"
CAP = "    if call.softcap is not None:\n        scores /= call.softcap\n"
BIAS = """    if call.mask.bias is not None:
        bias = call.mask.bias[batch, head][rows, sight.start : sight.stop]
        scores += arrays.widen(bias)
"""
LAST_HIDE = "    hide(arrays, scores, sight, -np.inf)\n    return scores\n"
CELLS = "hidden = (distance < -mask.left) | (distance > mask.right)"
OFFSET = '"offset", self.offset, 0,'

MUTANTS = (
    # scores and softmax
    mutant("no maximum subtraction", "panel.py", "        scores -= shift\n",
           "        shift = 0.0\n"),
    mutant("values of any size without a shift", "panel.py",
           "highest + abs(math.log(size))", "highest"),
    mutant("a sink without a shift", "panel.py", "highest = max(highest, abs(sink))", "pass"),
    mutant("scale ignored", "panel.py", SCALED, SCALED.replace("call.scale", "1.0")),
    mutant("sqrt(scale) split wrongly", "panel.py", SCALED,
           SCALED.replace("call.scale", "abs(call.scale) ** 0.5")),
    mutant("softcap after mask", "panel.py", CAP,
           "    hide(arrays, scores, sight, -np.inf)\n" + CAP, LAST_HIDE, "    return scores\n"),
    mutant("softcap after bias", "panel.py", BIAS, "", CAP, BIAS + CAP),
    mutant("the first head's bias for all", "panel.py", "bias = call.mask.bias[batch, head]",
           "bias = call.mask.bias[batch, 0]"),
    # masks
    mutant("window one short on the left", "sight.py", CELLS, CELLS.replace("< -", "<= -")),
    mutant("window one long on the left", "sight.py", CELLS,
           CELLS.replace("< -mask.left", "< -mask.left - 1")),
    mutant("window one short on the right", "sight.py", CELLS,
           CELLS.replace("> mask.right", ">= mask.right")),
    mutant("window one long on the right", "sight.py", CELLS,
           CELLS.replace("> mask.right", "> mask.right + 1")),
    mutant("panel begins one key late", "sight.py", "max(0, low - mask.left)",
           "max(0, low - mask.left + 1)"),
    mutant("panel ends one key early", "sight.py", "min(end, high + mask.right + 1)",
           "min(end, high + mask.right)"),
    mutant("left edge of a panel hidden one key short", "sight.py", "max(0, high - mask.left)",
           "max(0, high - mask.left - 1)"),
    mutant("right edge of a panel hidden one key short", "sight.py",
           "min(end, low + mask.right + 1)", "min(end, low + mask.right + 2)"),
    mutant("causal top-left for bottom-right", "mask.py", OFFSET,
           '"offset", None if self.causal else self.offset, 0,'),
    mutant("offset ignored by window", "mask.py", OFFSET,
           '"offset", None if self.window is not None else self.offset, 0,'),
    mutant("the first item's offset for all", "sight.py", "mask.offset[batch]", "mask.offset[0]"),
    mutant("the first item's length for all", "sight.py", "mask.lengths[batch]",
           "mask.lengths[0]"),
    mutant("the first head's allowed for all", "sight.py", "~mask.allowed[batch, head]",
           "~mask.allowed[batch, 0]"),
    mutant("a very negative bias is not seen", "sight.py", "first:last]) == -np.inf",
           "first:last]) < -1e20"),
    mutant("negative segments see each other", "sight.py", " | (asking < 0)", ""),
    mutant("a document ends one key early", "sight.py", "np.arange(1, keys + 1)",
           "np.arange(keys)"),
    mutant("query heads dealt out instead of grouped", "sizes.py",
           "head // (self.heads // self.kv_heads)", "head % self.kv_heads"),
    # rows that see nothing, NaN
    mutant("a row that sees nothing gives NaN", "panel.py",
           "arrays.where(nan | (total == 0), 1.0, total)", "arrays.where(nan, 1.0, total)"),
    mutant("a row that sees nothing gives a mean", "panel.py", LAST_HIDE,
           LAST_HIDE.replace("-np.inf", "-1e30")),
    mutant("every row of -inf is blind", "panel.py", "(hidden == sight.width)", "(hidden >= 0)"),
    mutant("a NaN in an unseen V row leaks", "panel.py",
           "if sight.hidden and not math.isfinite(", "if False and not math.isfinite("),
    mutant("a wild value reaches no row", "panel.py", "        for key in wild:\n",
           "        for key in wild[:0]:\n"),
    mutant("a NaN in a query leaks into what is received", "reader.py",
           "        if weighed.spoiled is None:\n            return sums(cells)",
           "        if True:\n            return sums(cells)"),
    mutant("a NaN row has a top weight of 0", "reader.py", "weight[weighed.spoiled] = np.nan",
           "pass"),
    # sinks
    mutant("sinks take no mass", "panel.py", "total += arrays.exp(", "total += 0 * arrays.exp("),
    mutant("sinks left out of lse", "panel.py", "lse = shift + arrays.log(total)",
           "lse = shift + arrays.log(exponentials.sum(1)[:, None])"),
    mutant("sinks in max_score", "panel.py", "largest = arrays.row_max(scores)",
           "largest = arrays.maximum(arrays.row_max(scores), -np.inf if sink is None else sink)"),
    mutant("entropy as if rows with sinks summed to 1", "reader.py",
           "weighed.exponentials.sum(1) / total", "1.0"),
    # readings
    mutant("ties to the higher index", "top.py", "arrays.stable_argsort(-value)[:, :k]",
           "arrays.stable_argsort(value)[:, ::-1][:, :k]"),
    mutant("a weight of 0 is never among the top", "top.py", "arrays.nonzero(weights >= 0)",
           "arrays.nonzero(weights > 0)"),
    mutant("the threshold of the top too high", "top.py", "arrays.kth_largest(maxima, k)",
           "arrays.kth_largest(maxima, max(k // 2, 1))"),
    mutant("the last keys never among the top", "top.py", "arrays.nonzero(weights[:, depth * lanes"
           " :] >= least", "arrays.nonzero(weights[:, depth * lanes :] > 2 + least"),
    mutant("top weights not divided by the sum", "reader.py", "weight /= weighed.total", "pass"),
    mutant("top index counted from the panel's first key", "reader.py",
           "index + weighed.sight.start, -1", "index, -1"),
    mutant("share not divided by |z|", "reader.py", "share = weight * along / (size * (",
           "share = weight * along / (("),
    mutant("entropy without its p = 0 guard", "panel.py", "if bool(odd.any()):", "if False:"),
    mutant("received summed over a head group", "reader.py", 'self.filled["received"][at]',
           'self.filled["received"][at[0], self.call.sizes.kv_head(at[1]), at[2]]'),
    mutant("eligible counts keys that are not seen", "reader.py",
           "eligible[first:last] -= ", "eligible[first:last] -= 0 * "),
    mutant("thumbnail's blocks rounded up", "reader.py",
           "np.arange(sizes.keys) * ask.thumbnail // max(sizes.keys, 1)",
           "np.arange(sizes.keys) // max(1, -(-sizes.keys // max(ask.thumbnail, 1)))"),
    mutant("thumbnail sums instead of means", "reader.py",
           "filled / self.arrays.widen(self.arrays.put(rows))[:, None]", "filled / 1"),
    mutant("columns counted from the panel's first key", "reader.py",
           "self.ask.columns - weighed.sight.start", "self.ask.columns"),
    mutant("groups counted from the panel's first key", "reader.py",
           "labels[weighed.sight.start : weighed.sight.stop]", "labels[: weighed.sight.width]"),
    # the loop
    mutant("the last partial panel left out", "loop.py",
           "for start in range(0, call.sizes.queries, size):",
           "for start in range(0, call.sizes.queries - size + 1, size):"),
    mutant("readings in the order of the rows, not as asked", "loop.py",
           "read, order[first:last])", "read, np.arange(first, last))"),
    mutant("the last run of panels left out", "loop.py", "for run in range(runs)\n    ]",
           "for run in range(max(runs - 1, 1))\n    ]"),
    mutant("sums in 16 bits", "dialect.py", '"float16": "float32"', '"float16": "float16"'),
    # threads
    mutant("BLAS never let go", "threads.py", "_limit.restore_original_limits()", "pass"),
    mutant("overlapping calls not counted", "threads.py", "_inside += 1", "_inside = 1"),
    mutant("BLAS held from the first thread only", "threads.py",
           "library.clear_controlling_thread(force=True)", "pass"),
    mutant("tasks go on after an error", "threads.py", "                left.clear()\n", ""),
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only mutants whose name holds one of these")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    picked = [one for one in MUTANTS if matches(one, chosen.names)]
    if chosen.list:
        print("\n".join(one.name for one in picked))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if not passes(copy, "mask"):
            print("The tests fail on the code as it stands, so they say nothing about mutants.")
            return 1
        fates = [(one, fate(one, copy)) for one in picked]
    bad = [one.name for one, end in fates if end != "killed"]
    print(f"\n{len(fates) - len(bad)} of {len(fates)} killed" + "".join(f"\n  {x}" for x in bad))
    return 1 if bad else 0


def matches(one: Mutant, names: list[str]) -> bool:
    return not names or any(name in one.name for name in names)


def fate(one: Mutant, copy: Path) -> str:
    """Patch the copy, run the tests, put the copy right again: killed, survived or a misfit."""
    path = copy / "regard" / "mechanism" / one.file
    text = broken = path.read_text(encoding="utf-8")
    for old, new in one.patches:
        if broken.count(old) != 1:
            end = f"does not apply: {old!r} occurs {broken.count(old)} times in {one.file}"
            print(f"{one.name}: {end}", flush=True)
            return end
        broken = broken.replace(old, new)
    path.write_text(broken, encoding="utf-8")
    start = time.monotonic()
    end = "survived" if passes(copy, SOONEST.get(one.file, "mask")) else "killed"
    path.write_text(text, encoding="utf-8")
    print(f"{end:8} {time.monotonic() - start:5.1f} s  {one.name}", flush=True)
    return end


def passes(copy: Path, soonest: str) -> bool:
    """Whether the tests pass with the package in `copy`, which they must really have loaded."""
    names = sorted(TESTS, key=lambda name: name != soonest)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider",
               "-k", "not torch and not float64",
               *(f"tests/mechanism/test_{name}.py" for name in names)]  # fmt: skip
    environment = {
        **os.environ,
        "CI": "1",  # the same random calls each time
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    where = [sys.executable, "-c", "import regard; print(regard.__file__)"]
    loaded = subprocess.run(where, env=environment, capture_output=True, text=True, check=True)
    if not loaded.stdout.startswith(str(copy)):
        raise SystemExit(f"regard was loaded from {loaded.stdout.strip()} and not from {copy}")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
