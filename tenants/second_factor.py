"""
The second factor of a log-in: codes by the clock, and codes for when the clock is lost.

A log-in is for all tenants, and so is its second factor. django-otp keeps both kinds of code. Its
own throttle is off: it would count by log-in, whoever asks, and so let a stranger shut out the
owner. Wrong codes are counted by log-in and address instead, as wrong passwords are.
"""

import hashlib
import re
import secrets
import time
from base64 import b32decode, b32encode
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django_otp.models import Device
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from tenants.audit import record
from tenants.caller import Caller
from tenants.context import acting_as
from tenants.ids import Prefix, wire_id
from tenants.models import Event, Member, User
from tenants.once import Answer
from tenants.refusals import NotFound, Refusal

RECOVERY_CODES = 8
_CODE = re.compile(r"[0-9]{6}")
_RECOVERY_CODE = re.compile(r"[a-z2-7]{16}")
_NAME = "authenticator"


class SitsElsewhere(Refusal):
    title = "A log-in of other tenants too"

    def __init__(self) -> None:
        super().__init__(
            "This log-in has a seat in another tenant too, so its second factor is not this "
            "tenant's to take: ask the operator (reset_second_factor)."
        )


class NoSecondFactor(Refusal):
    title = "No second factor"

    def __init__(self) -> None:
        super().__init__("This log-in has no second factor; the next log-in asks for one.")


def secret_of(device: TOTPDevice) -> str:
    """Return what the authenticator was told, in base 32."""
    return b32encode(device.bin_key).decode("ascii")


def device_with(user: User, secret: str) -> TOTPDevice:
    """Return the authenticator that holds this secret; it is not kept yet."""
    return TOTPDevice(user=user, name=_NAME, key=b32decode(secret).hex(), confirmed=True)


def has_second_factor(user: User) -> bool:
    """Return whether the log-in has an authenticator."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def enrol(user: User, secret: str, said: str) -> tuple[Device, list[str]] | None:
    """
    Keep the authenticator if it shows the right code; return it, and the recovery codes.

    The code is used up with that. The recovery codes are shown now and never again: what is kept
    of them is a hash.
    """
    device = device_with(user, secret)
    totp = TOTP(device.bin_key)
    totp.time = time.time()
    if _CODE.fullmatch(_bare(said)) is None or not totp.verify(int(_bare(said)), device.tolerance):
        return None
    device.last_t, device.drift = totp.t(), totp.drift
    try:
        with transaction.atomic():
            device.save(force_insert=True)
            return device, _new_recovery_codes(user)
    except IntegrityError:  # another session was quicker
        return None


def _new_recovery_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    kept = StaticDevice.objects.create(user=user, name="recovery codes", confirmed=True)
    codes = [_in_base32(secrets.token_bytes(10)) for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=kept, token=_hashed(code)) for code in codes)
    return ["-".join(re.findall("....", code)) for code in codes]


def _hashed(code: str) -> str:
    """Return what is kept of a recovery code; 80 bits of chance need no slow hash."""
    digest = hashlib.sha256(f"recovery code:{code}".encode()).digest()
    return _in_base32(digest[:10])


def _in_base32(data: bytes) -> str:
    return b32encode(data).decode("ascii").lower()


def device_that_knows(user: User, said: str) -> Device | None:
    """
    Return the device of which this is a code, which is used up with that; nothing if none is.

    The device stays locked meanwhile, so of two that say the same code one is let in.
    """
    bare = _bare(said)
    if _CODE.fullmatch(bare):
        kind: type[Device] = TOTPDevice
    elif _RECOVERY_CODE.fullmatch(bare):
        kind, bare = StaticDevice, _hashed(bare)
    else:
        return None
    with transaction.atomic():
        found = kind.objects.select_for_update().filter(user=user, confirmed=True)
        return next((device for device in found if device.verify_token(bare)), None)


def _bare(said: str) -> str:
    return re.sub(r"[\s-]", "", said).lower()


def reset_second_factor(caller: Caller, *, member_id: UUID) -> Answer:
    """
    Take a member's second factor away, so that the next log-in sets up another.

    Whoever is logged in with it is out at once.

    :raises SitsElsewhere: if the log-in is another tenant's, too
    :raises NoSecondFactor: if there is none to take
    """
    caller.must_administer()
    with acting_as(caller), connection.cursor() as cursor:
        if not Member.objects.filter(id=member_id).exists():
            raise NotFound
        cursor.execute("SELECT take_second_factor(%s)", [member_id])
        (outcome,) = cursor.fetchone()
        if outcome == "elsewhere":
            raise SitsElsewhere
        if outcome == "none":
            raise NoSecondFactor
        record("reset_second_factor", "member", member_id)
    return {"member_id": wire_id(Prefix.MEMBER, member_id)}


def take_as_operator(user: User, *, using: str) -> bool:
    """Take a log-in's second factor away, and return whether there was one; told in each tenant."""
    with transaction.atomic(using=using):
        _, taken = TOTPDevice.objects.using(using).filter(user=user).delete()
        StaticDevice.objects.using(using).filter(user=user).delete()
        for seat in Member.objects.using(using).filter(user=user) if taken else ():
            Event.objects.using(using).create(
                tenant_id=seat.tenant_id,
                command="reset_second_factor",
                object_type="member",
                object_id=seat.id,
                request_id="",
                reason="by the operator",
            )
    return bool(taken)
