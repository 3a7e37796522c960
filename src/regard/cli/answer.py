"""An answer to a prompt, and what the rows that predict it read: for `regard spans`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64

    from regard.record import Record


@dataclass(frozen=True, eq=False)
class Answer:
    """A prompt and an answer as token ids, and where each token lies.

    offsets: `(start, stop)` characters of the prompt's text for each prompt token, (0, 0) for each
    answer token but the last, which is read by nobody. apart: `(tokens)`, special tokens and the
    first one. readers: the rows that predict the answer.
    """

    text: str
    prompt: Int64[np.ndarray, " prompt"]
    answer: Int64[np.ndarray, " answer"]
    written: str
    generated: bool
    offsets: Sequence[tuple[int, int]]
    special: Bool[np.ndarray, " tokens"]

    @property
    def apart(self) -> Bool[np.ndarray, " tokens"]:
        """Special tokens, and the first token: where heads put the weight they do not need."""
        apart = self.special.copy()
        apart[0] = True
        return apart

    @property
    def readers(self) -> range:
        """The rows that predict the answer's tokens: the prompt's last, and so on."""
        return range(len(self.prompt) - 1, len(self.prompt) + len(self.answer) - 1)


def rendered(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> str:
    """The text that the tokenizer's chat template makes of messages, up to where it answers."""
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"the messages do not fit the model's chat template: {said}") from error
    return str(text)


def answer_to(
    model: Any, tokenizer: Any, text: str, answer: str | None, new: int, *, chat: bool
) -> Answer:
    """The prompt and its answer: the one given, or what the model writes, `new` tokens at most.

    chat: whether `text` comes from a chat template, which has written its special tokens itself.
    Raises InputError for an answer without tokens and a tokenizer that tells no offsets.
    """
    try:
        encoded = tokenizer(text, add_special_tokens=not chat, return_offsets_mapping=True)
    except NotImplementedError as error:
        raise InputError(
            f"{type(tokenizer).__name__} does not say which characters a token is of: expected a "
            "fast tokenizer (tokenizer.json)."
        ) from error
    prompt = np.array(encoded["input_ids"], np.int64)
    if not len(prompt):
        raise InputError("the prompt has no tokens: give at least one word.")
    if answer is None:
        ids = _written(model, tokenizer, prompt, new)
        written = str(tokenizer.decode(ids))
    else:
        given = tokenizer(answer, add_special_tokens=False)["input_ids"]
        ids, written = np.array(given, np.int64), answer
    if not len(ids):
        raise InputError(
            "the model answers with nothing: give --answer, or another prompt."
            if answer is None
            else f"--answer is {answer!r}: expected at least one token."
        )
    unread = len(ids) - 1
    return Answer(
        text=text,
        prompt=prompt,
        answer=ids,
        written=written,
        generated=answer is None,
        offsets=[*(tuple(pair) for pair in encoded["offset_mapping"]), *[(0, 0)] * unread],
        special=np.isin(np.concatenate((prompt, ids[:-1])), _special_ids(tokenizer)),
    )


def read(model: Any, answered: Answer) -> tuple[Record, float]:
    """One pass over prompt and answer: what the answer's rows read, and its log-probability.

    The record keeps these rows whole, and the values; nothing else.
    """
    import torch

    from regard.mechanism.readings import Ask
    from regard.models.watch import watch

    ids = np.concatenate((answered.prompt, answered.answer[:-1]))
    rows = list(answered.readers)
    ask = Ask(queries=rows, rows=rows)
    # a long prompt's logits over the whole vocabulary would dwarf everything else
    keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
    last = {"logits_to_keep": len(rows)} if keeps else {}
    with torch.no_grad(), watch(model, ask=ask, keep=("value",)) as seen:
        given = torch.as_tensor(ids, device=model.device)[None]
        logits = model(input_ids=given, use_cache=False, **last).logits[0, -len(rows) :].float()
    wanted = torch.as_tensor(answered.answer, device=logits.device)[:, None]
    return seen.record, float(logits.log_softmax(-1).gather(1, wanted).double().sum())


def _special_ids(tokenizer: Any) -> list[int]:
    """Markers, as begin and end; a word that the vocabulary lacks is still a word."""
    return [one for one in tokenizer.all_special_ids if one != tokenizer.unk_token_id]


def _written(
    model: Any, tokenizer: Any, prompt: Int64[np.ndarray, " n"], new: int
) -> Int64[np.ndarray, " answer"]:
    """What the model writes, the likeliest token each time, up to where it ends."""
    import torch
    from transformers import GenerationConfig

    ids = torch.as_tensor(prompt, device=model.device)[None]
    ends = model.generation_config.eos_token_id
    ends = [ends] if isinstance(ends, int) else list(ends or [])
    plain: Any = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=new,
        do_sample=False,
        num_beams=1,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
    )
    with torch.no_grad():
        whole = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=plain)
    written: Int64[np.ndarray, " answer"] = whole[0, len(prompt) :].cpu().numpy()
    stop = np.flatnonzero(np.isin(written, ends))
    return written[: stop[0]] if len(stop) else written
