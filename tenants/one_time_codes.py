"""One-time codes by the clock (TOTP, RFC 6238): six digits that change every half minute."""

import secrets
from base64 import b32decode, b32encode

from django_otp.oath import TOTP

STEP = 30  # seconds


def new_secret() -> str:
    """Return a secret to be shared with an authenticator, 160 bits in base 32."""
    return b32encode(secrets.token_bytes(20)).decode("ascii")


def code_at(secret: str, at: float) -> str:
    """Return the code of that moment, in seconds since 1970."""
    totp = TOTP(b32decode(secret), step=STEP)
    totp.time = at
    return f"{totp.token():06d}"
