"""From a module's program to finer calls: what PyTorch itself decomposes, and windows of pooling as views.

Every finer call knows the call of the module that it belongs to. Calls that the baseline's formulas know stay whole,
so that a softmax remains one.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch._subclasses.functional_tensor import dispatch_functionalize
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from kab_fuser.attention import CALL, written_out
from kab_fuser.complex_numbers import PARTS
from kab_fuser.library import computes
from kab_fuser.narrowing import Narrowing
from kab_fuser.pooling import WINDOWS
from kab_fuser.reductions import TWO_STEPS
from kab_fuser.simplify import simplified
from kab_fuser.tensor_facts import facts_of, meta_of, unique
from kagent_bench.evaluate.modules.interpret import ProgramRun, find_operator
from kagent_bench.model.case import SymbolSpec
from kagent_bench.model.program import (
    GET_ITEM,
    Constant,
    Input,
    Node,
    NodeRef,
    Program,
    TensorFacts,
    references,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.evaluate.modules.interpret import Call

_DECOMPOSED = (
    "native_group_norm native_batch_norm _native_batch_norm_legit_no_training _native_batch_norm_legit "
    "_native_batch_norm_legit_functional "
    "_fused_rms_norm rms_norm nll_loss_forward nll_loss2d_forward addcmul addcdiv hardtanh hardswish hardsigmoid "
    "glu prelu mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits silu_backward rsub hardshrink softshrink log_sigmoid_forward std std_mean "
    "addr linalg_vector_norm upsample_nearest2d upsample_linear1d upsample_bilinear2d "
    "upsample_trilinear3d upsample_bicubic2d grid_sampler_2d adaptive_max_pool2d baddbmm unsafe_chunk unsafe_split dist logsumexp renorm"
).split()
_KEPT = frozenset(
    """
    gelu silu elu selu celu relu relu6 leaky_relu hardtanh hardsigmoid hardswish softplus softshrink hardshrink
    threshold log_sigmoid mish sigmoid tanh clamp clamp_min clamp_max rsub addcmul addcdiv lerp where masked_fill
    _softmax _log_softmax native_layer_norm logsumexp var var_mean std std_mean mean sum amax amin prod
    linalg_vector_norm square reciprocal logit nan_to_num xlogy expm1 log1p index_add index_copy index_fill
    """.split()
)
"""Calls for which the baseline has a formula."""

_WRONG = frozenset(["multilabel_margin_loss_forward"])
"""Calls of which PyTorch's decomposition (2.13) gives another value than PyTorch."""

_TRACING = threading.Lock()
"""PyTorch traces in one thread at a time: it patches modules meanwhile. So does the catching of warnings."""


class Undecomposed(Exception):
    """A call of the module that has no finer calls: PyTorch needs values for them, or they change a tensor in place."""

    def __init__(self, call: str, why: str) -> None:
        """Take the call's name and the reason."""
        super().__init__(f"{call}: {why}")
        self.call = call
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A program of finer calls."""

    program: Program
    """Its constants are further state; what the module writes are further outputs."""
    origin: Mapping[str, str]
    """The module's call that each finer one belongs to."""
    parts: Mapping[str, int]
    """How many computing calls each of the module's became, equal ones counted each."""
    n_outputs: int
    """How many of the outputs are the module's: all but the written values, which follow."""


def lower(program: Program, opaque: frozenset[str] = frozenset(), *, bias_apart: bool = False) -> Lowered:
    """Return a program in finer calls.

    Args:
        program: a module's.
        opaque: calls of the module that stay as they are; they need no finer calls.
        bias_apart: whether what is added to a product is added by a call of its own: the bias of a convolution, as
            the library itself does it, and those of a cell, which its gates can take with them.

    Raises:
        Undecomposed: a call has no finer ones.
    """
    constants = tuple(_as_input(item) for item in program.constants)
    flat = tuple(dict.fromkeys(references(program.output)))
    written = tuple(source for _, source in program.writes)
    open_program = replace(
        program,
        state=(*program.state, *constants),
        constants=(),
        output=tuple(NodeRef(name=name) for name in (*flat, *written)),
        writes=(),
    )
    inputs = [item for item in (*program.inputs, *open_program.state) if item.facts is not None]
    trace = _Trace(opaque)

    def run(*given: torch.Tensor) -> Any:
        by_name = dict(zip((item.name for item in inputs), given, strict=True))
        args = [by_name.get(item.name) for item in program.inputs]
        return ProgramRun(open_program).watched(trace.take)(
            *args, **{item.name: by_name[item.name] for item in open_program.state}
        )

    with _TRACING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            examples = [_empty(item) for item in inputs]
            with _Functional():
                graph = make_fx(run, decomposition_table=_table(bias_apart=bias_apart), tracing_mode="fake")(
                    *examples
                )
    return _Reader(graph, open_program, trace, opaque).lowered(inputs, len(flat))


