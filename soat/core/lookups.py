"""``LIKE`` with patterns of our own making, which Django's lookups would escape."""

from django.db.models import BooleanField, F, Func, Value


class Like(Func):
    """``column LIKE pattern``, usable in ``filter``; the backslash escapes."""

    template = "%(expressions)s"
    arg_joiner = " LIKE "
    output_field = BooleanField()

    def __init__(self, field: str, pattern: str) -> None:
        super().__init__(F(field), Value(pattern))
