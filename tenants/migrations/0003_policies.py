"""The tenants SQL as it stood at this migration."""

from pathlib import Path

from django.db import migrations

from tenants.rls import RunPolicies


class Migration(migrations.Migration):
    dependencies = [("tenants", "0002_policies")]
    operations = [RunPolicies(Path(__file__).with_suffix(".sql"))]
