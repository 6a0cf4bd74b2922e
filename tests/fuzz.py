"""Throw generated requests at a live stack: ``make fuzz`` (``ARGS='--seed 7 --examples 50'``).

Every answer must be one that the OpenAPI document has, in its shape, and none a 500; each operation must have
succeeded at least once. The stack is one of its own; the requests are counted by the server itself.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.stack import Stack, running_stack
from tests.fuzz_rows import made_rows, settings_for_chains, settings_with

FEWEST_REQUESTS = 10_000
BARREN = {"bootstrapUser", "unknown", "none"}
"""What cannot succeed: there is an admin already, and other paths are none of the API."""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "use_after_free",
)


def main() -> int:
    """Run the stack and the requests; return 0 when nothing was wrong and there were enough of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the same seed sends the same requests")
    parser.add_argument("--examples", type=int, default=140, help="requests of each operation and phase")
    parser.add_argument("--fewest", type=int, default=FEWEST_REQUESTS, help="fail when fewer requests were sent")
    options = parser.parse_args()
    with running_stack() as stack, _folder() as known, _folder() as chained:
        with stack.client() as nobody:
            body = {"username": stack.username, "password": stack.password}
            token = nobody.post("/api/v1/users/login", json=body).raise_for_status().json()["token"]
        with stack.client(token) as admin:
            lasting, passing = made_rows(admin, 3), made_rows(admin, 40)
        Path(known, "schemathesis.toml").write_text(settings_with(lasting, passing))
        Path(chained, "schemathesis.toml").write_text(settings_for_chains(lasting))
        command = _command(stack, token, options)
        one_by_one = [*command, "--phases", "examples,coverage,fuzzing"]
        parts = [
            # First, while the token's own user (whose id schemathesis reads out of it) is the last admin, who stays.
            ([*one_by_one, "--include-operation-id", "deleteUser"], known),
            ([*one_by_one, "--exclude-operation-id", "deleteUser"], known),
            # Here ids come from earlier answers: known ones would be in the way.
            ([*command, "--phases", "stateful", "--exclude-operation-id", "deleteUser"], chained),
        ]
        status = max(subprocess.run(part, cwd=folder, check=False).returncode for part, folder in parts)
        answers = _answers(stack, token)
    sent, failed = answers.total(), sum(number for (_, kind), number in answers.items() if kind == "5xx")
    barren = sorted({name for name, _ in answers} - {name for name, kind in answers if kind == "2xx"} - BARREN)
    print(f"{sent:,} requests, {failed:,} of them answered with 500 or above; seed {options.seed}")
    print(f"Operations without any success: {', '.join(barren) or 'none'}")
    return status or int(sent < options.fewest or bool(barren))


def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="soat-fuzz-")


def _command(stack: Stack, token: str, options: argparse.Namespace) -> list[str]:
    return [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{stack.url}/api/v1/openapi.json"),
        *("--header", f"Authorization: Bearer {token}"),
        *("--checks", ",".join(CHECKS)),
        *("--max-examples", str(options.examples)),
        *("--seed", str(options.seed)),
        *("--suppress-health-check", "all"),
        *("--generation-database", "none"),
        *("--warnings", "off"),
        "--continue-on-failure",
    ]


def _answers(stack: Stack, token: str) -> Counter[tuple[str, str]]:
    """Return how many requests of the API were answered, by operation and class of status."""
    with stack.client(token) as admin:
        text = admin.get("/metrics").raise_for_status().text
    rows = re.findall(
        r'^soat_http_requests_total\{.*?operation="(\w+)".*?status="(\dxx)"\} ([\d.e+]+)', text, re.MULTILINE
    )
    answers: Counter[tuple[str, str]] = Counter()
    for operation, status, number in rows:
        answers[operation, status] += int(float(number))
    return answers


if __name__ == "__main__":
    sys.exit(main())
