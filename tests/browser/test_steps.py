"""The four steps of a row on the page: every number is Python's, as Python prints it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from browser.pages import PAGES, Shown, three_decimals, two_decimals
from regard.mechanism.steps import Steps
from regard.record import Record

HEADS = 12
OF_KEYS = {
    "score": ("scores", two_decimals),
    "scaled": ("scaled", two_decimals),
    "masked": ("masked", two_decimals),
    "exponential": ("exponentials", three_decimals),
    "weight": ("weights", three_decimals),
    "share": ("share", three_decimals),  # a method: see arrays
}
"""Numbers of a row and a key: their array in `Steps`, how they are printed."""
STEPS = {
    1: {"score", "product"},
    2: {"score", "scaled"},
    3: {"masked", "exponential", "weight", "largest", "sum"},
    4: {"weight", "share", "output"},
}
"""What a step must show, at least."""

# Goes through rows and steps as a person would, and notes every number that is on the screen.
# The views follow a change at the next frame, before what is asked of that frame after it.
_WALK = """async ({heads, rows, steps}) => {
    const frame = () => new Promise(requestAnimationFrame);
    const found = [];
    const section = document.querySelector("section[data-view=steps]");
    for (const head of heads) {
        document.querySelector(`section[data-view=heads] [data-head="${head}"]`)?.click();
        for (const row of rows) {
            const chooser = section.querySelector("select[name=row]");
            chooser.value = row;
            chooser.dispatchEvent(new Event("change", {bubbles: true}));
            for (const step of steps) {
                section.querySelector(`[role=tab][aria-controls=regard-step-${step}]`).click();
                await frame();
                const panel = section.querySelector(`[role=tabpanel][data-step="${step}"]`);
                for (const one of panel.querySelectorAll("[data-number]")) {
                    const {number, key, dim, value} = one.dataset;
                    const at = [head, row, step, number, key ?? null, dim ?? null];
                    found.push([...at, value, one.textContent]);
                }
            }
        }
    }
    return found;
}"""


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


def walked(shown: Shown, heads: Sequence[int], rows: Sequence[int]) -> list[list[Any]]:
    return shown.page.evaluate(
        _WALK, {"heads": list(heads), "rows": list(rows), "steps": [1, 2, 3, 4]}
    )


def check(record: Record, found: list[list[Any]]) -> None:
    """Every number found is that of Python's steps, exactly, and printed as Python prints it."""
    shown: dict[tuple[int, int, int], set[str]] = {}
    known: dict[int, dict[str, np.ndarray]] = {}
    for line in with_key_of_products(found):
        head, row, step, name, key, dim, value, text = line
        shown.setdefault((head, row, step), set()).add(name)
        if head not in known:
            known[head] = arrays(record.steps(*divmod(head, HEADS)))
        if name == "rest":  # of the products: what those that are shown leave of the score
            continue
        number, printed = python(known[head], row, name, key, dim)
        assert float(value) == pytest.approx(number, rel=1e-12, abs=1e-15), line
        assert text == printed, line
    missing = {at: STEPS[at[2]] - names for at, names in shown.items() if STEPS[at[2]] - names}
    assert missing == {}


def with_key_of_products(found: list[list[Any]]) -> Iterator[list[Any]]:
    """The score below a key's products is that key's."""
    chosen = None
    for head, row, step, name, key, *rest in found:
        chosen = key if name == "product" else chosen
        yield [head, row, step, name, chosen if name == "terms-sum" else key, *rest]


def arrays(steps: Steps) -> dict[str, np.ndarray]:
    """Every number of the steps by the name that it has on the page."""
    named = {name: getattr(steps, array) for name, (array, _) in OF_KEYS.items()}
    named |= {"share": steps.share(), "query": steps.query, "key": steps.key}
    sums = {"sum": steps.row_sums, "weight-sum": steps.weights, "share-sum": named["share"]}
    named |= {
        name: array.reshape(len(steps.scores), -1).sum(axis=1) for name, array in sums.items()
    }
    return named | {"output": steps.output, "largest": steps.masked.max(axis=1)}


def python(
    of: dict[str, np.ndarray], row: int, name: str, key: str | None, dim: str | None
) -> tuple[float, str]:
    """A number as Python has it, and as it prints it."""
    text = OF_KEYS[name][1] if name in OF_KEYS else two_decimals
    if name in OF_KEYS:
        number = of[name][row, int(key or 0)]
    elif name == "terms-sum":
        number = of["score"][row, int(key or 0)]
    elif name == "product":
        number = of["query"][row, int(dim or 0)] * of["key"][int(key or 0), int(dim or 0)]
    elif name == "output":
        number = of[name][row, int(dim or 0)]
    else:
        number = of[name][row]
        text = two_decimals if name == "largest" else three_decimals
    return float(number), text(float(number))


