"""Where a request comes from."""

from typing import Any

import pytest
from django.test import RequestFactory

from soat.core.serving import client_address


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:443", "192.0.2.7"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::1"),
        ("fe80::1%" + "x" * 100, "fe80::1"),
        ("203.0.113.9, 192.0.2.7", "192.0.2.7"),
        ("nowhere", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_the_address_that_a_proxy_names(settings: Any, forwarded: str, address: str) -> None:
    settings.TRUSTED_PROXIES = 1
    assert client_address(RequestFactory().get("/", HTTP_X_FORWARDED_FOR=forwarded)) == address


def test_nobody_names_an_address_where_no_proxy_is_trusted() -> None:
    assert client_address(RequestFactory().get("/", HTTP_X_FORWARDED_FOR="192.0.2.7")) == "127.0.0.1"
