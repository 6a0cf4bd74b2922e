"""The two storages, each real, and nothing beyond this machine."""

import os
import runpy
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.config import Config
from moto.server import ThreadedMotoServer

ROOT = Path(__file__).resolve().parents[2]
BUCKET = "soat-files"
PREFIX = "kept/here"


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whatever wants to reach another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            assert address[0] in {"127.0.0.1", "::1", "localhost"}, f"a test asked for {address}"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """A server that speaks the protocol of S3."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def storages_of(**environment: str) -> dict[str, Any]:
    """Return the storages that the settings make of this environment."""
    base = {"SECRET_KEY": "long-and-random-and-known-to-nobody", **environment}
    with mock.patch.dict(os.environ, base, clear=True):
        storages: dict[str, Any] = runpy.run_path(str(ROOT / "soat" / "settings.py"))["STORAGES"]
    return storages


@dataclass(frozen=True)
class Store:
    """A storage seen from behind: what lies in it, and how it goes away."""

    kind: str
    folder: Path
    bucket: Any = None

    def keys(self) -> list[str]:
        """Return the keys of everything that is stored."""
        if self.bucket is not None:
            return sorted(each.key.removeprefix(f"{PREFIX}/") for each in self.bucket.objects.all())
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.folder)) for path in files)

    def read(self, key: str) -> bytes:
        """Return what lies under a key."""
        if self.bucket is not None:
            body: bytes = self.bucket.Object(f"{PREFIX}/{key}").get()["Body"].read()
            return body
        return (self.folder / key).read_bytes()

    def remove(self, key: str) -> None:
        """Take the bytes away behind everybody's back."""
        if self.bucket is not None:
            self.bucket.Object(f"{PREFIX}/{key}").delete()
        else:
            (self.folder / key).unlink()

    def vanish(self) -> None:
        """Make the storage one in which nothing can be kept."""
        if self.bucket is not None:
            self.bucket.objects.all().delete()
            self.bucket.delete()
        else:
            self.folder.rmdir()
            self.folder.write_text("where a folder was")


@pytest.fixture
def local_store(tmp_path: Path, settings: Any) -> Store:
    """A local folder, empty."""
    folder = tmp_path / "files"
    folder.mkdir()
    settings.STORAGES = storages_of(FILES_STORAGE_DIR=str(folder))
    return Store("local", folder)


@pytest.fixture
def s3_store(s3_url: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A bucket, empty; of the environment's credentials none are used, and nobody is asked for any."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    resource = boto3.resource(
        "s3",
        endpoint_url=s3_url,
        region_name="us-east-1",
        aws_access_key_id="tests",
        aws_secret_access_key="tests",
        config=Config(retries={"total_max_attempts": 1}),
    )
    bucket = resource.create_bucket(Bucket=BUCKET)
    settings.STORAGES = storages_of(
        FILES_STORAGE_PROVIDER="s3",
        FILES_S3_BUCKET=BUCKET,
        FILES_S3_PREFIX=PREFIX,
        FILES_S3_REGION="us-east-1",
        FILES_S3_ENDPOINT_URL=s3_url,
        FILES_S3_ACCESS_KEY_ID="tests",
        FILES_S3_SECRET_ACCESS_KEY="tests",
    )
    yield Store("s3", tmp_path, bucket)
    if bucket.creation_date is not None:
        bucket.objects.all().delete()
        bucket.delete()
    resource.meta.client.close()


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest) -> Store:
    """Each storage in turn."""
    found: Store = request.getfixturevalue(f"{request.param}_store")
    return found
