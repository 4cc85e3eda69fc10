"""What operators were called, and how, in older versions of PyTorch, and what became of that.

An overload ``SymInt`` that is not named here became ``default`` in the summer of 2022, when sizes of every kind came
to share one overload.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace.call import Arguments, TracedTensor

if TYPE_CHECKING:
    from kagent_bench.suites.trace.call import TracedValue

_TABLE = """
sum.SymInt                    sum.dim_IntList
empty.SymInt                  empty.memory_format
zeros.SymInt                  zeros.default
upsample_nearest2d.SymInt     upsample_nearest2d.default
var.dim_SymInt                var.dim
mean.SymInt                   mean.dim
_index_put_impl.default       _index_put_impl_.default
slice.SymInt                  slice.Tensor
select.SymInt                 select.int
split.SymInt                  split.Tensor
narrow.SymInt                 narrow.default
_batch_norm_impl_index.SymInt _batch_norm_impl_index.default
cudnn_batch_norm.SymInt       cudnn_batch_norm.default
norm.ScalarOpt_dim_SymInt     norm.ScalarOpt_dim
im2col_backward.default       col2im.default
col2im_backward.default       im2col.default
upsample_nearest1d_backward.vec   upsample_nearest1d_backward.default
upsample_nearest2d_backward.vec   upsample_nearest2d_backward.default
upsample_nearest3d_backward.vec   upsample_nearest3d_backward.default
upsample_linear1d_backward.vec    upsample_linear1d_backward.default
upsample_bilinear2d_backward.vec  upsample_bilinear2d_backward.default
upsample_bicubic2d_backward.vec   upsample_bicubic2d_backward.default
upsample_trilinear3d_backward.vec upsample_trilinear3d_backward.default
"""

ALIASES = {
    OperatorName.parse(old): OperatorName.parse(new)
    for old, new in (line.split() for line in _TABLE.strip().splitlines())
}
"""Present name by former name."""


def resolve(text: str) -> OperatorName:
    """Return the operator that a trace names, by its present name.

    Raises:
        ValueError: the text is no name of an ATen operator.
    """
    name = OperatorName.parse(text.strip().removeprefix("torch.ops."))
    return ALIASES.get(name) or (OperatorName(name.base, "default") if name.overload == "SymInt" else name)


def adapt(text: str, arguments: Arguments) -> Arguments:
    """Return the arguments of a call as the operator of today takes them.

    Args:
        text: the operator as the trace names it.
        arguments: as the trace has them.
    """
    name = OperatorName.parse(text.strip().removeprefix("torch.ops."))
    if name.overload == "vec" and name.base.startswith("upsample_") and name.base.endswith("_backward"):
        return _sizes_for_scales(arguments)
    return arguments


def _sizes_for_scales(arguments: Arguments) -> Arguments:
    """Name the size of the output and each dimension's scale, which one list of factors stood for."""
    if len(arguments.args) < len(("grad_output", "output_size", "input_size", "scale_factors")):
        return arguments
    gradient, size, given, *flags, factors = arguments.args
    scales: tuple[TracedValue, ...] = factors if isinstance(factors, tuple) else ()
    if size is None and isinstance(gradient, TracedTensor):
        size = gradient.shape[2:]
    return Arguments((gradient, size, given, *flags, *scales), arguments.kwargs)
