"""Error pages: HTML for people in the admin, the API's own answer everywhere else."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from soat.api import errors


def _is_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))


def _page(request: HttpRequest, status: int, title: str, text: str) -> HttpResponseBase:
    return render(request, "admin/error.html", {"title": title, "text": text}, status=status)


def bad_request(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
    """Answer a request that Django itself refuses."""
    if not _is_admin(request):
        return errors.bad_request(request)
    return _page(request, 400, "This request cannot be read", "Go back and try again.")


def forbidden(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
    """Answer a request for which the user has no right."""
    if not _is_admin(request):
        return errors.forbidden(request)
    return _page(request, 403, "This is not open to you", "Ask an admin, if you think that it should be.")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """Answer a form that was not sent from our own pages, or from one that is too old."""
    if not _is_admin(request):
        return errors.forbidden(request)
    return _page(
        request, 403, "This form is out of date", "Reload the page on which you filled it in, and send it again."
    )


def not_found(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
    """Answer an unknown path."""
    if not _is_admin(request):
        return errors.not_found(request)
    return _page(request, 404, "There is nothing here", "What you look for may have been deleted.")


def server_error(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
    """Answer a crash."""
    if not _is_admin(request):
        return errors.server_error(request)
    return _page(request, 500, "Something went wrong on the server", "It has been logged. Try again shortly.")
