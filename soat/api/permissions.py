"""Which policy action guards which operation, as the OpenAPI document has it."""

from dataclasses import dataclass
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from soat.core.openapi import POLICY_ACTION

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Permission:
    """One operation; ``action`` None: no policy guards it."""

    operation_id: str
    method: str
    path: str
    action: str | None


def permission_table() -> list[Permission]:
    """Return all operations in the order of the document."""
    document: Any = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return [
        Permission(item[method]["operationId"], method.upper(), path, item[method].get(POLICY_ACTION))
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    ]


def as_markdown(table: list[Permission]) -> str:
    """Return the table as Markdown."""
    lines = ["| Action | Operation | Request |", "| --- | --- | --- |"]
    for row in sorted(table, key=lambda row: (row.action is None, row.action or "", row.operation_id)):
        action = f"`{row.action}`" if row.action else "none: open to everybody, or to every user for itself"
        lines.append(f"| {action} | `{row.operation_id}` | `{row.method} {row.path.removeprefix('/api/v1')}` |")
    return "\n".join(lines) + "\n"
