"""How far rounding in the steps of a module can move its output."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.rounds import OracleSettings, Round
from kagent_bench.evaluate.oracle.running_error import Rounding, running_error
from kagent_bench.evaluate.oracle.semantics import module_semantics
from kagent_bench.evaluate.oracle.targets import Targets
from kagent_bench.evaluate.tolerance import tolerance_table
from kagent_bench.model.case import Case, StorageSpec, SymbolSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import ModuleName
from kagent_bench.model.program import GET_ITEM, Input, Node, NodeRef, Program, TensorFacts

EVEN = Rounding(step=tolerance_table({})["float32"].accumulated, weight=lambda _: 1.0)
"""Of float32 among nothing shorter."""
FACTS = TensorFacts(dtype="float32", shape=(4,), stride=(1,))


def _program(*nodes: tuple[str, str, tuple[object, ...]]) -> Program:
    made = tuple(
        Node(name=name, operator=operator, args=args, results=(FACTS,))  # type: ignore[arg-type]
        for name, operator, args in nodes
    )
    return Program(
        inputs=(Input(name="x", facts=FACTS),),
        state=(),
        constants=(),
        nodes=made,
        output=NodeRef(name=made[-1].name),
    )


def _case() -> Case:
    tensor = TensorSpec(storage=0, shape=(4,), stride=(1,))
    storage = StorageSpec(dtype="float32", numel=4, rule=UniformValues(low=0.0, high=1.0))
    return make_case(ModuleName("m"), (tensor,), (), (storage,), dtype="float32", origin="module")


def _magnitude(program: Program, values: torch.Tensor) -> torch.Tensor:
    run, case = ProgramRun(program), _case()
    exact = reference.run(run, case, [values], wide=True)
    limits = tolerance_table({})
    return running_error(
        run,
        case,
        [values],
        exact,
        lambda outcome: outcome.leaves[0],
        Rounding(
            step=limits["float32"].accumulated,
            weight=lambda dtype: max(1.0, limits[dtype].accumulated / limits["float32"].accumulated),
        ),
    )


def test_what_cancels_is_counted_by_its_size() -> None:
    """Adding a thousand and taking it away again leaves rounding errors of a thousand."""
    x = NodeRef(name="x")
    program = _program(
        ("up", "aten.add.Tensor", (x, 1000.0)), ("down", "aten.sub.Tensor", (NodeRef(name="up"), 1000.0))
    )
    magnitude = _magnitude(program, torch.tensor([0.5, 1.0, 2.0, 4.0]))

    assert bool((magnitude > 500).all())
    assert bool((magnitude < 3000).all())


def test_a_single_step_has_its_own_size() -> None:
    """A product of factors has an error of its own size, however small it is."""
    values = torch.tensor([1e-6, 1.0, 100.0, 1e6])
    magnitude = _magnitude(_program(("double", "aten.mul.Tensor", (NodeRef(name="x"), 2.0))), values)

    assert bool((magnitude <= 3 * 2 * values.double()).all())
    assert bool((magnitude > 0).all())


@pytest.mark.parametrize(
    ("operator", "args"), [("_log_softmax.default", (0, False)), ("log_softmax.int", (0,))]
)
def test_a_logarithm_of_a_share_near_one_is_counted_by_its_terms(
    operator: str, args: tuple[object, ...]
) -> None:
    """Where one element has nearly all of the probability, an honest kernel is off by the rounding of its input."""
    program = _program(("logarithm", f"aten.{operator}", (NodeRef(name="x"), *args)))
    magnitude = _magnitude(program, torch.tensor([9.0, 0.0, 0.0, 0.0]))

    assert bool((magnitude[0] > 9.0) & (magnitude[0] < 50.0))


def test_a_step_in_a_shorter_dtype_weighs_more() -> None:
    """What was bfloat16 on the way is as exact as bfloat16, whatever dtype it has in the end."""
    x = NodeRef(name="x")
    program = _program(
        ("short", "aten._to_copy.default", (x,)), ("double", "aten.mul.Tensor", (NodeRef(name="short"), 2.0))
    )
    first, second = program.nodes
    facts = TensorFacts(dtype="bfloat16", shape=(4,), stride=(1,))
    short = replace(first, kwargs=(("dtype", SymbolSpec(kind="dtype", name="bfloat16")),), results=(facts,))
    values = torch.tensor([0.5, 1.0, 2.0, 4.0])
    plain = _magnitude(program, values)
    rounded = _magnitude(replace(program, nodes=(short, second)), values)

    assert bool((rounded > 1000 * 2 * values).all())
    assert bool((plain < 10 * values).all())


def test_tensors_made_on_the_way_are_wide_in_the_wide_run() -> None:
    """Zeros of the default dtype take part in the float64 run, as they do in the module's own."""
    x = NodeRef(name="x")
    program = _program(
        ("zeros", "aten.zeros.default", ((4,),)), ("made", "aten.dot.default", (NodeRef(name="zeros"), x))
    )

    assert (
        torch.float64
        is reference.run(ProgramRun(program), _case(), [torch.ones(4)], wide=True).leaves[0].dtype
    )
    assert torch.float32 is torch.get_default_dtype()


