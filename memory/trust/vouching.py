"""When a memory, and each of its components, was last vouched for, and by whom that counts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory.independence import is_author, is_independent
from memory.models import Memory
from memory.trust.looked import Looked, Part


def attested(memory: Memory, accepted_at: datetime | None) -> datetime | None:
    """
    Return when somebody last stood up for the whole of it without looking: its author or acceptor.

    Writing it deliberately is standing up for it; a capture stands for nothing.

    :param accepted_at: since when it is accepted, at the time that is asked about
    """
    if accepted_at is not None:
        return accepted_at
    return memory.created_at if memory.provenance_rank >= 1 else None


def vouched_for(
    memory: Memory,
    parts: Sequence[Part],
    looked: Sequence[Looked],
    attested_at: datetime | None,
) -> tuple[dict[str, datetime], datetime | None]:
    """
    Return when each subject's oldest component was last vouched for, and since when all of it is.

    :param attested_at: when somebody last stood up for the whole without looking
    """
    counted = [
        one
        for one in looked
        if one.confirms and one.weighs and (attested_at is not None or lifts(memory, one))
    ]
    if not parts:
        seen = [one.observed_at for one in counted if not one.subjects]
        return {}, max(seen + ([] if attested_at is None else [attested_at]), default=None)
    times: dict[str, list[datetime | None]] = defaultdict(list)
    for part in parts:
        times[part.subject].append(_last(part, counted, attested_at))
    verified = {
        subject: min(at for at in found if at is not None)
        for subject, found in times.items()
        if None not in found
    }
    return verified, min(verified.values()) if len(verified) == len(times) else None


def _last(part: Part, counted: Sequence[Looked], attested_at: datetime | None) -> datetime | None:
    """Return when a component was last vouched for. Who states it later stands up for it then."""
    seen = [one.observed_at for one in counted if one.covers(part)]
    if attested_at is not None:
        seen.append(max(attested_at, part.stated_at))
    return max(seen, default=None)


def lifts(memory: Memory, looked: Looked) -> bool:
    """
    Return whether a verification makes something of what was only captured.

    Never its author's own; whoever is on the author's side must show evidence.
    """
    who = (looked.by_member_id, looked.by_agent_id)
    if is_independent(memory, *who):
        return True
    return looked.shows_evidence and not is_author(memory, *who)


def last_values(
    parts: Sequence[Part], looked: Sequence[Looked], verified: Mapping[str, datetime]
) -> dict[str, str]:
    """Return as what each subject was last verified: what was seen there, or what is stated."""
    stated: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        if part.value is not None and part.subject in verified:
            stated[part.subject].append(part.value)
    values = {subject: ", ".join(found) for subject, found in stated.items()}
    for one in sorted(looked, key=lambda one: one.observed_at):
        if not (one.confirms and one.weighs and len(one.subjects) == 1) or not one.observed_value:
            continue
        (subject,) = one.subjects
        # Of several values only one was looked at.
        if subject in verified and len(stated[subject]) <= 1:
            values[subject] = one.observed_value
    return values
