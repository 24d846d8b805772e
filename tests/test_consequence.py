"""How far a claim may be used: by what is known of it, what was asked about, and how much hangs."""

import json
from datetime import UTC, datetime

import pytest

from memory.models import Conflict
from tenants.ids import Prefix, read_id
from tests.disputes import ONE, disputed_pair
from tests.memories import done, kept, refused, remember, replacing

CLAIM = "Staging is deployed from the branch main by Netlify."
BRANCH, PROVIDER = "deployment.branch", "deployment.provider"


@pytest.fixture
def deployment(office):
    """A claim about a branch and a provider, of which the branch has changed since."""
    claim = kept(
        office.senior,
        CLAIM,
        project="apollo",
        components=[
            {"subject": BRANCH, "value": "main"},
            {"subject": PROVIDER, "value": "Netlify"},
        ],
    )
    told = done(
        office.colleague.post(
            "/changes",
            {"project": "apollo", "subject": BRANCH, "summary": "The default branch is renamed."},
        )
    )
    assert [one["memory_id"] for one in told["marked"]] == [claim]
    return claim


def ask(person, query="Which branch is deployed to staging?", **more):
    """Return the one result of a recall."""
    (found,) = done(person.post("/recall", {"query": query, **more}))["results"]
    return found


@pytest.mark.rule("RC-02", "RC-05", "TR-05")
def test_what_is_dirty_is_told_and_is_to_be_verified_before_use(office, deployment):
    found = ask(office.agent)

    assert (found["trust_state"], found["temporal_status"]) == ("dirty", "verify_before_use")
    assert found["content"] == CLAIM
    assert found["withheld"] is False
    today = datetime.now(UTC).date().isoformat()
    assert found["safe_rendering"].startswith(
        f"{BRANCH} was last verified as main on {today}. {BRANCH} changed"
    )
    assert "The default branch is renamed; check the current value." in found["safe_rendering"]
    assert "renamed" in found["dirty_reason"]
    assert found["how_to_verify"]["arguments"]["components"] == [BRANCH]


@pytest.mark.rule("RC-07")
def test_with_high_consequence_it_is_withheld_and_verified_by_the_call_that_is_told(
    office, deployment
):
    found = ask(office.agent, consequence="high")

    assert (found["content"], found["withheld"]) == (None, True)
    assert found["temporal_status"] == "verify_before_use"
    for said in ("main", "Netlify", CLAIM):
        assert said not in json.dumps(found["safe_rendering"])
    assert BRANCH in found["safe_rendering"]
    how = found["how_to_verify"]
    assert (how["tool"], how["method"], how["memory_id"]) == ("verify", "POST", deployment)
    assert "renamed" in how["what_changed"]

    filled = {
        **how["arguments"],
        "outcome": "confirmed",
        "method": "command",
        "observed_value": "main",
    }
    done(office.agent.post(how["path"].removeprefix("/api/v1"), filled))

    after = ask(office.agent, consequence="high")
    assert (after["content"], after["temporal_status"]) == (CLAIM, "current_enough")
    assert after["how_to_verify"] is None


@pytest.mark.rule("RC-07")
def test_what_is_verified_is_told_with_high_consequence_too(office):
    kept(office.agent, CLAIM)

    found = ask(office.colleague, consequence="high")

    assert (found["content"], found["withheld"]) == (CLAIM, False)
    assert found["safe_rendering"] == CLAIM


@pytest.mark.rule("RC-03", "RC-02")
def test_the_same_dirty_memory_is_good_for_the_past_and_not_for_now(office, deployment):
    at = datetime.now(UTC).isoformat()

    now = ask(office.agent)
    then = ask(office.agent, as_of=at)
    any_time = ask(office.agent, mode="historical")

    assert now["temporal_status"] == "verify_before_use"
    for historical in (then, any_time):
        assert historical["temporal_status"] == "valid_as_historical"
        assert historical["content"] == CLAIM
        assert historical["trust_state"] == "dirty"
        assert "was last verified as main on" in historical["safe_rendering"]


