"""Throw generated requests at a live stack: ``make fuzz`` (``ARGS='--seed 7 --examples 50'``).

Every answer must be one that the OpenAPI document has, in its shape, and none a 500. The stack is one of its
own; the requests are counted by the server itself.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.stack import Stack, running_stack

PROJECT = Path(__file__).resolve().parents[1]
FEWEST_REQUESTS = 10_000
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)


def main() -> int:
    """Run the stack and the requests; return 0 when nothing was wrong and there were enough of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the same seed sends the same requests")
    parser.add_argument("--examples", type=int, default=140, help="requests of each operation and phase")
    parser.add_argument("--fewest", type=int, default=FEWEST_REQUESTS, help="fail when fewer requests were sent")
    options = parser.parse_args()
    with running_stack() as stack:
        with stack.client() as nobody:
            body = {"username": stack.username, "password": stack.password}
            token = nobody.post("/api/v1/users/login", json=body).raise_for_status().json()["token"]
        status = subprocess.run(_command(stack, token, options), cwd=PROJECT, check=False).returncode
        sent, failed = _counted(stack, token)
    print(f"{sent:,} requests, {failed:,} of them answered with 500 or above; seed {options.seed}")
    return status or int(sent < options.fewest)


def _command(stack: Stack, token: str, options: argparse.Namespace) -> list[str]:
    return [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{stack.url}/api/v1/openapi.json"),
        *("--header", f"Authorization: Bearer {token}"),
        *("--checks", ",".join(CHECKS)),
        *("--phases", "examples,coverage,fuzzing,stateful"),
        *("--max-examples", str(options.examples)),
        *("--seed", str(options.seed)),
        *("--suppress-health-check", "all"),
        *("--generation-database", "none"),
        *("--warnings", "off"),
        "--continue-on-failure",
    ]


def _counted(stack: Stack, token: str) -> tuple[int, int]:
    """Return how many requests of the API were answered, and how many with a status of the five hundreds."""
    with stack.client(token) as admin:
        text = admin.get("/metrics").raise_for_status().text
    rows = re.findall(
        r'^soat_http_requests_total\{.*?operation="(\w+)".*?status="(\dxx)"\} ([\d.e+]+)', text, re.MULTILINE
    )
    sent = sum(float(number) for _, _, number in rows)
    failed = sum(float(number) for _, status, number in rows if status == "5xx")
    return int(sent), int(failed)


if __name__ == "__main__":
    sys.exit(main())
