"""The login page of the admin: as careful with passwords as the API's."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from soat.core.errors import TooManyRequests
from soat.core.serving import client_address
from soat.tenancy.staff.theme import AuthenticationForm
from soat.tenancy.throttles import forgive_attempts, note_attempt


class ThrottledLoginForm(AuthenticationForm):
    """Username and password, with growing pauses after failures; the API's logins count as well."""

    pause: int | None = None

    def clean(self) -> Any:
        """Check the credentials. Raises ``ValidationError``."""
        username = self.cleaned_data.get("username") or ""
        address = client_address(self.request) if self.request is not None else ""
        try:
            note_attempt(username=username, address=address)
        except TooManyRequests as error:
            self.pause = error.retry_after
            raise forms.ValidationError(error.message) from None
        values = super().clean()
        forgive_attempts(username=username, address=address)
        return values


def login(request: HttpRequest) -> HttpResponse:
    """Show the login page or let somebody in; 429 during a pause."""
    response = admin.site.login(request)
    form = (response.context_data or {}).get("form") if isinstance(response, TemplateResponse) else None
    if isinstance(form, ThrottledLoginForm) and form.pause is not None:
        response.status_code = TooManyRequests.status
        response["Retry-After"] = str(form.pause)
    return response


admin.site.login_form = ThrottledLoginForm
