"""The REST paths of the machine's side, and the operations behind them."""

from http import HTTPStatus

from hygiene import wire
from hygiene.health import hygiene_health
from hygiene.sweep import get_sweep, start_sweep
from tenants.caller import Scope
from tenants.ids import Prefix
from tenants.operations import Operation
from tenants.rest import endpoint

START_SWEEP = Operation(
    start_sweep,
    Scope.HYGIENE,
    takes=wire.SweepBody,
    gives=wire.SweepAnswer,
    status=HTTPStatus.ACCEPTED,
)
GET_SWEEP = Operation(
    get_sweep,
    Scope.HYGIENE,
    gives=wire.SweepAnswer,
    # A sweep is the batch of what it does.
    path_ids={"sweep_id": Prefix.BATCH},
    changes=False,
)
HEALTH = Operation(hygiene_health, Scope.HYGIENE, gives=wire.HealthAnswer, changes=False)

urlpatterns = [
    endpoint("hygiene/sweeps", post=START_SWEEP),
    endpoint("hygiene/sweeps/<str:sweep_id>", get=GET_SWEEP),
    endpoint("hygiene/health", get=HEALTH),
]
