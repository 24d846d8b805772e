"""The benchmarks run on a tiny size, and they notice when they compare what is not the same."""

import json
import os
import subprocess
import sys
import uuid

import pytest

from bench import __main__ as bench
from bench import changes, plots, recall, remember, sweeping
from bench.measuring import Pair, compared, in_turns, percentile

TOLD = {"absorbed": False, "memory": {"content": "as said"}}


def test_a_tiny_run_measures_and_writes_results_and_plots(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench",
            "--quick",
            "--only",
            "B1,B2,B3,MCP",
            "--out",
            str(tmp_path),
        ],
        env=os.environ | {"EMBEDDER": "bundled"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    # How fast it was says nothing here: a target may be missed.
    assert done.returncode in (0, bench.MISSED), done.stderr[-2000:]
    results = json.loads((tmp_path / "B1-B2-B3-MCP.json").read_text(encoding="utf-8"))
    assert results["machine"]["cores"] == os.cpu_count()
    assert "python" in results["versions"]
    for name in ("B1", "B2", "B3", "MCP"):
        one = results["benchmarks"][name]
        assert one["ratio"] == pytest.approx(one["value"] / one["against"], rel=0.01)
        assert one["requests"] == len(one["times"]["ours"]) == len(one["times"]["floor"])
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert name in done.stdout
    assert results["benchmarks"]["B1"]["same_answers"] >= recall.SAME_ANSWERS


def test_the_floor_must_name_what_the_product_names():
    recall.must_agree(1.0, [])
    with pytest.raises(AssertionError, match="90%"):
        recall.must_agree(0.9, ["which port"])


def test_a_tiny_sweep_finds_what_the_join_finds(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--only", "B7", "--out", str(tmp_path)],
        env=os.environ | {"EMBEDDER": "bundled"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode in (0, bench.MISSED), done.stderr[-2000:]
    one = json.loads((tmp_path / "B7.json").read_text(encoding="utf-8"))["benchmarks"]["B7"]
    assert one["ratio"] == pytest.approx(one["against"] / one["value"], rel=0.01)
    assert one["sizes"]["walked"] == one["sizes"]["memories"] == 300
    assert one["sizes"]["pairs"] > 0


def test_a_sweep_must_find_the_pairs_of_the_join():
    sweeping.must_be_the_same(99, 100, is_exact=True)
    sweeping.must_be_the_same(50, 100, is_exact=False)
    for same, found in ((90, 100), (0, 0)):
        with pytest.raises(AssertionError, match="pairs"):
            sweeping.must_be_the_same(same, found, is_exact=True)


def test_a_change_that_marks_something_else_is_noticed():
    one, other, third = (uuid.uuid4() for _ in range(3))
    changes.must_be_what_depends([one, other], {one, other})

    for marked in ([one], [one, third], [one, other, third], [one, other, other]):
        with pytest.raises(AssertionError):
            changes.must_be_what_depends(marked, {one, other})


def test_policies_must_not_change_the_rows():
    recall.must_be_the_same_rows(None, [[(1,), (2,)]], [[(2,), (1,)]])
    with pytest.raises(AssertionError, match="policies"):
        recall.must_be_the_same_rows(None, [[(1,)]], [[(1,), (2,)]])


@pytest.mark.parametrize("answer", [TOLD | {"absorbed": True}, TOLD | {"memory": {"content": "x"}}])
def test_a_remember_that_did_not_remember_is_noticed(answer):
    remember.must_be_kept(("as said", ""), TOLD, None)
    with pytest.raises(AssertionError, match="word for word"):
        remember.must_be_kept(("as said", ""), answer, None)


def test_both_take_turns_in_going_first():
    order = []

    pair = in_turns(
        lambda task: order.append(f"ours {task}"),
        lambda task: order.append(f"floor {task}"),
        range(3),
        warm_up=1,
    )

    assert order == ["floor 0", "ours 0", "ours 1", "floor 1", "floor 2", "ours 2"]
    assert len(pair.ours) == len(pair.floor) == 2


def test_a_missed_target_is_told():
    slow = Pair(ours=[30.0] * 20, floor=[10.0] * 20)
    fast = Pair(ours=[11.0] * 20, floor=[10.0] * 20)
    ragged = Pair(ours=[11.0] * 18 + [90.0] * 2, floor=[10.0] * 20)

    assert not compared(slow, target=1.6)["met"]
    assert compared(fast, target=1.6, target_p95=2.0)["met"]
    assert not compared(ragged, target=1.6, target_p95=2.0)["met"]
    assert " NO " in bench.table({"B1": compared(slow, target=1.6)})


def test_the_percentile_is_one_of_the_times():
    assert percentile(list(range(1, 101)), 0.95) == 96
    assert percentile([5.0], 0.95) == 5.0


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(SystemExit, match="B77"):
        bench.main(["--only", "B77"])


def test_results_without_single_times_have_no_picture(tmp_path):
    assert plots.drawn({"benchmarks": {"B9": {"value": 1}}}, tmp_path) == []
