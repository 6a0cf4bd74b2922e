"""Have the words taken of what was stored before there were any: workers do it, project by project."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0008_text_search_config")]

    operations = [
        migrations.RunSQL(
            'INSERT INTO tenancy_lexemerefresh (project_id, "table", "after", requested_at)'
            " SELECT id, '', 0, now() FROM tenancy_project ON CONFLICT DO NOTHING",
            migrations.RunSQL.noop,
        )
    ]
