"""
What somebody is told to do, to the letter: calls, decorators, keys to press, words to run.

Nothing but its place shows most of it to be more than prose, so that only such places count: what
looks like an ordinary word elsewhere is one.
"""

import re
from collections.abc import Iterator

from memory.specifics.names import PLAIN_WORD, PROGRAMS, Found, collapsed
from memory.specifics.quantities import any_of

# With something in brackets it is a call only if that could be nothing else: option(s) is prose.
_CALL = re.compile(
    r"(?<![\w.@/-])(?P<name>[A-Za-z_][\w.]*+)"
    r"\((?:\)|(?=[^()\n]{0,80}[\d=,'\"_])(?P<given>[^()\n]{1,80})\))"
)
_DECORATOR = re.compile(r"(?<![\w@/.])@[A-Za-z_]\w*+(?:\.\w++)*+(?![\w@/-])")
_KEYS = {
    "ctrl": "ctrl control strg ⌃",
    "cmd": "cmd command ⌘",
    "alt": "alt option opt ⌥",
    "shift": "shift umschalt maj mayús ⇧",
    "altgr": "altgr",
    "meta": "meta",
    "super": "super win windows",
    "fn": "fn",
}
_KEY_OF = {written: key for key, spellings in _KEYS.items() for written in spellings.split()}
_HELD = rf"(?:{any_of(key for key in _KEY_OF if key.isalpha())})"
# By a hyphen only one letter is joined: Command-line is a word.
_CHORD = re.compile(
    rf"(?<![\w+-]){_HELD}(?: ?\+ ?{_HELD})*+ ?\+ ?(?:F\d\d?|[A-Za-z]{{2,9}}|\w|[⇥⏎↑↓←→])(?!\w)"
    rf"|(?<![\w+-]){_HELD}(?:-{_HELD})*+-(?:F\d\d?|\w)(?![\w-])"
    r"|[⌃⌘⌥⇧]++(?: ?\+ ?)?\w(?!\w)",
    re.IGNORECASE,
)
_EMACS_CHORD = re.compile(r"(?<![\w-])[CMS]-(?:[a-z]|RET|SPC|TAB)(?![\w-])")

_TOLD = (
    "run rerun execute exec invoke call type enter issue start"
    " führe starte rufe lance lancez exécute exécutez tape tapez appelle appelez ejecuta ejecute"
    " escribe llama esegui digita rode digite draai voer"
)
_BEFORE_IT = "to then and or please must should first und dann bitte et puis y luego e poi en dan"
# What goes with such a verb and is no command: how and how often, and most of what there are many.
_HOW = (
    "every each both more less faster slower longer late early twice often always never here up"
    " down off away dry fine well hot low short anything everything nothing something automatic"
)
_COMMANDED = re.compile(
    rf"(?:(?<![\w.-])(?:{any_of(verb.capitalize() for verb in _TOLD.split())})"
    rf"|(?:\A|[;:] |\b(?:{any_of(_BEFORE_IT.split())}) )(?:{any_of(_TOLD.split())}))"
    rf" (?P<what>(?!(?:{any_of(_HOW.split())}|{any_of(PROGRAMS)}|[a-z]+ly|[a-z]{{3,}}s)(?!\w))"
    rf"{PLAIN_WORD})(?=\s|[.,;:!?)]|$)"
    r"|(?:运行|執行|执行|输入|輸入|调用|調用) ?(?P<zh>[A-Za-z][A-Za-z0-9_-]*+)"
    r"|(?<![A-Za-z0-9_-])(?P<ja>[A-Za-z][A-Za-z0-9_-]*+)"
    r" ?(?:を(?:実行|呼|入力)|[을를] ?(?:실행|호출|입력))"
)
_AS = re.compile(
    r"(?<![\w-])sudo(?![\w-])"
    r"|(?<=\b(?:as|is) )root(?=[.,;:!?)]|$| (?:and|or|on|before|after|first|only|if|then|user)\b)"
    r"|(?:(?<=\bals )|(?<=\bcomo )|(?<=\bcomme )|(?<=\bcome ))root(?!\w)"
)


def actions(text: str) -> Iterator[Found]:
    """Yield the calls, decorators, chords of keys and commanded words of the text."""
    for match in _CALL.finditer(text):
        value = match["name"] if match["given"] is None else collapsed(match[0])
        yield Found(match.start(), match.end(), "code", value)
    for match in _DECORATOR.finditer(text):
        yield Found(match.start(), match.end(), "code", match[0])
    for match in _CHORD.finditer(text):
        yield Found(match.start(), match.end(), "code", _chord(match[0]))
    for match in _EMACS_CHORD.finditer(text):
        yield Found(match.start(), match.end(), "code", match[0])
    for match in _COMMANDED.finditer(text):
        which = match.lastgroup or "what"
        yield Found(match.start(which), match.end(which), "command", match[which])
    for match in _AS.finditer(text):
        yield Found(match.start(), match.end(), "command", match[0])


def _chord(written: str) -> str:
    """Return how a chord compares: Ctrl-C, Control + C and Strg+C are one."""
    keys = re.findall(r"[⌃⌘⌥⇧⇥⏎↑↓←→]|\w+", written.casefold())
    return "+".join(_KEY_OF.get(key, key) for key in keys)
