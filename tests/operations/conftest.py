"""Databases that are migrated once, and the deployments that stand on them."""

from collections.abc import Callable, Generator

import pytest

from tests.operations.deployment import Deployment, Servers

MAIN = "soat"
_COPIES = ("slow", "shared", "open")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Servers]:
    """PostgreSQL, and whatever is started beside it."""
    servers = Servers(tmp_path_factory.mktemp("servers"))
    try:
        servers.postgres.create_database(MAIN)
        yield servers
    finally:
        servers.stop()


@pytest.fixture(scope="session")
def migrated(servers: Servers) -> Deployment:
    """The main deployment after its one-shot service, before anything else runs; the databases of others are copies."""
    deployment = Deployment(servers, MAIN, SWEEP_INTERVAL_SECONDS="2", BACKFILL_INTERVAL_SECONDS="3")
    finished = deployment.run("migrate")
    assert finished.returncode == 0, finished.stderr
    assert "Building the vector index of documents_chunkvector" in finished.stdout
    for name in _COPIES:
        servers.copy_database(name, MAIN)
    return deployment


@pytest.fixture
def deploy(servers: Servers, migrated: Deployment) -> Generator[Callable[..., Deployment]]:
    """Make another deployment that is stopped at the end of the test."""
    made: list[Deployment] = []

    def make(name: str, **dot_env: str) -> Deployment:
        made.append(Deployment(servers, name, **dot_env))
        return made[-1]

    yield make
    for deployment in made:
        deployment.stop()
