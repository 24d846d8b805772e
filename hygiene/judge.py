"""What compares two memories, and what it says. It never acts: the policy does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from django.core.exceptions import ImproperlyConfigured

RULES = "rules"
OFF = "off"
CHOICES = "rules, openai:<model>, anthropic:<model> or off"


class Said(StrEnum):
    """How A, the older, and B, the newer, relate."""

    DUPLICATE = "duplicate"
    A_SUPERSEDES_B = "a_supersedes_b"
    B_SUPERSEDES_A = "b_supersedes_a"
    CONTRADICTION = "contradiction"
    COMPLEMENTARY = "complementary"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Statement:
    """A component of a memory: a subject and its value."""

    subject: str
    value: str | None
    multi: bool = False


@dataclass(frozen=True)
class Exhibit:
    """A memory as a judge sees it."""

    content: str
    kind: str
    rank: int
    level: int
    written_at: datetime
    components: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Opinion:
    """
    What a judge says of a pair.

    :param confidence: 0..1
    :param missing_specifics: what would be lost with the losing side, as far as the judge sees it
    """

    relation: Said
    confidence: float
    reasoning: str
    shared_subject: str = ""
    missing_specifics: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    latency_ms: int = 0


class Blame(StrEnum):
    """Whether a memory misled who says so."""

    MISLED = "misled"
    NOT_MISLED = "not_misled"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Report:
    """
    What somebody says of a memory that misled them.

    :param query: what they had asked when it came up, if they told
    """

    reason: str
    query: str
    reported_at: datetime


@dataclass(frozen=True)
class Attributed:
    """
    What a judge says of a report.

    :param confidence: 0..1
    """

    blame: Blame
    confidence: float
    reasoning: str
    tokens_in: int = 0
    tokens_out: int = 0
    latency_ms: int = 0


class _NoOpinion(Exception):
    """There is none, and the attempt may have cost tokens all the same."""

    def __init__(self, message: str, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(message)
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


class JudgeDown(_NoOpinion):
    """
    The judge cannot be asked right now: ask again later.

    :param after: seconds that its server asks to wait, where it does
    """

    def __init__(
        self, message: str, tokens_in: int = 0, tokens_out: int = 0, after: float | None = None
    ) -> None:
        super().__init__(message, tokens_in, tokens_out)
        self.after = after


class JudgeMisconfigured(JudgeDown):
    """Its server refuses whatever it is asked: a key, an address or a model is wrong."""


class Unusable(_NoOpinion):
    """None of the judge's answers could be used, or its server takes this one question not."""


class Judge(Protocol):
    """
    What can be asked how two memories relate.

    `id` names provider and model, `prompt_version` what it is asked; a verdict is remembered with
    both. `likeness` tells it from any other of the same names: one behind another address, or one
    that is instructed otherwise. What it is certified for is all three.
    """

    id: str
    prompt_version: str
    likeness: str

    def compare(self, older: Exhibit, newer: Exhibit) -> Opinion:
        """
        Return how they relate.

        :raises JudgeDown: if it cannot be asked right now
        :raises Unusable: if its answers cannot be used
        """
        ...


@runtime_checkable
class Attributor(Judge, Protocol):
    """
    A judge that can also be asked whether a memory misled somebody: a model.

    `attribution_version` names what it is asked then.
    """

    attribution_version: str

    def attribute(self, memory: Exhibit, report: Report) -> Attributed:
        """
        Return whether the memory is to blame for what is reported.

        :raises JudgeDown: if it cannot be asked right now
        :raises Unusable: if its answers cannot be used
        """
        ...


def swapped(opinion: Said) -> Said:
    """Return the same relation seen the other way round."""
    around = {Said.A_SUPERSEDES_B: Said.B_SUPERSEDES_A, Said.B_SUPERSEDES_A: Said.A_SUPERSEDES_B}
    return around.get(opinion, opinion)


def shortened(texts: Sequence[str], most: int = 20) -> tuple[str, ...]:
    """Return at most so many texts of bounded length, each once."""
    return tuple(dict.fromkeys(text[:200] for text in texts if text.strip()))[:most]


def judge_from(setting: str, base_url: str = "", api_key: str = "") -> Judge:
    """
    Return the judge that a setting names. Threads may share it; it is worth keeping.

    :raises ImproperlyConfigured: if the setting names none, or what its server needs is missing
    """
    if setting == OFF:
        raise ImproperlyConfigured("JUDGE is off, so there is none")
    must_name_a_judge(setting, base_url, api_key)
    # Imported when chosen: who judges by rules need not load a model's client.
    if setting == RULES:
        from hygiene.rules_judge import RulesJudge  # noqa: PLC0415

        return RulesJudge()
    from hygiene.model_judge import ModelJudge  # noqa: PLC0415
    from hygiene.model_providers import AnthropicMessages, ChatCompletions  # noqa: PLC0415

    provider, _, model = setting.partition(":")
    provided = ChatCompletions if provider == "openai" else AnthropicMessages
    return ModelJudge(setting, provided(model, base_url, api_key.strip()), server=base_url)


def must_name_a_judge(setting: str, base_url: str, api_key: str) -> None:
    """
    Refuse settings by which there can be no judge; to judge nothing at all is one that can be.

    Nothing is asked: whether its server is there, and takes the key, is seen when it is needed.

    :raises ImproperlyConfigured: naming the setting, and what would do
    """
    provider, _, model = setting.partition(":")
    if setting in (RULES, OFF):
        return
    if provider not in ("openai", "anthropic") or not model.strip():
        raise ImproperlyConfigured(f"JUDGE is {setting!r}; choose {CHOICES}")
    if base_url and not base_url.startswith(("http://", "https://")):
        raise ImproperlyConfigured("JUDGE_BASE_URL must begin with http:// or https://")
    key = api_key.strip()
    # One that no header may carry would be told by the error of whoever tries.
    if not (key.isascii() and key.isprintable()):
        raise ImproperlyConfigured("JUDGE_API_KEY has characters that no key has")
    if not key and provider == "anthropic":
        raise ImproperlyConfigured(f"JUDGE is {setting!r}, which needs JUDGE_API_KEY")
    if not key and not base_url:
        raise ImproperlyConfigured(
            f"JUDGE is {setting!r}, which needs JUDGE_API_KEY; or JUDGE_BASE_URL, if a server of "
            "your own takes questions without a key"
        )
