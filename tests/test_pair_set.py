"""The open pair set is sound: enough of everything, labels that follow, and no frame used twice."""

import json
import re
from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import pytest

from bench import pair_set
from bench.pair_set import (
    INCIDENT,
    PAIRS,
    Component,
    Malformed,
    Relation,
    Shape,
    Winner,
    faults,
    load,
    split,
)
from memory.models import PROTECTED_KINDS, Kind
from memory.secret_content import find_secret
from memory.text import same_text_key

pytestmark = pytest.mark.rule("PO-18")

LANGUAGES = {"en", "de", "fr", "es", "ru", "zh", "ja", "it", "pt", "pl", "ko"}
ALIKE = 0.3
THIRD = pytest.approx(0.35, abs=0.05)

# What may differ between two sentences of one frame: quotations, names, numbers.
_MARKED = r"[A-Za-z0-9_./\\=<>@%#:,-]*"
_FILLING = re.compile(rf"`[^`]*`|\"[^\"]*\"|{_MARKED}[0-9_/\\=@#]{_MARKED}")
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W\d_]+")


@pytest.fixture(scope="module")
def pairs():
    return load()


def frame(text):
    """Return the words of a text that are neither names nor numbers, nor quoted."""
    words = _WORD.findall(_FILLING.sub(" ", text))
    return tuple("#" if word[:1].isupper() else word for word in words)


def trigrams(words):
    return {words[start : start + 3] for start in range(max(1, len(words) - 2))}


def likeness(a, b):
    return len(a & b) / len(a | b)


def test_every_shape_has_enough_pairs(pairs):
    counts = Counter(pair.shape for pair in pairs)
    assert len(pairs) >= 320
    assert counts.keys() == set(Shape)
    assert min(counts.values()) >= 32


def test_many_languages_and_a_quarter_or_more_not_english(pairs):
    counts = Counter(pair.language for pair in pairs)
    assert counts.keys() == LANGUAGES
    assert sum(count >= 10 for count in counts.values()) >= 7
    assert 0.25 <= 1 - counts["en"] / len(pairs) <= 0.4
    for shape in Shape:
        assert len({pair.language for pair in pairs if pair.shape is shape}) >= 5


def test_every_relation_and_winner_is_there(pairs):
    assert {pair.relation for pair in pairs} == set(Relation)
    assert {pair.winner for pair in pairs} == set(Winner)


def test_the_labels_follow_and_what_must_be_kept_stands_there(pairs):
    assert {pair.id: found for pair in pairs if (found := faults(pair))} == {}
    assert all(pair.must_keep for pair in pairs)


def test_ids_count_through_each_shape(pairs):
    expected = [
        f"{shape.replace('_', '-')}-{number:03d}"
        for shape in sorted(Shape)
        for number in range(1, sum(pair.shape is shape for pair in pairs) + 1)
    ]
    assert [pair.id for pair in pairs] == expected


def test_kinds_are_those_of_the_product():
    assert set(Kind) == pair_set.KINDS
    assert PROTECTED_KINDS == pair_set.PROTECTED_KINDS


def test_a_third_is_held_out_of_every_shape_and_language(pairs):
    parts = split(pairs)
    assert sorted(map(id, parts.tuning + parts.held_out)) == sorted(map(id, pairs))
    assert 1 / 3 <= len(parts.held_out) / len(pairs) <= 0.4
    for shape in Shape:
        mine = [pair.held_out for pair in pairs if pair.shape is shape]
        assert sum(mine) / len(mine) == THIRD
    for language in LANGUAGES:
        mine = [pair.held_out for pair in pairs if pair.language == language]
        if len(mine) >= 10:
            assert sum(mine) / len(mine) == pytest.approx(1 / 3, abs=0.08)
    assert {pair.relation for pair in parts.held_out} == set(Relation)


def test_enough_pairs_carry_components(pairs):
    assert sum(pair.has_components for pair in pairs) >= 40
    for pair in pairs:
        for component in pair.older.components + pair.newer.components:
            assert component.subject
            assert component.value


def test_a_clash_of_components_is_one_that_the_labels_know(pairs):
    """Else a judge that goes by declared components alone would be right to be wrong."""
    compatible = {Relation.COMPLEMENTARY, Relation.UNRELATED, Relation.DUPLICATE}
    for pair in pairs:
        older = _single_values(pair.older.components)
        newer = _single_values(pair.newer.components)
        clash = any(older[subject] != newer[subject] for subject in older.keys() & newer.keys())
        assert not (clash and pair.relation in compatible), pair.id


