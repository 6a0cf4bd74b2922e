"""Two projects with one row of everything, an admin, and a curator of the first project."""

import io
from dataclasses import dataclass
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.test import Client

from documents.models import Document, DocumentChunk, DocumentPage, IngestionAttempt
from documents.services import NewDocument, create_document
from memories.models import Memory, MemoryEntry
from memories.services import IncomingFact, create_memory, write_entry
from soat.engine.chunk import ChunkRequest
from soat.files.models import File
from soat.files.services import NewFile, create_file
from soat.tenancy.models import ApiKey, Project, ProjectMembership, Role, User
from tests.conftest import Cast


@dataclass(frozen=True)
class Knowledge:
    """One row of everything in a project; ``file`` carries no document."""

    project: Project
    memory: Memory
    entry: MemoryEntry
    document: Document
    attempt: IngestionAttempt
    page: DocumentPage
    chunk: DocumentChunk
    file: File
    key: ApiKey


@dataclass(frozen=True)
class Desk:
    """The stage of the admin's tests."""

    root: User
    curator_user: User
    a: Knowledge
    b: Knowledge
    admin: Client
    curator: Client


def make_knowledge(project: Project, word: str) -> Knowledge:
    """Write one row of everything through the services; ``word`` occurs in each of them."""
    memory = create_memory(project=project, name=f"Memory {word}", description=None, tags=["topic"])
    entry = write_entry(memory=memory, fact=IncomingFact(content=f"The {word} opens at nine.", tags=("hours",))).entry
    document = create_document(
        project=project,
        new=NewDocument(
            content=f"All about the {word}.",
            path=f"/{word}/guide.txt",
            filename=None,
            title=f"Guide {word}",
            metadata={"n": 1},
            tags={"team": "legal"},
            chunking=ChunkRequest(),
        ),
    )
    file = create_file(
        project=project,
        new=NewFile(prefix="/", filename=f"{word}.txt", path=f"/{word}.txt", content_type="text/plain"),
        source=io.BytesIO(word.encode()),
        size=len(word),
    )
    attempt = document.settled_attempt
    assert attempt is not None
    return Knowledge(
        project=project,
        memory=memory,
        entry=entry,
        document=document,
        attempt=attempt,
        page=DocumentPage.objects.get(attempt=attempt),
        chunk=DocumentChunk.objects.get(attempt=attempt),
        file=file,
        key=ApiKey.objects.get(project=project),
    )


def curators() -> Group:
    """Return the group as the migration makes it: a test that empties all tables takes it along."""
    import_module("soat.tenancy.migrations.0003_curators_group").create_group(apps, None)
    return Group.objects.get(name="curators")


def make_desk(cast: Cast) -> Desk:
    """Build the stage in the current database."""
    curator = User.objects.create_user("cora", None, Role.USER, is_staff=True)
    curator.password = cast.admin_user.password
    curator.save(update_fields=["password"])
    curator.groups.add(curators())
    ProjectMembership.objects.create(user=curator, project=cast.project_a)
    clients = Client(), Client()
    for client, user in zip(clients, (cast.admin_user, curator), strict=True):
        client.force_login(user)
    return Desk(
        root=cast.admin_user,
        curator_user=curator,
        a=make_knowledge(cast.project_a, "museum"),
        b=make_knowledge(cast.project_b, "harbour"),
        admin=clients[0],
        curator=clients[1],
    )


@pytest.fixture
def desk(cast: Cast) -> Desk:
    """The stage, in a test that is rolled back."""
    return make_desk(cast)


@pytest.fixture
def committed_desk(committed_cast: Cast) -> Desk:
    """The stage, in a test that commits: for a server in another thread."""
    return make_desk(committed_cast)
