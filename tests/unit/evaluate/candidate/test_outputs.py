"""What a kernel returned, described and copied, is what the oracle reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.arena import Arena, Layout, plan
from kagent_bench.evaluate.candidate.memory import Call
from kagent_bench.evaluate.candidate.outputs import TooLarge, describe
from kagent_bench.evaluate.oracle.returned import read_leaf, read_tensor, structure
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.identity import encode_value

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYOUT: Layout = plan([40, 0], 4096)
HEADER = {
    "args": [
        encode_value(TensorSpec(storage=0, shape=(2, 3), stride=(4, 1), offset=1)),
        encode_value(TensorSpec(storage=1, shape=(0, 3), stride=(3, 1))),
        [1, None, {"dtype": "float16"}],
    ],
    "kwargs": {"out": encode_value(TensorSpec(storage=0, shape=(10,), stride=(1,)))},
    "dtypes": ["float32", "float32"],
    "regions": [[region.offset, region.n_bytes] for region in LAYOUT.regions],
    "output": [LAYOUT.input_bytes, LAYOUT.output_bytes],
}
DTYPES = ("float32", "float16", "bfloat16", "float64", "complex64", "int64", "uint8", "bool", "float8_e5m2")


@pytest.fixture
def arena() -> Iterator[Arena]:
    """Return memory whose first input holds 0 to 9."""
    made = Arena(LAYOUT.n_bytes)
    at = LAYOUT.regions[0].offset
    made.memory[at : at + 40] = torch.arange(10.0).numpy().tobytes()
    yield made
    made.close()


@pytest.fixture
def call(arena: Arena) -> Call:
    """Return the call over that memory."""
    return Call(HEADER, arena.memory, "cpu")


def travelled(value: object, call: Call, arena: Arena) -> list[torch.Tensor]:
    """Describe a returned value and read it as the oracle does."""
    described = describe(value, call, arena.memory)
    return [read_tensor(read_leaf(leaf, LAYOUT), arena) for leaf in described["leaves"]]


def bits(tensor: torch.Tensor) -> bytes:
    """Return a tensor's elements in row-major order."""
    flat = tensor.contiguous().flatten()
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Return a tensor of any dtype, shape and layout."""
    shape = draw(st.lists(st.integers(0, 5), max_size=3))
    dtype: torch.dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    made = torch.arange(1, 1 + max(1, torch.Size(shape).numel()))[: torch.Size(shape).numel()]
    tensor = made.to(dtype).view(shape)
    match draw(st.sampled_from(["plain", "turned", "padded", "expanded"])):
        case "turned":
            return tensor.permute(tuple(reversed(range(tensor.dim()))))
        case "padded" if tensor.dim():
            room = torch.zeros([*shape[:-1], shape[-1] + 3], dtype=dtype)
            room[..., 1 : 1 + shape[-1]] = tensor
            return room[..., 1 : 1 + shape[-1]]
        case "expanded":
            return tensor.expand(4, *shape)
        case _:
            return tensor


@given(values=st.lists(tensors(), max_size=3))
def test_tensors_of_any_layout_arrive(values: list[torch.Tensor]) -> None:
    """Every element of every output is where the oracle reads it, and outputs do not overlap."""
    arena = Arena(LAYOUT.n_bytes)
    call = Call(HEADER, arena.memory, "cpu")
    arrived = travelled(tuple(values), call, arena)
    assert [(item.dtype, item.shape) for item in values] == [(item.dtype, item.shape) for item in arrived]
    assert [bits(item) for item in values] == [bits(item) for item in arrived]
    arena.close()


def test_arguments_look_at_the_shared_memory(call: Call) -> None:
    """Shapes, strides, offsets and aliases are those of the case; what is written is seen by all."""
    (first, empty, rest), kwargs = call.arguments()
    assert [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]] == first.tolist()
    assert ((4, 1), 1) == (first.stride(), first.storage_offset())
    assert torch.Size([0, 3]) == empty.shape
    assert [1, None, torch.float16] == rest
    first[0, 0] = 99
    assert 99 == kwargs["out"][1]


def test_arguments_are_laid_out_anew_for_each_call(call: Call) -> None:
    """What a kernel does to a tensor object does not reach its next call."""
    (first, *_), _ = call.arguments()
    first.unsqueeze_(0)
    first.note = "seen"
    (again, *_), _ = call.arguments()
    assert (2, 3) == tuple(again.shape)
    assert {} == vars(again)


def test_an_output_that_looks_at_an_input_says_so(call: Call, arena: Arena) -> None:
    """Any view of an argument is described by its place in it, and not copied."""
    (first, *_), _ = call.arguments()
    for view, offset, stride in ((first, 1, [4, 1]), (first[1], 5, [1]), (first.t(), 1, [1, 4])):
        (leaf,) = describe(view, call, arena.memory)["leaves"]
        assert (0, offset, stride) == (leaf["region"], leaf["offset"], leaf["stride"])
        assert bits(view) == bits(read_tensor(read_leaf(leaf, LAYOUT), arena))


def test_lazy_conjugates_and_negatives_are_resolved(call: Call, arena: Arena) -> None:
    """Bits of a view that only says what it is are made real."""
    value = torch.tensor([1 + 2j, 3 - 4j])
    arrived = travelled((value.conj(), value.conj().imag), call, arena)
    assert [[1 - 2j, 3 + 4j], [-2.0, 4.0]] == [item.tolist() for item in arrived]


def test_gradients_do_not_hinder(call: Call, arena: Arena) -> None:
    """A parameter is no plain tensor; one that asks for a gradient is read all the same."""
    (arrived,) = travelled(torch.ones(3, requires_grad=True), call, arena)
    assert [1.0] * 3 == arrived.tolist()
    (leaf,) = describe(torch.nn.Parameter(torch.ones(3)), call, arena.memory)["leaves"]
    assert not leaf["plain"]


def test_too_much_output_is_refused(call: Call, arena: Arena) -> None:
    """More than there is room for is not written anywhere."""
    before = arena.memory[:]
    with pytest.raises(TooLarge, match="bytes"):
        describe(torch.ones(1 << 20), call, arena.memory)
    assert before == arena.memory[:]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "none"),
        (3, ("number", 3)),
        (True, ("number", True)),
        ((None, [2.5]), ["none", [("number", 2.5)]]),
        ("text", ("other", "str")),
        ({"a": 1}, ("other", "dict")),
        (torch.float32, ("other", "dtype")),
    ],
)
def test_what_is_no_tensor_is_described(call: Call, arena: Arena, value: object, expected: Any) -> None:
    """Numbers and None are told; of other objects only the type."""
    assert expected == structure(describe(value, call, arena.memory)["value"])
