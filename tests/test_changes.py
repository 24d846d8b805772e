"""Changes of the world: what they mark and what they leave alone."""

from datetime import timedelta
from datetime import timezone as dt_timezone

import pytest
from django.utils import timezone

from memory.models import Change, Mark
from tenants.ids import Prefix, wire_id
from tests.dirty import at, marked, marks_of, reported, states, trust, verified
from tests.memories import done, kept, refused, remember, replacing, row, seen
from tests.people import Office
from tests.test_projects import let_in

MINUTE = timedelta(minutes=1)


def changes_of(office: Office) -> int:
    return Change.objects.using("owner").filter(tenant=office.tenant).count()


@pytest.mark.rule("SB-01")
def test_a_change_marks_the_subject_and_what_lies_below(office):
    author = office.senior
    same = states(author, "deployment.branch", "main")
    below = states(author, "deployment.branch.protection", "on")
    beside = states(author, "deployment.provider", "acme")
    above = states(author, "deployment", "by hand")
    elsewhere = states(author, "deploymentx.branch", "main")
    longer = states(author, "deployment.branches", "two")
    dashed = states(author, "deployment.branch-2", "two")

    assert marked(office.colleague, "deployment.branch") == {same, below}

    assert trust(author, same) == trust(author, below) == "dirty"
    for other in (beside, above, elsewhere, longer, dashed):
        assert trust(author, other) == "verified"


@pytest.mark.rule("SB-01")
def test_a_change_marks_what_names_the_subject_without_a_component(office):
    below = kept(office.senior, "The branch.", project="apollo", subjects=["deployment.branch"])
    above = kept(office.senior, "All of it.", project="apollo", subjects=["deployment"])

    assert marked(office.senior, "deployment.branch") == {below}
    assert trust(office.senior, above) == "verified"


@pytest.mark.rule("SB-01")
def test_a_root_reaches_itself_alone_unless_the_whole_tree_is_said(office):
    root = states(office.senior, "deployment", "by hand")
    below = states(office.senior, "deployment.branch", "main")
    named = kept(office.senior, "Named.", project="apollo", subjects=["deployment.branch.x"])
    relying = kept(office.senior, "Relying.", project="apollo", depends_on=["deployment.branch"])

    assert marked(office.senior, "deployment") == {root}
    assert marked(office.senior, "deployment", whole_tree=True) == {root, below, named, relying}


@pytest.mark.rule("SB-02")
def test_a_mention_marks_nothing_however_often(office):
    memory = states(office.senior, "deployment.branch", "main")

    for _ in range(5):
        told = reported(office.colleague, "deployment.branch", kind="mention")
        assert told["marked"] == []

    assert trust(office.senior, memory) == "verified"
    assert marks_of(office) == 0
    assert changes_of(office) == 5


@pytest.mark.rule("SB-02", "field-fault-14")
def test_writing_about_a_subject_marks_nothing(office):
    memory = states(office.senior, "deployment.branch", "main")

    told = remember(
        office.colleague,
        "The deployment branch was changed to trunk last night!",
        project="apollo",
        subjects=["deployment.branch"],
    )

    assert told["marked"] == []
    assert trust(office.senior, memory) == "verified"
    assert changes_of(office) == 0


@pytest.mark.rule("SB-02")
def test_a_write_may_carry_changes(office):
    branch = states(office.senior, "deployment.branch", "main")
    provider = states(office.senior, "deployment.provider", "acme")

    told = remember(
        office.colleague,
        "Since tonight releases are cut from trunk.",
        project="apollo",
        subjects=["deployment.branch"],
        depends_on=[branch],
        changes=[{"subject": "deployment.branch", "summary": "cut from trunk"}],
    )

    assert told["marked"] == [branch]
    assert trust(office.senior, branch) == "dirty"
    assert trust(office.senior, provider) == "verified"
    # The one that tells of the change knows of it, and relies on the other all the same.
    assert told["memory"]["trust_state"] == "verified"
    assert trust(office.colleague, told["memory_id"]) == "verified"
    (mark,) = seen(office.senior, branch)["marks"]
    assert mark["change"]["summary"] == "cut from trunk"


