"""From a live module and example arguments to a program: ``torch.export``, else a trace of what was dispatched.

The graph keeps PyTorch's own operators (``linear``, ``layer_norm``, ``scaled_dot_product_attention``), so that it
computes what the module computes, on any device. In-place operations become functional, with what they change
written at the end.
"""

from __future__ import annotations

import operator
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from kagent_bench.evaluate.modules.interpret import NAMESPACE
from kagent_bench.evaluate.modules.values import literal_storage
from kagent_bench.model.case import ITEM_BYTES, SymbolSpec, TensorSpec
from kagent_bench.model.program import GET_ITEM, Constant, Input, Node, NodeRef, Program, TensorFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.export import ExportedProgram

IGNORED = frozenset(
    ["_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range_for_size", "detach_"]
)
"""Checks that an export adds; they compute nothing."""
_NOT_WORD = re.compile(r"\W+")


class NotExtractable(Exception):
    """The module cannot be a program; the text says why, with the user's line where there is one."""

    def __init__(self, reason: str, detail: str) -> None:
        """Take a reason code and the reason in words."""
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """A program and how it was recorded."""

    program: Program
    way: str
    """``export``, ``strict export`` or ``dispatch trace``."""


def extract(model: torch.nn.Module, args: Sequence[Any], source_file: str) -> Extraction:
    """Return the program of a module.

    Args:
        model: the module, in the mode that is to be recorded.
        args: example arguments.
        source_file: the problem file, whose lines are quoted.

    Raises:
        NotExtractable: no way of recording works, or the program needs what cannot be judged.
    """
    failures: list[NotExtractable] = []
    for way, strict in (("export", False), ("strict export", True)):
        try:
            exported = _export(model, args, strict=strict)
            return Extraction(program=_Builder(exported, model, source_file).program(), way=way)
        except NotExtractable as error:
            failures.append(error)
        except Exception as error:  # noqa: BLE001 - an export may raise anything; the last way decides
            failures.append(NotExtractable("not_exportable", _first_line(error, source_file)))
    try:
        traced = _trace(model, args)
        return Extraction(program=_Builder(traced, model, source_file).program(), way="dispatch trace")
    except NotExtractable as error:
        failures.append(error)
    except Exception as error:  # noqa: BLE001 - as above
        failures.append(NotExtractable("not_exportable", _first_line(error, source_file)))
    named = [item for item in failures if item.reason != "not_exportable"]
    raise (named or failures)[0]


def _export(model: torch.nn.Module, args: Sequence[Any], *, strict: bool) -> ExportedProgram:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        exported: ExportedProgram = torch.export.export(model, tuple(args), strict=strict)
        flat: ExportedProgram = exported.run_decompositions({})
        return flat


def _trace(model: torch.nn.Module, args: Sequence[Any]) -> ExportedProgram:
    """Record what is dispatched for these very arguments, then export that: Python's own branches are gone."""
    from torch.fx.experimental.proxy_tensor import make_fx

    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}

    def run(state: dict[str, torch.Tensor], *given: Any) -> Any:
        return torch.func.functional_call(model, state, given)

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        graph = make_fx(run, tracing_mode="fake", pre_dispatch=False)(named, *args)
        wrapped = _Traced(graph, model)
        exported: ExportedProgram = torch.export.export(wrapped, tuple(args), strict=False)
        functional: ExportedProgram = exported.run_decompositions({})
        return functional


class _Traced(torch.nn.Module):
    """A traced graph with the parameters and buffers of the module that it came from."""

    def __init__(self, graph: Any, model: torch.nn.Module) -> None:
        super().__init__()
        self._graph = graph
        self._names = [name for name, _ in (*model.named_parameters(), *model.named_buffers())]
        self.origin = model

    def forward(self, *args: Any) -> Any:
        named = {**dict(self.origin.named_parameters()), **dict(self.origin.named_buffers())}
        return self._graph({name: named[name] for name in self._names}, *args)


