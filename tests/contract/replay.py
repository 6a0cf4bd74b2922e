"""Walk recorded exchanges against a live server, and say how its answers differ.

An exchange is a JSON object: ``name``, ``auth`` (who asks), ``method``, ``path``, ``request``, ``status``
and ``response``. Ids of the recording are replaced by those that the live server gave for the same things.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

ID = re.compile(r"\b(?:user|proj|key|pol|file|doc|dchunk|igr|mem_entry|mem|tool|agent|aip)_[A-Za-z0-9]{16}\b")
SAME_VALUE = frozenset(
    {
        *("name", "content", "description", "tags", "metadata", "path", "prefix", "filename", "title", "content_type"),
        *("status", "chunk_strategy", "chunk_size", "chunk_overlap", "action", "role", "source_type", "error"),
        *("username", "limit", "offset", "document"),
    }
)
"""Fields that have the same value wherever the exchange is played; ids, times, sizes and scores have not."""
SHOWN = 2
Exchange = dict[str, Any]


@dataclass
class Player:
    """A live server, the callers by their names, and the ids by the recording's."""

    client: httpx.Client
    tokens: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict)

    def send(self, exchange: Exchange, *, files: Mapping[str, Any] | None = None) -> httpx.Response:
        """Send the request of an exchange, with this server's ids and tokens."""
        headers = {}
        if exchange["auth"] != "none":
            headers["Authorization"] = f"Bearer {self.tokens[exchange['auth']]}"
        request = exchange["request"]
        path = self.translated(exchange["path"])
        if files is not None:
            return self.client.request(exchange["method"], path, headers=headers, **files)
        if request is None:
            return self.client.request(exchange["method"], path, headers=headers)
        text = request if isinstance(request, str) else json.dumps(request)
        headers["Content-Type"] = _content_type(request)
        return self.client.request(exchange["method"], path, headers=headers, content=self.translated(text).encode())

    def translated(self, text: str) -> str:
        """Return a text of the recording with this server's ids."""
        return ID.sub(lambda found: self.ids.get(found[0], found[0]), text)

    def learn(self, recorded: Any, answered: Any) -> None:
        """Remember which ids of the answer stand for which of the recording, but for those inside lists."""
        if not isinstance(recorded, dict) or not isinstance(answered, dict):
            return
        for key, value in recorded.items():
            if isinstance(value, str) and ID.fullmatch(value) and isinstance(answered.get(key), str):
                self.ids.setdefault(value, answered[key])


def _content_type(request: Any) -> str:
    """Return the content type of a body; one that was recorded as text is a form, JSON of any kind, or just text."""
    if isinstance(request, str) and re.fullmatch(r"[\w.-]+=[^{}]*", request):
        return "application/x-www-form-urlencoded"
    return "text/plain" if request == "hello" else "application/json"


def differences(player: Player, exchange: Exchange, response: httpx.Response) -> list[str]:
    """Return in words how an answer differs from the recorded one: status, code, shape, values."""
    recorded, status = exchange["response"], exchange["status"]
    if response.status_code != status:
        code = response.json()["error"]["code"] if response.is_error else ""
        return [" ".join(filter(None, (f"status {response.status_code}", code, f"for {status}")))]
    answered = response.json() if response.content else None
    if isinstance(recorded, dict) and isinstance(recorded.get("error"), dict):
        return _error_differences(recorded["error"], answered)
    found = _shape_differences(json.loads(player.translated(json.dumps(recorded))), answered, "body")
    return found if len(found) <= SHOWN else [*found[:SHOWN], f"{len(found) - SHOWN} more"]


def _error_differences(recorded: dict[str, Any], answered: Any) -> list[str]:
    if set(answered) != {"error"} or not {"code", "message"} <= set(answered["error"]) <= {"code", "message", "meta"}:
        return ["another envelope"]
    error = answered["error"]
    found = [] if error["code"] == recorded["code"] else [f"code {error['code']} for {recorded['code']}"]
    for key, value in (recorded.get("meta") or {}).items():
        if isinstance(value, list) and error.get("meta", {}).get(key) != value:
            found.append(f"meta.{key} {error.get('meta', {}).get(key)} for {value}")
    return found


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", dict: "object", list: "array", type(None): "null"}[type(value)]


def _shape_differences(recorded: Any, answered: Any, at: str, *, in_list: bool = False) -> list[str]:
    if isinstance(recorded, str) and recorded.startswith("<"):
        return []
    kinds = _kind(recorded), _kind(answered)
    if "null" not in kinds and kinds[0] != kinds[1]:
        return [f"{at} is {kinds[1]} for {kinds[0]}"]
    if isinstance(recorded, dict) and isinstance(answered, dict):
        found = []
        for key, value in recorded.items():
            if key not in answered:
                found.append(f"{at}.{key} is missing") if value is not None else None
            elif key in {"metadata", "tags", "document"} or (key in SAME_VALUE and not in_list):
                if answered[key] != value and not in_list:
                    found.append(f"{at}.{key} is {answered[key]!r} for {value!r}")
            else:
                found.extend(_shape_differences(value, answered[key], f"{at}.{key}", in_list=in_list))
        return found
    if isinstance(recorded, list) and isinstance(answered, list) and recorded:
        if not answered:
            return [f"{at} is empty"]
        # Lists have another order here, so the first recorded element may stand anywhere.
        each = [_shape_differences(recorded[0], element, f"{at}[]", in_list=True) for element in answered]
        return min(each, key=len)
    return []
