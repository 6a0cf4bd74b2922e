"""Exchanges of our own, which need nothing from outside: each answer is the one that stands in the file."""

import json
from pathlib import Path

import pytest

from tests.contract.replay import Exchange, Player, differences
from tests.contract.server import live_server

EXCHANGES = Path(__file__).with_name("exchanges.jsonl")
PROJECT, OTHER = "proj_Project00000000A", "proj_Project00000000B"


def exchanges() -> list[Exchange]:
    """Return the exchanges in their order."""
    return [json.loads(line) for line in EXCHANGES.read_text(encoding="utf-8").splitlines()]


def play(player: Player, played: list[Exchange]) -> dict[str, list[str]]:
    """Play the exchanges; return the differences by name. Answers may hand out tokens for later callers."""
    found: dict[str, list[str]] = {}
    for exchange in played:
        response = player.send(exchange)
        found[exchange["name"]] = differences(player, exchange, response)
        if response.is_success and response.content:
            answered = response.json()
            player.learn(exchange["response"], answered)
            if caller := exchange.get("gives"):
                player.tokens[caller] = answered.get("token") or answered["key"]
    return found


def test_every_answer_is_the_one_that_stands_in_the_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    played = exchanges()
    assert len({exchange["name"] for exchange in played}) == len(played) >= 60
    with live_server(tmp_path_factory.mktemp("own")) as live, live.client() as client:
        token = client.post("/api/v1/users/login", json=live.admin).json()["token"]
        player = Player(client, {"admin": token, "broken": "sk_" + "f" * 64})
        found = play(player, played)
    assert {name: parts for name, parts in found.items() if parts} == {}
