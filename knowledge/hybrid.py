"""Rows of one source by meaning and by words, in one statement: what each leg found, and what it says of the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embeddings.services import QueryVector
from knowledge.execution import fetched
from knowledge.nearest import Filter, Look, Source, Way, look_at, nearest_parameters, nearest_parts
from knowledge.words import WordFilter, words_parameters, words_parts
from soat.engine.fusion import LEG_DEPTH, Legs
from soat.engine.vectors import similarity_from_distance


@dataclass(frozen=True, slots=True)
class Question:
    """A question as both legs take it; ``vector`` is None where the model knows nothing of the text."""

    text: str
    vector: QueryVector | None


@dataclass(frozen=True, slots=True)
class FoundByLegs:
    """What the legs say of each row that one of them found, with its columns, in no order; and how it went."""

    rows: list[tuple[Legs, Sequence[Any]]]
    look: Look


def found_by_legs(source: Source, near: Filter, worded: WordFilter, question: Question, limit: int) -> FoundByLegs:
    """Ask each leg for ``limit`` rows, or some more, so that what is good in both is not cut off by one of them.

    ``near`` and ``worded`` are the same conditions, on vectors and on texts.
    """
    depth = max(limit, LEG_DEPTH)
    parameters = {**near.parameters, **words_parameters(question.text, depth), "limit": depth}
    if question.vector is not None:
        parameters |= nearest_parameters(near, question.vector, depth)
    rows = fetched(_statement(source, near, worded, question.vector), parameters)
    look = look_at(rows[0]) if question.vector is not None else Look(Way.WORDS)
    # A row without a key only says how it went: nothing was found.
    return FoundByLegs([(_legs(*row[5:9]), row[9:]) for row in rows if row[4] is not None], look)


def _legs(distance: float | None, place: int | None, share: float | None, words_place: int | None) -> Legs:
    cosine = None if distance is None else similarity_from_distance(distance)
    return Legs(cosine=cosine, words=share or 0.0, cosine_rank=place, words_rank=words_place)


# In place of the vector leg for a question without a vector.
_NOTHING_NEAR = """
    choice AS (SELECT NULL::boolean AS is_small, NULL::bigint AS counted, NULL::bigint AS most),
    judged AS (SELECT NULL::boolean AS is_enough),
    scored AS (SELECT NULL::bigint AS row_id, NULL::text AS tie, NULL::float8 AS distance WHERE FALSE)"""


def _statement(source: Source, near: Filter, worded: WordFilter, vector: QueryVector | None) -> str:
    nearest = _NOTHING_NEAR if vector is None else nearest_parts(source, near, vector)
    return f"""
        WITH {nearest}, {words_parts(source, worded)},
        placed AS MATERIALIZED (
            SELECT row_id, distance, row_number() OVER (ORDER BY distance, tie COLLATE "C") AS place FROM scored
        ), either AS MATERIALIZED (
            SELECT row_id FROM placed UNION SELECT row_id FROM worded WHERE place <= %(limit)s
        )
        SELECT choice.is_small, judged.is_enough, choice.counted, choice.most, shown.*
        FROM choice CROSS JOIN judged LEFT JOIN (
            SELECT s.row_id, coalesce(placed.distance, {_distance(source, vector)}), placed.place,
                worded.share, CASE WHEN worded.place <= %(limit)s THEN worded.place END, {source.columns}
            FROM either s LEFT JOIN placed ON placed.row_id = s.row_id LEFT JOIN worded ON worded.row_id = s.row_id
            {source.shown}
        ) AS shown ON TRUE"""


def _distance(source: Source, vector: QueryVector | None) -> str:
    """Return the distance of a row that the vector leg did not find; null for one without a vector."""
    if vector is None:
        return "NULL::float8"
    return f"""(
                SELECT min(v.embedding <=> (SELECT vector FROM asked)) FROM {source.vectors} v
                WHERE v.{source.row_key} = s.row_id AND v.space_id = {vector.space.pk:d}
            )"""
