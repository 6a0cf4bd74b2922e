"""What a result holds of an answer: whole documents, quotes, spans, entries."""

from collections.abc import Iterator

import pytest

from knowledge.results import Result
from knowledge.search import Search, search_knowledge
from soat.engine.chunk import ChunkRequest, ChunkStrategy
from soat.evaluation.material import Act, EvaluationSet, Evidence, Fact, Passage, Question, SetProblem
from soat.evaluation.scratch import scratch_project
from soat.evaluation.shelf import Shelf, stock
from soat.tenancy.access import ProjectScope

TEXT = "The lighthouse stands on a rock. " * 3 + "Its keeper is called Magnus\nErlend. " + "Gulls circle above it. " * 3
CUT = ChunkRequest(strategy=ChunkStrategy.SIZE, size=100, overlap=40)
MATERIAL = EvaluationSet(
    "small",
    questions=(),
    passages=(Passage("light", "/light.txt", TEXT, chunking=CUT), Passage("other", "/other.txt", "Bread and butter.")),
    facts=(
        Fact("old", "m", "The keeper's boat is green."),
        Fact("same", "m", "The keeper's boat is green"),
        Fact("gone", "m", "The lamp is broken."),
        Fact("", "m", act=Act.DELETE, of="gone"),
        Fact("new", "m", "The keeper's boat is red.", Act.EDIT, "old"),
    ),
)


@pytest.fixture
def shelf(transactional_db: None) -> Iterator[Shelf]:
    with scratch_project("shelf") as project:
        yield stock(MATERIAL, project, lambda *_: None)


def results(shelf: Shelf, query: str) -> list[Result]:
    scope = ProjectScope(everything=False, ids=(shelf.project.pk,))
    return search_knowledge(scope=scope, search=Search(query, memory_ids=(shelf.memories["m"].public_id,)))


def question(*evidence: Evidence, stale: tuple[str, ...] = ()) -> Question:
    return Question("q", "kind", "?", evidence, stale=stale)


def test_a_chunk_covers_the_quote_that_it_holds_whatever_the_white_space(shelf: Shelf) -> None:
    asked = question(Evidence("light", quote="called Magnus Erlend"), Evidence("other"))
    for result in results(shelf, "Who keeps the lighthouse?"):
        covered = shelf.covered(asked, result, by_character=False)
        expected = {0} if "called Magnus\nErlend" in result.content else {1} if "Bread" in result.content else set()
        assert covered == expected
    assert shelf.wanted(asked, by_character=False) == {0, 1}


def test_characters_count_for_themselves(shelf: Shelf) -> None:
    asked = question(Evidence("light", span=(90, 110)))
    assert len(shelf.wanted(asked, by_character=True)) == 20
    first = next(result for result in results(shelf, "lighthouse") if shelf.place(result) == ("light", (0, 100)))
    assert shelf.covered(asked, first, by_character=True) == {("light", place) for place in range(90, 100)}


def test_an_edited_fact_is_known_by_its_new_key_only(shelf: Shelf) -> None:
    found = results(shelf, "What colour is the keeper's boat?")
    red = next(result for result in found if "red" in result.content)
    assert shelf.covered(question(Evidence("new")), red, by_character=False) == {0}
    assert not shelf.is_stale(question(Evidence("new"), stale=("old",)), red)
    assert not any("lamp" in result.content for result in found)


def test_a_fact_that_the_funnel_skips_is_known_by_the_entry_that_holds_it(shelf: Shelf) -> None:
    assert shelf.entries["same"] == shelf.entries["new"]


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (Evidence("light", quote="Gulls circle"), "stands 3 times"),
        (Evidence("light", quote="no such words"), "stands 0 times"),
        (Evidence("nowhere"), "not stored"),
        (Evidence("old"), "not stored"),
    ],
)
def test_an_answer_that_is_not_there_is_a_fault_of_the_set(shelf: Shelf, evidence: Evidence, message: str) -> None:
    with pytest.raises(SetProblem, match=message):
        shelf.check([question(evidence)])
