"""Which space the database holds, and which one the settings ask for."""

from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, transaction

from embeddings.indexes import vector_tables
from embeddings.models import EmbeddingSpace
from soat.tenancy.composed import ComposedQuery

_FIELDS = tuple(field.attname for field in EmbeddingSpace._meta.concrete_fields)  # noqa: SLF001  (a public name)
_CURRENT = ComposedQuery(lambda: EmbeddingSpace.objects.filter(is_current=True).values_list(*_FIELDS))
_REGISTER_LOCK = 0x50A7_5BACE


class SpaceState(StrEnum):
    """How the settings and the database stand to each other."""

    READY = "ready"
    NOT_CONFIGURED = "not_configured"
    MISMATCH = "mismatch"


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """The state, the space to use (None unless ready) and a sentence for people."""

    state: SpaceState
    space: EmbeddingSpace | None
    message: str


def configured_identity() -> tuple[str, str, int] | None:
    """Return ``(provider, model, dimensions)`` of the settings, or None when no embedder is configured."""
    if not settings.EMBEDDING_PROVIDER or not settings.EMBEDDING_MODEL:
        return None
    return settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS


def space_status() -> SpaceStatus:
    """Compare settings and database; a database without a space takes the one that is configured.

    Nothing is ever mixed: with other settings than the current space's there is no space to use.
    """
    wanted = configured_identity()
    if wanted is None:
        return SpaceStatus(
            SpaceState.NOT_CONFIGURED, None, "EMBEDDING_PROVIDER and EMBEDDING_MODEL are not set: there is no embedder."
        )
    row = _CURRENT.first()
    space = EmbeddingSpace.from_db(DEFAULT_DB_ALIAS, _FIELDS, row) if row else _register(*wanted)
    if (space.provider, space.model, space.dimensions) != wanted:
        provider, model, dimensions = wanted
        return SpaceStatus(
            SpaceState.MISMATCH,
            None,
            f"The settings name {provider}/{model} ({dimensions} dimensions), but the stored vectors are of {space}:"
            " set EMBEDDING_PROVIDER, EMBEDDING_MODEL and EMBEDDING_DIMENSIONS back.",
        )
    return SpaceStatus(SpaceState.READY, space, f"The current space is {space}.")


def replace_empty_space() -> bool:
    """Let the configured space take the place of a current one that nothing is stored in; tell whether it did.

    A mistyped model or number of dimensions is thus corrected by setting it right.
    """
    wanted = configured_identity()
    with transaction.atomic():
        _alone()
        current = EmbeddingSpace.objects.filter(is_current=True).first()
        if wanted is None or current is None or (current.provider, current.model, current.dimensions) == wanted:
            return False
        if any(model._default_manager.filter(space=current).exists() for model in vector_tables()):  # noqa: SLF001
            return False
        EmbeddingSpace.objects.filter(pk=current.pk).update(is_current=False)
        provider, model_name, dimensions = wanted
        EmbeddingSpace.objects.update_or_create(
            provider=provider, model=model_name, dimensions=dimensions, defaults={"is_current": True}
        )
        return True


def _alone() -> None:
    """Let nobody else register a space until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_REGISTER_LOCK])


def _register(provider: str, model: str, dimensions: int) -> EmbeddingSpace:
    with transaction.atomic():
        _alone()
        current = EmbeddingSpace.objects.filter(is_current=True).first()
        return current or EmbeddingSpace.objects.create(
            provider=provider, model=model, dimensions=dimensions, is_current=True
        )
