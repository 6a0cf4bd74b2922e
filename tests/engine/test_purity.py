"""The engine loads nothing but the standard library and ``regex``, and reads neither clock nor environment."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import soat.engine

MODULES = sorted(module.name for module in pkgutil.iter_modules(soat.engine.__path__))
SOURCES = sorted(Path(soat.engine.__path__[0]).glob("*.py"))
ALLOWED = {"regex", "soat"} | set(sys.stdlib_module_names)
IMPURE = {"time", "random", "secrets", "os", "socket", "threading", "logging", "uuid", "subprocess"}


def test_importing_the_engine_loads_no_framework() -> None:
    code = "import sys\n" + "\n".join(f"import soat.engine.{name}" for name in MODULES)
    code += "\nprint(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "soat" in loaded
    assert loaded.isdisjoint({"django", "celery", "numpy", "rest_framework", "psycopg", "pgvector"})


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_module_imports_only_what_is_pure(source: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.module.startswith("soat.engine") or not node.module.startswith("soat")
            imported.add(node.module.partition(".")[0])
    assert imported <= ALLOWED
    assert imported.isdisjoint(IMPURE)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_module_stays_short(source: Path) -> None:
    assert len(source.read_text().splitlines()) < 400
