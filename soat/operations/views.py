"""``GET /metrics`` for Prometheus."""

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework.request import Request

from soat.api.errors import envelope, not_found
from soat.core.errors import SoatError
from soat.operations.process_metrics import exposition
from soat.operations.state import state_exposition
from soat.operations.worker_metrics import allows
from soat.tenancy.access import require_admin
from soat.tenancy.authentication import BearerAuthentication


@csrf_exempt
def metrics(request: HttpRequest) -> HttpResponseBase:
    """Answer whoever brings ``METRICS_TOKEN`` or an admin's own credential.

    Without that setting everybody else is told that there is nothing here.
    """
    if not allows(request.headers.get("Authorization", "")) and not _is_admin(request):
        if not settings.METRICS_TOKEN:
            return not_found(request)
        message = "The metrics need the METRICS_TOKEN or an admin's token."
        return JsonResponse(envelope("UNAUTHORIZED", message), status=401, headers={"WWW-Authenticate": "Bearer"})
    if request.method not in {"GET", "HEAD"}:
        message = f"Method {request.method} is not allowed."
        return JsonResponse(envelope("METHOD_NOT_ALLOWED", message), status=405, headers={"Allow": "GET, HEAD"})
    return HttpResponse(exposition() + state_exposition(), content_type=CONTENT_TYPE_LATEST)


def _is_admin(request: HttpRequest) -> bool:
    try:
        found = BearerAuthentication().authenticate(Request(request))
        if found is None:
            return False
        require_admin(found[1])
    except (SoatError, DatabaseError):
        return False
    return True
