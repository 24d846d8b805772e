"""Evidence confidence: what raises it, what does not, and where it comes from."""

import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from memory.trust.confidence import SELF_ATTESTED, WHILE_CONFLICTED, Sources, confidence_of
from tests.dirty import reported, states, verified
from tests.memories import MISSING, done, kept, remember, seen
from tests.people import WRITE, Office, Person

PEOPLE = [uuid.uuid4() for _ in range(12)]
SOME = st.frozensets(st.sampled_from(PEOPLE))


def confidence(office: Office, memory_id: str) -> float:
    return float(seen(office.reviewer, memory_id)["evidence_confidence"])


def others(office: Office, count: int) -> list[Person]:
    return [office.person(f"other{one}", grants=[(office.apollo, WRITE)]) for one in range(count)]


@pytest.mark.rule("TR-04")
@given(attested=st.booleans(), verifying=SOME, same=SOME, conflicted=st.booleans())
def test_it_lies_between_nothing_and_certainty_and_is_capped_in_conflict(
    attested, verifying, same, conflicted
):
    value = confidence_of(Sources(attested, verifying, same - verifying), conflicted=conflicted)

    assert 0 < value <= 1
    if conflicted:
        assert value <= WHILE_CONFLICTED


@pytest.mark.rule("TR-04")
@given(attested=st.booleans(), verifying=SOME, same=SOME, new=st.sampled_from(PEOPLE))
def test_another_source_never_lowers_it_and_verifying_beats_saying_the_same(
    attested, verifying, same, new
):
    same = same - verifying - {new}
    verifying = verifying - {new}
    before = confidence_of(Sources(attested, verifying, same), conflicted=False)
    repeated = confidence_of(Sources(attested, verifying, same | {new}), conflicted=False)
    looked = confidence_of(Sources(attested, verifying | {new}, same), conflicted=False)

    assert before < repeated < looked


@pytest.mark.rule("TR-02", "TR-04")
def test_verified_by_others_is_more_than_repeated_is_more_than_said_is_more_than_captured(office):
    captured = kept(office.watcher, "Captured by the way.")
    said = states(office.senior, "app.a", "1")
    repeated = kept(office.senior, "The sky over the office is blue.", project="apollo")
    kept(office.colleague, "The sky over the office is blue.", project="apollo")
    looked = states(office.senior, "app.b", "1")
    verified(office.colleague, looked, method="command", observed_value="1", evidence="ran it")

    values = [confidence(office, one) for one in (captured, said, repeated, looked)]

    assert values == sorted(set(values))
    assert values[0] >= 0
    assert values[-1] <= 1


@pytest.mark.rule("TR-04")
def test_the_same_source_counts_once(office):
    memory = states(office.senior, "app.a", "1")
    verified(office.colleague, memory)
    once = confidence(office, memory)

    for _ in range(3):
        verified(office.colleague, memory, method="file", observed_value="1", evidence="again")
    agent = office.bot("theirs", office.colleague)
    verified(agent, memory, method="command", observed_value="1")

    assert confidence(office, memory) == once


@pytest.mark.rule("TR-04")
def test_every_further_source_raises_it(office):
    memory = states(office.senior, "app.a", "1")
    values = [confidence(office, memory)]
    for person in others(office, 4):
        verified(person, memory)
        values.append(confidence(office, memory))

    assert values == sorted(set(values))


@pytest.mark.rule("TR-04")
@pytest.mark.parametrize("who", ["senior", "agent"])
def test_attesting_again_by_its_own_side_never_raises_it(office, who):
    memory = states(office.senior, "app.a", "1")
    before = confidence(office, memory)

    verified(getattr(office, who), memory, method="command", observed_value="1", evidence="ran it")

    assert confidence(office, memory) == before


@pytest.mark.rule("TR-04", "VE-06")
def test_a_bare_word_of_a_lower_level_counts_as_saying_the_same(office):
    memory = states(office.senior, "app.a", "1")
    before = confidence(office, memory)

    verified(office.contractor, memory)
    bare = confidence(office, memory)
    verified(office.contractor, memory, method="command", observed_value="1", evidence="ran it")

    assert before < bare < confidence(office, memory)


@pytest.mark.rule("TR-04", "VE-06")
def test_a_bare_word_takes_nothing_back_of_what_was_shown_before(office):
    memory = states(office.senior, "app.a", "1")
    seen_there = {"method": "command", "observed_value": "1", "evidence": "ran it"}
    verified(office.contractor, memory, **seen_there)
    shown = confidence(office, memory)

    verified(office.contractor, memory)
    assert confidence(office, memory) == shown
    verified(office.contractor, memory, "inconclusive")
    assert confidence(office, memory) == shown
    # But what they have refuted since, a bare word does not show again.
    told = verified(office.contractor, memory, "refuted", method="command", observed_value="2")
    done(office.reviewer.post(f"/conflicts/{told['conflict']['id']}/resolve", {"keep_both": True}))
    verified(office.contractor, memory)
    assert SELF_ATTESTED < confidence(office, memory) < shown


