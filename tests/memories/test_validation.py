"""What a memory or an entry may be made of, value by value."""

import json
from typing import Any

import pytest

from memories.models import Memory, MemoryEntry
from tests.conftest import Cast
from tests.memories.rest import (
    ENTRIES,
    MEMORIES,
    UNKNOWN_MEMORY,
    Record,
    assert_error,
    assert_names_field,
    new_memory,
    send,
)

JSON = "application/json"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    ("body", "meta"),
    [
        ({}, {"missingFields": ["name"]}),
        ({"name": None}, {"missingFields": ["name"]}),
        ({"name": ""}, {"missingFields": ["name"]}),
        ({"name": "x", "foo": 1, "bar": 2}, {"unknownFields": ["foo", "bar"]}),
        ({"projectId": "p", "name": "x"}, {"unknownFields": ["projectId"]}),
        ({"foo": 1}, {"unknownFields": ["foo"], "missingFields": ["name"]}),
    ],
)
def test_the_names_in_a_memory(cast: Cast, body: Record, meta: Record) -> None:
    assert_error(cast.a.post(MEMORIES, body, format="json"), 400, "VALIDATION_FAILED", **meta)
    assert not Memory.objects.exists()


BAD_MEMORY_VALUES = [
    ("name", 123),
    ("name", ["x"]),
    ("name", " \t"),
    ("name", "n" * 256),
    ("name", "nul\0"),
    ("name", "\ud800"),
    ("description", 5),
    ("description", "d" * 10_001),
    ("description", "nul\0"),
    ("tags", "notarray"),
    ("tags", [1, 2]),
    ("tags", [None]),
    ("tags", {"a": "b"}),
    ("tags", ["ok", " "]),
    ("tags", ["t" * 256]),
    ("tags", ["nul\0"]),
    ("tags", ["\udfff"]),
    ("tags", ["t"] * 101),
]


@pytest.mark.parametrize(("field", "value"), BAD_MEMORY_VALUES)
def test_a_memory_that_cannot_be_stored(cast: Cast, field: str, value: object) -> None:
    assert_names_field(send(cast.a, "post", MEMORIES, {"name": "x", field: value}), field)
    assert not Memory.objects.exists()
    kept = new_memory(cast.a, name="kept", description="d", tags=["t"])
    assert_names_field(send(cast.a, "put", f"{MEMORIES}/{kept['id']}", {field: value}), field)
    assert cast.a.get(f"{MEMORIES}/{kept['id']}").json() == kept


@pytest.mark.parametrize("name", [None, "", "  "])
def test_a_name_is_never_cleared(cast: Cast, name: object) -> None:
    kept = new_memory(cast.a)
    assert_names_field(cast.a.put(f"{MEMORIES}/{kept['id']}", {"name": name}, format="json"), "name")


