"""What authentication and policies cost, beside a view that asks for neither.

All over HTTP with one connection, against a real web server: ``/health`` is the empty view; ``/users/me`` the
smallest operation behind the door; ``/memories/{id}`` one that reads a row of its own.
"""

import functools
from typing import Any

import httpx

from benchmarks.stack import running_stack
from benchmarks.timing import interleaved, print_table

ROUNDS = 400
EMPTY = "an empty view"


def main() -> None:
    """Measure and print a table."""
    with running_stack() as stack, stack.admin() as admin:
        project = _made(admin, "/projects", name="bench")
        memory = _made(admin, "/memories", project_id=project, name="m")
        one = {"effect": "Allow", "action": ["memories:*"], "resource": [f"srn:{project}:*:*"]}
        small = _made(admin, "/policies", document={"statement": [one]})
        large = [_made(admin, "/policies", document={"statement": [one] * 20}) for _ in range(5)]
        keys = {
            "bound key": _key(admin, project_id=project),
            "key with a policy": _key(admin, policy_ids=[small]),
            "key with 5 policies of 20 statements": _key(admin, policy_ids=large),
        }
        clients = {name: stack.client(key) for name, key in keys.items()}
        with stack.client() as nobody:
            acts = {EMPTY: functools.partial(_get, nobody, "/health")}
            acts["users/me, admin's session"] = functools.partial(_get, admin, "/api/v1/users/me")
            for name, client in clients.items():
                acts[f"users/me, {name}"] = functools.partial(_get, client, "/api/v1/users/me")
            for name, client in clients.items():
                acts[f"a memory, {name}"] = functools.partial(_get, client, f"/api/v1/memories/{memory}")
            print_table(interleaved(acts, rounds=ROUNDS), beside=EMPTY)
        for client in clients.values():
            client.close()


def _get(client: httpx.Client, path: str) -> None:
    client.get(path).raise_for_status()


def _made(admin: httpx.Client, path: str, **body: Any) -> str:
    return str(admin.post(f"/api/v1{path}", json=body).raise_for_status().json()["id"])


def _key(admin: httpx.Client, **body: Any) -> str:
    return str(admin.post("/api/v1/api-keys", json={"name": "bench", **body}).raise_for_status().json()["key"])


if __name__ == "__main__":
    main()
