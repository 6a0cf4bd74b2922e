"""Every field of every JSON body, one table of faults: each is a 400 that names the field."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.api.answers import error_of
from tests.conftest import Cast
from tests.isolation.test_every_operation import BODIES, UNKNOWN

FAULTS: dict[str, list[Any]] = {
    "string": [5, True, [], {}, "a\x00b", "a\ud800b"],
    "integer": ["x", 1.5, True, [], {}, 2**70],
    "number": ["x", True, [], {}],
    "boolean": ["x", 2, [], {}],
    "array": [5, True, {}, [5], [None], ["a\x00"], ["\udfff"]],
    "object": [5, True, "x", [], {"a\x00": "b"}, {"a": "\x00"}, {"\ud800": "b"}, {"a": "\udc00"}],
}
"""By the type of a field in the OpenAPI document. A list filter of the search takes a single string as well."""

FREE = {"replaceFileTags", "mergeFileTags", "replaceDocumentTags", "mergeDocumentTags"}
FORMS = {"uploadFile"}
LATER = {"uploadFileWithToken"}
"""Its token is looked at before its body."""


def _document() -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


def _fields() -> list[tuple[str, str, str, str, str]]:
    """Return operation, method, path, field and type of every field."""
    document = _document()
    found = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            name = operation.get("operationId")
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None or name in FREE | FORMS | LATER:
                continue
            schema = content["schema"]
            if "$ref" in schema:
                schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            for field, described in schema.get("properties", {}).items():
                types = described.get("type", "string")
                kind = next(kind for kind in ([types] if isinstance(types, str) else types) if kind != "null")
                found.append((name, method, path, field, kind))
    return found


FIELDS = _fields()


def send(cast: Cast, method: str, path: str, body: Any) -> Any:
    at = path.format(**UNKNOWN)
    raw = json.dumps(body)
    client = cast.anonymous if "/users/login" in path or "/users/bootstrap" in path else cast.admin
    return client.generic(method.upper(), at, raw, content_type="application/json")


def valid_body(cast: Cast, name: str) -> dict[str, Any]:
    if name in {"bootstrapUser", "loginUser"}:
        return {"username": "x", "password": "a-long-password-1"}
    body = dict(BODIES[name]({**UNKNOWN, "project_id": cast.project_a.public_id}))
    return {**body, "project_id": cast.project_a.public_id} if name == "ingestDocument" else body


def named_in(response: Any) -> set[str]:
    meta = error_of(response, 400).get("meta", {})
    return {*meta.get("fields", {}), *meta.get("missingFields", []), *meta.get("unknownFields", [])}


@pytest.mark.parametrize("case", FIELDS, ids=lambda case: f"{case[0]}-{case[3]}")
def test_a_value_that_cannot_be_is_named(cast: Cast, case: tuple[str, str, str, str, str]) -> None:
    name, method, path, field, kind = case
    body = valid_body(cast, name)
    for fault in FAULTS[kind]:
        if field == "project_id" and isinstance(fault, str):
            continue  # an id that cannot be is a project that is unknown: 403
        response = send(cast, method, path, {**body, field: fault})
        named = named_in(response)
        assert field in {each.partition(".")[0] for each in named}, (fault, response.content)


OPERATIONS = sorted({(name, method, path) for name, method, path, _, _ in FIELDS})


@pytest.mark.parametrize(("name", "method", "path"), OPERATIONS, ids=str)
def test_what_is_no_object_and_what_is_unknown_is_refused(cast: Cast, name: str, method: str, path: str) -> None:
    body = valid_body(cast, name)
    assert {"nope", "Nope"} <= named_in(send(cast, method, path, {**body, "nope": 1, "Nope": 2}))
    others: list[Any] = [[], "x", 5, None, True]
    for other in others:
        error_of(send(cast, method, path, other), 400)
    required = {field for at, _, _, field, _ in FIELDS if at == name and field in body}
    missing = named_in(send(cast, method, path, {"nope": 1}))
    assert "nope" in missing
    assert missing - {"nope", "project_id"} <= required
    for raw in ("{", "{'a': 1}", '{"a": NaN}', '{"a": 1e400}', "\ufeff{}", "[" * 100_000, '"' + "a" * 10):
        client = cast.anonymous if name in {"bootstrapUser", "loginUser"} else cast.admin
        answer = client.generic(method.upper(), path.format(**UNKNOWN), raw, content_type="application/json")
        error_of(answer, 400)
    assert len(OPERATIONS) > 20


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(("name", "method", "path"), OPERATIONS, ids=str)
def test_a_form_is_read_and_as_strict(cast: Cast, name: str, method: str, path: str) -> None:
    client = cast.anonymous if name in {"bootstrapUser", "loginUser"} else cast.admin

    def sent(form: str) -> Any:
        return client.generic(method.upper(), path.format(**UNKNOWN), form, content_type=FORM)

    body = valid_body(cast, name)
    pairs = [
        (key, each if isinstance(each, str) else json.dumps(each))
        for key, value in body.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    form = urlencode(pairs)
    as_json, as_form = send(cast, method, path, body), sent(form)
    if as_json.status_code == 201:
        assert as_form.status_code in {201, 409}, as_form.content  # the name is taken by now
    else:
        assert (as_form.status_code, as_form.content) == (as_json.status_code, as_json.content)
    assert {"nope", "?"} <= named_in(sent(f"{form}&nope=1&%FF=2"))
    for _, _, _, field, kind in (case for case in FIELDS if case[0] == name):
        if field != "project_id":
            rest = urlencode([(key, each) for key, each in pairs if key != field])
            for fault in ("%00", "%FF", "%ED%A0%80"):
                assert field in named_in(sent(f"{rest}&{field}={fault}")), (field, kind, fault)


@pytest.mark.parametrize("name", sorted(FREE))
@pytest.mark.parametrize("fault", FAULTS["object"] + [{"a": 5}, {"a": None}, {"a": ["b"]}, {"": "b"}], ids=repr)
def test_tags_that_cannot_be_are_named(cast: Cast, name: str, fault: Any) -> None:
    kind = "files" if "File" in name else "documents"
    made = cast.a.post(f"/api/v1/{kind}", {"content": "x"} if kind == "documents" else {}, format="json")
    path = f"/api/v1/{kind}/{made.json()['id']}/tags"
    answer = send(cast, "put" if name.startswith("replace") else "patch", path, fault)
    assert named_in(answer) == {"tags"}
