"""
Where a text says that it holds: in production, or in an environment that is not.

What holds in the one says nothing of the other, however alike the two are written, and whatever a
judge makes of them.
"""

import re
from collections.abc import Collection

# One line a language: the one that serves, and those in which things are tried.
_TABLE = """
    production prod prd : staging stage test testing dev development sandbox preview preprod uat qa
    produktion produktiv produktivumgebung : testumgebung entwicklung abnahme vorschau
    production : préproduction recette développement
    producción : pruebas preproducción desarrollo
    produzione : collaudo sviluppo
    produção : homologação testes desenvolvimento
    бою боевой проде продакшене : стенде тестовом разработки
    produkcji : testowym
"""
# These stand in a text without spaces around them.
_JOINED = """
    本番 : 検証 開発 ステージング テスト
    生产 线上 : 测试 预发 开发
    운영 : 개발 스테이징 테스트
"""
_APART, _ANYWHERE = r"(?<!\w)(?:{})(?!\w)", "(?:{})"


def _sides(table: str, frame: str) -> list[list[str]]:
    lines = [line.partition(" : ") for line in table.strip().splitlines()]
    return [[frame.format("|".join(side.split())) for side in line[::2]] for line in lines]


_SERVING, _TRYING = (
    re.compile("|".join(side), re.IGNORECASE)
    for side in zip(*_sides(_TABLE, _APART), *_sides(_JOINED, _ANYWHERE), strict=True)
)


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
