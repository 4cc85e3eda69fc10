"""The README tells the truth: its commands exist, its settings are read, its plugin works as it is printed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kagent_bench.cli.app import app
from kagent_bench.cli.commands import COMMANDS as COMMANDS_BY_NAME
from kagent_bench.config.resolve import resolve
from kagent_bench.errors import ExitCode
from kagent_bench.model.verdict import CaseStatus, OperatorVerdict

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"(?:<!-- example: (\S+) -->\n)?```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    shlex.split(line[2:], comments=True)
    for _, language, text in BLOCKS
    if language == "console"
    for line in text.splitlines()
    if line.startswith("$ kab ")
]


def _command(words: list[str]) -> Any:
    found: Any = get_command(app)
    while words and hasattr(found, "get_command") and found.get_command(None, words[0]):
        found = found.get_command(None, words.pop(0))
    return found


def _names(command: Any) -> list[str]:
    return list(command.list_commands(None)) if hasattr(command, "list_commands") else []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_can_be_parsed(words: list[str]) -> None:
    """Command and options exist, and take the values shown."""
    arguments = words[1:]
    command = _command(arguments)

    with command.make_context("kab", arguments, resilient_parsing=False) as context:
        assert [] == context.args


def test_there_are_commands() -> None:
    """The parsing above found them all."""
    assert {
        "setup",
        "generate",
        "evaluate",
        "report",
        "run",
        "list",
        "trace",
        "plugins",
        "doctor",
        "selftest",
        "config",
    } == {words[1] for words in COMMANDS}


def test_the_reference_names_every_command_and_only_real_options() -> None:
    """The table of commands is complete; an option that it names belongs to that command."""
    rows = re.findall(r"^\| `kab ([a-z ]+)` \|[^|]+\|([^|]*)\|$", README, re.MULTILINE)
    assert set(COMMANDS_BY_NAME) - {"config"} | {"config show"} == {name for name, _ in rows}
    for name, text in rows:
        known = {option for parameter in _command(name.split()).params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", text)) <= known, name


def test_every_option_that_is_mentioned_exists() -> None:
    """Anywhere in the text outside code of others."""
    text = re.sub(r"```(toml|python).*?```", "", README, flags=re.DOTALL)
    pending, known = [get_command(app)], {"--help"}
    while pending:
        command: Any = pending.pop()
        pending += [command.get_command(None, name) for name in _names(command)]
        known |= {option for parameter in command.params for option in parameter.opts}

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= known


def test_exit_codes_and_verdicts_are_those_of_the_code() -> None:
    """Both tables, in the code's order; every status of a case is named."""
    assert [str(code.value) for code in ExitCode] == re.findall(r"^\| (\d+) \|", README, re.MULTILINE)
    verdicts = re.findall(r"^\| `([a-z_]+)` \|", README, re.MULTILINE)
    assert [verdict.value for verdict in OperatorVerdict] == verdicts
    assert all(f"`{status}`" in README for status in CaseStatus)


def test_the_configuration_example_is_read(tmp_path: Path) -> None:
    """Every key of the example is a setting."""
    (text,) = [text for name, language, text in BLOCKS if language == "toml" and not name]
    file = tmp_path / "mine.toml"
    file.write_text(text)

    settings = resolve(config=file, environ={"KAB_ROUNDS": "4", "KAB_OPS": "relu,add.Tensor"}).settings

    assert ("opinfo", 2, 4) == (settings.selection.suite, settings.num_workers, settings.evaluate.rounds)


@pytest.fixture(scope="module")
def strangers_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example plugin, as it is printed, as a distribution of somebody else; without network."""
    source = tmp_path_factory.mktemp("kab-example")
    for name, _, text in BLOCKS:
        if name:
            (source / name).write_text(text)
    site = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*command, "--target", str(site), str(source)], check=True, capture_output=True, text=True)
    return site


def _kab(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "kab"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [str(program), *arguments], check=False, capture_output=True, text=True, cwd=folder, env=environment
    )


def test_the_example_plugin_is_found(strangers_site: Path, tmp_path: Path) -> None:
    """As a stranger's, with its owner, and without a warning."""
    done = _kab(strangers_site, tmp_path, "plugins")

    assert (0, "") == (done.returncode, done.stderr)
    assert re.search(r"example +generators +relu-only +kab-example +0\.1\.0", done.stdout)
    assert re.search(r"example +dtype_filters +half +kab-example +0\.1\.0", done.stdout)


def test_the_example_filter_is_in_the_help_and_in_the_list(strangers_site: Path, tmp_path: Path) -> None:
    """A stranger's dtype filter is named where ours are."""
    assert "half, int" in " ".join(_kab(strangers_site, tmp_path, "evaluate", "--help").stdout.split())
    assert re.search(
        r"half +float16 and bfloat16 +kab-example", _kab(strangers_site, tmp_path, "list").stdout
    )


def test_the_example_plugin_runs(strangers_site: Path, tmp_path: Path) -> None:
    """Its generator writes the kernel, its filter keeps both half precisions, and the verdict is as promised."""
    (words,) = [words for words in COMMANDS if "relu-only" in words]

    done = _kab(strangers_site, tmp_path, *words[1:], "--json")

    assert 1 == done.returncode, done.stderr
    assert '"op_name": "relu.default"' in done.stdout
    assert '"verdict": "incorrect"' in done.stdout
    assert "only contiguous tensors" in done.stdout
    assert (tmp_path / "relu_kernels" / "relu__default" / "relu__default_implementation.py").is_file()


def test_an_unsupported_operator_is_said(strangers_site: Path, tmp_path: Path) -> None:
    """The example's reason reaches the user, and there is no kernel."""
    assert 0 == _kab(strangers_site, tmp_path, "setup", "--ops", "mm").returncode

    done = _kab(strangers_site, tmp_path, "generate", "--ops", "mm", "--workflow", "relu-only")

    assert 1 == done.returncode
    assert "only relu.default" in done.stdout
