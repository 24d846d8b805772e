"""The MCP process: the tools of agents, at /mcp."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")
django.setup()

from django.db import connection  # noqa: E402  once Django is set up

from deploy.broker import wake_workers  # noqa: E402
from deploy.guards import refuse_unsafe_login  # noqa: E402
from deploy.mcp.calls import Threads  # noqa: E402
from deploy.mcp.entrance import Entrance  # noqa: E402
from deploy.mcp.server import mcp_app  # noqa: E402

refuse_unsafe_login(connection)
connection.close()
wake_workers()
_threads = Threads()
application = Entrance(mcp_app(_threads), _threads)
