"""
The words by which a note says what it is: a change, an addition, hearsay, a thing of the past.

Each list has the languages of the open pair set, a line or two for each. A word here proves nothing
by itself; the judge asks what stands beside it.
"""

import re


def _any(spaced: str, joined: str = "") -> re.Pattern[str]:
    """Return a pattern for phrases of words, each from its first letter, and for runs of others."""
    phrases = "|".join(part.strip() for part in spaced.split("\n") if part.strip())
    runs = "".join(f"|{run}" for run in joined.split())
    return re.compile(rf"(?<![\w'])(?:{phrases}){runs}", re.IGNORECASE)


# Something is no longer as it was.
CHANGE = _any(
    r"""
    no longer\b|any ?more\b|instead\b|now\b|nowadays\b|these days\b|from now on|henceforth
    as of (?:yesterday|today|this|last|the|\d|\w+day)|starting (?:with|on|in|from)\b|effective\b
    since (?:last|this|the|\w+day|\w+ \d|\d{4}|\w+'s|yesterday|january|february|march|april)\b
    since (?:may|june|july|august|september|october|november|december)\b
    (?:has|have|had|was|were|is|are|been) (?:\w+ )?(?:moved|migrated|switched|replaced|renamed)\b
    (?:moved|migrated|switched|left the|changed|upgraded|bumped)\b|replaces\b|replaced\b
    (?:has|have|was|were|is|are|been|be) (?:\w+ )?(?:changed|raised|lowered|increased|reduced|cut)\b
    (?:has|have|was|were|is|been) (?:\w+ )?(?:dropped|extended|shortened|doubled|halved|tripled)\b
    (?:has|have|was|were|is|been) (?:\w+ )?(?:lifted|withdrawn|revoked|reversed|overturned|revised)
    (?:was|were|been|is) (?:\w+ )?(?:abolished|discontinued|enabled|disabled|reopened|postponed)\b
    (?:was|were|been|is) (?:\w+ )?(?:moved|pushed|brought) (?:back|forward|to|into|up)\b
    stopped\b|ceased\b|withdrew\b|revised\b|reverted\b|gave up\b|changed (?:her|his|their|our) mind
    again\b|it was \d|used to\b|formerly\b|previously\b|until (?:now|recently)|so far it\b|struck\b
    outdated\b|obsolete\b|superseded\b|corrected\b|correction\b|no \w+ needed\b|not needed\b
    nicht mehr\b|kein\w* \w+ mehr\b|statt\b|anstelle\b|seit\b|jetzt\b|nun\b|inzwischen\b|neuerdings
    mittlerweile\b|ab sofort|künftig|umgestellt|umgezogen|gewechselt|ersetzt|abgelöst|geändert
    erhöht|gesenkt|angehoben|verschoben|verlegt|aufgehoben|abgeschafft|wieder\b|bisher\b
    löst [^.]{0,60} ab\b
    (?:ne |n')\S+(?: \w+)? plus\b|désormais|dorénavant|maintenant\b|depuis\b|au lieu d|à la place
    remplac|migr[eé]|déplac|déménag|passe de\b|passé(?:e|s)? (?:à|de)\b|porté(?:e|s)? à\b|changé
    modifi|augment|réduit|abaiss|baissé|supprim|abandonn|de nouveau\b|à partir d|dès\b
    ya no\b|ahora\b|desde\b|en lugar de|en vez de|reemplaz|sustitu|migr[aó]|cambi[aóa]|mudó\b
    pas[oó] (?:de|a)\b|pasa a\b|subi[oó]|baj[oó]\b|aument|redu[cj]|dej[oó] de|dejaron de|a partir de
    de nuevo\b|ampli[oó]
    non \w+(?: \w+)? più\b|adesso\b|ora\b|invece (?:di|che)|al posto di|sostitui|migrat|cambiat
    spostat|passat[oaie] (?:a|da)\b|aumentat|ridott|di nuovo\b|dal(?:la|l')? \w+ scors|da quest
    já não\b|não \w+ mais\b|agora\b|a partir d|em vez de|substitu|mudou|mudaram|passou|passaram
    aument|reduz|deixou de|deixaram de|de novo\b
    больше не|теперь|вместо|перешл|перевел|перенес|перенёс|переехал|замени|замен[её]н|измени
    изменен|увелич|уменьш|сниж|сниз|повыс|повыш|отмен|снова\b|отныне|сейчас\b|стал[аио]?\b
    с (?:понедельника|вторника|среды|четверга|пятницы|прошл\w+|этого|нового|января|февраля|марта)
    с (?:апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|\d)
    już nie\b|teraz\b|zamiast\b|przenies|zamieni|zmieni|zmian|zastąpi|zwiększ|zmniejsz|znowu\b
    od (?:poniedziałku|wtorku|środy|czwartku|piątku|stycznia|lutego|marca|kwietnia|maja|czerwca)
    od (?:lipca|sierpnia|września|października|listopada|grudnia|teraz|dziś|tego|zeszł\w+|\d)
    """,
    "不再 改为 改成 改用 改到 改由 已改 现在 如今 替换 取代 换成 迁移 迁到 调整为 升级 取消"
    " 恢复 上调 下调 缩短 延长 起改 起， 变为 搬到 もう 今後 変更 変わり 変わった 移行 置き換え"
    " 代わり 廃止 再び 現在は なりました になった ことになり 引き上げ 引き下げ"
    " 더\\s?이상 이제 대신 변경 바뀌 바뀐 교체 폐지 옮겼 옮긴 부터는 되었습니다",
)

