"""Which projects a staff user works in."""

from django.http import HttpRequest

from soat.tenancy.access import ALL_PROJECTS, NO_PROJECT, ProjectScope
from soat.tenancy.models import ProjectMembership, User

_CACHE = "staff_scope"


def staff_scope(request: HttpRequest) -> ProjectScope:
    """Return the projects whose rows the request's user sees in the admin.

    All of them for a superuser, for others those that they are given; read once a request.
    """
    known = getattr(request, _CACHE, None)
    if isinstance(known, ProjectScope):
        return known
    scope = _scope_of(request.user)
    setattr(request, _CACHE, scope)
    return scope


def _scope_of(user: object) -> ProjectScope:
    if not isinstance(user, User) or not user.is_active or not user.is_staff:
        return NO_PROJECT
    if user.is_superuser:
        return ALL_PROJECTS
    given = ProjectMembership.objects.filter(user=user, project__deleting_at=None).order_by("project_id")
    return ProjectScope(everything=False, ids=tuple(given.values_list("project_id", flat=True)))


def is_superuser(request: HttpRequest) -> bool:
    """Tell whether the request's user may see keys, users and settings."""
    user = request.user
    return isinstance(user, User) and user.is_active and user.is_staff and user.is_superuser
