"""Forms whose values go to a service, checked by the same rules as the API's bodies."""

import hashlib
import json
from typing import Any, ClassVar

from django import forms
from django.forms.fields import InvalidJSONInput
from rest_framework import serializers

from soat.core.body import Body
from soat.core.errors import SoatError
from soat.tenancy.staff.theme import Textarea

SEEN = "_seen"
CHANGED_MEANWHILE = (
    "Somebody else has changed this since you opened it. These are your values: "
    "save again to put them in place of theirs, or reload the page to see theirs."
)


class PlainTextField(forms.CharField):
    """A text of several lines, stored with line feeds; what a browser does to line ends is no change."""

    def __init__(self, *, rows: int = 6, **kwargs: Any) -> None:
        super().__init__(strip=False, widget=Textarea(attrs={"rows": rows}), **kwargs)

    def to_python(self, value: Any) -> str | None:
        """Return the text with line feeds."""
        text: str | None = _line_feeds(super().to_python(value))
        return text

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare what was shown with what came back; HTML drops a line feed at the very beginning."""
        shown, sent = (_line_feeds(text or "") or "" for text in (initial, data))
        return shown.removeprefix("\n") != sent.removeprefix("\n")


def _line_feeds(text: Any) -> Any:
    return text.replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else text


class LinesField(PlainTextField):
    """A list of strings, one a line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(rows=3, required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Return the text that the form shows."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Return the lines that hold something."""
        return [line.strip() for line in (super().to_python(value) or "").split("\n") if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare as texts: an item that the form cannot show on one line stays as it is until it is edited."""
        return super().has_changed(self.prepare_value(initial), data)


class JsonField(forms.JSONField):
    """A JSON object; an empty field is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=Textarea(attrs={"rows": 4, "class": "soat-json"}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Return the text that the form shows: one member a line."""
        if value is None or isinstance(value, InvalidJSONInput):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return what a form that is shown again shows."""
        try:
            return super().bound_data(data, initial)
        except (ValueError, RecursionError):
            return InvalidJSONInput(data)

    def to_python(self, value: Any) -> Any:
        """Return the object. Raises ``ValidationError``, also for what Python cannot read."""
        try:
            return super().to_python(value)
        except (ValueError, RecursionError):
            raise forms.ValidationError("Enter a valid JSON object.") from None


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form over a model that leaves saving, and the model's invariants, to a service.

    ``schema`` is the API's body with the same fields. ``refusal`` is what the service said to these
    values a moment ago: the form is shown again with it.
    """

    schema: ClassVar[type[Body] | None] = None
    refusal: ClassVar[SoatError | None] = None

    def fingerprint(self) -> str:
        """Return a mark of the values that the object has now; the page carries it (``SEEN``)."""
        values = {name: self.initial[name] for name in self.fields if name in self.initial}
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()

    def clean(self) -> dict[str, Any]:
        """Check the values as the API does, and that nobody changed the object since the page was opened."""
        super().clean()
        if self.instance.pk is not None and self.data.get(SEEN, self.fingerprint()) != self.fingerprint():
            self.add_error(None, CHANGED_MEANWHILE)
        if self.schema is not None:
            for name, field in self.schema().fields.items():
                if self.cleaned_data.get(name) not in (None, ""):
                    self._check(name, field)
        if self.refusal is not None:
            self._show(self.refusal)
        return self.cleaned_data

    def changes(self) -> dict[str, Any]:
        """Return the values that the user changed; an emptied field that may be null is None."""
        return {name: self.value(name) for name in self.changed_data}

    def value(self, name: str) -> Any:
        """Return a value; nothing is None."""
        value = self.cleaned_data.get(name)
        return None if value == "" else value

    def _check(self, name: str, field: Any) -> None:
        try:
            self.cleaned_data[name] = field.run_validation(self.cleaned_data[name])
        except serializers.ValidationError as error:
            self.add_error(name, _first(error.detail))

    def _show(self, refusal: SoatError) -> None:
        reasons = (refusal.meta or {}).get("fields", {})
        named = {name: reason for name, reason in reasons.items() if name in self.fields}
        for name, reason in named.items():
            self.add_error(name, reason)
        if not named:
            self.add_error(None, refusal.message)

    def _post_clean(self) -> None:
        """Leave the instance as it is: the service compares the new values with it."""


def _first(detail: Any) -> str:
    while isinstance(detail, list | dict):
        detail = next(iter(detail.values() if isinstance(detail, dict) else detail), "is not valid.")
    return str(detail)
