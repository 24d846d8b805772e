"""A text: as it is kept, when it is empty, when two are the same, how it is shown safely."""

import hashlib
import re
import unicodedata

# Letters and marks by category that leave nothing on the page all the same: fillers, joiners,
# the empty Braille cell, and every kind of variation selector.
_BLANK_THOUGH_ASSIGNED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)

# What can lie about a text on a screen: control characters (a terminal obeys them), the ones that
# override or embed direction, line and paragraph separators, tags, lone surrogates, and a
# variation selector after another one, which shows nothing and may carry a message.
# Left and right marks, joiners and the selector after an emoji belong to ordinary writing.
_DECEPTIVE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)"
    "|[\u2028\u2029\u202a-\u202e\u2066-\u2069\u206a-\u206f\ufff9-\ufffb\ud800-\udfff]"
    "|[\U000e0000-\U000e00ff]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)


def normalised(content: str) -> str:
    """Return the content as it is stored: in NFC, and otherwise as it was sent."""
    return unicodedata.normalize("NFC", content)


def same_text_key(content: str) -> bytes:
    """
    Return the SHA-256 by which an exact repeat is known.

    Composition and the amount of white space make no difference. Case does, and so do a dotless i,
    ß against ss, and a final sigma: nothing is folded.
    """
    words = " ".join(normalised(content).split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()


def is_blank(content: str) -> bool:
    """Return whether nothing of the content could be read by anybody."""
    if content.isascii():
        return not any("!" <= character <= "~" for character in content)
    return all(map(_shows_nothing, set(content)))


def visible(text: str) -> str:
    r"""Return the text with deceptive characters spelled out, as \u{202e}; \n and \t stay."""
    return _DECEPTIVE.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def _shows_nothing(character: str) -> bool:
    category = unicodedata.category(character)
    if category[0] == "Z" or category in {"Cc", "Cf", "Cn", "Cs"}:
        return True
    return _BLANK_THOUGH_ASSIGNED.match(character) is not None


class _PlainCharacters(dict[int, int]):
    """Every digit and every fullwidth character as its plain sister, one for one."""

    def __missing__(self, code: int) -> int:
        plain = code
        if 0xFF01 <= code <= 0xFF5E:
            plain = code - 0xFEE0
        elif code > 127 and unicodedata.category(chr(code)) == "Nd":
            plain = ord("0") + unicodedata.decimal(chr(code))
        self[code] = plain
        return plain


_PLAIN = _PlainCharacters(
    {ord(one): ord(plain) for one, plain in zip("’ʼ−‐‑٫٬٪\u3000", "''---.,% ", strict=True)}
)


def plain_characters(text: str) -> str:
    """Return the text, as long as before, with digits, quotes, dashes of all scripts made plain."""
    return text if text.isascii() else text.translate(_PLAIN)
