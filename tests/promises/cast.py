"""An office, another one, a suspended one, and everybody who knocks at the first."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta

from tenants.caller import Scope
from tenants.founding import OWNER
from tenants.models import Tenant, Token
from tests.people import SEE, WRITE, Office, Person, new_office
from tests.promises.catalogue import tenant_tables
from tests.promises.raw import login
from tests.promises.surface import Things, existing, needs
from tests.sniffer import Sniffer


class Cast:
    """An office, another one, a suspended one, and everybody who knocks."""

    def __init__(self) -> None:
        self.sniffer = Sniffer()
        self.office, self.elsewhere, suspended = new_office(), new_office(), new_office()
        self.canary = self.sniffer.plant(self.office.tenant.id)
        self.elsewhere_canary = self.sniffer.plant(self.elsewhere.tenant.id)
        office = self.office
        self.actors: dict[str, Person | None] = {
            "anon": None,
            "revoked": office.person("revoked", grants=[(office.apollo, WRITE)]),
            "expired": office.person("expired", grants=[(office.apollo, WRITE)]),
            "suspended": suspended.senior,
            "foreign": self.elsewhere.senior,
            "fadmin": self.elsewhere.admin,
            "outsider": office.outsider,
            "confined": office.person(
                "confined",
                grants=[(office.apollo, WRITE), (office.hermes, WRITE)],
                project=office.hermes,
            ),
            "viewer": office.viewer,
            "onlooker": office.person("onlooker", grants=[(office.apollo, SEE)]),
            "contractor": office.contractor,
            "blind": office.person("blind", grants=[(office.apollo, WRITE)], scopes=(Scope.WRITE,)),
            "agent2": office.agent2,
            "agent": office.agent,
            "colleague": office.colleague,
            "reviewer": office.reviewer,
            "senior": office.senior,
            "admin": office.admin,
        }
        _over(self.actors["revoked"], revoked_at=datetime.now(UTC))
        _over(self.actors["expired"], expires_at=datetime.now(UTC) - timedelta(seconds=1))
        Tenant.objects.using(OWNER).filter(id=suspended.tenant.id).update(state="suspended")

    def tenant_of(self, actor: str) -> uuid.UUID | None:
        person = self.actors[actor]
        return None if person is None else person.caller.tenant_id

    def things(self, verb: str = "GET", route: str = "memories/<str:memory_id>") -> Things:
        return existing(self.office, self.canary, needs(verb, route))


def _over(person: Person | None, **when: datetime) -> None:
    assert person is not None
    assert person.caller.token_id is not None
    Token.objects.using(OWNER).filter(id=person.caller.token_id).update(**when)


# Counted and sealed behind what was asked, some time after.
_WRITTEN_LATER = {"activations", "event_chain", "event_heads", "unsealed_events"}


def state_of(office: Office) -> str:
    """Return a digest of every row of the office's."""
    digest = hashlib.sha256()
    with login("OWNER_DATABASE_URL") as owner:
        for table in sorted(set(tenant_tables(owner)) - _WRITTEN_LATER):
            key = "id" if table == "tenants" else "tenant_id"
            rows = owner.execute(
                f"SELECT md5(t::text) FROM {table} t WHERE {key} = %s ORDER BY 1",
                [office.tenant.id],
            ).fetchall()
            digest.update(f"{table}{rows}".encode())
    return digest.hexdigest()