@pytest.mark.rule("SB-02")
def test_a_repeat_may_carry_changes(office):
    branch = states(office.senior, "deployment.branch", "main")
    text = {"content": "Releases are cut at night.", "project": "apollo"}
    done(office.senior.post("/memories", text))

    again = done(
        office.senior.post(
            "/memories", text | {"changes": [{"subject": "deployment.branch", "summary": "new"}]}
        )
    )

    assert again["absorbed"]
    assert again["marked"] == [branch]


@pytest.mark.rule("SB-02")
def test_a_personal_write_carries_no_changes(office):
    body = {"content": "Mine.", "changes": [{"subject": "a.b", "summary": "new"}]}

    refused(office.senior.post("/memories", body), 400, "validation_failed", "changes")

    assert changes_of(office) == 0
    assert done(office.senior.get("/memories"))["count"] == 0


def test_a_write_that_fails_records_no_change(office):
    body = {
        "content": "x",
        "project": "apollo",
        "depends_on": ["mem_01h455vb4pex5vsknk084sn02q"],
        "changes": [{"subject": "a.b", "summary": "new"}],
    }

    refused(office.senior.post("/memories", body), 400, "validation_failed")

    assert changes_of(office) == 0


@pytest.mark.rule("SB-03")
def test_what_was_verified_after_the_change_was_seen_is_not_marked_by_a_late_report(office):
    memory = states(office.senior, "deployment.branch", "main")
    before = timezone.now()
    verified(office.senior, memory)

    assert marked(office.colleague, "deployment.branch", observed_at=at(before)) == set()
    assert trust(office.senior, memory) == "verified"
    assert marked(office.colleague, "deployment.branch") == {memory}


@pytest.mark.rule("SB-03")
def test_what_was_written_after_the_change_was_seen_is_not_marked(office):
    before = timezone.now()
    memory = states(office.senior, "deployment.branch", "trunk")
    captured = kept(office.watcher, "Seen: trunk.", subjects=["deployment.branch"])

    assert marked(office.colleague, "deployment.branch", observed_at=at(before)) == set()
    assert trust(office.senior, memory) == "verified"
    assert seen(office.senior, captured)["marks"] == []


@pytest.mark.rule("SB-03")
def test_a_late_report_marks_the_component_that_nobody_has_looked_at_since(office):
    memory = kept(
        office.senior,
        "Branch main at acme.",
        project="apollo",
        components=[
            {"subject": "deployment.branch", "value": "main"},
            {"subject": "deployment.provider", "value": "acme"},
        ],
    )
    before = timezone.now()
    verified(office.senior, memory, components=["deployment.branch"])

    told = reported(office.colleague, "deployment", whole_tree=True, observed_at=at(before))

    assert [one["subject"] for one in told["marked"]] == ["deployment.provider"]
    dirty = {one["subject"]: one["dirty"] for one in seen(office.senior, memory)["components"]}
    assert dirty == {"deployment.branch": False, "deployment.provider": True}


@pytest.mark.rule("SB-03", "field-fault-12")
def test_a_time_counts_whatever_clock_it_was_read_from(office):
    memory = states(office.senior, "deployment.branch", "main")
    elsewhere = timezone.now().astimezone(dt_timezone(timedelta(hours=9)))
    verified(office.senior, memory)

    # By its digits it lies nine hours ahead; it was seen before somebody looked.
    assert marked(office.colleague, "deployment.branch", observed_at=at(elsewhere)) == set()
    later = timezone.now().astimezone(dt_timezone(timedelta(hours=-9)))
    assert marked(office.colleague, "deployment.branch", observed_at=at(later)) == {memory}


@pytest.mark.rule("SB-08", "field-fault-29")
def test_of_many_that_are_marked_every_one_is_told(office):
    many = {states(office.senior, f"service.s{number}.port", "80") for number in range(25)}

    told = reported(office.colleague, "service", whole_tree=True)

    assert {one["memory_id"] for one in told["marked"]} == many
    assert marks_of(office) == len(told["marked"]) == len(many)


