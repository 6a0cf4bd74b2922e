"""A query that is composed once answers for any values."""

import pytest
from django.db.models import QuerySet

from soat.tenancy.composed import ComposedQuery
from soat.tenancy.models import User


@pytest.mark.django_db
def test_it_is_composed_once_and_asked_with_other_values() -> None:
    made = []

    def users(name: str, epoch: int) -> QuerySet[User, tuple[str, int]]:
        made.append(name)
        return User.objects.filter(username=name, token_epoch=epoch, is_active=True).values_list(
            "username", "token_epoch"
        )

    User.objects.create_user(username="ada", token_epoch=3)
    User.objects.create_user(username="'); DROP TABLE x; --")
    query = ComposedQuery(users, "an example", 99)
    assert query.first("ada", 3) == ("ada", 3)
    assert query.first("'); DROP TABLE x; --", 0) == ("'); DROP TABLE x; --", 0)
    assert query.first("ada", 0) is None
    assert query.first("an example", 99) is None
    assert made == ["an example"]
    with pytest.raises(ValueError, match="zip"):
        query.first("ada")
