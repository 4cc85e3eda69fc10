"""The environment of a candidate and of the server that forks it: an allow-list."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

KEPT = (
    "CC",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "PATH",
    "PYTHONSAFEPATH",
    "ROCM_PATH",
    "ROCR_VISIBLE_DEVICES",
    "TRITON_CUOBJDUMP_PATH",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_LIBCUDA_PATH",
    "TRITON_NVDISASM_PATH",
    "TRITON_PTXAS_PATH",
    "TZ",
    "ZE_AFFINITY_MASK",
)
"""Where compilers, drivers and devices are, and how many threads to use. None of them carries a secret."""
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def clean_environment(scratch: Path, *, interpret: bool, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without keys, tokens, proxies and paths of the user.

    Args:
        scratch: the candidate's folder: home, temporary files and caches go there.
        interpret: whether Triton is to run its interpreter; it must be known before triton is imported.
        inherited: the user's environment, of which the variables in ``KEPT`` are taken.
    """
    folder = str(scratch)
    environment = {name: inherited[name] for name in KEPT if inherited.get(name)}
    environment.setdefault("PATH", DEFAULT_PATH)
    environment |= {
        "HOME": folder,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "TMPDIR": folder,
        "TORCH_CPP_LOG_LEVEL": "ERROR",  # its execution trace warns when it starts and when it stops
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "TRITON_HOME": folder,
        "XDG_CACHE_HOME": f"{folder}/cache",
    }
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    return environment