@pytest.mark.rule("TR-04", "VE-04")
def test_who_refuted_it_since_speaks_for_it_no_more(office):
    memory = states(office.senior, "app.a", "1")
    before = confidence(office, memory)
    verified(office.colleague, memory)
    told = verified(office.colleague, memory, "refuted", method="command", observed_value="2")
    assert confidence(office, memory) == WHILE_CONFLICTED

    done(office.reviewer.post(f"/conflicts/{told['conflict']['id']}/resolve", {"keep_both": True}))

    assert confidence(office, memory) == before


@pytest.mark.rule("TR-04")
def test_it_is_capped_while_conflicted_and_comes_back(office):
    memory = states(office.senior, "app.a", "1")
    verified(office.colleague, memory)
    before = confidence(office, memory)
    told = done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "No."}))
    assert confidence(office, memory) <= WHILE_CONFLICTED < before

    done(office.reviewer.post(f"/conflicts/{told['dispute_id']}/resolve", {"winner": memory}))

    assert confidence(office, memory) == before


@pytest.mark.rule("TR-03", "TR-04", "TR-05")
def test_dirt_importance_and_reading_do_not_touch_it(office):
    memory = states(office.senior, "app.a", "1")
    before = confidence(office, memory)

    reported(office.colleague, "app.a")
    done(office.senior.patch(f"/memories/{memory}", {"importance": 1, "tags": ["pinned"]}))
    for _ in range(5):
        done(office.senior.post("/recall", {"query": "app.a", "project": "apollo"}))

    assert confidence(office, memory) == before


@pytest.mark.rule("WR-09", "TR-04")
def test_a_repeat_by_somebody_else_counts_for_both_and_once(office):
    text = {"content": "Invoices are sent on the first.", "project": "apollo"}
    first = done(office.senior.post("/memories", text))["memory_id"]
    second = done(office.colleague.post("/memories", text))["memory_id"]
    once = confidence(office, first)
    assert first != second
    assert once == confidence(office, second) > 0.5

    done(office.colleague.post("/memories", text))
    assert remember(office.bot("theirs", office.colleague), **text)["absorbed"]

    assert confidence(office, first) == once


@pytest.mark.rule("WR-09")
def test_a_repeat_by_the_same_source_or_a_watcher_counts_for_nothing(office):
    text = {"content": "Invoices are sent on the first.", "project": "apollo"}
    memory = done(office.senior.post("/memories", text))["memory_id"]

    assert remember(office.senior, **text)["absorbed"]
    done(office.agent.post("/memories", text))
    done(office.bot("capture", office.colleague, kind="watcher").post("/memories", text))

    assert confidence(office, memory) == 0.5


@pytest.mark.rule("WR-09", "DE-08")
def test_what_not_all_may_read_corroborates_nothing(office):
    text = "Invoices are sent on the first."
    memory = kept(office.senior, text, project="apollo")
    kept(office.colleague, text, project="apollo", visibility="private")
    kept(office.colleague, text)

    assert confidence(office, memory) == 0.5


@pytest.mark.rule("WR-10")
def test_another_number_is_no_repeat(office):
    memory = kept(office.senior, "Invoices are sent on day 1.", project="apollo")
    kept(office.colleague, "Invoices are sent on day 2.", project="apollo")

    assert confidence(office, memory) == 0.5


@pytest.mark.rule("TR-04")
def test_a_command_works_it_out_from_the_rows(office):
    memory = states(office.senior, "app.a", "1")
    verified(office.colleague, memory, method="command", observed_value="1", evidence="ran it")
    verified(office.contractor, memory)
    out = StringIO()

    call_command("evidence_confidence", memory, stdout=out)

    lines = out.getvalue().splitlines()
    assert lines[-1] == f"evidence_confidence {confidence(office, memory)}"
    assert sum(line.startswith("ver_") for line in lines) == 2
    done(office.colleague.post(f"/memories/{memory}/challenge", {"reason": "No."}))
    out = StringIO()
    call_command("evidence_confidence", memory, stdout=out)
    assert out.getvalue().splitlines()[-2:] == ["in an open conflict", "evidence_confidence 0.4"]


@pytest.mark.parametrize("wrong", [MISSING, "mem_x", "evt_01h455vb4pex5vsknk084sn02q"])
def test_the_command_says_what_is_wrong(wrong):
    with pytest.raises(CommandError):
        call_command("evidence_confidence", wrong, stdout=StringIO())


@pytest.mark.rule("TR-04", "VE-02")
def test_who_looked_at_one_component_has_not_looked_at_the_others(office):
    subjects = ["app.a", "app.b", "app.c"]
    memory = kept(
        office.senior,
        "Three parts.",
        project="apollo",
        components=[{"subject": one, "value": "1"} for one in subjects],
    )
    whole = states(office.senior, "app.d", "1")
    said = confidence(office, memory)
    verified(office.colleague, whole, method="command", observed_value="1")

    for subject in subjects:
        assert confidence(office, memory) == said
        verified(
            office.colleague, memory, method="command", observed_value="1", components=[subject]
        )

    assert confidence(office, memory) == confidence(office, whole) > said
    out = StringIO()
    call_command("evidence_confidence", memory, stdout=out)
    assert out.getvalue().splitlines()[-1] == f"evidence_confidence {confidence(office, memory)}"
