"""The catalog lists by name and owner, loads once, and names who broke the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import PluginError, UnknownName
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.hooks.manager import OUR_DISTRIBUTION

if TYPE_CHECKING:
    from tests.unit.hooks.conftest import MakePlugin

FILTERS = """
class Keep:
    dtypes = frozenset({"float32"})
    def skip_reason(self, case):
        return None

@hookimpl
def kab_dtype_filters():
    return [DtypeFilterEntry("tiny", "tiny floats", Keep), DtypeFilterEntry("huge", "huge floats", Keep)]
"""

BAD_HOOKS = {
    "a generator function": ("    yield GeneratorEntry('x', 'y', object)", "generator function"),
    "no list": ("    return {'x': 1}", "returned dict"),
    "an iterator": ("    return iter([])", "not a list"),
    "elements of another kind": ("    return [SuiteEntry('x', 'y', object)]", "no GeneratorEntry"),
    "an unusable name": ("    return [GeneratorEntry('My Name', 'y', object)]", "My Name"),
    "something that raises": ("    raise KeyError('oh')", "KeyError: 'oh'"),
}


def test_names_are_sorted_and_owned(make_plugin: MakePlugin) -> None:
    """Names come sorted, with the plugin that offers them."""
    catalog = build_catalog([make_plugin(FILTERS)])

    assert ("huge", "tiny") == catalog.dtype_filters.names()
    assert "plugin 'theirs' of distribution strange-plugin 1.5" == str(catalog.dtype_filters.owner("tiny"))
    assert {"dtype_filters": ("huge", "tiny")} == catalog.plugins[0].offers


def test_load_is_called_once(make_plugin: MakePlugin) -> None:
    """The same object comes back every time."""
    filters = build_catalog([make_plugin(FILTERS)]).dtype_filters

    assert filters.load("tiny", asked_by="--dtype") is filters.load("tiny", asked_by="--dtype")


def test_unknown_names_have_near_matches(make_plugin: MakePlugin) -> None:
    """The message says who asked, and what was perhaps meant."""
    filters = build_catalog([make_plugin(FILTERS)]).dtype_filters

    with pytest.raises(UnknownName) as caught:
        filters.load("tinny", asked_by="--dtype")

    assert (
        "error[UnknownName]: no dtype filter called 'tinny' (asked for by --dtype)",
        "  near matches: tiny",
    ) == caught.value.lines()


@pytest.mark.parametrize("case", BAD_HOOKS)
def test_a_hook_that_returns_no_entries_fails_alone(make_plugin: MakePlugin, case: str) -> None:
    """All that this plugin offers is left out, and the failure says which hook."""
    body, words = BAD_HOOKS[case]
    bad = FILTERS + f"@hookimpl\ndef kab_generators():\n{body}\n"

    catalog = build_catalog([make_plugin(bad)])

    (failure,) = catalog.failures
    assert words in failure.error
    assert () == catalog.dtype_filters.names()
    assert () == catalog.plugins


def test_a_bad_hook_of_ours_stops_everything(make_plugin: MakePlugin) -> None:
    """Our own plugins fail hard."""
    bad = make_plugin("@hookimpl\ndef kab_suites():\n    return 3\n", distribution=OUR_DISTRIBUTION)

    with pytest.raises(PluginError, match="kab_suites returned int"):
        build_catalog([bad])


def test_duplicate_names_name_both_owners(make_plugin: MakePlugin) -> None:
    """Neither wins: the message names both plugins and both distributions."""
    first = make_plugin(FILTERS, plugin="one", distribution="dist-a")
    second = make_plugin(FILTERS, plugin="two", distribution="dist-b", version="2.0")

    with pytest.raises(PluginError) as caught:
        build_catalog([first, second])

    assert (
        "two dtype filters are called 'tiny': by plugin 'one' of distribution dist-a 1.5"
        " and by plugin 'two' of distribution dist-b 2.0"
    ) == caught.value.message


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("lambda: object()", "without dtypes, skip_reason"),
        ("lambda: Keep", "a class, not an instance"),
        ("lambda: 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_bad_load_names_its_owner(make_plugin: MakePlugin, load: str, words: str) -> None:
    """What breaks the protocol is named with plugin and distribution."""
    source = FILTERS.replace('"tiny floats", Keep', f'"tiny floats", {load}')
    filters = build_catalog([make_plugin(source)]).dtype_filters

    with pytest.raises(PluginError) as caught:
        filters.load("tiny", asked_by="--dtype")

    assert words in caught.value.message
    assert "plugin 'theirs' of distribution strange-plugin 1.5" in caught.value.message


def test_a_load_may_explain_itself(make_plugin: MakePlugin) -> None:
    """An expected error of a plugin, such as a missing extra, reaches the user as it is."""
    source = (
        "from kagent_bench.errors import UsageError\n"
        "def load():\n    raise UsageError('no kernelagent', hint='pip install kernelagent')\n"
        "@hookimpl\ndef kab_suites():\n    return [SuiteEntry('s', 's', load)]\n"
    )

    with pytest.raises(Exception, match=r"^no kernelagent$"):
        build_catalog([make_plugin(source)]).suites.load("s", asked_by="--suite")
