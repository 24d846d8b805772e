"""The REST paths of memories, and the operations behind them."""

from http import HTTPStatus

from memory import answers, requests
from memory.conflict.listing import auto_resolved, get_conflict, list_conflicts
from memory.history import history
from memory.lifecycle import close_loop, forget, restore_memory
from memory.link import link, unlink
from memory.patch import patch_memory
from memory.reading import get_memory, list_memories
from memory.recall import recall
from memory.remember import remember
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

urlpatterns = [
    endpoint("memories", get=LIST_MEMORIES, post=REMEMBER),
    endpoint("memories/<str:memory_id>", get=GET_MEMORY, patch=PATCH_MEMORY),
    endpoint("memories/<str:memory_id>/history", get=HISTORY),
    endpoint("memories/<str:memory_id>/forget", post=FORGET),
    endpoint("memories/<str:memory_id>/restore", post=RESTORE),
    endpoint("memories/<str:memory_id>/close", post=CLOSE),
    endpoint("links", post=LINK),
    endpoint("links/<str:link_id>", delete=UNLINK),
    endpoint("recall", post=RECALL),
    endpoint("conflicts", get=LIST_CONFLICTS),
    endpoint("conflicts/<str:dispute_id>", get=GET_CONFLICT),
    endpoint("auto-resolved", get=AUTO_RESOLVED),
]
