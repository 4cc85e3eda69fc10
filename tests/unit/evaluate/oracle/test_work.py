"""Who did the work: calls of the library, classified."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.oracle.semantics import semantics_of
from kagent_bench.evaluate.oracle.work import library_calls, recorded_compute
from kagent_bench.model.names import OperatorName

RELU = semantics_of(OperatorName.parse("relu.default"))
CLONE = semantics_of(OperatorName.parse("clone.default"))


@pytest.mark.parametrize(
    "call",
    """
    aten.empty_like.default aten.empty.memory_format aten.new_empty.default aten.empty_strided.default
    aten.view.default aten.transpose.int aten.expand.default aten.as_strided.default aten.select.int
    aten.slice.Tensor aten.unsqueeze.default aten.permute.default aten.squeeze.dim aten.t.default
    aten.zeros.default aten.full.default aten.copy_.default aten.clone.default aten._to_copy.default
    aten.fill_.Scalar aten.detach.default aten._local_scalar_dense.default prim.device.default
    aten.result_type.Scalar_Scalar aten.result_type.Tensor aten.is_floating_point.default aten.can_cast.default
    """.split(),
)
def test_memory_views_and_copies_are_allowed(call: str) -> None:
    """An honest kernel allocates, looks and fills; that is not computing."""
    assert () == library_calls([call], RELU)


@pytest.mark.parametrize(
    "call",
    """
    aten.relu.default aten.relu_.default aten.clamp_min.default aten.add.Tensor aten.mul.Scalar aten.mm.default
    aten._softmax.default aten.sum.dim_IntList aten.where.self aten.index.Tensor aten.gather.default
    aten.convolution.default aten.add_.Tensor aten.add.out torchvision.nms.default inductor.accumulate.default
    aten.nonsense.default aten.__class__.__name__ aten..x nothing
    """.split(),
)
def test_computing_is_named(call: str) -> None:
    """Whatever computes, and whatever is not known, is the library's work."""
    assert (call,) == library_calls([call, "aten.empty_like.default"], RELU)


@pytest.mark.parametrize(
    "call", ["aten.clone.default", "aten.copy_.default", "aten._to_copy.default", "aten.zeros.default"]
)
def test_a_copy_is_the_work_where_the_operator_is_a_copy(call: str) -> None:
    """A kernel for clone may not let torch clone; it may still allocate and look."""
    assert (call,) == library_calls([call, "aten.empty_like.default", "aten.view.default"], CLONE)


@given(calls=st.lists(st.text(max_size=20).map("aten.".__add__) | st.text(max_size=20)))
def test_no_claimed_name_brings_the_judge_down(calls: list[str]) -> None:
    """A process may claim any text as the name of a call."""
    named = library_calls(calls, RELU)
    assert list(named) == sorted(set(named) & set(calls))


@pytest.mark.parametrize(
    "name",
    """
    aten::empty_like aten::empty_strided aten::zeros aten::zero_ aten::fill_ aten::copy_ aten::clone aten::_to_copy
    aten::contiguous aten::to aten::reshape aten::flatten aten::view aten::t aten::slice aten::select aten::split
    aten::chunk aten::expand aten::as_strided aten::item aten::_local_scalar_dense aten::lift_fresh aten::detach_
    aten::arange aten::resize_ aten::result_type aten::linear aten::matmul aten::softmax detach_ cudaLaunchKernel
    """.split(),
)
def test_what_torch_records_of_memory_and_of_operators_made_of_others_is_harmless(name: str) -> None:
    """What others are made of is recorded as well, and judged by itself."""
    assert () == recorded_compute([name])


@pytest.mark.parametrize(
    "name",
    """
    aten::relu aten::relu_ aten::clamp_min aten::add aten::mul aten::mm aten::addmm aten::_softmax aten::sum
    aten::where aten::index aten::gather aten::convolution aten::native_layer_norm aten::sort aten::nonsense
    """.split(),
)
def test_what_torch_records_of_computing_counts(name: str) -> None:
    """Whoever called it, and however."""
    assert (name,) == recorded_compute([name, name, "aten::empty"])
