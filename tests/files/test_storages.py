"""One contract, two storages: a folder, and S3 spoken to a server."""

import io
import threading
from contextlib import closing
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from soat.core.errors import ServiceUnavailable
from soat.files.models import File
from soat.files.ranges import ByteRange
from soat.files.storage import StoredBytes, discard_bytes, open_bytes, save_bytes
from tests.api.answers import body_of, error_of
from tests.conftest import Cast, client_with
from tests.files.conftest import Store, storages_of
from tests.files.forms import BASE64, upload

EVERY_BYTE = bytes(range(256)) * 4


def download(client: Any, record: dict[str, Any]) -> Any:
    return client.get(f"/api/v1/files/{record['id']}/download")


def test_a_file_comes_back_as_it_went_in_and_is_gone_when_it_is_deleted(committed_cast: Cast, store: Store) -> None:
    client = committed_cast.a
    record = body_of(upload(client, EVERY_BYTE, "every.bin", "application/octet-stream"), 201)
    (key,) = store.keys()
    assert store.read(key) == EVERY_BYTE
    assert key.startswith(f"{committed_cast.project_a.public_id}/")
    assert "every" not in key
    answer = download(client, record)
    assert answer.streaming
    assert b"".join(answer.streaming_content) == EVERY_BYTE
    assert answer["Content-Length"] == str(len(EVERY_BYTE))
    deleted = client.delete(f"/api/v1/files/{record['id']}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert store.keys() == []
    error_of(client.get(f"/api/v1/files/{record['id']}"), 404, "RESOURCE_NOT_FOUND")
    error_of(client.delete(f"/api/v1/files/{record['id']}"), 404, "RESOURCE_NOT_FOUND")


def test_a_base64_upload_is_the_same(committed_cast: Cast, store: Store) -> None:
    body = {"content": "aGVs\nbG8g YmFzZTY0", "filename": "b.txt"}
    record = body_of(committed_cast.a.post(BASE64, body, format="json"), 201)
    assert record["size"] == 12
    (key,) = store.keys()
    assert store.read(key) == b"hello base64"


def test_an_empty_file_is_a_file(committed_cast: Cast, store: Store) -> None:
    record = body_of(upload(committed_cast.a, b"", "empty.txt"), 201)
    assert record["size"] == 0
    answer = download(committed_cast.a, record)
    assert (b"".join(answer.streaming_content), answer["Content-Length"]) == (b"", "0")


def test_a_large_file_is_stored_and_streamed_in_parts(committed_cast: Cast, store: Store) -> None:
    block = bytes(range(251)) * 4_177
    content = block * 30
    record = body_of(upload(committed_cast.a, content, "large.bin", "application/octet-stream"), 201)
    assert record["size"] == len(content) > 30_000_000
    answer = download(committed_cast.a, record)
    longest, received = 0, io.BytesIO()
    for part in answer.streaming_content:
        longest = max(longest, len(part))
        received.write(part)
    assert received.getvalue() == content
    assert longest < 1_000_000
    assert body_of(committed_cast.a.get(f"/api/v1/files/{record['id']}")) == record


def test_bytes_that_are_gone_are_not_found(committed_cast: Cast, store: Store) -> None:
    record = body_of(upload(committed_cast.a), 201)
    (key,) = store.keys()
    store.remove(key)
    error_of(download(committed_cast.a, record), 404, "RESOURCE_NOT_FOUND")
    with pytest.raises(FileNotFoundError):
        open_bytes(key)
    assert committed_cast.a.delete(f"/api/v1/files/{record['id']}").status_code == 204


def test_a_storage_that_is_away_answers_503_and_leaves_nothing(committed_cast: Cast, store: Store) -> None:
    store.vanish()
    for answer in (
        upload(committed_cast.a),
        committed_cast.a.post(BASE64, {"content": "aGVsbG8="}, format="json"),
    ):
        error_of(answer, 503, "RESOURCE_BUSY")
        assert answer["Retry-After"]
    assert not File.objects.exists()


def test_a_row_can_be_deleted_while_the_storage_is_away(
    committed_cast: Cast, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    record = body_of(upload(committed_cast.a), 201)
    (key,) = store.keys()
    if store.kind == "local":
        store.remove(key)
        (store.folder / key).parent.rmdir()
    store.vanish()
    assert committed_cast.a.delete(f"/api/v1/files/{record['id']}").status_code == 204
    assert not File.objects.exists()
    assert key in caplog.text


def test_a_database_that_fails_after_the_bytes_were_saved_leaves_none(
    committed_cast: Cast, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def fail(**values: Any) -> File:
        seen.append(store.keys())
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        raise AssertionError

    monkeypatch.setattr(File.objects, "create", fail)
    error_of(upload(committed_cast.a), 500, "INTERNAL_ERROR")
    assert [len(keys) for keys in seen] == [1]
    assert store.keys() == []


def test_of_uploads_of_one_path_at_once_one_is_stored(committed_cast: Cast, store: Store) -> None:
    count = 20 if store.kind == "local" else 5  # each thread's first connection to S3 takes boto3 long
    barrier = threading.Barrier(count, timeout=30)
    answers: list[tuple[int, bytes]] = []

    def send(number: int) -> None:
        try:
            client = client_with(committed_cast.key_a)
            barrier.wait()
            content = f"upload {number}".encode()
            answers.append((upload(client, content, "same.txt").status_code, content))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in answers) == [201] + [409] * (count - 1)
    (file,) = File.objects.all()
    assert store.keys() == [file.storage_key]
    assert [content for status, content in answers if status == 201] == [store.read(file.storage_key)]


def test_keys_are_read_by_whoever_asks_the_storage(store: Store) -> None:
    save_bytes("some/key", io.BytesIO(EVERY_BYTE))
    with open_bytes("some/key") as opened:
        assert opened.read(10) == EVERY_BYTE[:10]
        opened.seek(0)
        assert opened.read() == EVERY_BYTE
    stored = StoredBytes("some/key")
    assert stored.size == len(EVERY_BYTE)
    with closing(stored.stream()) as stream:
        assert stream.read() == EVERY_BYTE
    with closing(StoredBytes("some/key").stream(ByteRange(5, 104))) as stream:
        assert [stream.read(60), stream.read(60), stream.read(60)] == [EVERY_BYTE[5:65], EVERY_BYTE[65:105], b""]
    discard_bytes("some/key")
    discard_bytes("some/key")
    assert store.keys() == []
    for read in (open_bytes, StoredBytes):
        with pytest.raises(FileNotFoundError):
            read("some/key")


def test_a_key_that_is_taken_keeps_its_bytes(store: Store) -> None:
    save_bytes("some/key", io.BytesIO(b"first"))
    with pytest.raises(ServiceUnavailable):
        save_bytes("some/key", io.BytesIO(b"second"))
    assert store.keys() == ["some/key"]
    assert store.read("some/key") == b"first"


class Breaking(io.BytesIO):
    """A source that ends with an error before its end."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(b"x" * 20_000_000)
        self._error = error

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or self.tell() + size > 17_000_000:
            raise self._error
        return super().read(size)


@pytest.mark.parametrize(
    ("error", "raised"), [(OSError("no space"), ServiceUnavailable), (ValueError("closed"), ValueError)]
)
def test_what_breaks_off_leaves_nothing(store: Store, error: Exception, raised: type[Exception]) -> None:
    with pytest.raises(raised):
        save_bytes("some/key", Breaking(error))
    assert store.keys() == []
    if store.bucket is not None:
        assert list(store.bucket.multipart_uploads.all()) == []


def test_what_is_interrupted_leaves_nothing(local_store: Store) -> None:
    with pytest.raises(KeyboardInterrupt):
        save_bytes("some/key", Breaking(KeyboardInterrupt()))
    assert local_store.keys() == []


def test_an_upload_costs_few_queries(committed_cast: Cast, local_store: Store) -> None:
    upload(committed_cast.a, name="first.txt")
    with CaptureQueriesContext(connection) as queries:
        body_of(upload(committed_cast.a, name="second.txt"), 201)
    written = [
        query["sql"] for query in queries if not query["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "REL"))
    ]
    assert len(written) == 5, written  # the key, its project, the path, the row, the line of the audit trail


def test_a_stored_file_is_readable_by_its_owner_only(local_store: Store) -> None:
    save_bytes("folder/key", io.BytesIO(b"x"))
    assert (local_store.folder / "folder/key").stat().st_mode & 0o777 == 0o600
    assert (local_store.folder / "folder").stat().st_mode & 0o777 == 0o700


def test_an_s3_that_does_not_answer_is_given_up(committed_cast: Cast, s3_store: Store, settings: Any) -> None:
    record = body_of(upload(committed_cast.a), 201)
    settings.STORAGES = storages_of(
        FILES_STORAGE_PROVIDER="s3",
        FILES_S3_BUCKET="soat-files",
        FILES_S3_REGION="us-east-1",
        FILES_S3_ENDPOINT_URL="http://127.0.0.1:1",
        FILES_S3_ACCESS_KEY_ID="tests",
        FILES_S3_SECRET_ACCESS_KEY="tests",
    )
    error_of(upload(committed_cast.a, name="second.txt"), 503, "RESOURCE_BUSY")
    error_of(download(committed_cast.a, record), 503, "RESOURCE_BUSY")
    assert File.objects.count() == 1


def test_s3_holds_a_large_file_in_a_temporary_file_not_in_memory(s3_store: Store) -> None:
    save_bytes("large", io.BytesIO(b"x" * 6_000_000))
    with open_bytes("large") as opened:
        spooled: Any = opened
        assert spooled.file._rolled
        assert len(opened.read()) == 6_000_000
    with closing(StoredBytes("large").stream()) as stream:
        assert not hasattr(stream, "_rolled")
    assert default_storage.exists("large")


def test_a_missing_bucket_is_no_missing_file(committed_cast: Cast, s3_store: Store) -> None:
    record = body_of(upload(committed_cast.a), 201)
    s3_store.bucket.objects.all().delete()
    error_of(download(committed_cast.a, record), 404, "RESOURCE_NOT_FOUND")
    s3_store.bucket.delete()
    try:
        error_of(download(committed_cast.a, record), 503, "RESOURCE_BUSY")
    finally:
        s3_store.bucket.create()
