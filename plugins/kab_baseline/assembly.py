"""Assembly of a kernel file: docstring, imports, the library functions in use, kernels, host function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kab_baseline.layout import indented
from kab_baseline.library import DEVICE_TEXTS, HOST_TEXTS, used_by

if TYPE_CHECKING:
    from kab_baseline.signature import Signature

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
"""Data types that generated kernels read and write, torch's names."""


def assemble(
    signature: Signature,
    summary: str,
    kernels: Sequence[str],
    host_body: str,
    *,
    constants: Mapping[str, int],
) -> str:
    """Return the text of a kernel file.

    Args:
        signature: The operator.
        summary: What it computes, one line.
        kernels: Sources of the Triton kernels.
        host_body: Body of the host function, not indented.
        constants: Names and values that kernels and host function use.
    """
    head = f'"""{signature.operator}: {summary}\n\n{signature.schema}\n"""\n'
    return assemble_text(head, kernels, f"{signature.definition()}\n{indented(host_body, 4)}", constants)


def assemble_text(head: str, kernels: Sequence[str], host: str, constants: Mapping[str, int]) -> str:
    """Return the text of a kernel file.

    Args:
        head: The file's docstring.
        kernels: Sources of the Triton kernels.
        host: Source of the host function.
        constants: Names and values that kernels and host function use.
    """
    device_functions = used_by("\n".join(kernels), DEVICE_TEXTS)
    host_functions = used_by(host, HOST_TEXTS)
    everything = "\n".join([*kernels, host, *device_functions, *host_functions])
    imports = [
        f"import {name}" for name in ("functools", "itertools", "math", "struct") if f"{name}." in everything
    ]
    preamble = "\n".join([*imports, *([""] if imports else []), "import torch", "import triton"])
    preamble += "\nimport triton.language as tl\n"
    settings = "".join(
        f"{name} = {value}\n" for name, value in constants.items() if re.search(rf"\b{name}\b", everything)
    )
    if "TRITON_DTYPES" in everything:
        rows = "".join(f"    torch.{name}: tl.{_TRITON.get(name, name)},\n" for name in DTYPES)
        settings += f"TRITON_DTYPES = {{\n{rows}}}\n"
    blocks = [*device_functions, *kernels, *host_functions, host]
    return f"{head}\n{preamble}\n{settings}" + "\n\n" + "\n\n\n".join(blocks) + "\n"


_TRITON = {"bool": "int1"}
