"""SQL alone gets nobody through the wall."""

import pytest

from tests.promises.probes import battery


@pytest.mark.rule("VI-01", "VI-03", "VI-05", "T022", "T023")
def test_everybody_may_do_what_they_may_and_nothing_else(runtime, world):
    faults = [fault for probe in battery(world) if (fault := probe.fault(runtime))]

    assert faults == []
