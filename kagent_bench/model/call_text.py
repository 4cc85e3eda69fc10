"""A case in words: its call, with tensors in BackendBench's ``T([shape], dtype, [stride])`` notation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kagent_bench.model.case import SymbolSpec, TensorSpec

if TYPE_CHECKING:
    from kagent_bench.model.case import Case, Value

DTYPE_ABBREVIATIONS = {
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
}
"""Short names of torch's dtypes, those of BackendBench where it has one."""


def call_text(case: Case) -> str:
    """Return the arguments of a case, as ``(T([4, 3], f32), T([4, 1], f32, [1, 4]), alpha=2)``."""
    parts = [_value_text(case, value) for value in case.args]
    parts += [f"{name}={_value_text(case, value)}" for name, value in case.kwargs]
    return f"({', '.join(parts)})"


def is_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether a view is in row-major order without gaps; dimensions of size one do not matter."""
    if 0 in shape:
        return True
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def _value_text(case: Case, value: Value) -> str:
    if isinstance(value, TensorSpec):
        return _tensor_text(value, case.storages[value.storage].dtype)
    if isinstance(value, SymbolSpec):
        return f"'{value.name}'" if value.kind == "device" else f"torch.{value.name}"
    if isinstance(value, tuple):
        return f"[{', '.join(_value_text(case, item) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _tensor_text(tensor: TensorSpec, dtype: str) -> str:
    text = f"T({list(tensor.shape)}, {DTYPE_ABBREVIATIONS[dtype]}"
    if not is_contiguous(tensor.shape, tensor.stride):
        text += f", {list(tensor.stride)}"
    return text + ")"
