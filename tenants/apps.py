"""The app of tenants, people, agents and tokens."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from tenants.guard import guard_connection


class TenantsConfig(AppConfig):
    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have every connection watched for statements outside the door."""
        connection_created.connect(guard_connection, dispatch_uid="keep to the door")
