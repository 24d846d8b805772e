"""
Secrets in a text: keys, tokens and passwords that nobody should find in a memory.

Formats that issuers document are known by their shape. Elsewhere a secret is what somebody calls
a password, a key or a token, and what looks like one: no placeholder, no name, no prose.
What merely is random (hashes, ids, digests, certificates) is left alone.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.secret_formats import FORMATS


class Secret(NamedTuple):
    """Where in a text a secret is and of which kind; never the secret itself."""

    kind: str
    start: int
    end: int


def find_secret(text: str) -> Secret | None:
    """Return the first secret in the text, or None."""
    found = list(_secrets_in(text))
    # A key cut up by characters nobody sees, or wrapped over two lines, is still a key.
    for pattern in (_UNSEEN, _WRAPPED):
        if pattern.search(text):
            joined, places = _without(pattern, text)
            found += [
                Secret(kind, places[start], places[end - 1] + 1)
                for kind, start, end in _known_formats(joined)
            ]
    return min(found, key=lambda secret: (secret.start, -secret.end), default=None)


_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]+"
)
_WRAPPED = re.compile(r"(?<=[A-Za-z0-9_-])\\?\r?\n[ \t]{0,8}(?=[A-Za-z0-9_-]{4})")

_KNOWN = re.compile(
    r"(?<![A-Za-z0-9_])(?=[A-Za-z0-9])(?:"
    + "|".join(f"(?P<k{number}>{shape})" for number, shape in enumerate(FORMATS.values()))
    + ")"
)
_KINDS = list(FORMATS)

# A header alone is only talk of a key; with it goes a line of its body.
_PRIVATE_KEY = re.compile(
    r"-----?-? ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?-?"
    r"(?:\\+[nr]|[\s\"'>#*+|]|[A-Za-z-]{3,20}: [^\n\\]{0,100}(?:\n|\\n))*+[A-Za-z0-9+/]{20}"
    r"|Private-Lines: \d{1,4}(?:\\n|\s)++[A-Za-z0-9+/]{20}"
    r"|\"(?:d|k)\"\s{0,4}:\s{0,4}\"[A-Za-z0-9_-]{32,1400}\""
)
_AZURE = re.compile(
    r"(?:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{42,88}={0,2})"
    r"|[?&;]sig=(?P<signature>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){40,64})"
)
_IN_CONTEXT = re.compile(
    r"(?:heroku[^\n]{0,40}?(?P<heroku>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"|(?:twilio|datadog|algolia|cloudflare)[^\n]{0,40}?(?<![0-9a-f])(?P<hex>[0-9a-f]{32})"
    r"|(?:aws|amazon|secret.?access.?key)[^\n]{0,40}?(?<![A-Za-z0-9/+])(?P<aws>[A-Za-z0-9/+]{40})"
    r"(?![A-Za-z0-9/+=]))",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}+://(?P<user>[^\s/:@\"'`]{0,64}):"
    r"(?P<value>[^\s/@\"'`]{1,200})@[\w\[$<{]"
)
_AUTHORIZATION = re.compile(
    r"\b(?P<scheme>Basic|Bearer|token)[ :]{1,2}[\"']?(?P<value>[A-Za-z0-9+/_.~-]{8,4000}+={0,2})",
    re.IGNORECASE,
)
_ON_COMMAND_LINE = re.compile(
    r"\bcurl\b[^\n]{0,120}? (?:-u|--user)[ =][\"']?[\w.@+-]{1,60}:(?P<curl>[^\s\"']{3,120})"
    r"|\bsshpass +-p *[\"']?(?P<ssh>[^\s\"']{3,120})"
    r"|--(?:[a-z]{1,20}-){0,2}(?:password|passwd|token|secret|api-key)["
    r" =][\"']?(?P<flag>[^\s\"']{6,300})"
    r"|\b(?:mysql|mysqldump|mariadb)\b[^\n]{0,80}? -p(?P<mysql>[^\s\"'-][^\s\"']{3,120})"
)

_WORDS_FOR_IT = (
    "password passwd passwort kennwort passphrase passcode pwd contraseña senha wachtwoord hasło"
    " пароль пароля lösenord parola şifre 密码 密碼 口令 パスワード 비밀번호 비번"
)
_PASSWORD = rf"(?:{'|'.join(_WORDS_FOR_IT.split())}|mot de passe|كلمة المرور|\bpw|\bpass)"
_KEY = (
    r"(?:api|access|secret|private|auth|signing|encryption|master|account|service|license)[-_ .]?"
    r"(?:access[-_ .]?)?key|api[-_ ]?token|secret|token|credentials?|auth[-_ ]?code|app[-_"
    r" ]?password"
)
_ASSIGNED = re.compile(
    rf"(?:(?P<password>{_PASSWORD})|(?P<key>{_KEY}))"
    r"(?:[-_]?(?:prod|production|dev|staging|test|live|\d{1,2}))?(?![A-Za-z])[\"'`\]*]{0,3}+"
    r"(?: (?:for|of|für|de|pour|para) [\w.@-]{1,40})?"
    r"(?P<sign>[ \t]{0,8}(?:: ?(?:str|string|String|SecretStr|bytes)(?: \| None)? ?= ?|:="
    r"|=>|={1,2}|:|：|＝)"
    r"|[ \t]{1,8}(?P<word>is|was|ist|lautet|est|es|è|é|jest|to|auf|=)(?: now| jetzt)?:?(?= )"
    r"|[ \t]?(?P<particle>是|为|為|は|は、|은|는))"
    r"[ \t*]{0,8}(?P<quote>[\"'`“「]{0,3})(?P<value>[^\s\"'`”」，。]{3,300})",
    re.IGNORECASE,
)


def _secrets_in(text: str) -> Iterator[Secret]:
    yield from _known_formats(text)
    yield from _private_keys(text)
    yield from _called_secret(text)
    for match in _URL_PASSWORD.finditer(text):
        if match["value"] != match["user"] and not _is_placeholder(match["value"]):
            yield Secret("password in a URL", *match.span("value"))
    for match in _AUTHORIZATION.finditer(text):
        if _authorizes(match["scheme"].lower(), match["value"]):
            yield Secret("authorization header", *match.span("value"))
    for match in _ON_COMMAND_LINE.finditer(text):
        group = match.lastgroup or ""
        value = match[group]
        if not _is_placeholder(value) and (group == "ssh" or _is_password(value)):
            yield Secret("password on a command line", *match.span(group))


def _private_keys(text: str) -> Iterator[Secret]:
    for match in _PRIVATE_KEY.finditer(text):
        if match[0][0] != '"' or '"kty"' in text:
            yield Secret("private key", *match.span())


def _called_secret(text: str) -> Iterator[Secret]:
    for pattern, kind in ((_AZURE, "Azure key"), (_IN_CONTEXT, "cloud key")):
        for match in pattern.finditer(text):
            group = match.lastgroup or ""
            if _is_random(match[group]) and not (group == "aws" and _is_digest(match[group])):
                yield Secret(kind, *match.span(group))
    for match in _ASSIGNED.finditer(text):
        if _is_assigned_secret(match, text):
            kind = "password" if match["password"] else "assigned secret"
            yield Secret(kind, *match.span("value"))


def _known_formats(text: str) -> Iterator[Secret]:
    for match in _KNOWN.finditer(text):
        kind = _KINDS[int((match.lastgroup or "k0")[1:])]
        ours = kind == "palimpsest token"
        real = not _is_filler(match[0]) and (kind != "JSON web token" or _is_jwt(match[0]))
        if ours or real:
            yield Secret(kind, *match.span())


def _is_jwt(token: str) -> bool:
    header = token.partition(".")[0]
    try:
        decoded = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def _authorizes(scheme: str, value: str) -> bool:
    if _is_placeholder(value) or (scheme == "token" and _UUID.fullmatch(value)):
        return False
    if scheme != "basic":
        return len(value) >= 20 and _is_random(value) and not _is_named(value)
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    user, colon, password = decoded.partition(":")
    return (
        bool(colon) and decoded.isprintable() and user != password and not _is_placeholder(password)
    )


_FILLERS = re.compile(
    r"example|placeholder|change[-_ ]?(?:me|it|this)|redacted|your|dummy|sample|insert|replace|todo"
    r"|censored|fake|xxxx|\*\*\*|\.\.\.|…|•|█|1234567890|abcdefgh|deadbeef|0{8}",
    re.IGNORECASE,
)
# A reference to a secret that is kept where it belongs.
_REFERENCE = re.compile(
    r"\$(?:[{(]|[A-Z_][A-Z0-9_]*$|[a-z_]+$)|%(?:\(|s$|\w+%)|[<{(]|\[|!(?:vault|env|Ref|Sub|secret"
    r"|reference)|&\w+$"
    r"|(?:os|process|env|environ|settings|config|self|vars|secrets|var|data|module|local|ctx|req"
    r"|request|args|opts|options|params|this|import\.meta|Deno|std)[.\[:]"
    r"|(?:vault|op|ssm|sm|gsm|https?|file|secret|aws|azurekv|keyring)://?|(?:vault|arn|ssm|file):"
    r"|/(?:run|etc|var|home|usr|opt|mnt|secrets?|tmp|root|srv|app|data)/|\.{1,2}/|~/"
    r"|[\w.]*\(|\w+\[\w*\]?$|\w+\[\w*\]|[A-Z][A-Z0-9]*_[A-Z0-9_]+$|[a-z_]+(?:\.[a-z_]\w*)+$"
)
_COMMON_WORDS = (
    "password passwort passwd pass passw0rd secret secrets token key user username admin root"
    " test testing testpass testpassword string str text bytes none null nil true false"
    " undefined empty required optional hidden masked removed missing invalid wrong foo bar baz"
    " foobar postgres guest default mypassword mysecret mysecretpassword yourpassword"
    " my-secret-pw pwd pw env prompt ask stdin generated random unset same rotate rotated stored"
    " encrypted hashed plain plaintext"
)
_COMMON = frozenset(_COMMON_WORDS.split())
# These stand for a password with a number after them too; admin123 is somebody's.
_STAND_INS = frozenset(
    ("password", "passwort", "pass", "secret", "test", "user", "foo", "mypassword")
)
_ALGORITHMS = re.compile(
    r"(?:argon2\w*|sha-?\d+|bcrypt\w*|base\d+\w*|md5|pbkdf2\w*|scrypt|utf-?\d+|oauth-?2\w*"
    r"|http/?\d\S*"
    r"|ed25519|[eprh]s\d{3}|aes-?\d+\w*|rsa-?\d*|x509|fido2|u2f|totp|k8s|v\d+"
    r"|\d+[a-z]{0,3})(?:[-/.]\S*)?",
    re.IGNORECASE,
)
_NOT_SECRET_BEFORE = re.compile(
    r"(?<![A-Za-z])(?:page|next|csrf|cursor|cancel|cancell?ation|sync|continuation|pad|eos"
    r"|bos|sep|cls|unk|mask|idempotency"
    r"|no|max|min|num|per|design|stop|end|start|special|first|last|public)[-_ ]?$",
    re.IGNORECASE,
)


_WORD_OR_NUMBER = re.compile(r"[A-Za-z]{0,20}|[A-Za-z]{1,12}\d{1,4}|\d{1,4}[a-z]{0,3}")


def _is_filler(value: str) -> bool:
    """Return whether a value only shows where another would stand."""
    if _FILLERS.search(value):
        return True
    body = value[value.find("_", 0, 12) + 1 :]
    return len(body) >= 12 and len(set(body)) < 6


def _is_placeholder(value: str) -> bool:
    plain = value.strip("\"'`.,;:)]}*").lower()
    if len(plain) < 3 or plain in _COMMON or _REFERENCE.match(value) or _is_filler(value):
        return True
    return len(set(plain)) == 1 or plain.rstrip("0123456789!") in _STAND_INS


def _is_random(value: str) -> bool:
    """Return whether the value has letters and digits, and enough different ones."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and len(set(value)) >= 9 and not _is_placeholder(value)