# One more of several; what was said before still holds.
ADDITION = _any(
    r"""
    also\b|too\b|as well\b|another\b|besides\b|in addition|additionally|one more\b|added\b|joined\b
    (?:a|the) (?:second|third|fourth|fifth)\b|new in\b|likewise\b|further\b|furthermore|plus\b
    exception\b|cleared\b
    auch\b|außerdem|zusätzlich|ebenfalls|ebenso|hinzu|weitere|noch ein|zudem|neu dabei
    aussi\b|également|en plus|en outre|un autre|une autre|ajout|s'y ajoute
    también|además|otr[oa]s?\b|asimismo|añad|se sum
    anche\b|inoltre|un altro|un'altra|aggiun|pure\b
    também|além d|outr[oa]s?\b|adicion|acrescent
    также|тоже|ещё|еще\b|кроме того|вдобавок|добав|присоедин|плюс\b
    także|również|też\b|dodatk|dodano|dołącz|ponadto|jeszcze\b|oprócz
    """,
    "也 还 另外 此外 新增 新加 同时 さらに また、 追加 加え も使 も対応 にも 도\\s 또한 추가",
)

# Somebody said, asked, imagined or proposed it; nobody claims it here.
HEARSAY = _any(
    r"""
    said\b|says\b|claim(?:s|ed)\b|insist|told (?:us|me|them)|heard\b|rumou?r|ask(?:s|ed)\b|joked\b
    alleged|believes?\b|thinks?\b|interview|candidate\b|misunderst|mistaken|wrongly|misquot
    if (?:we|it|the|they|you|this|somebody|someone|a|i)\b[^.;]{0,200}\b(?:would|could|might)\b
    would (?!rather\b|like\b|prefer\b)|had (?:we|it|they|the)\b|were (?:we|it|they) to
    suppos|imagin|hypothe|draft|propos|consider(?:ed|ing)\b|discuss|debat|mock-?up|drill\b|rehears
    for example\b|example of|training\b|exercise\b|research note|thought experiment|what if\b
    in theory|option\b|presented\b|wonder|pitch|brainstorm|quiz\b|parody|fiction
    würde|hätte|wäre\b|könnte|hieß es|angeblich|behaupt|diskutier|überleg|vorgeschlagen|vorschlag
    entwurf|meinte\b|sagte\b|laut einem|gerücht|angenommen\b|beispiel für|planspiel
    aurait|serait|pourrait|affirm|prétend|si (?:on|nous|l'on|jamais)\b|envisag|propos[eé]|brouillon
    a dit\b|disait|hypoth|imagin|question de|on nous a
    habría|sería\b|podría|si (?:se|tuvi|pas|cambi|hub)\w*|afirm|dijo\b|dicen\b|propus|propuesta
    borrador|se habló|imagin|rumor|supuest
    sarebbe|avrebbe|potrebbe|ha detto|dice che|bozza|propost|ipotes|si è discusso|immagin
    seria\b|teria\b|poderia|disse\b|afirm|propost|rascunho|discutiu|suponh|imagin
    если бы|бы\b|сказал|утвержда|якобы|предлож|предлага|обсужда|черновик|слух|допустим|представ
    gdyby|podobno|powiedzia|twierdzi|propozycj|rozważ|szkic|rzekomo|załóż|dyskut
    """,
    "如果 假如 要是 假设 讨论过 听说 据说 考虑过 建议 提议 采纳 草案 会不会 误以为 声称 もし 聞いた"
    " 問い合わせ 検討 提案 仮に という案 でしょうか 誤解 たとえば 冗談"
    " 만약 라면 다고\\s?합니다 다고\\s?했 제안 검토 초안 오해 농담",
)
_QUESTION = re.compile(r"[?？](?=[\s\"”»」)]|$)")