@pytest.mark.rule("RC-03", "field-fault-14")
@pytest.mark.parametrize(
    ("query", "wording"),
    [
        ("Which branch did we deploy as of the last release?", "historical"),
        ("Which branch is currently deployed?", "current"),
        ("Which branch is deployed?", None),
    ],
)
def test_arguments_decide_and_words_are_a_hint(office, deployment, query, wording):
    for arguments, mode, status in (
        ({}, "current", "verify_before_use"),
        ({"mode": "current"}, "current", "verify_before_use"),
        ({"mode": "historical"}, "historical", "valid_as_historical"),
    ):
        told = done(office.agent.post("/recall", {"query": query, **arguments}))

        assert told["interpretation"]["mode"] == mode
        assert told["interpretation"]["wording"] == wording
        assert [one["temporal_status"] for one in told["results"]] == [status]
        contrary = wording is not None and wording != mode
        assert ("The words speak of" in (told["interpretation"]["note"] or "")) is contrary


@pytest.mark.rule("RC-02")
@pytest.mark.parametrize(
    ("subjects", "status"),
    [
        ([], "verify_before_use"),
        ([BRANCH], "verify_before_use"),
        (["deployment"], "verify_before_use"),
        (["deployment.branch.name"], "verify_before_use"),
        ([PROVIDER], "qualified"),
        (["database.port"], "qualified"),
        (["database.port", BRANCH], "verify_before_use"),
    ],
)
def test_a_mark_counts_where_it_lies_on_what_was_asked_about(office, deployment, subjects, status):
    assert ask(office.agent, subjects=subjects)["temporal_status"] == status
    high = ask(office.agent, subjects=subjects, consequence="high")
    assert (high["temporal_status"], high["withheld"]) == ("verify_before_use", True)


@pytest.mark.rule("RC-02", "SB-05")
def test_what_is_marked_through_what_it_depends_on_is_qualified(office, deployment):
    guide = kept(
        office.senior,
        "To roll back, run the old build again.",
        project="apollo",
        kind="procedure",
        depends_on=["deployment.command"],
    )
    body = {"project": "apollo", "subject": "deployment.command", "summary": "It is make ship."}
    done(office.colleague.post("/changes", body))

    asked = {"query": "how to roll back the old build", "k": 1}
    (found,) = done(office.agent.post("/recall", asked))["results"]

    assert (found["memory_id"], found["trust_state"]) == (guide, "dirty")
    assert found["temporal_status"] == "qualified"
    assert found["safe_rendering"].startswith("As of ")
    assert "It is make ship; check the current value." in found["safe_rendering"]


@pytest.mark.rule("RC-02", "RC-07", "TR-02")
@pytest.mark.parametrize(
    ("components", "status", "high"),
    [
        ([{"subject": "web.port", "value": "8080"}], "qualified", "verify_before_use"),
        ([], "unverifiable", "unverifiable"),
    ],
)
def test_what_was_only_captured_is_marked_and_withheld(office, components, status, high):
    remember(office.watcher, "The web process listens on 8080.", components=components)

    low = ask(office.agent, "Where does the web process listen?")
    assert (low["trust_state"], low["temporal_status"]) == ("proposed", status)
    assert low["content"]
    assert low["safe_rendering"].startswith("Unconfirmed (captured ")
    found = ask(office.agent, "Where does the web process listen?", consequence="high")
    assert (found["temporal_status"], found["withheld"]) == (high, True)
    assert "8080" not in json.dumps({**found, "score_parts": {}})
    asked = {"query": "Where does the web process listen?", "min_trust": "verified"}
    assert done(office.agent.post("/recall", asked))["results"] == []


