"""The words that are stored, and those that ought to be."""

from django.db import connection

from documents.models import DocumentChunk
from memories.models import MemoryEntry
from soat.engine.lexical import lexical_text
from soat.tenancy.models import Project
from soat.tenancy.text_search import text_search_config


def vector(text: str, config: str = "simple") -> str:
    """Return what PostgreSQL makes of a text's words."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_tsvector(%s::regconfig, %s)", [config, lexical_text(text)])
        return str(cursor.fetchone()[0])


def wrong_rows() -> list[str]:
    """Return the texts of all rows whose words are missing, or are not those of text and project."""
    configs = {project.pk: text_search_config(project) for project in Project.objects.all()}
    return [
        content
        for rows in (DocumentChunk.objects, MemoryEntry.objects)
        for content, lexemes, project_id in rows.values_list("content", "lexemes", "project_id")
        if lexemes != vector(content, configs[project_id])
    ]


def configs_used() -> set[str]:
    """Return of every row of the text "Running runs" in which configurations its words are right."""
    simple, english = vector("Running runs"), vector("Running runs", "english")
    assert simple != english
    names = {simple: "simple", english: "english", None: "none"}
    rows = [*DocumentChunk.objects.values_list("lexemes"), *MemoryEntry.objects.values_list("lexemes")]
    return {names[lexemes] for (lexemes,) in rows}
