"""Texts in bulk through an embedder: windows, batches, retries, and no text lost to another one's fault."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from embeddings.port import (
    Answer,
    Embedder,
    EmbedderMisconfigured,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    TextKind,
    Vector,
)
from soat.engine.windows import halves

SHORTEST_CUT = 16
"""Characters; a text this short that is still too long for the model is no matter of length."""

FAILURES_THAT_OPEN = 3
"""Batches that failed one after the other before the rest is given up untried."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a caller bears with an unavailable provider.

    ``attempts`` counts the first one; waits grow from ``first_wait`` by doubling to at most ``longest_wait``
    seconds, and no attempt starts once ``budget`` seconds are gone. ``halving`` lets a batch that stayed without an
    answer be tried in parts.
    """

    attempts: int
    first_wait: float
    longest_wait: float
    budget: float
    halving: bool


BULK = Patience(attempts=4, first_wait=0.5, longest_wait=30.0, budget=120.0, halving=True)
"""For workers: about four seconds of back-off, or as long as the provider's ``Retry-After`` asks."""

URGENT = Patience(attempts=2, first_wait=0.1, longest_wait=1.0, budget=3.0, halving=False)
"""For requests: a second try for a dropped connection, none after a timeout."""


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """What became of one text: a vector per window, in order, or the error that left it without any."""

    windows: tuple[Vector, ...] = ()
    error: EmbeddingError | None = None


def embed_texts(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    kind: TextKind,
    concurrency: int = 1,
    urgent: bool = False,
    patience: Patience | None = None,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.monotonic,
) -> list[EmbeddedText]:
    """Embed texts of any length; one result per text, in order, never an exception for a provider's failure.

    At most ``concurrency`` batches are under way at once. A text has all its windows or none. ``urgent`` (somebody
    waits) chooses the provider's short timeout and, unless ``patience`` says otherwise, `URGENT` for `BULK`.
    """
    run = _Run(embedder, kind, urgent, patience or (URGENT if urgent else BULK), sleep, jitter, clock)
    pieces, failed = _cut(embedder, texts)
    found: list[list[_Outcome]] = [[] for _ in texts]
    outcomes = _outcomes(run, pieces, batch_size=embedder.max_batch, concurrency=concurrency)
    for piece, outcome in zip(pieces, outcomes, strict=True):
        found[piece.place].append(outcome)
    return [_embedded(failed.get(place), outcomes) for place, outcomes in enumerate(found)]


def mean_vector(windows: Sequence[Vector]) -> Vector:
    """Return one vector for a text of several windows, their mean at unit length, so that no part is ignored.

    Raises `EmbeddingRejected` if the windows cancel each other out.
    """
    total = np.sum(windows, axis=0, dtype=np.float64)
    length = np.linalg.norm(total)
    if length == 0:
        raise EmbeddingRejected(Reason.ZERO_VECTOR, "The windows of the text cancel each other out.")
    mean: Vector = np.divide(total, length).astype(np.float32)
    return mean


_Outcome: TypeAlias = tuple[Vector, ...] | EmbeddingError


@dataclass(frozen=True, slots=True)
class _Piece:
    """A window of the text that stands at ``place``."""

    place: int
    text: str


def _cut(embedder: Embedder, texts: Sequence[str]) -> tuple[list[_Piece], dict[int, EmbeddingError]]:
    """Return the windows of all texts, and by place the errors of those that have none."""
    pieces: list[_Piece] = []
    failed: dict[int, EmbeddingError] = {}
    for place, text in enumerate(texts):
        try:
            _refuse_unusable(text)
            pieces.extend(_Piece(place, text[start:end]) for start, end in embedder.windows(text))
        except EmbedderMisconfigured as error:
            return [], dict.fromkeys(range(len(texts)), error)
        except EmbeddingError as error:
            failed[place] = error
    return pieces, failed


def _refuse_unusable(text: str) -> None:
    if not text.strip():
        raise EmbeddingRejected(Reason.NO_CONTENT, "The text is blank.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EmbeddingRejected(Reason.INVALID_TEXT, "The text holds a lone surrogate.") from error


def _outcomes(run: _Run, pieces: Sequence[_Piece], *, batch_size: int, concurrency: int) -> list[_Outcome]:
    """Return the pieces' outcomes in their order; batches hold pieces of similar length, which limits padding."""
    order = sorted(range(len(pieces)), key=lambda index: (len(pieces[index].text), index))
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    tasks = [[pieces[index].text for index in batch] for batch in batches]
    workers = min(concurrency, len(tasks))
    if workers <= 1:
        answered = [run.outcomes(task) for task in tasks]
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="embedding") as pool:
            answered = list(pool.map(run.outcomes, tasks))
    by_index = {
        index: outcome
        for batch, outcomes in zip(batches, answered, strict=True)
        for index, outcome in zip(batch, outcomes, strict=True)
    }
    return [by_index[index] for index in range(len(pieces))]


def _embedded(failure: EmbeddingError | None, outcomes: Iterable[_Outcome]) -> EmbeddedText:
    if failure is not None:
        return EmbeddedText(error=failure)
    outcome = _joined(outcomes)
    return EmbeddedText(error=outcome) if isinstance(outcome, EmbeddingError) else EmbeddedText(windows=outcome)