@pytest.mark.rule("SB-04")
def test_a_mark_tells_reason_event_subject_time_and_path(office):
    memory = states(office.senior, "deployment.branch", "main")
    relying = kept(office.senior, "Release with it.", project="apollo", depends_on=[memory])
    seen_at = timezone.now()

    told = reported(office.colleague, "deployment.branch", "It is trunk now.")

    (direct,) = seen(office.senior, memory)["marks"]
    assert direct["change"] == {
        "id": told["event"]["id"],
        "subject": "deployment.branch",
        "summary": "It is trunk now.",
        "observed_at": told["event"]["observed_at"],
    }
    assert direct["direct"]
    assert (direct["subject"], direct["path"]) == ("deployment.branch", [])
    assert direct["observed_at"] >= seen_at.isoformat()[:19]
    (indirect,) = seen(office.senior, relying)["marks"]
    assert not indirect["direct"]
    assert indirect["path"] == [memory]
    assert "It is trunk now" in seen(office.senior, memory)["dirty_reason"]
    assert "It is trunk now" in seen(office.senior, relying)["dirty_reason"]
    assert {(one["memory_id"], tuple(one["path"])) for one in told["marked"]} == {
        (memory, ()),
        (relying, (memory,)),
    }


@pytest.mark.rule("SB-08")
def test_one_open_mark_for_each_memory_component_and_event(office):
    memory = kept(
        office.senior,
        "Branch main at acme.",
        project="apollo",
        subjects=["deployment.branch"],
        components=[
            {"subject": "deployment.branch", "value": "main"},
            {"subject": "deployment.provider", "value": "acme"},
        ],
    )
    for _ in range(3):
        reported(office.senior, "deployment", whole_tree=True)

    marks = seen(office.senior, memory)["marks"]
    assert len(marks) == 6
    assert len({(one["change"]["id"], one["component"]) for one in marks}) == 6


@pytest.mark.rule("SB-09")
def test_an_agent_reports_in_its_own_project(office):
    memory = states(office.senior, "deployment.branch", "main")

    told = done(office.agent.post("/changes", {"subject": "deployment.branch", "summary": "new"}))

    assert {one["memory_id"] for one in told["marked"]} == {memory}
    assert told["event"]["id"].startswith("chg_")


def test_a_person_must_name_a_project(office):
    body = {"subject": "deployment.branch", "summary": "new"}

    refused(office.senior.post("/changes", body), 400, "validation_failed", "project")


def test_a_change_in_one_project_leaves_another_alone(office):
    here = states(office.senior, "deployment.branch", "main")
    there = kept(
        office.outsider,
        "Ours is main.",
        project="hermes",
        components=[{"subject": "deployment.branch", "value": "main"}],
    )

    assert marked(office.senior, "deployment.branch") == {here}
    assert trust(office.outsider, there) == "verified"


def test_who_may_not_write_in_the_project_reports_nothing(office):
    body = {"project": "apollo", "subject": "deployment.branch", "summary": "new"}
    onlooker = office.person("onlooker", grants=[(office.apollo, ("see_project",))])

    refused(onlooker.post("/changes", body), 403, "forbidden")
    refused(office.outsider.post("/changes", body), 400, "validation_failed", "project")

    assert changes_of(office) == 0


def test_an_archived_project_takes_no_changes(office):
    done(office.admin.patch(f"/projects/{_project(office)}", {"archived": True}))

    body = {"project": "apollo", "subject": "deployment.branch", "summary": "new"}
    refused(office.senior.post("/changes", body), 409, "conflict")


def _project(office: Office) -> str:
    (apollo,) = [
        one for one in done(office.admin.get("/projects"))["results"] if one["slug"] == "apollo"
    ]
    return str(apollo["id"])


