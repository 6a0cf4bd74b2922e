"""Every setting is in the README and in .env.example, with the default that it has."""

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ENV_EXAMPLE = PROJECT / ".env.example"


def settings_in_code() -> dict[str, str | None]:
    """Return the variables that the settings read, with their defaults as text; None where it is not constant."""
    tree = ast.parse((PROJECT / "soat" / "settings.py").read_text())
    found: dict[str, str | None] = {}
    for node in ast.walk(tree):
        # The readers are the private functions whose first argument is a variable: _text("NAME", …).
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("_")):
            continue
        match node.args:
            case [ast.Constant(value=str(name)), *rest] if re.fullmatch(r"[A-Z][A-Z0-9_]+", name):
                found[name] = default_of(rest)
    return found


def default_of(arguments: list[ast.expr]) -> str | None:
    match arguments:
        case []:
            return ""
        case [ast.Constant(value=bool(value)), *_]:
            return str(value).lower()
        case [ast.Constant(value=value), *_]:
            return str(value)
    return None


def settings_in_readme() -> dict[str, str]:
    rows = re.findall(
        r"^\| `([A-Z][A-Z0-9_]+)` \| (?:`(.*?)`|\(empty\)) \| .+ \|$", (PROJECT / "README.md").read_text(), re.MULTILINE
    )
    assert len(rows) == len(dict(rows)), "a setting stands twice in the README"
    return dict(rows)


def settings_in_example() -> dict[str, str]:
    rows = re.findall(r"^# ([A-Z][A-Z0-9_]+)=(.*)$", ENV_EXAMPLE.read_text(), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a setting stands twice in .env.example"
    return dict(rows)


def test_the_readme_has_every_setting() -> None:
    assert sorted(settings_in_readme()) == sorted(settings_in_code())


def test_the_example_has_every_setting() -> None:
    assert sorted(settings_in_example()) == sorted(settings_in_code())


def test_the_defaults_are_those_of_the_code() -> None:
    constant = {name: default for name, default in settings_in_code().items() if default is not None}
    assert len(constant) > 30
    for documented in (settings_in_readme(), settings_in_example()):
        assert {name: default for name, default in documented.items() if name in constant} == constant


def test_a_copy_of_the_example_changes_nothing() -> None:
    assert [line for line in ENV_EXAMPLE.read_text().splitlines() if line and not line.startswith("#")] == []
