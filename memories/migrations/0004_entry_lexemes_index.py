"""The full-text index, built while others write. What an interrupted build left behind is dropped first."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("memories", "0003_entry_lexemes"), ("tenancy", "0007_btree_gin_extension")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS entry_lexemes", migrations.RunSQL.noop),
                migrations.RunSQL(
                    "CREATE INDEX CONCURRENTLY entry_lexemes ON memories_memoryentry USING gin (memory_id, lexemes)",
                    "DROP INDEX CONCURRENTLY IF EXISTS entry_lexemes",
                ),
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name="memoryentry", index=GinIndex(fields=["memory", "lexemes"], name="entry_lexemes")
                ),
            ],
        ),
    ]
