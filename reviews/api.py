"""The REST paths of review, and the operations behind them."""

from memory.answers import ConflictWithSidesAnswer
from reviews import wire
from reviews.bulk import resolve_conflicts
from reviews.challenge import challenge, report_misled
from reviews.handing_on import assign, defer
from reviews.proposals import accept, reject
from reviews.resolve import resolve_conflict
from reviews.undo import undo_batch
from tenants.caller import Caller, Scope
from tenants.ids import Prefix
from tenants.once import Answer
from tenants.operations import Operation
from tenants.rest import endpoint

_MEMORY = {"memory_id": Prefix.MEMORY}
_DISPUTE = {"dispute_id": Prefix.CONFLICT}
_BATCH = {"batch_id": Prefix.BATCH}
# What a token that may review and not read is told of its decision.
DECIDED = ("id", "state", "resolution", "winner", "deferred_until", "assigned_to", "batch")


def _blindly(caller: Caller, answer: Answer) -> Answer:
    """Return the ids alone, for a token that may not read."""
    if caller.reads:
        return answer
    told = {"absorbed": False, "superseded": [], "skipped": []}
    return {"memory_id": answer["memory_id"]} | told


def _what_was_decided(caller: Caller, answer: Answer) -> Answer:
    """Return no texts, for a token that may review and not read."""
    if caller.reads:
        return answer
    return {name: answer[name] for name in DECIDED if name in answer}


CHALLENGE = Operation(
    challenge,
    Scope.WRITE,
    takes=wire.ChallengeBody,
    gives=wire.ChallengeAnswer,
    path_ids=_MEMORY,
    hides=_blindly,
)
MISLED = Operation(
    report_misled,
    Scope.WRITE,
    takes=wire.MisledBody,
    gives=wire.MisledAnswer,
    path_ids=_MEMORY,
    hides=_blindly,
)
RESOLVE = Operation(
    resolve_conflict,
    Scope.REVIEW,
    takes=wire.ResolveBody,
    gives=ConflictWithSidesAnswer,
    path_ids=_DISPUTE,
    hides=_what_was_decided,
)
RESOLVE_MANY = Operation(
    resolve_conflicts,
    Scope.REVIEW,
    takes=wire.ResolveManyBody,
    gives=wire.ResolvedManyAnswer,
)
DEFER = Operation(
    defer,
    Scope.REVIEW,
    takes=wire.DeferBody,
    gives=ConflictWithSidesAnswer,
    path_ids=_DISPUTE,
    hides=_what_was_decided,
)
ASSIGN = Operation(
    assign,
    Scope.REVIEW,
    takes=wire.AssignBody,
    gives=ConflictWithSidesAnswer,
    path_ids=_DISPUTE,
    hides=_what_was_decided,
)
ACCEPT = Operation(
    accept,
    Scope.REVIEW,
    takes=wire.JudgeProposalBody,
    gives=wire.ReviewedMemoryAnswer,
    path_ids=_MEMORY,
    hides=_what_was_decided,
)
REJECT = Operation(
    reject,
    Scope.REVIEW,
    takes=wire.JudgeProposalBody,
    gives=wire.ReviewedMemoryAnswer,
    path_ids=_MEMORY,
    hides=_what_was_decided,
)
UNDO_BATCH = Operation(undo_batch, Scope.REVIEW, gives=wire.BatchAnswer, path_ids=_BATCH)

urlpatterns = [
    endpoint("memories/<str:memory_id>/challenge", post=CHALLENGE),
    endpoint("memories/<str:memory_id>/misled", post=MISLED),
    endpoint("memories/<str:memory_id>/accept", post=ACCEPT),
    endpoint("memories/<str:memory_id>/reject", post=REJECT),
    endpoint("conflicts/resolve", post=RESOLVE_MANY),
    endpoint("conflicts/<str:dispute_id>/resolve", post=RESOLVE),
    endpoint("conflicts/<str:dispute_id>/defer", post=DEFER),
    endpoint("conflicts/<str:dispute_id>/assign", post=ASSIGN),
    endpoint("batches/<str:batch_id>/undo", post=UNDO_BATCH),
]
