"""Primitives: the leaf operations of the FX graphs that the code generator turns into Triton.

A definition (``definitions/``) is a Python function over these and over Python's own operators; tracing it gives
a ``torch.fx.Graph`` whose ``call_function`` targets are ``Primitive`` objects or functions of ``operator``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch.fx


class Kind(Enum):
    """Where a primitive may stand in a loop nest."""

    POINTWISE = "pointwise"
    """One element in, one element out."""
    REDUCTION = "reduction"
    """All elements of a row in, one element out."""
    CONTRACTION = "contraction"
    """Two matrices in, their product out."""


@dataclass(frozen=True, eq=False)
class Primitive:
    """A leaf operation with its Triton spelling."""

    name: str
    spelling: str
    """Triton expression with ``{0}``, ``{1}``, ... for the operands; each operand is an atom or a call."""
    device_function: str | None = None
    """Name of the device function that the spelling calls, see ``device_functions``."""
    kind: Kind = Kind.POINTWISE
    inlines: bool = True
    """Whether the spelling may stand inside a larger expression."""

    @property
    def arity(self) -> int:
        """Number of operands."""
        return len(set(re.findall(r"{(\d)}", self.spelling)))

    @property
    def __name__(self) -> str:
        """Name that FX shows."""
        return self.name

    def __call__(self, *operands: Any) -> Any:
        """Record a call of this primitive in the graph that is being traced.

        Raises:
            TypeError: no operand is a proxy, so there is no graph to record into.
        """
        for operand in operands:
            if isinstance(operand, torch.fx.Proxy):
                return operand.tracer.create_proxy("call_function", self, operands, {})
        message = f"{self.name} needs at least one traced operand"
        raise TypeError(message)


def parameter_names(body: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a formula's operands; a bare primitive stands for ``self`` (and ``other``)."""
    if isinstance(body, Primitive):
        return ("self", "other")[: body.arity]
    return tuple(inspect.signature(body).parameters)


def trace(body: Callable[..., Any], names: tuple[str, ...]) -> torch.fx.Graph:
    """Return the FX graph of a definition with one placeholder for each name, in this order."""
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    operands = {name: torch.fx.Proxy(graph.placeholder(name), tracer) for name in names}
    result = body(*operands.values())
    results = result if isinstance(result, tuple) else (result,)
    graph.output(tuple(item.node if isinstance(item, torch.fx.Proxy) else item for item in results))
    graph.eliminate_dead_code()
    return graph


def _call(name: str, arity: int = 1) -> Primitive:
    operands = ", ".join(f"{{{position}}}" for position in range(arity))
    return Primitive(name, f"{name}({operands})", device_function=name)


# Plain Triton.
where = Primitive("where", "tl.where({0}, {1}, {2})")
absolute = Primitive("absolute", "tl.abs({0})")
sin = Primitive("sin", "tl.sin({0})")
cos = Primitive("cos", "tl.cos({0})")
floor = Primitive("floor", "tl.floor({0})")
ceil = Primitive("ceil", "tl.ceil({0})")
maximum_number = Primitive("maximum_number", "tl.maximum({0}, {1})")
minimum_number = Primitive("minimum_number", "tl.minimum({0}, {1})")
to_boolean = Primitive("to_boolean", "({0} != 0)")
to_float = Primitive("to_float", "{0}.to(tl.float32)")
"""A boolean or integer as fp32; exact for booleans."""
to_integer = Primitive("to_integer", "{0}.to(tl.int64)")
like = Primitive("like", "{0}.to({1}.dtype)")
"""The first operand in the data type of the second."""

# Device functions of device_functions.py.
sqrt = _call("sqrt")
exp = _call("exp")
exp2 = _call("exp2")
expm1 = _call("expm1")
log = _call("log")
log1p = _call("log1p")
log2 = _call("log2")
log10 = _call("log10")
tan = _call("tan")
tanh = _call("tanh")
sinh = _call("sinh")
cosh = _call("cosh")
asinh = _call("asinh")
acosh = _call("acosh")
atanh = _call("atanh")
atan = _call("atan")
atan2 = _call("atan2", 2)
asin = _call("asin")
acos = _call("acos")
erf = _call("erf")
erfc = _call("erfc")
normal_tail = _call("normal_tail")
"""Share of a standard normal above a number that is not negative."""
sigmoid = _call("sigmoid")
softplus_plain = _call("softplus_plain")
rsqrt = _call("rsqrt")
round_even = _call("round_even")
trunc = _call("trunc")
divide = _call("divide", 2)
modulo = _call("modulo", 2)
"""C's remainder with the sign of the dividend, exact."""
floor_divide = _call("floor_divide", 2)
trunc_divide = _call("trunc_divide", 2)
remainder = _call("remainder", 2)
power = _call("power", 2)
power_number = _call("power_number", 2)
"""Power by a number: 0.5 and -0.5 are roots, which differ for minus infinity."""
maximum = _call("maximum", 2)
minimum = _call("minimum", 2)
sign = _call("sign")
sign_bit = _call("sign_bit")
copy_sign = _call("copy_sign", 2)
is_nan = _call("is_nan")
is_infinite = _call("is_infinite")
invert = _call("invert")
gcd = _call("gcd", 2)
shift_left = _call("shift_left", 2)
shift_right = _call("shift_right", 2)

# Reductions over a row; the spelling is the accumulation of one block, the device function ends it.
row_sum = Primitive("row_sum", "{acc} + {0}", "sum_row", Kind.REDUCTION, inlines=False)
row_product = Primitive("row_product", "{acc} * {0}", "multiply_row", Kind.REDUCTION, inlines=False)
row_max = Primitive("row_max", "maximum({acc}, {0})", "maximum_row", Kind.REDUCTION, inlines=False)
"""NaN if any element is NaN."""
row_min = Primitive("row_min", "minimum({acc}, {0})", "minimum_row", Kind.REDUCTION, inlines=False)
"""NaN if any element is NaN."""
row_count = Primitive("row_count", "{acc} + {0}.to(tl.int64)", "sum_row", Kind.REDUCTION, inlines=False)
"""How many elements hold, as int64."""
row_first = Primitive(
    "row_first",
    "minimum({acc}, tl.where({0}, column, n_columns))",
    "minimum_row",
    Kind.REDUCTION,
    inlines=False,
)
"""Index of the first element that holds, as int64."""

matrix_product = Primitive("matrix_product", "product({0}, {1})", kind=Kind.CONTRACTION, inlines=False)
"""Sum over the last dimension of the first and the last but one of the second operand."""
