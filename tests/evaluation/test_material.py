"""Sets: halves and fingerprints that are the same in every process, and our own files, which fit together."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from soat.engine.chunk import ChunkRequest, ChunkStrategy
from soat.evaluation.material import (
    EvaluationSet,
    Evidence,
    Half,
    Passage,
    Question,
    SetProblem,
    distinct,
    with_chunking,
)
from soat.evaluation.sets import OTHERS, load_set
from soat.evaluation.sets.golden import golden_set
from soat.evaluation.sets.locomo import _named_turns
from soat.evaluation.sets.scenarios import scenario_set

QUESTIONS = tuple(Question(str(number), "kind", f"question {number}", (Evidence("p"),)) for number in range(200))
SMALL = EvaluationSet("small", QUESTIONS, passages=(Passage("p", "/p.txt", "text"),))


def keys(material: EvaluationSet) -> set[str]:
    return {question.key for question in material.questions}


def test_the_halves_are_disjoint_and_make_the_whole() -> None:
    tune, report = SMALL.half(Half.TUNE), SMALL.half(Half.REPORT)
    assert keys(tune) | keys(report) == keys(SMALL)
    assert keys(tune) & keys(report) == set()
    assert 70 < len(tune.questions) < 130
    assert tune.passages == SMALL.passages


def test_the_halves_do_not_depend_on_the_other_questions_or_on_the_process() -> None:
    few = replace(SMALL, questions=QUESTIONS[:10])
    assert keys(few.half(Half.TUNE)) == keys(SMALL.half(Half.TUNE)) & keys(few)
    assert sorted(keys(few.half(Half.TUNE))) == ["0", "2", "3", "4", "6", "8", "9"]


@pytest.mark.parametrize(
    "other",
    [
        replace(SMALL, name="other"),
        replace(SMALL, questions=QUESTIONS[1:]),
        replace(SMALL, passages=(Passage("p", "/p.txt", "another text"),)),
        replace(SMALL, by_character=True),
        SMALL.half(Half.TUNE),
    ],
)
def test_a_fingerprint_tells_sets_apart(other: EvaluationSet) -> None:
    assert other.fingerprint() != SMALL.fingerprint()
    assert replace(SMALL).fingerprint() == SMALL.fingerprint()


def test_texts_that_are_cut_in_another_way_are_the_same_set() -> None:
    cut = ChunkRequest(strategy=ChunkStrategy.SIZE, size=300)
    other = with_chunking(SMALL, cut)
    assert [passage.chunking for passage in other.passages] == [cut]
    assert other.fingerprint() == SMALL.fingerprint()
    assert with_chunking(golden_set(), cut).files[0].chunking == cut


def test_the_bytes_of_a_file_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    golden = golden_set()
    copy = tmp_path / "copy.md"
    copy.write_text("# One")
    first = replace(golden, files=(replace(golden.files[0], file=copy),))
    before = first.fingerprint()
    copy.write_text("# Two")
    assert first.fingerprint() != before


def test_no_key_may_stand_twice() -> None:
    with pytest.raises(SetProblem, match="The fact a stands twice"):
        distinct(["a", "b", "a"], "The fact")


def test_the_golden_set_has_questions_of_each_kind() -> None:
    golden = golden_set()
    answerable = [question for question in golden.questions if question.evidence]
    assert len(answerable) >= 80
    assert len(golden.facts) >= 60
    assert {question.kind for question in answerable} == {"exact", "paraphrase", "structural", "update"}
    facts = {fact.key for fact in golden.facts}
    assert all(question.stale for question in answerable if question.kind == "update")
    assert {key for question in answerable for key in question.stale} <= facts


def test_the_scenarios_ask_about_each_sort_of_change() -> None:
    kinds = {question.kind for question in scenario_set().questions}
    assert kinds == {"multi-session", "update-above", "update-instead", "contradiction", "temporal", "abstention"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["D1:3"], ["D1:3"]),
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D:11:26"], ["D11:26"]),
        (["D30:05", "D30:5"], ["D30:5"]),
        (["D9:1 D4:4"], ["D9:1", "D4:4"]),
        (["D"], []),
    ],
)
def test_the_turns_that_locomo_names(written: list[str], expected: list[str]) -> None:
    assert _named_turns(written) == expected


@pytest.mark.parametrize("name", OTHERS)
def test_a_set_of_others_needs_its_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(SetProblem, match="set SOAT_EVAL_DATA"):
        load_set(name, None)
    with pytest.raises(SetProblem, match="cannot be read"):
        load_set(name, tmp_path)


@pytest.mark.skipif(settings.EVALUATION_DATA is None, reason="SOAT_EVAL_DATA names no folder with the sets of others")
@pytest.mark.parametrize(
    ("name", "stored", "asked"),
    [
        ("locomo-turns", 5882, 1982),
        ("locomo-sessions", 272, 1982),
        ("xquad-en", 240, 1190),
        ("xquad-es", 240, 1190),
        ("xquad-zh", 240, 1190),
        ("hotpotqa", 994, 100),
        ("musique", 1890, 100),
        ("chunking", 5, 472),
    ],
)
def test_the_sets_of_others_are_read_whole(name: str, stored: int, asked: int) -> None:
    material = load_set(name, settings.EVALUATION_DATA)
    assert (len(material.passages) + len(material.facts), len(material.questions)) == (stored, asked)
    known = {passage.key for passage in material.passages} | {fact.key for fact in material.facts}
    assert all(evidence.source in known for question in material.questions for evidence in question.evidence)
