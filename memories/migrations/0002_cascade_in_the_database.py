"""Foreign keys that the database itself follows on delete: a memory goes with all its rows in one statement."""

from django.db import migrations

LINKS = [
    ("memories_memoryentry", "memory_id", "memories_memory"),
    ("memories_entryvector", "memory_id", "memories_memory"),
    ("memories_entryvector", "entry_id", "memories_memoryentry"),
]


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_memories_entries")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_cascade"
            f" FOREIGN KEY ({column}) REFERENCES {target} (id) ON DELETE CASCADE",
            f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_cascade",
        )
        for table, column, target in LINKS
    ]
