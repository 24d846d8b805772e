"""The app that puts the others together, and the admin site that shows them."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class DeployConfig(AppConfig):
    name = "deploy"


class AdminSiteConfig(AdminConfig):
    default_site = "deploy.admin_site.PalimpsestAdminSite"
