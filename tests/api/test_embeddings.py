"""The raw embedding endpoint."""

import math
from typing import Any

import numpy as np
import pytest

from embeddings.api.schemas import MAX_INPUT_CHARACTERS, MAX_INPUTS
from tests.api.answers import body_of, error_of, names_field
from tests.conftest import Cast

PATH = "/api/v1/embeddings"
DIMENSIONS = 384


def post(client: Any, **body: Any) -> Any:
    return client.post(PATH, body, format="json")


def test_one_text_and_several(cast: Cast) -> None:
    one = body_of(post(cast.a, input="the cat sat"))
    several = body_of(post(cast.a, inputs=["a dog barked", "the cat sat", "a dog barked"]))
    assert set(one) == {"embedding"}
    assert set(several) == {"embeddings"}
    assert len(several["embeddings"]) == 3
    for vector in (one["embedding"], *several["embeddings"]):
        assert len(vector) == DIMENSIONS
        assert all(isinstance(number, float) for number in vector)
        assert math.isclose(np.linalg.norm(vector), 1, abs_tol=1e-4)
    dog, cat, again = several["embeddings"]
    np.testing.assert_allclose(dog, again, atol=1e-5)
    np.testing.assert_allclose(cat, one["embedding"], atol=1e-5)
    assert np.dot(cat, dog) < 0.9


def test_a_text_has_one_vector_whichever_way_and_spelling_it_comes(cast: Cast) -> None:
    one = body_of(post(cast.a, input="cafe\u0301"))["embedding"]
    (two,) = body_of(post(cast.a, inputs=["cafe\u0301"]))["embeddings"]
    three = body_of(post(cast.admin, input="café"))["embedding"]
    np.testing.assert_allclose(one, two, atol=1e-5)
    np.testing.assert_allclose(one, three, atol=1e-5)


def test_a_form_is_read_too(cast: Cast) -> None:
    answer = cast.a.post(PATH, "inputs=a&inputs=b", content_type="application/x-www-form-urlencoded")
    assert len(body_of(answer)["embeddings"]) == 2


def test_no_part_of_a_long_text_is_ignored(cast: Cast) -> None:
    text = "The harbour opens at six. " * 400
    plain, changed = body_of(post(cast.a, inputs=[text, text + "Volcanoes erupt under the sea. " * 40]))["embeddings"]
    assert math.isclose(np.linalg.norm(changed), 1, abs_tol=1e-4)
    assert np.dot(plain, changed) < 0.999


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "input"),
        ({"input": "a", "inputs": ["b"]}, "inputs"),
        ({"input": "a", "inputs": []}, "inputs"),
        ({"inputs": []}, "inputs"),
        ({"input": ""}, "input"),
        ({"input": " \n"}, "input"),
        ({"input": None}, "input"),
        ({"input": 5}, "input"),
        ({"input": ["a"]}, "input"),
        ({"input": "a\x00"}, "input"),
        ({"input": "a" * (MAX_INPUT_CHARACTERS + 1)}, "input"),
        ({"inputs": "a"}, "inputs"),
        ({"inputs": None}, "inputs"),
        ({"inputs": {"a": "b"}}, "inputs"),
        ({"inputs": ["a", ""]}, "inputs"),
        ({"inputs": ["a", 5]}, "inputs"),
        ({"inputs": ["a", "b\x00"]}, "inputs"),
        ({"inputs": ["a"] * (MAX_INPUTS + 1)}, "inputs"),
        ({"input": "a", "model": "other"}, "model"),
        ({"input": "a", "project_id": "proj_x"}, "project_id"),
    ],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    assert names_field(post(cast.a, **body), field)


@pytest.mark.parametrize("text", ["\u200b", "\U000e0001", "\u0301"])
def test_a_text_without_any_content_is_named_or_embedded(cast: Cast, text: str) -> None:
    answer = post(cast.a, input=text)
    if answer.status_code != 200:
        assert names_field(answer, "input")
    else:
        assert len(body_of(answer)["embedding"]) == DIMENSIONS


def test_who_may_nothing_may_not_embed(cast: Cast) -> None:
    for body in ({"input": "a"}, {}, {"nope": 1}):
        error_of(post(cast.outsider, **body), 403, "FORBIDDEN")
        error_of(post(cast.anonymous, **body), 401, "UNAUTHORIZED")
    body_of(post(cast.admin, input="a"))
    error_of(cast.a.get(PATH), 405, "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize("unset", ["EMBEDDING_PROVIDER", "EMBEDDING_MODEL"])
def test_without_a_provider_it_is_not_configured(cast: Cast, settings: Any, unset: str) -> None:
    setattr(settings, unset, "")
    error_of(post(cast.a, input="a"), 503, "EMBEDDING_NOT_CONFIGURED")
    assert names_field(post(cast.a, input=""), "input")


def test_a_provider_that_is_away_is_unavailable(cast: Cast, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "ollama", "any"
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:1"
    error_of(post(cast.a, input="a"), 503, "EMBEDDING_UNAVAILABLE")


def test_a_model_that_there_is_not_is_unavailable(cast: Cast, settings: Any) -> None:
    settings.EMBEDDING_MODEL = "no-such-model"
    error_of(post(cast.a, input="a"), 503, "EMBEDDING_UNAVAILABLE")
