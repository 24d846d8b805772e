"""What the migrations run is what stands in the SQL beside each app."""

import io
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command

from tenants.rls import newest_frozen, source_of


def with_sql():
    return [app for app in apps.get_app_configs() if app.path and source_of(Path(app.path))]


def test_the_apps_with_sql_of_their_own_are_found():
    assert {"tenants", "memory"} <= {app.label for app in with_sql()}


@pytest.mark.rule("VI-01", "T019")
@pytest.mark.parametrize("label", [app.label for app in with_sql()])
def test_the_newest_frozen_copy_is_the_source(label):
    folder = Path(apps.get_app_config(label).path)
    frozen = newest_frozen(folder / "migrations")

    assert frozen is not None
    assert frozen.read_text(encoding="utf-8") == source_of(folder), (
        f"run manage.py freeze_policies {label}"
    )
    assert frozen.with_suffix(".py").exists()


def test_models_and_migrations_say_the_same():
    said = io.StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=said)

    assert "No changes" in said.getvalue()
