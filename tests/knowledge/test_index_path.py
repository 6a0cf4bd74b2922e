"""Above the size of an exact scan the HNSW index answers: as many rows, the same ones, in the same order."""

import json
from collections.abc import Callable, Iterator
from math import isqrt
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.db.models import Q
from pytest_django import DjangoDbBlocker

from documents.models import ChunkVector
from embeddings.indexes import index_name
from embeddings.models import StoredVector
from embeddings.services import QueryVector
from knowledge import nearest
from knowledge.documents import search_chunks
from knowledge.explanation import Found
from knowledge.memories import search_entries
from knowledge.nearest import Way
from memories.models import EntryVector
from soat.tenancy.access import ALL_PROJECTS, ProjectScope
from tests.knowledge.crowded import BIG, CHUNKS, LONG_TEXTS, SMALL, TWINS, VOLUMES, Crowd, build_crowd
from tests.knowledge.world import clear_world

Find = Callable[[QueryVector, int], Found[Any]]
LIMIT = 10
BOUND = 100
PER_VOLUME = CHUNKS // VOLUMES + 1


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
    monkeypatch.setattr(nearest, "EXACT_SCAN_ROWS", BOUND)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off")
    return committed_crowd


def plan_of(find: Find, query: QueryVector, limit: int) -> dict[str, Any]:
    """Return how the database runs the one statement of a search, with what it really did."""
    sent: list[tuple[str, Any]] = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        find(query, limit)
    ((sql, params),) = sent
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        ((answer,),) = cursor.fetchall()
    plan: dict[str, Any] = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    return plan


def parts_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from parts_of(part)


def index_scans(plan: dict[str, Any], model: type[StoredVector], crowd: Crowd) -> list[int]:
    """Return how often each scan of the vector index ran."""
    name = index_name(model, crowd.space)
    return [part["Actual Loops"] for part in parts_of(plan) if part.get("Index Name") == name]


def scanned_vectors(plan: dict[str, Any], model: type[StoredVector], crowd: Crowd) -> int:
    """Return how many vectors were read in other ways, by all that read the table."""
    table, name = model._meta.db_table, index_name(model, crowd.space)
    return sum(
        int(part["Actual Rows"] * part["Actual Loops"])
        for part in parts_of(plan)
        if part.get("Relation Name") == table and part.get("Index Name") != name and "Only" not in part["Node Type"]
    )


def project_a(crowd: Crowd, rows: Q | None = None) -> ProjectScope:
    return ProjectScope(everything=False, ids=(crowd.cast.project_a.pk,), rows=rows)


def in_memory(crowd: Crowd, *memories: str) -> Find:
    ids = [getattr(crowd, name).public_id for name in memories]
    return lambda query, limit: search_entries(project_a(crowd), ids, [], query, limit)


def with_tag(crowd: Crowd, tag: str) -> Find:
    return lambda query, limit: search_entries(project_a(crowd), [], [tag], query, limit)


def in_documents(crowd: Crowd, *paths: str) -> Find:
    return lambda query, limit: search_chunks(project_a(crowd), [], paths, query, limit)


def allowed(crowd: Crowd, prefix: str) -> Find:
    rows = Q(path__startswith=prefix)
    return lambda query, limit: search_chunks(project_a(crowd, rows), [], [], query, limit)


