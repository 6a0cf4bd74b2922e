"""Users, groups, projects and API keys in the admin."""

import unicodedata
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from soat.audit.services import record
from soat.core.errors import Conflict
from soat.tenancy import keys, projects, services
from soat.tenancy.api.schemas import ApiKeyUpdate, ProjectUpdate
from soat.tenancy.deletion import project_contents
from soat.tenancy.models import ApiKey, Project, ProjectMembership, Role, User
from soat.tenancy.staff.base import DeskAdmin, ServiceAdmin
from soat.tenancy.staff.filters import RelatedFilter
from soat.tenancy.staff.forms import ServiceForm
from soat.tenancy.staff.markup import NONE, Table, Tone, anchor, badge, code, link, list_url, moment
from soat.tenancy.staff.rights import SuperuserOnly
from soat.tenancy.staff.scope import staff_scope
from soat.tenancy.staff.theme import AdminPasswordChangeForm, AdminUserCreationForm, ChoicesFilter, TabularInline

LISTED = 10


class UserForm(forms.ModelForm):  # type: ignore[type-arg]
    """Everything of a user but the password, which has a form of its own."""

    editor: ClassVar[User | None] = None

    def clean_username(self) -> str:
        """Return the name as a login normalises it."""
        return unicodedata.normalize("NFC", self.cleaned_data["username"])

    def clean(self) -> dict[str, Any]:
        """Refuse that somebody locks themselves out: so there is always one admin who can come in."""
        values = super().clean() or self.cleaned_data
        if self.editor is not None and self.instance.pk == self.editor.pk:
            stays = values.get("role") == Role.ADMIN and values.get("is_staff") and values.get("is_active")
            if not stays:
                raise forms.ValidationError("You cannot take your own rights away: ask another admin.")
        return values


class NewUserForm(AdminUserCreationForm):  # type: ignore[type-arg]
    """A user and the password, twice."""

    class Meta:
        model = User
        fields = ("username", "role", "is_staff")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["usable_password"].label = "Password"
        self.fields["usable_password"].help_text = "A user without one works with API keys only."

    def clean_username(self) -> Any:
        """Return the name as a login normalises it. Raises ``ValidationError`` for one that differs in case only."""
        self.cleaned_data["username"] = unicodedata.normalize("NFC", self.cleaned_data["username"])
        return super().clean_username()


class NewPasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    """A new password for a user, or none."""

    def save(self, commit: bool = True) -> Any:
        """Save it, with the line that says that it was done and no more."""
        with transaction.atomic():
            user = super().save(commit)
            record("user", user.public_id, project_id=None, after={"password": "set anew"})
        return user


class InTransaction(DeskAdmin):
    """Rows that the form saves itself: with what hangs on them, and with the line in the audit trail, or not at all."""

    def changeform_view(self, *args: Any, **kwargs: Any) -> Any:
        """Show or save the form."""
        with transaction.atomic():
            return super().changeform_view(*args, **kwargs)


class MembershipInline(TabularInline):  # type: ignore[type-arg]
    """The projects of a user who curates."""

    model = ProjectMembership
    fields = ("project",)
    autocomplete_fields = ("project",)
    extra = 0
    verbose_name_plural = "projects to curate (for staff who are no admins)"
    hide_title = True