def test_every_word_of_some_heads(show: Callable[..., Shown], record: Record) -> None:
    found = walked(show("sentence"), (3 * HEADS + 1, 5 * HEADS + 11), range(11))
    assert len({(head, row, step) for head, row, step, *_ in found}) == 2 * 11 * 4
    check(record, found)


def test_one_word_of_every_head(show: Callable[..., Shown], record: Record) -> None:
    found = walked(show("sentence"), range(6 * HEADS), [7])
    assert len({(head, row, step) for head, row, step, *_ in found}) == 6 * HEADS * 4
    check(record, found)


def test_the_row_follows_the_pointer(show: Callable[..., Shown], record: Record) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(3 * HEADS + 1)
    steps = record.steps(3, 1)
    for word in (2, 9):
        shown.point(word)
        score = shown.panel(1).locator("[data-number=score][data-key='2']").first
        assert score.inner_text() == two_decimals(steps.scores[word, 2])


def test_products_of_a_key(show: Callable[..., Shown], record: Record) -> None:
    """All products are there on request, largest first, and add up to the score."""
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(3 * HEADS + 1)
    shown.hold(7)
    shown.panel(1).locator("[data-control=key-2]").click()
    shown.panel(1).get_by_role("button", name="Show all").click()
    products = shown.panel(1).locator("[data-number=product]")
    steps = record.steps(3, 1)
    expected = steps.query[7] * steps.key[2]
    order = [int(one) for one in products.evaluate_all("e => e.map(n => n.dataset.dim)")]
    assert order == sorted(range(32), key=lambda dim: -abs(expected[dim]))
    assert products.all_inner_texts() == [two_decimals(expected[dim]) for dim in order]


def test_one_number_of_the_result(show: Callable[..., Shown], record: Record) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(3 * HEADS + 1)
    shown.hold(7)
    shown.open_step(4)
    shown.panel(4).locator("input[name=dimension]").fill("5")
    shown.panel(4).locator("input[name=dimension]").press("Enter")
    shown.settle()
    number = shown.panel(4).locator("[data-number=output][data-dim='5']")
    assert number.inner_text() == two_decimals(record.steps(3, 1).output[7, 5])


def test_keys_that_may_not_be_seen(show: Callable[..., Shown]) -> None:
    """Pieces of a causal text: later ones have no score at all, which is not 0."""
    shown = show("pieces")
    steps = PAGES["pieces"]().steps(0, 1)
    shown.choose_head(1)
    shown.hold(0)
    shown.open_step(2)
    hidden = shown.panel(2).locator("[data-number=masked]").all_inner_texts()
    assert hidden[0] == two_decimals(steps.masked[0, 0])
    assert set(hidden[1:]) == {"−inf: not seen"}
    shown.open_step(3)
    weights = shown.panel(3).locator("[data-number=weight]").all_inner_texts()
    assert weights == ["1.000"] + [".000"] * (steps.weights.shape[1] - 1)


def test_a_word_of_several_pieces(show: Callable[..., Shown]) -> None:
    shown = show("pieces")
    steps = PAGES["pieces"]().steps(0, 2)
    shown.choose_head(2)
    shown.hold(1)  # un|der|stand: pieces 1, 2 and 3
    for place, piece in enumerate((1, 2, 3)):
        shown.view("steps").locator("select[name=piece]").select_option(index=place)
        score = shown.panel(1).locator("[data-number=score][data-key='1']").first
        assert score.inner_text() == two_decimals(steps.scores[piece, 1])


def test_walking_with_buttons_and_keys(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    for step in (1, 2, 3, 4):
        assert shown.panel(step).is_visible()
        assert shown.page.get_by_role("tab").nth(step - 1).get_attribute("aria-selected") == "true"
        shown.view("steps").get_by_role("button", name="Next").click()
        shown.settle()
    assert shown.panel(1).is_visible()
    shown.page.get_by_role("tab").first.focus()
    shown.page.keyboard.press("ArrowRight")
    shown.settle()
    assert shown.panel(2).is_visible()
    assert not shown.panel(1).is_visible()


def test_pencil_example(show: Callable[..., Shown]) -> None:
    """An example of whole numbers keeps them whole, and others have what they need."""
    shown = show("pencil")
    steps = arrays(PAGES["pencil"]())
    found = walked(shown, [0], [0, 1, 2])
    assert {row for _, row, *_ in found} == {0, 1, 2}
    for _, row, _, name, key, dim, value, text in with_key_of_products(found):
        number, _ = python(steps, row, name, key, dim)
        assert float(value) == pytest.approx(number, rel=1e-12, abs=1e-15)
        digits = text.replace("−", "-")
        decimals = len(digits.partition(".")[2])
        assert abs(float(digits) - number) <= 0.5 * 10**-decimals + 1e-12
        if number == round(number) and name in ("score", "product"):
            assert decimals == 0
