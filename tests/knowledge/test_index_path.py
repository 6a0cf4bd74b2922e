"""Above the size of an exact scan the HNSW index answers: as many rows, the same ones, in the same order."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from documents.models import ChunkVector
from embeddings.indexes import index_name
from embeddings.models import StoredVector
from embeddings.services import QueryVector
from knowledge import nearest
from knowledge.documents import search_chunks
from knowledge.memories import search_entries
from memories.models import EntryVector
from soat.tenancy.access import ALL_PROJECTS, ProjectScope
from tests.knowledge.crowded import BIG, CHUNKS, LONG_TEXTS, SMALL, TWINS, Crowd, build_crowd
from tests.knowledge.world import clear_world

Find = Callable[[QueryVector, int], list[Any]]
LIMIT = 10


@pytest.fixture(scope="module")
def committed_crowd(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Crowd]:
    with django_db_blocker.unblock():
        crowd = build_crowd()
    yield crowd
    with django_db_blocker.unblock():
        clear_world()


@pytest.fixture
def crowd(committed_crowd: Crowd, db: None, monkeypatch: pytest.MonkeyPatch) -> Crowd:
    """The crowd, above the size of an exact scan.

    The planner would still sort so few rows, which is no slower: without sorting it asks the index, as it does
    by itself on a table of many.
    """
    monkeypatch.setattr(nearest, "EXACT_SCAN_ROWS", 100)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off")
    return committed_crowd


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What is sent, with its parameters, without the counts."""
    sent: list[tuple[str, Any]] = []
    real = nearest._run

    def run(sql: str, parameters: Any) -> Any:
        if "count(*)" not in sql:
            sent.append((sql, parameters))
        return real(sql, parameters)

    monkeypatch.setattr(nearest, "_run", run)
    return sent


def is_indexed(sql: str) -> bool:
    return "AS MATERIALIZED" in sql


def project_a(crowd: Crowd) -> ProjectScope:
    return ProjectScope(everything=False, ids=(crowd.cast.project_a.pk,))


def in_memory(crowd: Crowd, *memories: str) -> Find:
    ids = [getattr(crowd, name).public_id for name in memories]
    return lambda query, limit: search_entries(project_a(crowd), ids, [], query, limit)


def with_tag(crowd: Crowd, tag: str) -> Find:
    return lambda query, limit: search_entries(project_a(crowd), [], [tag], query, limit)


def in_documents(crowd: Crowd, path: str) -> Find:
    return lambda query, limit: search_chunks(project_a(crowd), [], [path], query, limit)


