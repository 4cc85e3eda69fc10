"""The allow-listed environments of the oracle and of the fork server: no key of the user reaches either."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PASSED_ON = frozenset(
    """
    PATH LANG LC_ALL TZ HOME TMPDIR LD_LIBRARY_PATH CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES ROCM_PATH
    HIP_VISIBLE_DEVICES ZE_AFFINITY_MASK VIRTUAL_ENV PYTHONPATH XDG_CACHE_HOME OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
    TRITON_LIBCUDA_PATH TRITON_PTXAS_PATH NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES
    """.split()
)
"""Variables that torch, triton and the drivers may need; everything else is left out."""


def trusted_environment(own: Mapping[str, str], *, interpreter: bool) -> dict[str, str]:
    """Return the environment of a helper process.

    Args:
        own: this process's environment.
        interpreter: whether Triton shall interpret kernels instead of compiling them.
    """
    environment = {name: value for name, value in own.items() if name in PASSED_ON}
    environment |= {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "TRITON_DEFAULT_FP_FUSION": "1",
        "TRITON_INTERPRET": "1" if interpreter else "0",
    }
    return environment
