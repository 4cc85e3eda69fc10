"""The commands that need no evaluation: lists, plugins, settings, version; and how commands end."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.main import get_command

from kagent_bench.cli import console, options
from kagent_bench.cli.app import app
from kagent_bench.cli.commands import COMMANDS
from kagent_bench.config.keys import BY_NAME
from kagent_bench.hooks import manager
from kagent_bench.hooks.manager import LoadFailure, Owner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Kab


def _options(command: str) -> dict[str, Any]:
    found: Any = get_command(app)
    for part in command.split():
        found = found.get_command(None, part)
    return {parameter.name: parameter for parameter in found.params}


def test_every_command_has_help(kab: Kab) -> None:
    """Help on standard output, exit code 0."""
    for command in [[], *([name] for name in sorted(COMMANDS)), ["config", "show"]]:
        done = kab(*command, "--help")
        assert (0, "") == (done.code, done.err)
        assert f"Usage: {' '.join(['kab', *command])}" in done.out


def test_the_summaries_are_those_of_the_commands() -> None:
    """The table that spares building every command says what the commands say."""
    root: Any = get_command(app)

    assert COMMANDS == {name: root.get_command(None, name).help.split("\n\n")[0] for name in COMMANDS}


def test_the_version(kab: Kab) -> None:
    """That of the distribution."""
    assert f"kab {version('kagent-bench')}\n" == kab("--version").out


@pytest.mark.parametrize("command", ["setup", "generate", "evaluate", "run", "list", "config show"])
def test_options_are_spelt_as_the_settings_say(command: str) -> None:
    """One spelling everywhere: that of the table of settings."""
    for name, parameter in _options(command).items():
        if name in BY_NAME:
            assert BY_NAME[name].flag in parameter.opts


def test_every_setting_has_an_option(kab: Kab) -> None:
    """`config show` takes them all, so that any command line can be tried out."""
    assert set(BY_NAME) <= set(_options("config show"))
    assert {key.flag for key in BY_NAME.values()} - {None} == {
        BY_NAME[name].flag for name in _options("config show") if name in BY_NAME
    }
    assert 0 == kab("config", "show").code


@pytest.mark.parametrize(
    ("flag", "values"),
    [
        ("--base-dir", ("a", "b")),
        ("--run-dir", ("a", "b")),
        ("--suite", ("smoke", "opinfo")),
        ("--ops", ("relu", "relu,add.Tensor")),
        ("--dtype", ("fp16", "fp32")),
        ("--num-operators", ("1", "2")),
        ("--cases-per-operator", ("1", "2")),
        ("--num-workers", ("1", "2")),
        ("--workflow", ("a", "b")),
        ("--max-attempts", ("1", "2")),
        ("--time-limit", ("1", "2")),
        ("--device", ("cpu", "cuda")),
        ("--policy", ("strict", "report")),
        ("--compile-target", ("none", "cuda:80:32")),
        ("--executor", ("a", "b")),
        ("--rounds", ("1", "2")),
        ("--case-timeout", ("1", "2")),
        ("--startup-timeout", ("1", "2")),
        ("--kernel-timeout", ("1", "2")),
        ("--memory-limit", ("1", "2")),
        ("--output-limit", ("1", "2")),
        ("--tolerance", ("float16=1", "float16=2")),
    ],
)
def test_no_option_is_dead(kab: Kab, flag: str, values: tuple[str, str]) -> None:
    """Two values of an option give two recorded configurations, with the flag as origin."""
    shown = [json.loads(kab("config", "show", flag, value, "--json").out) for value in values]

    assert shown[0]["settings"] != shown[1]["settings"]
    assert f"flag:{flag}" in shown[0]["origins"].values()


def test_force_can_be_switched_both_ways(kab: Kab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag goes over the environment in both directions."""
    monkeypatch.setenv("KAB_FORCE", "yes")

    found = json.loads(kab("config", "show", "--no-force", "--json").out)

    assert found["settings"]["generate"]["force"] is False


def test_lists_may_be_repeated_and_have_commas(kab: Kab) -> None:
    """`--ops a,b --ops c` is three operators."""
    found = json.loads(kab("config", "show", "--ops", "a, b", "--ops", "c,a", "--json").out)

    assert ["a", "b", "c"] == found["settings"]["selection"]["ops"]


