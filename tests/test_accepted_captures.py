"""What a reviewer has accepted is nobody's mere capture any more, whoever captured it."""

import pytest

from memory.conflict import act
from tests.judging import certify, conflicts, says, stating, work
from tests.memories import done, kept, remember, seen
from tests.test_judging import NEW, OLD, model, server

__all__ = ["model", "server"]

pytestmark = pytest.mark.rule("PO-02", "PO-03", "TR-06")


def captured(office, text=OLD, *, accepted=True, **more):
    """Return what a watcher captured, accepted by somebody of another side or not."""
    memory = kept(office.watcher, text, project="apollo", **more)
    if accepted:
        done(office.reviewer.post(f"/memories/{memory}/accept", {"reason": "It is so."}))
        work(office)
    return memory


@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("relation", ["contradiction", "b_supersedes_a", "duplicate"])
def test_no_judge_that_is_unsure_retires_it(office, model, relation, accepted):
    says(model, relation, 0.3)
    memory = captured(office, accepted=accepted)

    answer = remember(office.colleague, NEW, project="apollo", wait=10)

    (conflict,) = answer["conflicts"]
    assert conflict["state"] == ("pending" if accepted else "resolved")
    assert seen(office.viewer, memory)["lifecycle"] == ("live" if accepted else "superseded")


@pytest.mark.rule("PO-01")
@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("kind", ["gotcha", "fact"])
def test_its_kind_protects_it_from_then_on(office, model, kind, accepted):
    certify(office)
    says(model, "contradiction", 1.0)
    memory = captured(office, accepted=accepted, kind=kind)

    answer = remember(office.colleague, NEW, project="apollo", wait=10)

    stays = accepted and kind == "gotcha"
    assert [one["state"] for one in answer["conflicts"]] == ["pending" if stays else "resolved"]
    assert seen(office.viewer, memory)["lifecycle"] == ("live" if stays else "superseded")


def test_a_capture_gives_way_to_it(office, model):
    says(model, "contradiction", 0.3)
    memory = captured(office)
    later = kept(office.watcher, NEW, project="apollo")

    work(office)

    (conflict,) = conflicts(office.viewer)
    assert (conflict["winner"], conflict["resolution"]) == (memory, "authority")
    assert seen(office.viewer, later)["lifecycle"] == "superseded"


@pytest.mark.rule("PO-17")
@pytest.mark.parametrize("accepted", [True, False])
def test_it_counts_for_the_brake(office, monkeypatch, accepted):
    monkeypatch.setattr(act, "MOST_RETIRED", 1)
    monkeypatch.setattr(act, "MOST_RETIRED_SHARE", 0.0)
    texts = ("Deploys go out from main.", "Backups are kept for 7 days.")
    subjects = ("deploy.branch", "backup.days")
    for text, subject in zip(texts, subjects, strict=True):
        captured(office, text, accepted=accepted, components=stating(subject, "7"))

    told = [
        remember(
            office.senior,
            f"Of {subject} there are eight.",
            project="apollo",
            components=stating(subject, "8"),
        )["superseded"]
        for subject in subjects
    ]

    assert [len(one) for one in told] == ([1, 0] if accepted else [1, 1])
