"""Bodies and records of users, projects, policies and API keys."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from soat.core.body import Body
from soat.core.fields import Choice, Flag, JsonObject, Text, TextList
from soat.core.openapi import page_of
from soat.core.pages import PageQuery
from soat.engine.lexical import TEXT_SEARCH_CONFIGS
from soat.engine.policy import MAX_ITEM_LENGTH, MAX_ITEMS, MAX_STATEMENTS, Effect, Operator
from soat.tenancy.models import Role


class Credentials(Body):
    """A username and a password."""

    username = Text(max_length=150, nfc=True)
    password = Text(max_length=1_000)


class UserCreate(Credentials):
    """The body of ``createUser``."""

    role = Choice(Role.values, default=Role.USER.value)


class UserPolicies(Body):
    """The body of ``attachUserPolicies``."""

    policy_ids = TextList(max_items=100)


@extend_schema_field(
    {
        "type": "object",
        "properties": {
            operator.value: {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    "oneOf": [
                        {"type": "string", "maxLength": MAX_ITEM_LENGTH},
                        {
                            "type": "array",
                            "items": {"type": "string", "maxLength": MAX_ITEM_LENGTH},
                            "minItems": 1,
                            "maxItems": MAX_ITEMS,
                        },
                    ]
                },
            }
            for operator in Operator
        },
        "additionalProperties": False,
    }
)
class ConditionField(serializers.DictField):
    """What must hold of a row: operators with keys and values."""


def _patterns(**options: Any) -> serializers.ListField:
    pattern = serializers.CharField(max_length=MAX_ITEM_LENGTH)
    return serializers.ListField(child=pattern, min_length=1, max_length=MAX_ITEMS, **options)


class PolicyStatement(serializers.Serializer[None]):
    """One statement of a policy: what it does with which actions on which rows."""

    effect = serializers.ChoiceField([effect.value for effect in Effect])
    action = _patterns(help_text="`module:Operation`, `module:*` or `*`.")
    resource = _patterns(default=["*"], help_text="`srn:<project_id>:<type>:<id or path>` or `*`.")
    condition = ConditionField(required=False, help_text="Over `soat:ResourceTag/<key>` and `soat:ResourceType`.")


class PolicyDocument(serializers.Serializer[None]):
    """A policy: its statements. What none allows is denied, and one that denies wins."""

    statement = serializers.ListField(child=PolicyStatement(), min_length=1, max_length=MAX_STATEMENTS)


@extend_schema_field(PolicyDocument)
class PolicyField(JsonObject):
    """A policy document; ``check_document`` looks at its statements."""


class PolicyCreate(Body):
    """The body of ``createPolicy`` and of ``updatePolicy``."""

    name = Text(max_length=255, nfc=True, required=False, allow_null=True)
    description = Text(max_length=10_000, required=False, allow_null=True, blank=True)
    document = PolicyField()


class PolicyListQuery(PageQuery):
    """The query string of ``listPolicies``."""

    user_id = Text(max_length=64, required=False, blank=True, help_text="Only the policies of this user.")


class ForceQuery(Body):
    """The query string of what deletes with ``force``."""

    force = Flag(default=False, help_text="Delete what stands in the project as well.")


class ProjectCreate(Body):
    """The body of ``createProject``."""

    name = Text(max_length=255, nfc=True)
    text_search_config = Choice(TEXT_SEARCH_CONFIGS, required=False, allow_null=True, allow_blank=True)


class ProjectUpdate(Body):
    """The body of ``updateProject``."""

    name = Text(max_length=255, nfc=True, required=False)
    text_search_config = Choice(TEXT_SEARCH_CONFIGS, required=False, allow_null=True, allow_blank=True)


class ApiKeyCreate(Body):
    """The body of ``createApiKey``."""

    name = Text(max_length=255, nfc=True)
    project_id = Text(max_length=64, required=False, allow_null=True)
    policy_ids = TextList(required=False)


class ApiKeyUpdate(Body):
    """The body of ``updateApiKey``."""

    name = Text(max_length=255, nfc=True, required=False)
    project_id = Text(max_length=64, required=False, allow_null=True)
    policy_ids = TextList(required=False)


class UserRecord(serializers.Serializer[None]):
    """A user."""

    id = serializers.CharField()
    username = serializers.CharField()
    role = serializers.ChoiceField(Role.values)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class LoginResponse(UserRecord):
    """A user and its fresh token."""

    token = serializers.CharField()


class PolicyRecord(serializers.Serializer[None]):
    """A policy."""

    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    description = serializers.CharField(allow_null=True)
    document = PolicyDocument()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ProjectRecord(serializers.Serializer[None]):
    """A project. ``text_search_config`` is there where the project has one of its own."""

    id = serializers.CharField()
    name = serializers.CharField()
    text_search_config = serializers.ChoiceField(TEXT_SEARCH_CONFIGS, required=False)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ApiKeyRecord(serializers.Serializer[None]):
    """An API key without its secret."""

    id = serializers.CharField()
    name = serializers.CharField()
    key_prefix = serializers.CharField()
    user_id = serializers.CharField()
    project_id = serializers.CharField(allow_null=True)
    policy_ids = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ApiKeyCreated(ApiKeyRecord):
    """An API key with its secret, shown this once."""

    key = serializers.CharField()


ProjectPage = page_of("ProjectPage", ProjectRecord)


UserPage = page_of("UserPage", UserRecord)


PolicyPage = page_of("PolicyPage", PolicyRecord)


ApiKeyPage = page_of("ApiKeyPage", ApiKeyRecord)
