"""The multilingual local model: that it is the published one, knows languages, and loses no part of a text."""

# ruff: noqa: RUF001

import math

import numpy as np
import pytest

from embeddings.batching import embed_texts
from embeddings.port import EmbeddingRejected, Reason, TextKind, Vector
from embeddings.providers.local import assets
from embeddings.providers.local.e5 import MultilingualE5
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.local.onnx_writer import CONTRIBUTED, Graph
from embeddings.providers.local.packed import Floats, Packed, read_packed, unpacked
from embeddings.providers.local.runtime import Runtime

QUESTION = "how much protein should a female eat"
PASSAGE = (
    "As a general guideline, the CDC's average requirement of protein for women ages 19 to 70 is 46 grams per day."
    " But, as you can see from this chart, you'll need to increase that if you're expecting or training for a"
    " marathon. Check out the chart below to see how much protein you should be eating each day."
)
PUMPKIN = "南瓜的家常做法"


def vector(embedder: LocalEmbedder, text: str, kind: TextKind) -> Vector:
    [found] = embedder.embed([text], kind=kind)
    assert not isinstance(found, EmbeddingRejected)
    return found


def score(embedder: LocalEmbedder, question: str, passage: str) -> float:
    return float(vector(embedder, question, TextKind.QUERY) @ vector(embedder, passage, TextKind.DOCUMENT))


@pytest.fixture(scope="module")
def loaded(multilingual: LocalEmbedder) -> MultilingualE5:
    model = multilingual._loaded.get()
    assert isinstance(model, MultilingualE5)
    return model


def test_the_scores_are_those_of_the_published_model(multilingual: LocalEmbedder) -> None:
    """The pair is its documentation's; other languages' passages lie far below."""
    assert score(multilingual, QUESTION, PASSAGE) > 0.85
    assert score(multilingual, PUMPKIN, PASSAGE) < score(multilingual, QUESTION, PASSAGE) - 0.1


@pytest.mark.parametrize(
    ("question", "wanted", "others"),
    [
        (
            "Wo liegt der Ersatzschlüssel des Leuchtturms?",
            "The spare key of the lighthouse lies under the third stone.",
            ["The lighthouse was painted white in 1902.", "The spare tyre lies under the back seat."],
        ),
        (
            "灯塔的备用钥匙在哪里？",
            "The spare key of the lighthouse lies under the third stone.",
            ["The lighthouse was painted white in 1902.", "The spare tyre lies under the back seat."],
        ),
        (
            "When does the library open?",
            "La biblioteca abre a las nueve de la mañana.",
            ["La biblioteca tiene tres pisos.", "El mercado abre a las siete de la mañana."],
        ),
    ],
)
def test_a_question_finds_its_answer_in_another_language(
    multilingual: LocalEmbedder, question: str, wanted: str, others: list[str]
) -> None:
    assert score(multilingual, question, wanted) > max(score(multilingual, question, other) for other in others)


