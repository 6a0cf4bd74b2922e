"""Bodies and query strings of every kind: read, or refused with what is wrong with them."""

import io
import json
from typing import Any

import pytest
from django.test import RequestFactory

from soat.tenancy.models import Project
from soat.wsgi import application
from tests.api.answers import body_of, error_of, names_field
from tests.conftest import Cast

PROJECTS = "/api/v1/projects"
MEMORIES = "/api/v1/memories"
DOCUMENTS = "/api/v1/documents"
SEARCH = "/api/v1/knowledge/search"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
POSTS = [PROJECTS, "/api/v1/api-keys", MEMORIES, "/api/v1/memory-entries", DOCUMENTS, SEARCH]
POSTS += ["/api/v1/documents/ingest", "/api/v1/files/upload/base64", "/api/v1/embeddings", "/api/v1/users/login"]


def post(client: Any, path: str, body: bytes | str, content_type: str = JSON, **extra: Any) -> Any:
    return client.generic("POST", path, body, content_type=content_type, **extra)


@pytest.mark.parametrize("path", POSTS)
def test_a_body_that_is_no_object_is_refused_everywhere(cast: Cast, path: str) -> None:
    for body in ("null", "[]", "[{}]", '"text"', "5", "true"):
        assert "JSON object" in error_of(post(cast.admin, path, body), 400)["message"], body


@pytest.mark.parametrize("path", POSTS)
def test_json_that_is_none_is_refused_everywhere(cast: Cast, path: str) -> None:
    bodies: list[bytes | str] = [
        "{",
        '{"a": 1',
        "{'a': 1}",
        '{"a": 1}}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        f'{{"a": {"9" * 5_000}}}',
        f'{{"a": {"[" * 20_000}',
        f'{{"a": {"[" * 20_000}{"]" * 20_000}}}',
        '{"a": "\x01"}',
        b'{"a": "\xff"}',
        b"\x00",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        '{"name": "a", "name": "b"}',
        '{"name": "a", "na\\u006de": "a"}',
        '{"metadata": {"a": [{"b": 1, "b": 1}]}}',
    ]
    for body in bodies:
        assert "JSON" in error_of(post(cast.admin, path, body), 400)["message"], body[:40]
        if path != PROJECTS:  # which a bound key may not make, whatever it sends
            assert "JSON" in error_of(post(cast.a, path, body), 400)["message"], body[:40]


@pytest.mark.parametrize("path", POSTS)
def test_a_body_of_another_type_is_refused_everywhere(cast: Cast, path: str) -> None:
    for content_type in ("text/plain", "application/xml", "multipart/form-data; boundary=b", "garbage", "image/*", ""):
        answer = post(cast.admin, path, b'{"name": "x"}', content_type)
        error_of(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("path", POSTS)
def test_an_empty_body_misses_what_is_required(cast: Cast, path: str) -> None:
    for body, content_type in ((b"", JSON), (b" \n", JSON), (b"{}", JSON), (b"", FORM), (b"", "text/plain")):
        error_of(post(cast.admin, path, body, content_type), 400)


@pytest.mark.parametrize("path", POSTS)
def test_a_body_over_the_limit_is_too_large_everywhere(cast: Cast, settings: Any, path: str) -> None:
    settings.MAX_REQUEST_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000
    for body, content_type in ((b'{"name": "%s"}' % (b"x" * 2_000), JSON), (b"name=" + b"x" * 2_000, FORM)):
        error_of(post(cast.admin, path, body, content_type), 413, "REQUEST_TOO_LARGE")


def test_the_limit_itself_is_allowed(cast: Cast, settings: Any) -> None:
    settings.MAX_REQUEST_BYTES = 2_000
    body = b'{"name": "x"}'
    body_of(post(cast.admin, PROJECTS, body + b" " * (2_000 - len(body))), 201)
    error_of(post(cast.admin, PROJECTS, body + b" " * (2_001 - len(body))), 413, "REQUEST_TOO_LARGE")


@pytest.mark.parametrize("content_type", [JSON, FORM])
def test_a_body_that_is_broken_off_is_refused(cast: Cast, content_type: str) -> None:
    body = b'{"name": "x"}' if content_type == JSON else b"name=half+a+na"
    extra = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body) + 5)}
    error_of(post(cast.admin, PROJECTS, body, content_type, **extra), 400)
    assert Project.objects.count() == 2


