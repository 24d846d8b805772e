"""Specifics are found, and what one text lacks of another is told."""

import pytest

from memory.specifics import Specific, differ, missing, specifics
from tests.growth import grows_with


def values(text, kind):
    return {specific.value for specific in specifics(text) if specific.kind == kind}


@pytest.mark.rule("WR-10", "PO-11")
@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (
            "Run kubectl rollout restart deploy/api -n prod.",
            "command",
            "kubectl rollout restart deploy/api -n prod",
        ),
        ("start it with make up.", "command", "make up"),
        ("$ ./manage.py migrate --plan", "command", "./manage.py migrate --plan"),
        ("```sh\nterraform apply\n```", "command", "terraform apply"),
        ("see `git push --force`", "command", "git push --force"),
        ("use `a + b` here", "code", "a + b"),
        ("It reads /etc/foo/bar.conf.", "path", "/etc/foo/bar.conf"),
        ("(see src/app/main.py)", "path", "src/app/main.py"),
        ("in /opt/app-2.10.1/bin", "path", "/opt/app-2.10.1/bin"),
        ("~/.ssh/config, then", "path", "~/.ssh/config"),
        (r"in C:\Windows\System32\drivers.", "path", r"C:\Windows\System32\drivers"),
        ("编辑/etc/hosts文件", "path", "/etc/hosts"),
        ("with --dry-run=server", "flag", "--dry-run"),
        ("pass -v twice", "flag", "-v"),
        ("set PALIMPSEST_DB_URL", "env_var", "PALIMPSEST_DB_URL"),
        ("echo $HOME now", "env_var", "HOME"),
        ("${DATABASE_URL} is", "env_var", "DATABASE_URL"),
        ("DEBUG=1 make", "env_var", "DEBUG"),
        ("the user_id column", "identifier", "user_id"),
        ("region eu-west-1.", "identifier", "eu-west-1"),
        ("call getUserById now", "identifier", "getuserbyid"),
        ("see ABC-123", "identifier", "ABC-123"),
        ("fixed in #42.", "identifier", "#42"),
        ("commit 9fceb02d broke", "identifier", "9fceb02d"),
        (
            "id 550e8400-e29b-41d4-a716-446655440000",
            "identifier",
            "550e8400-e29b-41d4-a716-446655440000",
        ),
        ("host 10.0.0.1:8080", "identifier", "10.0.0.1"),
        ("host 10.0.0.1:8080", "number", "8080"),
        ("net 10.0.0.0/8", "identifier", "10.0.0.0/8"),
        ("fe80::1 answers", "identifier", "fe80::1"),
        ("db.example.com is", "identifier", "db.example.com"),
        ("memory.models.Memory", "identifier", "memory.models.Memory"),
        ("since v2.10.0", "version", "2.10"),
        ("since 2.10.1-rc.1", "version", "2.10.1-rc.1"),
        ("Postgres v18", "version", "18.0"),
        ("1,000 rows", "number", "1000"),
        ("99.9 % of", "number", "99.9 %"),
        ("after 5 seconds", "number", "5 s"),
        ("after 5s", "number", "5 s"),
        ("a 30-day window", "number", "30 d"),
        ("nach 5 Sekunden", "number", "5 s"),
        ("超时30秒", "number", "30 s"),
        ("30초 후", "number", "30 s"),
        ("٣٠ ثانية", "number", "30 s"),
        ("port ５４３２", "number", "5432"),
        ("10k users", "number", "10000"),
        ("five replicas", "number", "5"),
        ("fünf Replikate", "number", "5"),
        ("五个副本", "number", "5"),
        ("-5 °C outside", "number", "-5 °c"),
        ("$5 each", "number", "5 usd"),
        ("on 2026-11-30", "date", "2026-11-30"),
        ("on 30 November 2026", "date", "2026-11-30"),
        ("on November 30th, 2026", "date", "2026-11-30"),
        ("am 30. November 2026", "date", "2026-11-30"),
        ("le 30 novembre 2026", "date", "2026-11-30"),
        ("el 30 de noviembre de 2026", "date", "2026-11-30"),
        ("30 ноября 2026", "date", "2026-11-30"),
        ("2026年11月30日", "date", "2026-11-30"),
        ("30.11.2026", "date", "2026-11-30"),
        ("at 14:30 UTC", "date", "14:30Z"),
        ("2026-11-30T14:30:00Z", "date", "14:30Z"),
        ("at 3 pm", "date", "15:00"),
        ("on Fridays", "date", "weekday 5"),
        ('it says "no such table"', "quoted", "no such table"),
        ("heißt „kein Platz“", "quoted", "kein platz"),
        ("显示「没有权限」", "quoted", "没有权限"),
        ("at https://example.com/a?b=1.", "url", "https://example.com/a?b=1"),
    ],
)
def test_specific_is_found(text, kind, value):
    assert value in values(text, kind)


@pytest.mark.rule("WR-10")
@pytest.mark.parametrize(
    "text",
    [
        "Do not restart it",
        "don't restart it",
        "don’t restart it",
        "never do it",
        "it cannot fail",
        "no restart",
        "nicht neu starten",
        "kein Neustart",
        "ne redémarrez pas",
        "jamais",
        "no lo reinicie",
        "nunca",
        "non riavviare",
        "não reinicie",
        "niet herstarten",
        "не перезапускать",
        "нельзя",
        "nie restartuj",
        "不要重启",
        "没有备份",
        "別に再起動しない",
        "再起動しません",
        "재시작하지 않는다",
        "백업이 없다",
        "لا تعيد التشغيل",
    ],
)
def test_negation_is_found(text):
    assert values(text, "negation") == {"not"}


