"""The recorded exchanges of the reference, one after the other, against a live server."""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.law import DIFFERENCES
from tests.contract.replay import Exchange, Player, differences
from tests.contract.server import Live, live_server
from tests.documents.pdfs import pdf
from tests.embeddings.model_server import Fault
from tests.standalone.runs import wait_until

RECORDED = os.environ.get("SOAT_RECORDED")
pytestmark = pytest.mark.skipif(RECORDED is None, reason="SOAT_RECORDED does not name the recorded exchanges")

A, B, CAROL = "proj_ci5OEn9w2RBwKrnm", "proj_nOabyr7K5Epfozgu", "user_BM1c5z3HI7gVNK9t"
NOTES = " ".join(f"Note {number} of the knights of the round table." for number in range(95))[:4_560]

SETTLED = {"ingest_pdf_status": "doc_7TEi5MAvAk5okQ1o", "reingest_status": "doc_P1n0w0hzLlBL0k5m"}
"""Before these exchanges the ingestion of a document has ended."""
PENDING = {"rule_missing_glob", "rule_no_converter", "rule_unknown_tool", "rule_list", "rule_get_unknown"}


def recorded() -> list[Exchange]:
    """Return the exchanges in their order."""
    assert RECORDED is not None
    lines = Path(RECORDED).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def form_of(exchange: Exchange) -> dict[str, Any]:
    """Return an upload in place of the one whose bytes were not recorded."""
    name = {"file_upload_png": "x.png", "file_upload_badpdf": "bad.pdf", "file_upload_empty_txt": "empty.txt"}
    content = {
        "file_upload_badpdf": b"%PDF-1.4 broken!",
        "file_upload_empty_txt": b"",
        "file_upload_png": b"\x89PNG\r\n",
    }
    kind = {"file_upload_png": "image/png", "file_upload_badpdf": "application/pdf"}.get(exchange["name"], "text/plain")
    project = B if exchange["name"] == "file_upload_b" else A
    if exchange["name"] == "file_upload_no_file":
        return {"data": {"project_id": project}, "files": {"other": ("x", b"x", "text/plain")}}
    if exchange["name"] == "file_upload_dup_path":
        return {
            "files": {"file": ("notes.txt", b"again", "text/plain")},
            "data": {"project_id": project, "prefix": "/up"},
        }
    filename = name.get(exchange["name"], "b.txt")
    body = content.get(exchange["name"], b"A file of project B that says swordfish")
    return {"files": {"file": (filename, body, kind)}, "data": {"project_id": project}}