@admin.register(User)
class UserAdmin(SuperuserOnly, DjangoUserAdmin, InTransaction):  # type: ignore[type-arg]
    """Users, their roles and the projects that they curate."""

    form = UserForm
    add_form = NewUserForm
    change_password_form = NewPasswordForm
    inlines = (MembershipInline,)
    list_display = ("username", "shown_role", "is_staff", "is_active", "shown_login", "shown_created")
    list_filter = (("role", ChoicesFilter), "is_staff", "is_active", ("groups", RelatedFilter))
    search_fields = ("username",)
    search_help_text = "Name or id"
    id_lookups: ClassVar = {"user": "public_id"}
    text_lookups = ("username",)
    ordering = ("-id",)
    readonly_fields = ("public_id", "shown_password", "last_login", "created_at", "updated_at")
    filter_horizontal = ()
    autocomplete_fields = ("groups", "policies")
    fieldsets = (
        (None, {"fields": ("username", "shown_password", "role", "is_active")}),
        (
            "API",
            {"fields": ("policies",), "description": "What the user may do over the API. An admin needs none."},
        ),
        ("Admin pages", {"fields": ("is_staff", "groups")}),
        ("Record", {"fields": ("public_id", "last_login", "created_at", "updated_at")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "usable_password", "password1", "password2", "role", "is_staff")}),)

    @admin.display(description="role", ordering="role")
    def shown_role(self, user: User) -> str:
        """Return the role as a label."""
        return badge(user.get_role_display(), Tone.WARN if user.role == Role.ADMIN else Tone.PLAIN)

    @admin.display(description="last login", ordering="last_login")
    def shown_login(self, user: User) -> str:
        """Return when the user last logged in to the admin."""
        return moment(user.last_login)

    @admin.display(description="created", ordering="id")
    def shown_created(self, user: User) -> str:
        """Return when the user was made."""
        return moment(user.created_at)

    @admin.display(description="password")
    def shown_password(self, user: User) -> str:
        """Return a link to the form that sets a new one."""
        return anchor("../password/", "Set a new password" if user.has_usable_password() else "Set a password")

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Give projects to a user that is there."""
        return self.inlines if obj is not None else ()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Tell the form who edits."""
        form_class: Any = super().get_form(request, obj, change=change, **kwargs)
        form_class.editor = request.user
        return form_class

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the user with what follows from the role."""
        services.assign_role(obj, obj.role)
        changed = [name for name in form.changed_data if "password" not in name]
        before = {name: _audited(form.initial.get(name)) for name in changed} if change else None
        super().save_model(request, obj, form, change)
        after = {name: _audited(form.cleaned_data.get(name)) for name in changed}
        record("user", obj.public_id, project_id=None, before=before, after=after)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save the projects that the user curates."""
        before = _curated(form.instance)
        super().save_formset(request, form, formset, change)
        after = _curated(form.instance)
        if after != before:
            values = {"before": {"curates": before}, "after": {"curates": after}}
            record("user", form.instance.public_id, project_id=None, **values)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes themselves."""
        return super().has_delete_permission(request, obj) and (obj is None or obj != request.user)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete another user. Raises ``Conflict`` for oneself."""
        if obj == request.user:
            raise Conflict("You cannot delete yourself.")
        super().delete_model(request, obj)

    def remove(self, obj: User) -> None:
        """Delete the user. Raises ``Conflict`` for the last admin."""
        services.delete_user(user=obj)

    def deletion_effects(self, obj: User) -> list[str]:
        """Say what ends with the user."""
        owned = obj.api_keys.count()
        return [
            f"{owned:,} API keys of the user, which stop working at once",
            "their lines in the change histories (a user who is made inactive keeps them)",
        ]

    def related_tables(self, request: HttpRequest, obj: User) -> list[Table]:
        """Return the user's newest keys."""
        owned = obj.api_keys.select_related("project")[:LISTED]
        rows = [(link(key), code(f"{key.key_prefix}…"), key.project or NONE, moment(key.created_at)) for key in owned]
        more = ("All keys of this user", list_url("tenancy_apikey", user__id__exact=obj.pk))
        return [Table("API keys", ("Key", "Begins with", "Bound to", "Created"), rows, more)]


def _curated(user: User) -> list[str]:
    projects = Project.objects.filter(memberships__user=user).order_by("pk")
    return list(projects.values_list("public_id", flat=True))


def _audited(value: Any) -> Any:
    """Return a form's value as the audit trail shows it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return [str(row) for row in (value if isinstance(value, list | tuple | QuerySet) else [value])]


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(SuperuserOnly, DjangoGroupAdmin, InTransaction):
    """Groups of staff users, such as the curators."""

    search_fields = ("name",)
    text_lookups = ("name",)
    ordering = ("name",)

    def save_model(self, request: HttpRequest, obj: Group, form: Any, change: bool) -> None:
        """Save the group. Its line in the audit trail has its key: it has no public id."""
        changed = list(form.changed_data)
        before = {name: _audited(form.initial.get(name)) for name in changed} if change else None
        super().save_model(request, obj, form, change)
        after = {name: _audited(form.cleaned_data.get(name)) for name in changed}
        record("group", str(obj.pk), project_id=None, before=before, after=after)

    def remove(self, obj: Group) -> None:
        """Delete the group."""
        with transaction.atomic():
            before = {"name": obj.name, "permissions": _audited(obj.permissions.all())}
            record("group", str(obj.pk), project_id=None, before=before)
            obj.delete()


class ProjectForm(ServiceForm):
    """A project's name and the language of its texts."""

    schema = ProjectUpdate


