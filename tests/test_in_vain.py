"""A look that told nothing counts where it looked: what is left to look at can be verified."""

import pytest

from tests.dirty import reported, verified
from tests.memories import done, kept

pytestmark = pytest.mark.rule("RC-02", "VE-02", "VE-04")

BRANCH, HOST = "deploy.branch", "deploy.host"


def in_vain(person, memory, *components):
    """Look at components of a memory, or at all of it, without being able to tell."""
    more = {"components": list(components)} if components else {}
    verified(person, memory, "inconclusive", method="command", evidence="no access", **more)


def status(person, *subjects):
    """Return how the one memory may be used, for a question about these subjects."""
    body = {"query": "deployment", "subjects": list(subjects)}
    (found,) = done(person.post("/recall", body))["results"]
    return found["temporal_status"]


@pytest.fixture
def deployment(office):
    """A memory of two components, both of which have changed."""
    memory = both(office.senior)
    for subject in (BRANCH, HOST):
        reported(office.colleague, subject)
    return memory


def both(person):
    return kept(
        person,
        "The deployment is from main to web1.",
        project="apollo",
        components=[{"subject": BRANCH, "value": "main"}, {"subject": HOST, "value": "web1"}],
    )


def test_one_that_nobody_looked_at_can_be_verified(office, deployment):
    in_vain(office.colleague, deployment, BRANCH)

    assert status(office.agent, BRANCH) == "unverifiable"
    assert status(office.agent, HOST) == "verify_before_use"
    # Of the whole, something is left to look at.
    assert status(office.agent) == "verify_before_use"


def test_looks_at_all_of_them_are_a_look_at_the_whole(office, deployment):
    for subject in (BRANCH, HOST):
        in_vain(office.colleague, deployment, subject)

    assert status(office.agent) == "unverifiable"


def test_a_look_at_the_whole_counts_for_each(office, deployment):
    in_vain(office.colleague, deployment)

    for asked in ((), (BRANCH,), (HOST,)):
        assert status(office.agent, *asked) == "unverifiable"
    reported(office.colleague, HOST, "it moved again")
    assert status(office.agent, HOST) == "verify_before_use"
    assert status(office.agent, BRANCH) == "unverifiable"


def test_who_could_tell_of_another_says_nothing_of_this_one(office, deployment):
    in_vain(office.colleague, deployment, BRANCH)
    verified(
        office.senior,
        deployment,
        method="command",
        components=[HOST],
        observed_value="web1",
        evidence="ssh",
    )

    assert status(office.agent) == status(office.agent, BRANCH) == "unverifiable"
    # There it is clean: dirty only by its other component.
    assert status(office.agent, HOST) == "qualified"


def test_of_a_capture_what_nobody_has_looked_at_is_left(office):
    memory = both(office.watcher)

    in_vain(office.colleague, memory, BRANCH)
    assert status(office.senior) == status(office.senior, HOST) == "qualified"
    assert status(office.senior, BRANCH) == "unverifiable"

    in_vain(office.colleague, memory, HOST)
    assert status(office.senior) == "unverifiable"


def test_a_doubt_about_the_whole_is_settled_by_nothing_less(office):
    base = kept(office.senior, "The port is 80.", project="apollo", subjects=["service.port"])
    memory = kept(
        office.senior,
        "The deployment is from main to web1.",
        project="apollo",
        depends_on=[base],
        components=[{"subject": BRANCH, "value": "main"}, {"subject": HOST, "value": "web1"}],
    )
    reported(office.colleague, "service.port")
    in_vain(office.colleague, memory, BRANCH)
    body = {"query": "deployment"}

    def told():
        found = done(office.agent.post("/recall", body))["results"]
        return next(one["temporal_status"] for one in found if one["memory_id"] == memory)

    assert told() == "qualified"
    in_vain(office.colleague, memory, HOST)
    assert told() == "unverifiable"