def _is_digest(value: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{32,128}|[0-9A-F]{32,128}", value) is not None


def _is_named(value: str) -> bool:
    """Return whether the value reads as words with a number among them: eu-west-1, user_id_v2."""
    pieces = re.split(r"[-_./:]+", value)
    return all(map(_WORD_OR_NUMBER.fullmatch, pieces))


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TYPE_ID = re.compile(r"[a-z]{1,12}_[0-7][0-9a-hjkmnp-tv-z]{25}")


def _is_assigned_secret(match: re.Match[str], text: str) -> bool:
    value = match["value"] if match["quote"] else match["value"].rstrip(".,;:!?)]}*\\")
    before = text[max(match.start() - 16, 0) : match.start()]
    if _is_placeholder(value) or _ALGORITHMS.fullmatch(value):
        return False
    if match["password"]:
        return _is_assigned_password(value, match, text)
    if _NOT_SECRET_BEFORE.search(before):
        return False
    if _TYPE_ID.fullmatch(value) or len(value) < 16 or not _is_random(value) or _is_named(value):
        return False
    if _UUID.fullmatch(value):
        return match["key"].lower() != "token" and not match["word"]
    return not value.startswith(("sha256", "sha512", "sha1-", "md5"))


def _is_assigned_password(value: str, match: re.Match[str], text: str) -> bool:
    if match["sign"]:
        quoted_assignment = bool(match["quote"]) and "=" in match["sign"] and len(value) >= 6
        return _is_password(value) or (
            quoted_assignment and value.isascii() and not value.isdigit()
        )
    # In a sentence ("the password is ...") only what ends it, or what no word looks like.
    ends = not re.match(r" +\w", text[match.end("value") :][:8])
    unlike_a_word = any(symbol in value[1:] for symbol in "!@#$%^&*?+~=")
    return _is_password(value) and (ends or unlike_a_word or bool(match["quote"]))


def _is_password(value: str) -> bool:
    """Return whether the value is no word: letters with digits, or both cases with a symbol."""
    if len(value) < 6 or not value.isascii():
        return False
    lower, upper = re.search("[a-z]", value), re.search("[A-Z]", value)
    symbol = re.search(r"[^A-Za-z0-9._/:-]", value)
    if "-" in value and not upper and not symbol and _is_named(value):
        return False
    if re.search(r"\d", value):
        return bool(lower or upper)
    if len(re.findall("[a-z][A-Z]", value)) >= 3:
        return True
    return len(value) >= 8 and bool(lower and symbol and (upper or re.search("[!@#$%^&*]", value)))


def _without(pattern: re.Pattern[str], text: str) -> tuple[str, list[int]]:
    """Return the text without what the pattern finds, and where each character stood."""
    kept: list[str] = []
    places: list[int] = []
    start = 0
    for match in pattern.finditer(text):
        kept.append(text[start : match.start()])
        places.extend(range(start, match.start()))
        start = match.end()
    kept.append(text[start:])
    places.extend(range(start, len(text)))
    return "".join(kept), places
