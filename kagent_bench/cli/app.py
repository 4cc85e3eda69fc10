"""The command ``kab``: collects the subcommands, and turns every way to end into messages and an exit code."""

from __future__ import annotations

import atexit
import sys
from typing import Annotated

import typer
from typer.main import get_command

from kagent_bench.cli.commands import LazyCommands
from kagent_bench.cli.console import emit, say
from kagent_bench.errors import ExitCode, KabError
from kagent_bench.throwaway import leave

# Typer vendors Click from 0.26 on, so the root of the usage errors is found rather than imported.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[typer.BadParameter.__mro__.index(Exception) - 1]

app = typer.Typer(
    name="kab",
    cls=LazyCommands,
    help="Judge GPU kernels that programs write: is it right, is it faster, can the verdict be trusted?",
    rich_markup_mode=None,  # rich takes 0.1 s to import, half of what --help may take
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        emit(f"kab {version('kagent-bench')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def main(arguments: list[str] | None = None) -> None:
    """Run ``kab`` and exit.

    Args:
        arguments: the command line without the program's name; None for that of this process.

    Raises:
        SystemExit: always.
    """
    code = [int(ExitCode.HARNESS_FAULT)]
    if arguments is None:
        # Called last: to take torch apart is a fifth of a command's time.
        atexit.register(lambda: leave(code[0]))
    code[0] = _run(arguments)
    sys.exit(code[0])


def _run(arguments: list[str] | None) -> int:
    try:
        code = get_command(app).main(args=arguments, prog_name="kab", standalone_mode=False)
    except KabError as error:
        return _tell(error)
    except (typer.Abort, KeyboardInterrupt):
        code = ExitCode.INTERRUPTED
    except _USAGE_ERROR as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "kab"
        message = " ".join(str(getattr(error, "format_message", error.__str__)()).split())
        say(f"error[Usage]: {message}\n  see: {command} --help")
        return ExitCode.USAGE
    except Exception:  # noqa: BLE001 - a bug keeps its traceback, and has its own exit code
        import traceback

        traceback.print_exc()
        return ExitCode.HARNESS_FAULT
    if code == ExitCode.INTERRUPTED:
        say("interrupted: what was done is stored; run the same command again to go on from there")
    return int(code or ExitCode.OK)


def _tell(error: KabError) -> int:
    first, second = error.lines()
    say(f"{' '.join(first.split())}\n  {' '.join(second.split())}")
    return int(error.exit_code)