def test_truth_values_on_the_way_do_not_end_it() -> None:
    """A comparison and a choice in the middle leave the estimate as it is."""
    x = NodeRef(name="x")
    program = _program(
        ("positive", "aten.gt.Scalar", (x, 0.0)),
        ("chosen", "aten.where.self", (NodeRef(name="positive"), x, x)),
        ("sum", "aten.add.Tensor", (NodeRef(name="chosen"), x)),
    )

    assert bool((_magnitude(program, torch.ones(4)) > 0).all())


def test_a_written_buffer_is_counted_like_an_output() -> None:
    """What a module leaves in a buffer, after much of it cancelled, may be off by the rounding of what cancelled."""
    x = NodeRef(name="x")
    program = _program(
        ("up", "aten.add.Tensor", (x, 1000.0)), ("down", "aten.sub.Tensor", (NodeRef(name="up"), 1000.0))
    )
    program = replace(program, output=NodeRef(name="up"), writes=(("x", "down"),))
    run, case, values = ProgramRun(program), _case(), torch.tensor([1e-3, 2e-3, 3e-3, 4e-3])
    settings = OracleSettings(
        seed=b"",
        device="cpu",
        limits=tolerance_table({}),
        rounds=1,
        policy="strict",
        interpreter=True,
        memory_bytes=1 << 20,
    )
    current = Round(
        name="as_given",
        on_device=(values,),
        eager=reference.run(run, case, [values]),
        exact=reference.run(run, case, [values], wide=True),
    )
    (spec,) = case.args
    assert isinstance(spec, TensorSpec)
    target = Targets(case, run, module_semantics(program, case), settings).argument(current, "x", spec)

    assert target.expected.compare(values + 2e-5).ok
    assert not target.expected.compare(values + 1e-2).ok


def test_two_equal_terms_that_cancel_are_counted_at_every_element() -> None:
    """Where x/2 is taken from x/2 nothing is left, and no element's rounding errors are overlooked by chance."""
    facts = replace(FACTS, shape=(100_000,))
    x, halves = NodeRef(name="x"), ("half", "other")
    program = _program(
        *((name, "aten.mul.Tensor", (x, 0.5)) for name in halves),
        ("left", "aten.sub.Tensor", tuple(NodeRef(name=name) for name in halves)),
    )
    program = replace(program, inputs=(Input(name="x", facts=facts),))
    tensor = TensorSpec(storage=0, shape=facts.shape, stride=(1,))
    storage = StorageSpec(dtype="float32", numel=100_000, rule=UniformValues(low=0.0, high=1.0))
    case = make_case(ModuleName("m"), (tensor,), (), (storage,), dtype="float32", origin="module")
    values = torch.ones(100_000)
    run = ProgramRun(program)
    exact = reference.run(run, case, [values], wide=True)
    magnitude = running_error(run, case, [values], exact, lambda outcome: outcome.leaves[0], EVEN)

    assert float(magnitude.min()) > 1 / 32


