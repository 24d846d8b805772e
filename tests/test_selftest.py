"""The self-test of a judge: what counts as wrong, and who is certified."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from bench.conflicts import SupersedesAlways, measure
from bench.pair_set import LabelledPair, Note, Relation, Shape, Winner, load
from hygiene.judge import Exhibit, Opinion, Said, Unusable
from hygiene.pair_set import sample
from hygiene.rules_judge import RulesJudge
from hygiene.selftest import Report, run
from hygiene.selftest_table import table
from memory.conflict.policy import Bars, Deed

pytestmark = pytest.mark.rule("PO-18")


class Answering:
    """A judge that says what it is told to say."""

    prompt_version = "test"
    likeness = ""

    def __init__(self, says: Callable[[Exhibit, Exhibit], Opinion], judge_id: str = "told") -> None:
        self.id = judge_id
        self.compare = says


def _always(relation: Said, confidence: float = 1.0) -> Answering:
    return Answering(lambda _older, _newer: Opinion(relation, confidence, "Told.", tokens_in=7))


def _pair(
    relation: Relation = Relation.COMPLEMENTARY,
    winner: Winner = Winner.BOTH,
    *,
    kind: str = "fact",
    must_keep: tuple[str, ...] = (),
) -> LabelledPair:
    return LabelledPair(
        id="a-001",
        shape=Shape.VALUE_CHANGE,
        language="en",
        older=Note(kind, "The gate opens at dawn.", 1, 20),
        newer=Note(kind, "The gate opens at noon.", 1, 20),
        relation=relation,
        winner=winner,
        must_keep=must_keep,
        why="For the test.",
        held_out=False,
    )


def _label_of(pairs: list[LabelledPair]) -> Callable[[Exhibit, Exhibit], Opinion]:
    labels = {(pair.older.content, pair.newer.content): pair.relation for pair in pairs}
    return lambda older, newer: Opinion(
        Said(labels[older.content, newer.content].value), 1.0, "By the label."
    )


def test_to_retire_what_should_stay_is_a_false_invalidation():
    report = run(_always(Said.B_SUPERSEDES_A), [_pair()])

    assert (report.false_invalidations, report.retirements, report.protected_lost) == (1, 1, 0)


def test_to_retire_the_loser_is_right():
    right = _pair(Relation.B_SUPERSEDES_A, Winner.NEWER)

    report = run(_always(Said.B_SUPERSEDES_A), [right])

    assert (report.false_invalidations, report.retirements, report.found_rate) == (0, 1, 1.0)


def test_a_loser_that_takes_with_it_what_must_be_kept_is_one_too():
    losing = _pair(Relation.B_SUPERSEDES_A, Winner.NEWER, must_keep=("at dawn",))

    assert run(_always(Said.B_SUPERSEDES_A), [losing]).false_invalidations == 1


def test_a_dispute_is_never_wrong_and_finds():
    clashing = _pair(Relation.CONTRADICTION, Winner.PERSON, kind="gotcha")

    report = run(_always(Said.CONTRADICTION), [clashing])

    assert report.results[0].action.deed is Deed.DISPUTE
    assert (report.false_invalidations, report.missed, report.noise) == (0, 0, 0)


def test_a_dispute_about_what_goes_together_is_needless():
    report = run(_always(Said.CONTRADICTION, 0.5), [_pair()])

    assert (report.false_invalidations, report.noise, report.compatible) == (0, 1, 1)


def test_a_contradiction_that_nobody_is_told_of_is_missed():
    report = run(_always(Said.COMPLEMENTARY), [_pair(Relation.CONTRADICTION, Winner.NEWER)])

    assert (report.missed, report.found_rate) == (1, 0.0)


def test_no_usable_answer_is_a_dispute_and_costs_its_tokens():
    def says(_older: Exhibit, _newer: Exhibit) -> Opinion:
        raise Unusable("not JSON", 30, 5)

    report = run(Answering(says), [_pair(Relation.CONTRADICTION, Winner.NEWER)])

    assert report.results[0].said == "unusable"
    assert report.missed == 0
    assert (report.tokens_in, report.tokens_out) == (30, 5)
    assert report.cost(1_000_000, 2_000_000) == 40


def test_without_certification_nothing_is_retired():
    report = run(_always(Said.B_SUPERSEDES_A), [_pair()], Bars(certified=False))

    assert (report.retirements, report.noise) == (0, 1)


def test_who_says_what_the_labels_say_is_certified():
    pairs = load()

    report = run(Answering(_label_of(pairs)), pairs)

    assert report.is_certified
    assert (report.false_invalidations, report.missed, report.noise) == (0, 0, 0)


@pytest.mark.rule("PO-01")
def test_not_even_the_worst_judge_loses_a_protected_memory():
    report = run(SupersedesAlways(), load())

    assert report.protected_lost == 0
    assert report.false_invalidations > 0
    assert not report.is_certified
    assert "false invalidations" in report.why_not_certified[0]


def test_too_few_pairs_certify_nobody():
    pairs = load()[:199]

    report = run(Answering(_label_of(pairs)), pairs)

    assert report.why_not_certified == ("199 pairs, fewer than 200",)


@pytest.mark.parametrize(("judge_id", "is_certified"), [("openai:some", False), ("rules", True)])
def test_a_model_must_find_more_than_the_rules(judge_id: str, is_certified: bool):
    pairs = [replace(_pair(), id=f"a-{number}") for number in range(300)]
    clashing = [
        replace(pair, relation=Relation.CONTRADICTION, winner=Winner.NEWER) for pair in pairs[:100]
    ]
    found = run(_always(Said.CONTRADICTION, 0.5), clashing[:70]).results
    missed = run(_always(Said.UNRELATED), clashing[70:]).results
    rest = run(_always(Said.UNRELATED), pairs[100:]).results

    report = Report(judge_id, "test", found + missed + rest)

    assert report.found_rate == pytest.approx(0.7)
    assert report.is_certified is is_certified


def test_the_table_tells_both_rates_and_the_verdict():
    written = table(run(RulesJudge(), load()), per_million=(1.0, 2.0))

    assert "contradictions found" in written
    assert "contradictions missed" in written
    wrong = f"false invalidations     0.0% of {len(load())} pairs, 0.0% of "
    assert wrong in written
    assert written.endswith("Certified.")
    assert "additive_list" in written
    short = table(run(RulesJudge(), load()[:20]))
    assert "Not certified: 20 pairs" in short


def test_the_benchmark_sets_the_judge_beside_the_near_neighbours(monkeypatch):
    monkeypatch.delenv("JUDGE", raising=False)

    measured = measure(quick=True)["B13"]

    assert measured["value"] == 0
    assert measured["against"] > 0
    assert set(measured["judges"]) == {"any near neighbour", "rules", "supersedes 1.0 always"}
    assert measured["judges"]["supersedes 1.0 always"]["all"]["protected_lost"] == 0


def test_wrong_retirements_are_told_of_all_pairs_and_of_those_retired():
    right = _pair(Relation.B_SUPERSEDES_A, Winner.NEWER)
    wrong, left = _pair(), replace(_pair(), id="a-002")
    retiring = run(_always(Said.B_SUPERSEDES_A), [right, wrong]).results
    leaving = run(_always(Said.UNRELATED), [left] * 2).results

    report = Report("told", "test", retiring + leaving)

    assert (report.false_rate, report.false_rate_of_retirements) == (0.25, 0.5)
    assert "25.0% of 4 pairs, 50.0% of 2 retired" in table(report)


def test_a_judge_that_is_always_unsure_passes_the_bars_and_is_said_to_be_of_no_use():
    report = run(_always(Said.UNSURE), load())

    assert report.is_certified
    told = "Of no use: it would act on nothing, and leave to people all that it finds"
    assert f"{told}, {report.noise} of them needlessly." in table(report)
    assert "Of no use" not in table(run(RulesJudge(), load()))


@pytest.mark.parametrize("number", [1, 10, 25, 100, 250])
def test_a_sample_has_of_every_shape_as_many(number: int):
    pairs = load()

    taken = sample(pairs, number)

    counts = Counter(pair.shape for pair in taken)
    assert len(taken) == len({pair.id for pair in taken}) == number
    assert max(counts.values()) - min(counts.get(shape, 0) for shape in Shape) <= 1
    assert taken == sample(pairs, number)
    if number >= 100:
        # Spread over the shape, and not its first ones.
        of_one = [pair.id for pair in taken if pair.shape is Shape.REFINEMENT]
        assert of_one != [p.id for p in pairs if p.shape is Shape.REFINEMENT][: len(of_one)]


def test_all_of_them_are_no_sample():
    pairs = load()

    assert sample(pairs, len(pairs)) == sample(pairs, 10_000) == pairs


def test_a_part_of_the_pairs_certifies_nobody_however_large():
    pairs = load()
    part = sample(pairs, len(pairs) - 1)

    report = run(Answering(_label_of(pairs)), part, of=len(pairs))

    assert report.why_not_certified == (f"a part of the pairs, {len(part)} of {len(pairs)}",)
    assert run(Answering(_label_of(pairs)), pairs, of=len(pairs)).is_certified
