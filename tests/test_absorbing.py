"""Writes that say what is known already: repeats, captures of it, restatements."""

import pytest

from memory.finding.embedding import current, embed
from tests.memories import commands, done, kept, memories_of, refused, remember, replacing, seen

BACKUP = "The nightly backup of the billing database starts at two."
# The same again in nearly the same words, and nothing specific is lost.
BACKUP_AGAIN = "The nightly backup of the billing database starts at two ."
CAPTURED = "the nightly backup of the billing database starts at two"


@pytest.mark.rule("WR-06")
def test_an_exact_repeat_is_absorbed_into_what_says_it(office):
    first = kept(office.agent, BACKUP)

    again = office.agent.post("/memories", {"content": f"  {BACKUP}\n".replace(" of ", "  of\t")})

    assert again.status_code == 200
    told = again.json()
    assert (told["absorbed"], told["memory_id"]) == (True, first)
    assert (told["similar_existing"], told["hint"], told["superseded"]) == ([], None, [])
    assert memories_of(office) == 1
    assert commands(office.agent, first) == ["remember", "absorb"]


@pytest.mark.rule("WR-06")
@pytest.mark.parametrize(
    "elsewhere",
    [{"kind": "episode"}, {"visibility": "private"}, {"visibility": "tenant"}, {"project": None}],
    ids=["another kind", "private", "tenant-wide", "personal"],
)
def test_the_same_text_in_another_place_or_kind_is_another_memory(office, elsewhere):
    first = kept(office.senior, BACKUP, project="apollo")

    told = remember(office.senior, BACKUP, **{"project": "apollo", **elsewhere})

    assert told["absorbed"] is False
    assert told["memory_id"] != first
    assert told["superseded"] == []
    assert remember(office.senior, BACKUP, project="apollo")["memory_id"] == first


@pytest.mark.rule("WR-06", "VI-03")
def test_the_same_text_of_another_owner_is_another_memory(office):
    hers = kept(office.senior, BACKUP, project="apollo")
    private = kept(office.senior, BACKUP, project="apollo", visibility="private")

    his = remember(office.colleague, BACKUP, project="apollo")
    his_private = remember(office.colleague, BACKUP, project="apollo", visibility="private")

    assert {his["absorbed"], his_private["absorbed"]} == {False}
    assert len({hers, private, his["memory_id"], his_private["memory_id"]}) == 4


@pytest.mark.rule("WR-06", "T016")
def test_two_tenants_keep_the_same_text_each_for_itself(office, other_office):
    key = {"Idempotency-Key": "same-in-both"}
    body = {"content": BACKUP, "project": "apollo"}

    here = office.senior.post("/memories", body, **key)
    there = other_office.senior.post("/memories", body, **key)

    assert (here.status_code, there.status_code) == (201, 201)
    assert here.json()["memory_id"] != there.json()["memory_id"]
    assert (memories_of(office), memories_of(other_office)) == (1, 1)


@pytest.mark.rule("WR-06")
def test_what_is_not_live_absorbs_nothing(office):
    forgotten = kept(office.agent, BACKUP)
    done(office.agent.post(f"/memories/{forgotten}/forget", {"reason": "test"}))
    expired = kept(office.agent, "The freeze is on.", valid_until="2020-01-01T00:00:00Z")

    assert kept(office.agent, BACKUP) != forgotten
    assert kept(office.agent, "The freeze is on.") != expired
    assert seen(office.agent, forgotten)["lifecycle"] == "retired"


@pytest.mark.rule("WR-06", "SU-13")
def test_what_a_repeat_states_beside_its_text_still_applies(office):
    old = kept(office.agent, "The nightly backup starts at one.")
    other = kept(office.agent, "Backups are kept in Frankfurt.")
    first = kept(office.agent, BACKUP, tags=["ops"], subjects=["backup.time"])

    told = remember(
        office.agent,
        BACKUP,
        links=[*replacing(old), {"type": "relates_to", "dst": other}],
        tags=["billing", "ops"],
        subjects=["backup.schedule"],
        components=[{"subject": "backup.hour", "value": "2"}],
        depends_on=[other, "backup.tool"],
    )

    assert (told["absorbed"], told["memory_id"], told["superseded"]) == (True, first, [old])
    memory = seen(office.agent, first)
    assert memory["tags"] == ["ops", "billing"]
    assert memory["subjects"] == ["backup.time", "backup.schedule"]
    assert [(one["subject"], one["value"]) for one in memory["components"]] == [
        ("backup.hour", "2")
    ]
    assert memory["depends_on"] == [other, "backup.tool"]
    assert memory["supersedes"] == [old]
    assert {(link["type"], link["dst"]) for link in memory["links"]} == {
        ("supersedes", old),
        ("relates_to", other),
    }
    assert seen(office.agent, old)["superseded_by"] == first