class PlainArithmetic:
    """The network as its publication describes it, over the packed weights, nothing rounded."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        self._sizes = packed.sizes

    def mean(self, ids: list[int]) -> Floats:
        places = self._packed.floats("emb.pos").reshape(-1, self._sizes.width)[: len(ids)]
        words = unpacked(self._packed.blocks("emb.word")[ids])
        states = self._norm(words + places + self._packed.floats("emb.type")[: self._sizes.width], "emb.ln")
        for number in range(self._sizes.layers):
            states = self._layer(states, f"l{number}")
        mean: Floats = states.mean(axis=0)
        return mean

    def _layer(self, states: Floats, layer: str) -> Floats:
        attended = self._linear(self._attended(states, layer), f"{layer}.ao")
        states = self._norm(states + attended, f"{layer}.aln")
        inner = self._linear(states, f"{layer}.fi")
        activated = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        return self._norm(states + self._linear(activated, f"{layer}.fo"), f"{layer}.oln")

    def _attended(self, states: Floats, layer: str) -> Floats:
        shape = (len(states), self._sizes.heads, -1)
        q, k, v = (self._linear(states, f"{layer}.{part}").reshape(shape) for part in "qkv")
        weights = np.exp(np.einsum("ihd,jhd->hij", q, k) / math.sqrt(q.shape[-1]))
        weights /= weights.sum(axis=-1, keepdims=True)
        attended: Floats = np.einsum("hij,jhd->ihd", weights, v).reshape(len(states), -1)
        return attended

    def _linear(self, states: Floats, name: str) -> Floats:
        product: Floats = states @ self._packed.matrix(f"{name}.w").T + self._packed.floats(f"{name}.b")
        return product

    def _norm(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._sizes.epsilon)
        normed: Floats = centred / deviation * self._packed.floats(f"{name}.w") + self._packed.floats(f"{name}.b")
        return normed


@pytest.mark.parametrize(("kind", "prefix"), [(TextKind.DOCUMENT, "passage: "), (TextKind.QUERY, "query: ")])
def test_vectors_are_those_of_the_network_but_for_rounding(
    multilingual: LocalEmbedder, loaded: MultilingualE5, kind: TextKind, prefix: str
) -> None:
    network = PlainArithmetic(read_packed(assets.e5_weights().mapped()))
    mean = network.mean([0, *loaded.encode(prefix + PASSAGE).ids, 2])
    assert float(vector(multilingual, PASSAGE, kind) @ mean / np.linalg.norm(mean)) > 0.99


def test_no_part_of_a_text_is_lost_at_a_nul(multilingual: LocalEmbedder) -> None:
    both = vector(multilingual, "The harbour is closed.\x00 The key lies under the stone.", TextKind.DOCUMENT)
    first = vector(multilingual, "The harbour is closed.", TextKind.DOCUMENT)
    assert float(both @ first) < 0.97


@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "<mask>", " <mask>", "a<s>b"])
def test_a_text_cannot_write_the_models_special_tokens(loaded: MultilingualE5, text: str) -> None:
    last = loaded._tokenizer.get_vocab_size() - 1
    assert not {0, 1, 2, last} & set(loaded.encode(text).ids)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("ｈａｒｂｏｕｒ", "harbour"), ("cafe\u0301", "café"), ("ﬁsh", "fish"), ("a \t\n b", "a b"), ("a\u00a0b", "a b")],
)
def test_letters_that_look_otherwise_are_the_same_to_it(loaded: MultilingualE5, written: str, meant: str) -> None:
    assert loaded.encode(written).ids == loaded.encode(meant).ids


@pytest.mark.parametrize("text", ["\x01\x02", "\u200b", "\x00", "\U0001f000"])
def test_what_the_model_cannot_read_has_no_vector(multilingual: LocalEmbedder, text: str) -> None:
    [refused] = multilingual.embed([text], kind=TextKind.DOCUMENT)
    assert isinstance(refused, EmbeddingRejected)
    assert refused.reason is Reason.NO_CONTENT


def test_the_answer_at_the_end_of_a_long_text_is_found(multilingual: LocalEmbedder) -> None:
    filler = "The committee met and spoke about the budget of the library and the hours of its reading room. "
    needle = "The spare key of the lighthouse lies under the third stone left of the door."
    [embedded] = embed_texts(multilingual, [filler * 80 + needle], kind=TextKind.DOCUMENT)
    question = vector(multilingual, "Where is the lighthouse's spare key?", TextKind.QUERY)
    scores = [float(question @ window) for window in embedded.windows]
    assert len(scores) > 2
    assert int(np.argmax(scores)) == len(scores) - 1


def test_a_written_graph_is_one_that_the_runtime_runs() -> None:
    graph = Graph()
    weights = graph.constant("weights", np.array([[1, -2], [3, 4], [-5, 60]], dtype=np.int8))
    scales = graph.constant("scales", np.array([0.5, 2.0], dtype=np.float32))
    zeros = graph.constant("zeros", np.zeros(2, dtype=np.int8))
    product = graph.node("DynamicQuantizeMatMul", ["given", weights, scales, zeros], "product", domain=CONTRIBUTED)
    model = graph.serialized(inputs={"given": (1, "rows", 3)}, outputs={product: (1, "rows", 2)})
    given = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]], dtype=np.float32)
    found = Runtime(model, threads=1).states({"given": given})
    assert found == pytest.approx(np.array([[[0.5, -4.0], [-1.0, 128.0]]]), abs=0.01)
