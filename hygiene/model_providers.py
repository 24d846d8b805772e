"""
How a model is asked: by any server that speaks chat/completions, or by Anthropic's.

An answer is trusted in nothing. What fails is told by class and status alone: an exception of the
library carries the request, and with it the key and the texts.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpx2
import openai

from hygiene.bounded_http import TooMuch, bounded_client
from hygiene.judge import JudgeDown, JudgeMisconfigured

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"

CONNECT = 5.0
"""Seconds."""

LONGEST_ANSWER = 2000
"""Tokens; Anthropic's protocol wants a number."""

# At DEBUG these tell of requests more than a log should hold.
for _library in ("openai", "anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_library).setLevel(logging.WARNING)


@dataclass(frozen=True)
class Reply:
    """What a model said, and what it cost."""

    text: str
    tokens_in: int
    tokens_out: int


class Malformed(Exception):
    """An answer that is not in the form that was asked for."""


class Refused(Exception):
    """The server does not take this one question; others it may."""


class TryAgain(Exception):
    """
    The server failed, and may not the next time.

    :param after: seconds that it asks to wait, where it does
    """

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


Ask = Callable[[str, str, float], Reply]
"""
Instructions, question, and the seconds that the answer may take.

Raises TryAgain, Malformed, Refused, or JudgeDown where asking again would not help.
"""


class ChatCompletions:
    """
    A model behind chat/completions, not streamed.

    Servers and models differ in what they accept beyond the messages. What one refuses is left
    out, from then on too once that has helped.
    """

    def __init__(self, model: str, base_url: str, api_key: str) -> None:
        self._model = model
        self._extras: dict[str, object] = {
            "temperature": 0,
            "response_format": {"type": "json_object"},
        }
        self._client = openai.OpenAI(
            api_key=api_key or "none",
            base_url=base_url or OPENAI,
            max_retries=0,
            http_client=bounded_client(),
        )

    def __call__(self, instructions: str, question: str, seconds: float) -> Reply:
        deadline = time.monotonic() + seconds
        extras = self._extras
        while True:
            try:
                left = max(deadline - time.monotonic(), 0.01)
                content = self._post(instructions, question, extras, left)
            except openai.BadRequestError as error:
                refused = "temperature" if "temperature" in str(error.body) else "response_format"
                if refused not in extras:
                    raise _by_status(400, error.response.headers) from None
                extras = {name: extras[name] for name in extras if name != refused}
            except openai.APIStatusError as error:
                raise _by_status(error.status_code, error.response.headers) from None
            except openai.APIConnectionError as error:
                raise _by_cause(error) from None
            except openai.OpenAIError as error:
                raise _misconfigured(error) from None
            else:
                self._extras = extras
                return _chat_reply(content)

    def _post(
        self, instructions: str, question: str, extras: Mapping[str, object], seconds: float
    ) -> bytes:
        answer = self._client.chat.completions.with_raw_response.create(
            model=self._model,
            messages=[
                {"role": "system", "content": instructions},
                {"role": "user", "content": question},
            ],
            stream=False,
            extra_body=extras,
            timeout=_patience(seconds),
        )
        return answer.content


class AnthropicMessages:
    """One of Anthropic's models."""

    def __init__(self, model: str, base_url: str, api_key: str) -> None:
        self._model = model
        self._client = anthropic.Anthropic(
            api_key=api_key,
            # The library adds the version to the path, and people copy addresses with it.
            base_url=base_url.rstrip("/").removesuffix("/v1") or ANTHROPIC,
            max_retries=0,
            http_client=bounded_client(),
        )

    def __call__(self, instructions: str, question: str, seconds: float) -> Reply:
        try:
            answer = self._client.messages.with_raw_response.create(
                model=self._model,
                max_tokens=LONGEST_ANSWER,
                system=instructions,
                messages=[{"role": "user", "content": question}],
                timeout=_patience(seconds),
            )
            content = answer.read()
        except anthropic.APIStatusError as error:
            raise _by_status(error.status_code, error.response.headers) from None
        except anthropic.APIConnectionError as error:
            raise _by_cause(error) from None
        except anthropic.AnthropicError as error:
            raise _misconfigured(error) from None
        return _message_reply(content)


def _patience(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(CONNECT, seconds))


# What speaks of this one question: too long, too large, not to be processed.
_OF_THE_QUESTION = (400, 413, 422)


def _by_status(status: int, headers: Mapping[str, str]) -> TryAgain | Refused | JudgeDown:
    if status in (408, 429) or status >= 500:
        return TryAgain(f"the judge's server answered {status}", _retry_after(headers))
    if status in _OF_THE_QUESTION:
        return Refused(f"the judge's server refused the question: {status}")
    return JudgeMisconfigured(f"the judge's server answered {status}")


def _by_cause(error: Exception) -> TryAgain | Malformed | JudgeDown:
    cause = error.__cause__ or error
    if isinstance(cause, TooMuch):
        return Malformed(str(cause))
    if isinstance(cause, (httpx2.UnsupportedProtocol, httpx2.InvalidURL)):
        return _misconfigured(cause)
    return TryAgain(f"the judge did not answer: {type(cause).__name__}")


def _misconfigured(error: Exception) -> JudgeDown:
    return JudgeMisconfigured(f"the judge cannot be asked: {type(error).__name__}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait: the header holds either them or a date."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _chat_reply(content: bytes) -> Reply:
    answer = _read(content)
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise Malformed("the server's answer holds no message") from None
    return _reply(text, answer.get("usage"), "prompt_tokens", "completion_tokens")


def _message_reply(content: bytes) -> Reply:
    answer = _read(content)
    try:
        text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
    except (KeyError, TypeError):
        raise Malformed("the server's answer holds no message") from None
    return _reply(text, answer.get("usage"), "input_tokens", "output_tokens")


def _read(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise Malformed("the server's answer is not JSON") from None
    if not isinstance(answer, dict):
        raise Malformed("the server's answer is not a JSON object")
    return answer


def _reply(text: object, usage: object, name_in: str, name_out: str) -> Reply:
    used = usage if isinstance(usage, dict) else {}
    return Reply(
        text if isinstance(text, str) else "", _tokens(used, name_in), _tokens(used, name_out)
    )


def _tokens(used: Mapping[str, object], name: str) -> int:
    count = used.get(name)
    # An absurd number would upset the budget and the column that keeps it.
    return count if type(count) is int and 0 <= count < 2**31 else 0
