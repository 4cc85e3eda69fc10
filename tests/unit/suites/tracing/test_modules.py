"""Which module runs, of those that torch's tracker holds."""

from __future__ import annotations

from itertools import permutations

from kagent_bench.suites.tracing.modules import innermost


def test_the_innermost_module() -> None:
    """The longest path without the class of the root; of several as long always the same one."""
    assert "" == innermost(["Global"])
    assert "Net" == innermost(["Global", "Net"])
    assert "block.norm" == innermost(["Net", "Net.block.norm", "Global", "Net.block"])
    assert {"attn2"} == {innermost(names) for names in permutations(["Global", "Net.attn1", "Net.attn2"])}
