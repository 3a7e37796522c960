"""Does what an answer reads say what it rests on? Measured on a fact among decoys.

    python scripts/study_spans.py MODEL --out docs/spans-study.json

MODEL is a directory, a GGUF file or a cached name (the study in docs/spans-study.md used
SmolLM2-135M-Instruct). A prompt is a text of short documents, one of which tells a fact, and a
question about it; about a dozen others tell the like of other things. For each of 30 prompts,
every document is cut from the rows that predict the answer, and the change of the answer's
log-probability is ranked beside what was read of the document and beside two baselines that read
nothing: its length and its place. On a quiet machine this takes about 10 minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import regard
from regard.models.loading import load_model
from regard.questions.span_readings import SpanReadings, read_spans
from regard.questions.spans import Span, paragraph_spans, token_labels

sys.path.insert(0, str(Path(__file__).parent))
from study_spans_texts import FILLER, TOPICS, Topic

LENGTHS = (500, 550, 620, 720, 950, 1950)
SCHEMA = "regard.spans-study/1"
LONG = 900  # tokens; from there on documents have 6 sentences, else 3


@dataclass(frozen=True)
class Prompt:
    """text, with the documents in text[start:stop]; the answer; the sentence that tells it."""

    topic: str
    text: str
    start: int
    stop: int
    answer: str
    fact: str


def make_prompts(count: Any) -> list[Prompt]:
    """Each length for each topic; `count` gives the tokens of a text."""
    made = []
    for place, length in enumerate(LENGTHS):
        for number, topic in enumerate(TOPICS):
            chance = random.Random(1000 * number + place)
            alike = (place + number) % 3 != 0
            made.append(_prompt(topic, length, (place + 2 * number) % 6, alike, chance, count))
    return made


def _prompt(
    topic: Topic, length: int, sixth: int, alike: bool, chance: random.Random, count: Any
) -> Prompt:
    """A prompt of about `length` tokens, its fact in that sixth of the documents.

    alike: whether fact and decoys are told in the words that the answer begins with.
    """
    facts = chance.sample(topic.facts, 6 if length < 700 else 12)
    thing, answer = facts[0]
    told = [
        (topic.fact[0] if alike else chance.choice(topic.fact)).format(thing=name, answer=known)
        for name, known in facts
    ]
    other = [remark for one in TOPICS if one is not topic for remark in one.remarks]
    rest = [
        *chance.sample(topic.remarks, len(topic.remarks)),
        *chance.sample(FILLER, len(FILLER)),
        *chance.sample(other, len(other)),
    ]
    question = (
        f"\n\nQuestion: {topic.question.format(thing=thing)}"
        f"\nAnswer: {topic.stem.format(thing=thing)}"
    )
    room = length - count(topic.title + question) - sum(count(" " + one) for one in told)
    while rest and room > 0:
        told.append(rest.pop(0))
        room -= count(" " + told[-1])
    fact, decoys, remarks = told[0], told[1 : len(facts)], told[len(facts) :]
    documents = _documents(fact, decoys, remarks, 3 if length < LONG else 6, chance)
    chance.shuffle(documents)
    documents.sort(key=lambda document: fact in document)
    mine = documents.pop()
    documents.insert(int((sixth + chance.random()) / 6 * len(documents)), mine)
    head = topic.title + "\n\n"
    body = "\n\n".join(" ".join(document) for document in documents)
    return Prompt(
        topic.title, head + body + question, len(head), len(head) + len(body), " " + answer, fact
    )


def _documents(
    fact: str, decoys: list[str], remarks: list[str], size: int, chance: random.Random
) -> list[list[str]]:
    """Documents of about `size` sentences, at most one of them a fact or decoy."""
    told = [fact, *decoys]
    count = max(len(told), (len(told) + len(remarks)) // size)
    documents = [[one] for one in told] + [[] for _ in range(count - len(told))]
    for number, remark in enumerate(remarks):
        documents[-1 - number % count].append(remark)
    for document in documents:
        chance.shuffle(document)
    return documents


def measure(model: Any, tokenizer: Any, prompt: Prompt) -> dict[str, Any]:
    """Everything the study keeps of one prompt: one number a document under each name."""
    import torch

    began = time.perf_counter()
    encoded = tokenizer(prompt.text, return_offsets_mapping=True)
    ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    answer = tokenizer(prompt.answer, add_special_tokens=False)["input_ids"]
    spans = paragraph_spans(prompt.text, prompt.start, prompt.stop)
    rows = range(len(ids) - 1, len(ids) + len(answer) - 1)
    whole = [*ids, *answer[:-1]]
    special = np.isin(whole, tokenizer.all_special_ids)
    labels = token_labels(prompt.text, spans, [*offsets, *[(0, 0)] * (len(answer) - 1)], special)
    special[0] = True
    ask = regard.Ask(queries=list(rows), rows=list(rows))
    with torch.no_grad(), regard.watch(model, ask=ask, keep=("value",)) as seen:
        seen_whole = model(input_ids=torch.tensor([whole]), logits_to_keep=len(answer))
    logits = seen_whole.logits[0].float()
    readings = read_spans(seen.record, spans, labels, list(rows), special)
    keys = [np.flatnonzero(labels == number) for number in range(len(spans))]
    cuts = [regard.Cut(queries=slice(rows.start, None), keys=places) for places in keys]
    found = regard.effect(model, ids, answer, cuts)
    result = {
        "topic": prompt.topic,
        "tokens": len(ids),
        "answer": prompt.answer,
        "greedy": bool((logits.argmax(-1).numpy() == np.array(answer)).all()),
        "log_p": round(found[0].before, 6),
        "fact": next(
            number
            for number, span in enumerate(spans)
            if prompt.fact in prompt.text[span.start : span.stop]
        ),
        "effect": rounded(one.change for one in found),
        **columns(readings, spans),
    }
    result["seconds"] = round(time.perf_counter() - began, 1)
    return result


def columns(readings: SpanReadings, spans: tuple[Span, ...]) -> dict[str, list[float]]:
    """What is known of each document without cutting anything."""
    count = len(spans)
    weight, length = readings.weight[:count], readings.length[:count]
    mean = readings.mass.mean(axis=1)[:, :count]
    parts = readings.part
    assert parts is not None
    bare = readings.bare / readings.bare.sum(axis=-1, keepdims=True)
    found = {
        "length": length,
        "recency": np.arange(count, dtype=float),
        "weight": weight,
        "without_apart": readings.without_apart[:count],
        "without_apart_by_row": np.nanmean(bare, axis=(0, 1))[:count],
        "weight_per_token": weight / length,
        "part": parts[:count],
        "top_head": readings.top_head[:count],
        "heads_that_agree": np.bincount(mean.argmax(axis=1), minlength=count) / len(mean),
    }
    return {name: rounded(numbers) for name, numbers in found.items()}


def rounded(numbers: Any) -> list[float]:
    """To six decimals, which is beyond what float32 tells."""
    return [round(float(number), 6) for number in numbers]


NOT_COLUMNS = frozenset(
    {"topic", "tokens", "answer", "greedy", "log_p", "fact", "effect", "seconds"}
)


def spearman(one: list[float], other: list[float]) -> float:
    """Rank correlation, equal numbers having the mean of their ranks."""
    ranks = [_ranks(np.asarray(numbers)) for numbers in (one, other)]
    if any(rank.std() == 0 for rank in ranks):
        return 0.0  # as many documents as one likes, all alike, say nothing
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(numbers: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[place]


def summarise(prompts: list[dict[str, Any]], *, size: bool) -> dict[str, dict[str, float]]:
    """For each column: mean rank correlation with what cuts do, and how often it is right.

    size: with how much log p changes either way; else with how much it falls. standard_error is
    over the prompts. top_is_cut: in what part of them the column's first
    document is the one whose cut costs most; top_is_fact: is the one that tells the answer.
    """
    found = {}
    for name in prompts[0]:
        if name in NOT_COLUMNS:
            continue
        falls = [[abs(fall) if size else -fall for fall in one["effect"]] for one in prompts]
        rho = [spearman(one[name], fall) for one, fall in zip(prompts, falls, strict=True)]
        tops = [int(np.argmax(one[name])) for one in prompts]
        found[name] = {
            "spearman": round(float(np.mean(rho)), 3),
            "standard_error": round(float(np.std(rho) / max(len(rho) - 1, 1) ** 0.5), 3),
            "top_is_cut": round(
                float(
                    np.mean([top == int(np.argmax(f)) for top, f in zip(tops, falls, strict=True)])
                ),
                3,
            ),
            "top_is_fact": round(
                float(
                    np.mean([top == one["fact"] for top, one in zip(tops, prompts, strict=True)])
                ),
                3,
            ),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, default=Path("docs/spans-study.json"))
    parser.add_argument("--first", type=int, help="only so many prompts, to try it")
    parser.add_argument("--threads", type=int, help="torch's threads: 1 on a busy machine")
    given = parser.parse_args()
    if given.threads:
        import torch

        torch.set_num_threads(given.threads)
    model, tokenizer = load_model(given.model, device="cpu", dtype="float32")

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    prompts = []
    for prompt in make_prompts(count)[: given.first]:
        prompts.append(measure(model, tokenizer, prompt))
        last = prompts[-1]
        print(
            f"{last['tokens']:5} tokens  {len(last['effect']):3} documents"
            f"  log p {last['log_p']:6.2f}  fact's cut {last['effect'][last['fact']]:+.2f}"
            f"  {last['seconds']:.0f} s",
            flush=True,
        )
        summary = {
            "fall": summarise(prompts, size=False),
            "size": summarise(prompts, size=True),
        }
        study = {"schema": SCHEMA, "model": model.config._name_or_path, "summary": summary}
        given.out.write_text(json.dumps({**study, "prompts": prompts}) + "\n")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
