"""Strict serializer fields: a value of another type is refused, never converted.

Only form-encoded bodies are converted, because everything in them is a string. Every text that
comes in passes ``check_text``, also the ones inside ``metadata`` and ``tags``.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from soat.core.parsers import RepeatedKey, read_json

MAX_JSON_DEPTH = 32
MAX_JSON_CHARACTERS = 262_144

_SURROGATE = re.compile("[\ud800-\udfff]")


def text_fault(text: str) -> str | None:
    """Say why ``text`` cannot be stored (NUL, lone surrogate), or return None."""
    if "\x00" in text:
        return "must not contain the NUL character."
    if not text.isascii() and _SURROGATE.search(text):
        return "must not contain a lone surrogate."
    return None


def _from_form(field: serializers.Field[Any, Any, Any, Any]) -> bool:
    return isinstance(getattr(field.root, "initial_data", None), QueryDict)


class Text(serializers.CharField):
    """A string of at most ``max_length`` characters. ``nfc`` normalises it (paths, names, tags)."""

    def __init__(self, *, max_length: int, nfc: bool = False, blank: bool = False, **kwargs: Any) -> None:
        self.nfc = nfc
        super().__init__(max_length=max_length, allow_blank=blank, trim_whitespace=False, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        """Check type, hygiene and length; the base class's validators only tell the OpenAPI document."""
        is_absent, value = self.validate_empty_values(data)
        return value if is_absent else self.to_internal_value(data)

    def to_internal_value(self, data: Any) -> str:
        """Return the string. Raises ``serializers.ValidationError``."""
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string.")
        if fault := text_fault(data):
            raise serializers.ValidationError(fault)
        value = unicodedata.normalize("NFC", data) if self.nfc else data
        if not self.allow_blank and not value.strip():
            raise serializers.ValidationError("must not be blank.")
        if self.max_length is not None and len(value) > self.max_length:
            raise serializers.ValidationError(f"must be at most {self.max_length} characters long.")
        return value


BOUND_MESSAGES: dict[str, Any] = {
    "min_value": "must be at least {min_value}.",
    "max_value": "must be at most {max_value}.",
}


class WholeNumber(serializers.IntegerField):
    """A JSON integer (not a float, not a boolean) within bounds."""

    default_error_messages = BOUND_MESSAGES

    def to_internal_value(self, data: Any) -> int:
        """Return the integer. Raises ``serializers.ValidationError``."""
        if _from_form(self) and isinstance(data, str):
            try:
                data = int(data)
            except ValueError:
                data = None
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError("must be a whole number.")
        if abs(data) > 2**53:
            raise serializers.ValidationError("is out of range.")
        return data


class Number(serializers.FloatField):
    """A finite JSON number within bounds."""

    default_error_messages = BOUND_MESSAGES

    def to_internal_value(self, data: Any) -> float:
        """Return the float. Raises ``serializers.ValidationError``."""
        if _from_form(self) and isinstance(data, str):
            try:
                data = float(data)
            except ValueError:
                data = None
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise serializers.ValidationError("must be a number.")
        try:
            value = float(data)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise serializers.ValidationError("must be a finite number.")
        return value


class Flag(serializers.BooleanField):
    """``true`` or ``false``; in a query string or a form also ``1`` and ``0``."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the boolean. Raises ``serializers.ValidationError``."""
        if isinstance(data, bool):
            return data
        if _from_form(self) and isinstance(data, str) and data.lower() in {"true", "1", "false", "0"}:
            return data.lower() in {"true", "1"}
        raise serializers.ValidationError("must be true or false.")


class Choice(serializers.ChoiceField):
    """One string of a closed set; with ``allow_blank`` also an empty one."""

    def to_internal_value(self, data: Any) -> str:
        """Return the value. Raises ``serializers.ValidationError``."""
        if data == "" and self.allow_blank:
            return ""
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(f"must be one of {', '.join(str(c) for c in self.choices)}.")
        return data


class TextList(serializers.ListField):
    """A list of non-blank strings. With ``scalar`` a single string counts as a list of one."""

    def __init__(self, *, max_items: int = 1_000, item_length: int = 255, scalar: bool = False, **kwargs: Any) -> None:
        self.max_items = max_items
        self.item_length = item_length
        self.scalar = scalar
        # The base class's bound only tells the OpenAPI document: more are refused before it looks.
        super().__init__(child=serializers.CharField(max_length=item_length), max_length=max_items, **kwargs)

    def to_internal_value(self, data: Any) -> list[str]:
        """Return the strings in NFC, in their order. Raises ``serializers.ValidationError``."""
        if self.scalar and isinstance(data, str):
            data = [data]
        if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
            raise serializers.ValidationError("must be a list of strings.")
        if len(data) > self.max_items:
            raise serializers.ValidationError(f"must have at most {self.max_items} items.")
        item = Text(max_length=self.item_length, nfc=True)
        return [item.to_internal_value(value) for value in data]


def _json_fault(value: Any, depth: int = 0) -> str | None:
    if depth > MAX_JSON_DEPTH:
        return f"must not be nested more than {MAX_JSON_DEPTH} levels deep."
    if isinstance(value, str):
        return text_fault(value)
    if isinstance(value, Mapping):
        children: Sequence[Any] = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        children = value
    elif isinstance(value, float) and not math.isfinite(value):
        return "must hold finite numbers only."
    else:
        return None
    return next((fault for child in children if (fault := _json_fault(child, depth + 1))), None)


@extend_schema_field({"type": "object", "additionalProperties": True})
class JsonObject(serializers.JSONField):
    """A JSON object of bounded depth and size, stored and returned with its keys as they came."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the object. Raises ``serializers.ValidationError``."""
        if _from_form(self) and isinstance(data, str):
            try:
                data = read_json(data)
            except RepeatedKey as error:
                raise serializers.ValidationError(f"cannot be read: {error}.") from None
            except ValueError:
                data = None
        if not isinstance(data, dict):
            raise serializers.ValidationError("must be a JSON object.")
        if fault := _json_fault(data):
            raise serializers.ValidationError(fault)
        if len(json.dumps(data)) > MAX_JSON_CHARACTERS:
            raise serializers.ValidationError(f"must be at most {MAX_JSON_CHARACTERS} characters of JSON.")
        return data


TAG_MAP = {"type": "object", "additionalProperties": {"type": "string"}}


@extend_schema_field(TAG_MAP)
class TagMap(JsonObject):
    """An object of strings: keys as they came, values in NFC."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Return the tags. Raises ``serializers.ValidationError``."""
        tags = super().to_internal_value(data)
        if not all(isinstance(value, str) and key for key, value in tags.items()):
            raise serializers.ValidationError("must be an object whose values are strings.")
        return {key: unicodedata.normalize("NFC", value) for key, value in tags.items()}