class _Builder:
    """Turns an exported program into ours."""

    def __init__(self, exported: ExportedProgram, model: torch.nn.Module, source_file: str) -> None:
        self._exported = exported
        self._model = model
        self._source_file = source_file
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._constants: list[Constant] = []

    def program(self) -> Program:
        inputs, state = self._placeholders()
        nodes = []
        output: Any = None
        for node in self._exported.graph.nodes:
            if node.op == "call_function":
                made = self._node(node)
                if made is not None:
                    nodes.append(made)
            elif node.op == "output":
                output = node.args[0]
        returned, writes = self._outputs(output)
        return Program(
            inputs=tuple(inputs),
            state=tuple(state),
            constants=tuple(self._constants),
            nodes=tuple(nodes),
            output=returned,
            writes=writes,
        )

    def _placeholders(self) -> tuple[list[Input], list[Input]]:
        from torch.export.graph_signature import InputKind

        specs = {
            spec.arg.name: spec
            for spec in self._exported.graph_signature.input_specs
            if hasattr(spec.arg, "name")
        }
        inputs: list[Input] = []
        state: dict[str, Input] = {}
        for node in self._exported.graph.nodes:
            if node.op != "placeholder":
                continue
            spec = specs.get(node.name)
            kind = None if spec is None else spec.kind
            if spec is not None and kind in {InputKind.PARAMETER, InputKind.BUFFER}:
                path = str(spec.target).removeprefix("origin.")
                self._names[node] = self._unique(path)
                state[path] = Input(
                    name=self._names[node], facts=_facts(node.meta["val"]), paths=self._all_paths(path)
                )
            elif spec is not None and kind is InputKind.CONSTANT_TENSOR:
                self._add_constant(node, self._exported.constants[str(spec.target)])
            elif kind in {InputKind.USER_INPUT, None}:
                self._names[node] = self._unique(node.name)
                value = node.meta.get("val")
                facts = _facts(value) if isinstance(value, torch.Tensor) else None
                inputs.append(Input(name=self._names[node], facts=facts))
            else:
                raise NotExtractable("custom_object", f"the module holds an object ({node.name})")
        order = [name for name, _ in (*self._model.named_parameters(), *self._model.named_buffers())]
        ranked = sorted(state, key=lambda path: order.index(path) if path in order else len(order))
        return inputs, [state[path] for path in ranked]

    def _all_paths(self, path: str) -> tuple[str, ...]:
        """Return every name under which the module has a parameter or buffer, tied ones too."""
        named = [
            *self._model.named_parameters(remove_duplicate=False),
            *self._model.named_buffers(remove_duplicate=False),
        ]
        own = dict(named).get(path)
        return (path, *(name for name, item in named if item is own and name != path))

    def _add_constant(self, node: Any, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise NotExtractable("custom_object", f"the module holds a {type(value).__name__}")
        self._names[node] = self._unique(node.name)
        dense = value.detach().contiguous()
        spec = TensorSpec(storage=0, shape=tuple(dense.shape), stride=dense.stride())
        storage = literal_storage(dense)
        self._constants.append(Constant(name=self._names[node], storage=storage, tensor=spec))

    def _node(self, node: Any) -> Node | None:
        target = node.target
        if target is operator.getitem:
            name = GET_ITEM
        elif isinstance(target, OpOverload):
            name = str(target)
            if target.namespace != NAMESPACE:
                detail = f"calls {name}, which is no operator of PyTorch's own library{self._at(node)}"
                raise NotExtractable("custom_operator", detail)
            if name.split(".")[1] in IGNORED:
                return None
            if torch.Tag.nondeterministic_seeded in target.tags and not _drops_nothing(node):
                detail = f"draws random numbers ({name}){self._at(node)}"
                raise NotExtractable("random", detail)
        else:
            detail = f"needs {getattr(target, '__name__', target)}{self._at(node)}"
            raise NotExtractable("control_flow", detail)
        self._names[node] = self._unique(node.name)
        where, line = self._origin(node)
        return Node(
            name=self._names[node],
            operator=name,
            args=tuple(self._argument(value, node) for value in node.args),
            kwargs=tuple(
                (key, self._argument(value, node)) for key, value in node.kwargs.items() if value is not None
            ),
            results=_results(node.meta.get("val"), self._at(node)),
            where=where,
            line=line,
        )

    def _argument(self, value: Any, user: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            if value not in self._names:
                raise NotExtractable("control_flow", f"uses {value.name}, which is no tensor{self._at(user)}")
            return NodeRef(name=self._names[value])
        if isinstance(value, list | tuple):
            return tuple(self._argument(item, user) for item in value)
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            kind = {torch.dtype: "dtype", torch.layout: "layout", torch.memory_format: "memory_format"}
            return SymbolSpec(kind=kind[type(value)], name=str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return SymbolSpec(kind="device", name="target")
        if value is None or isinstance(value, bool | int | float | complex | str):
            return value
        raise NotExtractable("dynamic_shape", f"has a size that depends on values{self._at(user)}")

    def _outputs(self, output: Any) -> tuple[Any, tuple[tuple[str, str], ...]]:
        from torch.export.graph_signature import OutputKind

        leaves: list[Any] = []
        writes: list[tuple[str, str]] = []
        by_path = {spec.target: spec for spec in self._exported.graph_signature.input_specs if spec.target}
        placeholders = {node.name: node for node in self._exported.graph.nodes if node.op == "placeholder"}
        for spec, value in zip(self._exported.graph_signature.output_specs, output, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                leaves.append(self._argument(value, None))
            elif spec.kind in {OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION}:
                target = by_path[spec.target].arg.name if spec.target in by_path else spec.target
                writes.append((self._names[placeholders[target]], self._names[value]))
        tree = pytree.tree_unflatten(leaves, self._exported.call_spec.out_spec)
        return _plain(tree), tuple(writes)

    def _origin(self, node: Any) -> tuple[str, str]:
        stack = node.meta.get("nn_module_stack") or {}
        path = next((str(item[0]) for item in reversed(list(stack.values())) if item[0]), "")
        return path.removeprefix("L['self'].").removeprefix("origin."), self._line(node)

    def _line(self, node: Any) -> str:
        """Return the last line of the problem file in the node's stack trace."""
        lines = (node.meta.get("stack_trace") or "").splitlines()
        places = [index for index, text in enumerate(lines) if f'"{self._source_file}"' in text]
        if not places or places[-1] + 1 >= len(lines):
            return ""
        number = re.search(r"line (\d+)", lines[places[-1]])
        return f"{number.group(1) if number else '?'}: {lines[places[-1] + 1].strip()}"

    def _at(self, node: Any) -> str:
        line = self._line(node) if node is not None else ""
        return f" in line {line}" if line else ""

    def _unique(self, text: str) -> str:
        plain = _NOT_WORD.sub("_", text).strip("_") or "value"
        plain = f"v_{plain}" if plain[0].isdigit() else plain
        name, number = plain, 1
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        return name


def _drops_nothing(node: Any) -> bool:
    """Return whether a call that may draw random numbers for dropout is told to drop nothing."""
    schema = node.target._schema  # noqa: SLF001 - torch has no public way to it
    names = [item.name for item in schema.arguments]
    defaults = {item.name: item.default_value for item in schema.arguments if item.has_default_value()}
    given = {**defaults, **dict(zip(names, node.args, strict=False)), **node.kwargs}
    asked = [name for name in ("dropout_p", "dropout", "p") if name in names]
    off = any(name in names and given.get(name) is False for name in ("train", "training"))
    return off or (bool(asked) and all(not given.get(name, 0.0) for name in asked))


def _facts(value: torch.Tensor, at: str = "") -> TensorFacts:
    dtype = str(value.dtype).removeprefix("torch.")
    if value.layout is not torch.strided or dtype not in ITEM_BYTES:
        raise NotExtractable("tensor_kind", f"has a tensor of {value.layout} and {dtype}{at}")
    if not all(isinstance(size, int) for size in (*value.shape, *value.stride())):
        raise NotExtractable("dynamic_shape", f"has a size that depends on values{at}")
    return TensorFacts(dtype=dtype, shape=tuple(value.shape), stride=tuple(value.stride()))


def _results(value: Any, at: str) -> tuple[TensorFacts | None, ...]:
    items = value if isinstance(value, list | tuple) else (value,)
    return tuple(_facts(item, at) if isinstance(item, torch.Tensor) else None for item in items)


def _plain(tree: Any) -> Any:
    """Return a returned structure with tuples only; a dictionary is the sequence of its values."""
    if isinstance(tree, dict):
        return tuple(_plain(item) for item in tree.values())
    if isinstance(tree, list | tuple):
        return tuple(_plain(item) for item in tree)
    if tree is None or isinstance(tree, NodeRef | bool | int | float | str):
        return tree
    raise NotExtractable("output_kind", f"returns a {type(tree).__name__}")


def _first_line(error: Exception, source_file: str) -> str:
    """Return an error's first line, with the user's line where the error's text or trace has it."""
    import traceback

    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source_file]
    at = f" in line {own[-1].lineno}: {own[-1].line}" if own else ""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}{at}"
