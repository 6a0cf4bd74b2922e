"""One HNSW index a table and space: seen when it is missing or half built, and made good by ``prepare_space``."""

import re
from collections.abc import Callable
from functools import partial
from io import StringIO

import numpy as np
import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import connection
from django.db.transaction import TransactionManagementError

from documents.models import ChunkVector
from embeddings.indexes import build_index, index_name, missing_indexes, vector_tables
from embeddings.models import EmbeddingSpace
from embeddings.progress import Progress, build_progress, progress_line
from embeddings.spaces import space_status
from memories.models import EntryVector, MemoryEntry
from soat.core.db import short_transaction
from tests.conftest import make_cast
from tests.memories.crowd import assert_whole, at_once
from tests.memories.rest import new_memory, write


@pytest.fixture
def space(no_space: None) -> EmbeddingSpace:
    current = space_status().space
    assert current is not None
    return current


def prepare() -> str:
    out = StringIO()
    call_command("prepare_space", stdout=out)
    return out.getvalue()


def indexes() -> dict[str, tuple[bool, str]]:
    """Return the vector indexes by name: whether they are valid, and how they were made."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, i.indisvalid, pg_get_indexdef(c.oid)"
            " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE pg_get_indexdef(c.oid) LIKE '%%hnsw%%'"
        )
        return {name: (valid, definition) for name, valid, definition in cursor.fetchall()}


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_every_table_of_vectors_is_known() -> None:
    assert vector_tables() == [ChunkVector, EntryVector]


def test_prepare_builds_what_is_missing_and_can_be_repeated(space: EmbeddingSpace) -> None:
    assert missing_indexes(space) == [ChunkVector, EntryVector]
    assert "memories_entryvector" in prepare()
    assert missing_indexes(space) == []
    built = indexes()
    assert set(built) == {index_name(model, space) for model in (ChunkVector, EntryVector)}
    for valid, definition in built.values():
        assert valid
        assert "halfvec(384)) halfvec_cosine_ops" in definition
        assert f"WHERE (space_id = {space.pk})" in definition
    assert "Building" not in prepare()
    assert indexes() == built


@pytest.mark.parametrize(
    "harm",
    [
        lambda name: f"DROP INDEX {name}",
        lambda name: f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass",
    ],
)
def test_an_index_that_is_gone_or_half_built_is_rebuilt(space: EmbeddingSpace, harm: Callable[[str], str]) -> None:
    """An interrupted build leaves an index under the name of the real one that is not valid and never used."""
    prepare()
    run(harm(index_name(EntryVector, space)))
    assert missing_indexes(space) == [EntryVector]
    said = prepare()
    assert "memories_entryvector" in said
    assert "documents_chunkvector" not in said
    assert missing_indexes(space) == []
    assert all(valid for valid, _ in indexes().values())


def test_an_interrupted_build_is_seen_and_made_good(space: EmbeddingSpace) -> None:
    """Interrupted for real: a vector of the wrong length stops the build half way."""
    cast = make_cast()
    memory = new_memory(cast.a)["id"]
    write(cast.a, memory, "Alice likes tea.")
    run("UPDATE memories_entryvector SET embedding = '[1,2,3]'")
    with pytest.raises(Exception, match="expected 384 dimensions"):
        build_index(EntryVector, space)
    assert indexes()[index_name(EntryVector, space)][0] is False
    assert EntryVector in missing_indexes(space)
    EntryVector.objects.all().delete()
    prepare()
    assert missing_indexes(space) == []


def test_an_index_of_another_space_does_not_count(space: EmbeddingSpace) -> None:
    prepare()
    other = EmbeddingSpace.objects.create(provider="ollama", model="m", dimensions=3)
    assert missing_indexes(other) == [ChunkVector, EntryVector]
    build_index(EntryVector, other)
    assert missing_indexes(other) == [ChunkVector]
    assert missing_indexes(space) == []


@pytest.mark.usefixtures("many_vectors")
def test_several_at_once_prepare_one_set_of_indexes(space: EmbeddingSpace) -> None:
    """Several servers start at the same time: none fails, none undoes the other's work."""
    said = at_once([prepare] * 4)
    assert sum("Building the vector index" in text for text in said) > 1, "they did not meet"
    assert missing_indexes(space) == []
    assert set(indexes()) == {index_name(model, space) for model in (ChunkVector, EntryVector)}


@pytest.fixture
def many_vectors(space: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough of them that the build is seen at work."""
    monkeypatch.setattr("embeddings.progress.POLL_SECONDS", 0.005)
    cast = make_cast()
    write(cast.a, new_memory(cast.a)["id"], "Alice likes tea.")
    entry = MemoryEntry.objects.get()
    rows = np.random.default_rng(5).normal(size=(1_000, space.dimensions)).astype(np.float32)
    owner = {"entry": entry, "memory": entry.memory, "project_id": entry.project_id, "space": space}
    EntryVector.objects.bulk_create(
        EntryVector(window=window, embedding=row, **owner) for window, row in enumerate(rows, start=1)
    )


class Tty(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("many_vectors")
def test_a_build_shows_how_far_it_is() -> None:
    lines = [line for line in prepare().splitlines() if line.startswith("  [")]
    assert lines
    assert len(lines) == len(set(lines))
    assert all(re.fullmatch(r"  \[#*\.*\] +\d+% [a-z].*", line) for line in lines)
    assert any("building index" in line for line in lines)


@pytest.mark.usefixtures("many_vectors")
def test_on_a_terminal_one_bar_is_drawn_again_and_again() -> None:
    out = Tty()
    call_command("prepare_space", stdout=out)
    drawn = out.getvalue().split("\r  [")
    assert len(drawn) > 1
    assert all("\n" not in bar for bar in drawn[1:-1] if "Building" not in bar)
    assert out.getvalue().endswith("\n")


@pytest.mark.usefixtures("many_vectors")
def test_nothing_is_shown_when_nothing_is_to_be_said() -> None:
    out = StringIO()
    call_command("prepare_space", stdout=out, verbosity=0)
    assert "  [" not in out.getvalue()


def test_progress_is_read_by_table(space: EmbeddingSpace) -> None:
    assert build_progress("memories_entryvector") is None
    assert progress_line(Progress("loading", 0.5)) == f"[{'#' * 15}{'.' * 15}]  50% loading"


def test_writers_go_on_while_an_index_is_built(space: EmbeddingSpace) -> None:
    cast = make_cast()
    memory = new_memory(cast.a)["id"]
    facts = [f"Room {number} has {number} seats" for number in range(8)]
    acts: list[Callable[[], object]] = [prepare]
    acts.extend(partial(write, cast.a, memory, fact) for fact in facts)
    at_once(acts)
    assert missing_indexes(space) == []
    assert EntryVector.objects.count() == 8
    assert_whole()


def test_without_a_usable_space_nothing_is_built(no_space: None, settings: LazySettings) -> None:
    settings.EMBEDDING_PROVIDER = ""
    assert "EMBEDDING_PROVIDER" in prepare()
    assert not EmbeddingSpace.objects.exists()
    assert indexes() == {}


def test_a_build_refuses_an_open_transaction(space: EmbeddingSpace) -> None:
    with short_transaction(), pytest.raises(TransactionManagementError):
        build_index(EntryVector, space)
    assert indexes() == {}
    prepare()
    assert missing_indexes(space) == []
