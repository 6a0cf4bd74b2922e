"""The login page of the admin: as careful with passwords as the API's."""

from typing import Any

from django import forms
from django.contrib import admin

from soat.core.errors import TooManyRequests
from soat.core.serving import client_address
from soat.tenancy.staff.theme import AuthenticationForm
from soat.tenancy.throttles import forgive_attempts, note_attempt


class ThrottledLoginForm(AuthenticationForm):
    """Username and password, with growing pauses after failures; the API's logins count as well."""

    def clean(self) -> Any:
        """Check the credentials. Raises ``ValidationError``."""
        username = self.cleaned_data.get("username") or ""
        address = client_address(self.request) if self.request is not None else ""
        try:
            note_attempt(username=username, address=address)
        except TooManyRequests as error:
            raise forms.ValidationError(error.message) from None
        values = super().clean()
        forgive_attempts(username=username, address=address)
        return values


admin.site.login_form = ThrottledLoginForm