class _Functional(TorchFunctionMode):
    """Has calls that PyTorch itself composes of others, some in place, made of calls that change no tensor.

    Attention is written out as ``attention`` has it: PyTorch has several ways, of which the plain one suits no kernel.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(func) == CALL:
            func = written_out
        elif isinstance(func, OpOverload) and func.has_kernel_for_dispatch_key(
            torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001 - its only name
        ):
            func = dispatch_functionalize(func)
        return func(*args, **(kwargs or {}))


class _Trace:
    """Which nodes of the finer graph each call of the module made, and which of them are its results."""

    def __init__(self, opaque: frozenset[str]) -> None:
        self.owner: dict[str, str] = {}
        self.values: dict[str, tuple[str | None, ...]] = {}
        self._opaque = opaque
        self._seen = 0

    def take(self, node: Node, args: list[Any], kwargs: dict[str, Any], call: Call) -> Any:
        del args, kwargs
        try:
            value = call()
        except Exception as error:  # PyTorch refuses in many ways
            if node.name not in self._opaque:
                why = str(error).partition("\n")[0]
                raise Undecomposed(node.name, f"{type(error).__name__}: {why}") from error
            value = _unknown(node)
        mode: Any = get_proxy_mode()
        nodes = list(mode.tracer.graph.nodes)
        for made in nodes[self._seen :]:
            self.owner[made.name] = node.name
        self._seen = len(nodes)
        items = value if isinstance(value, list | tuple) else (value,)
        self.values[node.name] = tuple(
            get_proxy_slot(item, mode.tracer).proxy.node.name if isinstance(item, torch.Tensor) else None
            for item in items
        )
        return value


def _unknown(node: Node) -> Any:
    """Return tensors in the place of what a call returns."""
    made = [None if facts is None else meta_of(facts) for facts in node.results]
    returns = find_operator(node.operator)._schema.returns  # noqa: SLF001 - its only name
    return made[0] if [str(item.type) for item in returns] == ["Tensor"] else made


def _table(*, bias_apart: bool) -> dict[Any, Any]:
    from torch._decomp import core_aten_decompositions, get_decompositions

    table: dict[Any, Any] = dict(core_aten_decompositions())
    extra = [getattr(torch.ops.aten, name) for name in _DECOMPOSED if hasattr(torch.ops.aten, name)]
    table.update(get_decompositions(extra))
    table = {key: value for key, value in table.items() if _base(key) not in _KEPT | _WRONG}
    if bias_apart:
        table[torch.ops.aten.convolution.default] = _bias_apart
        table[torch.ops.aten.addmm.default] = _sum_apart
    return {**table, **WINDOWS, **TWO_STEPS, **PARTS}


def _bias_apart(source: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *rest: Any) -> Any:
    if bias is None:
        return NotImplemented
    made = torch.ops.aten.convolution.default(source, weight, None, *rest)
    return made + bias.view(-1, *[1] * (weight.dim() - 2))


def _sum_apart(
    added: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    if (beta, alpha) != (1, 1):
        return NotImplemented
    return torch.ops.aten.mm.default(left, right) + added


def _base(operator: Any) -> str:
    return str(operator).split(".")[1] if str(operator).startswith("aten.") else str(operator)


def _as_input(constant: Constant) -> Input:
    tensor = constant.tensor
    facts = TensorFacts(dtype=constant.storage.dtype, shape=tensor.shape, stride=tensor.stride)
    return Input(name=constant.name, facts=facts)


def _empty(item: Input) -> torch.Tensor:
    assert item.facts is not None
    return meta_of(item.facts)


class _Reader:
    """Reads the traced graph back into a program."""

    def __init__(
        self, graph: torch.fx.GraphModule, program: Program, trace: _Trace, opaque: frozenset[str]
    ) -> None:
        self._graph = graph
        self._program = program
        self._trace = trace
        self._opaque = opaque
        self._taken = {item.name for item in (*program.inputs, *program.state)}
        self._names: dict[str, str] = {}
        self._nodes: list[Node] = []
        self._origin: dict[str, str] = {}
        self._sources = {node.name: node for node in program.nodes}

    def lowered(self, inputs: list[Input], n_outputs: int) -> Lowered:
        rest = iter(inputs)
        output: Any = ()
        done: set[str] = set()
        for node in self._graph.graph.nodes:
            if node.op == "placeholder":
                self._names[node.name] = next(rest).name
            elif node.op == "output":
                output = node.args[0]
            elif node.op != "call_function":
                message = f"the traced graph has a {node.op}"
                raise ValueError(message)
            else:
                owner = self._trace.owner.get(node.name, "")
                if owner in self._opaque:
                    if owner not in done:
                        done.add(owner)
                        self._whole(owner)
                elif not self._same(node):
                    self._add(node, owner)
        items = output if isinstance(output, list | tuple) else (output,)
        outputs = tuple(NodeRef(name=self._names[item.name]) for item in items)
        made = replace(self._program, nodes=tuple(self._nodes), output=outputs, writes=())
        parts = Counter(self._origin.get(node.name, "") for node in self._nodes if computes(node.operator))
        narrowed = Narrowing(simplified(made), self._origin).run()
        return Lowered(
            program=simplified(narrowed), origin=self._origin, parts=dict(parts), n_outputs=n_outputs
        )

    def _add(self, node: torch.fx.Node, owner: str) -> None:
        if isinstance(node.target, OpOverload) and node.target._schema.is_mutable:  # noqa: SLF001 - its only name
            raise Undecomposed(owner, f"it becomes {node.target}, which changes a tensor in place")
        name = unique(node.name, self._taken)
        self._names[node.name] = name
        self._nodes.append(_node(node, name, self._names, self._sources.get(owner)))
        self._origin[name] = owner

    def _same(self, node: torch.fx.Node) -> bool:
        """Take a copy that changes nothing as the thing itself: the program changes no tensor in place."""
        target = str(node.target)
        if target not in _COPIES or not isinstance(node.args[0], torch.fx.Node):
            return False
        source, made = node.args[0].meta.get("val"), node.meta.get("val")
        if not isinstance(source, torch.Tensor) or not isinstance(made, torch.Tensor):
            return False
        returned = any(user.op == "output" for user in node.users)
        if returned or source.dtype != made.dtype or source.stride() != made.stride():
            return False
        self._names[node.name] = self._names[node.args[0].name]
        return True

    def _whole(self, owner: str) -> None:
        """Put in a call of the module as it is, with the names of the finer graph."""
        source = self._sources[owner]
        name = unique(f"{owner}_whole", self._taken)

        def value(item: Any) -> Any:
            if isinstance(item, NodeRef):
                return NodeRef(name=self._named(item.name))
            return tuple(value(part) for part in item) if isinstance(item, tuple) else item

        self._nodes.append(
            replace(
                source,
                name=name,
                args=value(source.args),
                kwargs=tuple((key, value(item)) for key, item in source.kwargs),
            )
        )
        self._origin[name] = owner
        made = self._trace.values[owner]
        if len(made) == 1:
            self._names[str(made[0])] = name
            return
        for index, inner in enumerate(made):
            if inner is None:
                continue
            item = unique(f"{owner}_{index}", self._taken)
            self._nodes.append(
                Node(
                    name=item,
                    operator=GET_ITEM,
                    args=(NodeRef(name=name), index),
                    results=(source.results[index],),
                )
            )
            self._names[inner] = item
            self._origin[item] = owner

    def _named(self, coarse: str) -> str:
        """Return the name in the finer program of a value of the module's program."""
        if coarse not in self._trace.values:
            return coarse
        source = self._sources[coarse]
        if source.operator == GET_ITEM or len(self._trace.values[coarse]) == 1:
            return self._names[str(self._trace.values[coarse][0])]
        message = f"{coarse} has several results"
        raise ValueError(message)


