"""The wheel is complete: plugins and configuration files are found, from an unrelated folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, without network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run(
        [*command, "--wheel-dir", str(folder), str(ROOT)], check=True, capture_output=True, text=True
    )
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_has_every_file(wheel: Path) -> None:
    """All of the package, the bundled plugins and the configuration files; no tests."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = [path.relative_to(ROOT) for path in (ROOT / "kagent_bench").rglob("*.py")]
    plugins = [path.relative_to(ROOT / "plugins") for path in (ROOT / "plugins").rglob("*.py")]
    configs = [
        "kagent_bench/configs" / path.relative_to(ROOT / "configs") for path in (ROOT / "configs").glob("*")
    ]

    assert {path.as_posix() for path in [*package, *plugins, *configs]} <= names
    assert "kagent_bench/py.typed" in names
    assert [] == [name for name in names if name.startswith("tests")]


def test_the_wheel_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """Unpacked into a folder that comes first on the path, it finds its own plugins and its own settings."""
    site = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(site),
    ]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True, text=True)
    code = (
        "import json, kagent_bench\n"
        "from kagent_bench.config.files import configs_dir\n"
        "from kagent_bench.hooks.catalog import build_catalog\n"
        "catalog = build_catalog()\n"
        "print(json.dumps([kagent_bench.__file__, str(configs_dir()),"
        " {kind: registry.names() for kind, registry in catalog.registries().items()}]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )

    package, configs, names = json.loads(done.stdout)
    assert str(site / "kagent_bench" / "__init__.py") == package
    assert str(site / "kagent_bench" / "configs") == configs
    assert {"baseline"} <= set(names["generators"])
    assert {"smoke", "opinfo"} <= set(names["suites"])
    assert {"fp16", "bf16", "fp32"} <= set(names["dtype_filters"])
    assert {"table", "md", "csv", "json"} <= set(names["report_formats"])
    assert {"local"} <= set(names["executors"])
