"""Memories and the one write funnel: the only code that decides about a write."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.utils import timezone

from embeddings.batching import EmbeddedText
from embeddings.models import EmbeddingSpace
from embeddings.services import embed_documents
from memories.models import EntryVector, Memory, MemoryEntry, SourceType
from memories.querysets import Probe, shortlist
from memories.rows import insert_vectors, lock_memory, next_revision
from soat.audit.services import record
from soat.core.db import short_transaction
from soat.core.errors import NotFound, ValidationFailed
from soat.engine.dedup import DEFAULT_BANDS, Bands, Candidate, Decision, Verdict, bands_of, decide
from soat.engine.text import TextRefused, clean_fact, content_hash
from soat.tenancy.access import Access
from soat.tenancy.models import Project
from soat.tenancy.text_search import Lexemes, held_text_search_config

MAX_CONTENT_CHARACTERS = 32_768


class WriteAction(StrEnum):
    """What a write did."""

    CREATED = "created"
    UPDATED = "updated"
    SKIPPED = "skipped"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class IncomingFact:
    """A fact that a caller wants stored.

    ``duplicate_threshold`` is what a request sent, None for the default rule; ``force`` stores in any case.
    """

    content: str
    source_type: str = SourceType.MANUAL
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    duplicate_threshold: float | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What became of a fact: the entry that holds it, and why. ``similarity`` is raw cosine."""

    action: WriteAction
    entry: MemoryEntry
    reason: str
    similarity: float | None = None
    matched: MemoryEntry | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A fact with its cleaned text, its hash and its vectors."""

    fact: IncomingFact
    content: str
    digest: bytes
    space: EmbeddingSpace | None
    embedded: EmbeddedText

    def probe(self, access: Access | None) -> Probe:
        return Probe(self.digest, self.space, self.embedded.windows, access)

    @property
    def bands(self) -> Bands:
        return bands_of(self.space.model) if self.space is not None else DEFAULT_BANDS


def write_entry(*, memory: Memory, fact: IncomingFact, access: Access | None = None) -> WriteResult:
    """Decide about a fact and write the decision: skip or create.

    The text is embedded and the shortlist read without a lock; then the memory's row is locked, what
    has come or changed since is looked at again, and the decision is written. N equal facts at once
    make one entry, and no write is lost. ``access`` is the writer's: what it may not read is no duplicate
    for it, since the answer would show it; None reads all. Raises ``ValidationFailed`` for a text that cannot be
    stored, ``NotFound`` when the memory is deleted meanwhile, ``ServiceUnavailable`` when its lock is
    not had in time.
    """
    prepared = _prepare(fact)
    seen = Memory.objects.filter(pk=memory.pk).values_list("revision", flat=True).first()
    probe = prepared.probe(access)
    early = shortlist(memory, probe) if seen is not None else []
    with short_transaction():
        locked = lock_memory(memory.pk)
        candidates = early
        if locked.revision != seen:
            candidates = _looked_at_again(locked, probe, early, seen or 0)
        decision = decide(
            prepared.content,
            candidates,
            bands=prepared.bands,
            duplicate_threshold=fact.duplicate_threshold,
            force=fact.force,
        )
        return _written(locked, prepared, decision)


def _prepare(fact: IncomingFact) -> _Prepared:
    content = _cleaned(fact.content)
    batch = embed_documents([content], urgent=True)
    return _Prepared(fact, content, bytes.fromhex(content_hash(content)), batch.space, batch.texts[0])


def _cleaned(content: str) -> str:
    try:
        cleaned = clean_fact(content)
    except TextRefused as error:
        raise ValidationFailed(f"content: {error}", meta={"fields": {"content": str(error)}}) from None
    if len(cleaned) > MAX_CONTENT_CHARACTERS:
        message = f"must be at most {MAX_CONTENT_CHARACTERS} characters long."
        raise ValidationFailed(f"content {message}", meta={"fields": {"content": message}})
    return cleaned


def _looked_at_again(memory: Memory, probe: Probe, early: list[Candidate], seen: int) -> list[Candidate]:
    """Return the shortlist as it is now, under the lock, reading only what changed after ``seen``.

    An early candidate that was edited, invalidated or deleted leaves a gap that only a fresh
    shortlist fills; otherwise the early ones stand and the changed entries join them.
    """
    unchanged = MemoryEntry.objects.filter(
        pk__in=[candidate.key for candidate in early], invalidated_at=None, revision__lte=seen
    ).count()
    if unchanged != len(early):
        return shortlist(memory, probe)
    return [*early, *shortlist(memory, probe, since=seen)]


def _written(memory: Memory, prepared: _Prepared, decision: Decision) -> WriteResult:
    matched = None
    similarity = decision.candidate.similarity if decision.candidate else None
    if decision.candidate is not None:
        matched = MemoryEntry.objects.select_related("memory", "superseded_by").get(pk=decision.candidate.key)
    if decision.verdict is Verdict.SKIP and matched is not None:
        return WriteResult(WriteAction.SKIPPED, matched, decision.reason, similarity, matched)
    entry = _insert_entry(memory, prepared)
    return WriteResult(WriteAction.CREATED, entry, decision.reason, similarity, matched)


def _insert_entry(memory: Memory, prepared: _Prepared) -> MemoryEntry:
    now = timezone.now()
    entry = MemoryEntry.objects.create(
        project_id=memory.project_id,
        memory=memory,
        content=prepared.content,
        content_hash=prepared.digest,
        source_type=prepared.fact.source_type,
        tags=list(prepared.fact.tags),
        metadata=prepared.fact.metadata,
        awaits_vector=_awaits_vector(prepared.embedded),
        revision=next_revision(memory),
        created_at=now,
        updated_at=now,
        lexemes=_lexemes(memory, prepared.content),
    )
    insert_vectors(entry, prepared.space, prepared.embedded.windows)
    after = {name: getattr(entry, name) for name in ("content", "tags", "metadata", "source_type")}
    _record(entry, None, {"memory_id": memory.public_id, **after})
    return entry


def _lexemes(memory: Memory, content: str) -> Lexemes:
    return Lexemes(content, held_text_search_config(memory.project_id))


def _record(entry: MemoryEntry, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
    record("memory-entry", entry.public_id, project_id=entry.project_id, before=before, after=after)


def _awaits_vector(embedded: EmbeddedText) -> bool:
    return embedded.error is not None and not embedded.error.permanent


def update_entry(*, entry: MemoryEntry, changes: Mapping[str, Any]) -> MemoryEntry:
    """Change an entry's content, tags or metadata (None clears).

    A new content gets a new vector; where none can be had the old one is dropped, so that a vector
    always belongs to the text beside it. The same content again gives an entry its vector that waits
    for one. Raises like ``write_entry``.
    """
    prepared = _prepare(IncomingFact(changes["content"])) if "content" in changes else None
    with short_transaction():
        memory = lock_memory(entry.memory_id)
        rows = MemoryEntry.objects.select_for_update(no_key=True, of=("self",))
        locked = rows.select_related("memory", "superseded_by").filter(pk=entry.pk).first()
        if locked is None:
            raise NotFound("There is no such entry.")
        changed = _changed_fields(locked, changes, prepared)
        if prepared is not None and ("content" in changed or _repairs(locked, prepared)):
            changed["awaits_vector"] = _awaits_vector(prepared.embedded)
            EntryVector.objects.filter(entry=locked).delete()
            insert_vectors(locked, prepared.space, prepared.embedded.windows)
        if changed:
            _save_change(memory, locked, changed)
        return locked


def _changed_fields(entry: MemoryEntry, changes: Mapping[str, Any], prepared: _Prepared | None) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if "tags" in changes and entry.tags != (changes["tags"] or []):
        changed["tags"] = changes["tags"] or []
    if "metadata" in changes and not _same_json(entry.metadata, changes["metadata"]):
        changed["metadata"] = changes["metadata"]
    if prepared is not None and prepared.content != entry.content:
        changed["content"] = prepared.content
        changed["content_hash"] = prepared.digest
    return changed


def _same_json(left: Any, right: Any) -> bool:
    """Compare as JSON does: in Python ``True == 1 == 1.0``."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _repairs(entry: MemoryEntry, prepared: _Prepared) -> bool:
    return entry.awaits_vector and bool(prepared.embedded.windows)


