"""Secrets are found, what only looks like one is left alone."""

import base64
import json
import random
import string
from pathlib import Path

import pytest

from memory.secret_content import Secret, find_secret
from tests.growth import grows_with

HARMLESS = [
    block.strip("\n")
    for block in (Path(__file__).parent / "data" / "harmless.txt")
    .read_text("utf-8")
    .split("\n---\n")
]
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def drawn(alphabet, length, seed=7):
    """Return characters of the alphabet, at random and the same ones every time."""
    chosen = random.Random(f"{seed} {length} {alphabet}")
    while True:
        value = "".join(chosen.choices(alphabet, k=length))
        has_digit = (
            any(map(str.isdigit, value)) or not any(map(str.isdigit, alphabet)) or length < 8
        )
        if has_digit and len(set(value)) >= min(6, length // 2):
            return value


def jwt():
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": "1"})]
    encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, drawn(URLSAFE, 43)])


def pem(label):
    dashes = "-" * 5
    body = "\n".join(drawn(ALNUM + "+/", 64, seed) for seed in range(4))
    return f"{dashes}BEGIN {label}{dashes}\n{body}\n{dashes}END {label}{dashes}"


# The parts are put together here, so that no secret in its live form stands in the repository.
KEYS = {
    "palimpsest token": "plm" + "_" + drawn(ALNUM, 36),
    "AWS access key id": "AK" + "IA" + drawn(string.ascii_uppercase + "234567", 16),
    "AWS temporary key id": "AS" + "IA" + drawn(string.ascii_uppercase + "234567", 16),
    "GitHub personal": "gh" + "p_" + drawn(ALNUM, 36),
    "GitHub OAuth": "gh" + "o_" + drawn(ALNUM, 36),
    "GitHub server": "gh" + "s_" + drawn(ALNUM, 36),
    "GitHub fine-grained": "github" + "_pat_" + drawn(ALNUM, 22) + "_" + drawn(ALNUM, 59),
    "GitLab": "gl" + "pat-" + drawn(URLSAFE, 20),
    "Slack bot": "xo"
    "xb-" + drawn("123456789", 12) + "-" + drawn("123456789", 13) + "-" + drawn(ALNUM, 24),
    "Slack user": "xo" + "xp-" + drawn("123456789", 12) + "-" + drawn(HEX, 32),
    "Slack webhook": "https://hooks.slack"
    ".com/services/T" + drawn(UPPER, 8) + "/B" + drawn(UPPER, 10) + "/" + drawn(ALNUM, 24),
    "Stripe secret": "sk" + "_live_" + drawn(ALNUM, 24),
    "Stripe restricted": "rk" + "_live_" + drawn(ALNUM, 99),
    "OpenAI": "sk" + "-" + drawn(ALNUM, 20) + "T3Blbk" + "FJ" + drawn(ALNUM, 20),
    "OpenAI project": "sk" + "-proj-" + drawn(URLSAFE, 74) + "T3Blbk" + "FJ" + drawn(URLSAFE, 74),
    "Anthropic": "sk" + "-ant-api03-" + drawn(URLSAFE, 93) + "AA",
    "Google API": "AI" + "za" + drawn(URLSAFE, 35),
    "Google OAuth secret": "GOC" + "SPX-" + drawn(URLSAFE, 28),
    "npm": "np" + "m_" + drawn(ALNUM, 36),
    "PyPI": "py" + "pi-AgEIcHlwaS5vcmc" + drawn(URLSAFE, 70),
    "Twilio": "S" + "K" + drawn(HEX, 32),
    "SendGrid": "S" + "G." + drawn(URLSAFE, 22) + "." + drawn(URLSAFE, 43),
    "Mailgun": "ke" + "y-" + drawn(HEX, 32),
    "Mailchimp": drawn(HEX, 32) + "-us" + "14",
    "Telegram": drawn("123456789", 10) + ":A" + "A" + drawn(URLSAFE, 33),
    "Discord": "M" + drawn(ALNUM, 25) + "." + drawn(ALNUM, 6) + "." + drawn(URLSAFE, 38),
    "Hugging Face": "h" + "f_" + drawn(string.ascii_letters, 34),
    "DigitalOcean": "do" + "p_v1_" + drawn(HEX, 64),
    "Heroku": "HR" + "KU-" + drawn(URLSAFE, 58),
    "Databricks": "da" + "pi" + drawn(HEX, 32),
    "Doppler": "d" + "p.pt." + drawn(ALNUM, 43),
    "Vault": "hv" + "s." + drawn(URLSAFE, 90),
    "Shopify": "shp" + "at_" + drawn(HEX, 32),
    "Square": "sq0" + "atp-" + drawn(URLSAFE, 22),
    "Linear": "lin" + "_api_" + drawn(ALNUM, 40),
    "Notion": "nt" + "n_" + drawn(ALNUM, 46),
    "Notion, older": "sec" + "ret_" + drawn(ALNUM, 43),
    "Docker Hub": "dckr" + "_pat_" + drawn(URLSAFE, 27),
    "Airtable": "pa" + "t" + drawn(ALNUM, 14) + "." + drawn(HEX, 64),
    "age": "AGE-SECRET" + "-KEY-1" + drawn(UPPER, 58),
    "JSON web token": jwt(),
    "PKCS 8": pem("PRIVATE" + " KEY"),
    "RSA": pem("RSA PRIVATE" + " KEY"),
    "OpenSSH": pem("OPENSSH PRIVATE" + " KEY"),
    "encrypted": pem("ENCRYPTED PRIVATE" + " KEY"),
    "PGP": pem("PGP PRIVATE" + " KEY BLOCK"),
    "PuTTY": "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n" + drawn(ALNUM + "+/", 44),
    "service account": json.dumps(
        {"type": "service_account", "private_key": pem("PRIVATE" + " KEY")}
    ),
    "Azure storage": "AccountName=a;Account" + "Key=" + drawn(ALNUM + "+/", 86) + "==;",
    "Azure signature": "https://a.blob.core.windows.net/c?sv=2024&sig=" + drawn(ALNUM, 43) + "%3D",
}
IN_CONTEXT = {
    "AWS secret": "aws_secret_access_key = " + drawn(ALNUM + "+/", 40),
    "AWS secret, camel": '{"SecretAccessKey": "' + drawn(ALNUM + "+/", 40) + '"}',
    "Heroku": "HEROKU_API_KEY=" + "-".join(drawn(HEX, size) for size in (8, 4, 4, 4, 12)),
    "Postgres": "postgres://app:" + drawn(ALNUM, 16) + "@db.example.org:5432/app",
    "MySQL": "mysql://root:" + drawn(ALNUM + "!#", 12) + "@10.0.0.5/shop",
    "AMQP": "amqps://worker:" + drawn(ALNUM, 20) + "@mq.internal/vhost",
    "Redis": "redis://:" + drawn(ALNUM, 32) + "@cache.internal:6379/0",
    "HTTP": "curl https://deploy:" + drawn(ALNUM, 18) + "@git.example.org/x.git",
    "bearer": "Authorization: Bearer " + drawn(URLSAFE, 40),
    "basic": "Authorization: Basic "
    + base64.b64encode(b"deploy:" + drawn(ALNUM, 12).encode()).decode(),
    "password, quoted": 'password = "' + drawn(ALNUM + "!$", 12) + '"',
    "password, env file": "DB_PASSWORD=" + drawn(ALNUM, 14),
    "password, yaml": "  password: " + drawn(ALNUM + "#", 14),
    "password, json": '{"user": "app", "password": "' + drawn(ALNUM, 10) + '"}',
    "password, typed": 'password: str = "' + drawn(ALNUM, 10) + '"',
    "password, sentence": "the password is hunter" + "2-Xk9!",
    "password, end of sentence": "The admin password for staging is hunter" + "2.",
    "password, German": "Das Passwort lautet Sommer" + "2026!",
    "password, Spanish": "contraseña: Verano" + "2026",
    "password, French": "Le mot de passe est Soleil" + "!2026",
    "password, Chinese": "密码是 Abc9" + "xyz!7",
    "password, Chinese, fullwidth": "密码：Abc9" + "xyz!7",
    "password, Japanese": "パスワードは「Abc9" + "xyz!7」",
    "password, Korean": "비밀번호: Abc9" + "xyz!7",
    "password, Russian": "пароль: Leto" + "2026!",
    "password, letters only": 'password = "let' + 'meinnow"',
    "password, markdown": "**Password:** `" + drawn(ALNUM, 12) + "`",
    "password, with a dollar": "password: $ecret" + "9!",
    "password, weak": "password: admin" + "123",
    "password, no digit": "password: qXbTzw" + "PdRfGh",
    "AWS secret, with a slash first": "aws_secret_access_key=/" + drawn(ALNUM, 39),
    "api key": "api_key: " + drawn(ALNUM, 32),
    "api key, hex": 'API_KEY="' + drawn(HEX, 32) + '"',
    "client secret": "client_secret=" + drawn(URLSAFE, 40),
    "token header": "X-Auth-Token: " + drawn(ALNUM, 40),
    "secret key": "SECRET_KEY = '" + drawn(ALNUM + "!@#$%", 50) + "'",
    "curl": "curl -u admin:" + drawn(ALNUM, 12) + " https://ci.example.org",
    "flag": "mycli login --password " + drawn(ALNUM, 12),
    "flag with =": "mycli login --token=" + drawn(ALNUM, 30),
    "sshpass": "sshpass -p " + drawn(ALNUM, 10) + " ssh root@host",
}


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize(
    "around",
    ["{}", "Use {} for it.", "key:\n\n    `{}`\n", '{{"a": "{}"}}', "用{}登录", "x={}&y=1"],
)
def test_key_in_its_issuers_format_is_found(kind, around):
    text = around.format(KEYS[kind])
    found = find_secret(text)
    assert found is not None
    assert text[found.start : found.end] in text
    assert found.end > found.start


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize("name", IN_CONTEXT)
def test_secret_is_found_by_what_it_is_called(name):
    assert find_secret(IN_CONTEXT[name]) is not None
    assert find_secret(f"Erste Zeile.\n{IN_CONTEXT[name]}\nLetzte Zeile.") is not None


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize("seed", range(40))
def test_secret_is_found_whatever_the_draw(seed):
    assert find_secret("gh" + "p_" + drawn(ALNUM, 36, seed))
    assert find_secret("AI" + "za" + drawn(URLSAFE, 35, seed))
    assert find_secret("api_key = " + drawn(ALNUM, 32, seed))
    assert find_secret("password: " + drawn(ALNUM, 12, seed))


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_passes(text):
    found = find_secret(text)
    assert found is None, (found, text[found.start : found.end])


