"""A subject is a path of labels in any script, and one subject however it is written."""

import unicodedata

import pytest

from tenants.subject_paths import as_label
from tests.dirty import marked, states, trust
from tests.memories import kept, refused, seen

pytestmark = pytest.mark.rule("SB-01")

# Arabic vowels, Thai and Devanagari vowel signs, Hebrew points, an accent that has no letter of its
# own, a capital whose small form is two characters.
SCRIPTS = [
    ("हिन्दी", "नाम"),
    ("ไทย", "ชื่อ"),
    ("İstanbul", "b"),
    ("عَرَبِيّ", "اسم"),
    ("שֵׁם", "x"),
    ("日本", "東京"),
    ("m̈ünchen", "größe"),
    ("தமிழ்", "பெயர்"),
    ("a-1_b", "२"),
]


@pytest.mark.parametrize(("root", "leaf"), SCRIPTS)
def test_a_subject_in_any_script_is_one_tree(office, root, leaf):
    """Stated in one form, changed in another; and what lies below is reached, beside it nothing."""
    below = states(office.senior, f"{root}.{leaf}.x", "1")
    beside = states(office.senior, f"{root}{leaf}.x", "1")
    subject = f"{root}.{leaf}"
    for form in (subject, unicodedata.normalize("NFD", subject), f" {subject.capitalize()} "):
        assert marked(office.colleague, form) == {below}
    assert trust(office.senior, beside) == "verified"
    labelled = kept(office.senior, f"About {subject}.", project="apollo", subjects=[subject])
    (stored,) = seen(office.senior, labelled)["subjects"]
    assert stored == unicodedata.normalize("NFC", stored) == stored.lower()
    assert marked(office.colleague, root, whole_tree=True) == {below, labelled}


@pytest.mark.parametrize(
    "subject",
    [
        *("", ".", "a..b", "a.b.", ".a", "a b", "a/b", "a,b", "a\u200bb", "a\u202eb", "a😀b"),
        # A mark without its letter, and marks that show nothing.
        *("\u0301a", "a.\u0301", "a.\u093fb", "ho\ufe0fst.x", "ho\u034fst.x", "\u3164.x"),
    ],
)
def test_what_is_no_label_is_refused(office, subject):
    body = {"project": "apollo", "subject": subject, "summary": "Moved"}
    refused(office.senior.post("/changes", body), 400, "validation_failed", "subject")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Größe & Co. KG", "größe_co_kg"),
        ("हिन्दी नाम", "हिन्दी_नाम"),
        ("  --- ", "---"),
        ("😀", ""),
        ("a \u0301b", "a_b"),
        ("ho\ufe0fst", "ho_st"),
    ],
)
def test_a_name_becomes_a_label(name, label):
    assert as_label(name) == label
