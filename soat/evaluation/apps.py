"""The app that holds the ``evaluate_retrieval`` command."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """How well search finds what it should: sets of questions, runs over them, comparisons."""

    name = "soat.evaluation"
    label = "evaluation"
