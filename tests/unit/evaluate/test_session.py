"""Which devices a session judges on."""

from __future__ import annotations

import pytest

from kagent_bench.config.schema import EvaluateSettings, Settings
from kagent_bench.errors import UsageError
from kagent_bench.evaluate.session import Session


@pytest.mark.parametrize(
    ("device", "devices", "words"),
    [
        ("cpu", ("cuda:0",), "--devices cuda:0 and --device cpu contradict each other"),
        ("auto", ("cuda:0", "cuda:0"), "names a device twice"),
        ("auto", ("all", "cuda:1"), "names a device twice"),
        ("auto", ("cuda:0", "xpu:0"), "different kinds"),
    ],
)
def test_devices_that_contradict_each_other_are_refused(
    device: str, devices: tuple[str, ...], words: str
) -> None:
    """Before anything starts, with what to do instead."""
    with pytest.raises(UsageError, match=words) as error:
        Session(Settings(evaluate=EvaluateSettings(device=device, devices=devices)))
    assert error.value.hint
