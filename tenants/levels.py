"""Clearance levels: ordered, the tenant's own, called by name or by number."""

from tenants.models import Tenant
from tenants.refusals import Invalid, Unauthenticated


def own_tenant() -> Tenant:
    """
    Return the tenant of the open door.

    :raises Unauthenticated: if the caller has lost the seat since the door was opened
    """
    tenant = Tenant.objects.first()
    if tenant is None:
        raise Unauthenticated("Your seat in the tenant is gone.")
    return tenant


def clearance(said: str | int | None) -> int:
    """
    Return the level that is meant: one of the tenant's, the lowest if nothing is said.

    :raises Invalid: if the tenant has no such level
    """
    levels: dict[str, int] = own_tenant().levels
    if said is None:
        return min(levels.values(), default=0)
    if said in levels:
        return levels[str(said)]
    if said in levels.values():
        return int(said)
    in_order = sorted((number, name) for name, number in levels.items())
    known = ", ".join(f"{name} ({number})" for number, name in in_order)
    raise Invalid.field("level", f"unknown; the tenant has: {known}", "unknown_choice")