@pytest.mark.parametrize("path", [PROJECTS, MEMORIES, "/api/v1/documents/doc_x/ingest"])
def test_a_body_in_chunks_is_not_taken_for_an_empty_one(cast: Cast, path: str) -> None:
    extra: dict[str, Any] = {
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_LENGTH": "",
        "wsgi.input": io.BytesIO(b'{"name": "x"}'),
    }
    assert "Content-Length" in error_of(post(cast.admin, path, b"", **extra), 400)["message"]


class Gone(io.BytesIO):
    """A connection that is gone."""

    def read(self, size: int | None = -1) -> bytes:
        raise ConnectionResetError


def test_a_client_that_is_gone_is_no_crash(cast: Cast) -> None:
    for content_type in (JSON, FORM):
        extra = {"wsgi.input": Gone(), "CONTENT_LENGTH": "10"}
        error_of(post(cast.admin, PROJECTS, b"{}", content_type, **extra), 400)


@pytest.mark.parametrize(
    ("charset", "body", "name"),
    [
        ("utf-8", "é".encode(), "é"),
        ("iso-8859-1", b"\xe9", "é"),
        ("no-such-charset", "é".encode(), "é"),
        ("base64", "é".encode(), "é"),
        ("zlib", "é".encode(), "é"),
        ("rot13", "é".encode(), "é"),
        ("undefined", "é".encode(), "é"),
        ("idna", "é".encode(), "é"),
        ("utf-16", "é".encode(), "é"),
        ("hex", "é".encode(), "é"),
        ("utf-7", "+AOk-é".encode(), "+AOk-é"),
        ("unicode_escape", "é".encode(), "é"),
        ("raw_unicode_escape", "é".encode(), "é"),
        ("punycode", "é-a".encode(), "é-a"),
        ("hz", "~{é".encode(), "~{é"),
        ("iso2022_jp", "é".encode(), "é"),
        ("", "é".encode(), "é"),
        ("a" * 5_000, "é".encode(), "é"),
    ],
)
def test_a_charset_is_read_or_ignored(cast: Cast, charset: str, body: bytes, name: str) -> None:
    answer = post(cast.admin, PROJECTS, b'{"name": "' + body + b'"}', f"{JSON}; charset={charset}")
    if len(charset) > 1_000:
        error_of(answer, 415, "UNSUPPORTED_MEDIA_TYPE")
        return
    assert body_of(answer, 201)["name"] == name
    quoted = "".join(f"%{byte:02x}" for byte in body).encode()
    answer = post(cast.admin, PROJECTS, b"name=" + quoted, f"{FORM}; charset={charset}")
    assert body_of(answer, 201)["name"] == name
    body_of(cast.admin.get(f"{PROJECTS}?limit=5", CONTENT_TYPE=f"{JSON}; charset={charset}"))


def test_a_content_type_from_nowhere_is_no_crash(committed_cast: Cast) -> None:
    key = f"Bearer {committed_cast.key_a}"
    for content_type in (f"{JSON}; charset*=utf-8''a%00b", f"{JSON};;=;", "%00", "a/b/c", ";"):
        for method in ("GET", "POST"):
            environ = RequestFactory(HTTP_AUTHORIZATION=key, HTTP_HOST="localhost").generic(method, MEMORIES).environ
            body = io.BytesIO(b'{"name": "x"}')
            environ |= {"CONTENT_TYPE": content_type, "CONTENT_LENGTH": "13", "wsgi.input": body}
            status, answer = served(environ)
            assert status in ({200} if method == "GET" else {201, 415})
            assert json.loads(answer)


def served(environ: dict[str, Any]) -> tuple[int, bytes]:
    """Return what the server itself answers to a request, its status and its body."""
    statuses: list[str] = []
    answer = b"".join(application(environ, lambda status, headers, _=None: statuses.append(status)))
    return int(statuses[0][:3]), answer


