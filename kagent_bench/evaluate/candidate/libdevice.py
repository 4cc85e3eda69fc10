"""CUDA's libdevice for Triton's interpreter, which has none: the functions that NumPy or Python have as well.

Kernels call these names where Triton's language has no such function (``tanh``, ``pow``, ``log1p``). The interpreter
answers with None, or that there is no builder. That they compile for a device is checked elsewhere, as for all kernels.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

MODULES = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
"""Where kernels import it from."""
_NUMPY = {
    **{
        name: name
        for name in (
            "abs ceil copysign cos cosh exp exp2 expm1 floor fmod hypot ldexp log log10 log1p log2 nextafter rint "
            "sin sinh sqrt tan tanh trunc cbrt"
        ).split()
    },
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "div_rn": "divide",
    "fast_dividef": "divide",
    "fast_expf": "exp",
    "fast_logf": "log",
    "fast_powf": "power",
    "fast_sinf": "sin",
    "fast_cosf": "cos",
    "fast_tanhf": "tanh",
    "nearbyint": "rint",
    "pow": "power",
    "sqrt_rn": "sqrt",
}
"""Names in NumPy of functions whose result has the dtype of their arguments."""
_TESTS = {
    "finitef": "isfinite",
    "isfinited": "isfinite",
    "isinf": "isinf",
    "isnan": "isnan",
    "signbit": "signbit",
}
"""Names in NumPy of functions whose result is an int32."""
_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "exp10": lambda x: np.float64(10.0) ** x,
    "fma": lambda x, y, z: np.float64(x) * y + z,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x) if math.isfinite(x) else x,
    "rsqrt": lambda x: np.float64(1.0) / np.sqrt(np.float64(x)),
}
"""Functions of single float64 numbers."""


def install() -> None:
    """Give the modules these functions, and for every other name one that says what is missing."""
    for name in MODULES:
        module = importlib.import_module(name)
        for function in [key for key, value in vars(module).items() if _is_of(value, name)]:
            setattr(module, function, _function(function))


def _is_of(value: object, module: str) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module


def _function(name: str) -> Callable[..., Any]:
    if name in _NUMPY or name in _TESTS:
        compute = getattr(np, _NUMPY.get(name) or _TESTS[name])
    elif name in _ELEMENTWISE:
        compute = np.vectorize(_ELEMENTWISE[name], otypes=[np.float64])
    else:
        compute = None

    def called(*args: Any, _semantic: Any = None) -> Any:
        if compute is None:
            message = f"libdevice.{name} is not supported in interpreter mode"
            raise NotImplementedError(message)
        return _apply(compute, args, tl.int32 if name in _TESTS else None)

    called.__name__, called.__module__ = name, MODULES[0]
    return called


def _apply(compute: Callable[..., Any], args: tuple[Any, ...], dtype: tl.dtype | None) -> Any:
    """Return the tensor that NumPy's function makes of tensors and numbers."""
    from triton.runtime.interpreter import TensorHandle

    tensors = [item for item in args if isinstance(item, tl.tensor)]
    like = next((item for item in tensors if item.dtype.is_floating()), tensors[0] if tensors else None)
    if like is None:
        message = "libdevice of numbers alone is not supported in interpreter mode"
        raise NotImplementedError(message)
    with np.errstate(all="ignore"):
        values = compute(
            *(item.handle.data if isinstance(item, tl.tensor) else _number(item) for item in args)
        )
    result = dtype or like.dtype
    data = np.asarray(values).astype(np.int32 if dtype is not None else like.handle.data.dtype)
    blocks = [item for item in tensors if item.type.is_block()]
    kind = tl.block_type(result, list(data.shape)) if blocks else result
    return tl.tensor(TensorHandle(data, result), kind)


def _number(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value
