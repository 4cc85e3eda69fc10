"""Generated kernels agree with eager on adversarial inputs, and compile for a GPU that is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("kab_baseline_cases.py")

COMPILE = """
import sys, types, torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from kab_baseline import registry
from kagent_bench.model.names import OperatorName
import triton.language as tl

name, kernel = OperatorName.parse(sys.argv[2]), sys.argv[3]
path = f"{sys.argv[1]}/{name.kernel_stem}.py"
source = registry.write(name)
open(path, "w").write(source)
module = types.ModuleType(name.kernel_stem)
exec(compile(source, path, "exec"), module.__dict__)
function = getattr(module, kernel)
constants = {"COMPUTE": tl.float32, "RESULT": tl.float16, "OPERAND": tl.float16, "BLOCK": 1024, "ROWS": 64,
    "COLUMNS": 64, "INNER": 32, "USE_DOT": True, "UPCAST": False}
signature, values = {}, {}
for item in function.params:
    if item.is_constexpr:
        signature[item.name] = "constexpr"
        values[item.name] = constants.get(item.name, False)
    elif item.name.endswith(("shape", "strides")):
        signature[item.name] = ("i32", "i32", "i32")
    elif item.name.endswith("_bits"):
        signature[item.name] = "i64"
    else:
        signature[item.name] = "i32" if item.name.startswith("n_") or item.name.endswith("_step") else "*fp16"
compiled = triton.compile(ASTSource(function, signature, values), target=GPUTarget("cuda", 90, 32))
assert ".target sm_90" in compiled.asm["ptx"]
"""


def _run(arguments: list[str], tmp_path: Path, *, interpret: bool) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path / "cache")
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kernels_agree_with_eager(tmp_path: Path) -> None:
    """Some forty operators give eager's metadata and values on every layout, dtype and special value."""
    done = _run([str(CASES), str(tmp_path)], tmp_path, interpret=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "kernel"),
    [
        ("add.Tensor", "add_kernel"),
        ("gelu.default", "gelu_exact_kernel"),
        ("fmod.Tensor", "fmod_kernel"),
        ("_softmax.default", "softmax_kernel"),
        ("addmm.default", "addmm_kernel"),
        ("cumsum.default", "cumsum_kernel"),
    ],
)
def test_kernel_compiles_for_a_gpu(operator: str, kernel: str, tmp_path: Path) -> None:
    """A kernel of each frame compiles for sm_90, so it is not only the interpreter that accepts it."""
    done = _run(["-c", COMPILE, str(tmp_path), operator, kernel], tmp_path, interpret=False)
    assert done.returncode == 0, done.stderr[-3000:]
