"""Who of the staff may see and do what. Mixed in before the admin's base class."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from soat.tenancy.staff.scope import is_superuser, staff_scope

if TYPE_CHECKING:
    from soat.tenancy.staff.base import DeskAdmin as _Admin
else:
    _Admin = object


class TenantRows(_Admin):
    """Rows of projects: everybody but a superuser sees only those of the projects that they are given.

    Lists, pages, actions, history, autocompletion and choices in forms all start from
    ``get_queryset``, so another project's row is as unknown as one that is not there.
    """

    project_field: ClassVar[str] = "project_id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that the user may see."""
        return staff_scope(request).filter(super().get_queryset(request), self.project_field)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Choose the project of a user who has one only."""
        scope = staff_scope(request)
        own = {"project": scope.ids[0]} if len(scope.ids) == 1 else {}
        return {**own, **super().get_changeform_initial_data(request)}

    @admin.display(description="project")
    def shown_project(self, obj: Any) -> str:
        """Return the project's name and id; its page is not open to everybody who sees its rows."""
        return f"{obj.project.name} ({obj.project.public_id})"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may see the rows, or this one."""
        return super().has_view_permission(request) and self._reaches(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may change rows, or this one."""
        return super().has_change_permission(request) and self._reaches(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may delete rows, or this one."""
        return super().has_delete_permission(request) and self._reaches(request, obj)

    def _reaches(self, request: HttpRequest, obj: Any) -> bool:
        # The theme asks with an object's key as well; then the row itself is looked up by ``get_queryset``.
        return not isinstance(obj, Model) or getattr(obj, self.project_field) in staff_scope(request)


class ReadOnly(_Admin):
    """Rows that the server writes by itself: they are looked at, never edited."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False


class SuperuserOnly(_Admin):
    """Users, keys and settings: no group opens them, since whoever edits users can give themselves everything."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Tell whether the app is listed."""
        return is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may see rows."""
        return is_superuser(request) and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tell whether the user may add rows."""
        return is_superuser(request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may change rows."""
        return is_superuser(request) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may delete rows."""
        return is_superuser(request) and super().has_delete_permission(request, obj)
