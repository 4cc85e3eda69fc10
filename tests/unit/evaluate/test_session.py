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


@pytest.mark.parametrize(
    ("wanted", "devices", "times", "n_workers"),
    [
        (0, (), False, 1),
        (4, (), False, 4),
        (4, (), True, 1),
        (0, ("cuda:0", "cuda:1"), True, 2),
    ],
)
def test_kernels_that_a_gpu_judges_at_a_time(
    *, wanted: int, devices: tuple[str, ...], times: bool, n_workers: int
) -> None:
    """As many as are wanted, but one where times are taken: another one would be in them."""
    settings = Settings(num_workers=wanted, evaluate=EvaluateSettings(devices=devices))
    session = Session(settings, times=times)
    session.machine = {"interpreter": False, "name": "NVIDIA H200"}
    assert n_workers == session.n_workers
