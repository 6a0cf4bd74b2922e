"""A page parameter is never an error, and a page is never larger than the limit."""

import pytest

from soat.core.pages import MAX_OFFSET, page_window


@pytest.mark.parametrize(
    ("raw", "limit"),
    [
        (None, 50),
        ("", 50),
        ("1", 1),
        ("50", 50),
        ("100", 100),
        ("101", 100),
        ("1000000", 100),
        ("9" * 20, 100),
        ("0", 1),
        ("-1", 50),
        ("abc", 50),
        ("1.5", 50),
        ("1e2", 50),
        ("1_0", 50),
        ("٣", 50),
        ("²", 50),
        ("0x10", 50),
        ("NaN", 50),
        ("\x00", 50),
        ("10\x00", 50),
        (" 7 ", 7),
        ("9" * 5_000, 50),
        (["5"], 50),
    ],
)
def test_the_limit(raw: object, limit: int) -> None:
    assert page_window({} if raw is None else {"limit": raw}) == (limit, 0)


@pytest.mark.parametrize(
    ("raw", "offset"),
    [("0", 0), ("7", 7), ("-1", 0), ("abc", 0), ("1.5", 0), ("9" * 20, MAX_OFFSET), ("", 0)],
)
def test_the_offset(raw: str, offset: int) -> None:
    assert page_window({"offset": raw}) == (50, offset)
