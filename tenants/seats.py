"""Seats: as whom somebody who has logged in with a password sits in which tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from tenants.caller import Caller, Rank, Role, Scope
from tenants.ids import MalformedId, Prefix, read_id, wire_id
from tenants.models import Member

SESSION_KEY = "seat"


@dataclass(frozen=True)
class Seat:
    """A person's place in one tenant. A row of the database's seats_of()."""

    tenant_id: UUID
    tenant_name: str
    member_id: UUID
    member_name: str
    role: str
    level: int
    reviews: bool

    @property
    def id(self) -> str:
        """The seat's id as it stands in the session and in forms."""
        return wire_id(Prefix.MEMBER, self.member_id)

    @property
    def administers(self) -> bool:
        return self.role == Member.SeatRole.ADMIN

    @property
    def scopes(self) -> frozenset[Scope]:
        """What the seat may be used for; what it may then see and change, the policies say."""
        # Everybody decides about what is personal to them.
        scopes = {Scope.READ, Scope.WRITE, Scope.REVIEW}
        if self.reviews:
            scopes |= {Scope.HYGIENE}
        if self.administers:
            scopes |= {Scope.ADMIN, Scope.HYGIENE}
        return frozenset(scopes)

    def caller(self, request_id: str) -> Caller:
        """Return the person in this seat as whoever asks."""
        return Caller(
            tenant_id=self.tenant_id,
            member_id=self.member_id,
            name=self.member_name,
            level=self.level,
            rank=Rank.HUMAN,
            scopes=self.scopes,
            administers=self.administers,
            # Gives nothing to somebody who reviews nothing.
            role=Role.REVIEWER,
            request_id=request_id,
        )


def seats_of(user_id: UUID) -> list[Seat]:
    """Return the active seats of a log-in, in the order of the tenants' names."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM seats_of(%s)", [user_id])
        return [Seat(*row) for row in cursor.fetchall()]


def chosen_seat(seats: Sequence[Seat], chosen: object) -> Seat | None:
    """Return the seat that was chosen, as long as the person still has it, or else the first."""
    wanted = seat_id(chosen)
    return next((seat for seat in seats if seat.member_id == wanted), next(iter(seats), None))


def seat_id(text: object) -> UUID | None:
    """Return which seat the text names, if any."""
    try:
        return read_id(Prefix.MEMBER, str(text))
    except MalformedId:
        return None
