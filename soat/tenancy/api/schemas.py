"""Bodies and records of users, projects, policies and API keys."""

from rest_framework import serializers

from soat.core.body import Body
from soat.core.fields import Choice, Flag, JsonObject, Text, TextList
from soat.core.openapi import page_of
from soat.core.pages import PageQuery
from soat.engine.lexical import TEXT_SEARCH_CONFIGS
from soat.tenancy.models import Role


class Credentials(Body):
    """A username and a password."""

    username = Text(max_length=150, nfc=True)
    password = Text(max_length=1_000)


class UserCreate(Credentials):
    """The body of ``createUser``."""

    role = Choice(Role.values, required=False)


class UserPolicies(Body):
    """The body of ``attachUserPolicies``."""

    policy_ids = TextList(max_items=100)


class PolicyCreate(Body):
    """The body of ``createPolicy`` and of ``updatePolicy``."""

    name = Text(max_length=255, nfc=True, required=False, allow_null=True)
    description = Text(max_length=10_000, required=False, allow_null=True, blank=True)
    document = JsonObject()


class PolicyListQuery(PageQuery):
    """The query string of ``listPolicies``."""

    user_id = Text(max_length=64, required=False, blank=True)


class ForceQuery(Body):
    """The query string of what deletes with ``force``."""

    force = Flag(required=False)


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
    document = serializers.DictField()
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
