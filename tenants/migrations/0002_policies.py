"""The tenants SQL as it stood at this migration."""

from pathlib import Path

from django.db import migrations

from tenants.rls import RunPolicies


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0001_initial"),
        ("otp_static", "0003_add_timestamps"),
        ("otp_totp", "0003_add_timestamps"),
    ]
    operations = [RunPolicies(Path(__file__).with_suffix(".sql"))]
