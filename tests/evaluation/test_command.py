"""``manage.py evaluate_retrieval`` over the scenarios, which are small."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.models import Document
from memories.models import Memory
from soat.evaluation.management.commands.evaluate_retrieval import KEPT_VECTORS
from soat.tenancy.models import Project


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Nothing is kept beside the code."""
    settings.BASE_DIR = tmp_path
    settings.EVALUATION_DATA = None
    return tmp_path


def evaluated(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("evaluate_retrieval", *arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_a_run_is_printed_written_drawn_and_leaves_nothing(transactional_db: None, folder: Path) -> None:
    run, chart = folder / "run.json", folder / "chart.svg"
    text = evaluated("scenarios", json=run, svg=chart)
    assert "| scenarios | update-instead" in text
    assert chart.read_text().startswith("<svg")
    (one,) = json.loads(run.read_text())["sets"]
    found = {asked["key"]: asked["scores"] for asked in one["asked"]}
    assert found["release/1"]["recall@5"] == 1.0
    assert found["release/1"]["fresh_first"] == 1.0
    assert found["ana/7"] == {}
    assert not Project.objects.exists()
    assert not Memory.objects.exists()
    assert not Document.objects.exists()
    assert (folder / KEPT_VECTORS).exists()


def test_a_run_compares_itself_with_an_earlier_one(transactional_db: None, folder: Path) -> None:
    run = folder / "run.json"
    evaluated("scenarios", json=run, half="tune")
    text = evaluated("scenarios", half="tune", against=run, fresh=True)
    row = next(line for line in text.splitlines() if line.startswith("| scenarios | recall@10 "))
    assert row.split("|")[6].split() == ["+0.000", "[+0.000,", "+0.000]"]
    with pytest.raises(CommandError, match="not the same set"):
        evaluated("scenarios", half="report", against=run)


def test_two_runs_that_were_kept_are_compared_without_a_database(folder: Path) -> None:
    missing = folder / "missing.json"
    with pytest.raises(CommandError, match="no run that can be read"):
        evaluated(compare=[missing, missing])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nonsense"], "There is no set nonsense"), (["xquad-en"], "set SOAT_EVAL_DATA")],
)
def test_a_set_that_cannot_be_had_ends_the_command_in_a_sentence(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        evaluated(*arguments)


def test_without_an_embedder_there_is_nothing_to_measure(db: None, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = ""
    with pytest.raises(CommandError, match="no embedder"):
        evaluated("scenarios")


def test_the_scratch_project_goes_also_when_the_set_is_wrong(
    transactional_db: None, folder: Path, settings: Any
) -> None:
    data = folder / "data" / "xquad"
    data.mkdir(parents=True)
    blank = {"data": [{"paragraphs": [{"context": "  ", "qas": [{"id": "1", "question": "Why?"}]}]}]}
    (data / "xquad.en.json").write_text(json.dumps(blank))
    settings.EVALUATION_DATA = folder / "data"
    with pytest.raises(CommandError, match="content"):
        evaluated("xquad-en")
    assert not Project.objects.exists()
