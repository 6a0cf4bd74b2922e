"""One decorator that names an operation in the OpenAPI document."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_serializer,
    inline_serializer,
)
from rest_framework import serializers

ViewT = TypeVar("ViewT", bound=Callable[..., Any])
_OPERATION_ID = "operation_id"
_TAKES_QUERY = "takes_query"
_POLICY_ACTION = "policy_action"
POLICY_ACTION = "x-policy-action"
"""Under this name the OpenAPI document has the action of an operation."""


class ErrorBody(serializers.Serializer[None]):
    """What an error says: a code of the closed set, a sentence, and what it is about."""

    code = serializers.CharField()
    message = serializers.CharField()
    meta = serializers.DictField(required=False)


class ErrorEnvelope(serializers.Serializer[None]):
    """The only shape that an error has."""

    error = ErrorBody()


ERRORS = {
    400: "The request does not fit: `meta` names the fields.",
    401: "There is no valid credential.",
    403: "You may not do this, or not in this project.",
    404: "There is no such thing, or none that you may see.",
    405: "This path does not take this method.",
    409: "The state that the request meets forbids it.",
    413: "The body, or what it asks to be done while it waits, is too large.",
    414: "The address is too long.",
    415: "The content type of the body is not read here.",
    429: "Too many requests: wait for `Retry-After` seconds.",
    431: "The headers are too large or too many.",
    502: "Something outside of the server failed.",
    503: "Something that the answer needs is not there at the moment: wait for `Retry-After` seconds.",
}


def operation(
    operation_id: str,
    *,
    action: str | None,
    tag: str,
    request: Any = None,
    responses: dict[Any, Any],
    query: type[serializers.Serializer[Any]] | None = None,
    headers: Sequence[OpenApiParameter] = (),
) -> Callable[[ViewT], ViewT]:
    """Describe a viewset method; ``operation_id`` is the contract's name for it.

    ``action`` is the policy action that guards it, None where no policy does; each field of ``query`` is a parameter.
    """
    errors = {status: OpenApiResponse(ErrorEnvelope, description) for status, description in ERRORS.items()}
    describe = extend_schema(
        operation_id=operation_id,
        tags=[tag],
        request=request,
        responses={**responses, **errors},
        parameters=[*([query] if query else []), *headers],
        extensions={POLICY_ACTION: action} if action is not None else {},
    )

    def mark(view: ViewT) -> ViewT:
        setattr(view, _OPERATION_ID, operation_id)
        setattr(view, _TAKES_QUERY, query is not None)
        setattr(view, _POLICY_ACTION, action)
        return describe(view)

    return mark


def in_body(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a body that is itself one free object, in each form in which it is read."""
    return {"application/json": schema, "application/x-www-form-urlencoded": schema}


def operation_id_of(view: object) -> str | None:
    """Return the contract's name for an operation, None for what is none."""
    return getattr(view, _OPERATION_ID, None)


def policy_action_of(view: object) -> str | None:
    """Return the policy action that guards an operation, None where no policy does."""
    return getattr(view, _POLICY_ACTION, None)


def takes_query(view: object) -> bool:
    """Tell whether an operation reads its query string (and then checks it itself)."""
    return bool(getattr(view, _TAKES_QUERY, True))


def page_of(name: str, record: type[serializers.Serializer[Any]]) -> Any:
    """Describe a page of ``record``."""
    page = inline_serializer(
        name,
        {
            "data": record(many=True),
            "total": serializers.IntegerField(),
            "limit": serializers.IntegerField(),
            "offset": serializers.IntegerField(),
        },
    )
    # The answer of an action named ``list`` would be taken for an array of pages.
    extend_schema_serializer(many=False)(type(page))
    return page
