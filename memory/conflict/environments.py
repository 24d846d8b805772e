"""
Where a text says that it holds: in production, or in an environment that is not.

What holds in the one says nothing of the other, however alike the two are written, and whatever a
judge makes of them.
"""

import re
from collections.abc import Collection

# The one that serves, and those in which things are tried.
SERVING = """
    production prod prd produktion produktiv produktivumgebung producción produzione produção
    бою боевой проде продакшене produkcji
"""
TRYING = """
    staging stage test testing dev development sandbox preview preprod uat qa
    testumgebung entwicklung abnahme vorschau préproduction recette développement
    pruebas preproducción desarrollo collaudo sviluppo homologação testes desenvolvimento
    стенде тестовом разработки testowym
"""
# These stand in a text without spaces around them.
SERVING_JOINED = "本番 生产 线上 운영"
TRYING_JOINED = "検証 開発 ステージング テスト 测试 预发 开发 개발 스테이징 테스트"


def _any_of(words: str, joined: str) -> re.Pattern[str]:
    apart = "|".join(words.split())
    return re.compile(rf"(?<!\w)(?:{apart})(?!\w)|{'|'.join(joined.split())}", re.IGNORECASE)


_SERVING, _TRYING = _any_of(SERVING, SERVING_JOINED), _any_of(TRYING, TRYING_JOINED)


def environment_lost(loser: str, winner: str, *, changed: Collection[str] = ()) -> tuple[str, ...]:
    """
    Return the environment of the loser, if the winner speaks of another one and not of that.

    :param changed: the loser's values that are known to have changed; an environment that is one
        of them is what was decided anew, and not where that holds
    """
    mine, theirs = _named(loser), _named(winner)
    if not mine or not theirs or _is_shared(mine, theirs):
        return ()
    known = {one.strip().casefold() for one in changed}
    return tuple(word for word in mine if word.casefold() not in known)[:1]


def _named(text: str) -> list[str]:
    """Return the environments of a text, in its words."""
    return [*_SERVING.findall(text), *_TRYING.findall(text)]


def _is_shared(mine: Collection[str], theirs: Collection[str]) -> bool:
    """Return whether there is a side of which both speak."""
    return any(
        any(side.fullmatch(one) for one in mine) and any(side.fullmatch(one) for one in theirs)
        for side in (_SERVING, _TRYING)
    )
