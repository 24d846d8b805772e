"""What counts as a text, as the same text, and as safe to show."""

import unicodedata

import pytest

from memory.text import is_blank, normalised, same_text_key, visible


@pytest.mark.rule("WR-01")
@pytest.mark.parametrize(
    "text", ["  a\tb\r\n ", "İı ß ς", "x\u200by", "\u202eabc", "=cmd|' /C calc'!A0", "ﬁ １"]
)
def test_text_is_kept_as_it_was_sent(text):
    assert normalised(text) == text


@pytest.mark.rule("WR-01", "T129")
def test_text_is_composed():
    assert normalised("Mu\u0308ller") == "M\u00fcller"
    assert normalised(normalised("e\u0301" * 10_000)) == "\u00e9" * 10_000


@pytest.mark.rule("WR-06", "T129", "T140")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a  b", " a\n\tb "),
        ("M\u00fcller", "Mu\u0308ller"),
        ("a\u00a0b", "a b"),
        ("a\u3000b", "a b"),
    ],
)
def test_same_text_has_the_same_key(one, other):
    assert same_text_key(one) == same_text_key(other)
    assert len(same_text_key(one)) == 32


@pytest.mark.rule("WR-06", "T140")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ab", "a b"),
        ("Port", "port"),
        ("i", "ı"),
        ("ß", "ss"),
        ("σ", "ς"),
        ("x\u200by", "xy"),
        ("\ud800", "?"),
    ],
)
def test_other_text_has_another_key(one, other):
    assert same_text_key(one) != same_text_key(other)


@pytest.mark.rule("T130")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\t ",
        "\u00a0\u2003\u3000",
        "\u200b\u200c\u200d\u2060\ufeff",
        "\u202a\u202e\u2066\u2069",
        "\x00\x07\x1b\x7f\x85",
        "\U000e0001\U000e0041\U000e007f",
        "\ufe0f\U000e0100",
        "\u0378\U000e1000",
        "\u3164\u115f\u1160\uffa0",
        "\u2800",
        "\u00ad",
        "\ud800",
        " \u200b\n\u202e",
    ],
)
def test_text_that_shows_nothing_is_blank(text):
    assert is_blank(text)


@pytest.mark.rule("T130")
@pytest.mark.parametrize(
    "text", ["a", ".", "\u200ba", "字", "ا", "👩\u200d💻", "\u0301", "\ue000", "0", "-"]
)
def test_text_that_shows_something_is_not_blank(text):
    assert not is_blank(text)


@pytest.mark.rule("T130", "T131")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a\\u{202e}b"),
        ("\x1b[31mred", "\\u{1b}[31mred"),
        ("a\rb", "a\\u{d}b"),
        ("a\r\nb\tc", "a\r\nb\tc"),
        ("a\U000e0041", "a\\u{e0041}"),
        ("a\u2028b", "a\\u{2028}b"),
        ("\u2066x\u2069", "\\u{2066}x\\u{2069}"),
        ("x\ufe0f\U000e0110\U000e0111", "x\ufe0f\\u{e0110}\\u{e0111}"),
        ("\ud800", "\\u{d800}"),
        ("\x9b2J", "\\u{9b}2J"),
    ],
)
def test_deceptive_characters_are_spelled_out(text, shown):
    assert visible(text) == shown


@pytest.mark.rule("T130")
@pytest.mark.parametrize(
    "text",
    [
        "שלום עולם",
        "مرحبا \u200fبالعالم",
        "می\u200cخواهم",
        "👩\u200d💻❤\ufe0f",
        "葛\U000e0100",
        "a\n\tb",
    ],
)
def test_ordinary_writing_is_shown_as_it_is(text):
    assert visible(text) == text


def test_what_is_shown_has_no_control_characters_left():
    everything = "".join(map(chr, range(0x110000)))
    shown = visible(everything)
    assert not [
        one for one in shown if unicodedata.category(one) in {"Cc", "Cs"} and one not in "\r\n\t"
    ]
