"""A text is found by the words people look for, whatever the script."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.finding import words
from memory.finding.languages import language_of
from memory.finding.words import (
    LAST_POSITION,
    LONGEST_LEXEME,
    MOST_POSITIONS,
    MOST_QUERY_LEXEMES,
    lexemes,
    query_lexemes,
    tsquery,
    tsvector,
)
from tests.growth import grows_with

NASTY = [
    "",
    " ",
    "\n",
    "& | ! ( )",
    "'",
    "''",
    "\\",
    "\\'",
    "'; drop table x; --",
    ":*",
    "a:*",
    "<->",
    "😀",
    "😀 👩‍💻",
    "\u202eabc",
    "a\u0000b",
    "%s %(x)s {}",
    "\ud800",
    "'" * 500,
    "\\" * 501,
    "a" * 100_000,
    "word " * 20_000,
    "中" * 5_000,
    "/" * 5_000,
    "a/" * 5_000,
    "1." * 5_000,
    ":" * 5_000,
    "_" * 5_000,
    "é" * 5_000,
    "ﷺ" * 3_000,
]


def finds(question, text):
    return bool(set(query_lexemes(question)) & set(lexemes(text)))


@pytest.mark.rule("RC-01")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what is the port of staging", "Staging listens on port 8443."),
        ("8443", "Staging listens on port 8443."),
        ("1,000 rows", "at most 1000 in a page"),
        ("PALIMPSEST_DB_URL", "set PALIMPSEST_DB_URL first"),
        ("palimpsest_db_url?", "set `PALIMPSEST_DB_URL=x` first"),
        ("PALIMPSEST", "set PALIMPSEST_DB_URL first"),
        ("/etc/foo/bar.conf", "it reads /etc/foo/bar.conf."),
        ("bar.conf", "it reads /etc/foo/bar.conf."),
        ("foo/bar.conf", "it reads /etc/foo/bar.conf."),
        ("2.10", "since v2.10.1 it is"),
        ("v2.10.1", "since 2.10.1 it is"),
        ("--force", "pass --force to it"),
        ("eu-west-1", "in eu-west-1 only"),
        ("getUserId", "call getUserId() there"),
        ("user id", "call getUserId() there"),
        ("deployments", "how we deploy: the deployment of the api"),
        ("Müller", "ask Muller"),
        ("Muller", "ask Müller"),
        ("Straße", "die STRASSE ist gesperrt"),
        ("数据", "数据库连接超时"),
        ("超时", "数据库连接超时"),
        ("数据库", "检查数据库"),
        ("库", "库"),
        ("再起動", "サーバーを再起動する"),
        ("サーバー", "サーバーを再起動する"),
        ("데이터", "데이터베이스를 백업"),
        ("백업", "데이터베이스를 백업"),
        ("เซิร์ฟเวอร์", "รีสตาร์ทเซิร์ฟเวอร์"),
        ("серверы", "два сервера стоят"),
        ("الخادم", "أعد تشغيل الخادم"),
        ("١٢٣", "port 123"),
        ("ΣΊΣΥΦΟΣ", "ο Σίσυφος"),
        ("istanbul", "İstanbul sunucusu"),
        ("ISTANBUL", "istanbul sunucusu"),
        ("ＰＯＲＴ ５４３２", "port 5432"),
        ("Verbindungen", "die Verbindung ist nicht mehr da und der Server auch"),
        ("connexions", "les connexions sont dans le pool"),
    ],
)
def test_question_finds(question, text):
    assert finds(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what is the port", "what the team is doing is the best"),
        ("was ist der Port", "das ist der Stand und was die anderen tun"),
        ("2.11", "since v2.10.1"),
        ("超时", "时超"),
    ],
)
def test_question_does_not_find(question, text):
    assert not finds(question, text)


@pytest.mark.parametrize("text", NASTY)
def test_any_text_becomes_words_and_a_query(text):
    vector, query = tsvector(text), tsquery(text)
    assert grows_with(tsvector, text)
    assert grows_with(tsquery, text)
    assert len(vector.encode()) < 1_000_000
    assert re.fullmatch(r"(?:'(?:[^'\\]|''|\\\\)+'(?: \| |$))*", query)
    assert re.fullmatch(r"(?:'(?:[^'\\]|''|\\\\)+':[\d,]+(?: |$))*", vector)
    assert "\0" not in vector + query


def test_limits_are_kept():
    many = lexemes("word " * 40_000)
    assert len(many["word"]) == MOST_POSITIONS
    assert max(lexemes(" ".join(f"w{n}" for n in range(20_000)))["w17000"]) == LAST_POSITION
    assert max(map(len, lexemes("x" * 3_000))) == LONGEST_LEXEME
    assert len(query_lexemes(" ".join(f"w{n}" for n in range(500)))) == MOST_QUERY_LEXEMES


def test_specific_words_come_first():
    assert query_lexemes("restart of /etc/foo/bar.conf")[0] == "/etc/foo/bar.conf"
    assert query_lexemes("where is PALIMPSEST_DB_URL documented")[0] == "palimpsest_db_url"


def test_small_words_are_looked_for_where_there_is_nothing_else():
    assert tsquery("to be or not to be")
    assert tsquery("...") == ""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the port of the server is open", "english"),
        ("restart api", "english"),
        ("der Server ist nicht erreichbar und die Logs sind leer", "german"),
        ("le serveur est dans le réseau et il ne répond pas", "french"),
        ("el servidor está en la red y no responde", "spanish"),
        ("сервер не отвечает, и это не сеть", "russian"),
    ],
)
def test_language_is_guessed_by_the_small_words(text, language):
    assert language_of(re.findall(r"\w+", text.lower())) == language


def test_threads_that_read_at_the_same_time_find_the_same_words():
    endings = ("ational", "fulness", "ization", "ingly", "iveness", "ousli", "ability", "edly")
    texts = [
        f"{letter}o{other}e{end}" for end in endings for letter in "bcdfgl" for other in "mnrst"
    ]
    alone = [lexemes(one) for one in texts]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            for _ in range(5):
                words._forms.cache_clear()
                found = list(threads.map(lexemes, texts * 3))
                assert found == alone * 3
    finally:
        sys.setswitchinterval(usual)