def test_a_call_that_is_composed_of_others_is_counted_within() -> None:
    """An LSTM's cell takes tanh of small values, each of which may be off by the last place of one."""
    width = 16
    sizes = {
        "x": (4, width),
        "h": (4, width),
        "c": (4, width),
        "wx": (4 * width, width),
        "wh": (4 * width, width),
    }
    facts = {
        name: TensorFacts(dtype="float32", shape=size, stride=(size[1], 1)) for name, size in sizes.items()
    }
    refs = {name: NodeRef(name=name) for name in sizes}
    result = (facts["h"], facts["c"])
    cell = Node(
        name="cell",
        operator="aten.lstm_cell.default",
        args=(refs["x"], (refs["h"], refs["c"]), refs["wx"], refs["wh"]),
        results=result,
    )
    hidden = Node(name="hidden", operator=GET_ITEM, args=(NodeRef(name="cell"), 0), results=result[:1])
    program = Program(
        inputs=tuple(Input(name=name, facts=item) for name, item in facts.items()),
        state=(),
        constants=(),
        nodes=(cell, hidden),
        output=NodeRef(name="hidden"),
    )
    source = torch.Generator().manual_seed(0)
    values = [1e-3 * torch.randn(size, generator=source) for size in sizes.values()]
    rule = UniformValues(low=-1.0, high=1.0)
    storages = tuple(StorageSpec(dtype="float32", numel=value.numel(), rule=rule) for value in values)
    args = tuple(
        TensorSpec(storage=place, shape=size, stride=(size[1], 1))
        for place, size in enumerate(sizes.values())
    )
    case = make_case(ModuleName("m"), args, (), storages, dtype="float32", origin="module")
    run = ProgramRun(program)
    exact = reference.run(run, case, values, wide=True)
    magnitude = running_error(run, case, values, exact, lambda outcome: outcome.leaves[0], EVEN)

    assert float(exact.leaves[0].abs().max()) < 0.01
    assert float(magnitude.min()) > 0.1


def test_a_kink_within_reach_of_an_honest_error_is_counted() -> None:
    """What cancelled to just below zero may as well be just above, whichever side the exact value is on."""
    x = NodeRef(name="x")
    program = _program(
        ("up", "aten.add.Tensor", (x, 1000.0)),
        ("down", "aten.sub.Tensor", (NodeRef(name="up"), 1000.0)),
        ("kept", "aten.relu.default", (NodeRef(name="down"),)),
    )
    magnitude = _magnitude(program, torch.tensor([-1e-4, 1e-4, -1.0, 1.0]))

    assert bool((magnitude[[0, 1, 3]] > 250).all())
    assert 0.0 == float(magnitude[2])


def test_a_leap_is_no_rounding_error() -> None:
    """Whether a value is above zero is for it to decide, not for the estimate: a wrong side stays wrong."""
    x = NodeRef(name="x")
    program = _program(
        ("up", "aten.add.Tensor", (x, 1000.0)),
        ("down", "aten.sub.Tensor", (NodeRef(name="up"), 1000.0)),
        ("positive", "aten.gt.Scalar", (NodeRef(name="down"), 0.0)),
        ("chosen", "aten.where.ScalarSelf", (NodeRef(name="positive"), 1000.0, NodeRef(name="down"))),
    )

    assert float(_magnitude(program, torch.tensor([1e-4, -1e-4, -1.0, 2.0])).max()) < 1e4


@pytest.mark.parametrize(
    "leap",
    [
        ("aten.floor.default", ()),
        ("aten.div.Tensor_mode", (3.0,)),
        ("aten.threshold.default", (1.0, 5.0)),
        ("aten._to_copy.default", ()),
    ],
)
def test_what_leaps_is_known(leap: tuple[str, tuple[object, ...]]) -> None:
    """Just below one, none of them may be as far off as if it were just above."""
    operator, rest = leap
    program = _program(
        ("leap", operator, (NodeRef(name="x"), *rest)),
        ("back", "aten.mul.Tensor", (NodeRef(name="leap"), 1000.0)),
    )
    node, back = program.nodes
    if operator == "aten.div.Tensor_mode":
        node = replace(node, kwargs=(("rounding_mode", "floor"),))
    if operator == "aten._to_copy.default":
        node = replace(node, kwargs=(("dtype", SymbolSpec(kind="dtype", name="int32")),))
    program = replace(program, nodes=(node, back))
    below = 3 - 1e-8 if operator == "aten.div.Tensor_mode" else 1 - 1e-8
    values = torch.full((4,), below, dtype=torch.float64)

    assert float(_magnitude(program, values).max()) < 1e5


def test_what_hardware_flushes_to_zero_is_counted() -> None:
    """A number below the smallest normal one may be none; an exact zero is a zero."""
    x = NodeRef(name="x")
    program = _program(
        ("small", "aten.mul.Tensor", (x, 1e-30)), ("large", "aten.mul.Tensor", (NodeRef(name="small"), 1e30))
    )
    magnitude = _magnitude(program, torch.tensor([1e-9, 1.0, 0.0, 0.0]))
    step = tolerance_table({})["float32"].accumulated

    assert float(magnitude[0]) * step > 0.25e-8
    assert 0.5 < float(magnitude[1]) < 4.0
    assert 0.0 == float(magnitude[2])
