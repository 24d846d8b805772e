"""The memory SQL as it stood at this migration."""

from pathlib import Path

from django.db import migrations

from tenants.rls import RunPolicies


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_ends_and_beginnings"), ("tenants", "0003_policies")]
    operations = [RunPolicies(Path(__file__).with_suffix(".sql"))]