def _save_change(memory: Memory, entry: MemoryEntry, changed: dict[str, Any]) -> None:
    """Save the fields, and count the change; a vector that came later is no change of the entry itself."""
    shown = [name for name in changed if name in {"content", "tags", "metadata"}]
    before = {name: getattr(entry, name) for name in shown}
    for name, value in changed.items():
        setattr(entry, name, value)
    _record(entry, before, {name: changed[name] for name in shown})
    entry.revision = next_revision(memory)
    if "content" in changed:
        entry.lexemes = changed["lexemes"] = _lexemes(memory, entry.content)
    if set(changed) != {"awaits_vector"}:
        entry.version += 1
        entry.updated_at = timezone.now()
    entry.save(update_fields=[*changed, "revision", "version", "updated_at"])


def delete_entry(*, entry: MemoryEntry) -> None:
    """Delete an entry for good; it is gone from search in the same moment."""
    with short_transaction():
        memory = lock_memory(entry.memory_id)
        deleted, _ = MemoryEntry.objects.filter(pk=entry.pk).delete()
        if not deleted:
            raise NotFound("There is no such entry.")
        _record(entry, {name: getattr(entry, name) for name in ("content", "tags", "metadata")}, None)
        next_revision(memory)


def create_memory(*, project: Project, name: str, description: str | None, tags: list[str]) -> Memory:
    """Create an empty memory."""
    now = timezone.now()
    values = {"name": name, "description": description, "tags": tags}
    with transaction.atomic():
        memory = Memory.objects.create(project=project, **values, created_at=now, updated_at=now)
        record("memory", memory.public_id, project_id=project.pk, after=values)
    return memory


