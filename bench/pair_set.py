"""The open pair set, which the product's own self-test judges too."""

from hygiene.pair_set import (
    INCIDENT,
    KINDS,
    PAIRS,
    PROTECTED_KINDS,
    Component,
    LabelledPair,
    Malformed,
    Note,
    Relation,
    Shape,
    Split,
    Winner,
    due_winner,
    faults,
    load,
    split,
)

__all__ = [
    "INCIDENT",
    "KINDS",
    "PAIRS",
    "PROTECTED_KINDS",
    "Component",
    "LabelledPair",
    "Malformed",
    "Note",
    "Relation",
    "Shape",
    "Split",
    "Winner",
    "due_winner",
    "faults",
    "load",
    "split",
]
