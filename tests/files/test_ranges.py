"""Byte ranges: the parser against a plain model, and the answers of downloads."""

import base64
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.files.ranges import ByteRange, RangeUnsatisfiable, parse_range
from tests.api.answers import body_of, error_of
from tests.conftest import Cast
from tests.files.conftest import Store
from tests.files.forms import BASE64

FILES = "/api/v1/files"
CONTENT = bytes(range(256)) * 4


@given(first=st.none() | st.integers(0, 30), last=st.none() | st.integers(0, 30), size=st.integers(0, 20))
def test_a_range_is_the_slice_that_it_names(first: int | None, last: int | None, size: int) -> None:
    whole = bytes(range(size))
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    is_nonsense = (first is None and last is None) or (first is not None and last is not None and last < first)
    if first is None:
        wanted = whole[max(size - (last or 0), 0) :]
    else:
        wanted = whole[first:] if last is None else whole[first : last + 1]
    try:
        found = parse_range(header, size)
    except RangeUnsatisfiable:
        assert wanted == b""
        return
    if is_nonsense:
        assert found is None
    else:
        assert found is not None
        assert whole[found.first : found.last + 1] == wanted
        assert found.length == len(wanted) > 0


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1", "bytes=1", "bytes=2-1"),
        "bytes=\u0663-",
        "bytes=" + "9" * 5_000 + "-",
    ],
)
def test_what_is_no_single_range_means_the_whole_file(header: str | None) -> None:
    assert parse_range(header, 10) is None


def test_spaces_and_case_do_not_matter() -> None:
    assert parse_range(" Bytes = 1 - 2 ", 10) == ByteRange(1, 2)


@pytest.fixture
def path(committed_cast: Cast, store: Store) -> str:
    body = {"content": base64.b64encode(CONTENT).decode(), "filename": "x.bin"}
    made = body_of(committed_cast.a.post(BASE64, body, format="json"), 201)
    return f"{FILES}/{made['id']}/download"


def get(cast: Cast, path: str, **headers: str) -> Any:
    return cast.a.get(path, headers=headers)


def content_of(response: Any) -> bytes:
    return b"".join(response.streaming_content)


@pytest.mark.parametrize(
    ("wanted", "part", "shown"),
    [
        ("bytes=0-0", CONTENT[:1], "bytes 0-0/1024"),
        ("bytes=10-19", CONTENT[10:20], "bytes 10-19/1024"),
        ("bytes=1000-", CONTENT[1000:], "bytes 1000-1023/1024"),
        ("bytes=1000-9999", CONTENT[1000:], "bytes 1000-1023/1024"),
        ("bytes=-5", CONTENT[-5:], "bytes 1019-1023/1024"),
        ("bytes=-9999", CONTENT, "bytes 0-1023/1024"),
    ],
)
def test_a_range_is_sent_as_such(committed_cast: Cast, path: str, wanted: str, part: bytes, shown: str) -> None:
    response = get(committed_cast, path, Range=wanted)
    assert response.status_code == 206
    assert (response["Content-Range"], response["Content-Length"]) == (shown, str(len(part)))
    assert content_of(response) == part


def test_the_whole_file_says_that_it_has_parts(committed_cast: Cast, path: str) -> None:
    for headers in ({}, {"Range": "bytes=0-1,3-4"}):
        response = get(committed_cast, path, **headers)
        assert response.status_code == 200
        assert (response["Accept-Ranges"], response["Content-Length"]) == ("bytes", "1024")
        assert response["Content-Security-Policy"].startswith("sandbox")
        assert response["X-Content-Type-Options"] == "nosniff"
        assert content_of(response) == CONTENT


def test_a_range_behind_the_end_is_refused_with_the_size(committed_cast: Cast, path: str) -> None:
    response = get(committed_cast, path, Range="bytes=1024-")
    error_of(response, 416)
    assert response["Content-Range"] == "bytes */1024"


def test_a_part_is_sent_only_of_the_bytes_that_the_client_has_begun(committed_cast: Cast, path: str) -> None:
    def status_of(**headers: str) -> int:
        with closing(get(committed_cast, path, **headers)) as response:
            return int(response.status_code)

    with closing(get(committed_cast, path)) as response:
        tag = response["ETag"]
    assert status_of(Range="bytes=0-1", **{"If-Range": tag}) == 206
    for other in ('"other"', f"W/{tag}", "Tue, 01 Dec 2026 00:00:00 GMT"):
        assert status_of(Range="bytes=0-1", **{"If-Range": other}) == 200
    assert status_of(**{"If-None-Match": tag}) == 304
    assert status_of(**{"If-None-Match": '"other"'}) == 200


def test_head_tells_the_size_and_sends_nothing(committed_cast: Cast, path: str) -> None:
    with closing(committed_cast.a.head(path, headers={"Range": "bytes=0-1"})) as response:
        assert (response.status_code, response["Content-Length"]) == (200, "1024")
