"""Scores and the floor under them, over one world."""

import pytest

from tests.knowledge.exact import exact_cosines
from tests.knowledge.world import TEXTS, World, contents, search
from tests.memories.rest import Record

EVERYTHING: Record = {"memory_tags": ["*"], "limit": 100}
QUERIES = ["When do I get my money back?", "Who leads the data team?", "dark mode", "\u00fcber caf\u00e9", "x " * 600]


@pytest.mark.parametrize("query", QUERIES)
def test_the_similarity_is_the_exact_cosine(world: World, query: str) -> None:
    results = search(world.cast.a, query=query, **EVERYTHING)
    assert len(results) == 16
    expected = exact_cosines(query, contents(results))
    for result, cosine in zip(results, expected, strict=True):
        assert result["similarity_score"] == pytest.approx(min(max(cosine, 0.0), 1.0), abs=1e-6)
        assert result["score"] == result["similarity_score"]
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    assert {type(score) for score in scores} == {float}


def test_the_text_itself_is_found_first(world: World) -> None:
    for path, content in TEXTS.items():
        (best,) = search(world.cast.a, query=content, limit=1)
        assert (best.get("path", ""), best["content"]) == (path, content)
        assert best["score"] == pytest.approx(1.0, abs=1e-6)
        assert 0 <= best["score"] <= 1


@pytest.mark.parametrize("floor", [None, 0, 0.2, 0.5, 0.999, 1])
def test_the_floor_filters_after_the_top_of_each_source(world: World, floor: float | None) -> None:
    """It shrinks the result and never searches deeper."""
    body: Record = {"query": "Refunds are processed within ten business days.", "memory_tags": ["*"], "limit": 6}
    top = search(world.cast.a, **body)
    found = search(world.cast.a, **body, min_score=floor)
    assert found == [result for result in top if result["score"] >= (floor or 0)]
    assert len(found) < 6 or not floor or floor < 0.5
