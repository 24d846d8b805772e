"""The app that puts the others together, and the admin site that shows them."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.utils.module_loading import autodiscover_modules


class DeployConfig(AppConfig):
    name = "deploy"

    def ready(self) -> None:
        """Find out who does which kind of job: workers, and whoever waits for one in a request."""
        autodiscover_modules("jobs")


class AdminSiteConfig(AdminConfig):
    default_site = "deploy.admin_site.PalimpsestAdminSite"