def exactly(find: Find, query: QueryVector, limit: int) -> list[Any]:
    """Return what the exact scan finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "EXACT_SCAN_ROWS", 10**9)
        patch.setattr(nearest, "ALWAYS_EXACT_ROWS", 10**9)
        found = find(query, limit)
    assert found.look.way is Way.EXACT
    return found.results


# The vectors that pass, None for more than the bound.
SEARCHES: dict[str, tuple[Callable[[Crowd], Find], int | None]] = {
    "one memory of many rows": (lambda crowd: in_memory(crowd, "big"), None),
    "one memory of 1 %": (lambda crowd: in_memory(crowd, "small"), SMALL),
    "a tag of 10 %": (lambda crowd: with_tag(crowd, "tenth"), None),
    "a tag of 1 %": (lambda crowd: with_tag(crowd, "hundredth"), 27),
    "a tag of five rows": (lambda crowd: with_tag(crowd, "thousandth"), 6),
    "no row at all": (lambda crowd: with_tag(crowd, "nothing"), 0),
    "all entries of a project": (lambda crowd: with_tag(crowd, "*"), None),
    "long texts": (lambda crowd: in_memory(crowd, "long"), None),
    "chunks": (in_documents, None),
    "chunks of a folder": (lambda crowd: in_documents(crowd, "/big"), None),
    "chunks of a tenth": (lambda crowd: in_documents(crowd, "/big/3"), PER_VOLUME),
    "chunks of no folder": (lambda crowd: in_documents(crowd, "/nothing"), 0),
    "chunks of many folders": (lambda crowd: in_documents(crowd, *[f"/{n}" for n in range(30)], "/big/4"), PER_VOLUME),
    "chunks that policies allow": (lambda crowd: allowed(crowd, "/big/"), None),
    "chunks of one document that policies allow": (lambda crowd: allowed(crowd, "/big/7"), PER_VOLUME),
}
ROWS = {"one memory of many rows": BIG, "long texts": LONG_TEXTS}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_way_is_chosen_by_what_passes(crowd: Crowd, name: str) -> None:
    make, passing = SEARCHES[name]
    find = make(crowd)
    look = find(next(crowd.queries(1)), LIMIT).look
    assert look.bound == BOUND
    assert look.way is (Way.INDEX if passing is None else Way.EXACT)
    if passing is not None:
        assert look.counted == passing
    else:
        assert look.counted is not None
        assert look.counted > BOUND


@pytest.mark.parametrize("name", SEARCHES)
def test_there_are_as_many_rows_as_are_wanted(crowd: Crowd, name: str) -> None:
    make, passing = SEARCHES[name]
    find = make(crowd)
    there = ROWS.get(name, 10**9 if passing is None else passing)
    for limit in (1, LIMIT, 50):
        for query in crowd.queries(3):
            found = find(query, limit).results
            assert len(found) == len({row.id for row in found}) == min(limit, there)
            similarities = [row.similarity for row in found]
            assert similarities == sorted(similarities, reverse=True)


@pytest.mark.parametrize("name", [name for name, (_, passing) in SEARCHES.items() if passing is None])
def test_the_index_finds_what_the_exact_scan_finds(crowd: Crowd, name: str) -> None:
    find = SEARCHES[name][0](crowd)
    hits = wanted = 0
    for query in crowd.queries(50):
        exact = exactly(find, query, LIMIT)
        answer = find(query, LIMIT)
        wanted += len(exact)
        hits += len({row.id for row in exact} & {row.id for row in answer.results})
        scores = {row.id: row.similarity for row in exact}
        assert all(row.similarity == scores[row.id] for row in answer.results if row.id in scores)
    assert hits >= 0.98 * wanted


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("all entries of a project", EntryVector),
        ("one memory of many rows", EntryVector),
        ("a tag of 10 %", EntryVector),
        ("chunks", ChunkVector),
        ("chunks of a folder", ChunkVector),
        ("chunks that policies allow", ChunkVector),
    ],
)
def test_a_large_scope_is_read_from_the_index_alone(crowd: Crowd, name: str, model: type[StoredVector]) -> None:
    plan = plan_of(SEARCHES[name][0](crowd), next(crowd.queries(1)), LIMIT)
    assert index_scans(plan, model, crowd) == [1]
    fetched = LIMIT * nearest.WINDOWS_PER_ROW + nearest.SPARE_WINDOWS
    assert scanned_vectors(plan, model, crowd) <= fetched * 6, "more than the windows of what the index gave"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("one memory of 1 %", EntryVector),
        ("a tag of 1 %", EntryVector),
        ("no row at all", EntryVector),
        ("chunks of a tenth", ChunkVector),
        ("chunks of one document that policies allow", ChunkVector),
    ],
)
def test_a_small_scope_never_touches_the_index(crowd: Crowd, name: str, model: type[StoredVector]) -> None:
    plan = plan_of(SEARCHES[name][0](crowd), next(crowd.queries(1)), LIMIT)
    assert index_scans(plan, model, crowd) == [0]


def test_the_bound_itself_is_still_small(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    query = next(crowd.queries(1))
    rows = EntryVector.objects.filter(project=crowd.cast.project_b).count()
    for most, way in [(rows, Way.EXACT), (rows - 1, Way.INDEX)]:
        monkeypatch.setattr(nearest, "EXACT_SCAN_ROWS", most)
        found = search_entries(ProjectScope(everything=False, ids=(crowd.cast.project_b.pk,)), [], ["*"], query, LIMIT)
        assert (len(found.results), found.look.way) == (LIMIT, way)


def test_the_bound_grows_with_the_table_and_what_is_wanted(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT_SCAN_ROWS", 10**9)
    query, find = next(crowd.queries(1)), in_memory(crowd, "big")
    assert find(query, LIMIT).look.bound == nearest.ALWAYS_EXACT_ROWS
    monkeypatch.setattr(nearest, "ALWAYS_EXACT_ROWS", 0)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_class SET reltuples = 40000 WHERE oid = 'memories_entryvector'::regclass")
    for limit in (LIMIT, 500):
        fetched = limit * nearest.WINDOWS_PER_ROW + nearest.SPARE_WINDOWS
        assert find(query, limit).look.bound == pytest.approx(isqrt(40_000 * fetched * nearest.COST_OF_INDEX), abs=1)


def test_too_few_rows_of_the_index_are_made_good_in_the_same_statement(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = next(crowd.queries(1))
    monkeypatch.setattr(nearest, "EXACT_SCAN_ROWS", 0)
    for find, limit in [(with_tag(crowd, "thousandth"), LIMIT), (in_memory(crowd, "long"), LONG_TEXTS)]:
        plan_of(find, query, limit)  # asserts that it is one statement
        found = find(query, limit)
        assert (found.look.way, found.look.fell_short) == (Way.EXACT, True)
        assert found.results == exactly(find, query, limit)


@pytest.mark.parametrize("limit", [500, 501, 1_000])
def test_the_index_gives_as_many_as_may_be_asked_for(crowd: Crowd, limit: int) -> None:
    """Also more than its list of candidates can hold: it goes on from where it stopped."""
    query, find = next(crowd.queries(1)), with_tag(crowd, "all")
    found = find(query, limit)
    assert found.look.way is Way.INDEX
    exact = exactly(find, query, limit)
    assert len(found.results) == limit
    assert len({row.id for row in found.results} & {row.id for row in exact}) >= 0.98 * limit


def test_a_long_text_scores_by_its_best_window(crowd: Crowd) -> None:
    vectors: dict[str, list[Any]] = {}
    for row in EntryVector.objects.filter(memory=crowd.long).select_related("entry"):
        vectors.setdefault(row.entry.public_id, []).append(np.asarray(row.embedding, dtype=np.float64))
    for query in crowd.queries(10):
        best = {key: max(float(row @ query.vector) for row in rows) for key, rows in vectors.items()}
        found = in_memory(crowd, "long")(query, 5).results
        assert [row.id for row in found] == sorted(best, key=lambda key: -best[key])[:5]
        assert [row.similarity for row in found] == pytest.approx(sorted(best.values(), reverse=True)[:5], abs=1e-6)


@pytest.mark.parametrize("everything", [True, False])
def test_no_row_of_another_project(crowd: Crowd, everything: bool) -> None:
    scope = ALL_PROJECTS if everything else project_a(crowd)
    foreign = [crowd.foreign.public_id]
    for query in crowd.queries(5):
        found = search_entries(scope, foreign, [], query, LIMIT).results
        assert {row.memory_id for row in found} == (set(foreign) if everything else set())
        found = search_entries(scope, foreign, ["all"], query, 200).results
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
        found = [row.id for row in find(query, limit).results]
        assert len(found) == limit
        assert found == sorted(found, key=ids.index), f"the best {limit} are in another order"
        # The index is approximate: of sixty equal vectors its graph may, rarely, not lead to one.
        assert len(set(ids[:limit]) - set(found)) <= 1, f"the best {limit} are another list"
