"""Histories at random: what people do, step by step, and what recall told after each."""

import random
from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import Q
from django.http import HttpResponse

from memory.models import Door, Memory
from memory.trust.expiry import mark_what_expired
from tenants.ids import Prefix, read_id, wire_id
from tests.judging import work
from tests.memories import done, replacing
from tests.people import Office, Person

QUESTION = "What does the note say of staging?"
SUBJECTS = ("staging.port", "staging.host", "staging.branch")
# Writing is what everything else needs, and so comes more often.
STEPS = (
    *("write", "write", "write", "supersede", "forget", "close", "restore", "challenge"),
    *("resolve", "change", "change", "verify", "capture", "capture", "accept", "accept", "reject"),
    *("undo", "undo", "refute", "suggest", "accept_component", "late_change", "link", "unlink"),
    *("end", "tell_ends", "today", "plan", "plan", "work"),
)


def clock() -> datetime:
    """Return the database's time."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def told(person: Person, **more: Any) -> dict[str, Any]:
    """Return what is recalled, by id."""
    found = done(person.post("/recall", {"query": QUESTION, "k": 100, **more}))["results"]
    return {one["memory_id"]: one for one in found}


def summary(results: dict[str, Any]) -> dict[str, Any]:
    """Return what has to be the same: the memories, their states, marks, disputes and rivals."""
    return {
        memory_id: (
            one["trust_state"],
            # What is not in conflict is told of the past plainly, however it stood then.
            one["temporal_status"] == "conflicted",
            frozenset((each["memory_id"], each["content"]) for each in one["competing_claims"]),
            one["dirty_reason"],
            one["disputed"],
            one["dispute_id"],
            one["last_verified_at"],
            one["evidence_confidence"],
        )
        for memory_id, one in results.items()
    }


def without_claims_of(those: Collection[str], summed: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a memory's summary without what these claim against it."""
    return tuple(
        frozenset(claim for claim in part if claim[0] not in those)
        if isinstance(part, frozenset)
        else part
        for part in summed
    )


# What no request does has gone well all the same.
_ANSWERED = HttpResponse(status=200)