@pytest.mark.rule("DE-08")
def test_what_is_out_of_sight_is_marked_and_not_told(office):
    private = kept(
        office.colleague,
        "Mine: main.",
        project="apollo",
        visibility="private",
        components=[{"subject": "deployment.branch", "value": "main"}],
    )

    told = reported(office.senior, "deployment.branch")

    assert told["marked"] == []
    assert set(told) == {"event", "marked"}
    assert trust(office.colleague, private) == "dirty"


@pytest.mark.rule("DE-08")
def test_a_mark_tells_nothing_of_a_change_or_memory_out_of_sight(office):
    base = kept(
        office.senior,
        "Ours.",
        project="apollo",
        visibility="tenant",
        components=[{"subject": "deployment.branch", "value": "main"}],
    )
    between = kept(office.senior, "Between.", project="apollo", depends_on=[base])
    far = kept(office.senior, "Far.", project="apollo", visibility="tenant", depends_on=[between])

    reported(office.senior, "deployment.branch", "A word that only apollo may read.")

    for one in (base, far):
        answer = office.outsider.get(f"/memories/{one}")
        told = done(answer)
        (mark,) = told["marks"]
        assert told["trust_state"] == "dirty"
        assert mark["change"] is None
        assert "only apollo" not in answer.content.decode()
        assert between not in answer.content.decode()
    assert seen(office.outsider, far)["marks"][0]["path"] == [base]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subject", ""),
        ("subject", "a..b"),
        ("subject", ".".join("a" * 17)),
        ("subject", 7),
        ("summary", "  "),
        ("summary", "x" * 3000),
        ("observed_at", "yesterday"),
        ("observed_at", "2199-01-01T00:00:00Z"),
        ("whole_tree", "yes"),
        ("kind", "rumour"),
        ("source", 5),
        ("extra", 1),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(office, field, value):
    body = {"project": "apollo", "subject": "a.b", "summary": "new", field: value}

    refused(office.senior.post("/changes", body), 400, "validation_failed", field)

    assert changes_of(office) == 0


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize("field", ["summary", "source"])
def test_a_secret_is_refused(office, field):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    value = {"uri": secret} if field == "source" else f"the key is now {secret}"
    body = {"project": "apollo", "subject": "a.b", "summary": "new", field: value}

    answer = office.senior.post("/changes", body)

    refused(answer, 422, "secret_content_rejected")
    assert secret not in answer.content.decode()
    assert changes_of(office) == 0


def test_a_source_may_be_a_word(office):
    told = reported(office.senior, "a.b", source="ci")

    assert told["event"]["source"] == {"kind": "ci"}


@pytest.mark.rule("WR-05")
def test_the_same_key_reports_once(office):
    body = {"project": "apollo", "subject": "a.b", "summary": "new"}

    first = office.senior.post("/changes", body, **{"Idempotency-Key": "k1"})
    second = office.senior.post("/changes", body, **{"Idempotency-Key": "k1"})

    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert changes_of(office) == 1


def test_a_clock_that_is_a_little_fast_is_believed_up_to_now(office):
    memory = states(office.senior, "a.b", "x")
    ahead = timezone.now() + MINUTE / 2

    reported(office.senior, "a.b", observed_at=at(ahead))
    verified(office.senior, memory)

    assert trust(office.senior, memory) == "verified"


@pytest.mark.rule("TR-07", "SB-02")
def test_a_proposal_stays_one_and_carries_the_mark(office):
    proposal = kept(office.watcher, "Seen: main.", subjects=["deployment.branch"])

    assert marked(office.senior, "deployment.branch") == {proposal}

    told = seen(office.senior, proposal)
    assert told["trust_state"] == "proposed"
    assert len(told["marks"]) == 1


@pytest.mark.rule("TR-07")
def test_what_is_over_is_left_alone(office):
    old = states(office.senior, "deployment.branch", "main")
    new = kept(office.senior, "Trunk.", project="apollo", links=replacing(old))
    ended = states(office.senior, "deployment.branch", "x", valid_until=at(timezone.now() - MINUTE))
    before = row(old), row(ended)

    assert marked(office.senior, "deployment.branch") == set()

    assert trust(office.senior, old) == "superseded"
    assert trust(office.senior, ended) == "expired"
    assert trust(office.senior, new) == "verified"
    assert (row(old).version, row(ended).version) == tuple(one.version for one in before)


