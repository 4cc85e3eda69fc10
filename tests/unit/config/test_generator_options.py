"""Options that generators declare: every layer reaches them, and they are checked like any setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.config.generator_keys import generator_keys, refuse_foreign_options
from kagent_bench.config.resolve import argument_layer, flag_layer, resolve
from kagent_bench.config.show import settings_rows
from kagent_bench.errors import ConfigError, PluginError, UsageError
from kagent_bench.hooks.entries import GeneratorEntry
from kagent_bench.hooks.options import GeneratorOption

if TYPE_CHECKING:
    from pathlib import Path


def _load() -> Any:
    raise NotImplementedError


MODEL = GeneratorOption(name="model", default="", summary="The model.")
ROUNDS = GeneratorOption(name="max_turns", default=10, summary="Most rounds.", minimum=1)
ROUTE = GeneratorOption(name="route", default="auto", summary="The way.", choices=("auto", "whole"))
ONE = GeneratorEntry("one", "declares", _load, (MODEL, ROUNDS, ROUTE))
TWO = GeneratorEntry("two", "declares one of them too", _load, (MODEL,))
PLAIN = GeneratorEntry("plain", "declares nothing", _load)
DRIVER = GeneratorEntry("driver", "drives others", _load, drives_others=True)
ENTRIES = (ONE, TWO, PLAIN, DRIVER)
KEYS = generator_keys(ENTRIES)


def test_defaults_are_settings_with_an_origin() -> None:
    """A declared option that nobody gives has its default."""
    resolved = resolve(environ={}, generators=ENTRIES)

    assert {"model": "", "max_turns": 10, "route": "auto"} == resolved.settings.generators["one"]
    assert "default" == resolved.origins["generators.one.max_turns"]


def test_every_layer_reaches_an_option(tmp_path: Path) -> None:
    """Default < file < variable < flag, each with its origin."""
    file = tmp_path / "mine.toml"
    file.write_text("[generators.one]\nmax_turns = 2\nmodel = 'a'\nroute = 'whole'\n")

    resolved = resolve(
        flag_layer({"max_turns": 4}, KEYS),
        config=file,
        environ={"KAB_MAX_TURNS": "3", "KAB_ROUTE": "auto"},
        generators=ENTRIES,
    )

    assert {"model": "a", "max_turns": 4, "route": "auto"} == resolved.settings.generators["one"]
    assert "flag:--max-turns" == resolved.origins["generators.one.max_turns"]
    assert "env:KAB_ROUTE" == resolved.origins["generators.one.route"]
    assert f"file:{file}" == resolved.origins["generators.one.model"]
    shown = {row.path: (row.value, row.option) for row in settings_rows(resolved, KEYS)}
    assert (4, "--max-turns") == shown["generators.one.max_turns"]


def test_an_option_of_several_generators_reaches_each() -> None:
    """One word means one thing; the Python API gives it as the command line does."""
    tables = resolve(argument_layer({"model": "m"}, KEYS), environ={}, generators=ENTRIES).settings.generators

    assert ("m", "m") == (tables["one"]["model"], tables["two"]["model"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[generators.one]\nmax_turn = 2\n", "unknown key 'generators.one.max_turn'"),
        ("[generators.one]\nmax_turns = 'x'\n", "is not a whole number"),
        ("[generators.one]\nmax_turns = 0\n", "must be at least 1"),
        ("[generators.one]\nroute = 'home'\n", "must be one of auto, whole"),
    ],
)
def test_a_bad_option_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """With file and key, as for the settings of kab."""
    file = tmp_path / "mine.toml"
    file.write_text(text)

    with pytest.raises(ConfigError, match=r"generators\.one") as caught:
        resolve(config=file, environ={}, generators=ENTRIES)

    assert words in caught.value.message


def test_an_option_is_for_the_chosen_generator() -> None:
    """One that the chosen generator would ignore is wrong use, unless it hands problems on to others."""
    with pytest.raises(UsageError, match=r"'two' .* has no option --max-turns"):
        refuse_foreign_options("two", ["max_turns"], ENTRIES)

    refuse_foreign_options("one", ["max_turns"], ENTRIES)
    refuse_foreign_options("driver", ["max_turns"], ENTRIES)


def test_a_setting_of_kab_cannot_be_declared() -> None:
    """It would have two meanings."""
    entry = GeneratorEntry("x", "", _load, (GeneratorOption(name="rounds", default=1, summary=""),))

    with pytest.raises(PluginError, match="rounds, which is a setting of kab"):
        generator_keys([entry])


def test_one_name_has_one_type() -> None:
    """Two generators cannot take one flag as text and as a number."""
    other = GeneratorEntry("x", "", _load, (GeneratorOption(name="model", default=1, summary=""),))

    with pytest.raises(PluginError, match="option model is "):
        generator_keys([ONE, other])
