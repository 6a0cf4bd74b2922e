"""How the words of a project's texts are taken, and writing them beside the text."""

from django.conf import settings
from django.contrib.postgres.search import SearchVectorField
from django.db import connection
from django.db.models import Func, Value
from django.db.transaction import TransactionManagementError

from soat.core.errors import NotFound
from soat.engine.lexical import lexical_text
from soat.tenancy.models import Project

_LOCK = 0x50A7_7E57 << 32
"""Of a project, with its key added."""


def text_search_config(project: Project) -> str:
    """Return the text-search configuration of a project: its own, else the deployment's."""
    return project.text_search_config or str(settings.KNOWLEDGE_TEXT_SEARCH_CONFIG)


def held_text_search_config(project_id: int) -> str:
    """Return a project's configuration, and keep it from being changed until the transaction ends.

    So nobody commits words of an old configuration once the new one is committed, and taking them anew
    after that misses no row. Those who hold it do not wait for each other. Raises ``NotFound`` for a
    project that is gone and ``TransactionManagementError`` outside of a transaction.
    """
    _lock("pg_advisory_xact_lock_shared", project_id)
    # A statement of its own: it has to see what was committed while the lock was waited for.
    project = Project.objects.only("text_search_config").filter(pk=project_id).first()
    if project is None:
        raise NotFound("There is no such project.")
    return text_search_config(project)


def await_holders(project_id: int) -> None:
    """Wait until nobody holds a project's configuration, and let nobody hold it until the transaction ends."""
    _lock("pg_advisory_xact_lock", project_id)


def _lock(function: str, project_id: int) -> None:
    if not connection.in_atomic_block:
        raise TransactionManagementError("The lock ends with a transaction, and there is none.")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [_LOCK + project_id])


class Lexemes(Func):
    """The words of a text, as an expression to be stored in the same statement as the text."""

    function = "to_tsvector"
    template = "%(function)s(%(expressions)s)"
    output_field = SearchVectorField()

    def __init__(self, text: str, config: str) -> None:
        super().__init__(_Named(config), Value(lexical_text(text)))


class _Named(Func):
    """A configuration by its name."""

    template = "%(expressions)s::regconfig"
    output_field = SearchVectorField()

    def __init__(self, config: str) -> None:
        super().__init__(Value(config))
