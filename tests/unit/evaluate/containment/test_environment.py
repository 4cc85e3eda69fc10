"""The environment of candidates."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.containment.environment import KEPT, clean_environment

_SCRATCH = Path("/scratch")
_SECRET = "hunter2-"  # noqa: S105 - a made-up one


@given(st.dictionaries(st.text(min_size=1).filter(lambda name: name not in KEPT), st.just(_SECRET)))
def test_no_other_variable_gets_through(inherited: dict[str, str]) -> None:
    """Whatever a variable is called, its value arrives only if it is on the list."""
    assert _SECRET not in clean_environment(_SCRATCH, interpret=True, inherited=inherited).values()


def test_what_leads_to_devices_and_compilers_is_kept() -> None:
    """The choice of devices and the search path are the user's; an empty value is no choice."""
    inherited = {"CUDA_VISIBLE_DEVICES": "1", "PATH": "/opt/bin", "CC": ""}
    environment = clean_environment(_SCRATCH, interpret=False, inherited=inherited)
    assert "1" == environment["CUDA_VISIBLE_DEVICES"]
    assert "/opt/bin" == environment["PATH"]
    assert "CC" not in environment


def test_the_interpreter_is_asked_for_only_if_wanted() -> None:
    """Triton's interpreter is on or absent, whatever the user's own setting."""
    inherited = {"TRITON_INTERPRET": "1"}
    assert "1" == clean_environment(_SCRATCH, interpret=True, inherited={})["TRITON_INTERPRET"]
    assert "TRITON_INTERPRET" not in clean_environment(_SCRATCH, interpret=False, inherited=inherited)
