"""Policies in the admin."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from soat.core.errors import SoatError
from soat.tenancy import policies
from soat.tenancy.api.schemas import PolicyCreate
from soat.tenancy.models import Policy, User
from soat.tenancy.staff.base import ServiceAdmin
from soat.tenancy.staff.forms import JsonField, PlainTextField, ServiceForm
from soat.tenancy.staff.markup import Table, Tone, badge, link, moment
from soat.tenancy.staff.rights import SuperuserOnly

LISTED = 10


class PolicyForm(ServiceForm):
    """A policy, checked as the API checks it."""

    schema = PolicyCreate

    description = PlainTextField(rows=2, required=False)
    document = JsonField(
        help_text='Such as {"statement": [{"effect": "Allow", "action": ["memories:*"], "resource": ["*"]}]}'
    )

    def clean(self) -> dict[str, Any]:
        """Refuse an empty document too: the service would be handed nothing to check."""
        values = super().clean()
        if not values.get("document") and "document" not in self.errors:
            self.add_error("document", "A policy needs a document with a statement.")
        return values

    def _show(self, refusal: SoatError) -> None:
        if any(name.startswith("document") for name in (refusal.meta or {}).get("fields", {})):
            self.add_error("document", refusal.message)
        else:
            super()._show(refusal)


@admin.register(Policy)
class PolicyAdmin(SuperuserOnly, ServiceAdmin):
    """Policies, and who has them."""

    form = PolicyForm
    list_display = ("__str__", "description", "shown_created")
    search_help_text = "Name or id"
    id_lookups: ClassVar = {"pol": "public_id"}
    text_lookups = ("name", "description")

    @admin.display(description="created", ordering="id")
    def shown_created(self, policy: Policy) -> str:
        """Return when the policy was made."""
        return moment(policy.created_at)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the record of a policy that is there."""
        record = ("public_id", "created_at", "updated_at")
        return ("name", "description", "document") if obj is None else ("name", "description", "document", *record)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited."""
        return () if obj is None else ("public_id", "created_at", "updated_at")

    def create(self, request: HttpRequest, form: Any) -> Policy:
        """Create the policy."""
        return policies.create_policy(**{name: form.value(name) for name in ("name", "description", "document")})

    def update(self, request: HttpRequest, form: Any) -> Policy:
        """Change the policy."""
        return policies.update_policy(policy=form.instance, changes=form.changes())

    def related_tables(self, request: HttpRequest, obj: Policy) -> list[Table]:
        """Return who has the policy."""
        users = [
            (link(user), badge(user.get_role_display(), Tone.PLAIN))
            for user in User.objects.filter(policies=obj)[:LISTED]
        ]
        owned = [(link(key), link(key.user)) for key in obj.api_keys.select_related("user")[:LISTED]]
        return [
            Table("Users with this policy", ("User", "Role"), users, empty="No user has it."),
            Table("Keys with this policy", ("Key", "User"), owned, empty="No key has it."),
        ]
