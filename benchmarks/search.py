"""What a search over 100,000 chunks costs and finds.

    python -m benchmarks.search [rows]

Two real stacks, one with a tenth of the rows of the other, each with a memory as large as its large project and
fifty small projects beside. Vectors are perturbed copies of embedded sentences, queries are sentences that are not
among them. Their vectors are given: a server that knows them, as a remote provider would, is asked once for each by
every process, which then remembers them.
"""

import functools
import itertools
import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.machine import cpu_seconds, machine
from benchmarks.material import DIMENSIONS, Material, embedded_material
from benchmarks.scene import SHARES, Scene
from benchmarks.stack import Stack, running_stack
from benchmarks.staging import built, filled
from benchmarks.statements import SEARCH, Statements, statements_of
from benchmarks.timing import interleaved, print_table
from benchmarks.vector_server import vector_server
from benchmarks.wire import Wire, request_bytes
from embeddings.sql import vector_literal

ROWS = 100_000
ROUNDS = 200
ASKED = 100
CLIENTS = 8
SECONDS = 10.0
TOP = 10
REST, SQL, EMPTY = "REST search", "the same SQL", "the same request, nothing to see"
SMALLER, ME = "REST search, a tenth of the rows", "users/me"


@dataclass(frozen=True, slots=True)
class Staged:
    """A stack with its scene, and three keys: one bound to the large project, an admin's, one that finds nothing."""

    stack: Stack
    scene: Scene
    bound: str
    admin: str
    nobody: str


