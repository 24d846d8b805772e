"""Names that only one thing may have."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import IntegrityError, transaction

from tenants.refusals import FieldError, Refusal


class Taken(Refusal):
    title = "Taken already"

    @classmethod
    def field(cls, field: str, message: str) -> "Taken":
        """Return the refusal of what somebody else has."""
        return cls(f"{field}: {message}", [FieldError(field, "taken", message)])


@contextmanager
def must_be_free(constraint: str, field: str, message: str) -> Iterator[None]:
    """
    Make or rename something, and name the field if another has the name.

    The constraint decides, not a look beforehand: two who ask at the same time would both find the
    name free.

    :raises Taken: if the constraint refused it
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        cause = error.__cause__
        if isinstance(cause, psycopg.Error) and cause.diag.constraint_name == constraint:
            raise Taken.field(field, message) from None
        raise
