"""Words of which one is the other's opposite, and scopes of which one is not the other."""

import re
from collections.abc import Iterable

from memory.conflict.environments import SERVING, SERVING_JOINED, TRYING, TRYING_JOINED

# One line a pair: what one side may say, and what the other. Beginnings of words, where no more is
# needed; a "$" ends a word that would begin too many others.
_OPPOSITES = """
    enable on$ activ : disable off$ deactiv inactiv
    allow permit may$ can$ accept : forbid prohibit ban$ banned disallow reject refuse denied
    mandatory compulsory required obligat must$ : optional voluntar exempt
    support : unsupport incompatib
    include : exclude exempt
    run$ runs$ : skip
    keep kept retain : drop delete discard strip erase remove lose
    always every : never
    public open$ opened : closed private secret
    start begin : stop end$ ends$ cease
    accept : reject refuse
    increase raise grow : decrease lower reduce shrink
    encrypt : unencrypted plaintext
    safe idempotent : unsafe
    free$ gratis : paid charge fee$ fees$
    like love prefer want : dislike hate avoid
    visible shown show$ : hidden hide hides
    automatic : manual hand$
    pass passes : fail
    synchron : asynchron
    success : fail error
    online : offline
    count$ counts$ : free$ ignored excluded
    cheap fast quick : expensive slow
    pauschal pflicht verpflichtend muss$ müssen : freiwillig optional
    erlaubt darf$ dürfen zulässig gestattet : verboten ausgeschlossen untersagt unzulässig
    aktiv eingeschaltet an$ : inaktiv ausgeschaltet deaktiv abgeschaltet aus$
    immer : nie niemals
    öffentlich offen : geschlossen privat geheim
    behält bewahrt bleib : löscht verwirft entfernt
    automatisch : manuell
    obligatoire : facultati optionnel
    autoris permis : interdit défend refus
    activé : désactivé
    toujours : jamais
    ouvert : fermé
    conserv gard : effac supprim
    automatique : manuel
    obligatori : opcional voluntari facoltativ
    permit permet consent : prohib prohíb veta vietat proibi
    activad habilitad attivat : desactivad deshabilitad disattivat
    siempre sempre : nunca jamás mai$
    abiert apert : cerrad chius fechad
    обязательн : необязательн добровольн
    разреш можно$ : запре нельзя$
    включ : отключ выключ
    всегда : никогда
    открыт : закрыт
    obowiązkow : dobrowoln opcjonaln
    wolno$ dozwolon można$ : zabronion zakazan
    włączon : wyłączon
    zawsze : nigdy
    开启 启用 打开 : 关闭 停用 禁用
    允许 可以 : 禁止 不得 不能
    必须 必填 : 可选 选填 无需
    公开 : 保密
    有効 オン : 無効 オフ
    許可 可能 : 禁止 不可
    必須 : 任意 不要
    허용 가능 : 금지 불가
    필수 : 선택
    켜 : 끄 꺼
"""
# Words that name a world of its own: what holds in one says nothing of the other.
_SCOPES = """
    windows : linux mac macos osx unix
    linux : mac macos
    android : ios iphone
    eu europe european : us usa american asia
    day : night
    internal : external
    free : premium business enterprise pro
    business : enterprise
    read : write
    backend : frontend web
"""

_Sides = tuple[re.Pattern[str], re.Pattern[str]]


def _beginnings(words: str) -> re.Pattern[str]:
    parts = [
        re.escape(word[:-1]) + r"(?!\w)" if word.endswith("$") else re.escape(word)
        for word in words.split()
    ]
    # Chinese, Japanese and Korean words stand anywhere; the others begin where a word begins.
    joined = [part for part in parts if ord(part[0]) >= 0x2E80]
    spaced = [part for part in parts if ord(part[0]) < 0x2E80]
    alternatives = [rf"(?<!\w)(?:{'|'.join(spaced)})"] if spaced else []
    return re.compile("|".join(alternatives + joined), re.IGNORECASE)


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(words.split())})(?!\w)", re.IGNORECASE)


def _lines(table: str) -> Iterable[tuple[str, str]]:
    for line in table.strip().splitlines():
        one, _, other = line.partition(" : ")
        yield one, other


_PAIRS: tuple[_Sides, ...] = tuple(
    (_beginnings(one), _beginnings(other)) for one, other in _lines(_OPPOSITES)
)
_WORLDS: tuple[_Sides, ...] = (
    # Two words more, which in a text that is not weighed as a whole may mean anything else.
    (_whole(f"{SERVING} live"), _whole(f"{TRYING} local")),
    (_beginnings(SERVING_JOINED), _beginnings(TRYING_JOINED)),
    *((_whole(one), _whole(other)) for one, other in _lines(_SCOPES)),
)

_PREFIXES = ("un", "non", "non-", "in", "im", "ir", "dis", "de", "nicht", "dés", "des")


def opposite(older: str, newer: str) -> tuple[str, str] | None:
    """Return a word of the older text and its opposite in the newer one, if there are such."""
    return _apart(_PAIRS, older, newer) or _apart(
        tuple((other, one) for one, other in _PAIRS), older, newer
    )


def other_world(older: str, newer: str) -> tuple[str, str] | None:
    """Return a word of each by which they speak of two worlds, as production and staging are."""
    return _apart(_WORLDS, older, newer) or _apart(
        tuple((other, one) for one, other in _WORLDS), older, newer
    )


def denied(mine: Iterable[str], theirs: Iterable[str]) -> tuple[str, str] | None:
    """Return a word that one has and the other has with a prefix that denies it."""
    ours, others = set(mine), set(theirs)
    for word in sorted(ours):
        for prefix in _PREFIXES:
            if len(word) > 3 and prefix + word in others:
                return word, prefix + word
    return None


def _apart(pairs: Iterable[_Sides], older: str, newer: str) -> tuple[str, str] | None:
    for one, other in pairs:
        mine, theirs = one.search(older), other.search(newer)
        # Whoever says both says nothing that the other does not.
        if mine and theirs and not one.search(newer) and not other.search(older):
            return mine[0], theirs[0]
    return None