@pytest.mark.rule("SB-01", "SB-05", "DE-08")
def test_a_change_reaches_what_belongs_to_no_project(office):
    said = {"components": [{"subject": "x.host", "value": "one"}], "depends_on": ["x.dns"]}
    wide = kept(office.outsider, "The host of all is one.", visibility="tenant", **said)
    mine = kept(office.colleague, "My host is one.", **said)
    theirs = kept(office.outsider, "Their host is one.", **said)

    for subject in ("x.host", "x.dns"):
        assert marked(office.senior, subject) == {wide}
        found = done(
            office.senior.post("/recall", {"query": "host of all", "consequence": "high"})
        )["results"]
        assert [(one["memory_id"], one["withheld"]) for one in found] == [(wide, True)]
        # Personal to somebody who knows of the project; and to somebody who does not.
        assert trust(office.colleague, mine) == "dirty"
        assert trust(office.outsider, theirs) == "verified"
        (mark,) = seen(office.outsider, wide)["marks"]
        assert mark["change"] is None
        verified(office.outsider, wide)
        verified(office.colleague, mine)
    assert marked(office.colleague, "x.host") == {wide, mine}


@pytest.mark.rule("SB-05")
def test_what_belongs_to_no_project_and_was_out_of_use_is_marked_when_it_comes_back(office):
    wide = kept(
        office.senior, "The host is one.", visibility="tenant", components=[{"subject": "x.host"}]
    )
    done(office.senior.post(f"/memories/{wide}/forget", {"reason": "old"}))
    reported(office.colleague, "x.host")

    done(office.senior.post(f"/memories/{wide}/restore", {}))

    assert trust(office.senior, wide) == "dirty"


@pytest.mark.rule("RC-05", "SB-04")
def test_the_reason_is_that_of_what_was_asked_about(office):
    base = states(office.senior, "service.port", "80", content="Served at 80.")
    memory = kept(
        office.senior,
        "The deployment is from main at acme.",
        project="apollo",
        depends_on=[base],
        components=[
            {"subject": "deploy.branch", "value": "main"},
            {"subject": "deploy.provider", "value": "acme"},
        ],
    )
    for subject in ("deploy.branch", "deploy.provider", "service.port"):
        reported(office.colleague, subject)

    for asked in ("deploy.branch", "deploy.provider"):
        for consequence in ("normal", "high"):
            body = {"query": "deployment", "subjects": [asked], "consequence": consequence}
            results = done(office.senior.post("/recall", body))["results"]
            (found,) = [one for one in results if one["memory_id"] == memory]
            told = [found["dirty_reason"], found["how_to_verify"]["what_changed"]]
            assert all(one.startswith(f"{asked} changed") for one in told)
            if consequence == "high":  # all of it has to be looked at, and the call says so
                continue
            other = {"deploy.branch", "deploy.provider"} - {asked}
            assert other.isdisjoint(found["safe_rendering"].replace(";", " ").split())
    # Nothing was asked about: of the direct ones the newest.
    assert seen(office.senior, memory)["dirty_reason"].startswith("deploy.provider changed")


@pytest.mark.rule("SB-01", "SB-03", "SB-05")
def test_who_is_let_in_later_is_told_of_what_changed_before(office):
    said = {"components": [{"subject": "x.host", "value": "one"}]}
    mine = kept(office.outsider, "Their host is one.", **said)
    relying = kept(office.outsider, "It relies on that.", depends_on=[mine])
    beside = kept(office.outsider, "Beside.", components=[{"subject": "x.port"}])
    own = kept(office.outsider, "In hermes.", project="hermes", **said)
    reported(office.senior, "x.host", "It moved.")
    newer = kept(office.outsider, "It knows of that.", **said, session="later")
    assert trust(office.outsider, mine) == "verified"

    let_in(office, office.outsider, "see")

    assert trust(office.outsider, mine) == trust(office.outsider, relying) == "dirty"
    (mark,) = seen(office.outsider, mine)["marks"]
    assert mark["change"]["summary"] == "It moved."
    others = [beside, own, newer]
    assert {trust(office.outsider, one) for one in others} == {"verified"}
    # What was looked at since stays so, however often they are let in.
    verified(office.outsider, mine)
    let_in(office, office.outsider)
    let_in(office, office.outsider, "see")
    assert trust(office.outsider, mine) == "verified"


