"""The lexical leg of a hybrid search, as SQL: the rows that have words of the question, scored by BM25.

The words are PostgreSQL's lexemes, made of text and question alike (``soat.engine.lexical``). A question is an OR
of its words; how rare a word is, is taken among the rows that came into question and nowhere else, so that a score
tells nothing about rows that the caller may not read.

The parts are common table expressions, for a statement that has ``scored`` from ``knowledge.nearest`` before them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from knowledge.nearest import Source
from soat.engine.fusion import LENGTH_NORMALISATION, WORD_SATURATION
from soat.engine.lexical import lexical_text
from soat.tenancy.access import ProjectScope

# A word that more rows have brings none in by itself, it only adds to the score of those that came in otherwise:
# reading them all would take longer than the rest of the search together.
COMMON_ROWS = 1_000
MOST_WORDS = 256
# What ts_rank gives for a word that stands in a text once: 0.1 * 6 / pi^2. For n times it grows with the sum of
# 1 / i^2 up to n, which is at most 1.65 times as much.
_ONCE = 0.06079271


@dataclass(frozen=True, slots=True)
class WordFilter:
    """Conditions on a source's rows: ``narrow`` are those on its texts alone, ``where`` those on ``rows``.

    ``projects`` are those on ``tenancy_project p``. The parameters are the vector leg's.
    """

    narrow: str
    where: str
    projects: str


def projects_asked(scope: ProjectScope) -> str:
    """Return the condition on ``tenancy_project p`` for the projects whose texts are searched."""
    return "TRUE" if scope.everything else "p.id = ANY(%(projects)s)"


def words_parameters(query: str, limit: int) -> Mapping[str, Any]:
    """Return the values that ``words_parts`` speaks of."""
    return {
        "words": lexical_text(query),
        "default_config": settings.KNOWLEDGE_TEXT_SEARCH_CONFIG,
        "most_words": MOST_WORDS,
        "common": max(COMMON_ROWS, limit),
    }


def words_parts(source: Source, wanted: WordFilter) -> str:
    """Return common table expressions that end in ``worded (row_id, share, place)``.

    ``share`` is BM25 over its possible sum, 0..1; ``place`` counts from the best row on. Rows of ``scored`` get
    theirs too, also where they have common words only.
    """
    return ",".join([_terms(wanted), _asked_for(source, wanted), _pool(source, wanted), _worded()])


def _terms(wanted: WordFilter) -> str:
    """Read the question as every project in question reads its texts."""
    return f"""
        terms AS MATERIALIZED (
            SELECT ('''' || lexeme || '''')::tsquery AS word FROM (
                SELECT DISTINCT coalesce(nullif(p.text_search_config, ''), %(default_config)s) AS config
                FROM tenancy_project p WHERE {wanted.projects}
            ) AS configs, unnest(to_tsvector(config::regconfig, %(words)s))
            GROUP BY lexeme ORDER BY min(positions[1]), lexeme LIMIT %(most_words)s
        )"""


def _asked_for(source: Source, wanted: WordFilter) -> str:
    """Count every word up to the bound: any of the rare ones is asked for, else all words together, if that is rare."""
    lexemes = f"{source.row}.lexemes"
    return f"""
        counted AS MATERIALIZED (
            SELECT word, CASE WHEN (SELECT counted <= %(common)s FROM choice) THEN 1 ELSE (SELECT count(*) FROM (
                SELECT FROM {source.texts} WHERE {wanted.narrow} AND {lexemes} @@ t.word LIMIT %(common)s + 1
            ) AS few) END AS number
            FROM terms t
        ), together AS MATERIALIZED (
            SELECT string_agg(word::text, ' & ')::tsquery AS word FROM counted
            HAVING min(number) > %(common)s
        ), asked_for AS MATERIALIZED (
            SELECT coalesce(
                (SELECT string_agg(word::text, ' | ')::tsquery FROM counted WHERE number BETWEEN 1 AND %(common)s),
                (SELECT word FROM together WHERE (SELECT count(*) FROM (
                    SELECT FROM {source.texts} WHERE {wanted.narrow} AND {lexemes} @@ together.word LIMIT %(common)s + 1
                ) AS few) <= %(common)s)
            ) AS words
        )"""


def _pool(source: Source, wanted: WordFilter) -> str:
    row = source.row
    return f"""
        matched AS MATERIALIZED (
            SELECT {row}.id AS row_id, {row}.public_id AS tie, {row}.lexemes
            FROM {source.rows}
            WHERE {wanted.narrow} AND {wanted.where} AND {row}.lexemes @@ (SELECT words FROM asked_for)
        ), pool AS MATERIALIZED (
            SELECT row_id, tie, lexemes FROM matched
            UNION ALL
            SELECT scored.row_id, scored.tie, {row}.lexemes
            FROM scored JOIN {source.texts} ON {row}.id = scored.row_id
            WHERE NOT EXISTS (SELECT FROM matched WHERE matched.row_id = scored.row_id)
        )"""


def _worded() -> str:
    """Weigh what the pool has of each word, as Robertson and Zaragoza (2009) do."""
    return f"""
        size AS MATERIALIZED (
            SELECT count(*)::float8 AS number, greatest(avg(length(lexemes)), 1)::float8 AS length FROM pool
        ), hits AS MATERIALIZED (
            SELECT row_id, tie, word, ts_rank(lexemes, word) / {_ONCE} AS often, length(lexemes) / size.length AS length
            FROM pool JOIN terms ON lexemes @@ word, size
        ), rarities AS MATERIALIZED (
            SELECT word, ln(1 + (size.number - count(*) + 0.5) / (count(*) + 0.5)) AS rarity
            FROM hits, size GROUP BY word, size.number
        ), worded AS MATERIALIZED (
            SELECT row_id, share, row_number() OVER (ORDER BY share DESC, tie COLLATE "C") AS place FROM (
                SELECT row_id, tie, sum(
                    rarity * often
                    / (often + {WORD_SATURATION} * ({1 - LENGTH_NORMALISATION} + {LENGTH_NORMALISATION} * length))
                ) / (SELECT sum(rarity) FROM rarities) AS share
                FROM hits JOIN rarities USING (word) GROUP BY row_id, tie
            ) AS weighed
        )"""
