"""The words that turn a sentence into its opposite, in the languages people write notes in."""

import re

from memory.specifics.quantities import any_of

_WORDS = """
    not never no none cannot can't won't don't doesn't didn't isn't aren't wasn't weren't mustn't
    shouldn't wouldn't couldn't haven't hasn't hadn't ain't needn't dont doesnt didnt isnt cant
    shouldnt without nor neither nothing nobody nowhere
    nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts niemand nirgends
    ne pas jamais aucun aucune sans rien
    nunca jamás sin ningún ninguna ninguno nada tampoco ni
    non senza nessun nessuno nessuna né niente
    não sem nenhum nenhuma jamais nem
    niet geen nooit zonder nergens
    не нет ни нельзя никогда без ничего нету ні немає
    nie nigdy bez brak nic żaden żadna żadne
    inte aldrig utan ikke aldri uten uden ingen ei eivät není nelze nikdy değil yok asla
    tidak jangan bukan không đừng δεν μην όχι ποτέ nu niciodată fără nem soha
    לא אין בלי אל نه نیست بدون नहीं मत بغير
    لا ليس ليست لم لن غير بدون دون عدم ليسوا
    안 못 않는 안됨
"""
# An article in Portuguese is the English no, and "no." before a number is a numero.
_SPACED = (
    rf"(?<![\w'])(?:{any_of(set(_WORDS.split()) - {'no'})}|no(?!\.\s?\d))(?!\w)"
    r"|(?<![\w'])n'(?=[aeiouyhéèêà])|n't(?!\w)"
)
_CHINESE = (
    r"不(?![过過仅僅但断斷管论論])|没|沒|無|无|(?<![除])非(?!常)|未(?!来|來)|勿|莫"
    r"|(?<![特区區分个個级級类類性鉴辨识识])别(?![的人处称名])"
)
_JAPANESE = r"(?<!少)(?:ない|なかっ|なく|なけれ)|ませ?ん(?!か)|ずに|禁止"
_KOREAN = r"않|없|아니|지\s?(?:마|말)|금지"
_THAI = r"ไม่|ห้าม|อย่า"
_NEGATION = re.compile(f"{_SPACED}|{_CHINESE}|{_JAPANESE}|{_KOREAN}|{_THAI}", re.IGNORECASE)
_PORTUGUESE = re.compile(r"[ãõ]|\b(?:uma|dos|das|pelo|pela|são)\b", re.IGNORECASE)


def negations(text: str) -> list[tuple[int, int]]:
    """Return from where to where in the text a word denies something."""
    found = [match.span() for match in _NEGATION.finditer(text)]
    if any(text[start:end].lower() == "no" for start, end in found) and _PORTUGUESE.search(text):
        return [(start, end) for start, end in found if text[start:end].lower() != "no"]
    return found
