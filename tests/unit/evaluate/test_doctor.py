"""Version pairs that are known not to work together."""

from __future__ import annotations

import pytest

from kagent_bench.evaluate.doctor import known_bad


@pytest.mark.parametrize(
    ("triton", "numpy", "bad"),
    [
        ("3.6.0", "2.4.0", True),
        ("3.4.1", "2.10.1", True),
        ("3.6.0", "2.3.5", False),
        ("3.7.0", "2.4.6", False),
        ("3.10.0", "2.4.6", False),
        ("", "2.4.6", False),
    ],
)
def test_an_old_triton_cannot_interpret_with_a_new_numpy(triton: str, numpy: str, *, bad: bool) -> None:
    """The pair is named with what to do; versions compare as numbers."""
    problems = known_bad({"triton": triton, "numpy": numpy}, interpreter=True)
    assert bad is any("upgrade triton" in text for text in problems)


def test_on_a_gpu_the_interpreter_does_not_matter() -> None:
    """The pair is no problem where kernels are compiled."""
    assert [] == known_bad({"triton": "3.4.0", "numpy": "2.4.0"}, interpreter=False)
