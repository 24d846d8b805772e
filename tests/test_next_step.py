"""Of whatever is in doubt the call is named that settles it, to whom it is named for, and does."""

from datetime import UTC, datetime
from itertools import count

import pytest

from memory.models import Memory
from memory.trust.expiry import mark_what_expired
from tests.dirty import reported, states, verified
from tests.memories import done, kept, remember, replacing, row
from tests.people import REVIEW

NUMBERS = count(1)
# Whoever is told anything of it, from those who can do least.
EVERYBODY = (*("watcher", "contractor", "agent2", "colleague", "agent", "senior", "reviewer"),)
LONG_AGO = "2020-01-01T00:00:00Z"


class Case:
    """A memory that is in doubt, and what is really there."""

    def __init__(self, office) -> None:
        self.office = office
        self.at = f"doubt.n{next(NUMBERS)}"
        self.values: dict[str, list[str]] = {}

    def written(self, *parts, by=None, **more):
        """Return a memory that states these, written by the senior."""
        components = []
        for name, *values in parts:
            self.values[f"{self.at}.{name}"] = values
            for value in values:
                said = {"subject": f"{self.at}.{name}", "value": value, "multi": len(values) > 1}
                components.append(said)
        content = f"The quokka of {self.at}."
        more = {"project": "apollo", "components": components, **more}
        return remember(by or self.office.senior, content, **more)["memory_id"]

    def moved(self, name):
        reported(self.office.colleague, f"{self.at}.{name}")


def marked_component(case):
    memory = case.written(("a", "1"), ("b", "2"))
    case.moved("a")
    return memory


def marked_components(case):
    memory = case.written(("a", "1"), ("b", "2"), ("c", "3"))
    case.moved("a")
    case.moved("c")
    return memory


def marked_values(case):
    memory = case.written(("a", "1", "2", "3"), ("b", "2"))
    case.moved("a")
    return memory


def marked_value_and_another(case):
    memory = case.written(("a", "1"), ("b", "2", "3"))
    case.moved("a")
    case.moved("b")
    return memory


def marked_values_that_were_said_later(case):
    memory = case.written(("a", "1"))
    assert case.written(("a", "1", "2")) == memory
    case.moved("a")
    return memory


def marked_value_in_two_ways_of_writing(case):
    memory = case.written(("a", "5,433"), ("b", "1"))
    assert case.written(("a", "5433")) == memory
    case.moved("a")
    return memory


def marked_without_a_value(case):
    memory = case.written(components=[{"subject": f"{case.at}.a"}])
    case.values[f"{case.at}.a"] = ["whatever"]
    case.moved("a")
    return memory


def marked_by_its_subject(case):
    memory = case.written(subjects=[f"{case.at}.z"])
    case.moved("z")
    return memory


def marked_by_its_subject_and_states_something(case):
    memory = case.written(("a", "1"), ("b", "2", "3"), subjects=[f"{case.at}.z"])
    case.moved("z")
    return memory


def rests_on_a_subject(case):
    memory = case.written(("a", "1"), ("b", "2"), depends_on=[f"{case.at}.z"])
    case.moved("z")
    return memory


def _base(case, **more):
    case.values[f"{case.at}.z"] = ["9"]
    return states(case.office.senior, f"{case.at}.z", "9", content=f"Base of {case.at}.", **more)


def rests_on_what_changed(case):
    memory = case.written(depends_on=[_base(case)])
    case.moved("z")
    return memory


def rests_on_what_changed_and_states_something(case):
    memory = case.written(("a", "1"), depends_on=[_base(case)])
    case.moved("z")
    return memory


def rests_on_what_rests_on_what_changed(case):
    between = kept(
        case.office.senior, f"Between {case.at}.", project="apollo", depends_on=[_base(case)]
    )
    memory = case.written(depends_on=[between])
    case.moved("z")
    return memory


