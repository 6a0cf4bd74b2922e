"""Where sockets go, and whose folders are not trusted."""

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from soat.standalone.errors import StandaloneError
from soat.standalone.sockets import make_socket_folder, remove_socket_folder, socket_folder

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_the_folder_is_ours_alone_and_goes_with_its_content(temporary: Path, tmp_path: Path) -> None:
    folder = make_socket_folder(tmp_path)
    assert folder == make_socket_folder(tmp_path)
    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "broker.sock").touch()
    remove_socket_folder(tmp_path)
    assert list(temporary.iterdir()) == []


def test_each_data_folder_has_its_own(tmp_path: Path) -> None:
    assert socket_folder(tmp_path / "a") != socket_folder(tmp_path / "b")
    (tmp_path / "link").symlink_to(tmp_path)
    assert socket_folder(tmp_path / "link" / "a") == socket_folder(tmp_path / "a")


@pytest.mark.usefixtures("temporary")
def test_a_link_in_its_place_is_refused_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    socket_folder(tmp_path).symlink_to(precious)
    with pytest.raises(StandaloneError, match="was made by somebody else"):
        make_socket_folder(tmp_path)
    remove_socket_folder(tmp_path)
    assert (precious / "file").exists()


@pytest.mark.skipif(not AS_ROOT, reason="needs root: somebody else has to make a folder")
@pytest.mark.usefixtures("temporary")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = socket_folder(tmp_path)
    folder.mkdir()
    os.chown(folder, 1234, 1234)
    with pytest.raises(StandaloneError, match="was made by somebody else"):
        make_socket_folder(tmp_path)


@pytest.mark.parametrize("name", ["x" * 70, "with space"])
def test_a_temporary_folder_that_will_not_do_is_not_used(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / name))
    assert socket_folder(tmp_path).parent == Path("/tmp")