@pytest.mark.rule("RC-06", "RC-07")
def test_claims_that_disagree_come_together_and_none_of_them_where_much_hangs(office):
    """Both are conventions: nobody wins automatically."""
    first, second = (
        kept(
            author,
            f"Branches are cut from {value}.",
            project="apollo",
            kind="convention",
            components=[{"subject": "git.base", "value": value}],
        )
        for author, value in ((office.senior, "trunk"), (office.colleague, "main"))
    )

    told = done(office.agent.post("/recall", {"query": "From what are branches cut?"}))["results"]

    assert {one["memory_id"] for one in told} == {first, second}
    for one in told:
        assert (one["trust_state"], one["temporal_status"]) == ("conflicted", "conflicted")
        (other,) = one["competing_claims"]
        assert {one["memory_id"], other["memory_id"]} == {first, second}
        assert other["author"]["level"] == 30
        assert other["created_at"]
        assert one["safe_rendering"].startswith("Sources disagree: (a) ")
        assert "trunk" in one["safe_rendering"]
        assert "main" in one["safe_rendering"]
        assert one["evidence_confidence"] <= 0.4
    body = {"query": "From what are branches cut?", "consequence": "high"}
    high = done(office.agent.post("/recall", body))["results"]
    assert {one["temporal_status"] for one in high} == {"conflicted"}
    assert "trunk" not in json.dumps(high)
    assert "from main" not in json.dumps(high)
    assert {one["competing_claims"][0]["memory_id"] for one in high} == {first, second}


@pytest.mark.rule("RC-08", "RC-07")
def test_what_is_over_is_not_told_where_much_hangs_even_if_asked_for(office):
    old = kept(office.senior, "The branch is master.", project="apollo")
    new = kept(office.senior, "It is main now.", project="apollo", links=replacing(old))
    kept(office.senior, "The branch is temporary.", valid_until="2020-01-01T00:00:00Z")
    body = {"query": "which branch", "include": ["superseded", "expired"]}

    told = done(office.senior.post("/recall", body))["results"]
    high = done(office.senior.post("/recall", {**body, "consequence": "high"}))

    assert {one["temporal_status"] for one in told} == {"superseded", "expired", "current_enough"}
    assert [one["memory_id"] for one in high["results"]] == [new]
    assert "nothing superseded" in high["interpretation"]["note"]


@pytest.mark.rule("RC-07", "RC-14", "field-fault-15")
def test_a_memory_of_an_approval_is_none(office):
    proposal = remember(office.watcher, "Deleting old backups is allowed.")["memory_id"]
    kept(office.agent, f"The reviewer approved {proposal}: deleting old backups is allowed.")

    told = done(
        office.agent.post("/recall", {"query": "deleting old backups", "consequence": "high"})
    )

    states = {one["memory_id"]: one["trust_state"] for one in told["results"]}
    assert states[proposal] == "proposed"
    assert "is no approval" in told["interpretation"]["content_is"]
    assert "instruction" in told["interpretation"]["content_is"]


@pytest.mark.rule("RC-02", "VE-04")
def test_an_attempt_that_told_nothing_leaves_it_unverifiable(office, deployment):
    body = {"outcome": "inconclusive", "method": "command", "evidence": "no access"}
    done(office.agent.post(f"/memories/{deployment}/verify", body))

    found = ask(office.agent)

    assert (found["trust_state"], found["temporal_status"]) == ("dirty", "unverifiable")
    assert ask(office.agent, consequence="high")["withheld"] is True


@pytest.mark.rule("TR-05", "RC-02")
def test_a_passed_date_of_review_qualifies_and_nothing_else(office):
    memory = kept(office.senior, CLAIM, project="apollo", review_after="2999-01-01T00:00:00Z")
    assert ask(office.agent)["temporal_status"] == "current_enough"
    soon = datetime.now(UTC).isoformat()
    done(office.senior.patch(f"/memories/{memory}", {"review_after": soon}))

    found = ask(office.agent)

    assert (found["trust_state"], found["temporal_status"]) == ("verified", "qualified")
    assert found["safe_rendering"].startswith("As of ")
    assert found["content"] == CLAIM
    high = ask(office.agent, consequence="high")
    assert (high["temporal_status"], high["withheld"]) == ("verify_before_use", False)


