"""How many questions a judge is asked at a time, and for how long their answers are waited for."""

import threading
import time
from math import inf
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.conf import settings

from hygiene.asking import Inquiry
from hygiene.hearing import LEFT_TO_THE_WORKER, hear
from hygiene.judge import JudgeDown, Opinion, Said
from memory.conflict.detect import Candidate
from memory.conflict.put_off import TOKENS_USED_UP
from tenants.deadline import awaited_until

TENANT = uuid4()


def memory(number):
    return SimpleNamespace(id=uuid4(), tenant_id=TENANT, sequence=number)


def inquiry_of(pairs):
    judged, *others = [memory(number) for number in range(pairs + 1, 0, -1)]
    asked = [Candidate(other, None) for other in others]
    # What a judge sees of a memory is of no matter here: its number stands for it.
    shown = {one.id: one.sequence for one in (judged, *others)}
    return Inquiry(judged, asked, exhibits=shown)


class Slow:
    """A judge that takes its time, and counts how many ask it at once."""

    prompt_version, likeness = "-", ""

    def __init__(self, seconds=0.05, answers=inf, tokens=0):
        # Its own: what judges have spent in a day is remembered by their names.
        self.id = f"slow-{uuid4()}"
        self.seconds, self.answers, self.tokens = seconds, answers, tokens
        self.now = self.most = self.asked = 0
        self._lock = threading.Lock()

    def reached(self, questions):
        """Wait until so many are asked at once, and return whether that came."""
        until = time.monotonic() + 5
        while self.now < questions and time.monotonic() < until:
            time.sleep(0.005)
        return self.now >= questions

    def compare(self, older, newer):
        with self._lock:
            self.asked += 1
            is_down = self.asked > self.answers
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.seconds)
        with self._lock:
            self.now -= 1
        if is_down:
            raise JudgeDown("no answer", tokens_in=3, tokens_out=1)
        return Opinion(Said.UNRELATED, 0.9, "", "", (), self.tokens)


def nothing():
    pass


@pytest.mark.rule("JU-05")
def test_a_memorys_pairs_are_asked_about_together_and_never_more_than_there_are_threads():
    judge, inquiries = Slow(), [inquiry_of(6) for _ in range(3)]
    heard = []
    jobs = [
        threading.Thread(target=lambda one=one: heard.append(hear(judge, one, nothing)))
        for one in inquiries
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert sorted(len(one.compared) for one in heard) == [6, 6, 6]
    assert judge.asked == 18
    assert judge.most == settings.WORKER_THREADS


@pytest.mark.rule("JU-05")
def test_all_questions_of_a_process_come_from_one_budget(settings):
    settings.JUDGE_TOKENS_PER_DAY = 100
    judge, inquiries = Slow(tokens=10), [inquiry_of(30) for _ in range(3)]
    heard = []
    jobs = [
        threading.Thread(target=lambda one=one: heard.append(hear(judge, one, nothing)))
        for one in inquiries
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert 10 <= judge.asked < 10 + settings.WORKER_THREADS
    assert {str(one.missing) for one in heard} == {TOKENS_USED_UP}
    assert sum(len(one.compared) for one in heard) == judge.asked


def test_what_is_said_is_told_in_the_order_of_the_pairs():
    inquiry = inquiry_of(5)
    heard = hear(Slow(seconds=0), inquiry, nothing)
    assert [one.candidate for one in heard.compared] == inquiry.open


@pytest.mark.parametrize(
    ("answers", "most"), [(0, 2), (3, 3 + 3 * settings.WORKER_THREADS)], ids=["first", "later"]
)
def test_a_judge_that_is_down_is_asked_no_more_and_what_was_said_is_kept(answers, most):
    judge = Slow(answers=answers)
    heard = hear(judge, inquiry_of(30), nothing)
    assert heard.missing is not None
    assert judge.asked <= most
    assert len(heard.compared) == answers
    in_vain = judge.asked - answers
    assert (heard.in_vain.tokens_in, heard.in_vain.tokens_out) == (3 * in_vain, in_vain)


def test_nobody_waits_for_a_question_that_others_keep_from_being_asked():
    judge, busy = Slow(), inquiry_of(settings.WORKER_THREADS + 1)
    other = threading.Thread(target=hear, args=(judge, busy, nothing))
    other.start()
    assert judge.reached(1)
    judge.seconds = 1.5
    assert judge.reached(settings.WORKER_THREADS)
    began = time.monotonic()
    with awaited_until(began + 0.2):
        heard = hear(judge, inquiry_of(2), nothing)
    assert time.monotonic() - began < 1
    assert (heard.compared, str(heard.missing)) == ([], LEFT_TO_THE_WORKER)
    other.join()
    assert judge.asked == settings.WORKER_THREADS + 1


def test_the_lease_is_kept_while_an_answer_is_waited_for(monkeypatch):
    monkeypatch.setattr("hygiene.hearing.PATIENCE", 0.05)
    looked = []
    hear(Slow(seconds=0.5), inquiry_of(1), lambda: looked.append(1))
    assert len(looked) > 3
