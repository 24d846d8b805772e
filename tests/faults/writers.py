"""People who write, try again until they are answered, and remember what they were told."""

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass
from typing import Any

SERVICES = ("billing", "search", "ingest", "mailer", "gateway", "reports")
PAUSE = 0.8  # seconds between two writes of one writer
WAITING = 0.5  # of the writers: so many wait for the judge
WAITS = 8  # seconds
UNAVAILABLE = 503


@dataclass(frozen=True)
class Acknowledged:
    """A write that the server said it has taken."""

    key: str
    memory_id: str
    body: dict[str, Any]
    token: str


class Writers:
    """
    Some threads that write while `writing` is set, until told to stop.

    :param tokens: one for each of them; two of one person have the same
    """

    def __init__(self, address, tokens, seed):
        self.acknowledged = []
        self.refused = []
        self.broken = []
        self.tries = 0
        self._address, self._tokens, self._seed = address, tokens, seed
        self.writing = threading.Event()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(number, token), daemon=True)
            for number, token in enumerate(tokens)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_raised):
        self._stopping.set()
        self.writing.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive(), "a writer was never answered"

    def _write(self, number, token):
        chance = random.Random(f"{self._seed}-{number}")
        count = 0
        while not self._stopping.is_set():
            count += 1
            mark = f"{number}x{count}"
            body = self._something(chance, mark, token)
            key = f"key-{self._seed}-{mark}"
            memory_id = self._until_answered(token, key, body)
            if memory_id is not None:
                self.acknowledged.append(Acknowledged(key, memory_id, body, token))
            time.sleep(PAUSE)
            self.writing.wait()

    def _something(self, chance, mark, token):
        """Return a new note, a declared successor, a clash of values, or somebody's note again."""
        service = chance.choice(SERVICES)
        body: dict[str, Any] = {
            "content": f"In build {mark} the {service} service listens on {chance.random():.9f}.",
            "project": "palimpsest",
        }
        if chance.random() < WAITING:
            # Then the web process judges by itself, if no worker is quicker.
            body["wait"] = WAITS
        shape = chance.random()
        mine = [one for one in self.acknowledged if one.token == token]
        theirs = [
            one
            for one in self.acknowledged[-40:]
            if one.token != token and "says" not in one.body["content"]
        ]
        if shape < 0.2 and mine:
            body["links"] = [{"type": "supersedes", "dst": chance.choice(mine[-5:]).memory_id}]
        elif shape < 0.4:
            body["components"] = [{"subject": f"{service}.port", "value": mark}]
        elif shape < 0.7 and theirs:
            said = chance.choice(theirs).body["content"].removesuffix(".")
            before, _, after = said.partition(" the ")
            body["content"] = f"The {after} {before.lower()}, says {mark}."
        return body

    def _until_answered(self, token, key, body):
        while True:
            self.tries += 1
            status, text = post(self._address, token, key, body)
            if status in (200, 201):
                return json.loads(text)["memory_id"]
            if status and status < 500:
                self.refused.append((status, body, text[:300]))
                return None
            if status and status != UNAVAILABLE:
                # Tried again like any other; but whatever was killed, this is never the answer.
                self.broken.append((status, body, text[:300]))
            time.sleep(0.1)


def post(address, token, key, body):
    """Return status and body of an answer; no status if none came."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    return _ask(address, ("POST", "/api/v1/memories", json.dumps(body)), token, headers)


def get(address, token, memory_id):
    return _ask(address, ("GET", f"/api/v1/memories/{memory_id}"), token, {})


def _ask(address, request, token, headers):
    line = http.client.HTTPConnection(address[0], address[1], timeout=30)
    try:
        method, path, *said = request
        sent = headers | {"Authorization": f"Bearer {token}"}
        line.request(method, path, said[0] if said else None, sent)
        answer = line.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        line.close()
