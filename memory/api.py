"""The REST paths of memories, and the operations behind them."""

from http import HTTPStatus

from memory import answers, requests
from memory.auditing import audit
from memory.briefing import briefing
from memory.conflict.listing import auto_resolved, get_conflict, list_conflicts
from memory.history import history
from memory.lifecycle import close_loop, forget, restore_memory
from memory.link import link, unlink
from memory.patch import patch_memory
from memory.reading import get_memory, list_memories
from memory.recall import recall
from memory.remember import remember
from memory.trust.answers import ReportChangeAnswer
from memory.trust.changes import report_change
from memory.trust.needed import needs_verification
from memory.trust.requests import ChangeBody, NeedsVerificationBody, VerifyBody
from memory.trust.suggestions import accept_component, dismiss_component
from memory.trust.verify import verify
from tenants.caller import Caller, Scope
from tenants.ids import Prefix
from tenants.once import Answer
from tenants.operations import Operation
from tenants.rest import endpoint
from tenants.wire import pages_of

_MEMORY = {"memory_id": Prefix.MEMORY}
_BLIND = ("memory_id", "absorbed", "superseded", "skipped")


def _what_a_writer_learns(caller: Caller, answer: Answer) -> Answer:
    """Return what a token that may not read is told of its write."""
    return answer if caller.reads else {name: answer[name] for name in _BLIND}


def _what_became_of_it(caller: Caller, answer: Answer) -> Answer:
    """Return the ids alone, for a token that may not read."""
    if caller.reads:
        return answer
    memory = answer.get("memory", answer)
    return {"memory_id": memory["id"], "absorbed": False, "superseded": [], "skipped": []}


def _what_was_seen(caller: Caller, answer: Answer) -> Answer:
    """Return the change alone, for a token that may not read."""
    return answer if caller.reads else answer | {"marked": []}


REMEMBER = Operation(
    remember,
    Scope.WRITE,
    takes=requests.RememberBody,
    gives=answers.RememberAnswer,
    status=lambda answer: HTTPStatus.OK if answer["absorbed"] else HTTPStatus.CREATED,
    hides=_what_a_writer_learns,
)
LIST_MEMORIES = Operation(
    list_memories, Scope.READ, takes=requests.ListBody, gives=answers.FeedAnswer, changes=False
)
GET_MEMORY = Operation(
    get_memory, Scope.READ, gives=answers.MemoryWithChainAnswer, path_ids=_MEMORY, changes=False
)
HISTORY = Operation(
    history, Scope.READ, gives=answers.HistoryAnswer, path_ids=_MEMORY, changes=False
)
PATCH_MEMORY = Operation(
    patch_memory,
    Scope.WRITE,
    takes=requests.PatchBody,
    gives=answers.MemoryAnswer,
    path_ids=_MEMORY,
    hides=_what_became_of_it,
)
FORGET = Operation(
    forget,
    Scope.WRITE,
    takes=requests.ForgetBody,
    gives=answers.MemoryAnswer,
    path_ids=_MEMORY,
    hides=_what_became_of_it,
)
RESTORE = Operation(
    restore_memory,
    Scope.WRITE,
    takes=requests.RestoreBody,
    gives=answers.RestoreAnswer,
    path_ids=_MEMORY,
    hides=_what_became_of_it,
)
CLOSE = Operation(
    close_loop,
    Scope.WRITE,
    takes=requests.CloseBody,
    gives=answers.MemoryAnswer,
    path_ids=_MEMORY,
    hides=_what_became_of_it,
)
LINK = Operation(
    link,
    Scope.WRITE,
    takes=requests.DrawLinkBody,
    gives=answers.LinkAnswer,
    status=HTTPStatus.CREATED,
)
UNLINK = Operation(unlink, Scope.WRITE, gives=answers.LinkAnswer, path_ids={"link_id": Prefix.LINK})
RECALL = Operation(
    recall, Scope.READ, takes=requests.RecallBody, gives=answers.RecallAnswer, changes=False
)
BRIEFING = Operation(
    briefing, Scope.READ, takes=requests.BriefingBody, gives=answers.BriefingAnswer, changes=False
)

_COMPONENT = {"component_id": Prefix.COMPONENT}
ACCEPT_COMPONENT = Operation(
    accept_component, Scope.WRITE, gives=answers.TakenUpAnswer, path_ids=_COMPONENT,
    hides=_what_became_of_it,
)  # fmt: skip
DISMISS_COMPONENT = Operation(
    dismiss_component, Scope.WRITE, gives=answers.TakenUpAnswer, path_ids=_COMPONENT,
    hides=_what_became_of_it,
)  # fmt: skip

REPORT_CHANGE = Operation(
    report_change,
    Scope.WRITE,
    takes=ChangeBody,
    gives=ReportChangeAnswer,
    status=HTTPStatus.CREATED,
    hides=_what_was_seen,
)
VERIFY = Operation(
    verify,
    Scope.WRITE,
    takes=VerifyBody,
    gives=answers.VerifyAnswer,
    path_ids=_MEMORY,
    hides=_what_became_of_it,
)
NEEDS_VERIFICATION = Operation(
    needs_verification,
    Scope.READ,
    takes=NeedsVerificationBody,
    gives=pages_of(answers.MemoryAnswer),
    changes=False,
)

LIST_CONFLICTS = Operation(
    list_conflicts,
    Scope.READ,
    takes=requests.ConflictsBody,
    gives=pages_of(answers.ConflictWithSidesAnswer),
    changes=False,
)
GET_CONFLICT = Operation(
    get_conflict,
    Scope.READ,
    gives=answers.ConflictWithSidesAnswer,
    path_ids={"dispute_id": Prefix.CONFLICT},
    changes=False,
)
AUTO_RESOLVED = Operation(
    auto_resolved,
    Scope.READ,
    takes=requests.AutoResolvedBody,
    gives=pages_of(answers.AutoResolvedAnswer),
    changes=False,
)
AUDIT = Operation(
    audit,
    Scope.ADMIN,
    takes=requests.AuditBody,
    gives=pages_of(answers.AuditEventAnswer),
    changes=False,
)

urlpatterns = [
    endpoint("audit", get=AUDIT),
    endpoint("memories", get=LIST_MEMORIES, post=REMEMBER),
    endpoint("memories/<str:memory_id>", get=GET_MEMORY, patch=PATCH_MEMORY),
    endpoint("memories/<str:memory_id>/history", get=HISTORY),
    endpoint("memories/<str:memory_id>/forget", post=FORGET),
    endpoint("memories/<str:memory_id>/restore", post=RESTORE),
    endpoint("memories/<str:memory_id>/close", post=CLOSE),
    endpoint("memories/<str:memory_id>/verify", post=VERIFY),
    endpoint("changes", post=REPORT_CHANGE),
    endpoint("needs-verification", get=NEEDS_VERIFICATION),
    endpoint("links", post=LINK),
    endpoint("links/<str:link_id>", delete=UNLINK),
    endpoint("components/<str:component_id>/accept", post=ACCEPT_COMPONENT),
    endpoint("components/<str:component_id>/dismiss", post=DISMISS_COMPONENT),
    endpoint("recall", post=RECALL),
    endpoint("briefing", get=BRIEFING),
    endpoint("conflicts", get=LIST_CONFLICTS),
    endpoint("conflicts/<str:dispute_id>", get=GET_CONFLICT),
    endpoint("auto-resolved", get=AUTO_RESOLVED),
]