@admin.register(Project)
class ProjectAdmin(SuperuserOnly, ServiceAdmin):
    """Projects. Staff users find those that they are given in forms and filters, nothing else of them."""

    form = ProjectForm
    list_display = ("name", "shown_id", "shown_created")
    search_help_text = "Name or id"
    id_lookups: ClassVar = {"proj": "public_id"}
    text_lookups = ("name",)
    edited = ("name", "text_search_config")
    fields = edited

    @admin.display(description="id")
    def shown_id(self, project: Project) -> str:
        """Return the public id."""
        return code(project.public_id)

    @admin.display(description="created", ordering="id")
    def shown_created(self, project: Project) -> str:
        """Return when the project was made."""
        return moment(project.created_at)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        """Return the projects that the user may see; one that is being deleted is gone here too."""
        return staff_scope(request).filter(super().get_queryset(request), "id").filter(deleting_at=None)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let every staff user choose among their own projects; the pages are for superusers."""
        match = request.resolver_match
        if match is not None and match.url_name == "autocomplete":
            return bool(request.user.is_active and request.user.is_staff)
        return super().has_view_permission(request, obj)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the record of a project that is there."""
        return self.edited if obj is None else (*self.edited, "public_id", "created_at", "updated_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited."""
        return () if obj is None else ("public_id", "created_at", "updated_at")

    def create(self, request: HttpRequest, form: Any) -> Project:
        """Create the project."""
        return projects.create_project(name=form.value("name"), text_search_config=form.value("text_search_config"))

    def update(self, request: HttpRequest, form: Any) -> Project:
        """Change the project; a change of the language has the words of its texts taken anew."""
        return projects.update_project(project=form.instance, changes=form.changes())

    def remove(self, obj: Project) -> None:
        """Delete an empty project. Raises ``Conflict``."""
        projects.delete_project(project=obj)

    def deletion_obstacles(self, obj: Project) -> list[str]:
        """Name what still stands in the project."""
        return [f"{count:,} {name}" for name, count in project_contents(obj).items()]

    def deletion_effects(self, obj: Project) -> list[str]:
        """Say what ends with the project."""
        return [f"{obj.api_keys.count():,} API keys that are bound to it"]

    def related_tables(self, request: HttpRequest, obj: Project) -> list[Table]:
        """Return links to the lists of the project's rows."""
        lists = (
            ("Memories", "memories_memory"),
            ("Memory entries", "memories_memoryentry"),
            ("Documents", "documents_document"),
            ("Files", "files_file"),
            ("API keys", "tenancy_apikey"),
        )
        rows = [(anchor(list_url(model, project__id__exact=obj.pk), title),) for title, model in lists]
        members = obj.memberships.select_related("user")[:LISTED]
        curators = [(link(member.user), moment(member.created_at)) for member in members]
        return [
            Table("In this project", ("List",), rows),
            Table("Curators", ("User", "Since"), curators, empty="Nobody is given this project; admins see it anyway."),
        ]


class KeyForm(ServiceForm):
    """A key's name and its project."""

    schema = ApiKeyUpdate


@admin.register(ApiKey)
class ApiKeyAdmin(SuperuserOnly, ServiceAdmin):
    """API keys. The secret is shown once, on the page that answers the form."""

    form = KeyForm
    list_display = ("name", "shown_prefix", "user", "project", "shown_used", "shown_created")
    list_select_related = ("user", "project")
    list_filter = (("user", RelatedFilter), ("project", RelatedFilter))
    search_help_text = "Name of key or user, or an id"
    id_lookups: ClassVar = {"key": "public_id", "user": "user__public_id", "proj": "project__public_id"}
    text_lookups = ("name", "user__username")
    autocomplete_fields = ("user", "project", "policies")

    @admin.display(description="begins with")
    def shown_prefix(self, key: ApiKey) -> str:
        """Return the part of the secret that may be shown."""
        return code(f"{key.key_prefix}…")

    @admin.display(description="last used", ordering="last_used_at")
    def shown_used(self, key: ApiKey) -> str:
        """Return when the key was last used."""
        return moment(key.last_used_at)

    @admin.display(description="created", ordering="id")
    def shown_created(self, key: ApiKey) -> str:
        """Return when the key was made."""
        return moment(key.created_at)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the record of a key that is there."""
        record = ("public_id", "shown_prefix", "last_used_at", "created_at", "updated_at")
        chosen = ("name", "user", "project", "policies", "rate_limit")
        return chosen if obj is None else (*chosen, *record)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited: a key stays with its user."""
        return () if obj is None else ("user", "public_id", "shown_prefix", "last_used_at", "created_at", "updated_at")

    def create(self, request: HttpRequest, form: Any) -> ApiKey:
        """Create the key, and keep its secret until the answer."""
        user, project = form.cleaned_data["user"], form.cleaned_data["project"]
        own = list(form.cleaned_data["policies"])
        key, secret = keys.create_api_key(
            user_id=user.pk,
            name=form.value("name"),
            project=project,
            policies=own,
            rate_limit=form.value("rate_limit"),
        )
        key.secret = secret  # type: ignore[attr-defined]
        return key

    def update(self, request: HttpRequest, form: Any) -> ApiKey:
        """Rename or bind the key."""
        changes = form.changes()
        if "policies" in changes:
            changes["policies"] = list(changes["policies"] or ())
        return keys.update_api_key(key=form.instance, changes=changes)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> Any:
        """Show the secret, here and nowhere else: a redirect would have to store it somewhere on the way."""
        context = {
            **self.admin_site.each_context(request),
            "title": "API key created",
            "opts": self.opts,
            "key": obj,
            "secret": obj.secret,
        }
        response = TemplateResponse(request, "admin/tenancy/apikey/created.html", context)
        response["Cache-Control"] = "no-store"
        messages.success(request, f"The API key “{obj}” was created.")
        return response
