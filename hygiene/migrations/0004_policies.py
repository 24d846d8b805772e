"""The hygiene SQL as it stood at this migration."""

from pathlib import Path

from django.db import migrations

from tenants.rls import RunPolicies


class Migration(migrations.Migration):
    dependencies = [("hygiene", "0003_questions_in_vain"), ("memory", "0004_policies")]
    operations = [RunPolicies(Path(__file__).with_suffix(".sql"))]