def rests_on_two_that_changed(case):
    other = kept(
        case.office.senior, f"Other of {case.at}.", project="apollo", subjects=[f"{case.at}.z"]
    )
    memory = case.written(("a", "1"), depends_on=[_base(case), other])
    case.moved("z")
    return memory


def is_marked_and_rests_on_what_changed(case):
    memory = case.written(("a", "1"), depends_on=[_base(case)])
    case.moved("a")
    case.moved("z")
    return memory


def rests_on_what_was_replaced(case):
    base = _base(case)
    memory = case.written(("a", "1"), depends_on=[base])
    kept(case.office.senior, f"New {case.at}.", project="apollo", links=replacing(base))
    return memory


def rests_on_what_is_disputed(case):
    base = _base(case)
    memory = case.written(depends_on=[base])
    done(case.office.colleague.post(f"/memories/{base}/challenge", {"reason": "I doubt it."}))
    return memory


def rests_on_what_has_ended(case):
    base = _base(case)
    memory = case.written(("a", "1"), depends_on=[base])
    Memory.objects.using("owner").filter(id=row(base).id).update(valid_until=datetime.now(UTC))
    mark_what_expired()
    return memory


def misled(case):
    memory = case.written(("a", "1"))
    for person in (case.office.colleague, case.office.contractor):
        done(person.post(f"/memories/{memory}/misled", {"reason": "It was wrong."}))
    return memory


def misled_and_marked(case):
    memory = misled(case)
    case.moved("a")
    return memory


def found_to_be_otherwise(case):
    memory = case.written(("a", "1"))
    seen = {"components": [f"{case.at}.a"], "observed_value": "7"}
    verified(case.office.colleague, memory, "refuted", method="external_recheck", **seen)
    return memory


def captured(case):
    return case.written(by=case.office.watcher)


def captured_with_something_stated(case):
    return case.written(("a", "1"), ("b", "2", "3"), by=case.office.watcher)


def captured_with_values_that_were_said_later(case):
    memory = case.written(("a", "1"), by=case.office.watcher)
    assert case.written(("a", "1", "2"), by=case.office.watcher) == memory
    return memory


def captured_and_marked(case):
    memory = case.written(("a", "1"), by=case.office.watcher)
    case.moved("a")
    return memory


def challenged(case):
    memory = case.written(("a", "1"))
    done(case.office.colleague.post(f"/memories/{memory}/challenge", {"reason": "I doubt it."}))
    return memory


def contradicted(case):
    memory = case.written(("a", "1"), kind="convention")
    other = {"subject": f"{case.at}.a", "value": "2"}
    kept(
        case.office.colleague,
        f"It is two: {case.at}.",
        project="apollo",
        kind="convention",
        components=[other],
    )
    return memory


def overdue(case):
    memory = case.written(("a", "1"), ("b", "2"))
    soon = datetime.now(UTC).isoformat()
    done(case.office.senior.patch(f"/memories/{memory}", {"review_after": soon}))
    return memory


def overdue_with_nothing_stated(case):
    memory = case.written()
    soon = datetime.now(UTC).isoformat()
    done(case.office.senior.patch(f"/memories/{memory}", {"review_after": soon}))
    return memory


def looked_at_in_vain(case):
    memory = marked_component(case)
    verified(case.office.colleague, memory, "inconclusive", method="command")
    return memory


CASES = [
    *(marked_component, marked_components, marked_values, marked_value_and_another),
    *(marked_values_that_were_said_later, marked_value_in_two_ways_of_writing),
    *(marked_without_a_value, marked_by_its_subject, marked_by_its_subject_and_states_something),
    *(rests_on_a_subject, rests_on_what_changed, rests_on_what_changed_and_states_something),
    *(rests_on_what_rests_on_what_changed, rests_on_two_that_changed),
    *(is_marked_and_rests_on_what_changed, rests_on_what_was_replaced, rests_on_what_is_disputed),
    *(rests_on_what_has_ended, misled, misled_and_marked, found_to_be_otherwise, captured),
    *(captured_with_something_stated, captured_with_values_that_were_said_later),
    *(captured_and_marked, challenged, contradicted, overdue),
    *(overdue_with_nothing_stated, looked_at_in_vain),
]


