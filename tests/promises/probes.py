"""
What somebody may and may not do with SQL alone, a line each.

A probe runs in a savepoint of its own and is undone, so that a few hundred take no time.
"""

from tests.promises.probe import Probe
from tests.promises.probes_of_acting import abroad, acting, transferring
from tests.promises.probes_of_administering import administering
from tests.promises.probes_of_deciding import deciding
from tests.promises.probes_of_disagreeing import disagreeing
from tests.promises.probes_of_marking import marking
from tests.promises.probes_of_reading import nobody, reading
from tests.promises.probes_of_remembering import remembering, tying
from tests.promises.probes_of_reviewing import reviewing
from tests.promises.probes_of_trusting import trusting
from tests.promises.world import World


def battery(world: World) -> list[Probe]:
    """Return every probe, for a world in which all stands that they name."""
    a, b = world.a, world.b
    return [
        *reading(world),
        *administering(a, b),
        *acting(a),
        *transferring(a, b),
        *remembering(a, b),
        *tying(a, b),
        *disagreeing(world),
        *reviewing(a, b),
        *deciding(a),
        *trusting(a, b),
        *marking(a, b),
        *abroad(a, b),
        *nobody(),
    ]
