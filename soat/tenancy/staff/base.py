"""The base classes of all admin modules."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected as confirm_deletion
from django.contrib.admin.exceptions import NotRegistered
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from soat.core.errors import SoatError
from soat.core.ids import RANDOM_LENGTH
from soat.tenancy.staff.forms import ServiceForm
from soat.tenancy.staff.markup import Table, link
from soat.tenancy.staff.outside import REFUSAL
from soat.tenancy.staff.pages import BoundedChangeList, BoundedPaginator
from soat.tenancy.staff.theme import ModelAdmin

MAX_WORDS = 8
MAX_ROWS_PER_ACTION = 1_000
MAX_FAILURES_SHOWN = 5
AUTOCOMPLETE_REACH = 200


class DeskAdmin(ModelAdmin):  # type: ignore[type-arg]
    """A model in the admin: its list stays fast at any size, and what belongs to a row is shown below it.

    A search word that is a public id finds the rows that it names (``id_lookups``: prefix to lookup);
    every other word must occur in one of ``text_lookups``.
    """

    id_lookups: ClassVar[Mapping[str, str]] = {}
    text_lookups: ClassVar[Sequence[str]] = ()
    search_fields = ("public_id",)

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_filter_submit = True
    ordering = ("-id",)
    warn_unsaved_form = True
    compressed_fields = True
    change_form_outer_after_template = "admin/related_tables.html"
    actions: Sequence[Any] | None = ("delete_selected",)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the change list that counts nothing."""
        return BoundedChangeList

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> BoundedPaginator:
        """Return the paginator; who chooses from a list types more instead of turning many pages."""
        pages = self.paginator(*args, **kwargs)
        if request.resolver_match is not None and request.resolver_match.url_name == "autocomplete":
            pages.reach = AUTOCOMPLETE_REACH
        return pages

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Keep the rows in which every word is found."""
        for word in search_term.replace("\x00", " ").split()[:MAX_WORDS]:
            queryset = queryset.filter(self.found_by(request, word))
        return queryset, False

    def found_by(self, request: HttpRequest, word: str) -> Q:
        """Return the condition that a search word stands for."""
        prefix, _, rest = word.rpartition("_")
        if prefix in self.id_lookups and len(rest) == RANDOM_LENGTH:
            return Q(**{self.id_lookups[prefix]: word})
        anywhere = Q(pk__in=())
        for lookup in self.text_lookups:
            anywhere |= Q(**{f"{lookup}__icontains": word})
        return anywhere

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> Any:
        """Let a form choose only among rows that the user sees in the related list."""
        try:
            related = self.admin_site.get_model_admin(db_field.remote_field.model)
        except NotRegistered:
            return super().get_field_queryset(db, db_field, request)
        return related.get_queryset(request)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Leave out the menus that add, change and delete a related row from within a form."""
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            for right in ("can_add_related", "can_change_related", "can_delete_related", "can_view_related"):
                setattr(field.widget, right, False)
        return field

    def related_tables(self, request: HttpRequest, obj: Any) -> list[Table]:
        """Return what is shown below the object."""
        return []

    def render_change_form(  # noqa: PLR0917  (Django calls it by position)
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        """Add the tables of what belongs to the object."""
        context["tables"] = self.related_tables(request, obj) if obj is not None else []
        return super().render_change_form(request, context, add, change, form_url, obj)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any) -> Any:
        """Refuse an action on more rows than one request can take."""
        everything = forms.BooleanField(required=False).to_python(request.POST.get("select_across"))
        if everything and len(queryset.order_by().values_list("pk")[: MAX_ROWS_PER_ACTION + 1]) > MAX_ROWS_PER_ACTION:
            messages.error(
                request,
                f"An action takes at most {MAX_ROWS_PER_ACTION:,} rows at a time: narrow the list first.",
            )
            return HttpResponseRedirect(request.get_full_path())
        return super().response_action(request, queryset, *args, **kwargs)

    def for_each(self, request: HttpRequest, rows: QuerySet[Any], act: Callable[[Any], object]) -> int:
        """Do something to each row through a service, say what was refused, and return how many went well."""
        done = 0
        refusals: list[str] = []
        for obj in rows:
            name = str(obj)
            try:
                act(obj)
            except SoatError as refusal:
                refusals.append(f"{name[:80]}: {refusal.message}")
            else:
                done += 1
        for text in refusals[:MAX_FAILURES_SHOWN]:
            messages.error(request, text)
        if len(refusals) > MAX_FAILURES_SHOWN:
            messages.error(request, f"… and {len(refusals) - MAX_FAILURES_SHOWN:,} more were refused.")
        return done

    @admin.action(permissions=["delete"], description="Delete selected %(verbose_name_plural)s")
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Ask first, then delete each row through its service."""
        if not request.POST.get("post"):
            return confirm_deletion(self, request, queryset)
        done = self.for_each(request, queryset, lambda obj: self.delete_model(request, obj))
        if done:
            messages.success(request, f"{done:,} {self.named(done)} deleted.")
        return None

    def unknown(self, request: HttpRequest, object_id: str) -> HttpResponseRedirect:
        """Answer for a row that is not there, or not for this user."""
        messages.warning(request, f"There is no {self.opts.verbose_name} with the key “{object_id}”.")
        return HttpResponseRedirect(reverse("admin:index"))

    def named(self, number: int) -> str:
        """Return what so many rows are called."""
        return str(self.opts.verbose_name if number == 1 else self.opts.verbose_name_plural)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Return what a deletion takes along, without reading all of it."""
        listed: list[Any] = []
        protected: list[Any] = []
        for obj in objs:
            listed.append(link(obj))
            if effects := self.deletion_effects(obj):
                listed.append(effects)
            protected.extend(self.deletion_obstacles(obj))
        return listed, {self.named(len(objs)): len(objs)}, set(), protected

    def deletion_effects(self, obj: Any) -> list[str]:
        """Return in words what goes with the object."""
        return []

    def deletion_obstacles(self, obj: Any) -> list[Any]:
        """Return what keeps the object from being deleted."""
        return []

    def remove(self, obj: Any) -> None:
        """Delete the object through its service. Raises ``SoatError``."""
        obj.delete()

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete, and log it once it is done. Raises ``SoatError``."""
        key, name = obj.pk, self.log_name(obj)
        self.remove(obj)
        self.log(request, key, name, DELETION, "")

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Leave the log to ``delete_model``: nothing has been deleted yet when Django calls this."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log that the object was added."""
        self.log(request, obj.pk, self.log_name(obj), ADDITION, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log what was changed."""
        self.log(request, obj.pk, self.log_name(obj), CHANGE, message)

    def log_name(self, obj: Any) -> str:
        """Return what the log calls the object; the log outlives it."""
        return str(obj)

    def log(self, request: HttpRequest, key: object, name: str, flag: int, message: Any) -> None:
        """Write a line of the log."""
        LogEntry.objects.create(
            user_id=cast("int", request.user.pk),
            content_type_id=get_content_type_for_model(self.model).pk,
            object_id=str(key),
            object_repr=name[:200],
            action_flag=flag,
            change_message=message if isinstance(message, str) else json.dumps(message),
        )


class ServiceAdmin(DeskAdmin):
    """A model whose rows are written by services only; ``form`` is a ``ServiceForm``."""

    form = ServiceForm
    change_form_before_template = "admin/seen.html"

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Let the form show what the service said to its values."""
        form_class: Any = super().get_form(request, obj, change, **kwargs)
        form_class.refusal = getattr(request, REFUSAL, None)
        return form_class

    def create(self, request: HttpRequest, form: Any) -> Any:
        """Create the object through its service and return it. Raises ``SoatError``."""
        raise NotImplementedError

    def update(self, request: HttpRequest, form: Any) -> Any:
        """Change ``form.instance`` through its service and return it. Raises ``SoatError``."""
        raise NotImplementedError

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        """Let the service write what the valid form holds."""
        return self.update(request, form) if change else self.create(request, form)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Leave it: the service has written the object."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Leave it: nothing else belongs to the form."""