def test_a_form_is_read_where_json_is(cast: Cast) -> None:
    body_of(post(cast.admin, PROJECTS, "name=a+b%C3%A9", FORM), 201)
    assert Project.objects.first() == Project.objects.get(name="a bé")
    form = "name=m&tags=x&tags=y&description=d"
    made = body_of(post(cast.a, MEMORIES, form, FORM), 201)
    assert (made["tags"], made["description"]) == (["x", "y"], "d")
    form = 'content=text&path=/a&metadata={"K": [1]}&tags={"a": "b"}&chunk_strategy=size&chunk_size=500'
    made = body_of(post(cast.a, DOCUMENTS, form, FORM), 201)
    assert (made["metadata"], made["tags"], made["chunk_size"]) == ({"K": [1]}, {"a": "b"}, 500)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ("", "name"),
        ("name=", "name"),
        ("name=a%00b", "name"),
        ("name=x&nope=1", "nope"),
        ('{"name": "x"}', '{"name": "x"}'),
        ("=x", "name"),
        ("name=%20", "name"),
    ],
)
def test_a_form_is_as_strict_as_json(cast: Cast, form: str, field: str) -> None:
    assert names_field(post(cast.admin, PROJECTS, form, FORM), field)


@pytest.mark.parametrize("bad", ["%FF", "a%ED%A0%80", "%C3", "%C0%80", "\xff"])
def test_bytes_that_are_no_text_are_refused_and_named(cast: Cast, bad: str) -> None:
    raw = bad.encode("iso-8859-1")
    assert names_field(post(cast.admin, PROJECTS, b"name=" + raw, FORM), "name")
    assert len(error_of(post(cast.admin, PROJECTS, raw + b"=x", FORM), 400)["meta"]["unknownFields"]) == 1
    file = body_of(post(cast.a, "/api/v1/files", "{}"), 201)["id"]
    client: Any = cast.a
    for form in (raw + b"=x", b"x=" + raw):
        answer = client.generic("PUT", f"/api/v1/files/{file}/tags", form, content_type=FORM)
        assert "surrogate" in error_of(answer, 400)["message"]
    for path, field in ((DOCUMENTS, "path_prefix"), (MEMORIES, "tags"), ("/api/v1/policies", "user_id")):
        assert names_field(cast.admin.get(path, QUERY_STRING=f"{field}={bad}"), field)
    assert body_of(cast.admin.get(MEMORIES, QUERY_STRING=f"limit={bad}"))["limit"] == 50
    assert body_of(post(cast.admin, PROJECTS, b"name=%EF%BF%BD", FORM), 201)["name"] == "\ufffd"


def test_a_key_that_occurs_twice_is_named(cast: Cast) -> None:
    error = error_of(post(cast.admin, PROJECTS, '{"name": "a", "name": "b"}'), 400)
    assert error["meta"] == {"fields": {"name": "must not occur twice in one object."}}
    project = json.dumps(cast.project_a.public_id)
    for client in (cast.a, cast.admin):
        error = error_of(
            post(client, MEMORIES, f'{{"name": "m", "project_id": {project}, "project_id": {project}}}'), 400
        )
        assert "project_id" in error["meta"]["fields"]


def test_a_field_that_is_given_twice_is_named(cast: Cast) -> None:
    assert names_field(post(cast.admin, PROJECTS, "name=a&name=b", FORM), "name")
    both = "&".join(f"project_id={project.public_id}" for project in (cast.project_a, cast.project_b))
    assert names_field(cast.admin.get(MEMORIES, QUERY_STRING=both), "project_id")
    assert names_field(cast.admin.get("/api/v1/policies", QUERY_STRING="user_id=a&user_id=b"), "user_id")
    document = body_of(post(cast.a, DOCUMENTS, '{"content": "x"}'), 201)["id"]
    twice = cast.a.generic("PUT", f"{DOCUMENTS}/{document}/tags", "a=1&a=2", content_type=FORM)
    assert names_field(twice, "a")
    body_of(cast.admin.get(MEMORIES, QUERY_STRING="tags=a&tags=b"))
    assert body_of(cast.admin.get(MEMORIES, QUERY_STRING="limit=5&limit=7"))["limit"] == 7