def update_memory(*, memory: Memory, changes: Mapping[str, Any]) -> Memory:
    """Change a memory's name, description or tags (None clears). Raises ``NotFound`` and ``ServiceUnavailable``."""
    wanted = {**changes, **({"tags": changes["tags"] or []} if "tags" in changes else {})}
    with short_transaction():
        locked = lock_memory(memory.pk)
        locked.project = memory.project
        changed = {name: value for name, value in wanted.items() if getattr(locked, name) != value}
        if changed:
            before = {name: getattr(locked, name) for name in changed}
            for name, value in changed.items():
                setattr(locked, name, value)
            record("memory", locked.public_id, project_id=locked.project_id, before=before, after=changed)
            locked.updated_at = timezone.now()
            locked.save(update_fields=[*changed, "updated_at"])
        return locked


def delete_memory(*, memory: Memory) -> None:
    """Delete a memory with its entries and their vectors in one transaction."""
    with short_transaction():
        locked = lock_memory(memory.pk)
        before = {name: getattr(locked, name) for name in ("name", "description", "tags")}
        record("memory", locked.public_id, project_id=locked.project_id, before=before)
        locked.delete()


def count_memories(project_id: int, limit: int) -> int:
    """Return how many memories stand in a project, counted up to ``limit``."""
    return Memory.objects.filter(project_id=project_id)[:limit].count()


def purge_memories(project_id: int, limit: int) -> int:
    """Delete at most ``limit`` memories of a project, and return how many were found."""
    found = list(Memory.objects.filter(project_id=project_id).order_by("pk")[:limit])
    for memory in found:
        with contextlib.suppress(NotFound):
            delete_memory(memory=memory)
    return len(found)
