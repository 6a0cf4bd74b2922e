"""How the words of a project's texts are taken, and writing them beside the text."""

from django.conf import settings
from django.contrib.postgres.search import SearchVectorField
from django.db import connection
from django.db.models import Func, Value
from django.db.transaction import TransactionManagementError

from soat.core.errors import NotFound
from soat.engine.lexical import lexical_text
from soat.tenancy.models import Project


def text_search_config(project: Project) -> str:
    """Return the text-search configuration of a project: its own, else the deployment's."""
    return project.text_search_config or str(settings.KNOWLEDGE_TEXT_SEARCH_CONFIG)


def held_text_search_config(project_id: int) -> str:
    """Return a project's configuration, and keep it from being changed until the transaction ends.

    So nobody commits words of an old configuration once the new one is committed, and what is taken anew
    after that misses no row. Writers do not wait for each other. Raises ``NotFound`` for a project that is
    gone and ``TransactionManagementError`` outside of a transaction.
    """
    if not connection.in_atomic_block:
        raise TransactionManagementError("A configuration is held to the end of a transaction, and there is none.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT text_search_config FROM tenancy_project WHERE id = %s FOR SHARE", [project_id])
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such project.")
    return text_search_config(Project(text_search_config=row[0]))


class Lexemes(Func):
    """The words of a text, as an expression to be stored in the same statement as the text."""

    function = "to_tsvector"
    template = "%(function)s(%(expressions)s)"
    output_field = SearchVectorField()

    def __init__(self, text: str, config: str) -> None:
        super().__init__(RegConfig(config), Value(lexical_text(text)))


class RegConfig(Func):
    """The name of a text-search configuration as what it names."""

    template = "%(expressions)s::regconfig"
    output_field = SearchVectorField()

    def __init__(self, config: str) -> None:
        super().__init__(Value(config))
