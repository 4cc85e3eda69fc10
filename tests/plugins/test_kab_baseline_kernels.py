"""Generated kernels agree with eager on adversarial inputs, and compile for a GPU that is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("kab_baseline_cases.py")

KERNELS = {
    "add.Tensor": "add_kernel",
    "gelu.default": "gelu_exact_kernel",
    "fmod.Tensor": "fmod_kernel",
    "_softmax.default": "softmax_kernel",
    "addmm.default": "addmm_kernel",
    "cumsum.default": "cumsum_kernel",
}
"""A kernel of each frame, by operator."""

COMPILE = """
import json, sys, traceback, types, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from kab_baseline import registry
from kagent_bench.model.names import OperatorName
import triton.language as tl

CONSTANTS = {"COMPUTE": tl.float32, "RESULT": tl.float16, "OPERAND": tl.float16, "BLOCK": 1024, "ROWS": 64,
    "COLUMNS": 64, "INNER": 32, "USE_DOT": True, "UPCAST": False}


def assembly(name, kernel):
    path = f"{sys.argv[1]}/{name.kernel_stem}.py"
    source = registry.write(name)
    open(path, "w").write(source)
    module = types.ModuleType(name.kernel_stem)
    exec(compile(source, path, "exec"), module.__dict__)
    function = getattr(module, kernel)
    signature, values = {}, {}
    for item in function.params:
        if item.is_constexpr:
            signature[item.name] = "constexpr"
            values[item.name] = CONSTANTS.get(item.name, False)
        elif item.name.endswith(("shape", "strides")):
            signature[item.name] = ("i32", "i32", "i32")
        elif item.name.endswith("_bits"):
            signature[item.name] = "i64"
        else:
            signature[item.name] = "i32" if item.name.startswith("n_") or item.name.endswith("_step") else "*fp16"
    compiled = triton.compile(ASTSource(function, signature, values), target=GPUTarget("cuda", 90, 32))
    return compiled.asm["ptx"]


found = {}
for operator, kernel in json.loads(sys.argv[2]).items():
    try:
        found[operator] = assembly(OperatorName.parse(operator), kernel)
    except Exception:
        found[operator] = traceback.format_exc()
print(json.dumps(found))
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


@pytest.fixture(scope="module")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compile the kernels for sm_90 in one process; return the assembly, or what went wrong, by operator."""
    folder = tmp_path_factory.mktemp("compiled")
    done = _run(["-c", COMPILE, str(folder), json.dumps(KERNELS)], folder, interpret=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("operator", KERNELS)
def test_kernel_compiles_for_a_gpu(operator: str, assemblies: dict[str, str]) -> None:
    """A kernel of each frame compiles for sm_90, so it is not only the interpreter that accepts it."""
    assert ".target sm_90" in assemblies[operator], assemblies[operator][-3000:]
