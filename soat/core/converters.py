"""How a public id looks in a path."""

from django.urls import register_converter


class PublicIdConverter:
    """Anything that could be a public id; everything else is an unknown path."""

    regex = r"[A-Za-z0-9_]{1,64}"

    def to_python(self, value: str) -> str:
        """Return the id."""
        return value

    def to_url(self, value: str) -> str:
        """Return the id."""
        return value


register_converter(PublicIdConverter, "public_id")
