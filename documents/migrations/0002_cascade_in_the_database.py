"""Foreign keys that the database itself follows on delete: a document goes with all its rows in one statement."""

from django.db import migrations

LINKS = [
    ("documents_ingestionattempt", "document_id", "documents_document"),
    ("documents_documentpage", "attempt_id", "documents_ingestionattempt"),
    ("documents_documentchunk", "document_id", "documents_document"),
    ("documents_documentchunk", "attempt_id", "documents_ingestionattempt"),
    ("documents_chunkvector", "chunk_id", "documents_documentchunk"),
]


class Migration(migrations.Migration):
    dependencies = [("documents", "0001_documents_attempts_chunks")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_cascade"
            f" FOREIGN KEY ({column}) REFERENCES {target} (id) ON DELETE CASCADE",
            f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_cascade",
        )
        for table, column, target in LINKS
    ]
