"""
The SQL beside each app, frozen into its migrations.

keys.sql, policies.sql, trust.sql and search.sql are the places to read. A migration must not change
when they do, so `manage.py freeze_policies APP` copies them beside the next migration, and a test
keeps the newest copy equal to the source.
"""

from pathlib import Path

from django.db import migrations

# In this order: functions and policies name keys and tables, never the other way round.
SOURCES = ("keys.sql", "policies.sql", "sealing.sql", "trust.sql", "search.sql")


def source_of(app: Path) -> str:
    """Return the SQL that stands beside an app, in the order in which it is run."""
    parts = [app / name for name in SOURCES if (app / name).exists()]
    return "\n".join(path.read_text(encoding="utf-8") for path in parts)


def newest_frozen(migrations_folder: Path) -> Path | None:
    """Return the copy that the last migration of an app runs, if there is one."""
    return max(migrations_folder.glob("*_policies.sql"), default=None)


class RunPolicies(migrations.RunSQL):
    """
    Run a frozen copy of an app's SQL, whole.

    There is no way back: the copy before it is run again instead.
    """

    def __init__(self, frozen: Path) -> None:
        # A list of one: Django would split a string, and stumble over the functions in it.
        super().__init__(
            sql=[(frozen.read_text(encoding="utf-8"), None)], reverse_sql=migrations.RunSQL.noop
        )
        self.frozen = frozen.name

    def describe(self) -> str:
        return f"Run {self.frozen}"
