"""The JSON form of programs and module problems, and back."""

from __future__ import annotations

from typing import Any

from kagent_bench.model.case import SymbolSpec, TensorSpec
from kagent_bench.model.identity import decode_storage, decode_value, encode_storage, encode_value
from kagent_bench.model.names import ModuleName
from kagent_bench.model.program import Argument, Constant, Input, Module, Node, NodeRef, Program, TensorFacts

FORMAT = 1
"""Version of the JSON form; another one is refused."""
_NODE = "node"


def encode_module(module: Module) -> dict[str, Any]:
    """Return the JSON form of a module problem; ``decode_module`` is its inverse."""
    return {
        "format": FORMAT,
        "name": module.name.stem,
        "program": encode_program(module.program),
        "source": module.source,
        "init": None if module.init is None else encode_value(module.init),
        "init_kwargs": {name: encode_value(value) for name, value in module.init_kwargs},
        "notes": list(module.notes),
    }


def decode_module(data: dict[str, Any]) -> Module:
    """Read the JSON form of a module problem.

    Raises:
        ValueError, KeyError, TypeError: the data is not one.
    """
    if data["format"] != FORMAT:
        message = f"module of format {data['format']}; known is {FORMAT}"
        raise ValueError(message)
    init: Any = None if data["init"] is None else decode_value(data["init"])
    init_kwargs: Any = tuple((name, decode_value(value)) for name, value in data["init_kwargs"].items())
    return Module(
        name=ModuleName(data["name"]),
        program=decode_program(data["program"]),
        source=data["source"],
        init=init,
        init_kwargs=init_kwargs,
        notes=tuple(data["notes"]),
    )


def encode_program(program: Program) -> dict[str, Any]:
    """Return the JSON form of a program; ``decode_program`` is its inverse."""
    return {
        "inputs": [_encode_input(item) for item in program.inputs],
        "state": [_encode_input(item) for item in program.state],
        "constants": [
            {
                "name": item.name,
                "storage": encode_storage(item.storage),
                "tensor": encode_value(item.tensor),
            }
            for item in program.constants
        ],
        "nodes": [_encode_node(node) for node in program.nodes],
        "output": _encode_argument(program.output),
        "writes": [list(pair) for pair in program.writes],
    }


def decode_program(data: dict[str, Any]) -> Program:
    """Read the JSON form of a program.

    Raises:
        ValueError, KeyError, TypeError: the data is not one.
    """
    return Program(
        inputs=tuple(_decode_input(item) for item in data["inputs"]),
        state=tuple(_decode_input(item) for item in data["state"]),
        constants=tuple(_decode_constant(item) for item in data["constants"]),
        nodes=tuple(_decode_node(item) for item in data["nodes"]),
        output=_decode_argument(data["output"]),  # type: ignore[arg-type]
        writes=tuple((target, source) for target, source in data["writes"]),
    )


def _encode_facts(facts: TensorFacts | None) -> Any:
    return None if facts is None else [facts.dtype, list(facts.shape), list(facts.stride)]


def _decode_facts(data: Any) -> TensorFacts | None:
    if data is None:
        return None
    dtype, shape, stride = data
    return TensorFacts(dtype=dtype, shape=tuple(shape), stride=tuple(stride))


def _encode_input(item: Input) -> dict[str, Any]:
    return {"name": item.name, "facts": _encode_facts(item.facts), "paths": list(item.paths)}


def _decode_input(data: dict[str, Any]) -> Input:
    return Input(name=data["name"], facts=_decode_facts(data["facts"]), paths=tuple(data["paths"]))


def _decode_constant(data: dict[str, Any]) -> Constant:
    tensor = decode_value(data["tensor"])
    if not isinstance(tensor, TensorSpec):
        raise TypeError(tensor)
    return Constant(name=data["name"], storage=decode_storage(data["storage"]), tensor=tensor)


def _encode_node(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "op": node.operator,
        "args": [_encode_argument(value) for value in node.args],
        "kwargs": {name: _encode_argument(value) for name, value in node.kwargs},
        "results": [_encode_facts(facts) for facts in node.results],
        "where": node.where,
        "line": node.line,
    }


def _decode_node(data: dict[str, Any]) -> Node:
    return Node(
        name=data["name"],
        operator=data["op"],
        args=tuple(_decode_argument(value) for value in data["args"]),
        kwargs=tuple((name, _decode_argument(value)) for name, value in data["kwargs"].items()),
        results=tuple(_decode_facts(facts) for facts in data["results"]),
        where=data["where"],
        line=data["line"],
    )


def _encode_argument(value: Any) -> Any:
    if isinstance(value, NodeRef):
        return {_NODE: value.name}
    if isinstance(value, tuple):
        return [_encode_argument(item) for item in value]
    return encode_value(value)


def _decode_argument(data: Any) -> Argument:
    if isinstance(data, list):
        return tuple(_decode_argument(item) for item in data)
    if isinstance(data, dict) and set(data) == {_NODE}:
        return NodeRef(name=data[_NODE])
    value = decode_value(data)
    if isinstance(value, TensorSpec) or (isinstance(value, SymbolSpec) and value.kind == _NODE):
        raise TypeError(value)
    return value  # type: ignore[return-value]