class History:
    """What happened in an office, step by step, and what recall told after each."""

    def __init__(self, office: Office, seed: int) -> None:
        self.office = office
        self.random = random.Random(seed)
        self.ids: list[str] = []
        self.captures: list[str] = []
        self.disputes: list[str] = []
        self.batches: list[str] = []
        self.links: list[str] = []
        self.number = 0
        self.steps: list[str] = []
        self.happened: Counter[str] = Counter()
        self.record: list[tuple[datetime, dict[str, Any]]] = []

    def step(self) -> None:
        """Do something that can be done by now, and note what is recalled after it."""
        what, answer = "", None
        while answer is None:
            what = self.random.choice(STEPS)
            answer = getattr(self, what)()
        assert answer.status_code < 500, (what, answer.content)
        self.happened[what] += answer.status_code < 300
        self.steps.append(f"{what} {answer.status_code}")
        at, found = clock(), told(self.office.reviewer, project="apollo")
        # What begins or ends while it is asked for may be told of either side.
        meanwhile = (at, clock())
        moved = Q(valid_from__range=meanwhile) | Q(valid_until__range=meanwhile)
        if not Memory.objects.using("owner").filter(moved, tenant=self.office.tenant).exists():
            self.record.append((at, summary(found)))

    def rejected(self) -> set[str]:
        """Return what stands rejected in the end."""
        found = Memory.objects.using("owner").filter(
            tenant=self.office.tenant, invalidated_reason=Door.REJECTED
        )
        return {wire_id(Prefix.MEMORY, one) for one in found.values_list("id", flat=True)}

    def post(self, path: str, body: dict[str, Any]) -> Any:
        person = self.random.choice(
            [self.office.senior, self.office.colleague, self.office.agent, self.office.reviewer]
        )
        return person.post(path, body)

    def about_one(self, what: str, body: dict[str, Any]) -> Any:
        return self.post(f"/memories/{self.random.choice(self.ids)}/{what}", body)

    def write(self, writer: Person | None = None, **more: Any) -> Any:
        self.number += 1
        writer = writer or self.random.choice([self.office.senior, self.office.colleague])
        subject = self.random.choice(SUBJECTS)
        body = {
            "content": f"The note says of staging {self.number}.",
            "project": "apollo",
            "kind": self.random.choice(["fact", "task", "convention"]),
            "components": [{"subject": subject, "value": f"{self.number}", "multi": True}],
            **more,
        }
        if self.ids and self.random.random() < 0.4:
            body["depends_on"] = [self.random.choice(self.ids)]
        answer = writer.post("/memories", body)
        if answer.status_code == 201:
            self.ids.append(answer.json()["memory_id"])
        return answer

    def capture(self) -> Any:
        answer = self.write(self.office.watcher)
        if answer.status_code == 201:
            self.captures.append(answer.json()["memory_id"])
        return answer

    def suggest(self) -> Any:
        content = f"The staging port is {5000 + self.number}."
        return self.write(content=content, components=[])

    def end(self) -> Any:
        """Let something end by now, as it has said when it was written."""
        if not self.ids:
            return None
        memory = read_id(Prefix.MEMORY, self.random.choice(self.ids))
        left = Memory.objects.using("owner").filter(id=memory, valid_until=None)
        left.update(valid_until=clock())
        return _ANSWERED

    def tell_ends(self) -> Any:
        mark_what_expired()
        return _ANSWERED

    def today(self, **more: Any) -> Any:
        """Say what is so of something that has but one value."""
        value = str(self.number + 1)
        said = [{"subject": "staging.day", "value": value}]
        content = f"The note says of staging: day {'x' * self.number}."
        return self.write(content=content, kind="fact", components=said, **more)

    def plan(self) -> Any:
        """Say what will be so in some steps."""
        soon = clock() + timedelta(seconds=self.random.choice([0.3, 0.6, 1.5]))
        return self.today(valid_from=soon.isoformat())

    def work(self) -> Any:
        work(self.office)
        return _ANSWERED

    def supersede(self) -> Any:
        return self.write(links=replacing(self.random.choice(self.ids))) if self.ids else None

    def forget(self) -> Any:
        return self.about_one("forget", {"reason": "wrong"}) if self.ids else None

    def close(self) -> Any:
        return self.about_one("close", {}) if self.ids else None

    def restore(self) -> Any:
        return self.about_one("restore", {}) if self.ids else None

    def challenge(self) -> Any:
        if not self.ids:
            return None
        return self._disputed(self.about_one("challenge", {"reason": "I doubt it."}))

    def _disputed(self, answer: Any) -> Any:
        if answer.status_code == 200 and answer.json().get("dispute_id"):
            self.disputes.append(answer.json()["dispute_id"])
        return answer

    def _batched(self, answer: Any) -> Any:
        if answer.status_code == 200 and answer.json().get("batch"):
            self.batches.append(answer.json()["batch"])
        return answer

    def resolve(self) -> Any:
        if not self.disputes:
            return None
        how = self.random.choice([{"keep_both": True}, {"retire": True}])
        dispute = self.random.choice(self.disputes)
        return self._batched(self.office.reviewer.post(f"/conflicts/{dispute}/resolve", how))

    def accept(self) -> Any:
        return self._decide("accept")

    def reject(self) -> Any:
        return self._decide("reject")

    def _decide(self, what: str) -> Any:
        if not self.captures:
            return None
        path = f"/memories/{self.random.choice(self.captures)}/{what}"
        return self._batched(self.office.reviewer.post(path, {"reason": "I saw it."}))

    def undo(self) -> Any:
        if not self.batches:
            return None
        return self.office.reviewer.post(f"/batches/{self.random.choice(self.batches)}/undo", {})

    def change(self) -> Any:
        subject = self.random.choice([*SUBJECTS, "staging.elsewhere"])
        return self._report(subject)

    def _report(self, subject: str, **more: Any) -> Any:
        body = {"project": "apollo", "subject": subject, "summary": "It moved.", **more}
        return self.post("/changes", body)

    def late_change(self) -> Any:
        """Report what was seen some steps ago."""
        if not self.record:
            return None
        seen_at, _ = self.random.choice(self.record)
        return self._report(self.random.choice(SUBJECTS), observed_at=seen_at.isoformat())

    def verify(self) -> Any:
        return self._look(self.random.choice(["confirmed", "confirmed", "inconclusive"]))

    def refute(self) -> Any:
        return self._look("refuted")

    def _look(self, outcome: str) -> Any:
        if not self.ids:
            return None
        body = {"outcome": outcome, "method": "file", "evidence": "I looked."}
        return self._disputed(self.about_one("verify", body))

    def accept_component(self) -> Any:
        for one in self.random.sample(self.ids, len(self.ids)):
            memory = done(self.office.reviewer.get(f"/memories/{one}"))
            if memory["suggested_components"]:
                (suggested, *_) = memory["suggested_components"]
                return self.post(f"/components/{suggested['id']}/accept", {})
        return None

    def link(self) -> Any:
        if len(self.ids) < 2:
            return None
        src, dst = self.random.sample(self.ids, 2)
        answer = self.post("/links", {"src": src, "dst": dst, "type": "depends_on"})
        if answer.status_code == 201:
            self.links.append(answer.json()["id"])
        return answer

    def unlink(self) -> Any:
        if not self.links:
            return None
        return self.office.senior.delete(f"/links/{self.random.choice(self.links)}")