def _single_values(components: tuple[Component, ...]):
    return {one.subject: one.value for one in components if not one.multi}


@pytest.mark.rule("PO-20")
def test_the_incident_is_there(pairs):
    (incident,) = [pair for pair in pairs if pair.id == INCIDENT]
    assert (incident.older.kind, incident.older.rank) == ("gotcha", 1)
    assert not incident.newer.is_protected
    assert (incident.relation, incident.winner) == (Relation.COMPLEMENTARY, Winner.BOTH)
    assert len(incident.must_keep) >= 3
    assert not any(kept in incident.newer.content for kept in incident.must_keep)
    assert not incident.held_out


def test_no_text_stands_there_twice_and_none_holds_a_secret(pairs):
    texts = [note.content for pair in pairs for note in (pair.older, pair.newer)]
    assert len({same_text_key(text) for text in texts}) == len(texts)
    assert [text for text in texts if find_secret(text)] == []


def test_no_two_pairs_are_of_one_frame(pairs):
    by_language = defaultdict(list)
    for pair in pairs:
        texts = (pair.older.content, pair.newer.content)
        frames = [trigrams(frame(text)) for text in texts]
        by_language[pair.language].append((pair.id, frames))
    alike = [
        (a, b)
        for of_language in by_language.values()
        for (a, ours), (b, theirs) in combinations(of_language, 2)
        if any(likeness(one, other) >= ALIKE for one in ours for other in theirs)
    ]
    assert alike == []


def test_a_used_frame_would_be_seen():
    one = trigrams(frame("Since Tuesday the pool of billing is 45 connections wide."))
    other = trigrams(frame("Since Friday the pool of checkout is 12 connections wide."))
    assert likeness(one, other) >= ALIKE


LINE: dict[str, Any] = {
    "id": "value-change-001",
    "shape": "value_change",
    "language": "en",
    "older": {"kind": "fact", "content": "The port is 80.", "rank": 1, "level": 20},
    "newer": {"kind": "fact", "content": "The port is 81 now.", "rank": 1, "level": 20},
    "relation": "b_supersedes_a",
    "winner": "newer",
    "must_keep": ["81"],
    "why": "It changed.",
    "held_out": False,
}


def written(folder, **changes):
    line = {key: value for key, value in {**LINE, **changes}.items() if value is not None}
    (folder / "value_change.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": "value"},
        {"shape": "refinement"},
        {"relation": "stale"},
        {"winner": "nobody"},
        {"why": None},
        {"mood": "good"},
        {"older": {"kind": "fact", "content": "The port is 80.", "rank": 1}},
        {"components": {"both": []}},
        {"components": {"older": [{"subject": "port"}]}},
    ],
)
def test_a_line_that_is_no_pair_is_refused(tmp_path, changes):
    with pytest.raises(Malformed, match=r"value_change\.jsonl, line 1"):
        written(tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"winner": "older"}, "newer follows"),
        ({"must_keep": ["82"]}, "stands in neither"),
        ({"must_keep": ["80."]}, "which the winner lacks"),
        ({"why": " "}, "says not why"),
        ({"older": {**LINE["older"], "kind": "rumour"}}, "no kind"),
        ({"older": {**LINE["older"], "kind": "gotcha"}}, "person follows"),
        ({"older": {**LINE["older"], "rank": 3}}, "no rank"),
        ({"newer": {**LINE["newer"], "level": 25}}, "no level"),
        ({"newer": {**LINE["newer"], "content": "The port is 81 now. "}}, "padded"),
    ],
)
def test_a_fault_is_told(tmp_path, changes, fault):
    (pair,) = written(tmp_path, **changes)
    assert fault in "; ".join(faults(pair))


def test_a_sound_pair_has_no_fault(tmp_path):
    (pair,) = written(tmp_path)
    assert faults(pair) == []


def test_the_readme_says_how_many(pairs):
    readme = (PAIRS / "README.md").read_text(encoding="utf-8")
    assert f"{len(pairs)} pairs" in readme
    for shape in Shape:
        count = sum(pair.shape is shape for pair in pairs)
        assert re.search(rf"\| `{shape}` \| {count} \|", readme), shape