def asked(person, memory, consequence="high", **more):
    """Return how the memory is told."""
    body = {"query": "Which quokka?", "project": "apollo", "k": 100, "consequence": consequence}
    found = done(person.post("/recall", {**body, **more}))["results"]
    (told,) = [one for one in found if one["memory_id"] == memory]
    return told


def made(person, case, memory, how, spent):
    """Return the answer to exactly the call that is named, with what is really there filled in."""
    said = dict(how["arguments"])
    if how["tool"] == "verify":
        said |= {"outcome": "confirmed", "method": "command"}
    if how["tool"] == "resolve_conflict":
        said["winner"] = memory
    if "observed_value" in said:
        (subject,) = said["components"]
        values = case.values[subject]
        left = [one for one in values if (subject, one) not in spent] or values
        said["observed_value"] = left[0]
        spent.add((subject, left[0]))
    return person.post(how["path"].removeprefix("/api/v1"), said)


def is_settled(told):
    return not told["withheld"] and told["how_to_verify"] is None


def told_elsewhere_too(person, memory, told):
    """Where little hangs on it, and before work begins, the same call is named."""
    low = asked(person, memory, "normal")
    if told["trust_state"] == "conflicted":
        assert low["how_to_verify"] is None
        return
    assert low["how_to_verify"] == told["how_to_verify"]
    brief = done(person.get("/briefing", {"project": "apollo"}))["to_verify"]
    calls = {one["memory_id"]: one["how_to_verify"] for one in brief}
    assert None not in calls.values()
    expected = None if told["trust_state"] == "proposed" else told["how_to_verify"]
    assert calls.get(memory) == expected


@pytest.mark.rule("RC-07", "VE-06", "VE-05", "TR-06", "DI-07", "RC-15")
@pytest.mark.parametrize("make", CASES)
def test_the_call_that_is_named_settles_it_for_whom_it_is_named(office, make):
    """And whom it is not named for is told who has to act: for them it settles nothing."""
    who_could = set()
    for name in EVERYBODY:
        case, person = Case(office), getattr(office, name)
        memory = make(case)
        spent: set[tuple[str, str]] = set()
        told = asked(person, memory)
        assert not is_settled(told)
        how = told["how_to_verify"]
        assert how["who"]
        if person is office.senior:
            told_elsewhere_too(person, memory, told)
        if not how["yours"]:
            made(person, case, memory, how, spent)
            assert not is_settled(asked(person, memory)), (name, how)
            continue
        who_could.add(name)
        for _ in range(10):
            answer = made(person, case, memory, how, spent)
            assert answer.status_code == 200, (name, how, answer.content)
            told = asked(person, memory)
            how = told["how_to_verify"]
            if how is None or not how["yours"]:
                break
        # Something else may stand in its way that is another's to decide.
        assert is_settled(told) or (make is misled_and_marked and not how["yours"]), (name, told)
    assert {"senior", "reviewer"} & who_could


@pytest.mark.rule("RC-07")
def test_who_only_reads_is_told_that_others_have_to_act(office):
    for make in (marked_component, rests_on_what_changed, misled, captured, contradicted):
        how = asked(office.viewer, make(Case(office)))["how_to_verify"]

        assert not how["yours"]
        assert how["who"]