@pytest.mark.rule("WR-06", "WR-09")
def test_repeating_oneself_adds_nothing_twice_and_no_confidence(office):
    other = kept(office.agent, "Backups are kept in Frankfurt.")
    parts = {
        "links": [{"type": "relates_to", "dst": other}],
        "components": [{"subject": "backup.hour", "value": "2"}],
        "depends_on": [other],
        "tags": ["ops"],
    }
    before = remember(office.agent, BACKUP, **parts)["memory"]

    for _ in range(4):
        remember(office.agent, BACKUP, **parts)
    after = remember(office.agent, BACKUP, **parts)["memory"]

    for name in ("evidence_confidence", "trust_state", "last_verified_at", "links", "depends_on"):
        assert after[name] == before[name]
    assert (after["components"], after["tags"]) == (before["components"], before["tags"])
    assert after["version"] == 1


@pytest.mark.rule("WR-06", "SU-17")
def test_a_repeat_of_higher_rank_replaces_the_lower_one(office):
    by_watcher = kept(office.watcher, BACKUP)
    by_agent = remember(office.agent, BACKUP)
    by_person = remember(office.senior, BACKUP, project="apollo")

    assert (by_agent["absorbed"], by_agent["superseded"]) == (False, [by_watcher])
    assert (by_person["absorbed"], by_person["superseded"]) == (False, [by_agent["memory_id"]])
    replaced = seen(office.senior, by_watcher)
    assert (replaced["lifecycle"], replaced["invalidated_reason"]) == ("superseded", "superseded")
    chain = {one["id"]: one for one in replaced["chain"]}
    assert chain[by_watcher]["supersede_reason"] == "duplicate"
    # And a lower one afterwards is taken in by the highest.
    for person in (office.watcher, office.agent):
        again = remember(person, BACKUP)
        assert (again["absorbed"], again["memory_id"]) == (True, by_person["memory_id"])


@pytest.mark.rule("RE-03", "WR-06")
def test_what_a_person_restored_stays_beside_a_repeat_of_higher_rank(office):
    by_agent = kept(office.agent, BACKUP)
    by_person = remember(office.senior, BACKUP, project="apollo")["memory_id"]
    done(office.senior.post(f"/memories/{by_agent}/restore"))

    remember(office.senior, BACKUP, project="apollo")

    assert seen(office.senior, by_agent)["lifecycle"] == "live"
    assert seen(office.senior, by_person)["lifecycle"] == "live"


@pytest.mark.rule("WR-07")
def test_a_capture_of_what_is_known_is_absorbed_and_its_text_is_kept(office):
    known = kept(office.agent, BACKUP)

    told = remember(office.watcher, CAPTURED, session="w1")

    assert (told["absorbed"], told["memory_id"]) == (True, known)
    memory = seen(office.agent, known)
    assert (memory["content"], memory["provenance_rank"]) == (BACKUP, 1)
    history = done(office.agent.get(f"/memories/{known}/history"))
    absorbed = history["events"][-1]
    assert absorbed["command"] == "absorb"
    assert absorbed["after"] == {"absorbed_text": CAPTURED, "session": "w1"}
    assert absorbed["actor"]["name"].startswith("watcher")


@pytest.mark.rule("WR-07", "WR-10")
@pytest.mark.parametrize(
    "captured",
    [
        "the nightly backup of the billing database starts at three",
        "the nightly backup of the billing database does not start at two",
        "the nightly backup of the billing database starts at two, see `pg_dump -Fc`",
    ],
    ids=["a number", "a negation", "a command"],
)
def test_a_capture_that_says_something_specific_of_its_own_is_kept(office, captured):
    known = kept(office.agent, BACKUP)

    told = remember(office.watcher, captured)

    assert (told["absorbed"], told["superseded"]) == (False, [])
    assert seen(office.agent, known)["lifecycle"] == "live"


@pytest.mark.rule("WR-07")
def test_only_what_the_same_owner_says_in_the_same_place_covers_a_capture(office):
    kept(office.colleague, BACKUP, project="apollo")
    kept(office.senior, BACKUP)
    kept(office.senior, BACKUP, project="apollo", visibility="private")
    captured_before = kept(office.watcher, CAPTURED)

    assert remember(office.watcher, CAPTURED + ".")["memory_id"] != captured_before
    known = kept(office.agent, BACKUP)
    assert remember(office.watcher, CAPTURED + " ...")["memory_id"] == known


