"""The extension that lets a full-text index begin with the key of a project or a memory."""

from django.contrib.postgres.operations import BtreeGinExtension
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0006_login_attempts_rate_limits")]

    operations = [BtreeGinExtension()]
