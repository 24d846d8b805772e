"""Dependents: what becomes of a memory is told to all that rests on it, and is taken back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Memory
from tests.dirty import at, marked, marks_of, reported, states, trust, verified
from tests.memories import done, kept, remember, replacing, row, seen


@pytest.mark.rule("SB-05")
def test_a_change_marks_dependents_of_dependents_and_nothing_else(office):
    first = states(office.senior, "service.port", "80")
    chain = [first]
    for depth in range(5):
        chain.append(
            kept(office.senior, f"Depth {depth}.", project="apollo", depends_on=[chain[-1]])
        )
    beside = kept(office.senior, "Beside.", project="apollo", depends_on=["service.host"])

    told = reported(office.senior, "service.port")

    assert {one["memory_id"] for one in told["marked"]} == set(chain)
    paths = {one["memory_id"]: one["path"] for one in told["marked"]}
    assert [paths[one] for one in chain] == [chain[:depth] for depth in range(6)]
    assert trust(office.senior, beside) == "verified"


@pytest.mark.rule("SB-05")
def test_circles_of_dependencies_end(office):
    first = states(office.senior, "service.port", "80")
    second = kept(office.senior, "Second.", project="apollo", depends_on=[first])
    third = kept(office.senior, "Third.", project="apollo", depends_on=[second])
    done(office.senior.post("/links", {"src": first, "dst": third, "type": "depends_on"}))

    told = reported(office.senior, "service.port")

    assert {one["memory_id"] for one in told["marked"]} == {first, second, third}
    assert marks_of(office) <= 4
    verified(office.senior, first)
    for one in (first, second, third):
        assert trust(office.senior, one) == "verified"


@pytest.mark.rule("SB-05")
def test_a_dependency_on_a_subject_is_marked_by_what_lies_below(office):
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=["service.port"])
    beside = kept(office.senior, "Beside.", project="apollo", depends_on=["service"])

    assert marked(office.senior, "service.port.inner") == set()
    assert marked(office.senior, "service.port") == {relying}
    assert trust(office.senior, beside) == "verified"


@pytest.mark.rule("SB-05")
def test_a_declared_supersede_marks_the_dependents(office):
    old = states(office.senior, "deployment.branch", "main")
    relying = kept(office.colleague, "Relying.", project="apollo", depends_on=[old])
    further = kept(office.colleague, "Further.", project="apollo", depends_on=[relying])
    aside = kept(office.colleague, "Aside.", project="apollo")

    new = kept(
        office.senior,
        "The branch is trunk.",
        project="apollo",
        links=replacing(old),
        depends_on=[old],
    )

    assert trust(office.senior, relying) == trust(office.senior, further) == "dirty"
    assert trust(office.senior, new) == trust(office.senior, aside) == "verified"
    (mark,) = seen(office.colleague, further)["marks"]
    assert (mark["cause"], mark["cause_memory"], mark["path"]) == (
        "superseded",
        old,
        [old, relying],
    )
    assert old in seen(office.colleague, relying)["dirty_reason"]


@pytest.mark.rule("SB-05")
def test_restoring_closes_the_marks_that_the_supersede_caused(office):
    old = states(office.senior, "deployment.branch", "main")
    relying = kept(office.colleague, "Relying.", project="apollo", depends_on=[old])
    kept(office.senior, "The branch is trunk.", project="apollo", links=replacing(old))

    done(office.senior.post(f"/memories/{old}/restore", {}))

    assert trust(office.colleague, relying) == "verified"
    assert seen(office.colleague, relying)["marks"] == []


@pytest.mark.rule("SB-05")
def test_a_challenge_marks_the_dependents_until_it_is_decided(office):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    told = done(office.colleague.post(f"/memories/{base}/challenge", {"reason": "It is trunk."}))

    assert trust(office.senior, relying) == "dirty"
    (mark,) = seen(office.senior, relying)["marks"]
    assert mark["cause"] == "conflicted"

    done(office.reviewer.post(f"/conflicts/{told['dispute_id']}/resolve", {"keep_both": True}))
    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("SB-05")
def test_a_challenge_that_retires_leaves_the_dependents_marked(office):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    told = done(office.colleague.post(f"/memories/{base}/challenge", {"reason": "It is trunk."}))

    done(office.reviewer.post(f"/conflicts/{told['dispute_id']}/resolve", {"retire": True}))

    assert trust(office.senior, relying) == "dirty"
    done(office.reviewer.post(f"/memories/{base}/restore", {}))
    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("SB-05")
def test_a_conflict_found_by_declared_components_marks_the_dependents_of_both(office):
    base = states(office.senior, "deployment.branch", "main", kind="decision")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])

    told = remember(
        office.colleague,
        "The branch is trunk.",
        project="apollo",
        components=[{"subject": "deployment.branch", "value": "trunk"}],
    )

    assert told["conflicts"][0]["state"] == "pending"
    assert trust(office.senior, base) == "conflicted"
    assert trust(office.senior, relying) == "dirty"


@pytest.mark.rule("SB-05")
def test_rejecting_a_proposal_marks_the_dependents(office):
    proposal = kept(office.watcher, "Captured: the branch is main.")
    relying = kept(office.colleague, "Relying.", project="apollo", depends_on=[proposal])

    done(office.reviewer.post(f"/memories/{proposal}/reject", {"reason": "no"}))

    (mark,) = seen(office.colleague, relying)["marks"]
    assert mark["cause"] == "rejected"


@pytest.mark.rule("SB-05")
def test_forgetting_and_closing_mark_nothing(office):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])

    done(office.senior.post(f"/memories/{base}/forget", {"reason": "old"}))

    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("SB-05")
def test_what_was_out_of_use_is_marked_when_it_comes_back(office):
    gone = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[gone])
    base = states(office.senior, "service.port", "80")
    away = kept(office.senior, "Away.", project="apollo", depends_on=[base])
    for one in (gone, away):
        done(office.senior.post(f"/memories/{one}/forget", {"reason": "old"}))

    assert marked(office.senior, "deployment.branch") == set()
    assert marked(office.senior, "service.port") == {base}
    for one in (gone, away):
        done(office.senior.post(f"/memories/{one}/restore", {}))

    assert trust(office.senior, gone) == trust(office.senior, relying) == "dirty"
    assert trust(office.senior, away) == "dirty"


@pytest.mark.rule("SB-05")
def test_what_was_superseded_meanwhile_is_told_to_what_comes_back(office):
    base = states(office.senior, "service.port", "80")
    away = kept(office.senior, "Away.", project="apollo", depends_on=[base])
    done(office.senior.post(f"/memories/{away}/forget", {"reason": "old"}))
    kept(office.senior, "The port is 81.", project="apollo", links=replacing(base))

    done(office.senior.post(f"/memories/{away}/restore", {}))

    (mark,) = seen(office.senior, away)["marks"]
    assert (mark["cause"], mark["cause_memory"]) == ("superseded", base)


@pytest.mark.rule("SB-06")
@pytest.mark.parametrize(
    "subject", ["app.directory", "build.command", "artifact.path", "hosting.provider", "git.branch"]
)
def test_a_procedure_is_marked_by_a_change_in_any_one_of_its_five(office, subject):
    five = ["app.directory", "build.command", "artifact.path", "hosting.provider", "git.branch"]
    procedure = kept(
        office.senior, "How to deploy.", project="apollo", kind="procedure", depends_on=five
    )

    assert marked(office.colleague, "docs.readme") == set()
    assert trust(office.senior, procedure) == "verified"
    assert marked(office.colleague, subject) == {procedure}
    assert trust(office.senior, procedure) == "dirty"


@pytest.mark.rule("SB-07", "field-fault-11")
def test_a_summary_depends_on_what_it_was_derived_from(office):
    source = states(office.senior, "team.lead", "Ada")
    summary = kept(
        office.senior,
        "Ada leads.",
        project="apollo",
        links=[{"type": "derived_from", "dst": source}],
    )

    assert marked(office.senior, "team.lead") == {source, summary}
    verified(office.senior, source)
    assert trust(office.senior, summary) == "verified"


@pytest.mark.rule("SB-05")
@pytest.mark.parametrize("method", ["external_recheck", "command"])
def test_what_was_refuted_by_whatever_means_marks_the_dependents(office, method):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])

    told = verified(office.colleague, base, "refuted", method=method, observed_value="trunk")

    assert trust(office.senior, relying) == "dirty"
    resolve = f"/conflicts/{told['conflict']['id']}/resolve"
    done(office.reviewer.post(resolve, {"keep_both": True}))
    assert trust(office.senior, relying) == "verified"


@pytest.mark.rule("SB-05")
def test_a_dependency_follows_what_takes_its_place_and_comes_back_with_it(office):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    further = kept(office.senior, "Further.", project="apollo", depends_on=[relying])
    heads = [base]
    for number in (2, 3):
        heads.append(
            states(
                office.senior,
                f"build.command{number}",
                "make",
                content=f"It is built by {number}.",
                links=replacing(heads[-1]),
            )
        )
        assert trust(office.senior, relying) == "dirty"
        verified(office.senior, relying)
        verified(office.senior, further)

    told = reported(office.colleague, "build.command3")

    paths = {one["memory_id"]: one["path"] for one in told["marked"]}
    assert paths == {heads[2]: [], relying: [heads[2]], further: [heads[2], relying]}
    verified(office.senior, heads[2])
    assert trust(office.senior, relying) == trust(office.senior, further) == "verified"

    reported(office.colleague, "build.command3")
    assert trust(office.senior, further) == "dirty"
    done(office.senior.post(f"/memories/{base}/restore", {}))
    assert trust(office.senior, relying) == trust(office.senior, further) == "verified"
    assert marked(office.colleague, "build.command3") <= {heads[2]}
    assert marked(office.colleague, "deployment.branch") == {base, relying, further}


@pytest.mark.rule("SB-05")
@pytest.mark.parametrize("link_type", ["depends_on", "derived_from"])
def test_a_dependency_that_is_told_later_counts_from_the_beginning(office, link_type):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo")
    further = kept(office.senior, "Further.", project="apollo", depends_on=[relying])
    reported(office.colleague, "deployment.branch")
    newer = kept(office.senior, "It knows of the change.", project="apollo")

    link = done(office.senior.post("/links", {"src": relying, "dst": base, "type": link_type}))
    done(office.senior.post("/links", {"src": newer, "dst": base, "type": link_type}))

    (mark,) = seen(office.senior, further)["marks"]
    assert mark["path"] == [base, relying]
    assert trust(office.senior, relying) == "dirty"
    assert trust(office.senior, newer) == "verified"
    done(office.senior.delete(f"/links/{link['id']}"))
    for one in (relying, further):
        assert trust(office.senior, one) == "verified"
        assert seen(office.senior, one)["marks"] == []
    assert trust(office.senior, base) == "dirty"


@pytest.mark.rule("SB-05")
def test_taking_one_of_two_ways_away_leaves_the_mark(office):
    base = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=[base])
    body = {"src": relying, "dst": base, "type": "depends_on"}
    link = done(office.senior.post("/links", body))
    reported(office.colleague, "deployment.branch")

    done(office.senior.delete(f"/links/{link['id']}"))

    assert trust(office.senior, relying) == "dirty"


@pytest.mark.rule("SB-05")
@pytest.mark.parametrize("became", ["superseded", "conflicted", "rejected", "expired"])
def test_what_became_of_a_memory_before_it_was_linked_to_counts(office, became):
    ends = at(timezone.now() + timedelta(days=1))
    base = kept(
        office.watcher if became == "rejected" else office.senior,
        "The branch is main.",
        project="apollo",
        valid_until=ends,
    )
    relying = kept(office.senior, "Relying.", project="apollo")
    if became == "superseded":
        kept(office.senior, "The branch is trunk.", project="apollo", links=replacing(base))
    elif became == "conflicted":
        done(office.colleague.post(f"/memories/{base}/challenge", {"reason": "It is trunk."}))
    elif became == "rejected":
        done(office.reviewer.post(f"/memories/{base}/reject", {"reason": "no"}))
    else:
        stored = Memory.objects.using("owner").filter(id=row(base).id)
        stored.update(valid_until=timezone.now(), end_is_told=True)

    body = {"src": relying, "dst": base, "type": "depends_on"}
    link = done(office.senior.post("/links", body))

    (mark,) = seen(office.senior, relying)["marks"]
    assert (mark["cause"], mark["cause_memory"]) == (became, base)
    done(office.senior.delete(f"/links/{link['id']}"))
    assert trust(office.senior, relying) == "verified"
