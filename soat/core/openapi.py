"""One decorator that names an operation in the OpenAPI document."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers

ViewT = TypeVar("ViewT", bound=Callable[..., Any])


def operation(
    operation_id: str,
    *,
    tag: str,
    request: Any = None,
    responses: dict[Any, Any],
    query: Sequence[OpenApiParameter] = (),
) -> Callable[[ViewT], ViewT]:
    """Describe a viewset method; ``operation_id`` is the contract's name for it."""
    return extend_schema(
        operation_id=operation_id, tags=[tag], request=request, responses=responses, parameters=list(query)
    )


def page_of(name: str, record: type[serializers.Serializer[Any]]) -> Any:
    """Describe a page of ``record``."""
    return inline_serializer(
        name,
        {
            "data": record(many=True),
            "total": serializers.IntegerField(),
            "limit": serializers.IntegerField(),
            "offset": serializers.IntegerField(),
        },
    )


def query_parameter(name: str, kind: type, description: str, *, required: bool = False) -> OpenApiParameter:
    """Describe one query parameter."""
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, required=required, description=description)


PAGE_QUERY = (
    query_parameter("limit", int, "Rows in the answer: 50 by default, clamped to 1..100."),
    query_parameter("offset", int, "Rows to pass over."),
)
PROJECT_QUERY = query_parameter("project_id", str, "Only this project; without it all that you may read.")
