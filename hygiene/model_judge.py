"""
A language model as judge.

The texts stand between lines with a random mark, so that nothing in them can end them. Whatever
the model answers is checked against the one form that is asked for; three tries, and then it is no
verdict.
"""

import hashlib
import json
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from hygiene.judge import (
    Attributed,
    Blame,
    Exhibit,
    JudgeDown,
    Opinion,
    Report,
    Said,
    Unusable,
    shortened,
)
from hygiene.model_providers import Ask, Malformed, Refused, TryAgain
from tenants.context import must_be_outside
from tenants.deadline import awaited, nobody_waits_any_more

PROMPT_VERSION = "compare-1"
ATTRIBUTION_VERSION = "misled-1"
TRIES = 3  # answers of the wrong form
FAULTS = 4  # failures of the server
LONGEST_REASONING = 4000  # characters that are kept
LONGEST_SUBJECT = 200
BYTES_A_TOKEN = 3  # of UTF-8; English has about four, other scripts fewer
FIELDS = frozenset({"reasoning", "shared_subject", "missing_specifics", "relation", "confidence"})


@dataclass(frozen=True)
class Patience:
    """
    How long a model is waited for, in seconds.

    :param within: for all tries and the pauses between them
    :param one_try: for one of them
    :param first_pause: before the second; it doubles each time
    """

    within: float = 30.0
    one_try: float = 20.0
    first_pause: float = 0.5


@dataclass
class _Spent:
    """What the tries have cost so far."""

    started: float = field(default_factory=time.monotonic)
    tokens_in: int = 0
    tokens_out: int = 0
    malformed: int = 0
    faults: int = 0

    def told(self) -> dict[str, Any]:
        """Return it as an answer tells it."""
        took = round((time.monotonic() - self.started) * 1000)
        return {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "latency_ms": took}


