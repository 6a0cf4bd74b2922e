"""Rows for generated requests to meet: without them nearly each would ask for what is not there."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import httpx

USES_UP = {
    "uploadFileWithToken": "token",
    "deleteUser": "user_id",
    "deleteProject": "project_id",
    "deleteApiKey": "api_key_id",
    "deletePolicy": "policy_id",
    "deleteFile": "file_id",
    "deleteDocument": "document_id",
    "deleteMemory": "memory_id",
    "deleteMemoryEntry": "entry_id",
}
_BODY_FIELDS = ("project_id", "file_id", "memory_id")
_BODY_LISTS = {"policy_ids": "policy_id", "memory_ids": "memory_id", "document_ids": "document_id"}
_NO_CACHE = ("[cache]", "enabled = false")
_EVERYTHING = {"statement": [{"effect": "Allow", "action": ["*"], "resource": ["*"]}]}

Ids = Mapping[str, list[str]]


def made_rows(admin: httpx.Client, count: int) -> Ids:
    """Make ``count`` rows of each kind; return their ids by the name that paths give them."""
    ids: dict[str, list[str]] = defaultdict(list)

    def make(kind: str, path: str, body: dict[str, Any], field: str = "id") -> str:
        answer = admin.post(f"/api/v1/{path}", json=body).raise_for_status()
        ids[kind].append(answer.json()[field])
        return ids[kind][-1]

    for number in range(count):
        name = f"n{len(ids['project_id'])}-{number}-of-{count}"
        project = make("project_id", "projects", {"name": name})
        inside = {"project_id": project}
        policy = make("policy_id", "policies", {"name": name, "document": _EVERYTHING})
        make("user_id", "users", {"username": name, "password": "a-password-for-nobody"})
        make("api_key_id", "api-keys", {"name": name, "policy_ids": [policy]})
        make("file_id", "files/upload/base64", {**inside, "content": "eA==", "filename": "x.txt"})
        make("token", "files/presigned-url", inside, "upload_token")
        make("document_id", "documents", {**inside, "content": "Ducks swim.", "path": "/ducks.txt"})
        memory = make("memory_id", "memories", {**inside, "name": name, "tags": ["a"]})
        make("entry_id", "memory-entries", {"memory_id": memory, "content": "Ducks swim."})
    return ids


def settings_with(lasting: Ids, passing: Ids) -> str:
    """Return settings that put known ids into most requests; only ``passing`` ones are used up on purpose."""
    lines = [*_NO_CACHE, *_dictionaries(lasting), *_dictionaries(passing, "_passing"), *_bodies()]
    lines += [_binding(f"path.{kind}", kind, 0.7) for kind in lasting]
    lines += [_binding(f"query.{kind}", kind, 0.5) for kind in (*_BODY_FIELDS, "user_id")]
    for operation, kind in USES_UP.items():
        lines += ["[[operations]]", f'include-operation-id = "{operation}"', "[operations.parameters]"]
        lines.append(_binding(f"path.{kind}", f"{kind}_passing", 1))
    return "\n".join(lines) + "\n"


def settings_for_chains(lasting: Ids) -> str:
    """Return settings for requests that take their paths from earlier answers: what is made belongs to known rows."""
    return "\n".join([*_NO_CACHE, *_dictionaries(lasting), *_bodies()]) + "\n"


def _dictionaries(ids: Ids, suffix: str = "") -> list[str]:
    lines = []
    for kind, values in ids.items():
        lines += [f"[dictionaries.{kind}{suffix}]", f"values = {[*values, 'unknown_0000000000000000']}"]
    return lines


def _bodies() -> list[str]:
    fields = [_binding(f"body.{kind}", kind, 0.8) for kind in _BODY_FIELDS]
    return ["[parameters]", *fields, *(_binding(f"body.{name}[*]", kind, 0.8) for name, kind in _BODY_LISTS.items())]


def _binding(parameter: str, dictionary: str, probability: float) -> str:
    return f'"{parameter}" = {{ dictionary = "{dictionary}", probability = {float(probability)} }}'
