"""Who may see and change a document."""

from typing import Any

import pytest

from documents.models import Document
from tests.conftest import Cast
from tests.documents.steps import DOCUMENTS, create, error, ingest, ingested, patch, post, read, search, upload

ON_A_DOCUMENT: list[tuple[str, str, Any]] = [
    ("get", "", None),
    ("patch", "", {"title": "x"}),
    ("patch", "", {"content": "x"}),
    ("get", "/status", None),
    ("post", "/ingest", {}),
    ("post", "/ingest?wait=true", {}),
    ("get", "/tags", None),
    ("put", "/tags", {"a": "1"}),
    ("patch", "/tags", {"a": "1"}),
    ("delete", "", None),
]


def send(client: Any, method: str, path: str, body: Any) -> Any:
    return getattr(client, method)(path, body, format="json") if body is not None else getattr(client, method)(path)


@pytest.mark.parametrize(("method", "suffix", "body"), ON_A_DOCUMENT)
def test_a_foreign_document_is_an_unknown_one(cast: Cast, method: str, suffix: str, body: Any) -> None:
    record = create(cast.a, "The vault is in the cellar.", path="/v.txt")
    before = read(cast.a, record["id"])
    for client in (cast.b, cast.outsider):
        foreign = send(client, method, f"{DOCUMENTS}/{record['id']}{suffix}", body)
        unknown = send(client, method, f"{DOCUMENTS}/doc_doesnotexist0000{suffix}", body)
        assert error(foreign) == (404, "RESOURCE_NOT_FOUND")
        assert foreign.json() == unknown.json()
    anonymous = send(cast.anonymous, method, f"{DOCUMENTS}/{record['id']}{suffix}", body)
    assert error(anonymous) == (401, "UNAUTHORIZED")
    assert read(cast.a, record["id"]) == before


def test_lists_and_searches_show_ones_own_only(cast: Cast) -> None:
    mine = create(cast.a, "The vault is in the cellar.", path="/v.txt")
    theirs = create(cast.b, "The vault is in the attic.", path="/v.txt")

    def ids(client: Any, **query: Any) -> list[str]:
        answer = client.get(DOCUMENTS, query).json()
        assert answer["total"] == len(answer["data"])
        return [record["id"] for record in answer["data"]]

    def found(client: Any, **fields: Any) -> set[str]:
        return {result["document_id"] for result in search(client, "where is the vault", **fields)}

    assert ids(cast.a) == ids(cast.a, path_prefix="/v.txt") == [mine["id"]]
    assert ids(cast.outsider) == ids(cast.outsider, path_prefix="/") == []
    assert ids(cast.admin) == [theirs["id"], mine["id"]]
    assert ids(cast.admin, project_id=cast.project_b.public_id) == [theirs["id"]]
    assert found(cast.a) == found(cast.a, document_ids=[mine["id"], theirs["id"]]) == {mine["id"]}
    assert found(cast.a, document_ids=[theirs["id"]]) == found(cast.outsider) == set()
    assert found(cast.admin) == {mine["id"], theirs["id"]}


def test_creating_needs_a_granted_project(cast: Cast) -> None:
    file = upload(cast.a, b"text", "n.txt")
    for path, body in ((DOCUMENTS, {"content": "x"}), (f"{DOCUMENTS}/ingest", {"file_id": file["id"]})):
        for project_id in (cast.project_a.public_id, "proj_doesnotexist000"):
            assert error(post(cast.outsider, path, {**body, "project_id": project_id})) == (403, "FORBIDDEN")
        assert error(post(cast.admin, path, {**body, "project_id": "proj_doesnotexist000"})) == (403, "FORBIDDEN")
        response = post(cast.a, path, {**body, "project_id": cast.project_b.public_id})
        assert error(response) == (403, "API_KEY_PROJECT_SCOPE")
        assert response.json()["error"]["meta"] == {
            "scoped_project": cast.project_a.public_id,
            "requested_project": cast.project_b.public_id,
        }
        response = post(cast.admin, path, body)
        assert error(response) == (400, "VALIDATION_FAILED")
        assert response.json()["error"]["meta"] == {"missingFields": ["project_id"]}
        assert error(post(cast.anonymous, path, body)) == (401, "UNAUTHORIZED")
    assert not Document.objects.exists()


def test_permission_comes_before_the_body(cast: Cast) -> None:
    for path in (DOCUMENTS, f"{DOCUMENTS}/ingest"):
        assert error(post(cast.outsider, path, {"zzz": 1})) == (403, "FORBIDDEN")
        assert error(post(cast.outsider, path, {"project_id": cast.project_a.public_id, "zzz": 1})) == (
            403,
            "FORBIDDEN",
        )


def test_naming_another_project_in_a_list(cast: Cast) -> None:
    response = cast.a.get(DOCUMENTS, {"project_id": cast.project_b.public_id})
    assert error(response) == (403, "API_KEY_PROJECT_SCOPE")
    assert error(cast.outsider.get(DOCUMENTS, {"project_id": cast.project_a.public_id})) == (403, "FORBIDDEN")
    assert cast.a.get(DOCUMENTS, {"project_id": cast.project_a.public_id}).json()["total"] == 0


def test_the_admin_may_work_in_every_project(cast: Cast) -> None:
    record = create(cast.admin, "text", project_id=cast.project_b.public_id)
    assert record["project_id"] == cast.project_b.public_id
    assert patch(cast.admin, f"{DOCUMENTS}/{record['id']}", {"title": "T"}).json()["title"] == "T"
    file = upload(cast.b, b"text", "n.txt")
    assert ingest(cast.admin, file, project_id=cast.project_b.public_id)["project_id"] == cast.project_b.public_id
    assert cast.admin.delete(f"{DOCUMENTS}/{record['id']}").status_code == 204


def test_a_key_reads_what_it_ingested(cast: Cast) -> None:
    record = ingested(cast.b, b"text of b", "n.txt")
    assert record["project_id"] == cast.project_b.public_id
    assert error(cast.a.get(f"{DOCUMENTS}/{record['id']}")) == (404, "RESOURCE_NOT_FOUND")