def set_up(live: Live, client: httpx.Client) -> Player:
    """Make what the recording had before its first line, over the API."""
    player = Player(client, {"bad": "not-a-token", "bad_sk": "sk_" + "0" * 64})
    post = player.client.post

    def made(path: str, token: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = post(f"/api/v1{path}", json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code in {200, 201}, answer.text
        return dict(answer.json())

    admin = post("/api/v1/users/login", json=live.admin).json()["token"]
    player.tokens["admin_jwt"] = admin
    player.ids[A] = made("/projects", admin, {"name": "Project A"})["id"]
    for name, recorded_id in (("carol", CAROL), ("dave", None)):
        password = "Carol12345!" if name == "carol" else "Dave123456!"
        user = made("/users", admin, {"username": name, "password": password, "role": "user"})
        token = post("/api/v1/users/login", json={"username": name, "password": password}).json()["token"]
        player.tokens["user_policy_a" if name == "carol" else "user_nopolicy"] = token
        if recorded_id:
            player.ids[recorded_id] = user["id"]
    key = made("/api-keys", admin, {"name": "key-a", "project_id": player.ids[A]})
    player.tokens["key_a"] = key["key"]
    return player


def before(player: Player, name: str) -> None:
    """Do what was done, but not recorded, before the exchange of this name."""
    headers = {"Authorization": f"Bearer {player.tokens['admin_jwt']}"}

    def create(path: str, recorded_id: str, **request: Any) -> None:
        answer = player.client.post(f"/api/v1{path}", headers=headers, **request)
        assert answer.status_code == 201, answer.text
        player.ids[recorded_id] = answer.json()["id"]

    if name == "apikey_list":
        body = {"name": "key-b", "project_id": player.ids[B]}
        player.tokens["key_b"] = player.client.post("/api/v1/api-keys", json=body, headers=headers).json()["key"]
    if name == "memory_create_b":
        prefs = {"name": "Prefs", "description": "User prefs", "tags": ["customer-1", "support"]}
        create("/memories", "mem_MQp6JrBIw9Gnt1RC", json={"project_id": player.ids[A], **prefs})
    if name == "memory_create_jwt_no_project":
        create("/memories", "mem_JxNSozAtaLMyoeY7", json={"project_id": player.ids[A], "name": "KeyMem"})
    if name == "entry_put_metadata_null":
        entry = player.ids["mem_entry_fY23gROiKXmsozyp"]
        body = {"content": "The user prefers light mode"}
        assert player.client.put(f"/api/v1/memory-entries/{entry}", json=body, headers=headers).is_success
    if name == "doc_tags_patch":
        document = player.ids["doc_VFIDeiRkej8FBj8b"]
        body = {"a": "1"}
        assert player.client.put(f"/api/v1/documents/{document}/tags", json=body, headers=headers).is_success
    if name == "doc_delete_again":
        document = player.ids["doc_gOiS797x63LJYzWp"]
        assert player.client.delete(f"/api/v1/documents/{document}", headers=headers).status_code == 204
    if name in SETTLED:
        wait_until(lambda: _status(player, SETTLED[name], headers) == "ready")
    if name == "file_upload_png":
        data = {"project_id": player.ids[A]}
        notes = {"file": ("notes.txt", NOTES.encode(), "text/plain")}
        create("/files/upload", "file_pWOaezi3HfTOTJuF", files=notes, data={**data, "prefix": "/up"})
        small = pdf(["Warranty covers two years", "Shipping takes seven days"])
        create(
            "/files/upload", "file_zdoOjGNoLwx5uHKw", files={"file": ("small.pdf", small, "application/pdf")}, data=data
        )
        markdown = {"file": ("k.md", b"# Knights\n\nThe knights say ni and wait", "text/markdown")}
        create("/files/upload", "file_FETOZ8kkY9roOv1Z", files=markdown, data=data)


def _status(player: Player, document: str, headers: dict[str, str]) -> str:
    answer = player.client.get(f"/api/v1/documents/{player.ids[document]}/status", headers=headers)
    return str(answer.json()["status"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Play everything once; the differences of each exchange by its name."""
    found: dict[str, list[str]] = {}
    with live_server(tmp_path_factory.mktemp("recorded")) as live, live.client() as client:
        player = set_up(live, client)
        for exchange in recorded():
            name = exchange["name"]
            before(player, name)
            live.models.always = Fault(503, "gone") if "down" in name else None
            binary = isinstance(exchange["request"], str) and exchange["request"].startswith("<")
            files = form_of(exchange) if binary else None
            if files and "data" in files:
                files["data"]["project_id"] = player.ids[files["data"]["project_id"]]
            response = player.send(exchange, files=files)
            found[name] = differences(player, exchange, response)
            if response.is_success:
                player.learn(exchange["response"], response.json() if response.content else None)
    return found


def test_every_answer_is_the_recorded_one_or_differs_as_the_law_says(answers: dict[str, list[str]]) -> None:
    found = {name: "; ".join(parts) for name, parts in answers.items() if parts and name not in PENDING}
    listed = {name: difference for name, (difference, _) in DIFFERENCES.items()}
    assert found == listed


def test_what_is_pending_is_not_there_yet(answers: dict[str, list[str]]) -> None:
    assert all(answers[name] for name in PENDING if name != "rule_get_unknown")
    assert len(answers) == len(recorded())
