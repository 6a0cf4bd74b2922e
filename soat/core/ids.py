"""Public ids: a prefix and 16 random letters and digits. Database keys never leave the server."""

import secrets
import string
from typing import Any

from django.db import models

ALPHABET = string.ascii_letters + string.digits
RANDOM_LENGTH = 16


def new_public_id(prefix: str) -> str:
    """Return a fresh id such as ``mem_4fT0…`` (95 bits of randomness)."""
    return f"{prefix}_" + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))


class PublicIdField(models.CharField):  # type: ignore[type-arg]
    """A unique, generated ``public_id`` column with the resource's prefix."""

    def __init__(self, *args: Any, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        kwargs.setdefault("max_length", 40)
        kwargs.setdefault("unique", True)
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def get_default(self) -> str:
        """Make the id with the instance, so that it is known before the row is saved."""
        return new_public_id(self.prefix)

    def has_default(self) -> bool:
        """Tell Django that a value is always there."""
        return True

    def deconstruct(self) -> Any:
        """Keep the prefix in migrations."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "prefix": self.prefix}