def exactly(find: Find, query: QueryVector, limit: int) -> list[Any]:
    """Return what the exact scan finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "EXACT_SCAN_ROWS", 10**9)
        return find(query, limit)


SEARCHES: dict[str, tuple[Callable[[Crowd], Find], int]] = {
    "one memory of many rows": (lambda crowd: in_memory(crowd, "big"), BIG),
    "one memory of 1 %": (lambda crowd: in_memory(crowd, "small"), SMALL),
    "a tag of 10 %": (lambda crowd: with_tag(crowd, "tenth"), 10**9),
    "a tag of 1 %": (lambda crowd: with_tag(crowd, "hundredth"), 27),
    "a tag of five rows": (lambda crowd: with_tag(crowd, "thousandth"), 6),
    "no row at all": (lambda crowd: with_tag(crowd, "nothing"), 0),
    "all entries of a project": (lambda crowd: with_tag(crowd, "*"), 10**9),
    "long texts": (lambda crowd: in_memory(crowd, "long"), LONG_TEXTS),
    "chunks": (lambda crowd: in_documents(crowd, "/"), CHUNKS),
    "chunks of a folder": (lambda crowd: in_documents(crowd, "/big"), CHUNKS),
    "chunks of no folder": (lambda crowd: in_documents(crowd, "/nothing"), 0),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_index_gives_as_many_rows_as_there_are(crowd: Crowd, name: str) -> None:
    make, there = SEARCHES[name]
    find = make(crowd)
    for limit in (1, LIMIT, 50):
        for query in crowd.queries(3):
            found = find(query, limit)
            assert len(found) == len({row.id for row in found}) == min(limit, there)
            similarities = [row.similarity for row in found]
            assert similarities == sorted(similarities, reverse=True)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_index_finds_what_the_exact_scan_finds(crowd: Crowd, name: str) -> None:
    make, there = SEARCHES[name]
    find = make(crowd)
    hits = wanted = 0
    for query in crowd.queries(50 if there >= LIMIT else 5):
        exact = exactly(find, query, LIMIT)
        found = find(query, LIMIT)
        wanted += len(exact)
        hits += len({row.id for row in exact} & {row.id for row in found})
        scores = {row.id: row.similarity for row in exact}
        assert all(row.similarity == scores[row.id] for row in found if row.id in scores)
    assert hits >= 0.98 * wanted


@pytest.mark.parametrize(
    ("make", "model"),
    [(lambda crowd: with_tag(crowd, "*"), EntryVector), (lambda crowd: in_documents(crowd, "/"), ChunkVector)],
)
def test_the_statement_runs_on_the_index(
    crowd: Crowd, statements: list[tuple[str, Any]], make: Callable[[Crowd], Find], model: type[StoredVector]
) -> None:
    assert len(make(crowd)(next(crowd.queries(1)), LIMIT)) == LIMIT
    ((sql, parameters),) = statements
    assert is_indexed(sql)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}", parameters)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert f"Index Scan using {index_name(model, crowd.space)}" in plan


def test_the_planner_expects_as_many_rows_as_there_are(crowd: Crowd, statements: list[tuple[str, Any]]) -> None:
    """Where it expects next to none it sorts all of a large table, and the index is never asked."""
    for make, there in [(in_documents(crowd, "/"), CHUNKS), (in_memory(crowd, "big"), BIG)]:
        statements.clear()
        make(next(crowd.queries(1)), LIMIT)
        sql, parameters = statements[0]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", {**parameters, "fetch": 10**9})
            ((plan,),) = cursor.fetchall()
        assert _expected_by_found(plan[0]["Plan"]) > there / 3


def _expected_by_found(plan: dict[str, Any]) -> int:
    """Return the rows that the plan expects of the common table ``found``, 0 without any."""
    if plan.get("Subplan Name") == "CTE found":
        return int(plan["Plan Rows"])
    return max((_expected_by_found(part) for part in plan.get("Plans", [])), default=0)


def test_a_small_scope_is_scanned_exactly(
    crowd: Crowd, statements: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = next(crowd.queries(1))
    rows = EntryVector.objects.filter(project=crowd.cast.project_b).count()
    scope = ProjectScope(everything=False, ids=(crowd.cast.project_b.pk,))
    for most, indexed in [(rows, False), (rows - 1, True)]:
        monkeypatch.setattr(nearest, "EXACT_SCAN_ROWS", most)
        statements.clear()
        assert len(search_entries(scope, [], ["*"], query, LIMIT)) == LIMIT
        assert [is_indexed(sql) for sql, _ in statements] == [indexed]


def test_too_few_rows_of_the_index_are_made_good_exactly(crowd: Crowd, statements: list[tuple[str, Any]]) -> None:
    query = next(crowd.queries(1))
    for find, limit in [(with_tag(crowd, "thousandth"), LIMIT), (in_memory(crowd, "long"), LONG_TEXTS)]:
        statements.clear()
        found = find(query, limit)
        assert [is_indexed(sql) for sql, _ in statements] == [True, False]
        assert found == exactly(find, query, limit)


@pytest.mark.parametrize(("limit", "indexed"), [(500, True), (501, False), (1_000, False)])
def test_more_than_the_index_gives_is_scanned_exactly(
    crowd: Crowd, statements: list[tuple[str, Any]], limit: int, indexed: bool
) -> None:
    assert len(with_tag(crowd, "all")(next(crowd.queries(1)), limit)) == limit
    assert is_indexed(statements[0][0]) is indexed


def test_a_long_text_scores_by_its_best_window(crowd: Crowd) -> None:
    vectors: dict[str, list[Any]] = {}
    for row in EntryVector.objects.filter(memory=crowd.long).select_related("entry"):
        vectors.setdefault(row.entry.public_id, []).append(np.asarray(row.embedding, dtype=np.float64))
    for query in crowd.queries(10):
        best = {key: max(float(row @ query.vector) for row in rows) for key, rows in vectors.items()}
        found = in_memory(crowd, "long")(query, 5)
        assert [row.id for row in found] == sorted(best, key=lambda key: -best[key])[:5]
        assert [row.similarity for row in found] == pytest.approx(sorted(best.values(), reverse=True)[:5], abs=1e-6)


@pytest.mark.parametrize("everything", [True, False])
def test_no_row_of_another_project(crowd: Crowd, everything: bool) -> None:
    scope = ALL_PROJECTS if everything else project_a(crowd)
    foreign = [crowd.foreign.public_id]
    for query in crowd.queries(5):
        found = search_entries(scope, foreign, [], query, LIMIT)
        assert {row.memory_id for row in found} == (set(foreign) if everything else set())
        found = search_entries(scope, foreign, ["all"], query, 200)
        assert ({row.memory_id for row in found} & set(foreign) != set()) is everything


def test_equal_rows_have_one_order_for_every_limit(crowd: Crowd) -> None:
    """Sixty twins: whichever the index comes upon first, those with the first ids are given."""
    query = QueryVector(crowd.space, crowd.twin)
    find = in_memory(crowd, "twins", "big")
    whole = exactly(find, query, TWINS + 20)
    assert [row.memory_name for row in whole[:TWINS]] == ["twins"] * TWINS
    ids = [row.id for row in whole]
    assert ids[:TWINS] == sorted(ids[:TWINS])
    for limit in (1, 2, 5, 29, 30, 31, 59, 60, 61, 80):
        found = [row.id for row in find(query, limit)]
        assert len(found) == limit
        assert found == sorted(found, key=ids.index), f"the best {limit} are in another order"
        # The index is approximate: of sixty equal vectors its graph may, rarely, not lead to one.
        assert len(set(ids[:limit]) - set(found)) <= 1, f"the best {limit} are another list"
