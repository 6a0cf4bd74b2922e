"""Passwords that cost little: a slow hash would be most of the time of these tests."""

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real hasher with few rounds."""
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 1_000)
