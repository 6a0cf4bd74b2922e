"""Strict fields: a value of another type is refused, never converted, and the field is named."""

import math
from typing import Any

import pytest
from django.http import QueryDict

from soat.core.body import Body, free_object, validated
from soat.core.errors import ValidationFailed
from soat.core.fields import MAX_JSON_DEPTH, Choice, Flag, JsonObject, Number, TagMap, Text, TextList, WholeNumber

SURROGATE = "\ud83d"


class Everything(Body):
    text = Text(max_length=5, required=False)
    name = Text(max_length=5, nfc=True, required=False)
    note = Text(max_length=5, blank=True, required=False)
    maybe = Text(max_length=5, required=False, allow_null=True)
    whole = WholeNumber(min_value=1, max_value=10, required=False)
    number = Number(min_value=0, max_value=1, required=False)
    flag = Flag(required=False)
    choice = Choice(["a", "b"], required=False)
    texts = TextList(max_items=2, item_length=3, required=False)
    words = TextList(scalar=True, required=False)
    metadata = JsonObject(required=False)
    tags = TagMap(required=False)


class Required(Body):
    text = Text(max_length=5)
    flag = Flag()
    texts = TextList()


def nested(depth: int) -> dict[str, Any]:
    """Return an object with ``depth`` objects in each other inside."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


def refusal(data: Any, serializer: type[Body] = Everything) -> ValidationFailed:
    with pytest.raises(ValidationFailed) as refused:
        validated(serializer, data)
    assert (refused.value.status, refused.value.code) == (400, "VALIDATION_FAILED")
    return refused.value


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"text": "abcde"}, "abcde"),
        ({"text": " a "}, " a "),
        ({"text": "e\u0301"}, "e\u0301"),
        ({"name": "e\u0301"}, "é"),
        ({"name": "e\u0301" * 5}, "é" * 5),
        ({"text": "😀" * 5}, "😀" * 5),
        ({"note": ""}, ""),
        ({"note": " "}, " "),
        ({"maybe": None}, None),
        ({"whole": 1}, 1),
        ({"whole": 10}, 10),
        ({"number": 0}, 0.0),
        ({"number": 0.5}, 0.5),
        ({"flag": False}, False),
        ({"choice": "b"}, "b"),
        ({"texts": []}, []),
        ({"texts": ["e\u0301", "b"]}, ["é", "b"]),
        ({"words": "one"}, ["one"]),
        ({"metadata": {"Key with space": {"camelCase": [1, None, True, "x"]}}}, None),
        ({"metadata": nested(MAX_JSON_DEPTH)}, None),
        ({"tags": {"Ключ": "e\u0301"}}, {"Ключ": "é"}),
    ],
)
def test_a_fitting_value_is_taken_as_it_is(data: dict[str, Any], expected: Any) -> None:
    (name,) = data
    values = validated(Everything, data)
    assert values == {name: data[name] if expected is None else expected}
    assert type(values[name]) is type(data[name] if expected is None else expected)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"text": 5}, "must be a string"),
        ({"text": True}, "must be a string"),
        ({"text": ["a"]}, "must be a string"),
        ({"text": {"a": 1}}, "must be a string"),
        ({"text": None}, "must not be null"),
        ({"text": ""}, "must not be blank"),
        ({"text": " \t\n\u3000"}, "must not be blank"),
        ({"text": "abcdef"}, "at most 5 characters"),
        ({"text": "a\x00b"}, "NUL"),
        ({"text": f"a{SURROGATE}"}, "surrogate"),
        ({"name": SURROGATE}, "surrogate"),
        ({"note": "abcdef"}, "at most 5 characters"),
        ({"maybe": ""}, "must not be blank"),
        ({"whole": "5"}, "whole number"),
        ({"whole": 5.0}, "whole number"),
        ({"whole": True}, "whole number"),
        ({"whole": None}, "must not be null"),
        ({"whole": 0}, "at least 1"),
        ({"whole": 11}, "at most 10"),
        ({"whole": 10**400}, "out of range"),
        ({"number": "0.5"}, "must be a number"),
        ({"number": True}, "must be a number"),
        ({"number": math.inf}, "finite"),
        ({"number": math.nan}, "finite"),
        ({"number": 10**400}, "finite"),
        ({"number": -0.1}, "at least 0"),
        ({"number": 1.1}, "at most 1"),
        ({"flag": "true"}, "true or false"),
        ({"flag": 1}, "true or false"),
        ({"flag": 0}, "true or false"),
        ({"flag": None}, "must not be null"),
        ({"choice": "c"}, "one of a, b"),
        ({"choice": ["a"]}, "one of a, b"),
        ({"choice": 1}, "one of a, b"),
        ({"texts": "a"}, "list of strings"),
        ({"texts": [1]}, "list of strings"),
        ({"texts": ["a", None]}, "list of strings"),
        ({"texts": {"a": "b"}}, "list of strings"),
        ({"texts": ["a"] * 3}, "at most 2 items"),
        ({"texts": ["abcd"]}, "at most 3 characters"),
        ({"texts": ["a", ""]}, "must not be blank"),
        ({"texts": ["\x00"]}, "NUL"),
        ({"texts": [SURROGATE]}, "surrogate"),
        ({"words": 5}, "list of strings"),
        ({"metadata": []}, "JSON object"),
        ({"metadata": "{}"}, "JSON object"),
        ({"metadata": None}, "must not be null"),
        ({"metadata": {"a": "\x00"}}, "NUL"),
        ({"metadata": {"a": [{"b\x00": 1}]}}, "NUL"),
        ({"metadata": {"a": [SURROGATE]}}, "surrogate"),
        ({"metadata": {SURROGATE: 1}}, "surrogate"),
        ({"metadata": {"a": math.inf}}, "finite"),
        ({"metadata": nested(MAX_JSON_DEPTH + 1)}, "nested"),
        ({"metadata": {"a": "b" * 262_144}}, "characters of JSON"),
        ({"tags": {"a": 1}}, "values are strings"),
        ({"tags": {"a": None}}, "values are strings"),
        ({"tags": {"": "a"}}, "values are strings"),
        ({"tags": {"a": "\x00"}}, "NUL"),
        ({"tags": ["a"]}, "JSON object"),
    ],
)
def test_any_other_value_is_refused_and_named(data: dict[str, Any], reason: str) -> None:
    (name,) = data
    error = refusal(data)
    assert error.message.startswith(f"{name} ")
    assert reason in error.message
    assert error.meta == {"fields": {name: error.message.removeprefix(f"{name} ")}}


@pytest.mark.parametrize("body", [None, [], "text", 5, True, [{"text": "a"}]])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    error = refusal(body)
    assert (error.message, error.meta) == ("The body must be a JSON object.", None)


@pytest.mark.parametrize("value", ["", None])
def test_nothing_counts_as_missing_where_a_value_is_required(value: object) -> None:
    error = refusal({"text": value, "flag": value, "texts": value}, Required)
    assert error.meta == {"missingFields": ["text", "flag", "texts"]}


def test_false_and_an_empty_list_are_values() -> None:
    assert validated(Required, {"text": "a", "flag": False, "texts": []}) == {"text": "a", "flag": False, "texts": []}


def test_unknown_and_missing_fields_are_named_together() -> None:
    error = refusal({"flag": True, "Text": "a", "zzz": 1}, Required)
    assert error.meta == {"unknownFields": ["Text", "zzz"], "missingFields": ["text", "texts"]}
    assert all(name in error.message for name in ("Text", "zzz", "text", "texts"))


def test_names_that_cannot_be_written_are_named_all_the_same() -> None:
    error = refusal({f"{SURROGATE}a": 1, "b\x00": 1, "c" * 500: 1})
    assert error.meta == {"unknownFields": ["?a", "b\x00", "c" * 100]}
    error.message.encode()


def test_the_list_of_unknown_names_is_bounded() -> None:
    error = refusal({f"field{number}": 1 for number in range(5_000)})
    assert error.meta is not None
    assert len(error.meta["unknownFields"]) == 20


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("whole=5", {"whole": 5}),
        ("number=0.5", {"number": 0.5}),
        ("flag=true", {"flag": True}),
        ("flag=0", {"flag": False}),
        ("texts=a&texts=b", {"texts": ["a", "b"]}),
        ("words=a", {"words": ["a"]}),
        ('metadata={"a": 1}', {"metadata": {"a": 1}}),
        ('tags={"a": "b"}', {"tags": {"a": "b"}}),
    ],
)
def test_a_form_holds_strings_and_is_converted(form: str, expected: dict[str, Any]) -> None:
    assert validated(Everything, QueryDict(form)) == expected


@pytest.mark.parametrize(
    "form",
    [
        "whole=5.0",
        "whole=",
        f"whole={'9' * 5_000}",
        "number=nan",
        "number=1e999",
        "flag=maybe",
        "metadata=[]",
        "metadata={",
        f"metadata={'[' * 5_000}",
        'metadata={"a": Infinity}',
        'metadata={"a": 1, "a": 2}',
        'tags={"a": "b", "a": "b"}',
        "texts=a&texts=",
        "text=a%00b",
    ],
)
def test_a_form_is_as_strict_as_json(form: str) -> None:
    name = form.partition("=")[0]
    assert refusal(QueryDict(form)).message.startswith(name)


def test_a_free_object_is_refused_under_its_own_name() -> None:
    assert free_object(TagMap(), {"a": "b"}, "tags") == {"a": "b"}
    refused: list[Any] = [None, [], {"a": 1}, "x"]
    for bad in refused:
        with pytest.raises(ValidationFailed, match=r"^tags must"):
            free_object(TagMap(), bad, "tags")
