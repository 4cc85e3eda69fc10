"""The manager registers what is sound, and leaves a stranger's broken plugin out as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import PluginError
from kagent_bench.hooks.manager import OUR_DISTRIBUTION, build_manager

if TYPE_CHECKING:
    from tests.unit.hooks.conftest import MakePlugin

SOUND = "@hookimpl\ndef kab_suites():\n    return []\n"

BROKEN = {
    "raises when imported": ("raise OSError('no disk')", "OSError: no disk"),
    "exits when imported": ("raise SystemExit(3)", "SystemExit: 3"),
    "has a syntax error": ("def (", "SyntaxError"),
    "implements an unknown hook": ("@hookimpl\ndef kab_colours():\n    return []\n", "kab_colours"),
    "takes an argument that no hook has": ("@hookimpl\ndef kab_suites(colour):\n    return []\n", "colour"),
    "offers nothing": ("X = 1\n", "@hookimpl"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_stranger_fails_alone(make_plugin: MakePlugin, case: str) -> None:
    """The broken plugin is named with its owner and leaves nothing behind; the sound one works."""
    source, words = BROKEN[case]
    sound = make_plugin(SOUND, plugin="sound")
    broken = make_plugin(
        SOUND + source if "hook" in case else source, plugin="broken", distribution="Broken.Thing"
    )

    plugins = build_manager([broken, sound])

    (failure,) = plugins.failures
    assert ("broken", "broken-thing", "1.5") == (
        failure.owner.plugin,
        failure.owner.distribution,
        failure.owner.version,
    )
    assert words in failure.error
    assert ["strange-plugin:sound"] == [name for name, _ in plugins.manager.list_name_plugin()]
    assert 1 == len(plugins.manager.hook.kab_suites.get_hookimpls())


@pytest.mark.parametrize("case", BROKEN)
def test_our_own_broken_plugin_stops_everything(make_plugin: MakePlugin, case: str) -> None:
    """A broken plugin of this distribution is a damaged installation."""
    broken = make_plugin(BROKEN[case][0], distribution=OUR_DISTRIBUTION)

    with pytest.raises(PluginError, match="plugin 'theirs' of distribution kagent-bench"):
        build_manager([broken])


def test_one_module_is_registered_once(make_plugin: MakePlugin) -> None:
    """A second entry point for the same module is a failure that names the first."""
    first = make_plugin(SOUND)
    second = make_plugin(SOUND, plugin="again")
    twin = type(second)(name="twin", value=second.value, group=second.group)

    plugins = build_manager([first, second, twin])

    assert ["twin"] == [failure.owner.plugin for failure in plugins.failures] or ["again"] == [
        failure.owner.plugin for failure in plugins.failures
    ]
    assert "registered already" in plugins.failures[0].error


def test_installed_plugins_are_found() -> None:
    """Ours come through the same entry-point group as a stranger's."""
    owners = [owner for owner in build_manager().owners.values() if owner.ours]

    assert {"suites", "formats", "executors", "baseline", "dtypes"} <= {owner.plugin for owner in owners}