def test_list_names_everything_that_can_be_chosen(kab: Kab) -> None:
    """As JSON and in words, with the owner of each."""
    found = json.loads(kab("list", "--json").out)

    assert {"generators", "dtype_filters", "suites", "report_formats", "executors"} == set(found)
    assert {"smoke", "opinfo"} <= {item["name"] for item in found["suites"]}
    words = kab("list").out
    assert all(item["name"] in words for items in found.values() for item in items)


def test_list_shows_operators_and_cases(kab: Kab) -> None:
    """With their origin; a base name is that operator and no other."""
    found = json.loads(kab("list", "--suite", "smoke", "--ops", "relu", "--cases", "--json").out)

    (operator,) = found["operators"]
    assert "relu.default" == operator["op_name"]
    assert operator["n_cases"] == len(operator["cases"]) > 0
    assert all({"id", "dtype", "origin", "call"} <= set(case) for case in operator["cases"])
    words = kab("list", "--suite", "smoke", "--ops", "relu", "--cases").out
    assert operator["cases"][0]["id"] in words


def test_list_names_the_lines_that_cannot_be_read(kab: Kab, tmp_path: Path) -> None:
    """All of them, for scripts and with -v."""
    path = tmp_path / "model.txt"
    path.write_text(
        "Operator: aten.relu.default\ncnt: 1, ((T([4], f32),), {})\n" + "cnt: x, ((1,), {})\n" * 9
    )

    done = kab("list", "--suite-file", str(path), "--json", "-v")

    lines = [f"{path}:{line}:6: a count is a whole number from 0, not 'x'" for line in range(3, 12)]
    assert lines == json.loads(done.out)["unread"]
    assert set(lines) <= set(done.err.splitlines())


def test_plugins_are_listed_with_owner(kab: Kab) -> None:
    """Name, kind, owner and version."""
    found = json.loads(kab("plugins", "--json").out)

    assert [] == found["failures"]
    (dtypes,) = [item for item in found["plugins"] if item["plugin"] == "dtypes"]
    assert ("kagent-bench", version("kagent-bench")) == (dtypes["distribution"], dtypes["version"])
    assert "fp16" in dtypes["offers"]["dtype_filters"]
    assert "dtype_filters" in kab("plugins").out


@pytest.mark.parametrize("command", ["list", "plugins"])
def test_a_broken_plugin_is_named_on_standard_error(
    kab: Kab, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Standard output stays clean, the rest works, exit code 0; `-q` silences the warning."""
    build = manager.build_manager

    def with_failure(entry_points: Any = None) -> manager.Plugins:
        owner = Owner(plugin="broken", distribution="theirs", version="9")
        plugins = build(entry_points)
        return manager.Plugins(
            manager=plugins.manager,
            owners=plugins.owners,
            failures=(LoadFailure(owner=owner, error="OSError: no disk"),),
        )

    monkeypatch.setattr("kagent_bench.hooks.catalog.build_manager", with_failure)

    done = kab(command, "--json")

    assert 0 == done.code
    assert "warning: plugin 'broken' of distribution theirs 9 is left out: OSError: no disk\n" == done.err
    json.loads(done.out)
    assert "" == kab(command, "-q").err
    assert "broken" in kab("plugins", "-q").out


def test_a_bug_keeps_its_traceback(kab: Kab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception is a harness fault: exit code 3, with the traceback."""
    monkeypatch.setattr("kagent_bench.pipeline.choose", lambda *_: 1 // 0)

    done = kab("list", "--suite", "smoke")

    assert 3 == done.code
    assert "Traceback" in done.err
    assert "ZeroDivisionError" in done.err


def test_an_interrupt_says_how_to_go_on(kab: Kab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C: exit code 130 and one line."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kagent_bench.pipeline.choose", interrupt)

    done = kab("list", "--suite", "smoke")

    assert (130, 1) == (done.code, len(done.err.splitlines()))
    assert "run the same command again" in done.err


def test_a_reader_that_has_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `kab list | head -1`: quiet, with the shell's own exit code for it."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        with pytest.raises(typer.Exit) as caught:
            console.emit("text")

    assert console.PIPE_CLOSED == caught.value.exit_code


def test_help_texts_are_sentences() -> None:
    """Every option says what it does."""
    for command in set(COMMANDS) - {"config"} | {"config show"}:
        for parameter in _options(command).values():
            if parameter.name != "help":
                assert (parameter.help or "").endswith("."), (command, parameter.name)
    assert options.Suite is not None
