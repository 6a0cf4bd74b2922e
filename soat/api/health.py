"""Is the process up, and is everything there that it needs?"""

from typing import Any

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model
from django.db.utils import Error as DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from documents.models import DocumentChunk
from embeddings.indexes import missing_indexes
from embeddings.port import EmbeddingError
from embeddings.services import configured_embedder
from embeddings.spaces import SpaceState, space_status
from memories.models import MemoryEntry
from soat.core.broker import broker_answers

OK = "ok"
COUNTED_ROWS = 10_000


@csrf_exempt
def health(request: HttpRequest) -> JsonResponse:
    """Answer as long as the process serves requests."""
    return JsonResponse({"status": OK})


@csrf_exempt
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when database, migrations, broker, space, indexes and embedder are there, else 503."""
    checks = _database_checks()
    checks["broker"] = OK if broker_answers() else "the broker does not answer"
    is_ready = all(state == OK for state in checks.values())
    body: dict[str, Any] = {"status": OK if is_ready else "unavailable", "checks": checks}
    if checks.get("migrations") == OK:
        body["waiting_for_vectors"] = {"chunks": _waiting(DocumentChunk), "entries": _waiting(MemoryEntry)}
    return JsonResponse(body, status=200 if is_ready else 503)


def _waiting(rows: type[Model]) -> int:
    """Return how many rows wait for the embedder; past ``COUNTED_ROWS`` it is only known that there are more."""
    return rows._default_manager.filter(awaits_vector=True)[: COUNTED_ROWS + 1].count()  # noqa: SLF001


def _database_checks() -> dict[str, str]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return {"database": "the database does not answer"}
    if pending:
        return {"database": OK, "migrations": f"{len(pending)} migrations are not applied: run manage.py migrate"}
    return {"database": OK, "migrations": OK, **_space_checks()}


def _space_checks() -> dict[str, str]:
    status = space_status()
    if status.space is None:
        if status.state is SpaceState.NOT_CONFIGURED:
            return {"embedder": status.message, "space": OK}
        return {"embedder": OK, "space": status.message}
    checks = {"space": OK, "embedder": _embedder_state()}
    missing = [model._meta.db_table for model in missing_indexes(status.space)]  # noqa: SLF001
    checks["indexes"] = f"missing on {', '.join(missing)}: run manage.py prepare_space" if missing else OK
    return checks


def _embedder_state() -> str:
    try:
        configured_embedder()
    except EmbeddingError as error:
        return str(error)
    return OK
