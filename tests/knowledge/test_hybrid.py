"""Meaning and words together: what is found, in which order, on which scale, and what it says of hidden rows."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from documents.models import ChunkVector, DocumentChunk, IngestionAttempt
from embeddings.port import EmbeddingRejected, Reason
from memories.models import EntryVector, MemoryEntry
from soat.tenancy.models import Project
from tests.conftest import Cast
from tests.knowledge.world import SEARCH, contents, ids, new_document, search
from tests.memories.fakes import FakeEmbedder, at_cosine, use_embedder
from tests.memories.rest import Record, assert_error, new_memory, write
from tests.tenancy.policies import allow, session_of, user_with

THINGS = ("bolt", "nut", "washer", "hinge", "bracket", "spring", "valve", "gear", "chain", "lever", "rivet", "clamp")
PARTS = [f"Part SKU-47{number:02} is a {thing} of steel." for number, thing in enumerate(THINGS)]


def hybrid(client: Any, **body: Any) -> list[Record]:
    return search(client, ranking="hybrid", **body)


@pytest.fixture
def parts(cast: Cast) -> str:
    """Twelve facts that differ in one number and one word each, and a document of all of them; return the memory."""
    memory: str = new_memory(cast.a)["id"]
    for part in PARTS:
        write(cast.a, memory, part, force=True)
    new_document(cast.a, "The stock is counted on Fridays.", path="/stock.txt")
    return memory


@pytest.mark.parametrize("query", ["SKU-4711", "sku 4711?", "what is (SKU-4711), please", "Is sku_4711 in stock"])
def test_an_exact_rare_token_is_found_first(cast: Cast, parts: str, query: str) -> None:
    (first, *_) = hybrid(cast.a, query=query, memory_ids=[parts], limit=3)
    assert first["content"] == "Part SKU-4711 is a clamp of steel."


def test_a_row_without_a_vector_is_found_by_its_words(cast: Cast, parts: str) -> None:
    EntryVector.objects.filter(entry__content__contains="4703").delete()
    (first,) = hybrid(cast.a, query="SKU-4703", memory_ids=[parts], limit=1)
    assert first["content"] == "Part SKU-4703 is a hinge of steel."
    assert "similarity_score" not in first
    assert first["ranks"] == {"words": 1}
    assert 0 < first["score"] <= 0.45


def test_results_say_which_leg_found_them(cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Each leg hands on two rows here: one is found by both, the others by one."""
    monkeypatch.setattr("knowledge.hybrid.LEG_DEPTH", 1)
    settings.KNOWLEDGE_WORDS_WEIGHT = 0.4
    cosines = {"alpha beta": 0.9, "gamma": 0.8, "beta alpha delta": 0.1, "epsilon": 0.0, "alpha beta?": 1.0}
    use_embedder(monkeypatch, FakeEmbedder(lambda text: at_cosine(cosines[text])))
    memory = new_memory(cast.a)["id"]
    for text in list(cosines)[:4]:
        write(cast.a, memory, text, force=True)
    results = hybrid(cast.a, query="alpha beta?", memory_ids=[memory], document_ids=["none"], limit=2)
    assert contents(results) == ["alpha beta", "gamma"]
    assert [result["ranks"] for result in results] == [{"cosine": 1, "words": 1}, {"cosine": 2}]
    assert [result["similarity_score"] for result in results] == [pytest.approx(0.9), pytest.approx(0.8)]
    assert results[1]["score"] == pytest.approx(0.6 * 0.8)