# It is told as over.
PAST = _any(
    r"""
    until\b|till\b|back then|at (?:the|that) time|in those days|formerly|used to\b
    was\b|were\b|had\b
    between \d{4}|from \d{4} to|in the past|history\b|ran\b|went\b|once\b
    bis (?:ende |anfang |mitte |zum )?\w* ?\d{4}|damals|war\b|waren\b|früher|hatte|wurde\b|wurden\b
    jusqu|à l'époque|était|étaient|avait|autrefois|entre \d{4}
    hasta\b|entonces|era\b|eran\b|antes\b|estaba|tenía|había|fue\b|entre \d{4}
    fino a|allora\b|erano\b|aveva|una volta|fu\b
    até\b|então|naquel|eram\b|tinha|havia|foi\b
    до \d{4}|до конца|тогда|был\b|была\b|было\b|были\b|раньше|прежде|работал|стоил
    wtedy|był\b|była\b|było\b|były\b|do \d{4}|do końca|dawniej|kiedyś
    """,
    "当时 曾 为止 之前 以前 当時 まで でした ていた ました 当初 당시 까지 였습니다 었습니다 이었",
)

# It is told as what holds at present, and as having begun.
PRESENT = _any(
    r"""
    since\b|as of\b|now\b|today\b|currently|this (?:year|month|week)|from \d{4} on|after the\b
    seit\b|heute\b|aktuell|derzeit|ab \d{4}|nach dem\b
    depuis\b|aujourd'hui|actuellement|désormais|après\b
    desde\b|hoy\b|actualmente|ahora\b|tras\b
    da(?:l|lla|ll'|i)?\b|oggi\b|attualmente|adesso|dopo\b
    hoje\b|atualmente|agora\b|após\b
    с \w+ \d{4}|с \d{4}|сейчас|теперь|сегодня|после\b
    od\b|dziś|obecnie|teraz|po\b
    """,
    "自 以来 现在 目前 今年 から 以降 現在 부터 이후 현재 올해",
)

# It speaks of an area as a whole.
SUMMARY = _any(
    r"""
    overview|summary|in general\b|generally\b|everything (?:about|on)|all there is|how we\b
    several things|as a whole|in short\b|session summary
    überblick|übersicht|zusammenfassung|allgemein|insgesamt|alles zu
    aperçu|résumé|en général|vue d'ensemble|tout sur
    resumen|en general|visión general|todo sobre
    riepilogo|panoramica|in generale|resumo|visão geral|em geral
    обзор|сводка|в целом|вообще\b|podsumowanie|ogólnie|przegląd
    """,
    "概述 总览 总结 概要 まとめ 全般 개요 요약",
)
# It holds for some releases.
_RELEASE = re.compile(
    r"(?<!\w)(?:release|version|versión|versão|versione|wersj\w|верси\w|v)\.? ?\d"
    r"|バージョン ?\d|版本 ?\d",
    re.IGNORECASE,
)

ONLY = _any(
    r"""
    only\b|solely|exclusively|nothing but|nur\b|ausschließlich|seulement|uniquement|sólo\b|solo\b
    solamente|únicamente|soltanto|somente|apenas\b|только|лишь|tylko\b|wyłącznie
    """,
    "只 仅 だけ のみ しか 만\\s 뿐",
)

_YEAR = re.compile(r"(?<![\w.,#/-])(?:19[89]|20[0-4])\d(?!\d|%|[.,]\d)")


def words_of_change(text: str) -> frozenset[str]:
    """Return the words by which the text says that something changed."""
    return frozenset(found[0].casefold() for found in CHANGE.finditer(text))


def says_more(text: str, known: str = "") -> bool:
    """Return whether the text says that it adds to what is known."""
    return _says_anew(ADDITION, text, known)


def tells_hearsay(text: str, known: str = "") -> bool:
    """Return whether the text tells what somebody said, asked or imagined."""
    return _says_anew(HEARSAY, text, known) or (is_question(text) and not is_question(known))


def is_question(text: str) -> bool:
    """Return whether the text asks."""
    return _QUESTION.search(text) is not None


def is_past(text: str) -> bool:
    """Return whether the text tells of something that is over."""
    return PAST.search(text) is not None


def is_present(text: str) -> bool:
    """Return whether the text says that something holds since some time."""
    return PRESENT.search(text) is not None


def is_exclusive(text: str) -> bool:
    """Return whether the text says that there is nothing else."""
    return ONLY.search(text) is not None


def is_summary(text: str) -> bool:
    """Return whether the text speaks of an area as a whole."""
    return SUMMARY.search(text) is not None


def names_release(text: str) -> bool:
    """Return whether the text says for which release it holds."""
    return _RELEASE.search(text) is not None


def years(text: str) -> list[int]:
    """Return the years that the text names."""
    return [int(found[0]) for found in _YEAR.finditer(text)]


def _says_anew(pattern: re.Pattern[str], text: str, known: str) -> bool:
    said = {found[0].casefold() for found in pattern.finditer(known)}
    return any(found[0].casefold() not in said for found in pattern.finditer(text))
