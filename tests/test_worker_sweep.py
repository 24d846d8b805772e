"""What a worker does from time to time: each part by itself, whatever befalls the others."""

import logging
from datetime import timedelta

import pytest
from django.db import OperationalError

from deploy import up, worker
from hygiene import schedule
from hygiene.health import hygiene_health
from memory.trust import expiry
from tenants.job_desk import workers_that_beat
from tests.memories import kept, refused

BROKEN = RuntimeError("broken")
PARTS = ("shop", "start_due_sweeps", "mark_what_expired", "seal_events", "anchor_in_time")


@pytest.fixture
def swept(monkeypatch, office):
    """Sweep, with some parts broken, and return which parts were done."""

    def sweep(broken=(), raises=BROKEN):
        done = []

        def part(name):
            def do():
                if name in broken:
                    raise raises
                done.append(name)

            return do

        monkeypatch.setattr(schedule, "start_due_sweeps", part("start_due_sweeps"))
        monkeypatch.setattr(expiry, "mark_what_expired", part("mark_what_expired"))
        monkeypatch.setattr(worker, "seal_events", part("seal_events"))
        monkeypatch.setattr(worker, "anchor_in_time", part("anchor_in_time"))
        shop = worker.Workshop(1)
        monkeypatch.setattr(shop, "sweep", part("shop"))
        worker.sweep(shop)
        return done

    return sweep


@pytest.mark.rule("JU-08", "JU-09")
@pytest.mark.parametrize("broken", PARTS)
def test_what_goes_wrong_with_one_part_keeps_no_other_from_being_done(swept, broken, caplog):
    with caplog.at_level(logging.ERROR, "deploy.worker"):
        assert swept([broken]) == [one for one in PARTS if one != broken]

    assert "failed; the rest of the sweep goes on" in caplog.text
    assert worker._my_name() in workers_that_beat()


def test_all_of_them_are_done(swept):
    assert swept() == list(PARTS)


def test_a_database_that_is_down_is_nobodys_fault_and_all_of_it_waits(swept):
    with pytest.raises(OperationalError):
        swept(["shop"], OperationalError("gone"))


@pytest.mark.rule("JU-05", "JU-08", "JU-09")
@pytest.mark.parametrize("judge", ["foo", "openai:gpt-x"])
def test_a_judge_that_there_cannot_be_stops_nothing_and_is_told(office, settings, judge):
    settings.JUDGE, settings.JUDGE_BASE_URL, settings.JUDGE_API_KEY = judge, "", ""
    kept(office.senior, "The staging database listens on port 5432.", project="apollo")

    assert schedule.sweep_those_due(timedelta()) == 0
    refused(office.senior.post("/hygiene/sweeps", {}), 409, "judging_off")
    told = hygiene_health(office.senior.caller)

    assert "judge_misconfigured" in [alarm["code"] for alarm in told["alarms"]]
    assert told["certified"] is False


@pytest.mark.rule("JU-05")
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"JUDGE": "foo"}, "JUDGE is 'foo'; choose rules"),
        ({"JUDGE": "openai:x"}, "needs JUDGE_API_KEY; or JUDGE_BASE_URL"),
        ({"JUDGE": "openai:x", "JUDGE_API_KEY": "sk-\nx"}, "JUDGE_API_KEY has characters"),
        ({"JUDGE": "openai:x", "JUDGE_BASE_URL": "localhost:1"}, "must begin with http"),
    ],
)
def test_make_up_says_what_is_wrong_before_it_starts_anything(tmp_path, setting, said):
    given = {"DATA_DIR": str(tmp_path / "var"), **setting}

    with (
        pytest.raises(up.CannotStart, match=f"Cannot start: .*{said}") as refused,
        up.running(given),
    ):
        pass

    assert "sk-" not in str(refused.value)
    assert not (tmp_path / "var").exists()
