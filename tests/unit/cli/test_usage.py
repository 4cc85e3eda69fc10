"""Wrong use of any kind: two lines on standard error, exit code 2, nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Kab

WRONG = {
    "no command": ("", "Missing command"),
    "unknown command": ("judge", "No such command 'judge'"),
    "unknown option": ("evaluate --colour red", "--colour"),
    "option without its value": ("evaluate --suite", "--suite"),
    "text for a number": ("evaluate --rounds many", "--rounds"),
    "number out of range": ("evaluate --rounds 0", "option --rounds: 0 must be at least 1"),
    "negative workers": ("generate --num-workers -1", "--num-workers"),
    "unknown policy": ("evaluate --policy lax", "must be strict or report"),
    "unknown device": ("evaluate --device tpu", "option --device: 'tpu' must be auto"),
    "unknown suite": ("list --suite smok", "no suite called 'smok' (asked for by --suite)"),
    "unknown operator": ("list --ops rellu", "'rellu'"),
    "substring of an operator": ("list --ops el", "'el'"),
    "unknown dtype filter": ("list --suite smoke --dtype fp61", "no dtype filter called 'fp61'"),
    "unknown generator": ("generate --workflow fuzer", "no generator called 'fuzer'"),
    "unknown generator in a run": ("run --workflow fuzer", "no generator called 'fuzer'"),
    "unknown executor": ("run --executor cloud", "no executor called 'cloud'"),
    "unknown format": ("report --format pdf", "no report format called 'pdf'"),
    "no operators named": ("list --ops ,", "option --ops names nothing"),
    "missing kernels folder": ("evaluate --base-dir nowhere", "kernels folder 'nowhere'"),
    "missing default folder": ("evaluate", "kernels folder 'generated_kernels'"),
    "no run to report": ("report", "no run in log_BackendBench"),
    "missing run folder": ("report nowhere", "nowhere"),
    "missing configuration file": ("list --config none.toml", "none.toml"),
    "tolerance without a value": ("evaluate --tolerance float16", "is not DTYPE=VALUE"),
    "tolerance for an unknown dtype": ("evaluate --tolerance half=1", "no tolerance for dtype 'half'"),
    "tolerance given twice": ("evaluate --tolerance float16=1 --tolerance float16=2", "given twice"),
    "verbose and quiet": ("list -v -q", "--verbose and --quiet contradict"),
    "two kernels folders": ("evaluate --base-dir a --kernels-dir b", "contradictory values: 'a' and 'b'"),
    "two run folders": ("report a --run-dir b", "contradict each other"),
    "json and another format": ("report --json --format csv", "--json and --format csv contradict"),
    "a case and operators": ("evaluate --case 0123 --ops relu", "--case contradicts the operators relu"),
    "fresh and an existing run": (
        "evaluate --fresh --run-dir .",
        "--fresh contradicts the existing run folder",
    ),
    "unknown subcommand": ("config hide", "No such command 'hide'"),
    "surplus argument": ("plugins what", "what"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_told_in_two_lines(kab: Kab, tmp_path: Path, case: str) -> None:
    """What is wrong and where, then what to do; exit code 2; the folder stays empty."""
    line, words = WRONG[case]

    done = kab(*line.split())

    assert (2, "") == (done.code, done.out)
    first, second = done.err.splitlines()
    assert first.startswith("error[")
    assert words in first
    assert second.startswith("  ")
    assert second.strip()
    assert [] == list(tmp_path.iterdir())


def test_an_unknown_variable_is_wrong_use(kab: Kab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable would otherwise be ignored in silence."""
    monkeypatch.setenv("KAB_ROUND", "3")

    done = kab("list")

    assert 2 == done.code
    assert "unknown environment variable KAB_ROUND" in done.err
    assert "KAB_ROUNDS" in done.err


def test_a_usage_error_names_the_commands_help(kab: Kab) -> None:
    """The second line leads to the help of the command that was meant."""
    assert kab("config", "show", "--what").err.splitlines()[1] == "  see: kab config show --help"


def test_the_same_folder_by_both_names_is_no_contradiction(kab: Kab) -> None:
    """`--base-dir` and `--kernels-dir` are one option."""
    done = kab("config", "show", "--base-dir", "x", "--kernels-dir", "./x", "--json")

    assert 0 == done.code
