"""How an answer is read: one shape for errors, one for lists."""

import json
from typing import Any

LIST_FRAME = {"data", "total", "limit", "offset"}


def body_of(response: Any, status: int = 200) -> Any:
    """Return the JSON of an answer with the status that it must have."""
    assert response.status_code == status, (response.status_code, response.content)
    assert response["Content-Type"].partition(";")[0] == "application/json"
    return json.loads(response.content)


def error_of(response: Any, status: int, code: str = "VALIDATION_FAILED") -> dict[str, Any]:
    """Return the error of an answer, which has the only shape that an error has."""
    body = body_of(response, status)
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert {"code", "message"} <= set(error) <= {"code", "message", "meta"}
    assert error["code"] == code, error
    assert error["message"].strip()
    assert error["message"] != code
    assert not any(word in error["message"] for word in ("Traceback", "ErrorDetail", "settings."))
    return error


def names_field(response: Any, field: str) -> bool:
    """Tell whether a 400 names ``field``, in its meta and in its sentence."""
    error = error_of(response, 400)
    meta = error.get("meta", {})
    named = {*meta.get("fields", {}), *meta.get("missingFields", []), *meta.get("unknownFields", [])}
    return field in named and field in error["message"]


def rows_of(response: Any) -> list[dict[str, Any]]:
    """Return the rows of a list."""
    body = body_of(response)
    assert set(body) == LIST_FRAME
    rows: list[dict[str, Any]] = body["data"]
    return rows