_COPIES = frozenset(
    ["aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.lift_fresh_copy.default"]
)


def _node(node: torch.fx.Node, name: str, names: Mapping[str, str], source: Node | None) -> Node:
    target = node.target
    operator = str(target) if isinstance(target, OpOverload) else GET_ITEM
    value = node.meta.get("val")
    items = value if isinstance(value, list | tuple) else (value,)
    if operator == "aten.scalar_tensor.default":  # a fill by another name
        assert isinstance(value, torch.Tensor)
        facts = facts_of(value)
        return Node(
            name=name,
            operator="aten.full.default",
            args=((), _argument(node.args[0], names)),
            kwargs=(
                ("dtype", SymbolSpec(kind="dtype", name=facts.dtype)),
                ("device", SymbolSpec(kind="device", name="target")),
            ),
            results=(facts,),
        )
    return Node(
        name=name,
        operator=operator,
        args=tuple(_argument(item, names) for item in node.args),
        kwargs=tuple((key, _argument(item, names)) for key, item in node.kwargs.items() if item is not None),
        results=tuple(facts_of(item) if isinstance(item, torch.Tensor) else None for item in items),
        where=source.where if source else "",
        line=source.line if source else "",
    )


def _argument(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, torch.fx.Node):
        return NodeRef(name=names[value.name])
    if isinstance(value, list | tuple):
        return tuple(_argument(item, names) for item in value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        kinds = {torch.dtype: "dtype", torch.layout: "layout", torch.memory_format: "memory_format"}
        return SymbolSpec(kind=kinds[type(value)], name=str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return SymbolSpec(kind="device", name="target")
    return value