@pytest.mark.rule("WR-07")
def test_a_capture_displaces_nothing_authoritative(office):
    by_agent = kept(office.agent, BACKUP, session="s")
    by_person = kept(office.senior, "Backups are kept in Frankfurt.", project="apollo", session="s")

    for text in (BACKUP, CAPTURED, "backups are kept in Frankfurt", "Backups are kept in Paris."):
        assert remember(office.watcher, text, session="s")["superseded"] == []

    for memory_id in (by_agent, by_person):
        assert seen(office.senior, memory_id)["lifecycle"] == "live"


@pytest.mark.rule("WR-08")
def test_a_restatement_in_the_same_session_replaces_the_earlier_wording(office):
    first = kept(office.agent, BACKUP, session="s1")

    told = remember(office.agent, BACKUP_AGAIN, session="s1")

    assert float(embed(BACKUP) @ embed(BACKUP_AGAIN)) >= current().bars.collapse
    assert (told["absorbed"], told["superseded"]) == (False, [first])
    assert told["conflicts"] == []
    replaced = seen(office.agent, first)
    assert replaced["superseded_by"] == told["memory_id"]
    assert replaced["chain"][0]["supersede_reason"] == "duplicate"


@pytest.mark.rule("WR-08", "NE-02")
@pytest.mark.parametrize(
    ("earlier", "later"),
    [({"session": "s1"}, {"session": "s2"}), ({}, {}), ({"session": "s1"}, {})],
    ids=["another session", "no session", "no session later"],
)
def test_a_restatement_from_elsewhere_leaves_both_and_shows_the_older_first(office, earlier, later):
    kept(office.agent, "The nightly report is sent at six.")
    first = kept(office.agent, BACKUP, **earlier)
    kept(office.agent, "The office is closed on Sundays.")

    told = remember(office.agent, BACKUP_AGAIN, **later)

    assert (told["absorbed"], told["superseded"]) == (False, [])
    assert told["similar_existing"][0]["id"] == first
    assert seen(office.agent, first)["lifecycle"] == "live"


@pytest.mark.rule("WR-08", "PO-01")
@pytest.mark.parametrize("kind", ["gotcha", "convention", "decision", "preference"])
def test_what_is_protected_is_never_collapsed(office, kind):
    first = kept(office.agent, BACKUP, session="s1", kind=kind)

    told = remember(office.agent, BACKUP_AGAIN, session="s1", kind=kind)

    assert told["superseded"] == []
    assert seen(office.agent, first)["lifecycle"] == "live"


@pytest.mark.rule("WR-08")
def test_neither_side_of_a_collapse_may_be_protected(office):
    fact = kept(office.agent, BACKUP, session="s1")
    told = remember(office.agent, BACKUP_AGAIN, session="s1", kind="gotcha")
    assert told["superseded"] == []

    other_kind = remember(office.agent, BACKUP_AGAIN + "\n.", session="s1", kind="reference")
    assert other_kind["superseded"] == [fact]


@pytest.mark.rule("WR-08", "WR-10")
def test_a_restatement_that_leaves_something_specific_out_replaces_nothing(office):
    first = kept(office.agent, BACKUP[:-1] + ", by `backup --all`.", session="s1")

    told = remember(office.agent, BACKUP, session="s1")

    assert told["superseded"] == []
    assert seen(office.agent, first)["lifecycle"] == "live"


@pytest.mark.rule("WR-08", "RE-03")
def test_what_a_person_restored_is_not_collapsed_again(office):
    first = kept(office.agent, BACKUP, session="s1")
    remember(office.agent, BACKUP_AGAIN, session="s1")
    done(office.senior.post(f"/memories/{first}/restore"))

    told = remember(office.agent, BACKUP_AGAIN + " .", session="s1")

    assert first not in told["superseded"]
    assert seen(office.agent, first)["lifecycle"] == "live"


@pytest.mark.rule("WR-06")
def test_a_repeat_brings_no_more_tags_than_a_memory_may_have(office):
    first = kept(office.agent, BACKUP, tags=[f"t{number}" for number in range(20)])

    answer = office.agent.post("/memories", {"content": BACKUP, "tags": ["one-more"]})

    refused(answer, 400, "validation_failed", "tags")
    assert commands(office.agent, first) == ["remember"]


@pytest.mark.rule("WR-06")
def test_a_repeat_states_what_was_only_read_out_of_the_text(office):
    first = remember(office.agent, "Staging listens on port 5433.")
    [suggested] = first["memory"]["suggested_components"]
    assert first["memory"]["components"] == []
    said = {name: suggested[name] for name in ("subject", "value")}
    again = remember(office.agent, "Staging listens on port 5433.", components=[said])
    assert again["absorbed"]
    assert [one["subject"] for one in again["memory"]["components"]] == [said["subject"]]
    assert again["memory"]["suggested_components"] == []