def test_a_number_of_too_many_digits_is_no_json(cast: Cast) -> None:
    error = error_of(post(cast.admin, PROJECTS, f'{{"name": {"9" * 5_000}}}'), 400)
    assert "set_int_max_str_digits" not in error["message"]


def test_a_form_of_too_many_fields_is_refused(cast: Cast) -> None:
    fields = "&".join(f"f{number}=1" for number in range(1_001))
    error_of(post(cast.admin, PROJECTS, fields, FORM), 400)
    error_of(post(cast.a, MEMORIES, fields, FORM), 400)
    error_of(cast.admin.get(f"{PROJECTS}?{fields}"), 400)


ODD = ["a\x00b", "\x00", "a\ud800b", "\udfff", "\ud83d\ud83d"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (PROJECTS, {"name": "ODD"}, "name"),
        ("/api/v1/api-keys", {"name": "ODD"}, "name"),
        (MEMORIES, {"name": "ODD"}, "name"),
        (MEMORIES, {"name": "m", "description": "ODD"}, "description"),
        (MEMORIES, {"name": "m", "tags": ["ODD"]}, "tags"),
        (DOCUMENTS, {"content": "ODD"}, "content"),
        (DOCUMENTS, {"content": "c", "path": "ODD"}, "path"),
        (DOCUMENTS, {"content": "c", "filename": "ODD"}, "filename"),
        (DOCUMENTS, {"content": "c", "title": "ODD"}, "title"),
        (DOCUMENTS, {"content": "c", "metadata": {"a": ["ODD"]}}, "metadata"),
        (DOCUMENTS, {"content": "c", "metadata": {"ODD": 1}}, "metadata"),
        (DOCUMENTS, {"content": "c", "metadata": {"a": {"b": {"ODD": 1}}}}, "metadata"),
        (DOCUMENTS, {"content": "c", "tags": {"a": "ODD"}}, "tags"),
        (DOCUMENTS, {"content": "c", "tags": {"ODD": "a"}}, "tags"),
        (DOCUMENTS, {"content": "c", "chunk_strategy": "ODD"}, "chunk_strategy"),
        ("/api/v1/documents/ingest", {"file_id": "ODD"}, "file_id"),
        ("/api/v1/memory-entries", {"memory_id": "ODD", "content": "c"}, "memory_id"),
        ("/api/v1/memory-entries", {"memory_id": "mem_x", "content": "ODD"}, "content"),
        (SEARCH, {"query": "ODD"}, "query"),
        (SEARCH, {"memory_ids": ["ODD"]}, "memory_ids"),
        (SEARCH, {"memory_tags": "ODD"}, "memory_tags"),
        (SEARCH, {"document_paths": ["ODD"]}, "document_paths"),
        ("/api/v1/embeddings", {"input": "ODD"}, "input"),
        ("/api/v1/embeddings", {"inputs": ["a", "ODD"]}, "inputs"),
        ("/api/v1/users/login", {"username": "ODD", "password": "p"}, "username"),
        ("/api/v1/users/login", {"username": "u", "password": "ODD"}, "password"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_and_named(
    cast: Cast, odd: str, path: str, body: dict[str, Any], field: str
) -> None:
    sent = json.dumps(body).replace('"ODD"', json.dumps(odd))
    client = cast.admin if path in {PROJECTS, "/api/v1/api-keys"} else cast.a
    assert names_field(post(client, path, sent), field)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("path", POSTS)
def test_a_name_that_cannot_be_written_is_an_unknown_field(cast: Cast, path: str, odd: str) -> None:
    error = error_of(post(cast.admin, path, json.dumps({odd: 1, "project_id": cast.project_a.public_id})), 400)
    assert odd.encode("utf-8", "replace").decode() in error["meta"]["unknownFields"]


@pytest.mark.parametrize("odd", [*ODD, "é", "x" * 5_000])
@pytest.mark.parametrize("path", [MEMORIES, DOCUMENTS, SEARCH, "/api/v1/files/upload/base64", "/api/v1/api-keys"])
def test_a_project_that_cannot_be_is_foreign_to_a_bound_key(cast: Cast, path: str, odd: str) -> None:
    error = error_of(post(cast.a, path, json.dumps({"project_id": odd})), 403, "API_KEY_PROJECT_SCOPE")
    assert error["meta"]["scoped_project"] == cast.project_a.public_id
    assert len(error["meta"]["requested_project"]) <= 100


@pytest.mark.parametrize("project", [5, True, ["a"], {"a": 1}])
@pytest.mark.parametrize("path", [MEMORIES, DOCUMENTS, SEARCH, "/api/v1/files/upload/base64"])
def test_a_project_of_another_type_is_named(cast: Cast, path: str, project: object) -> None:
    body = json.dumps({"project_id": project})
    for client in (cast.admin, cast.a):
        assert names_field(post(client, path, body), "project_id")
    if path != SEARCH:
        error_of(post(cast.outsider, path, body), 403, "FORBIDDEN")


@pytest.mark.parametrize("path", [MEMORIES, DOCUMENTS, "/api/v1/files/upload/base64", "/api/v1/api-keys"])
def test_permission_comes_before_a_body_that_cannot_be_read(cast: Cast, path: str) -> None:
    for body, content_type in ((b"{", JSON), (b"[]", JSON), (b"{}", "text/plain"), (b'{"nope": 1}', JSON)):
        error_of(post(cast.outsider, path, body, content_type), 403, "FORBIDDEN")
        error_of(post(cast.anonymous, path, body, content_type), 401, "UNAUTHORIZED")


def test_a_search_whose_body_cannot_be_read_is_no_empty_search(cast: Cast) -> None:
    assert "valid JSON" in error_of(post(cast.a, SEARCH, b'{"query": "a"'), 400)["message"]
    error_of(post(cast.a, SEARCH, b'{"query": "a"}', "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE")


LISTS = [PROJECTS, "/api/v1/api-keys", "/api/v1/files", MEMORIES, DOCUMENTS]


@pytest.mark.parametrize("path", LISTS)
def test_a_page_parameter_is_never_an_error(cast: Cast, path: str) -> None:
    for query, frame in {
        "": (50, 0),
        "limit=abc&offset=abc": (50, 0),
        "limit=-1&offset=-1": (50, 0),
        "limit=0": (1, 0),
        "limit=1000000": (100, 0),
        "limit=%00&offset=%00": (50, 0),
        "limit=&offset=": (50, 0),
        "limit=7&offset=3": (7, 3),
        "limit=1&limit=2": (2, 0),
        f"offset={'9' * 19}": (50, 2**31),
    }.items():
        answer = body_of(cast.admin.get(f"{path}?{query}"))
        assert (answer["limit"], answer["offset"]) == frame, query


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("name", ["nope", "Limit", "projectId", "format", "%00", "%FF", "limit[]", "a%5B0%5D"])
def test_an_unknown_query_parameter_is_named(cast: Cast, path: str, name: str) -> None:
    error = error_of(cast.admin.get(f"{path}?{name}=xml&limit=5"), 400)
    assert len(error["meta"]["unknownFields"]) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/users/me"),
        ("POST", PROJECTS),
        ("GET", f"{PROJECTS}/proj_unknown"),
        ("DELETE", "/api/v1/api-keys/key_unknown"),
        ("GET", "/api/v1/files/file_unknown/download"),
        ("POST", "/api/v1/embeddings"),
        ("GET", "/api/v1/documents/doc_unknown"),
        ("PUT", "/api/v1/documents/doc_unknown/tags"),
        ("POST", SEARCH),
        ("POST", "/api/v1/users/login"),
    ],
)
def test_where_no_query_is_read_any_parameter_is_unknown(cast: Cast, method: str, path: str) -> None:
    answer = cast.admin.generic(method, f"{path}?wait=true&nope=1", "{}", content_type=JSON)
    assert error_of(answer, 400)["meta"] == {"unknownFields": ["wait", "nope"]}
    if path != "/api/v1/users/login":
        error_of(cast.anonymous.generic(method, f"{path}?nope=1"), 401, "UNAUTHORIZED")