@pytest.mark.rule("RC-07")
def test_the_text_says_what_the_call_does(office):
    def said(make):
        case = Case(office)
        memory = make(case)
        told = asked(office.senior, memory)
        return case, told["how_to_verify"], told["safe_rendering"]

    case, how, text = said(marked_components)
    assert text.endswith(f"verify {case.at}.c, {case.at}.a first.")
    assert set(how["arguments"]["components"]) == {f"{case.at}.a", f"{case.at}.c"}
    _, how, text = said(misled)
    assert text.endswith(f"resolve {how['dispute_id']} first.")
    case, how, text = said(rests_on_what_changed_and_states_something)
    assert text.endswith(f"verify {how['memory_id']} first.")
    assert f"{case.at}.a" not in text
    case, how, text = said(rests_on_what_was_replaced)
    assert text.endswith("; verify it first.")
    assert f"{case.at}.a" not in text


@pytest.mark.rule("RC-07", "VE-02")
def test_that_each_value_takes_a_call_of_its_own_is_said(office):
    case = Case(office)
    memory = marked_values(case)

    low, high = (asked(one, memory)["how_to_verify"] for one in (office.contractor, office.senior))

    assert low["arguments"]["observed_value"] == "one of its values that is there now"
    assert low["more"] == f"A call for each value of {case.at}.a."
    # Who is taken at their word says it of all of them at once.
    assert "observed_value" not in high["arguments"]
    assert f"every value of {case.at}.a" in high["more"]


@pytest.mark.rule("RC-07", "RC-10")
def test_where_no_call_helps_none_is_named_and_why_is_said(office):
    case = Case(office)
    coming = case.written(("a", "1"), valid_from="2099-01-01T00:00:00Z")
    disputed = challenged(Case(office))
    then = datetime.now(UTC).isoformat()
    dispute = asked(office.senior, disputed)["dispute_id"]
    done(office.reviewer.post(f"/conflicts/{dispute}/resolve", {"winner": disputed}))

    yet = asked(office.senior, coming)["how_to_verify"]
    since = asked(office.senior, disputed, as_of=then)["how_to_verify"]

    for how in (yet, since):
        assert (how["tool"], how["path"], how["arguments"], how["yours"]) == (None, None, {}, False)
    assert "2099-01-01" in yet["who"]
    assert "as_of" in since["who"]


@pytest.mark.rule("RC-07", "TR-06")
def test_who_reviews_and_is_no_match_for_its_author_accepts_a_capture(office):
    lead = office.person("lead", level=50, grants=[(office.apollo, REVIEW)])
    low = office.person("low", level=10, grants=[(office.apollo, REVIEW)])
    case = Case(office)
    memory = case.written(by=office.bot("camera", lead, level=50, kind="watcher"))

    how = asked(low, memory)["how_to_verify"]
    assert (how["tool"], how["path"]) == (None, f"/api/v1/memories/{memory}/accept")
    assert how["yours"]
    done(made(low, case, memory, how, set()))
    assert is_settled(asked(low, memory))


@pytest.mark.rule("RC-02", "RC-05", "RC-07")
def test_a_clean_part_is_told_though_another_is_marked(office):
    case = Case(office)
    memory = marked_component(case)
    asked_about = {"subjects": [f"{case.at}.b"]}
    today = f"{datetime.now(UTC):%Y-%m-%d}"

    low = asked(office.senior, memory, "normal", **asked_about)
    high = asked(office.senior, memory, **asked_about)
    other = asked(office.senior, memory, "normal", subjects=[f"{case.at}.a"])

    assert low["safe_rendering"].startswith(f"{case.at}.b was last verified as 2 on {today}. ")
    assert f"{case.at}.a changed" in low["safe_rendering"]
    assert other["safe_rendering"].startswith(f"{case.at}.a was last verified as 1 on {today}. ")
    assert high["withheld"]
    assert "first" not in high["safe_rendering"]
    assert high["safe_rendering"].startswith("Withheld because of what was not asked about. ")
    assert high["how_to_verify"]["arguments"]["components"] == [f"{case.at}.a"]
    elsewhere = asked(office.senior, memory, "normal", subjects=["elsewhere.x"])
    assert elsewhere["safe_rendering"].startswith(f"As of {today}: The quokka")
