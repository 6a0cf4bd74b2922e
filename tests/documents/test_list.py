"""Listing documents, and reading one."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.documents.steps import DOCUMENTS, create, error, ingested, read

PATHS = ("/a", "/a/x.txt", "/a/b/y.txt", "/ab", "/ab/z.txt", "/A/x.txt", "/a%/p.txt", "/a_/u.txt", "/axx/v.txt")


def listed(cast: Cast, **query: Any) -> Any:
    response = cast.a.get(DOCUMENTS, query)
    assert response.status_code == 200, response.content
    return response.json()


def paths(cast: Cast, prefix: str) -> set[str]:
    return {record["path"] for record in listed(cast, path_prefix=prefix)["data"] if "path" in record}


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("/a", {"/a", "/a/x.txt", "/a/b/y.txt"}),
        ("/a/", {"/a", "/a/x.txt", "/a/b/y.txt"}),
        ("a", {"/a", "/a/x.txt", "/a/b/y.txt"}),
        ("//a//b/", {"/a/b/y.txt"}),
        ("/a/b", {"/a/b/y.txt"}),
        ("/a/x.txt", {"/a/x.txt"}),
        ("/ab", {"/ab", "/ab/z.txt"}),
        ("/a%", {"/a%/p.txt"}),
        ("/a_", {"/a_/u.txt"}),
        ("/%", set()),
        ("/_", set()),
        ("/a\\%", set()),
        ("/a/*", set()),
        ("/nothing", set()),
        ("/", set(PATHS)),
        ("", set(PATHS)),
        ("/" + "n" * 1000, set()),
    ],
)
def test_a_path_prefix_is_a_folder_boundary(cast: Cast, prefix: str, expected: set[str]) -> None:
    for path in PATHS:
        create(cast.a, f"text of {path}", path=path)
    create(cast.a, "no path")
    create(cast.b, "elsewhere", path="/a/foreign.txt")
    assert paths(cast, prefix) == expected
    total = listed(cast, path_prefix=prefix)["total"]
    assert total == len(expected) + (prefix.strip("/") == "")


@pytest.mark.parametrize("query", [{"path_prefix": "/a\x00"}, {"path_prefix": "/" + "n" * 2000}, {"prefix": "/a"}])
def test_wrong_queries_are_refused(cast: Cast, query: dict[str, str]) -> None:
    assert error(cast.a.get(DOCUMENTS, query)) == (400, "VALIDATION_FAILED")


def test_pages_never_repeat_or_skip(cast: Cast) -> None:
    made = [create(cast.a, f"text {number}")["id"] for number in range(7)]
    pages = [listed(cast, limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    seen = [record["id"] for page in pages for record in page["data"]]
    assert seen == made[::-1]
    assert [len(page["data"]) for page in pages] == [3, 3, 1, 0]
    assert {(page["total"], page["limit"]) for page in pages} == {(7, 3)}
    assert pages[1]["offset"] == 3


@pytest.mark.parametrize(
    ("query", "limit", "offset"),
    [
        ({}, 50, 0),
        ({"limit": "0"}, 1, 0),
        ({"limit": "-5", "offset": "-1"}, 50, 0),
        ({"limit": "1000000"}, 100, 0),
        ({"limit": "abc", "offset": "x"}, 50, 0),
        ({"limit": "2", "offset": "99999999999999999999"}, 2, 2**31),
    ],
)
def test_limits_are_clamped(cast: Cast, query: dict[str, str], limit: int, offset: int) -> None:
    answer = listed(cast, **query)
    assert (answer["limit"], answer["offset"], answer["data"], answer["total"]) == (limit, offset, [], 0)


def test_a_list_costs_the_same_for_many_as_for_one(
    cast: Cast, django_assert_num_queries: Callable[..., CaptureQueriesContext]
) -> None:
    for number in range(9):
        create(cast.a, f"text {number}", path=f"/p/{number}")
        if number in {0, 8}:
            with django_assert_num_queries(3):  # the key, the rows, their number
                assert len(listed(cast)["data"]) == number + 1


def test_lists_show_no_content(cast: Cast) -> None:
    record = create(cast.a, "secret text", path="/a.txt", title="T", metadata={"k": 1}, tags={"t": "1"})
    assert listed(cast)["data"] == [record]
    assert "content" not in listed(cast)["data"][0]
    assert read(cast.a, record["id"])["content"] == "secret text"


@pytest.mark.parametrize("strategy", ["page", "whole", "size"])
def test_the_content_is_the_text_and_not_its_windows(cast: Cast, strategy: str) -> None:
    text = "".join(f"{number:04d}," for number in range(500))
    record = ingested(cast.a, text.encode(), chunk_strategy=strategy, chunk_size=300, chunk_overlap=299 - 100)
    assert record["content"] == text
    assert record["chunk_strategy"] == strategy


def test_ids_that_are_none(cast: Cast) -> None:
    unknown = ("doc_doesnotexist0000", "x", "a" * 64)
    for document_id, suffix in itertools.product(unknown, ("", "/status", "/tags")):
        assert error(cast.a.get(f"{DOCUMENTS}/{document_id}{suffix}")) == (404, "RESOURCE_NOT_FOUND")
    for document_id in ("a" * 65, "doc-1", "doc%00"):
        assert error(cast.a.get(f"{DOCUMENTS}/{document_id}")) == (404, "RESOURCE_NOT_FOUND")


def test_methods_that_are_none(cast: Cast) -> None:
    record = create(cast.a, "text")
    for method, path in (
        ("put", f"{DOCUMENTS}/{record['id']}"),
        ("delete", DOCUMENTS),
        ("post", f"{DOCUMENTS}/{record['id']}/status"),
        ("get", f"{DOCUMENTS}/{record['id']}/ingest"),
        ("delete", f"{DOCUMENTS}/{record['id']}/tags"),
    ):
        assert error(getattr(cast.a, method)(path)) == (405, "METHOD_NOT_ALLOWED"), (method, path)
