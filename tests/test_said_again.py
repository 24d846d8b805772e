"""Who says the same again, with more authority, a little better, or with another value."""

import pytest

from memory.models import Memory
from tests.judging import branch, conflicts, live, lost, stating
from tests.memories import done, kept, memories_of, refused, remember, seen

TEXT = "The nightly build of apollo starts at two in the morning."
BETTER = "The nightly build of apollo starts at two in the morning ."
BESIDE = {
    "components": stating("build.start", "two"),
    "subjects": ["apollo.build"],
    "depends_on": ["apollo.runner"],
    "tags": ["nightly"],
}


def of_higher_rank(office, **more):
    """Return what an agent wrote, and the answer to its sponsor who says it again."""
    old = kept(office.agent, TEXT, project="apollo", **BESIDE)
    return old, remember(office.senior, TEXT, project="apollo", **more)


def a_little_better(office, **more):
    old = kept(office.senior, TEXT, project="apollo", session="s", **BESIDE)
    return old, remember(office.senior, BETTER, project="apollo", session="s", **more)


WAYS = {"rank": of_higher_rank, "wording": a_little_better}


@pytest.mark.rule("PO-16", "WR-06", "WR-08")
@pytest.mark.parametrize("way", WAYS)
def test_it_is_told_like_every_automatic_loss_and_can_be_restored(office, way):
    old, answer = WAYS[way](office)
    assert (answer["superseded"], answer["conflicts"]) == ([old], [])
    (told,) = lost(office.viewer)
    assert (told["kind"], told["resolution"], told["winner"]) == (
        "duplicate",
        "duplicate",
        answer["memory_id"],
    )
    assert (told["side_b"]["id"], told["resolved_by"], told["state"]) == (old, "policy", "resolved")
    assert conflicts(office.viewer, "pending") == []
    done(office.senior.post(f"/memories/{old}/restore"))
    assert seen(office.viewer, old)["lifecycle"] == "live"


@pytest.mark.rule("PO-17", "WR-08")
def test_it_does_not_put_the_brake_on(office, monkeypatch):
    monkeypatch.setattr("memory.conflict.act.MOST_RETIRED", 1)
    monkeypatch.setattr("memory.conflict.act.MOST_RETIRED_SHARE", 0.0)
    a_little_better(office)
    old = branch(office.senior, "main")["memory_id"]
    assert branch(office.senior, "dev")["superseded"] == [old]


@pytest.mark.rule("WR-06", "WR-08")
@pytest.mark.parametrize("way", WAYS)
def test_what_was_declared_beside_it_is_kept(office, way):
    _old, answer = WAYS[way](office)
    now = seen(office.viewer, answer["memory_id"])
    assert [(one["subject"], one["value"]) for one in now["components"]] == [("build.start", "two")]
    assert (now["subjects"], now["tags"]) == (["apollo.build"], ["nightly"])
    assert len(now["depends_on"]) == 1


@pytest.mark.rule("WR-06", "WR-08")
@pytest.mark.parametrize("way", WAYS)
def test_what_it_states_itself_counts(office, way):
    _old, answer = WAYS[way](office, components=stating("build.start", "three"))
    now = seen(office.viewer, answer["memory_id"])
    assert [one["value"] for one in now["components"]] == ["three"]


@pytest.mark.rule("WR-06", "SI-04")
def test_a_watchers_word_is_only_a_suggestion_then(office):
    kept(office.watcher, TEXT, project="apollo", components=stating("build.start", "two"))
    answer = remember(office.senior, TEXT, project="apollo")
    now = seen(office.senior, answer["memory_id"])
    assert now["components"] == []
    assert [one["value"] for one in now["suggested_components"]] == ["two"]


@pytest.mark.rule("WR-06", "DE-04")
def test_the_same_text_with_another_value_is_no_repeat_but_a_clash(office):
    old = branch(office.senior, "main")["memory_id"]
    answer = branch(office.senior, "trunk", content="Deploys go out from main.")
    assert (answer["absorbed"], answer["superseded"]) == (False, [old])
    assert [one["kind"] for one in answer["conflicts"]] == ["stale"]
    assert live(office.senior, [old, answer["memory_id"]]) == [answer["memory_id"]]

    again = branch(office.senior, "trunk", content="Deploys go out from main.")
    assert (again["absorbed"], again["memory_id"]) == (True, answer["memory_id"])


@pytest.mark.rule("WR-06", "DE-04", "PO-01")
def test_of_a_decision_both_stay_and_each_takes_in_its_own_repeat(office):
    said = {"content": "Deploys go out from main.", "kind": "decision"}
    old = branch(office.senior, "main", **said)["memory_id"]
    answer = branch(office.senior, "trunk", **said)
    assert [one["state"] for one in answer["conflicts"]] == ["pending"]
    new = answer["memory_id"]
    for value, memory_id in (("main", old), ("trunk", new), ("main", old)):
        assert branch(office.senior, value, **said)["memory_id"] == memory_id


@pytest.mark.rule("WR-06", "DE-04")
@pytest.mark.parametrize("value", ["main", None])
def test_the_same_value_or_none_is_a_repeat(office, value):
    old = branch(office.senior, "main")["memory_id"]
    again = branch(
        office.senior,
        "main",
        components=[] if value is None else stating("deploy.branch", value),
    )
    assert (again["absorbed"], again["memory_id"]) == (True, old)


@pytest.mark.rule("WR-06", "DE-04")
def test_of_several_values_one_more_is_taken_in(office):
    old = branch(office.senior, "main", components=stating("deploy.branch", "main", multi=True))[
        "memory_id"
    ]
    for multi in (True, False):
        value = f"trunk-{multi}"
        again = branch(
            office.senior, "main", components=stating("deploy.branch", value, multi=multi)
        )
        assert (again["absorbed"], again["memory_id"]) == (True, old)


ONE, OTHER = stating("p.port", "1"), stating("p.port", "2")


@pytest.mark.rule("DE-04", "WR-12")
@pytest.mark.parametrize(
    ("components", "field"),
    [
        (ONE + OTHER, "components[1].value"),
        (stating("p.host", "a") + ONE + OTHER, "components[2].value"),
        (stating("p.port", "1") + stating("p.port", "2", multi=True), "components[1].multi"),
        (stating("p.port", "1", multi=True) + stating("p.port", "1"), "components[1].multi"),
    ],
)
def test_one_write_does_not_contradict_itself(office, components, field):
    before = memories_of(office)
    answer = office.senior.post(
        "/memories", {"content": "Two ports.", "project": "apollo", "components": components}
    )
    told = refused(answer, 400, "validation_failed", field)
    assert "p.port" in str(told)
    assert memories_of(office) == before
    assert not Memory.objects.using("owner").filter(tenant=office.tenant, content="Two ports.")


@pytest.mark.rule("DE-04")
@pytest.mark.parametrize(
    "components",
    [
        stating("p.port", "1", "2", multi=True),
        stating("p.timeout", "5 min", "300 s"),
        ONE + stating("q.port", "2"),
    ],
)
def test_what_agrees_with_itself_is_taken(office, components):
    assert remember(office.senior, "Ports.", project="apollo", components=components)["memory_id"]


@pytest.mark.rule("DE-04")
def test_that_a_subject_has_several_values_need_be_said_once(office):
    kept(office.colleague, "Some.", project="apollo", components=stating("p.port", "0", multi=True))
    assert remember(office.senior, "Ports.", project="apollo", components=ONE + OTHER)["memory_id"]
