"""Modules on a GPU: recorded on the CPU, judged and timed on the device."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.test_modules import EAGER, FUNCTION, GOOD, RIGHT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]
_PROBE = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
_KAB = "import sys; from kagent_bench.cli.app import main; sys.argv[0] = 'kab'; main()"
CONVOLUTION = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(64, 64, 3)

    def forward(self, x):
        return torch.relu(self.conv(x * 1.1))


def get_inputs():
    return [torch.randn(8, 64, 28, 28)]


def get_init_inputs():
    return []
"""
CONVOLUTION_KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, out, n, factor: tl.constexpr, relu: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    value = tl.load(x + place, mask=inside) * factor
    if relu:
        value = tl.where(value < 0, 0, value)
    tl.store(out + place, value, mask=inside)


def scale(x, factor, relu):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), factor, relu, BLOCK=1024)
    return out


def kernel_function(x, conv_weight, conv_bias):
    return scale(torch.ops.aten.conv2d(scale(x, 1.1, False), conv_weight, conv_bias).contiguous(), 1.0, True)


EAGER = ("conv2d",)
"""


def _judged(tmp_path: Path, problem: str, kernel: str) -> dict[str, Any]:
    """Judge one kernel of a module through the command; returns its part of the report."""
    if subprocess.run([sys.executable, "-c", _PROBE], check=False).returncode:
        pytest.skip("no CUDA device")
    file = tmp_path / "function.py"
    file.write_text(problem)
    place = tmp_path / "kernels" / "function__module"
    place.mkdir(parents=True)
    (place / "function__module_implementation.py").write_text(kernel)
    command = ["--suite", "kernelbench", "--suite-file", str(file), "--device", "cuda", "--json"]
    finished = subprocess.run(
        [sys.executable, "-c", _KAB, "evaluate", *command, "--base-dir", str(tmp_path / "kernels")],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    (found,) = json.loads(finished.stdout)["operators"]
    return {"log": finished.stderr, **found}


def test_a_module_is_judged_and_timed(tmp_path: Path) -> None:
    """PyTorch looks at the device while it exports, which must not spoil the forks that record."""
    found = _judged(tmp_path, GOOD, RIGHT + FUNCTION + EAGER)
    assert "correct" == found["verdict"], found
    assert found["speedup"] or found["speedup_of_all_timed"]


def test_a_convolution_keeps_the_precision_of_float32(tmp_path: Path) -> None:
    """Rounding its input otherwise by the last bit does not make the library's convolution wrong."""
    found = _judged(tmp_path, CONVOLUTION, CONVOLUTION_KERNEL)
    assert "correct" == found["verdict"], found


def test_a_convolution_in_a_coarser_precision_is_wrong(tmp_path: Path) -> None:
    """A kernel that turns TensorFloat-32 on is compared with a reference that has it off."""
    found = _judged(tmp_path, CONVOLUTION, CONVOLUTION_KERNEL + "\ntorch.backends.cudnn.allow_tf32 = True\n")
    assert ("incorrect", "values") == (found["verdict"], found["reason"]), found