def _joined(outcomes: Iterable[_Outcome]) -> _Outcome:
    """Join the windows of one text. A window without content is left out unless there is nothing else.

    An error that a later try can heal wins over a final one: the text is then tried again as a whole.
    """
    vectors: list[Vector] = []
    errors: list[EmbeddingError] = []
    empty: list[EmbeddingError] = []
    for outcome in outcomes:
        if not isinstance(outcome, EmbeddingError):
            vectors.extend(outcome)
        elif isinstance(outcome, EmbeddingRejected) and outcome.reason is Reason.NO_CONTENT:
            empty.append(outcome)
        else:
            errors.append(outcome)
    if errors:
        return min(errors, key=lambda error: error.permanent)
    return tuple(vectors) if vectors else empty[0]


class _Circuit:
    """Remembers that the provider is down, so that a long job does not wait for every batch of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._error: EmbeddingError | None = None

    @property
    def error(self) -> EmbeddingError | None:
        return self._error

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self, error: EmbeddingError) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES_THAT_OPEN or isinstance(error, EmbedderMisconfigured):
                self._error = error


@dataclass(frozen=True, slots=True)
class _Run:
    """One call of `embed_texts`: what its batches share."""

    embedder: Embedder
    kind: TextKind
    urgent: bool
    patience: Patience
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    clock: Callable[[], float]
    circuit: _Circuit = field(default_factory=_Circuit)

    def outcomes(self, texts: Sequence[str]) -> list[_Outcome]:
        """Return what became of each text of a batch."""
        if self.circuit.error is not None:
            return [self.circuit.error] * len(texts)
        try:
            answers = self._ask_patiently(texts)
        except EmbeddingError as error:
            return self._recover(texts, error)
        return self._settle(texts, answers)

    def _ask(self, texts: Sequence[str]) -> list[Answer]:
        answers = self.embedder.embed(texts, kind=self.kind, urgent=self.urgent)
        self.circuit.succeeded()
        return answers

    def _ask_patiently(self, texts: Sequence[str]) -> list[Answer]:
        """Ask until there is an answer or patience ends; raises what the embedder raised last."""
        patience = self.patience
        deadline = self.clock() + patience.budget
        for attempt in range(1, patience.attempts + 1):
            try:
                return self._ask(texts)
            except EmbeddingUnavailable as error:
                wait = min(patience.first_wait * 2 ** (attempt - 1), patience.longest_wait)
                wait = max(wait * (0.5 + self.jitter() / 2), error.retry_after or 0.0)
                last = attempt == patience.attempts or wait > patience.longest_wait
                if last or self.clock() + wait > deadline or self.circuit.error is not None:
                    raise
                self.sleep(wait)
        raise AssertionError("Patience allows at least one attempt.")

    def _recover(self, texts: Sequence[str], error: EmbeddingError) -> list[_Outcome]:
        """Save what can be saved of a batch that failed as a whole."""
        if isinstance(error, EmbeddingRejected):
            return self._narrow(texts, error)
        if isinstance(error, EmbeddingUnavailable):
            return self._halve(texts, error)
        self.circuit.failed(error)
        return [error] * len(texts)

    def _narrow(self, texts: Sequence[str], error: EmbeddingRejected) -> list[_Outcome]:
        """Find the text for which a whole batch was refused."""
        if len(texts) == 1:
            return self._settle(texts, [error])
        middle = len(texts) // 2
        return self.outcomes(texts[:middle]) + self.outcomes(texts[middle:])

    def _halve(self, texts: Sequence[str], error: EmbeddingUnavailable) -> list[_Outcome]:
        """Ask once for each half of a batch that stayed without an answer.

        One text may be what the provider chokes on, or the batch too slow for the timeout. Where neither half is
        answered the provider is taken to be down.
        """
        asked_to_wait = error.retry_after is not None
        if len(texts) == 1 or not self.patience.halving or asked_to_wait or self.circuit.error is not None:
            self.circuit.failed(error)
            return [error] * len(texts)
        middle = len(texts) // 2
        parts = (texts[:middle], texts[middle:])
        answers = [self._ask_once(part) for part in parts]
        if all(isinstance(answer, EmbeddingUnavailable) for answer in answers):
            self.circuit.failed(error)
            return [error] * len(texts)
        outcomes: list[_Outcome] = []
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, EmbeddingError):
                outcomes += self._recover(part, answer)
            else:
                outcomes += self._settle(part, answer)
        return outcomes

    def _ask_once(self, texts: Sequence[str]) -> list[Answer] | EmbeddingError:
        try:
            return self._ask(texts)
        except EmbeddingError as error:
            return error

    def _settle(self, texts: Sequence[str], answers: Sequence[Answer]) -> list[_Outcome]:
        return [self._settled(text, answer) for text, answer in zip(texts, answers, strict=True)]

    def _settled(self, text: str, answer: Answer) -> _Outcome:
        if not isinstance(answer, EmbeddingRejected):
            return (answer,)
        if answer.reason is Reason.TOO_LONG and len(text) > SHORTEST_CUT:
            return _joined(self.outcomes(halves(text)))
        return answer
