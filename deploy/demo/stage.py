"""Who acts in the demo, each over HTTP with a token of their own, and what the chapters share."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from deploy.demo.telling import Teller
from memory.importing import Note

STORY_TAG = "demo-story"
NOTES_TAG = "demo-notes"
LONGEST_WAIT = 60.0  # seconds for a rate limit to pass
TIMEOUT = 30.0  # seconds
PAGE = 100
LOOKED_EVERY = 0.2  # seconds
LONGEST_ASKED = 500  # characters of a text that is sought by its own words


class Unexpected(Exception):
    """An answer with which the chapter cannot go on."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    body: dict[str, Any]
    text: str

    @property
    def outcome(self) -> str:
        """Return the status, with the code of the problem if it is one."""
        return f"{self.status} {self.body['code']}" if "code" in self.body else str(self.status)


class Person:
    """A principal of the demo with their token."""

    def __init__(self, name: str, base_url: str, token: str, project: str) -> None:
        self.name = name
        self._project = project
        self._client = httpx.Client(
            base_url=f"{base_url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT,
            trust_env=False,  # the instance is never behind the proxy for the world outside
        )

    def ask(self, method: str, path: str, **options: Any) -> Reply:
        """Send a request, once more if there were too many in this minute."""
        answer = self._client.request(method, path, **options)
        if answer.status_code == 429:
            time.sleep(min(float(answer.headers.get("Retry-After", 1)), LONGEST_WAIT))
            answer = self._client.request(method, path, **options)
        is_json = "json" in answer.headers.get("Content-Type", "")
        return Reply(answer.status_code, answer.json() if is_json else {}, answer.text)

    def get(self, path: str, **query: Any) -> Reply:
        """Ask for something."""
        return self.ask("GET", path, params=query)

    def post(self, path: str, body: Mapping[str, Any], key: str | None = None) -> Reply:
        """Do something, with an idempotency key if one is given."""
        return self.ask("POST", path, json=body, headers={"Idempotency-Key": key} if key else {})

    def try_to_remember(self, content: str, *, key: str | None = None, **fields: Any) -> Reply:
        """Write a memory into the person's project, and see what comes of it."""
        return self.post("/memories", {"content": content, "project": self._project} | fields, key)

    def remember(self, content: str, **fields: Any) -> dict[str, Any]:
        """
        Write a memory into the person's project.

        :raises Unexpected: if it was not taken
        """
        return self._taken(self.try_to_remember(content, **fields), "to remember").body

    def do(self, memory_id: str, verb: str, **body: Any) -> dict[str, Any]:
        """
        Do something to a memory: forget, restore.

        :raises Unexpected: if it was not done
        """
        return self._taken(self.post(f"/memories/{memory_id}/{verb}", body), f"to {verb}").body

    def read(self, memory_id: str) -> dict[str, Any]:
        """
        Read a memory.

        :raises Unexpected: if it is not there
        """
        return self._taken(self.get(f"/memories/{memory_id}"), f"to read {memory_id}").body

    def events(self, memory_id: str) -> list[str]:
        """Return what was done to a memory and its other versions, oldest first."""
        history = self._taken(self.get(f"/memories/{memory_id}/history"), "to read its history")
        return [event["command"] for event in history.body["events"]]

    def counts(self, **query: Any) -> dict[str, int]:
        """Return how many memories the person's feed has in each lifecycle."""
        feed = self._taken(self.get("/memories", limit=1, **query), "to list memories")
        counts: dict[str, int] = feed.body["counts"]
        return counts

    def feed(self, **query: Any) -> Iterator[dict[str, Any]]:
        """Give every memory of the person's feed, page for page."""
        following: dict[str, Any] = {}
        while True:
            page = self._taken(
                self.get("/memories", limit=PAGE, **query, **following), "to list memories"
            ).body
            yield from page["results"]
            if page["next"] is None:
                return
            following = {"cursor": page["next"]}

    def recall(self, query: str, **fields: Any) -> list[dict[str, Any]]:
        """Return what the person finds in their project."""
        body = {"query": query, "project": self._project} | fields
        results: list[dict[str, Any]] = self._taken(self.post("/recall", body), "to recall").body[
            "results"
        ]
        return results

    def conflicts(self, memory_id: str, state: str = "pending") -> list[dict[str, Any]]:
        """Return the conflicts about a memory, newest first."""
        return self.page("/conflicts", memory=memory_id, state=state)

    def page(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """Return the first page of a list."""
        listed = self._taken(self.get(path, **query), f"to list {path}").body
        results: list[dict[str, Any]] = listed["results"]
        return results

    def _taken(self, reply: Reply, what: str) -> Reply:
        if reply.status >= 300:
            detail = reply.body.get("detail", "")
            raise Unexpected(f"{self.name} was not able {what}: {reply.outcome} {detail}".rstrip())
        return reply


@dataclass
class Stage:
    """Where the story takes place: its people, its run, and what earlier chapters left."""

    base_url: str
    cast: dict[str, Person]
    teller: Teller
    notes: list[Note]
    label: str = field(default_factory=lambda: secrets.token_hex(3))
    push: dict[str, Any] = field(default_factory=dict)
    chain: list[str] = field(default_factory=list)
    hidden: str | None = None
    moved: dict[str, str] = field(default_factory=dict)
    released_at: str = ""

    def __getitem__(self, name: str) -> Person:
        return self.cast[name]

    @property
    def run_tag(self) -> str:
        """Return the tag of all that this run writes, but for the notes."""
        return f"run-{self.label}"

    @property
    def tags(self) -> list[str]:
        """Return the tags of what this run writes."""
        return [STORY_TAG, self.run_tag]

    def deliver(self, path: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        """
        Send what another system sends, with nobody's token.

        :raises Unexpected: if it was not taken
        """
        url = f"{self.base_url}{path}"
        with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
            answer = client.post(url, content=body, headers=headers)
        if answer.status_code != 200:
            raise Unexpected(f"{path} was answered with {answer.status_code}: {answer.text[:200]}")
        told: dict[str, Any] = answer.json()
        return told

    def written(self) -> int:
        """Return how many memories of this run there are, as who sees most of them reads it."""
        return self["senior"].counts(tag=self.run_tag)["all"]

    def say(self, text: str) -> None:
        """Tell what is done."""
        self.teller.say(text)

    def expect(self, what: str, expected: object, read: object) -> None:
        """Tell what was expected and what was read back."""
        self.teller.expect(what, expected, read)


def replaces(*memory_ids: str) -> list[dict[str, str]]:
    """Return the links that declare what a memory replaces."""
    return [{"type": "supersedes", "dst": one} for one in memory_ids]


def awaited(look: Callable[[], list[Any]], within: float) -> list[Any]:
    """Return what is seen as soon as there is something, or nothing once the seconds are over."""
    deadline = time.monotonic() + within
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(LOOKED_EVERY)
    return seen


def stage(
    demo: Mapping[str, Any], push: dict[str, Any], teller: Teller, notes: list[Note]
) -> Stage:
    """
    Return the stage on the instance that the content of a demo.json tells of.

    :param push: where pushes arrive there, and the secret that signs them
    """
    cast = {
        name: Person(name, demo["base_url"], held["token"], held["project"])
        for name, held in demo["tokens"].items()
    }
    return Stage(demo["base_url"], cast, teller, notes, push=push)
