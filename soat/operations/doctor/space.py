"""Vectors: the space that is stored against the one that is set, the indexes, the embedder itself."""

import time
from collections.abc import Iterator

from django.conf import settings
from django.db import connection

from embeddings.indexes import index_name, vector_tables
from embeddings.models import EmbeddingSpace
from embeddings.port import EmbedderMisconfigured, EmbeddingError, EmbeddingRejected, Reason, TextKind
from embeddings.services import configured_embedder
from embeddings.spaces import SpaceState, space_status
from soat.operations.doctor.findings import Finding, fine, wrong

_PROBE = "A sentence that is sent to see whether the model answers."
_ADDRESS = {
    "local": "",
    "ollama": " Is Ollama running at EMBEDDING_BASE_URL or OLLAMA_BASE_URL, and the model pulled?",
}


def check_space() -> Iterator[Finding]:
    """Compare settings and database, and look at the indexes of the space that is in use."""
    status = space_status()
    if status.space is not None:
        yield fine("space", str(status.space))
        yield from _check_indexes(status.space)
    elif status.state is SpaceState.NOT_CONFIGURED:
        yield wrong(
            "space",
            "There is no embedder: EMBEDDING_PROVIDER and EMBEDDING_MODEL are not set.",
            why="What is stored gets no vector, and search answers 503.",
            mend="set EMBEDDING_PROVIDER=local, EMBEDDING_MODEL=all-MiniLM-L6-v2 and EMBEDDING_DIMENSIONS=384,"
            " or those of a provider of yours.",
        )
    else:
        yield wrong(
            "space",
            status.message,
            why="Vectors of two models cannot be compared, so nothing is embedded and search answers 503.",
            mend="set them back, or start with an empty database.",
        )


def _check_indexes(space: EmbeddingSpace) -> Iterator[Finding]:
    tables = {index_name(model, space): model._meta.db_table for model in vector_tables()}  # noqa: SLF001
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE c.relname = ANY(%s)",
            [list(tables)],
        )
        valid = dict(cursor.fetchall())
    for name, table in tables.items():
        if name not in valid:
            yield _bad_index(f"The table {table} has no vector index for the current space.")
        elif not valid[name]:
            yield _bad_index(f"The vector index of {table} is not valid: its build was interrupted.")
    if all(valid.get(name) for name in tables):
        yield fine("indexes", f"{len(tables)} vector indexes")


def _bad_index(what: str) -> Finding:
    return wrong(
        "indexes",
        what,
        why="Every search reads the whole table, which grows slow with the rows.",
        mend="python manage.py prepare_space (others can go on reading and writing meanwhile).",
    )


def check_embedder() -> Iterator[Finding]:
    """Have one sentence embedded."""
    provider, model = settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL
    if not provider:
        return
    begun = time.perf_counter()
    try:
        answer = configured_embedder().embed([_PROBE], kind=TextKind.DOCUMENT, urgent=True)[0]
    except EmbeddingError as error:
        is_set_wrong = isinstance(error, EmbedderMisconfigured | EmbeddingRejected)
        yield _silent(f"{provider}/{model} {'cannot be used' if is_set_wrong else 'does not answer'}: {error}")
        return
    milliseconds = (time.perf_counter() - begun) * 1_000
    if isinstance(answer, EmbeddingRejected):
        if answer.reason is Reason.WRONG_DIMENSIONS:
            yield _other_dimensions(f"{provider}/{model} does not fit EMBEDDING_DIMENSIONS: {answer}")
        else:
            yield _silent(f"{provider}/{model} answers with what is no vector: {answer}")
    elif len(answer) != settings.EMBEDDING_DIMENSIONS:
        yield _other_dimensions(f"{provider}/{model} answers with {len(answer)} dimensions.")
    else:
        yield fine("embedder", f"{provider}/{model} answers in {milliseconds:.0f} ms with {len(answer)} dimensions")


def _silent(what: str) -> Finding:
    return wrong(
        "embedder",
        what,
        why="What is stored waits for its vector, and search by meaning answers 503.",
        mend="check EMBEDDING_PROVIDER, EMBEDDING_MODEL, EMBEDDING_BASE_URL and EMBEDDING_API_KEY."
        + _ADDRESS.get(settings.EMBEDDING_PROVIDER, " Can this machine reach the provider?"),
    )


def _other_dimensions(what: str) -> Finding:
    return wrong(
        "embedder",
        what,
        why=f"EMBEDDING_DIMENSIONS is {settings.EMBEDDING_DIMENSIONS}, and only vectors of that length are stored.",
        mend="set EMBEDDING_DIMENSIONS to what the model answers with (before anything is stored), or another model.",
    )
