"""
The story of `make demo`: its chapters in their order.

A chapter is a function that takes the stage; the first line of its docstring is its title. It acts,
and then expects what is read back over HTTP. A new one stands beside its like and in CHAPTERS.
"""

import time
from collections.abc import Callable, Sequence

import httpx

from deploy.demo.deciding import accept_a_proposal, challenge_and_decide
from deploy.demo.disagreeing import (
    bring_back_a_loser,
    decide_by_level_and_age,
    dispute_a_number,
    keep_what_agrees,
    protect_a_gotcha,
)
from deploy.demo.modelling import hear_a_model
from deploy.demo.moving import ask_at_different_times, look_again, mark_by_a_push
from deploy.demo.noting import import_notes, recall_a_decision
from deploy.demo.refusing import refuse_a_hidden_target, refuse_a_secret, refuse_a_watcher
from deploy.demo.replacing import (
    absorb_a_repeat,
    repeat_with_more_authority,
    retry,
    supersede_twice,
)
from deploy.demo.returning import count_lifecycles, forget_and_restore, restore_the_middle
from deploy.demo.seeing import let_the_viewer_read, show_an_outsider
from deploy.demo.stage import STORY_TAG, Stage, Unexpected

Chapter = Callable[[Stage], None]

CHAPTERS: tuple[Chapter, ...] = (
    import_notes,
    recall_a_decision,
    supersede_twice,
    absorb_a_repeat,
    repeat_with_more_authority,
    retry,
    refuse_a_hidden_target,
    refuse_a_watcher,
    refuse_a_secret,
    show_an_outsider,
    let_the_viewer_read,
    forget_and_restore,
    restore_the_middle,
    count_lifecycles,
    decide_by_level_and_age,
    bring_back_a_loser,
    dispute_a_number,
    keep_what_agrees,
    protect_a_gotcha,
    challenge_and_decide,
    accept_a_proposal,
    mark_by_a_push,
    ask_at_different_times,
    look_again,
    hear_a_model,
)


def tell(stage: Stage, chapters: Sequence[Chapter] = CHAPTERS) -> bool:
    """Tell the chapters, and return whether each did what it should."""
    began = time.monotonic()
    _clear_away(stage)
    for number, chapter in enumerate(chapters, 1):
        stage.teller.chapter(title_of(chapter), number, len(chapters))
        try:
            chapter(stage)
        except (Unexpected, httpx.HTTPError) as error:
            stage.teller.break_off(str(error) or type(error).__name__)
    _sum_up(stage, len(chapters), time.monotonic() - began)
    return not stage.teller.failed


def title_of(chapter: Chapter) -> str:
    """Return what stands over a chapter."""
    return (chapter.__doc__ or chapter.__name__).strip().partition("\n")[0]


def _clear_away(stage: Stage) -> None:
    """Forget what earlier runs left live, so that the same story is told each time."""
    left = [one["id"] for one in stage["senior"].feed(tag=STORY_TAG, lifecycle="live")]
    for memory_id in left:
        stage["senior"].do(memory_id, "forget", reason="left over from an earlier run of the demo")
    stage.say(
        f"This is run {stage.label}." + (f" {len(left)} leftovers were forgotten." if left else "")
    )


def _sum_up(stage: Stage, chapters: int, seconds: float) -> None:
    console, failed = stage.teller.console, stage.teller.failed
    console.print()
    checks = stage.teller.held + len(failed)
    console.print(
        f"{chapters} chapters, {checks} checks in {seconds:.1f} s: "
        f"{stage.teller.held} as expected, {len(failed)} not.",
        style="bold red" if failed else "bold green",
        highlight=False,
    )
    stage.teller.list_failures()
