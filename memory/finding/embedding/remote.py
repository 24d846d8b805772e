"""
A model behind the OpenAI embeddings protocol: the provider's own, or a server of one's own.

A request ends within TOTAL seconds, its retries included; every TEXTS_AT_ONCE texts are one. An
answer is trusted in nothing: not in its size, its order, its numbers, nor in being of the same
model as before.
"""

import json
import random
import threading
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from memory.finding.embedding.embedder import (
    LARGEST_DIMENSION,
    UNCALIBRATED,
    EmbedderDown,
    Vector,
    unit,
)
from tenants.context import must_be_outside
from tenants.deadline import awaited

DEFAULT_BASE_URL = "https://api.openai.com/v1"

CONNECT = 3.0
TOTAL = 10.0
FIRST_PAUSE = 0.25
"""Seconds."""

TEXTS_AT_ONCE = 128

LONGEST_TEXT = 8_000
"""Bytes of a text that are sent. No tokenizer makes more tokens than bytes; 8,191 are allowed."""

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes."""


class _TryAgain(Exception):
    """The server may answer later; after so many seconds, where it said so."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class RemoteEmbedder:
    """
    See the module.

    Dimension and model name are those of the first answer. Another one later is refused: its
    vectors would be compared with vectors they have nothing to do with.
    """

    bars = UNCALIBRATED
    is_in_process = False

    def __init__(self, *, model: str, base_url: str = "", api_key: str = "") -> None:
        self.id = f"openai:{model}"
        self._model = model
        self._url = f"{(base_url or DEFAULT_BASE_URL).rstrip('/')}/embeddings"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(headers=headers)
        self._first_answer = threading.Lock()
        self._dimension: int | None = None
        self._served: str | None = None

    @property
    def dimension(self) -> int:
        """
        The length of the vectors; asks the server if it has not answered yet.

        :raises EmbedderDown: if it does not
        """
        if self._dimension is None:
            must_be_outside("learning the embedder's dimension")
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of the texts, in their order."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            vectors += self._embed_some(texts[start : start + TEXTS_AT_ONCE])
        return vectors

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._client.close()

    def _embed_some(self, texts: Sequence[str]) -> list[Vector]:
        body = {
            "model": self._model,
            "input": [_cut(text) for text in texts],
            "encoding_format": "float",
        }
        answer = self._ask(body, deadline=min(time.monotonic() + TOTAL, awaited()))
        rows, served = _read(answer, len(texts))
        # Checked first: a malformed answer must not settle what the dimension is.
        vectors = [unit(row, len(rows[0])) for row in rows]
        self._agree(len(rows[0]), served)
        return vectors

    def _agree(self, dimension: int, served: str | None) -> None:
        if not 1 <= dimension <= LARGEST_DIMENSION:
            raise EmbedderDown(f"{self.id} answers with {dimension} dimensions")
        with self._first_answer:
            if self._dimension is None:
                self._dimension, self._served = dimension, served
        if dimension != self._dimension:
            raise EmbedderDown(
                f"{self.id} answers with {dimension} dimensions; it was {self._dimension} before"
            )
        if served != self._served:
            raise EmbedderDown(f"{self.id} answers with another model than before")

    def _ask(self, body: dict[str, Any], deadline: float) -> bytes:
        pause = FIRST_PAUSE
        while True:
            try:
                return self._ask_once(body, deadline)
            except _TryAgain as again:
                wait = again.after if again.after is not None else pause * random.uniform(0.5, 1.5)  # noqa: S311
                if time.monotonic() + wait >= deadline:
                    raise EmbedderDown(f"{self.id}: {again}") from None
            time.sleep(wait)
            pause *= 2

    def _ask_once(self, body: dict[str, Any], deadline: float) -> bytes:
        left = max(deadline - time.monotonic(), 0.01)
        timeout = httpx.Timeout(left, connect=min(CONNECT, left))
        try:
            with self._client.stream("POST", self._url, json=body, timeout=timeout) as response:
                self._refuse_failure(response)
                return self._body(response, deadline)
        except httpx.TimeoutException as error:
            raise EmbedderDown(f"{self.id} did not answer: {type(error).__name__}") from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            if isinstance(error, httpx.ConnectError):
                raise EmbedderDown(f"{self.id} cannot be reached") from None
            # A connection that was kept open and has gone meanwhile: a new one may do.
            raise _TryAgain(f"broken off: {type(error).__name__}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EmbedderDown(f"{self.id} cannot be asked: {type(error).__name__}") from None

    def _refuse_failure(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == httpx.codes.TOO_MANY_REQUESTS or status >= 500:
            raise _TryAgain(f"answered {status}", _retry_after(response))
        if status != httpx.codes.OK:
            raise EmbedderDown(f"{self.id} answered {status}")

    def _body(self, response: httpx.Response, deadline: float) -> bytes:
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > LARGEST_ANSWER:
                raise EmbedderDown(f"{self.id} answered with more than {LARGEST_ANSWER} bytes")
            if time.monotonic() > deadline:
                raise EmbedderDown(f"{self.id} did not finish its answer in time")
        return bytes(content)


def _cut(text: str) -> str:
    return text.encode()[:LONGEST_TEXT].decode(errors="ignore")


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds to wait: the header holds either them or a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _read(content: bytes, count: int) -> tuple[list[list[float]], str | None]:
    """
    Return the raw embeddings in the order of the texts, and the model that made them.

    :raises EmbedderDown: if the answer is not one embedding a text
    """
    try:
        answer = json.loads(content)
        rows = {entry["index"]: entry["embedding"] for entry in answer["data"]}
        served = answer.get("model")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise EmbedderDown("the embedder's answer is malformed") from None
    if len(answer["data"]) != count or set(rows) != set(range(count)):
        raise EmbedderDown(f"the embedder's answer is not one embedding for each of {count} texts")
    if not all(_is_numbers(row) for row in rows.values()):
        raise EmbedderDown("an embedding is not a list of numbers")
    return [rows[place] for place in range(count)], served if isinstance(served, str) else None


def _is_numbers(row: object) -> bool:
    # numpy would make numbers of strings and of truth values.
    return isinstance(row, list) and all(type(number) in (int, float) for number in row)