@pytest.mark.rule("SB-01", "SB-03")
def test_who_was_away_is_told_of_what_changed_meanwhile(office):
    mine = kept(office.colleague, "My host is one.", components=[{"subject": "x.host"}])
    path = f"/members/{wire_id(Prefix.MEMBER, office.colleague.member.id)}"
    done(office.admin.patch(path, {"active": False}))
    reported(office.senior, "x.host", "It moved.")

    done(office.admin.patch(path, {"active": True}))

    assert Mark.objects.using("owner").filter(memory=row(mine).id, cleared_at=None).count() == 1


@pytest.mark.rule("SB-04")
def test_who_is_let_in_later_sees_the_marks_of_what_they_may_read_now(office):
    memory = states(office.senior, "x.host", "one")
    reported(office.senior, "x.host", "It moved.")
    newcomer = office.person("newcomer", grants=[(office.apollo, ["see_project"])])

    (mark,) = seen(newcomer, memory)["marks"]
    assert mark["change"]["summary"] == "It moved."
    assert trust(newcomer, memory) == "dirty"


@pytest.mark.rule("SB-01", "DE-04")
def test_what_all_read_of_another_project_speaks_of_that_one(office):
    said = {"components": [{"subject": "x.host", "value": "one"}], "depends_on": ["x.dns"]}
    theirs = kept(office.outsider, "Host.", project="hermes", visibility="tenant", **said)
    base = states(office.senior, "x.base", "one", visibility="tenant")
    relying = kept(
        office.outsider, "It relies.", project="hermes", visibility="tenant", depends_on=[base]
    )

    assert marked(office.senior, "x.host") == marked(office.senior, "x.dns") == set()
    assert trust(office.senior, theirs) == "verified"
    # What it depends on by name is what it depends on, wherever that is kept.
    assert marked(office.senior, "x.base") == {base, relying}


@pytest.mark.rule("SB-01", "SB-03", "SB-05")
def test_what_is_shown_to_all_later_is_told_of_what_changed_before(office):
    """While it was personal, a project that its owner does not see was none of its business."""
    said = {"components": [{"subject": "x.host", "value": "one"}]}
    mine = kept(office.outsider, "My host is one.", **said)
    named = kept(office.outsider, "Of hosts.", subjects=["x.host"])
    relying = kept(office.outsider, "It relies on that.", depends_on=[mine])
    beside = kept(office.outsider, "Beside.", components=[{"subject": "x.port"}])
    reported(office.senior, "x.host", "It moved.")
    newer = kept(office.outsider, "It knows of that.", **said, session="later")
    everything = (mine, named, relying, beside, newer)
    assert {trust(office.outsider, one) for one in everything} == {"verified"}

    for one in everything:
        done(office.outsider.patch(f"/memories/{one}", {"visibility": "tenant"}))

    states_now = [trust(office.outsider, one) for one in everything]
    assert states_now == ["dirty", "dirty", "dirty", "verified", "verified"]
    (mark,) = seen(office.senior, mine)["marks"]
    assert mark["change"]["summary"] == "It moved."
    (mark,) = seen(office.outsider, mine)["marks"]
    assert mark["change"] is None
    # Once looked at, it is not marked by the same, however often it is hidden and shown.
    verified(office.outsider, mine)
    for visibility in ("private", "tenant"):
        done(office.outsider.patch(f"/memories/{mine}", {"visibility": visibility}))
    assert trust(office.outsider, mine) == "verified"
