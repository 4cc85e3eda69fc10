"""Scripted models: what they write about a problem, and kernels with one fault each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.plugins.kernelagent.server import Say

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.plugins.kernelagent.server import Asked, Script

RELU = '''\
"""relu.default: max(x, 0), with NaN kept."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(source, target, n, d0, d1, d2, d3, s0, s1, s2, s3, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rest = index
    offset = (rest % d3) * s3
    rest = rest // d3
    offset += (rest % d2) * s2
    rest = rest // d2
    offset += (rest % d1) * s1
    offset += (rest // d1) * s0
    inside = index < n
    value = tl.load(source + offset, mask=inside, other=0)
    tl.store(target + index, tl.where(value < 0, 0, value), mask=inside)


def kernel_function(self):
    result = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if self.numel() == 0:
        return result
    shape = [1] * (4 - self.dim()) + list(self.shape)
    stride = [0] * (4 - self.dim()) + list(self.stride())
    relu_kernel[(triton.cdiv(self.numel(), 256),)](self, result, self.numel(), *shape, *stride, BLOCK=256)
    return result
'''
"""Correct up to four dimensions, under KernelAgent's name."""
NO_COMPILE = RELU.replace("tl.where(value < 0, 0, value)", "tl.rectify(value)")
"""Uses a function that Triton has not."""
WRONG_TAIL = RELU.replace("inside = index < n", "inside = index < n - 1")
"""Leaves the last element out."""
CHEAT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def unused(x):
    pass


def kernel_function(self):
    return torch.relu(self)
"""
"""Lets the library compute."""


def fenced(source: str) -> str:
    """Return a reply as models write it."""
    return f"Here is the kernel.\n\n```python\n{source}```\n\nIt handles all strides."


def operator_of(asked: Asked) -> str:
    """Return the operator that a dialogue is about."""
    found = re.search(r"^# (\S+)$", asked.problem, re.MULTILINE)
    assert found, asked.problem[:200]
    return found[1]


def author_of(asked: Asked) -> int:
    """Return the number of the dialogue, 1 where there is only one."""
    found = re.search(r"You are author (\d+) of", asked.problem)
    return int(found[1]) if found else 1


def in_turn(*sources: str, wrap: Callable[[str], str] = fenced) -> Script:
    """Return a model that writes these one after another, then the last again and again."""

    def script(asked: Asked) -> Say:
        return Say(text=wrap(sources[min(asked.turn, len(sources)) - 1]))

    return script