class ModelJudge:
    """A judge that asks a model. Threads may share it."""

    prompt_version = PROMPT_VERSION
    attribution_version = ATTRIBUTION_VERSION

    def __init__(
        self, judge_id: str, ask: Ask, patience: Patience | None = None, server: str = ""
    ) -> None:
        self.id = judge_id
        self.likeness = _likeness(server)
        self._ask = ask
        self._patience = patience or Patience()

    def compare(self, older: Exhibit, newer: Exhibit) -> Opinion:
        """
        Ask the model, again if it fails or its answer cannot be used.

        :raises JudgeDown: if the model cannot be asked
        :raises Unusable: if three answers, or all within thirty seconds, could not be used
        """
        spent = _Spent()
        question = question_about(older, newer)
        said = self._answered(PROMPT_VERSION, question, read_opinion, spent)
        return Opinion(**said, **spent.told())

    def attribute(self, memory: Exhibit, report: Report) -> Attributed:
        """
        Ask the model whether a memory misled who says so; for the rest as compare() does.

        :raises JudgeDown: if the model cannot be asked
        :raises Unusable: if three answers, or all within thirty seconds, could not be used
        """
        spent = _Spent()
        question = question_of(memory, report)
        said = self._answered(ATTRIBUTION_VERSION, question, read_attribution, spent)
        return Attributed(**said, **spent.told())

    def _answered(
        self, prompt: str, question: str, read: Callable[[str], dict[str, Any]], spent: _Spent
    ) -> dict[str, Any]:
        must_be_outside("a model")
        deadline = min(spent.started + self._patience.within, awaited())
        why = "no answer in time"
        while spent.malformed < TRIES and time.monotonic() < deadline:
            try:
                return read(self._try(prompt, question, deadline, spent))
            except Malformed as error:
                spent.malformed += 1
                why = str(error)
            except TryAgain as again:
                spent.faults += 1
                self._pause(again, deadline, spent)
            except Refused as refused:
                raise Unusable(str(refused), spent.tokens_in, spent.tokens_out) from None
            except JudgeDown as down:
                down.tokens_in, down.tokens_out = spent.tokens_in, spent.tokens_out
                raise
        if not spent.malformed or (spent.malformed < TRIES and nobody_waits_any_more()):
            raise JudgeDown(why, spent.tokens_in, spent.tokens_out)
        raise Unusable(why, spent.tokens_in, spent.tokens_out)

    def _try(self, prompt: str, question: str, deadline: float, spent: _Spent) -> str:
        left = max(deadline - time.monotonic(), 0.01)
        instructions = _instructions(prompt)
        asked = estimated_tokens(instructions) + estimated_tokens(question)
        try:
            reply = self._ask(instructions, question, min(left, self._patience.one_try))
        except Malformed:
            # Something was answered, and whoever did so counts it, too.
            spent.tokens_in += asked
            raise
        spent.tokens_in += reply.tokens_in or asked
        spent.tokens_out += reply.tokens_out or estimated_tokens(reply.text)
        return reply.text

    def _pause(self, again: TryAgain, deadline: float, spent: _Spent) -> None:
        jitter = random.uniform(0.5, 1.5)  # noqa: S311
        wait = self._patience.first_pause * 2 ** (spent.faults - 1) * jitter
        if again.after is not None:
            # Not earlier than asked; later by a little, or all who were refused come back at once.
            wait = again.after + self._patience.first_pause * jitter
        if spent.faults >= FAULTS or time.monotonic() + wait >= deadline:
            # Where only whoever waits has no more time, it may be well again after this pause.
            hasty = deadline < spent.started + self._patience.within and spent.faults < FAULTS
            after = wait if hasty else again.after
            raise JudgeDown(str(again), spent.tokens_in, spent.tokens_out, after) from None
        time.sleep(wait)


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text is, rather too many: for servers that do not say."""
    return -(-len(text.encode(errors="replace")) // BYTES_A_TOKEN)


def _likeness(server: str) -> str:
    """Return what tells this server and these instructions from others, and neither of them."""
    told = [server.rstrip("/"), _instructions(PROMPT_VERSION)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@cache
def _instructions(prompt: str) -> str:
    folder = Path(__file__).parent / "prompts"
    return (folder / f"{prompt}.md").read_text(encoding="utf-8")


def question_about(older: Exhibit, newer: Exhibit) -> str:
    """Return both memories as a model is shown them: each once, to the letter, quoted."""
    mark = secrets.token_hex(16)
    return f"{_shown('A', older, mark)}\n\n{_shown('B', newer, mark)}"


def question_of(memory: Exhibit, report: Report) -> str:
    """Return a memory and what is reported of it as a model is shown them: quoted."""
    mark = secrets.token_hex(16)
    shown = [_shown("note", memory, mark)]
    if report.query.strip():
        shown.append(f"What the reporter had asked\n{_quoted('asked', report.query, mark)}")
    said_at = report.reported_at.isoformat(timespec="seconds")
    quoted = _quoted("report", report.reason, mark)
    shown.append(f"What the reporter says (reported {said_at})\n{quoted}")
    return "\n\n".join(shown)


def _shown(name: str, exhibit: Exhibit, mark: str) -> str:
    about = (
        f"{name} ({exhibit.kind}, written {exhibit.written_at.isoformat(timespec='seconds')}, "
        f"authority: rank {exhibit.rank} of 2, level {exhibit.level})"
    )
    return f"{about}\n{_quoted(name, exhibit.content, mark)}"


def _quoted(name: str, text: str, mark: str) -> str:
    return f"-----{name}-{mark}-----\n{text}\n-----end-{name}-{mark}-----"


def read_opinion(text: str) -> dict[str, Any]:
    """
    Return what an answer about a pair says, as the fields of an opinion.

    :raises Malformed: if it has another form than was asked for
    """
    return _read(text, Said)


def read_attribution(text: str) -> dict[str, Any]:
    """
    Return what an answer about a report says.

    :raises Malformed: if it has another form than was asked for
    """
    said = _read(text, Blame)
    return {name: said[name] for name in ("confidence", "reasoning")} | {"blame": said["relation"]}


def _read(text: str, relations: type[StrEnum]) -> dict[str, Any]:
    # All questions have one form of answer, and relations of their own.
    try:
        said = json.loads(_without_fence(text), object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise Malformed("the answer is not JSON") from None
    if not isinstance(said, dict) or set(said) != FIELDS:
        raise Malformed("the answer has other fields than asked for")
    confidence, missing = said["confidence"], said["missing_specifics"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise Malformed("confidence is not a number")
    if not 0 <= confidence <= 1:  # nor is NaN
        raise Malformed("confidence is not between 0 and 1")
    if said["relation"] not in list(relations):
        raise Malformed("the relation is none of those asked for")
    if not isinstance(missing, list) or not all(isinstance(one, str) for one in missing):
        raise Malformed("missing_specifics is not a list of texts")
    if not all(isinstance(said[name], str) for name in ("reasoning", "shared_subject")):
        raise Malformed("reasoning and shared_subject are not texts")
    return {
        "relation": relations(said["relation"]),
        "confidence": float(confidence),
        "reasoning": _storable(said["reasoning"])[:LONGEST_REASONING],
        "shared_subject": _storable(said["shared_subject"])[:LONGEST_SUBJECT],
        "missing_specifics": shortened([_storable(one) for one in missing]),
    }


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Malformed("the answer has a field twice")
    return dict(pairs)


def _storable(text: str) -> str:
    # JSON can spell what PostgreSQL cannot hold: NUL, and halves of characters.
    return text.replace("\0", "").encode(errors="replace").decode()


def _without_fence(text: str) -> str:
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        return text[3:-3].removeprefix("json").strip()
    return text
