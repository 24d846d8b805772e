"""
B12: is the value that is recalled the current one?

Facts are written one after the other, as an agent would, and many of them later once more with
another value, as in FactConsolidation of MemoryAgentBench: the later one wins. Then each fact is
asked for in a sentence. Counted is how often the first result holds the current value; against it
stands what a search by vectors alone would say first. Once the writer declares what each fact is
about (a component), and once it writes bare sentences.

    python -m bench.current_values [--tokens 6000]
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

AT_LEAST = 0.95  # of the questions
SEED = 12
AGAIN = 0.4  # of the facts are written once more, or oftener
TOKENS_A_FACT = 15
MOST_ASKED = 400
_THINGS = (
    "ledger importer gateway scheduler mailer exporter indexer cache archive portal crawler"
    " notifier broker resolver planner renderer watchdog collector mirror relay"
)
_PLACES = (
    "Lisbon Oslo Vienna Dublin Prague Athens Madrid Warsaw Berlin Zagreb Tallinn Riga Sofia Porto"
    " Geneva Malmo Turin Ghent Lyon Basel"
)
_ASPECTS = {
    "owner": ("The owner of the {thing} is {value}.", "Who is the owner of the {thing}?"),
    "region": ("The {thing} runs in the region {value}.", "In which region does the {thing} run?"),
    "port": ("The {thing} listens on port {value}.", "On which port does the {thing} listen?"),
    "branch": (
        "The {thing} is deployed from the branch {value}.",
        "From which branch is the {thing} deployed?",
    ),
    "provider": ("The {thing} is hosted by {value}.", "Who hosts the {thing}?"),
}


@dataclass(frozen=True)
class Fact:
    """A sentence, what it is about, and the question that it answers."""

    subject: str
    value: str
    sentence: str
    question: str


def facts(tokens: int) -> list[Fact]:
    """Return so many tokens' worth of facts in the order of writing; later ones win."""
    chance = random.Random(SEED)
    wanted = max(20, tokens // TOKENS_A_FACT)
    distinct = max(10, round(wanted / (1 + AGAIN)))
    about = [_about(number) for number in range(distinct)]
    order = [*about, *chance.choices(about, k=wanted - distinct)]
    # First each once, then some of them again, as the world moves on.
    return [_fact(thing, aspect, chance) for thing, aspect in order]


def _about(number: int) -> tuple[str, str]:
    things, places, aspects = _THINGS.split(), _PLACES.split(), list(_ASPECTS)
    rest, aspect = divmod(number, len(aspects))
    rest, thing = divmod(rest, len(things))
    rest, place = divmod(rest, len(places))
    name = f"{places[place]} {things[thing]}" + (f" {rest + 1}" if rest else "")
    return name, aspects[aspect]


def _fact(thing: str, aspect: str, chance: random.Random) -> Fact:
    value = f"{chance.choice('bcdfgklmnprst')}{chance.choice('aeiou')}{chance.randrange(100, 999)}"
    if aspect == "port":
        value = str(chance.randrange(2000, 60_000))
    sentence, question = _ASPECTS[aspect]
    subject = f"{thing.lower().replace(' ', '_')}.{aspect}"
    said = sentence.format(thing=thing, value=value)
    return Fact(subject, value, said, question.format(thing=thing))


def measure(tokens: int) -> dict[str, Any]:
    """Return the measurement, taken in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.current_values", "--tokens", str(tokens)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def recalled(tokens: int) -> dict[str, Any]:
    """Write the facts, ask for each, and return what the results say of it."""
    from bench.instance import Client, started  # noqa: PLC0415

    told = facts(tokens)
    current = {fact.subject: fact for fact in told}
    asked = random.Random(SEED).sample(sorted(current), min(MOST_ASKED, len(current)))
    found = {}
    with started() as instance:
        for name, declared in (("declared", True), ("bare", False)):
            client = Client(instance.base_url, _token_in_a_tenant_of_its_own(name))
            for fact in told:
                client.post("/memories", _written(fact, declared=declared))
            found[name] = _share_right(client, [current[one] for one in asked])
        nearest = _nearest_alone(told, [current[one] for one in asked])
    return {
        "unit": "share of questions whose first result is current",
        "value": found["declared"],
        "against": nearest,
        "ratio": found["declared"],
        "target": AT_LEAST,
        "met": found["declared"] >= AT_LEAST,
        "sizes": {"tokens": tokens, "facts": len(told), "questions": len(asked)},
        "bare_sentences": found["bare"],
    }


def _token_in_a_tenant_of_its_own(name: str) -> str:
    from tenants.founding import (  # noqa: PLC0415  needs Django
        found_agent,
        found_project,
        found_tenant,
        give_token,
        grant,
        seat,
    )

    tenant = found_tenant(name, name)
    project = found_project(tenant, "measured", "Measured")
    member = seat(tenant, name, name, level=30)
    grant(member, project, ("see_project", "write_project"))
    return give_token(found_agent(project, "agent", member, level=30), "measured")[1]


def _written(fact: Fact, *, declared: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"content": fact.sentence, "project": "measured"}
    if declared:
        body["components"] = [{"subject": fact.subject, "value": fact.value}]
    return body


def _share_right(client: Any, wanted: Sequence[Fact]) -> float:
    right = 0
    for fact in wanted:
        asked = {"query": fact.question, "project": "measured", "k": 1}
        results = client.post("/recall", asked)["results"]
        right += bool(results) and results[0]["content"] == fact.sentence
    return round(right / len(wanted), 4)


def _nearest_alone(told: Sequence[Fact], wanted: Sequence[Fact]) -> float:
    """Return what the nearest vector alone would say, of all that was ever written."""
    import numpy as np  # noqa: PLC0415

    from memory.finding.embedding import embed  # noqa: PLC0415  needs Django

    vectors = np.array([embed(fact.sentence) for fact in told])
    right = 0
    for fact in wanted:
        best = int(np.argmax(vectors @ np.array(embed(fact.question))))
        right += told[best].sentence == fact.sentence
    return round(right / len(wanted), 4)


if __name__ == "__main__":
    _parser = argparse.ArgumentParser(prog="python -m bench.current_values")
    _parser.add_argument("--tokens", type=int, default=6_000)
    print(json.dumps(recalled(_parser.parse_args().tokens)))
