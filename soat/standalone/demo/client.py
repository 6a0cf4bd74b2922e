"""SOAT over REST, as any program would call it."""

from pathlib import Path
from typing import Any, Self

import httpx

from soat.standalone.demo.errors import DemoError

_SECONDS = 60.0


class Client:
    """The operations that the demo needs, each by its name in the API."""

    def __init__(self, base_url: str, token: str = "") -> None:
        self._base_url = base_url
        # A proxy in the environment has no business between us and this machine.
        self._http = httpx.Client(
            base_url=f"{base_url}/api/v1",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=_SECONDS,
            trust_env=False,
        )

    def with_token(self, token: str) -> Self:
        """Return a client of the same server that sends another credential."""
        return type(self)(self._base_url, token)

    def login_user(self, username: str, password: str) -> Any:
        """Exchange a password for a token."""
        return self._post("/users/login", {"username": username, "password": password})

    def create_project(self, name: str) -> Any:
        """Make a project."""
        return self._post("/projects", {"name": name})

    def create_api_key(self, name: str, project_id: str) -> Any:
        """Make a key that is good for one project."""
        return self._post("/api-keys", {"name": name, "project_id": project_id})

    def upload_file(self, path: Path) -> Any:
        """Store a file."""
        with path.open("rb") as file:
            return self._call("POST", "/files/upload", files={"file": (path.name, file)})

    def ingest_document(self, file_id: str) -> Any:
        """Have a stored file made searchable by a worker."""
        return self._post("/documents/ingest", {"file_id": file_id})

    def get_document_status(self, document_id: str) -> Any:
        """Return how far that is."""
        return self._call("GET", f"/documents/{document_id}/status")

    def create_memory(self, memory: dict[str, Any]) -> Any:
        """Make a memory."""
        return self._post("/memories", memory)

    def create_memory_entry(self, memory_id: str, content: str, tags: list[str]) -> Any:
        """Write a fact."""
        return self._post("/memory-entries", {"memory_id": memory_id, "content": content, "tags": tags})

    def search_knowledge(self, query: str, memory_ids: list[str], limit: int) -> Any:
        """Search the documents, and the memories that are named."""
        return self._post("/knowledge/search", {"query": query, "memory_ids": memory_ids, "limit": limit})

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", path, json=body)

    def _call(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise DemoError(f"{method} {path} was not answered: {error}") from error
        if not response.is_success:
            raise DemoError(f"{method} {path} was answered with {response.status_code}: {response.text[:500]}")
        return response.json()