@pytest.mark.rule("PO-11")
@pytest.mark.parametrize(
    "text",
    [
        "An ordinary, well-known state-of-the-art sentence, e.g. this or that, and/or both.",
        "The users' data and the team's notes are up-to-date; make sure it is so.",
        "- first\n- second\n* third",
        "Ein gewöhnlicher Satz mit Umlauten, d.h. nur Wörter.",
        "非常好的未来",
        "TCP/IP between client/server",
        "It is done.Then we left.",
    ],
)
def test_plain_prose_has_no_specifics(text):
    assert not specifics(text)


@pytest.mark.rule("WR-07", "WR-08", "WR-10")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("runs v2.10.0 and keeps 1,000 rows", "runs 2.10 and keeps 1000 rows"),
        ("until 2026-11-30", "until 30 November 2026"),
        ("waits 5 s", "waits 5 seconds"),
        ("Use `make up` to start.", "To start use make up"),
        ("The port is 8443.", "Its port is 8443"),
        ("don't use it", "do not use it"),
        ("five nodes", "5 nodes"),
        ("see /etc/hosts.", "see `/etc/hosts`"),
        ("at 3 pm", "at 15:00"),
    ],
)
def test_texts_that_say_the_same_do_not_differ(one, other):
    assert not differ(one, other)
    assert not differ(other, one)


@pytest.mark.rule("WR-10")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("port 8443", "port 8444"),
        ("restart it", "do not restart it"),
        ("v2.10.1", "v2.10.2"),
        ("2.1", "2.10"),
        ("on Monday", "on Friday"),
        ("until 2026-11-30", "until 2026-12-30"),
        ("5 seconds", "5 minutes"),
        ("5 MB", "5 GB"),
        ("eu-west-1", "eu-west-2"),
        ("user_id", "owner_id"),
        ("DB_URL", "DB_HOST"),
        ("three nodes", "five nodes"),
        ("三个节点", "五个节点"),
        ("重启", "不重启"),
        ("/etc/a", "/etc/b"),
        ("--force", "--dry-run"),
        ("1.000", "1"),
        ("10:00 UTC", "10:00 CET"),
        ("-5 °C", "5 °C"),
        ("99.9%", "99.99%"),
        ("see #41", "see #42"),
        ("10.0.0.1", "10.0.0.2"),
        ("never on Friday, not by hand", "never on Friday"),
    ],
)
def test_one_detail_makes_two_texts_different(one, other):
    assert differ(one, other)
    assert differ(other, one)


@pytest.mark.rule("PO-11", "PO-20")
def test_what_a_summary_loses_is_told_in_the_order_of_the_text():
    gotcha = (
        "On staging set PALIMPSEST_DB_URL before `make up`: v2.10.1 reads /etc/foo/bar.conf and"
        " waits 90 seconds."
    )
    summary = "Configure the database before starting; on staging v2.10.1 waits a while."
    assert [specific.value for specific in missing(gotcha, summary)] == [
        "PALIMPSEST_DB_URL",
        "make up",
        "/etc/foo/bar.conf",
        "90 s",
    ]
    assert missing(summary, gotcha) == []
    assert missing(gotcha, gotcha) == []
    assert Specific("env_var", "PALIMPSEST_DB_URL", "PALIMPSEST_DB_URL") in specifics(gotcha)


@pytest.mark.rule("PO-11")
def test_specific_is_held_also_where_nothing_marks_it():
    assert not missing("Run `systemctl restart api`", "so systemctl restart api helps")
    assert missing("see /etc/foo", "see /etc/foo/bar")
    assert missing("`port`", "the ports")


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "1.",
        "a.",
        "a-",
        "a_",
        "/a",
        "`",
        "``a",
        '"',
        "'a ",
        "«a",
        "-",
        "A_",
        "a@",
        "1,234",
        "1 ",
        "$a",
        "kubectl -a ",
        "::",
        "0:",
        "http://",
        "不",
        "n't",
        "*.",
        "5 ",
        "#1",
        "~~~\n",
        "$ \n",
        "1月",
        "\\",
        "e1",
        "１",
    ],
)
def test_time_is_linear_in_the_text(piece):
    assert grows_with(specifics, (piece * 32768)[:32768])


@pytest.mark.rule("WR-10", "PO-11")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("release/v2.0", "release/v2"),
        ("main-v1.0", "main-v1"),
        ("postgres:v16.0.0", "postgres:v16"),
        ("v2.0.0/api", "v2/api"),
        ("app@2.0.0", "app@2.0"),
    ],
)
def test_a_version_inside_a_name_is_a_piece_of_the_name(one, other):
    texts = f"It deploys from {one} now.", f"It deploys from {other} now."
    assert differ(*texts)
    assert missing(of=texts[0], within=texts[1])
    assert missing(of=texts[1], within=texts[0])
    # What stands for itself means what it says.
    assert not differ("It needs v2.0.0 now.", "It needs v2 now.")
