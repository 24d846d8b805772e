"""Verification: what it records, what it clears, and what follows when it does not hold."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Component, Verification
from tenants.caller import Scope
from tests.dirty import at, reported, states, trust, verified
from tests.memories import done, kept, refused, replacing, row, seen
from tests.people import Office

FOUR = ["app.a", "app.b", "app.c", "app.d"]


def four(office: Office) -> str:
    return kept(
        office.senior,
        "Four parts.",
        project="apollo",
        components=[{"subject": one, "value": f"value {one}"} for one in FOUR],
    )


def times(office: Office, memory_id: str) -> dict[str, str]:
    return {
        one["subject"]: one["verified_at"] for one in seen(office.senior, memory_id)["components"]
    }


def dirty(office: Office, memory_id: str) -> set[str]:
    components = seen(office.senior, memory_id)["components"]
    return {one["subject"] for one in components if one["dirty"]}


def pending(office: Office) -> list[dict[str, object]]:
    return list(done(office.reviewer.get("/conflicts"))["results"])


@pytest.mark.rule("VE-01")
def test_a_verification_records_who_looked_how_and_what_they_found(office):
    memory = states(office.senior, "deployment.branch", "main")
    looked_at = timezone.now()

    told = verified(
        office.colleague,
        memory,
        method="command",
        components=["deployment.branch"],
        observed_value="main",
        observed_at=at(looked_at),
        evidence="git symbolic-ref HEAD",
    )

    one = told["memory"]["verifications"][-1]
    assert one["id"].startswith("ver_")
    assert one["outcome"] == "confirmed"
    assert one["method"] == "command"
    assert one["observed_value"] == "main"
    assert one["evidence"] == "git symbolic-ref HEAD"
    assert one["observed_at"][:19] == looked_at.isoformat()[:19]
    assert one["by"]["name"] == "colleague"
    assert one["independent"]
    assert told["memory"]["last_verified_at"] == one["observed_at"]
    assert "conflict" not in told


@pytest.mark.rule("VE-01", "TR-02")
def test_what_is_written_deliberately_its_author_vouches_for(office):
    (one,) = seen(office.senior, states(office.senior, "a.b", "x"))["verifications"]

    assert (one["method"], one["outcome"], one["independent"]) == ("self", "confirmed", False)
    assert one["by"]["name"] == "senior"


@pytest.mark.rule("VE-02")
def test_confirming_one_component_of_four_refreshes_that_one_alone(office):
    memory = four(office)
    reported(office.colleague, "app", whole_tree=True)
    before = times(office, memory)

    told = verified(office.senior, memory, components=["app.b"])

    after = times(office, memory)
    assert after["app.b"] > before["app.b"]
    assert {one: after[one] for one in FOUR if one != "app.b"} == {
        one: before[one] for one in FOUR if one != "app.b"
    }
    assert [one["component"] for one in told["cleared"]] == ["app.b"]
    assert dirty(office, memory) == {"app.a", "app.c", "app.d"}
    assert told["memory"]["trust_state"] == "dirty"
    assert told["memory"]["last_verified_at"] == before["app.a"]


@pytest.mark.rule("VE-02")
def test_confirming_the_last_component_makes_it_clean(office):
    memory = four(office)
    reported(office.colleague, "app", whole_tree=True)

    for one in FOUR:
        assert trust(office.senior, memory) == "dirty"
        verified(office.senior, memory, components=[one])

    assert trust(office.senior, memory) == "verified"
    assert seen(office.senior, memory)["last_verified_at"] == min(times(office, memory).values())


@pytest.mark.rule("VE-02")
def test_without_components_all_are_meant(office):
    memory = four(office)
    reported(office.colleague, "app", whole_tree=True)

    told = verified(office.senior, memory)

    assert len(told["cleared"]) == 4
    assert told["memory"]["trust_state"] == "verified"
    assert len(set(times(office, memory).values())) == 1


@pytest.mark.rule("VE-02")
def test_components_one_by_one_clear_what_lies_on_the_whole(office):
    base = states(office.senior, "service.port", "80")
    memory = kept(
        office.senior,
        "Two parts.",
        project="apollo",
        depends_on=[base],
        components=[{"subject": "app.a", "value": "1"}, {"subject": "app.b", "value": "2"}],
    )
    reported(office.senior, "service.port")

    verified(office.senior, memory, components=["app.a"])
    assert trust(office.senior, memory) == "dirty"
    verified(office.senior, memory, components=["app.b"])
    assert trust(office.senior, memory) == "verified"


@pytest.mark.rule("VE-03")
def test_what_was_observed_before_the_change_does_not_clear_it(office):
    memory = states(office.senior, "deployment.branch", "main")
    before = timezone.now()
    reported(office.colleague, "deployment.branch")

    told = verified(office.senior, memory, observed_at=at(before))

    assert told["cleared"] == []
    assert trust(office.senior, memory) == "dirty"
    assert len(verified(office.senior, memory)["cleared"]) == 1
    assert trust(office.senior, memory) == "verified"


@pytest.mark.rule("VE-03")
def test_only_the_marks_of_what_moved_before_are_cleared(office):
    memory = states(office.senior, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch", "first")
    between = timezone.now()
    reported(office.colleague, "deployment.branch", "second")

    (cleared,) = verified(office.senior, memory, observed_at=at(between))["cleared"]

    assert cleared["change"]["summary"] == "first"
    assert cleared["cleared_at"] is not None
    (left,) = seen(office.senior, memory)["marks"]
    assert left["change"]["summary"] == "second"


@pytest.mark.rule("VE-04")
def test_refuted_clears_nothing_and_opens_a_dispute(office):
    memory = states(office.senior, "deployment.branch", "main", kind="decision")
    reported(office.colleague, "deployment.branch")

    told = verified(
        office.colleague,
        memory,
        "refuted",
        method="command",
        components=["deployment.branch"],
        observed_value="trunk",
        evidence="git says so",
    )

    assert told["cleared"] == []
    assert told["conflict"]["state"] == "pending"
    assert told["conflict"]["kind"] == "challenged"
    assert told["conflict"]["memory_a"] == memory
    assert "trunk" in told["conflict"]["reason"]
    assert told["memory"]["trust_state"] == "conflicted"
    assert told["memory"]["lifecycle"] == "live"
    assert len(told["memory"]["marks"]) == 1
    assert len(pending(office)) == 1


@pytest.mark.rule("VE-04", "DI-02")
def test_refuted_again_is_the_same_dispute(office):
    memory = states(office.senior, "deployment.branch", "main")

    first = verified(office.colleague, memory, "refuted", method="command")
    second = verified(office.senior, memory, "refuted", method="file")

    assert first["conflict"]["id"] == second["conflict"]["id"]


@pytest.mark.rule("VE-04", "DI-07")
def test_a_recheck_from_outside_that_refutes_opens_a_suspicion(office):
    memory = states(office.senior, "deployment.branch", "main")

    told = verified(
        office.agent, memory, "refuted", method="external_recheck", observed_value="trunk"
    )

    assert told["conflict"]["kind"] == "stale_suspect"
    assert told["memory"]["trust_state"] == "dirty"
    assert told["memory"]["dirty_reason"] is not None


@pytest.mark.rule("VE-04")
def test_inconclusive_is_recorded_and_the_state_is_kept(office):
    clean = states(office.senior, "deployment.branch", "main")
    moved = states(office.senior, "service.port", "80")
    reported(office.colleague, "service.port")

    for memory, state in ((clean, "verified"), (moved, "dirty")):
        before = seen(office.senior, memory)
        told = verified(office.colleague, memory, "inconclusive", method="api", evidence="timeout")
        assert told["cleared"] == []
        assert "conflict" not in told
        assert told["memory"]["trust_state"] == state
        assert told["memory"]["evidence_confidence"] == before["evidence_confidence"]
        assert told["memory"]["last_verified_at"] == before["last_verified_at"]
        assert told["memory"]["verifications"][-1]["outcome"] == "inconclusive"


@pytest.mark.rule("VE-01", "field-fault-13")
def test_of_several_values_each_is_seen_by_itself_and_another_is_refused(office):
    memory = kept(
        office.senior,
        "Served from two regions.",
        project="apollo",
        components=[{"subject": "app.region", "value": one, "multi": True} for one in ("eu", "us")],
    )

    body = {"outcome": "confirmed", "method": "api", "observed_value": "ap"}
    answer = office.colleague.post(f"/memories/{memory}/verify", body)
    problem = refused(answer, 400, "validation_failed", "observed_value")
    assert "'eu', 'us'" in problem["detail"]
    told = verified(office.colleague, memory, method="api", observed_value="us")
    assert "conflict" not in told
    assert told["memory"]["trust_state"] == "verified"


@pytest.mark.rule("VE-02")
def test_of_two_values_the_one_that_was_seen_is_clean(office):
    memory = kept(
        office.senior,
        "Served from two regions.",
        project="apollo",
        components=[{"subject": "app.region", "value": one, "multi": True} for one in ("eu", "us")],
    )
    before = times(office, memory)
    reported(office.colleague, "app.region")

    told = verified(office.senior, memory, method="api", observed_value="EU")

    assert len(told["cleared"]) == 1
    assert {one["value"]: one["dirty"] for one in told["memory"]["components"]} == {
        "eu": False,
        "us": True,
    }
    assert times(office, memory) == before
    verified(office.senior, memory, method="api", observed_value="us")
    assert trust(office.senior, memory) == "verified"
    assert times(office, memory)["app.region"] > before["app.region"]


@pytest.mark.rule("VE-02", "TR-02")
def test_what_is_stated_later_was_not_looked_at_before(office):
    text = {"content": "Two parts.", "project": "apollo"}
    first = [{"subject": "app.a", "value": "1"}]
    memory = done(office.senior.post("/memories", text | {"components": first}))["memory_id"]
    looked = verified(office.colleague, memory)["memory"]["last_verified_at"]

    later = [*first, {"subject": "app.b", "value": "2"}]
    assert done(office.senior.post("/memories", text | {"components": later}))["absorbed"]

    found = times(office, memory)
    assert found["app.a"] == looked == seen(office.senior, memory)["last_verified_at"]
    # By its author, who has just stated it.
    assert found["app.b"] > looked
    (_, one) = seen(office.senior, memory)["verifications"]
    assert one["components"] == ["app.a"]


@pytest.mark.rule("VE-02", "TR-06")
@pytest.mark.parametrize("first", [[], [{"subject": "app.a", "value": "1"}]])
def test_of_a_capture_what_is_stated_later_is_not_vouched_for_by_an_earlier_look(office, first):
    text = {"content": "Captured."}
    memory = done(office.watcher.post("/memories", text | {"components": first}))["memory_id"]
    assert verified(office.colleague, memory)["memory"]["trust_state"] == "verified"

    later = [*first, {"subject": "app.b", "value": "2"}]
    assert done(office.watcher.post("/memories", text | {"components": later}))["absorbed"]

    assert len(times(office, memory)) == len(later)
    assert times(office, memory)["app.b"] is None
    assert trust(office.senior, memory) == "proposed"
    listed = done(office.senior.get("/memories", {"trust_state": "proposed"}))["results"]
    assert [one["id"] for one in listed] == [memory]


@pytest.mark.rule("VE-01", "RC-05")
def test_the_value_that_was_seen_of_the_only_component_is_told(office):
    memory = states(office.senior, "app.port", content="The port of the app is configured.")
    verified(office.colleague, memory, method="command", observed_value="8080")
    reported(office.senior, "app.port")

    (found,) = done(office.senior.post("/recall", {"query": "port of the app"}))["results"]

    assert found["safe_rendering"].startswith("app.port was last verified as 8080 on ")


@pytest.mark.rule("RC-02", "VE-04")
@pytest.mark.parametrize(
    ("before", "status"), [(True, "verify_before_use"), (False, "unverifiable")]
)
def test_who_could_not_tell_before_it_moved_says_nothing_of_now(office, before, status):
    memory = states(office.senior, "app.port", "80", content="The port of the app is 80.")
    deeds = [
        lambda: verified(office.colleague, memory, "inconclusive", method="api"),
        lambda: reported(office.senior, "app.port"),
    ]
    for deed in deeds if before else reversed(deeds):
        deed()

    (found,) = done(office.senior.post("/recall", {"query": "port of the app"}))["results"]

    assert found["temporal_status"] == status


@pytest.mark.rule("TR-06")
def test_no_bare_word_of_its_own_side_lifts_a_capture(office):
    proposal = kept(
        office.watcher, "Captured.", components=[{"subject": "deployment.branch", "value": "main"}]
    )
    refused(office.senior.post(f"/memories/{proposal}/accept", {"reason": "y"}), 403, "forbidden")

    assert verified(office.senior, proposal)["memory"]["trust_state"] == "proposed"
    listed = done(office.senior.get("/memories", {"trust_state": "verified"}))["results"]
    assert listed == []
    found = done(office.senior.post("/recall", {"query": "Captured.", "consequence": "high"}))[
        "results"
    ]
    assert [one["withheld"] for one in found] == [True]

    # What they saw counts, as it does from anybody.
    told = verified(office.senior, proposal, method="command", observed_value="main")
    assert told["memory"]["trust_state"] == "verified"


@pytest.mark.rule("VE-05")
def test_a_dependency_verified_unchanged_clears_what_came_through_it(office):
    base = states(office.senior, "service.port", "80")
    middle = kept(office.senior, "Middle.", project="apollo", depends_on=[base])
    far = kept(office.senior, "Far.", project="apollo", depends_on=[middle])
    reported(office.colleague, "service.port")

    told = verified(office.senior, base)

    assert {one["memory_id"] for one in told["cleared"]} == {base, middle, far}
    for one in (base, middle, far):
        assert trust(office.senior, one) == "verified"


@pytest.mark.rule("VE-05")
def test_a_dependency_verified_changed_clears_nothing(office):
    base = states(office.senior, "service.port", "80")
    middle = kept(office.senior, "Middle.", project="apollo", depends_on=[base])
    reported(office.colleague, "service.port")

    verified(office.senior, base, "refuted", method="command", observed_value="81")

    assert trust(office.senior, middle) == "dirty"


@pytest.mark.rule("VE-05")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_came_by_two_ways_stays_until_both_are_verified(office, order):
    both = [states(office.senior, f"service.port{number}", "80") for number in range(2)]
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=both)
    reported(office.colleague, "service", whole_tree=True)

    verified(office.senior, both[order[0]])
    assert trust(office.senior, relying) == "dirty"
    verified(office.senior, both[order[1]])
    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("VE-05")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_diamond_is_clean_once_both_its_sides_are(office, order):
    base = states(office.senior, "service.port", "80")
    sides = [
        kept(office.senior, f"Side {number}.", project="apollo", depends_on=[base])
        for number in range(2)
    ]
    bottom = kept(office.senior, "Bottom.", project="apollo", depends_on=sides)
    reported(office.colleague, "service.port")

    verified(office.senior, sides[order[0]])
    assert trust(office.senior, bottom) == "dirty"
    verified(office.senior, sides[order[1]])
    assert trust(office.senior, bottom) == "verified"
    assert trust(office.senior, base) == "dirty"


@pytest.mark.rule("VE-05")
def test_a_dependent_that_the_change_hit_itself_stays(office):
    base = states(office.senior, "service.port", "80")
    relying = states(office.senior, "service.port.inner", "8080", depends_on=[base])
    reported(office.colleague, "service.port")

    verified(office.senior, base)
    assert trust(office.senior, relying) == "dirty"
    verified(office.senior, relying, components=["service.port.inner"])
    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("VE-05")
def test_a_dependent_with_a_part_of_its_own_stays_until_what_it_relies_on_is_verified(office):
    base = states(office.senior, "service.port", "80")
    relying = kept(
        office.senior,
        "Relying.",
        project="apollo",
        depends_on=[base],
        components=[{"subject": "service.port.inner", "value": "1"}, {"subject": "app.a"}],
    )
    reported(office.colleague, "service.port")

    verified(office.senior, relying, components=["service.port.inner"])
    assert trust(office.senior, relying) == "dirty"
    verified(office.senior, base)
    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("VE-05")
def test_a_dependent_that_was_verified_itself_is_not_marked_through_what_moved(office):
    base = states(office.senior, "service.port", "80")
    middle = kept(office.senior, "Middle.", project="apollo", depends_on=[base])
    far = kept(office.senior, "Far.", project="apollo", depends_on=[middle])
    before = timezone.now()
    verified(office.senior, middle)

    reported(office.colleague, "service.port", observed_at=at(before))

    assert trust(office.senior, base) == "dirty"
    assert trust(office.senior, middle) == trust(office.senior, far) == "verified"


@pytest.mark.rule("VE-06")
def test_a_bare_word_of_a_lower_level_clears_nothing(office):
    memory = states(office.senior, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch")

    for person in (office.contractor, office.agent2):
        told = verified(person, memory)
        assert told["cleared"] == []
        assert told["memory"]["trust_state"] == "dirty"
        assert told["memory"]["verifications"][-1]["weighs"] is False


@pytest.mark.rule("VE-06")
@pytest.mark.parametrize("who", ["contractor", "agent2"])
def test_evidence_clears_at_any_level(office, who):
    memory = states(office.senior, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch")

    told = verified(
        getattr(office, who), memory, method="command", observed_value="Main", evidence="git"
    )

    assert len(told["cleared"]) == 1
    assert told["memory"]["trust_state"] == "verified"


@pytest.mark.rule("VE-06")
@pytest.mark.parametrize("who", ["senior", "colleague", "agent"])
def test_a_bare_word_of_the_author_or_of_an_equal_level_clears(office, who):
    memory = states(office.senior, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch")

    assert len(verified(getattr(office, who), memory)["cleared"]) == 1


@pytest.mark.rule("VE-06")
def test_the_author_clears_with_a_bare_word_even_below_their_former_level(office):
    memory = states(office.contractor, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch")

    assert len(verified(office.contractor, memory)["cleared"]) == 1


@pytest.mark.rule("VE-06")
def test_a_watchers_bare_word_clears_nothing(office):
    memory = states(office.contractor, "deployment.branch", "main")
    reported(office.colleague, "deployment.branch")

    assert verified(office.watcher, memory)["cleared"] == []


@pytest.mark.rule("TR-08")
def test_verifying_what_was_superseded_opens_a_dispute_and_flips_nothing(office):
    old = states(office.senior, "deployment.branch", "main")
    middle = kept(office.senior, "It is trunk.", project="apollo", links=replacing(old))
    new = kept(office.senior, "It is stable.", project="apollo", links=replacing(middle))

    told = verified(office.colleague, old, method="command", observed_value="main", evidence="git")

    assert told["memory"]["trust_state"] == "superseded"
    assert told["conflict"]["memory_a"] == new
    assert told["conflict"]["state"] == "pending"
    assert old in told["conflict"]["reason"]
    assert seen(office.senior, new)["trust_state"] == "conflicted"
    assert seen(office.senior, new)["lifecycle"] == "live"
    assert row(old).superseded_by_id == row(middle).id


@pytest.mark.rule("TR-08")
def test_refuting_what_was_superseded_opens_nothing(office):
    old = states(office.senior, "deployment.branch", "main")
    new = kept(office.senior, "It is trunk.", project="apollo", links=replacing(old))

    told = verified(office.colleague, old, "refuted", method="command")

    assert "conflict" not in told
    assert trust(office.senior, new) == "verified"


def test_a_proposal_is_verified_by_somebody_else(office):
    proposal = kept(office.watcher, "Captured: branch main.", subjects=["deployment.branch"])

    assert trust(office.colleague, proposal) == "proposed"
    told = verified(office.colleague, proposal, method="command", evidence="git")

    assert told["memory"]["trust_state"] == "verified"


@pytest.mark.rule("TR-06")
@pytest.mark.parametrize("who", ["watcher", "agent"])
def test_no_agent_lifts_what_its_own_side_proposed_by_its_bare_word(office, who):
    proposal = kept(office.watcher, "Captured: branch main.", subjects=["deployment.branch"])

    told = verified(getattr(office, who), proposal)

    assert told["memory"]["trust_state"] == "proposed"


@pytest.mark.rule("TR-06")
def test_a_watcher_never_lifts_its_own_proposal(office):
    proposal = kept(
        office.watcher, "Captured.", components=[{"subject": "deployment.branch", "value": "main"}]
    )

    told = verified(office.watcher, proposal, method="command", observed_value="main")

    assert told["memory"]["trust_state"] == "proposed"


def test_of_a_proposal_all_components_have_to_be_verified(office):
    proposal = kept(
        office.watcher,
        "Captured.",
        components=[{"subject": "app.a", "value": "1"}, {"subject": "app.b", "value": "2"}],
    )

    first = verified(office.colleague, proposal, components=["app.a"])["memory"]
    assert (first["trust_state"], first["last_verified_at"]) == ("proposed", None)
    assert verified(office.colleague, proposal, components=["app.b"])["memory"]["trust_state"] == (
        "verified"
    )


def test_an_expired_memory_stays_expired(office):
    memory = states(
        office.senior,
        "deployment.branch",
        "main",
        valid_until=at(timezone.now() - timedelta(days=1)),
    )

    assert verified(office.senior, memory)["memory"]["trust_state"] == "expired"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"outcome": "maybe"}, "outcome"),
        ({"method": "dream"}, "method"),
        ({"method": None}, "method"),
        ({"components": ["app.z"]}, "components[0]"),
        ({"components": []}, "components"),
        ({"components": "app.a"}, "components"),
        ({"observed_value": "x"}, "observed_value"),
        ({"components": ["app.a", "app.b"], "observed_value": "x"}, "observed_value"),
        ({"components": ["app.a"], "observed_value": "other"}, "observed_value"),
        (
            {"outcome": "refuted", "components": ["app.a"], "observed_value": "Value  app.a"},
            "observed_value",
        ),
        ({"observed_at": "2199-01-01T00:00:00Z"}, "observed_at"),
        ({"evidence": "x" * 2049}, "evidence"),
        ({"level": 50}, "level"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(office, body, field):
    memory = four(office)

    answer = office.senior.post(
        f"/memories/{memory}/verify", {"outcome": "confirmed", "method": "command", **body}
    )

    refused(answer, 400, "validation_failed", field)
    assert Verification.objects.using("owner").filter(tenant=office.tenant).count() == 0


def test_who_may_not_write_around_it_verifies_nothing(office):
    memory = states(office.senior, "deployment.branch", "main")
    private = kept(office.senior, "Mine.", project="apollo", visibility="private")
    onlooker = office.person("onlooker", grants=[(office.apollo, ("see_project",))])
    body = {"outcome": "confirmed", "method": "self"}

    refused(onlooker.post(f"/memories/{memory}/verify", body), 403, "forbidden")
    refused(office.viewer.post(f"/memories/{memory}/verify", body), 403, "insufficient_scope")
    refused(office.outsider.post(f"/memories/{memory}/verify", body), 404, "not_found")
    refused(office.colleague.post(f"/memories/{private}/verify", body), 404, "not_found")

    assert Verification.objects.using("owner").filter(tenant=office.tenant).count() == 0


@pytest.mark.rule("WR-11")
def test_a_secret_in_the_evidence_is_refused(office):
    memory = states(office.senior, "deployment.branch", "main")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    body = {"outcome": "confirmed", "method": "command", "evidence": f"curl -H {secret}"}

    refused(office.senior.post(f"/memories/{memory}/verify", body), 422, "secret_content_rejected")

    assert len(seen(office.senior, memory)["verifications"]) == 1


@pytest.mark.rule("HI-03")
def test_a_verification_is_an_event(office):
    memory = states(office.senior, "deployment.branch", "main")

    verified(office.colleague, memory, method="command", evidence="git")

    events = done(office.senior.get(f"/memories/{memory}/history"))["events"]
    (event,) = [one for one in events if one["command"] == "verify"]
    assert event["actor"]["name"] == "colleague"
    assert event["after"]["outcome"] == "confirmed"


@pytest.mark.rule("DE-08")
def test_what_is_cleared_out_of_sight_is_not_told(office):
    base = states(office.senior, "deployment.branch", "main")
    private = kept(
        office.colleague, "Mine.", project="apollo", visibility="private", depends_on=[base]
    )
    reported(office.senior, "deployment.branch")

    told = verified(office.senior, base)

    assert [one["memory_id"] for one in told["cleared"]] == [base]
    assert trust(office.colleague, private) == "verified"


def test_a_token_that_may_not_read_learns_the_id_alone(office):
    blind = office.person(
        "blind", grants=[(office.apollo, ("see_project", "write_project"))], scopes=(Scope.WRITE,)
    )
    memory = states(office.senior, "deployment.branch", "main")

    told = verified(blind, memory)

    assert told == {"memory_id": memory, "absorbed": False, "superseded": [], "skipped": []}


@pytest.mark.rule("VE-01", "SB-03")
def test_what_is_stated_with_a_memory_is_as_old_as_it_and_what_is_added_is_not(office):
    memory = states(office.senior, "service.port", "80", content="The port is 80.")
    more = [{"subject": "service.host", "value": "alpha"}]
    again = {"content": "The port is 80.", "project": "apollo", "components": more}
    assert done(office.senior.post("/memories", again))["absorbed"]

    stated = Component.objects.using("owner").filter(memory=row(memory).id)
    first, added = stated.order_by("created_at", "id").values_list("subject", "created_at")

    assert first == ("service.port", row(memory).created_at)
    assert added[0] == "service.host"
    assert added[1] > row(memory).created_at
