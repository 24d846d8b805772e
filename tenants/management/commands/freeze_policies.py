"""`manage.py freeze_policies APP`: copy an app's SQL into its next migration."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db.migrations.loader import MigrationLoader

from tenants.rls import newest_frozen, source_of

_MIGRATION = '''"""The {app} SQL as it stood at this migration."""

from pathlib import Path

from django.db import migrations

from tenants.rls import RunPolicies


class Migration(migrations.Migration):
    dependencies = [{dependencies}]
    operations = [RunPolicies(Path(__file__).with_suffix(".sql"))]
'''


# Whose keys and functions an app's SQL names.
BELOW = {"tenants": None, "memory": "tenants", "hygiene": "memory", "reviews": "memory"}


class Command(BaseCommand):
    help = "Copy the SQL that stands beside an app into its next migration."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("app")
        parser.add_argument(
            "--again", action="store_true", help="into the newest copy, while nobody has run it yet"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        app = apps.get_app_config(options["app"])
        source = source_of(Path(app.path))
        if not source:
            raise CommandError(f"{app.label} has no SQL of its own")
        migrations = Path(app.path) / "migrations"
        frozen = newest_frozen(migrations)
        if frozen is not None and frozen.read_text(encoding="utf-8") == source:
            self.stdout.write(f"{frozen.name} holds it already")
            return
        if options["again"] and frozen is not None:
            frozen.write_text(source, encoding="utf-8")
            self.stdout.write(f"frozen again as {frozen.stem}")
            return
        leaves = MigrationLoader(None, ignore_no_migrations=True).graph.leaf_nodes()
        last = next(name for label, name in leaves if label == app.label)
        name = f"{int(last[:4]) + 1:04d}_policies"
        (migrations / f"{name}.sql").write_text(source, encoding="utf-8")
        below = BELOW[app.label]
        others = [leaf for leaf in leaves if leaf[0] == below]
        dependencies = ", ".join(
            f'("{label}", "{node}")' for label, node in [(app.label, last), *others]
        )
        (migrations / f"{name}.py").write_text(
            _MIGRATION.format(app=app.label, dependencies=dependencies), encoding="utf-8"
        )
        self.stdout.write(f"frozen as {name}")
