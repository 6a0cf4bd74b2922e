"""The full-text index, built while others write. What an interrupted build left behind is dropped first."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("documents", "0003_chunk_lexemes"), ("tenancy", "0007_btree_gin_extension")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS chunk_lexemes", migrations.RunSQL.noop),
                migrations.RunSQL(
                    "CREATE INDEX CONCURRENTLY chunk_lexemes ON documents_documentchunk USING gin (project_id, lexemes)",
                    "DROP INDEX CONCURRENTLY IF EXISTS chunk_lexemes",
                ),
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name="documentchunk", index=GinIndex(fields=["project", "lexemes"], name="chunk_lexemes")
                ),
            ],
        ),
    ]