def test_a_row_that_only_its_words_brought_in_is_compared_all_the_same(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr("knowledge.hybrid.LEG_DEPTH", 1)
    settings.KNOWLEDGE_WORDS_WEIGHT = 0.5
    cosines = {"near": 0.5, "words words": 0.4, "far": 0.0, "words": 1.0}
    use_embedder(monkeypatch, FakeEmbedder(lambda text: at_cosine(cosines[text])))
    memory = new_memory(cast.a)["id"]
    for text in ("near", "words words", "far"):
        write(cast.a, memory, text, force=True)
    (first,) = hybrid(cast.a, query="words", memory_ids=[memory], document_ids=["none"], limit=1)
    assert first["content"] == "words words"
    assert first["ranks"] == {"words": 1}
    assert "similarity_score" not in first
    assert first["score"] == pytest.approx(0.5 * 0.4 + 0.5 * 0.925, abs=0.01)


def test_scores_are_on_one_scale_and_the_floor_is_taken_from_them(cast: Cast, parts: str) -> None:
    body: Record = {"query": "Is the bolt SKU-4700 counted on Fridays?", "memory_ids": [parts], "limit": 100}
    results = hybrid(cast.a, **body)
    assert {result["source_type"] for result in results} == {"document", "memory"}
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    floor = scores[2]
    assert ids(hybrid(cast.a, **body, min_score=floor)) == ids(results)[: sum(score >= floor for score in scores)]
    assert hybrid(cast.a, **body, min_score=1) == []


def test_equal_scores_have_one_order_for_every_limit(cast: Cast) -> None:
    memory = new_memory(cast.a)["id"]
    for place in range(9):
        new_document(cast.a, "The lift is out of order.", path=f"/{place}")
        write(cast.a, memory, "The lift is out of order.", force=True)
    write(cast.a, memory, "The stairs are closed.", force=True)
    whole = hybrid(cast.a, query="the lift", memory_ids=[memory], limit=100)
    assert len(whole) == 19
    keys = [(-row["score"], row["source_type"], row_id) for row, row_id in zip(whole, ids(whole), strict=True)]
    assert keys == sorted(keys)
    for limit in range(1, 20):
        assert ids(hybrid(cast.a, query="the lift", memory_ids=[memory], limit=limit)) == ids(whole)[:limit]


def test_each_source_takes_one_statement(cast: Cast, parts: str) -> None:
    body: Record = {"query": "SKU-4711", "memory_ids": [parts]}
    hybrid(cast.a, **body)
    with CaptureQueriesContext(connection) as queries:
        hybrid(cast.a, **body)
    tables = ("tenancy_apikey", "embeddings_embeddingspace", "documents_chunkvector", "memories_entryvector")
    assert [next(table for table in tables if table in query["sql"]) for query in queries] == list(tables)


@pytest.mark.parametrize("scan", [10**9, 0], ids=["exact", "index"])
def test_the_index_gives_what_the_exact_scan_gives(
    cast: Cast, parts: str, monkeypatch: pytest.MonkeyPatch, scan: int
) -> None:
    whole = hybrid(cast.a, query="a hinge SKU-4703", memory_ids=[parts], limit=8)
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", scan)
    monkeypatch.setattr("knowledge.nearest.ALWAYS_EXACT_ROWS", scan)
    assert hybrid(cast.a, query="a hinge SKU-4703", memory_ids=[parts], limit=8) == whole


@pytest.fixture
def few_are_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of more than three rows bring none in."""
    monkeypatch.setattr("knowledge.words.COMMON_ROWS", 3)
    monkeypatch.setattr("knowledge.hybrid.LEG_DEPTH", 3)


@pytest.mark.usefixtures("few_are_common")
def test_among_common_words_the_rare_one_decides(cast: Cast, parts: str) -> None:
    body: Record = {"memory_ids": [parts], "document_ids": ["none"], "limit": 1}
    (first,) = hybrid(cast.a, query="part of steel lever", **body)
    assert first["content"] == "Part SKU-4709 is a lever of steel."


@pytest.mark.usefixtures("few_are_common")
def test_words_that_are_common_one_by_one_are_asked_for_together(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    use_embedder(monkeypatch, FakeEmbedder(lambda text: at_cosine(0.2 if "both" in text else 0.5)))
    memory = new_memory(cast.a)["id"]
    for number in range(5):
        write(cast.a, memory, f"green {number}", force=True)
        write(cast.a, memory, f"parrot {number}", force=True)
    write(cast.a, memory, "both green parrot", force=True)
    body: Record = {"query": "green parrot", "memory_ids": [memory], "document_ids": ["none"], "limit": 3}
    found = {result["content"]: result["ranks"] for result in hybrid(cast.a, **body)}
    assert found["both green parrot"] == {"words": 1}


@pytest.mark.usefixtures("few_are_common")
def test_words_that_everything_has_leave_the_order_to_the_meaning(cast: Cast, parts: str) -> None:
    body: Record = {"query": "steel part", "memory_ids": [parts], "document_ids": ["none"], "limit": 3}
    results = hybrid(cast.a, **body)
    assert len(results) == 3
    assert {tuple(sorted(result["ranks"])) for result in results} == {("cosine", "words")}


def test_a_question_that_the_model_cannot_read_is_answered_by_its_words(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = new_memory(cast.a)["id"]
    write(cast.a, memory, "The password is xyzzy.", force=True)
    write(cast.a, memory, "Something else.", force=True)
    unreadable = EmbeddingRejected(Reason.NO_CONTENT, "no character is known")
    use_embedder(monkeypatch, FakeEmbedder(lambda text: unreadable))
    body: Record = {"query": "xyzzy", "memory_ids": [memory]}
    assert search(cast.a, **body) == []
    (only,) = hybrid(cast.a, **body)
    assert only["content"] == "The password is xyzzy."
    assert only["ranks"] == {"words": 1}
    assert "similarity_score" not in only


@pytest.mark.parametrize(
    "query", ["???", "' OR 1=1 --", "foo & !bar | (baz:*) <-> \\", "'; DROP TABLE x; '", "%s %(limit)s", "a" * 5_000]
)
def test_whatever_is_asked_is_answered(cast: Cast, parts: str, query: str) -> None:
    assert len(hybrid(cast.a, query=query, memory_ids=[parts], limit=5)) in {0, 5}


def test_chinese_is_found_by_its_characters(cast: Cast) -> None:
    memory = new_memory(cast.a)["id"]
    for text in ("会议在星期五下午举行。", "预算由财务部门批准。", "仓库位于汉堡。"):
        write(cast.a, memory, text, force=True)
    (first, *_) = hybrid(cast.a, query="财务部门批准什么", memory_ids=[memory], document_ids=["none"])
    assert first["content"] == "预算由财务部门批准。"
    assert first["ranks"]["words"] == 1


def test_every_project_is_asked_in_its_own_language(cast: Cast) -> None:
    """In one project "runs" and "running" are both taken as "run", in the other one as they are."""
    for client, project, config in ((cast.a, cast.project_a, "english"), (cast.b, cast.project_b, "")):
        Project.objects.filter(pk=project.pk).update(text_search_config=config)
        memory = new_memory(client, tags=["sport"])["id"]
        write(client, memory, "The dog keeps running.", force=True)
    results = hybrid(cast.admin, query="Who runs", memory_tags=["sport"], document_ids=["none"])
    assert [result["ranks"].get("words") for result in results] == [1, None]
    assert results[0]["similarity_score"] == pytest.approx(results[1]["similarity_score"])


def test_what_counts_no_more_is_not_found_by_its_words(cast: Cast, parts: str) -> None:
    MemoryEntry.objects.filter(content__contains="4711").update(invalidated_at=timezone.now())
    document = new_document(cast.a, "An unfinished text about zeppelins.", path="/open.txt")
    DocumentChunk.objects.filter(document__public_id=document).update(attempt_id=_open_attempt(document))
    for query in ("SKU-4711", "zeppelins"):
        found = contents(hybrid(cast.a, query=query, memory_ids=[parts], limit=100))
        assert not [text for text in found if "4711" in text or "zeppelin" in text]


def _open_attempt(document: str) -> int:
    settled = IngestionAttempt.objects.get(document__public_id=document)
    chunk = DocumentChunk.objects.get(document__public_id=document)
    assert chunk.attempt_id == settled.pk
    assert ChunkVector.objects.filter(chunk=chunk).exists()
    settled.pk, settled.number = None, 2
    settled.state = "failed"
    settled.save()
    assert settled.pk is not None
    return settled.pk


def test_rows_that_a_caller_may_not_read_change_no_score(cast: Cast) -> None:
    """How rare a word is must be no way to count the texts of others."""
    new_document(cast.a, "Notes about the harbour and the zeppelin.", path="/open/1.txt")
    new_document(cast.a, "Notes about the harbour and the market.", path="/open/2.txt")
    project = cast.project_a.public_id
    grant = allow("knowledge:SearchKnowledge", on=f"srn:{project}:document:/open/*")
    reader = session_of(user_with(grant, allow("documents:GetDocument", on=f"srn:{project}:document:/open/*")))
    before = hybrid(reader, query="zeppelin harbour", project_id=project)
    assert len(before) == 2
    for number in range(5):
        new_document(cast.a, f"A secret of the zeppelin, number {number}.", path=f"/closed/{number}.txt")
        new_document(cast.b, f"Another zeppelin, number {number}.", path=f"/open/{number}.txt")
    assert [row["score"] for row in hybrid(reader, query="zeppelin harbour", project_id=project)] == [
        row["score"] for row in before
    ]
    assert len(hybrid(cast.a, query="zeppelin harbour")) == 7


def test_an_older_fact_comes_after_a_newer_one(cast: Cast, settings: Any) -> None:
    settings.KNOWLEDGE_RECENCY_HALF_LIFE_DAYS, settings.KNOWLEDGE_RECENCY_WEIGHT = 30.0, 0.2
    memory = new_memory(cast.a)["id"]
    for place, days in (("Lisbon", 90), ("Porto", 0), ("Faro", 30)):
        entry = write(cast.a, memory, f"Ana lives in {place}.", force=True)["id"]
        MemoryEntry.objects.filter(public_id=entry).update(updated_at=timezone.now() - timedelta(days=days))
    body: Record = {"query": "Where does Ana live?", "memory_ids": [memory], "document_ids": ["none"]}
    assert contents(hybrid(cast.a, **body)) == [f"Ana lives in {place}." for place in ("Porto", "Faro", "Lisbon")]
    by_cosine = search(cast.a, ranking="cosine", **body)
    assert all(result["score"] == result["similarity_score"] for result in by_cosine)


def test_reciprocal_ranks_can_be_asked_for(cast: Cast, parts: str, settings: Any) -> None:
    settings.KNOWLEDGE_FUSION = "reciprocal_rank"
    results = hybrid(cast.a, query="SKU-4711 clamp", memory_ids=[parts], document_ids=["none"], limit=12)
    assert results[0]["content"] == "Part SKU-4711 is a clamp of steel."
    for result in results:
        expected = sum(1 / (60 + rank) for rank in result["ranks"].values()) * 61 / 2
        assert result["score"] == pytest.approx(expected)


def test_the_default_is_the_deployments(cast: Cast, parts: str, settings: Any) -> None:
    body: Record = {"query": "SKU-4711", "memory_ids": [parts]}
    assert not [result for result in search(cast.a, **body) if "ranks" in result]
    assert search(cast.a, **body) == search(cast.a, **body, ranking="cosine") == search(cast.a, **body, ranking=None)
    settings.KNOWLEDGE_RANKING = "hybrid"
    assert search(cast.a, **body) == hybrid(cast.a, **body)
    assert not [result for result in search(cast.a, **body, ranking="cosine") if "ranks" in result]


def test_an_unknown_ranking_is_refused(cast: Cast) -> None:
    answer = cast.a.post(SEARCH, {"query": "x", "ranking": "bm25"}, format="json")
    assert_error(answer, 400, "VALIDATION_FAILED")
    assert "ranking" in answer.json()["error"]["message"]


def test_without_a_query_there_is_nothing_to_rank(cast: Cast, parts: str) -> None:
    assert hybrid(cast.a, memory_ids=[parts], limit=3) == search(cast.a, memory_ids=[parts], limit=3)
