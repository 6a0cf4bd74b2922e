"""The side bar of the admin, and the head of its pages."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

GROUPS = (
    (
        "Knowledge",
        (
            ("Documents", "article", "documents_document"),
            ("Files", "folder_open", "files_file"),
            ("Memories", "psychology", "memories_memory"),
            ("Entries", "notes", "memories_memoryentry"),
        ),
    ),
    (
        "Access",
        (
            ("Users", "person", "tenancy_user"),
            ("Groups", "group", "auth_group"),
            ("Projects", "workspaces", "tenancy_project"),
            ("API keys", "key", "tenancy_apikey"),
            ("Policies", "policy", "tenancy_policy"),
        ),
    ),
    (
        "System",
        (
            ("Runs of ingestion", "sync", "documents_ingestionattempt"),
            ("Pages", "auto_stories", "documents_documentpage"),
            ("Chunks", "segment", "documents_documentchunk"),
            ("Vector spaces", "hub", "embeddings_embeddingspace"),
            ("Audit trail", "history", "audit_auditevent"),
        ),
    ),
)


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the side bar: the lists that the user may see, in groups."""
    start = {"title": "Overview", "icon": "space_dashboard", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [start]}]
    for title, entries in GROUPS:
        items = [
            {"title": name, "icon": icon, "link": reverse(f"admin:{model}_changelist")}
            for name, icon, model in entries
            if model in _visible(request)
        ]
        if items:
            groups.append({"title": title, "separator": True, "items": items})
    return groups


def _visible(request: HttpRequest) -> set[str]:
    """Return the models whose lists the user may see."""
    registry = admin.site._registry  # noqa: SLF001  (the only list of the registered models there is)
    return {
        model._meta.label_lower.replace(".", "_")  # noqa: SLF001  (Django's own public name)
        for model, model_admin in registry.items()
        if model_admin.has_view_or_change_permission(request)
    }


def style(request: HttpRequest) -> str:
    """Return the address of our own styles."""
    return static("soat/desk.css")


def favicon(request: HttpRequest) -> str:
    """Return the address of the icon of a browser's tab."""
    return static("soat/favicon.svg")