def main() -> None:
    """Measure and print tables."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    print(machine())
    material = embedded_material()
    print(f"{len(material.texts)} sentences embedded, {len(material.questions)} more to ask with")
    with ExitStack() as running:
        address = running.enter_context(vector_server(material.questions, material.queries))
        large = running.enter_context(_staged(material, rows, address))
        bodies = [{"query": question, "limit": TOP} for question in material.questions]
        _throughput(large, bodies)
        small = running.enter_context(_staged(material, rows // 10, address))
        _asked_at_once(small, _requests(small.bound, bodies))
        sent = statements_of(large.stack.settings, large.bound, bodies[:ROUNDS])
        _latencies(large, small, bodies, sent)
        _filters(large, material)


@contextmanager
def _staged(material: Material, rows: int, address: str) -> Iterator[Staged]:
    settings = {
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": "bench",
        "EMBEDDING_DIMENSIONS": str(DIMENSIONS),
        "EMBEDDING_BASE_URL": address,
        # The vectors of the questions are given: every process has them once it was asked for all.
        "EMBEDDING_QUERY_MEMORY": str(len(material.questions)),
        "LOG_LEVEL": "WARNING",
    }
    with running_stack(settings) as stack, stack.admin() as admin:
        begun = time.perf_counter()
        scene = filled(stack, admin, material, rows)
        loaded = time.perf_counter()
        built(stack)
        print(
            f"{rows:,} chunks and as many entries: loaded in {loaded - begun:.0f} s,"
            f" both indexes built in {time.perf_counter() - loaded:.0f} s"
        )
        nothing = _policy_of_nothing(admin, scene.project)
        yield Staged(
            stack, scene, _key(admin, project_id=scene.project), _key(admin), _key(admin, policy_ids=[nothing])
        )


def _key(owner: Any, **body: Any) -> str:
    return str(owner.post("/api/v1/api-keys", json={"name": "bench", **body}).raise_for_status().json()["key"])


def _policy_of_nothing(admin: Any, project: str) -> str:
    """Return a policy that opens something else than the search: who has it alone is let in and finds nothing."""
    one = {"effect": "Allow", "action": ["files:GetFile"], "resource": [f"srn:{project}:*:*"]}
    return str(admin.post("/api/v1/policies", json={"document": {"statement": [one]}}).raise_for_status().json()["id"])


def _latencies(large: Staged, small: Staged, bodies: Sequence[dict[str, Any]], sent: Statements) -> None:
    searches = [_prepared(next(sql for sql in statements if "scored" in sql)) for statements in sent.sent]
    url = large.stack.settings["DATABASE_URL"]
    with (
        psycopg.connect(url, autocommit=True, options=sent.options) as database,
        closing(Wire(large.stack.url)) as wire,
        closing(Wire(small.stack.url)) as other,
    ):
        acts: dict[str, Callable[[], object]] = {
            REST: _each(wire.send, _requests(large.bound, bodies)),
            SQL: _each(lambda search: database.execute(*search, prepare=True).fetchall(), searches),
            EMPTY: _each(wire.send, _requests(large.nobody, bodies)),
            ME: functools.partial(wire.send, request_bytes("GET", "/api/v1/users/me", large.bound)),
            SMALLER: _each(other.send, _requests(small.bound, bodies)),
        }
        seconds = interleaved(acts, rounds=ROUNDS)
    print()
    print_table(seconds, beside=REST)
    p50 = {name: statistics.median(values) * 1_000 for name, values in seconds.items()}
    alone = p50[SQL] + p50[EMPTY]
    print(f"(a) REST search: {p50[REST] / alone:.2f} of SQL + empty ({alone:.2f} ms)")
    print(f"(b) {p50[REST] / p50[SMALLER]:.2f} of the search over a tenth of the rows")
    print(
        f"(e) statements of a search: {len(sent.sent[-1])}, of them over documents: {_about(sent.sent[-1], 'scored')}"
    )


def _prepared(sql: str) -> tuple[str, list[str]]:
    """Return the statement with a place for its vector, as the product has it prepared, and the vector."""
    (vector,) = re.findall(r"'(\[[^']*\])'::vector", sql)
    before, after = sql.split(f"'{vector}'")
    return f"{before.replace('%', '%%')}%s{after.replace('%', '%%')}", [vector]


def _about(statements: Sequence[str], word: str) -> int:
    return sum(word in sql for sql in statements)


def _requests(token: str, bodies: Sequence[dict[str, Any]]) -> list[bytes]:
    return [request_bytes("POST", SEARCH, token, body) for body in bodies]


def _each(act: Callable[[Any], object], values: Sequence[Any]) -> Callable[[], object]:
    """Return an act that takes the next of the values each time."""
    following = itertools.cycle(values)
    return lambda: act(next(following))


def _throughput(staged: Staged, bodies: Sequence[dict[str, Any]]) -> None:
    requests = _requests(staged.bound, bodies)
    _asked_at_once(staged, requests)
    before = cpu_seconds()
    searches = _asked_at_once(staged, requests)
    after = cpu_seconds()
    print(f"(d) {searches / SECONDS:.0f} searches a second with {CLIENTS} clients", end="")
    if before is not None and after is not None:
        each = (after - before) / searches
        # What others take of the machine meanwhile is not in it: so many it would be if they rested.
        print(f"; {each * 1_000:.2f} ms of CPU for each, of all processes together: {2 / each:.0f} on two idle cores")
    print(end="", flush=True)


def _asked_at_once(staged: Staged, requests: Sequence[bytes]) -> int:
    """Return how many searches the clients had answered, all of them asking without a pause."""
    counts = [0] * CLIENTS
    until = time.perf_counter() + SECONDS

    def ask(number: int) -> None:
        with closing(Wire(staged.stack.url)) as wire:
            for request in itertools.cycle(requests[number::CLIENTS]):
                if time.perf_counter() > until:
                    return
                wire.send(request)
                counts[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


# What is really nearest, told by plain scans: no index orders by the full vectors.
_CHUNKS = """
    SELECT c.public_id FROM documents_chunkvector v
    JOIN documents_documentchunk c ON c.id = v.chunk_id JOIN documents_document d ON d.id = c.document_id
    JOIN tenancy_project p ON p.id = v.project_id
    WHERE {} ORDER BY v.embedding <=> %(query)s::vector, c.public_id COLLATE "C" LIMIT %(limit)s
