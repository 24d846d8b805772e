"""The REST paths of imports and exports."""

from http import HTTPStatus

from memory.exchange import transfer, wire
from tenants.caller import Scope
from tenants.ids import Prefix
from tenants.operations import Operation
from tenants.rest import endpoint

_TRANSFER = {"transfer_id": Prefix.TRANSFER}


IMPORT = Operation(
    transfer.start_import,
    Scope.ADMIN,
    takes=wire.ImportBody,
    gives=wire.TransferAnswer,
    status=HTTPStatus.ACCEPTED,
)
EXPORT = Operation(
    transfer.start_export,
    Scope.ADMIN,
    takes=wire.ExportBody,
    gives=wire.TransferAnswer,
    status=HTTPStatus.ACCEPTED,
)
GET = Operation(
    transfer.get_transfer,
    Scope.ADMIN,
    gives=wire.TransferAnswer,
    path_ids=_TRANSFER,
    changes=False,
)
GET_FILES = Operation(
    transfer.get_transfer_files,
    Scope.ADMIN,
    gives=wire.ExportedFilesAnswer,
    path_ids=_TRANSFER,
    changes=False,
)

urlpatterns = [
    endpoint("import", post=IMPORT),
    endpoint("export", post=EXPORT),
    endpoint("transfers/<str:transfer_id>", get=GET),
    endpoint("transfers/<str:transfer_id>/files", get=GET_FILES),
]
