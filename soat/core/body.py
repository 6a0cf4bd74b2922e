"""The base of every request body and query string: closed sets of fields, errors that name them."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.fields import empty

from soat.core.errors import ValidationFailed, printable

MAX_NAMED_FIELDS = 20


class Body(serializers.Serializer[Any]):
    """A serializer that only validates.

    An unknown field, a missing one and a wrong value each become ``ValidationFailed`` with the
    field's name; unknown and missing ones are reported together. ``null`` and an empty string
    count as missing where a value is required. A field's ``default`` is told in the OpenAPI document and
    not filled in here: services tell what was sent from what was not.
    """

    def run_validation(self, data: Any = empty) -> Any:
        """Return the validated values; ``null`` is no body either."""
        return self.to_internal_value(data)

    def to_internal_value(self, data: Any) -> Any:
        """Return the validated values of the fields that were sent."""
        if not isinstance(data, Mapping):
            raise ValidationFailed("The body must be a JSON object.")
        self._check_names(data)
        values: dict[str, Any] = {}
        for name, field in self.fields.items():
            if name not in data:
                continue
            values[name] = _field_value(field, _sent(data, name, field), name)
        return values

    def _check_names(self, data: Mapping[str, Any]) -> None:
        unknown = [printable(name) for name in data if name not in self.fields][:MAX_NAMED_FIELDS]
        missing = [
            name
            for name, field in self.fields.items()
            if field.required and data.get(name) in (None, "") and not isinstance(data.get(name), bool)
        ]
        if not unknown and not missing:
            return
        meta: dict[str, Any] = {}
        parts = []
        if unknown:
            meta["unknownFields"] = unknown
            parts.append(f"unknown field {', '.join(unknown)}")
        if missing:
            meta["missingFields"] = missing
            parts.append(f"missing field {', '.join(missing)}")
        raise ValidationFailed(f"The request does not fit: {' and '.join(parts)}.", meta=meta)


def _field_value(field: Any, raw: Any, name: str) -> Any:
    """Return the value of one field. Raises ``ValidationFailed`` with its name."""
    try:
        if raw is None and not field.allow_null:
            raise serializers.ValidationError("must not be null.")
        return field.run_validation(raw)
    except serializers.ValidationError as error:
        message = _first_message(error.detail)
        raise ValidationFailed(f"{name} {message}", meta={"fields": {name: message}}) from None


def _sent(data: Mapping[str, Any], name: str, field: Any) -> Any:
    """Return the value of a field as it came. Raises ``ValidationFailed`` for one of a form that came twice."""
    if not isinstance(data, QueryDict):
        return data[name]
    if isinstance(field, serializers.ListField):
        return data.getlist(name)
    if not getattr(field, "takes_anything", False):
        _refuse_repeated(data, name)
    return data[name]


def _refuse_repeated(form: QueryDict, name: str) -> None:
    """Raise ``ValidationFailed`` for a name that occurs twice: as in JSON, somebody would have meant the other."""
    if len(form.getlist(name)) > 1:
        shown, message = printable(name), "must not be given twice."
        raise ValidationFailed(f"{shown} {message}", meta={"fields": {shown: message}})


def _first_message(detail: Any) -> str:
    while isinstance(detail, list | dict):
        detail = next(iter(detail.values() if isinstance(detail, dict) else detail), "is not valid.")
    message = str(detail)
    return message[:1].lower() + message[1:]


def validated(serializer_class: type[Body], data: Any) -> dict[str, Any]:
    """Return the validated values of ``data``. Raises ``ValidationFailed``."""
    serializer = serializer_class(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def free_object(field: Any, data: Any, name: str) -> Any:
    """Validate a body that is itself one free object, such as a map of tags. Raises ``ValidationFailed``."""
    if isinstance(data, QueryDict):
        for key in data:
            _refuse_repeated(data, key)
    return _field_value(field, data, name)
