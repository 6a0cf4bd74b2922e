"""The gate: search finds in our own set what it has found before."""

import pytest

from soat.evaluation.baseline import baseline_of, load_baseline, losses
from soat.evaluation.material import Half
from soat.evaluation.runs import RANKINGS, Run, new_run, run_set
from soat.evaluation.sets.golden import baseline_file, golden_set


@pytest.mark.parametrize("ranking", RANKINGS)
def test_nothing_is_lost_that_was_found(transactional_db: None, ranking: str) -> None:
    before = load_baseline(baseline_file(ranking))
    run = new_run(ranking)
    one = run_set(golden_set(), half=Half.ALL, chunking="the set's", ranking=run.ranking, progress=lambda *_: None)
    now = Run(run.space, run.ranking, run.machine, run.date, (one,))
    assert losses(before, baseline_of(now, "golden")) == []