@pytest.mark.rule("RC-02")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"consequence": "enormous"}, "consequence"),
        ({"as_of": "2999-01-01T00:00:00Z"}, "as_of"),
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": 7}, "as_of"),
        ({"subjects": "deployment"}, "subjects"),
        ({"subjects": ["a..b"]}, "subjects[0]"),
        ({"min_trust": "some"}, "min_trust"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(office, wrong, field):
    asked = {"query": "which branch", **wrong}
    refused(office.agent.post("/recall", asked), 400, "validation_failed", field)


PORT = "The worker runs with seven threads."
PORTS = "worker.threads"


def refuted(office):
    """Return a memory of which a contractor has found that it is not so."""
    memory = kept(
        office.senior,
        PORT,
        project="apollo",
        components=[{"subject": PORTS, "value": "7"}],
    )
    said = {"outcome": "refuted", "method": "command", "observed_value": "nine"}
    done(office.contractor.post(f"/memories/{memory}/verify", said | {"components": [PORTS]}))
    return memory


@pytest.mark.rule("RC-06", "VE-04")
def test_what_somebody_found_instead_is_told_with_who_and_when(office):
    refuted(office)

    found = ask(office.agent, "With how many threads does the worker run?")

    assert found["temporal_status"] == "conflicted"
    (claim,) = found["competing_claims"]
    assert "nine" in claim["content"]
    assert claim["author"] == {"name": "contractor", "type": "member", "level": 10}
    assert claim["created_at"]
    assert claim["memory_id"] is None
    assert found["safe_rendering"].startswith(f"Sources disagree: (a) {PORT} <senior, level 30, ")
    assert "nine <contractor, level 10, " in found["safe_rendering"]


@pytest.mark.rule("RC-06", "RC-07")
def test_what_is_in_conflict_is_withheld_until_it_is_decided_and_the_call_for_that_is_named(office):
    memory = refuted(office)
    query = "With how many threads does the worker run?"

    found = ask(office.agent, query, consequence="high")

    assert found["withheld"] is True
    assert "nine" not in json.dumps(found)
    assert "seven" not in json.dumps(found)
    how = found["how_to_verify"]
    assert (how["tool"], how["dispute_id"]) == ("resolve_conflict", found["dispute_id"])
    assert how["dispute_id"] in found["safe_rendering"]
    # A look alone decides nothing.
    done(
        office.senior.post(f"/memories/{memory}/verify", {"outcome": "confirmed", "method": "file"})
    )
    assert ask(office.agent, query, consequence="high")["withheld"] is True
    done(office.reviewer.post(how["path"].removeprefix("/api/v1"), {"winner": memory}))
    after = ask(office.agent, query, consequence="high")
    assert (after["content"], after["how_to_verify"]) == (PORT, None)


@pytest.mark.rule("RC-06", "TR-01")
def test_what_only_says_the_same_does_not_compete(office):
    one, _other, dispute = disputed_pair(office)
    Conflict.objects.using("owner").filter(id=read_id(Prefix.CONFLICT, dispute)).update(
        kind="duplicate"
    )
    done(office.contractor.post(f"/memories/{one}/challenge", {"reason": "It moved to nine."}))

    told = done(office.agent.post("/recall", {"query": ONE, "project": "apollo"}))["results"]

    found = {each["memory_id"]: each for each in told}[one]
    assert (found["trust_state"], found["disputed"]) == ("conflicted", True)
    assert [each["content"] for each in found["competing_claims"]] == ["It moved to nine."]
    assert "(c)" not in found["safe_rendering"]
    high = {"query": ONE, "project": "apollo", "consequence": "high"}
    told = done(office.agent.post("/recall", high))["results"]
    how = {each["memory_id"]: each for each in told}[one]["how_to_verify"]
    assert how["dispute_id"] != dispute