def test_the_longest_values_are_stored(cast: Cast) -> None:
    fields: Record = {"name": "\U0001f600" * 255, "description": "d" * 10_000, "tags": ["t" * 255] * 100}
    record = new_memory(cast.a, **fields)
    assert {name: record[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("raw", "content_type", "status", "code"),
    [
        ("null", JSON, 400, "VALIDATION_FAILED"),
        ("[]", JSON, 400, "VALIDATION_FAILED"),
        ('"x"', JSON, 400, "VALIDATION_FAILED"),
        ("5", JSON, 400, "VALIDATION_FAILED"),
        ("", JSON, 400, "VALIDATION_FAILED"),
        ("{bad", JSON, 400, "VALIDATION_FAILED"),
        ('{"name": NaN}', JSON, 400, "VALIDATION_FAILED"),
        ("hello", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("<name>x</name>", "application/xml", 415, "UNSUPPORTED_MEDIA_TYPE"),
    ],
)
@pytest.mark.parametrize("path", [MEMORIES, ENTRIES])
def test_a_body_that_is_no_object(
    cast: Cast, *, path: str, raw: str, content_type: str, status: int, code: str
) -> None:
    assert_error(cast.a.post(path, raw, content_type=content_type), status, code)


def test_forms_are_read_like_json(cast: Cast) -> None:
    form = "application/x-www-form-urlencoded"
    created = cast.a.post(MEMORIES, "name=formname&tags=a&tags=b", content_type=form)
    assert created.status_code == 201
    assert (created.json()["name"], created.json()["tags"]) == ("formname", ["a", "b"])
    body = f"memory_id={created.json()['id']}&content=Alice+likes+tea&duplicate_threshold=0.5&force=false"
    written = cast.a.post(ENTRIES, body, content_type=form)
    assert (written.status_code, written.json()["content"]) == (201, "Alice likes tea")


@pytest.mark.parametrize(
    ("body", "meta"),
    [
        ({}, {"missingFields": ["memory_id", "content"]}),
        ({"memory_id": "m"}, {"missingFields": ["content"]}),
        ({"content": "x"}, {"missingFields": ["memory_id"]}),
        ({"memory_id": "m", "content": ""}, {"missingFields": ["content"]}),
        ({"memory_id": "m", "content": None}, {"missingFields": ["content"]}),
        ({"memory_id": "", "content": "x"}, {"missingFields": ["memory_id"]}),
        ({"memory_id": "m", "content": "x", "zzz": 1}, {"unknownFields": ["zzz"]}),
        ({"memory_id": "m", "zzz": 1}, {"unknownFields": ["zzz"], "missingFields": ["content"]}),
    ],
)
def test_the_names_in_an_entry(cast: Cast, body: Record, meta: Record) -> None:
    assert_error(cast.a.post(ENTRIES, body, format="json"), 400, "VALIDATION_FAILED", **meta)


BAD_ENTRY_VALUES = [
    ("memory_id", 5),
    ("memory_id", "m" * 65),
    ("content", ["a", "b"]),
    ("content", {"a": 1}),
    ("content", 5),
    ("content", True),
    ("content", "   "),
    ("content", "\u200b\u00ad"),
    ("content", "nul\0byte"),
    ("content", "\ud83d"),
    ("content", "x" * 32_769),
    ("source_type", "bogus"),
    ("source_type", None),
    ("source_type", 1),
    ("source_type", "Manual"),
    ("tags", "a"),
    ("tags", [1]),
    ("tags", ["t" * 256]),
    ("tags", ["\0"]),
    ("tags", ["t"] * 101),
    ("metadata", [1]),
    ("metadata", None),
    ("metadata", "x"),
    ("metadata", {"k": "\0"}),
    ("metadata", {"\0": 1}),
    ("metadata", {"k": ["\ud800"]}),
    ("metadata", {"k": "x" * 262_144}),
    ("metadata", nested(40)),
    ("duplicate_threshold", 2),
    ("duplicate_threshold", -0.01),
    ("duplicate_threshold", "0.5"),
    ("duplicate_threshold", True),
    ("duplicate_threshold", [0.5]),
    ("force", "true"),
    ("force", 1),
    ("force", None),
]


@pytest.mark.parametrize(("field", "value"), BAD_ENTRY_VALUES)
def test_an_entry_that_cannot_be_stored(cast: Cast, memory: Record, field: str, value: object) -> None:
    body = {"memory_id": memory["id"], "content": "Alice likes tea", field: value}
    assert_names_field(send(cast.a, "post", ENTRIES, body), field)
    assert not MemoryEntry.objects.exists()


def test_the_longest_entry_is_stored(cast: Cast, memory: Record) -> None:
    fields: Record = {"content": "\u00fcber " * 6_553 + "end", "tags": ["t" * 255] * 100, "metadata": nested(31)}
    answer = cast.a.post(ENTRIES, {"memory_id": memory["id"], **fields}, format="json")
    assert answer.status_code == 201
    assert {name: answer.json()[name] for name in fields} == fields


@pytest.mark.parametrize(
    "content",
    ["Gosta de caf\u00e9 \u2615 \u65e5\u672c \U0001f389", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "0", "?"],
)
def test_any_visible_text_is_a_fact(cast: Cast, memory: Record, content: str) -> None:
    answer = cast.a.post(ENTRIES, {"memory_id": memory["id"], "content": content}, format="json")
    assert (answer.status_code, answer.json()["content"]) == (201, content)


def test_keys_and_values_of_metadata_are_kept_as_they_came(cast: Cast, memory: Record) -> None:
    metadata: Record = {
        "snake_case": 1,
        "camelCase": 1.0,
        "cafe\u0301": "cafe\u0301",
        "n": None,
        "deep": [{"A": [True]}],
    }
    answer = cast.a.post(ENTRIES, {"memory_id": memory["id"], "content": "x", "metadata": metadata}, format="json")
    assert json.dumps(answer.json()["metadata"], sort_keys=True) == json.dumps(metadata, sort_keys=True)
    stored = cast.a.get(f"{ENTRIES}/{answer.json()['id']}").json()["metadata"]
    assert json.dumps(stored, sort_keys=True) == json.dumps(metadata, sort_keys=True)


def test_checks_come_in_their_order(cast: Cast) -> None:
    """Who asks, what it may do, what it sends, what there is."""
    bad, good = {"memory_id": UNKNOWN_MEMORY}, {"memory_id": UNKNOWN_MEMORY, "content": "x"}
    assert_error(cast.anonymous.post(ENTRIES, bad, format="json"), 401, "UNAUTHORIZED")
    assert_error(cast.outsider.post(ENTRIES, bad, format="json"), 403, "FORBIDDEN")
    assert_error(cast.a.post(ENTRIES, bad, format="json"), 400, "VALIDATION_FAILED")
    assert_error(cast.a.post(ENTRIES, good, format="json"), 404, "RESOURCE_NOT_FOUND")
    assert_error(cast.anonymous.post(MEMORIES, {"zzz": 1}, format="json"), 401, "UNAUTHORIZED")
    assert_error(cast.outsider.post(MEMORIES, {"zzz": 1}, format="json"), 403, "FORBIDDEN")


def test_a_foreign_memory_takes_no_entry(cast: Cast) -> None:
    foreign = new_memory(cast.b)["id"]
    bodies = []
    for target in (foreign, UNKNOWN_MEMORY):
        answer = cast.a.post(ENTRIES, {"memory_id": target, "content": "x"}, format="json")
        assert_error(answer, 404, "RESOURCE_NOT_FOUND")
        bodies.append(answer.json())
    assert bodies[0] == bodies[1]
    assert not MemoryEntry.objects.exists()
