"""The file that a plain text made gets the tags of the text, as it has had its path from the start."""

from django.db import migrations

FOLLOW = """
UPDATE files_file SET tags = document.tags
FROM documents_document document
WHERE document.file_id = files_file.id AND document.owns_file
  AND document.tags <> '{}' AND document.tags <> 'null' AND files_file.tags = '{}'
"""


class Migration(migrations.Migration):
    dependencies = [("documents", "0004_chunk_lexemes_index"), ("files", "0003_upload_tokens")]

    operations = [migrations.RunSQL(FOLLOW, migrations.RunSQL.noop)]
