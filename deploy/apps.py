"""The app that puts the others together: its admin site and commands."""

from django.contrib.admin.apps import AdminConfig


class DeployConfig(AdminConfig):
    default_site = "deploy.admin_site.PalimpsestAdminSite"
