"""The web process: REST and admin."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")
_application = get_wsgi_application()

from django.db import connection  # noqa: E402  once Django is set up

from deploy.broker import wake_workers  # noqa: E402
from deploy.guards import refuse_unsafe_login  # noqa: E402
from deploy.unread_bodies import closing_where_unread  # noqa: E402

application = closing_where_unread(_application)

refuse_unsafe_login(connection)
connection.close()
wake_workers()
# What is loaded by now lives as long as the process: the collector need not go through it again.
# And an answer makes some ten thousand objects, nearly all gone with it: looked for less often.
gc.freeze()
gc.set_threshold(50_000, 10, 10)
