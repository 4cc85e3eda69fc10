"""The subcommands by name, each built only when it is asked for: reading the options of all takes 50 ms."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

COMMANDS = {
    "setup": "Write problem statements and tests.",
    "generate": "Have a generator write kernels.",
    "evaluate": "Judge the kernels of a folder.",
    "report": "Report a stored run.",
    "run": "Set up, generate, evaluate and report.",
    "list": "List names, operators and cases.",
    "trace": "Record the operator calls of a model as a suite.",
    "plugins": "List the installed plugins.",
    "doctor": "Say what this machine can judge.",
    "selftest": "Show what this installation catches.",
    "config": "Show the settings.",
}
"""Name and summary, in the order of the help; the module of the same name has the command."""
TAKE_GENERATOR_OPTIONS = frozenset({"generate", "run", "config show"})
"""Commands that take the options that generators declare."""

TAKE_SELECTION_OPTIONS = frozenset({"setup", "generate", "evaluate", "run", "list", "config show"})
"""Commands that take the options that choose among a suite's cases."""


class LazyCommands(TyperGroup):
    """A group that imports a command's module when the command is used.

    Click's types are named ``Any`` because Typer vendors Click from 0.26 on and depends on it before.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return every name, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None where there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        holder = typer.Typer(add_completion=False, rich_markup_mode=None)
        holder.callback()(_nothing)
        importlib.import_module(f"kagent_bench.cli.{cmd_name}").register(holder)
        group: Any = get_command(holder)
        command = group.commands[cmd_name]
        _complete(command, cmd_name)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the help's list of commands without building any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _complete(command: Any, name: str) -> None:
    """Add what generators declare, and what chooses among cases, to the commands that take it."""
    subcommands = getattr(command, "commands", None) or {}
    for subname, subcommand in subcommands.items():
        _complete(subcommand, f"{name} {subname}")
    if name in TAKE_SELECTION_OPTIONS:
        from kagent_bench.cli.selection_options import add_selection_options

        add_selection_options(command)
    if name in TAKE_GENERATOR_OPTIONS:
        from kagent_bench.cli.generator_options import add_generator_options

        add_generator_options(command)


def _nothing() -> None:
    """Make a group of a Typer that has one command."""
