"""The shape of the code: imports point one way, nothing heavy at start, small documented files."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "kagent_bench"
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])
MODULES = [path for path in SOURCES if path.is_relative_to(PACKAGE)]

LAYERS = (
    "phase",
    "throwaway",
    "version",
    "errors",
    "model",
    "hooks",
    "config",
    "suites",
    "artefacts",
    "stores",
    "generate",
    "evaluate",
    "report",
    "pipeline",
    "api",
    "cli",
)
"""Low to high; a module imports only its own layer and lower ones."""
HEAVY = ("torch", "triton", "numpy", "pydantic", "rich")
READ_THE_ENVIRONMENT = (
    "config/environment.py",
    "artefacts/case_runner.py",  # becomes a part of self-contained test files
    "evaluate/candidate/",  # children, which read what the supervisor set for them
)
MAX_LINES = 500
VAGUE = {"utils", "util", "helpers", "common", "misc", "base"}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports(path: Path) -> set[str]:
    """Return the full names of every imported module of ours, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("kagent_bench.")}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_point_down(path: Path) -> None:
    """A module imports only its own layer and lower ones."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return
    own = LAYERS.index(parts[0])
    used = {name.split(".")[1] for name in _imports(path)} & set(LAYERS)

    assert set() == {layer for layer in used if LAYERS.index(layer) > own}


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_every_module_is_small_and_says_what_it_is_for(path: Path) -> None:
    """A docstring, at most 500 lines, and a name that means something."""
    text = path.read_text()

    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= MAX_LINES
    assert path.stem not in VAGUE


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name == "__init__.py"], ids=_name)
def test_packages_only_export(path: Path) -> None:
    """An `__init__` has a sorted `__all__` that names what is there, and defines nothing else of its own."""
    tree = ast.parse(path.read_text())
    names = ".".join(
        path.parent.relative_to(ROOT if path.is_relative_to(PACKAGE) else ROOT / "plugins").parts
    )
    module = importlib.import_module(names)
    exported = list(getattr(module, "__all__", []))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    assert sorted(exported) == exported
    assert set() == {name for name in exported if not hasattr(module, name)}
    assert defined <= {"__getattr__", "__dir__"}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_one_module_reads_the_environment(path: Path) -> None:
    """Settings come only through `config.environment`; whole environments for children are another matter."""
    inner = path.relative_to(PACKAGE).as_posix()
    if inner.startswith(READ_THE_ENVIRONMENT):
        return
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]

    assert [] == [call.lineno for call in calls if ast.unparse(call) in {"os.environ.get", "os.getenv"}]


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_watching_calls_imports_no_compiler(path: Path) -> None:
    """Every dispatch mode is a `DispatchWatch`: torch's own imports its compiler, a second's work, on the first call."""
    classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    bases = {ast.unparse(base).rpartition(".")[2] for node in classes for base in node.bases}

    assert path.stem == "dispatch_watch" or "TorchDispatchMode" not in bases


def _loaded_after(code: str) -> set[str]:
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import kagent_bench",
        "import kagent_bench.hooks.specs, kagent_bench.hooks.entries, kagent_bench.hooks.protocols",
        "import kagent_bench.api",
        "from kagent_bench.hooks.catalog import build_catalog; build_catalog()",
    ],
)
def test_nothing_heavy_is_imported_early(code: str) -> None:
    """Importing the package, the hooks and the API, and listing plugins, loads neither torch nor the like."""
    assert set() == _loaded_after(code) & set(HEAVY)


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["--version"], ["nonsense"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """Help and usage errors come without torch or triton; plain help without pydantic and rich too.

    Typer itself imports pydantic when it reads the options of a command.
    """
    code = (
        "import contextlib, io\nfrom kagent_bench.cli.app import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({arguments!r})"
    )

    heavy = set(HEAVY) if arguments == ["--help"] else {"torch", "triton", "numpy", "rich"}
    assert set() == _loaded_after(code) & heavy


def test_the_version_is_said_once() -> None:
    """The distribution's metadata is the only place of the version in the package."""
    assert [] == [_name(path) for path in MODULES if "__version__ =" in path.read_text()]
