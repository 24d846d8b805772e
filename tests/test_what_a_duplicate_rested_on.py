"""What a duplicate rested on is not lost with it: what says the same rests on it from then on."""

import pytest

from tests.dirty import reported, states, trust, verified
from tests.judging import live, work
from tests.memories import done, kept, remember, replacing, seen
from tests.people import WRITE
from tests.test_said_again import BETTER
from tests.test_said_again import TEXT as FIRST
from tests.test_sweep import swept, written

pytestmark = pytest.mark.rule("PO-06", "PO-11", "SB-05", "SB-07", "DE-08")

TEXT = "Rotate the signing key."


def tied(person, what, base, text=TEXT):
    """Return a memory of this text that rests on another."""
    if what == "depends_on":
        return kept(person, text, project="apollo", depends_on=[base])
    links = [{"type": what.removeprefix("link "), "dst": base}]
    return kept(person, text, project="apollo", links=links)


def hidden(person):
    return states(person, "vault.door", "open", content="Mine alone.", visibility="private")


def settled(office, what="depends_on"):
    """Return what only the colleague may read, what rested on it, and what says the same now."""
    base = hidden(office.colleague)
    old = tied(office.colleague, what, base)
    new = kept(office.senior, TEXT, project="apollo")
    work(office)
    assert live(office.senior, [old, new]) == [new]
    return base, old, new


def replaced(person, base):
    return kept(person, "Another.", project="apollo", visibility="private", links=replacing(base))


WAYS = ["depends_on", "link depends_on", "link derived_from"]


@pytest.mark.parametrize("what", WAYS)
def test_what_happens_to_it_is_told_to_what_says_the_same_now(office, what):
    base, _old, new = settled(office, what)
    further = kept(office.senior, "Further.", project="apollo", depends_on=[new])

    replaced(office.colleague, base)

    assert [trust(office.senior, one) for one in (new, further)] == ["dirty", "dirty"]
    (mark,) = seen(office.colleague, new)["marks"]
    assert (mark["cause"], mark["cause_memory"], mark["path"]) == ("superseded", base, [base])
    verified(office.senior, new)
    assert [trust(office.senior, one) for one in (new, further)] == ["verified", "verified"]


def test_who_may_not_read_it_learns_no_more_than_before(office):
    base, _old, new = settled(office)
    replaced(office.colleague, base)

    told = seen(office.senior, new)

    assert (told["depends_on"], base in str(told)) == ([], False)
    (mark,) = told["marks"]
    assert (mark["cause_memory"], mark["path"]) == (None, [])
    assert told["dirty_reason"].startswith("Something that it depends on was superseded")


@pytest.mark.parametrize("looked", ["before", "after"])
def test_a_change_reaches_it_and_a_look_clears_it(office, looked):
    base, _old, new = settled(office)
    if looked == "before":
        verified(office.colleague, base)
    reported(office.colleague, "vault.door")
    assert trust(office.senior, new) == "dirty"

    verified(office.colleague, base)

    assert trust(office.senior, new) == "verified"


@pytest.mark.rule("RE-01", "RE-02")
@pytest.mark.parametrize("what", WAYS)
def test_it_goes_back_with_what_is_restored(office, what):
    base, old, new = settled(office, what)
    replaced(office.colleague, base)
    assert trust(office.senior, new) == "dirty"

    done(office.colleague.post(f"/memories/{old}/restore"))

    assert [trust(office.senior, one) for one in (old, new)] == ["dirty", "verified"]
    assert seen(office.senior, new)["marks"] == []


@pytest.mark.parametrize("what", WAYS[1:])
def test_a_link_that_is_taken_away_takes_the_marks_along(office, what):
    base, old, new = settled(office, what)
    (link,) = [one for one in seen(office.colleague, old)["links"] if one["dst"] == base]
    replaced(office.colleague, base)

    done(office.colleague.delete(f"/links/{link['id']}"))

    assert trust(office.senior, new) == "verified"


def test_what_was_in_doubt_stays_in_doubt_for_what_says_the_same(office):
    """For what was written before; what is written in full knowledge of it is as new as that."""
    base = hidden(office.contractor)
    new = kept(office.senior, TEXT, project="apollo")
    (old,) = written(office.contractor, TEXT, depends_on=[base])
    replaced(office.contractor, base)
    assert [trust(office.senior, one) for one in (old, new)] == ["dirty", "verified"]

    swept(office.senior)

    assert live(office.senior, [old, new]) == [new]
    assert trust(office.senior, new) == "dirty"


@pytest.mark.rule("RE-01")
def test_it_passes_through_as_many_as_say_the_same_after_each_other(office):
    base, _old, new = settled(office)
    third = office.person("third", grants=[(office.apollo, WRITE)])
    last = kept(third, TEXT, project="apollo")
    work(office)
    assert live(office.senior, [new, last]) == [last]

    replaced(office.colleague, base)

    assert trust(office.senior, last) == "dirty"
    done(office.senior.post(f"/memories/{new}/restore"))
    assert [trust(office.senior, one) for one in (new, last)] == ["dirty", "verified"]


@pytest.mark.rule("WR-08")
@pytest.mark.parametrize("link_type", ["depends_on", "derived_from"])
def test_nor_is_a_link_lost_where_its_own_author_says_it_a_little_better(office, link_type):
    base = states(office.senior, "build.start", "two", content="The clock of the builds.")
    old = kept(office.senior, FIRST, project="apollo", session="s")
    done(office.senior.post("/links", {"src": old, "dst": base, "type": link_type}))
    answer = remember(office.senior, BETTER, project="apollo", session="s")
    assert answer["superseded"] == [old]

    kept(office.senior, "Another clock.", project="apollo", links=replacing(base))

    assert trust(office.senior, answer["memory_id"]) == "dirty"
