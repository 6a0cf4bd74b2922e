"""Storing a set through the real pipelines, and telling what of it a search result holds."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone

from documents.models import Document, DocumentChunk, DocumentPage, DocumentStatus
from documents.pipeline import ingest
from documents.services import NewDocument, create_document, ingest_document
from documents.waiting import await_settled, reread
from knowledge.results import DocumentResult, Result
from memories.models import Memory, MemoryEntry
from memories.services import IncomingFact, create_memory, delete_entry, update_entry, write_entry
from soat.engine.chunk import PAGE_SEPARATOR
from soat.engine.metrics import Covered, Span
from soat.evaluation.material import Act, EvaluationSet, Evidence, Fact, Passage, Question, SetProblem, StoredFile
from soat.files.services import NewFile, create_file, guess_content_type
from soat.tenancy.models import Project

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a chunk stands: in which source, and from where to where in its text."""

    source: str
    span: Span


@dataclass(slots=True)
class Shelf:
    """What was stored: which row holds which key of the set."""

    project: Project
    memories: dict[str, Memory] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)
    _chunks: dict[str, _Place] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def covered(self, question: Question, result: Result, *, by_character: bool) -> Covered:
        """Return which evidence of the question a result holds: by number, or each character of it."""
        if not isinstance(result, DocumentResult):
            return {
                number
                for number, evidence in enumerate(question.evidence)
                if self.entries.get(evidence.source) == result.id
            }
        place = self._chunks[result.id]
        found: set[Hashable] = set()
        for number, evidence in enumerate(question.evidence):
            if evidence.source == place.source:
                start, end = self.span_of(evidence)
                if by_character:
                    inside = range(max(start, place.span[0]), min(end, place.span[1]))
                    found |= {(place.source, character) for character in inside}
                elif _holds(place.span, (start, end)):
                    found.add(number)
        return found

    def wanted(self, question: Question, *, by_character: bool) -> Covered:
        """Return all that ``covered`` can give for the question."""
        if not by_character:
            return set(range(len(question.evidence)))
        return {(evidence.source, place) for evidence in question.evidence for place in range(*self.span_of(evidence))}

    def is_stale(self, question: Question, result: Result) -> bool:
        """Tell whether a result is a fact that is true no more."""
        return result.id in {self.entries.get(key) for key in question.stale}

    def place(self, result: Result) -> tuple[str, Span] | None:
        """Return the source of a chunk and its characters there; None for an entry."""
        place = self._chunks.get(result.id)
        return (place.source, place.span) if place else None

    def span_of(self, evidence: Evidence) -> Span:
        """Return where evidence stands in its document. Raises ``SetProblem`` for a quote that is not there once."""
        text = self._texts[evidence.source]
        if evidence.span is not None:
            return evidence.span
        if evidence.quote is None:
            return 0, len(text)
        found = [*re.finditer(r"\s+".join(map(re.escape, evidence.quote.split())), text)]
        if len(found) != 1:
            raise SetProblem(f"The quote {evidence.quote!r} stands {len(found)} times in {evidence.source}.")
        return found[0].span()

    def check(self, questions: Iterable[Question]) -> None:
        """Raise ``SetProblem`` for a question whose answer was not stored as it says."""
        for question in questions:
            for evidence in question.evidence:
                if evidence.source in self._texts:
                    self.span_of(evidence)
                elif evidence.source not in self.entries:
                    raise SetProblem(f"{question.key} is answered by {evidence.source}, which is not stored.")

    def learn_document(self, key: str, document: Document) -> None:
        """Note a document's text and chunks."""
        self.documents[key] = document
        attempt = document.settled_attempt_id
        pages = DocumentPage.objects.filter(attempt_id=attempt).order_by("index").values_list("text", flat=True)
        self._texts[key] = PAGE_SEPARATOR.join(pages)
        for chunk, start, end in DocumentChunk.objects.filter(attempt_id=attempt).values_list(
            "public_id", "start", "end"
        ):
            self._chunks[chunk] = _Place(key, (start, end))


def _holds(chunk: Span, wanted: Span) -> bool:
    """Tell whether a chunk holds all of ``wanted``, or is itself a part of it, as of a whole document."""
    start, end = max(wanted[0], chunk[0]), min(wanted[1], chunk[1])
    return start < end and (start, end) in {wanted, chunk}


def stock(material: EvaluationSet, project: Project, progress: Progress) -> Shelf:
    """Store a set in an empty project. ``progress`` is told how many of how many things are stored."""
    shelf = Shelf(project)
    total = len(material.passages) + len(material.files) + len(material.facts)
    done = 0
    for passage in material.passages:
        shelf.learn_document(passage.key, _documented(project, passage))
        progress(done := done + 1, total)
    for stored in material.files:
        shelf.learn_document(stored.key, _ingested(project, stored))
        progress(done := done + 1, total)
    for fact in material.facts:
        _apply(shelf, fact)
        progress(done := done + 1, total)
    _date_back(shelf, material)
    return shelf


def _date_back(shelf: Shelf, material: EvaluationSet) -> None:
    """Let the facts be as old as the set says; the last one of each memory was written now."""
    later: Counter[str] = Counter()
    for fact in reversed(material.facts):
        when = timezone.now() - timedelta(days=material.days_between_facts * later[fact.memory])
        later[fact.memory] += 1
        entry = MemoryEntry.objects.filter(public_id=shelf.entries.get(fact.key, ""))
        if material.days_between_facts and fact.act is not Act.DELETE:
            entry.update(created_at=when, updated_at=when)


def _documented(project: Project, passage: Passage) -> Document:
    new = NewDocument(
        content=passage.text,
        path=passage.path,
        filename=None,
        title=passage.title,
        metadata=None,
        tags=None,
        chunking=passage.chunking,
    )
    return create_document(project=project, new=new)


def _ingested(project: Project, stored: StoredFile) -> Document:
    name = stored.file.name
    new = NewFile(prefix="/", filename=name, path=f"/{name}", content_type=guess_content_type(name, None))
    with stored.file.open("rb") as source:
        file = create_file(project=project, new=new, source=source, size=stored.file.stat().st_size)
    document = ingest_document(project=project, file=file, path_prefix=None, tags=None, chunking=stored.chunking)
    if document.current_attempt_id is not None:
        ingest(document.current_attempt_id)
    await_settled(document)  # a worker may have been faster than we
    document = reread(document)
    if document.status != DocumentStatus.READY:
        raise SetProblem(f"{name} could not be ingested.")
    return document


def _apply(shelf: Shelf, fact: Fact) -> None:
    memory = shelf.memories.get(fact.memory)
    if memory is None:
        memory = create_memory(project=shelf.project, name=fact.memory, description=None, tags=[])
        shelf.memories[fact.memory] = memory
    if fact.act is Act.WRITE:
        shelf.entries[fact.key] = write_entry(memory=memory, fact=IncomingFact(fact.text)).entry.public_id
        return
    entry = MemoryEntry.objects.get(public_id=shelf.entries.pop(fact.of or ""))
    if fact.act is Act.DELETE:
        delete_entry(entry=entry)
    else:
        shelf.entries[fact.key] = update_entry(entry=entry, changes={"content": fact.text}).public_id
