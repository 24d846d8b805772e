"""What a writer wants kept: whether it is fit to be, and the memory that it becomes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Func
from django.db.models.functions import Now

from memory.finding.words import tsvector
from memory.models import Memory
from memory.parts import Parts, must_have_no_secret
from memory.place import Place
from memory.text import is_blank
from memory.trust.changes import Seen
from tenants.caller import Caller
from tenants.ids import new_id
from tenants.refusals import Invalid


@dataclass(frozen=True)
class Draft:
    """What a writer wants kept."""

    content: str
    kind: str
    parts: Parts
    valid_from: datetime | None
    valid_until: datetime | None
    review_after: datetime | None
    importance: float
    session: str | None
    source: dict[str, Any] | None
    changes: tuple[Seen, ...] = ()
    asserted_at: datetime | None = None
    settled_with: tuple[UUID, ...] = ()


def must_be_fit(draft: Draft) -> None:
    """
    Refuse what cannot be kept as it is.

    :raises Invalid: if there is nothing to read in it, or it ends before it begins
    :raises SecretContent: if a key, token or password stands in it
    """
    if is_blank(draft.content):
        raise Invalid.field("content", "has nothing to read in it", "blank")
    if draft.valid_from and draft.valid_until and draft.valid_until <= draft.valid_from:
        raise Invalid.field("valid_until", "must be later than valid_from")
    source = draft.source or {}
    must_have_no_secret(
        [
            ("content", draft.content),
            *((f"tags[{index}]", tag) for index, tag in enumerate(draft.parts.tags)),
            *((f"subjects[{index}]", path) for index, path in enumerate(draft.parts.subjects)),
            *(
                (f"components[{index}].{name}", text)
                for index, said in enumerate(draft.parts.components)
                for name, text in (("subject", said.subject), ("value", said.value))
            ),
            *(
                (f"depends_on[{index}]", one)
                for index, one in enumerate(draft.parts.depends_on)
                if isinstance(one, str)
            ),
            ("session", draft.session),
            *((f"source.{name}", source[name]) for name in source),
            *(
                (f"changes[{index}].{name}", text)
                for index, seen in enumerate(draft.changes)
                for name, text in (("subject", seen.subject), ("summary", seen.summary))
            ),
        ]
    )


def write_down(
    caller: Caller, draft: Draft, place: Place, text_key: bytes, *, at: Func | None = None
) -> Memory:
    """
    Return a new memory of the caller's, stamped with who they are. Belongs inside a door.

    :param at: the time at which it comes into use, if not that of the statement
    """
    memory = Memory(
        id=new_id(),
        tenant_id=caller.tenant_id,
        owner_id=place.owner_id,
        author_agent_id=caller.agent_id,
        author_level=caller.level,
        provenance_rank=caller.rank,
        project_id=place.project_id,
        visibility=place.visibility,
        kind=draft.kind,
        content=draft.content,
        text_key=text_key,
        words=tsvector(draft.content),
        subjects=list(dict.fromkeys(draft.parts.subjects)),
        tags=list(dict.fromkeys(draft.parts.tags)),
        importance=draft.importance,
        session=draft.session,
        source=draft.source,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        review_after=draft.review_after,
        created_at=at or Now(),
        asserted_at=draft.asserted_at,
    )
    memory.save(force_insert=True)
    return memory