"""
_ENTRIES = """
    SELECT e.public_id FROM memories_entryvector v
    JOIN memories_memoryentry e ON e.id = v.entry_id JOIN tenancy_project p ON p.id = v.project_id
    WHERE {} ORDER BY v.embedding <=> %(query)s::vector, e.public_id COLLATE "C" LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class _Filtered:
    """A filter as the API takes it, and as a plain scan does."""

    name: str
    body: dict[str, Any]
    sql: str
    values: Mapping[str, Any]


def _all_filters(scene: Scene) -> Iterator[_Filtered]:
    project = {"project": scene.project}
    here, nothing = {"project_id": scene.project}, {"document_ids": ["none"]}
    chunks, entries = "p.public_id = %(project)s", "p.public_id = %(project)s AND %(tag)s = ANY(e.tags)"
    yield _Filtered("documents of a project", here, _CHUNKS.format(chunks), project)
    yield _Filtered(
        "one memory",
        {**here, **nothing, "memory_ids": [scene.memory]},
        _ENTRIES.format("p.public_id = %(project)s"),
        project,
    )
    for share in SHARES:
        path, ids = scene.paths[share], scene.documents[share]
        yield _Filtered(
            f"path, {share}",
            {**here, "document_paths": [path]},
            _CHUNKS.format(f"{chunks} AND starts_with(d.path, %(path)s)"),
            {**project, "path": path},
        )
        yield _Filtered(
            f"ids, {share}",
            {**here, "document_ids": ids},
            _CHUNKS.format(f"{chunks} AND d.public_id = ANY(%(ids)s)"),
            {**project, "ids": ids},
        )
        yield _Filtered(
            f"tag, {share}",
            {**here, **nothing, "memory_tags": [scene.tags[share]]},
            _ENTRIES.format(entries),
            {**project, "tag": scene.tags[share]},
        )
        other = {"project": scene.projects[share]}
        yield _Filtered(f"project, {share}", {"project_id": other["project"]}, _CHUNKS.format(chunks), other)


def _filters(staged: Staged, material: Material) -> None:
    print(f"\n{'(c)':30} {'way':>6} {'counted':>8} {'recall@10':>10} {'short':>6} {'p50 ms':>8}")
    with (
        psycopg.connect(staged.stack.settings["DATABASE_URL"], autocommit=True) as database,
        closing(Wire(staged.stack.url)) as wire,
    ):
        for wanted in _all_filters(staged.scene):
            _filter(staged, material, wanted, database, wire)


def _filter(
    staged: Staged, material: Material, wanted: _Filtered, database: psycopg.Connection[Any], wire: Wire
) -> None:
    hits = there = short = 0
    seconds = []
    for question, vector in zip(material.questions[:ASKED], material.queries[:ASKED], strict=True):
        body = {"query": question, "limit": TOP, **wanted.body}
        values = {**wanted.values, "query": vector_literal(vector), "limit": TOP}
        nearest = {row[0] for row in database.execute(wanted.sql, values).fetchall()}
        request = request_bytes("POST", SEARCH, staged.admin, body)
        begun = time.perf_counter()
        results = json.loads(wire.send(request))["results"]
        seconds.append(time.perf_counter() - begun)
        there += len(nearest)
        hits += len(nearest & {result.get("chunk_id") or result["entry_id"] for result in results})
        short += len(results) < len(nearest)
    answer = json.loads(wire.send(request_bytes("POST", SEARCH, staged.admin, {**body, "explain": True})))
    how = answer["explain"]["sources"][-1]
    p50 = statistics.median(seconds) * 1_000
    print(f"{wanted.name:30} {how['way']:>6} {how['counted']:8} {hits / there:10.4f} {short:6} {p50:8.2f}")


if __name__ == "__main__":
    main()