def test_harmless_texts_are_many():
    assert len(HARMLESS) >= 120
    assert len(KEYS) + len(IN_CONTEXT) >= 60


@pytest.mark.rule("WR-11")
@pytest.mark.parametrize(
    "cut", ["\u200b", "\u00ad", "\u2060\u200d", "\ufeff", "\n", "\r\n", "\\\n    "]
)
@pytest.mark.parametrize("kind", ["GitHub personal", "Anthropic", "Stripe secret", "Google API"])
def test_key_cut_in_two_is_still_found(kind, cut):
    key = KEYS[kind]
    text = f"It is {key[:17]}{cut}{key[17:]} as before"
    found = find_secret(text)
    assert found is not None
    assert text[found.start : found.end] == key[:17] + cut + key[17:]


def test_our_own_token_is_found_whatever_its_check_characters():
    assert find_secret("plm" + "_" + "x" * 36) == Secret("palimpsest token", 0, 40)
    assert find_secret("Authorization: Bearer plm_...") is None


def test_what_is_found_does_not_hold_the_secret():
    key = KEYS["GitHub personal"]
    assert key[4:] not in repr(find_secret(f"my {key}"))


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a ",
        "eyJ",
        "eyJa-",
        "password ",
        "password=",
        "password: a1",
        "x://a:",
        "://",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----\n",
        "aws ",
        "mysql -p",
        "curl -u a:",
        "glpat-",
        "sk-",
        "Bearer ",
        "token:",
        "\n",
        "a\n",
        "\u200b",
        "a\u200b",
        "AccountKey=",
        "1",
        "=",
        "xoxb-",
        "A.",
        "hooks.slack.com/services/T",
        "--a-",
    ],
)
def test_time_is_linear_in_the_text(piece):
    assert grows_with(find_secret, (piece * 32768)[:32768])
