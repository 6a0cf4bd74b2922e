"""Two runs beside each other: what may be compared, and how it is shown and kept."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from soat.evaluation.baseline import Baseline, baseline_of, load_baseline, losses, save_baseline
from soat.evaluation.material import SetProblem
from soat.evaluation.plot import plot
from soat.evaluation.report import comparison, tables
from soat.evaluation.runs import Asked, Run, SetRun, load_run
from soat.evaluation.summary import abstention, by_kind, compare, latency


def asked(key: str, found: float, *, kind: str = "exact", best: float = 0.5, milliseconds: float = 2.0) -> Asked:
    names = [f"{name}@{k}" for k in (1, 5, 10, 20) for name in ("recall", "recall_all")]
    scores = {**dict.fromkeys(names, found), "mrr@10": found, "ndcg@10": found}
    return Asked(key, kind, True, best, milliseconds, scores)


def run(values: list[float], *, ranking: str = "cosine", nothing: float = 0.1) -> Run:
    questions = [asked(str(number), value, best=0.2 + value) for number, value in enumerate(values)]
    empty = Asked("none", "abstention", False, nothing, 4.0, {})
    one = SetRun("golden", "f1", "all", "the set's", 3, 0.5, (*questions, empty))
    return Run("local/m (3 dimensions)", ranking, "a machine", "2026-01-02", (one,))


def changed(before: Run, **fields: str) -> Run:
    return replace(before, sets=(replace(before.sets[0], **fields),))  # type: ignore[arg-type]


FIRST = run([1.0, 0.0, 1.0, 0.0])
SECOND = run([1.0, 1.0, 1.0, 0.0], ranking="other")


def test_runs_are_compared_question_by_question() -> None:
    rows = {row.metric: row for row in compare(FIRST, SECOND)}
    assert rows["recall@10"].difference.mean == 0.25
    assert (rows["recall@10"].first, rows["recall@10"].second) == (0.5, 0.75)
    assert rows["mrr@10"].difference.count == 4


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (replace(SECOND, space="local/other (3 dimensions)"), "different spaces"),
        (changed(SECOND, fingerprint="f2"), "not the same set"),
        (changed(SECOND, half="tune"), "not the same set"),
        (changed(SECOND, name="other"), "different sets"),
        (replace(SECOND, sets=()), "different sets"),
    ],
)
def test_what_differs_in_space_or_set_is_not_compared(other: Run, message: str) -> None:
    with pytest.raises(SetProblem, match=message):
        compare(FIRST, other)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "run.json"
    FIRST.save(file)
    assert load_run(file) == FIRST


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 99, "sets": []}'])
def test_a_file_that_is_no_run_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(text)
    with pytest.raises(SetProblem, match=r"no run|another version"):
        load_run(file)


def test_kinds_are_shown_where_there_are_several() -> None:
    one = FIRST.sets[0]
    assert list(by_kind(one)) == ["all"]
    mixed = replace(one, asked=(*one.asked, asked("9", 1.0, kind="update")))
    assert list(by_kind(mixed)) == ["all", "exact", "update"]
    assert len(by_kind(mixed)["all"]) == 5


def test_abstention_is_how_well_the_score_tells_the_two_sorts_apart() -> None:
    area = abstention(FIRST.sets[0])
    assert area is not None
    assert (area.mean, area.count) == (1.0, 1)
    worse = abstention(run([1.0, 0.0], nothing=0.5).sets[0])
    assert worse is not None
    assert worse.mean == 0.5
    only_answers = replace(FIRST.sets[0], asked=FIRST.sets[0].asked[:-1])
    assert abstention(only_answers) is None


def test_times_are_of_all_questions() -> None:
    times = latency(FIRST.sets[0])
    assert (times.p50, times.p95) == (2.0, 4.0)


def test_the_tables_say_what_was_measured() -> None:
    text = tables(FIRST)
    assert "Space local/m (3 dimensions), ranking cosine; 2026-01-02; a machine." in text
    row = next(line for line in text.splitlines() if line.startswith("| golden | all "))
    assert [cell.split()[0] for cell in row.strip("|").split("|")[2:]] == ["4", *[".500"] * 7]
    assert "abstention AUROC" in text
    widths = {len(line) for line in text.split("\n\n")[1].splitlines()}
    assert len(widths) == 1


def test_a_comparison_marks_what_is_no_chance() -> None:
    first, second = run([0.0] * 20), run([1.0] * 20)
    assert "cosine, chunks the set's (2026-01-02) against cosine" in comparison(first, second, compare(first, second))
    assert "+1.000 [+1.000, +1.000]" in comparison(first, second, compare(first, second))
    assert " * |" in comparison(first, second, compare(first, second))
    assert " * |" not in comparison(FIRST, SECOND, compare(FIRST, SECOND))


@pytest.mark.parametrize("runs", [[FIRST], [FIRST, SECOND]])
def test_the_chart_has_a_bar_for_each_run(runs: list[Run]) -> None:
    root = ET.fromstring(plot(runs))
    bars = [bar for bar in root.iter("{http://www.w3.org/2000/svg}rect") if bar.get("height") == "14"]
    assert len(bars) == len(runs)
    assert [float(bar.get("width") or 0) for bar in bars] == [560 * value for value in (0.5, 0.75)][: len(runs)]


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    baseline = baseline_of(FIRST, "golden")
    assert baseline.found == {"0": 1.0, "1": 0.0, "2": 1.0, "3": 0.0}
    save_baseline(baseline, tmp_path / "baseline.json")
    assert load_baseline(tmp_path / "baseline.json") == baseline
    with pytest.raises(SetProblem, match="no set scenarios"):
        baseline_of(FIRST, "scenarios")


def baseline(mrr: float, *found: float) -> Baseline:
    return Baseline("s", "cosine", "f", mrr, {str(number): value for number, value in enumerate(found)})


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (baseline(0.6, 1.0, 1.0, 1.0), []),
        (baseline(0.595, 1.0, 1.0, 0.0), []),
        (baseline(0.6, 1.0, 0.0, 0.0), ["recall@10 fell by 2 questions: 1 1 → 0, 2 1 → 0."]),
        (baseline(0.5, 1.0, 1.0, 1.0), ["mrr@10 fell from 0.6 to 0.5."]),
    ],
)
def test_one_question_may_fall_out_and_not_two(now: Baseline, expected: list[str]) -> None:
    assert losses(baseline(0.6, 1.0, 1.0, 1.0), now) == expected


def test_a_gain_elsewhere_makes_up_for_a_loss() -> None:
    before, now = baseline(0.6, 1.0, 1.0, 0.0, 0.0), baseline(0.6, 0.0, 0.0, 1.0, 1.0)
    assert losses(before, now) == []


def test_a_baseline_of_another_set_is_refused() -> None:
    with pytest.raises(SetProblem, match="write the baseline anew"):
        losses(baseline(0.6, 1.0), replace(baseline(0.6, 1.0), fingerprint="g"))
