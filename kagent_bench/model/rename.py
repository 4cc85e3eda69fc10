"""Programs under other names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kagent_bench.model.program import NodeRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.program import Program


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """Return a program with its values under new names; names that are not given stay."""

    def new(name: str) -> str:
        return names.get(name, name)

    def value(item: Any) -> Any:
        if isinstance(item, NodeRef):
            return NodeRef(name=new(item.name))
        return tuple(value(part) for part in item) if isinstance(item, tuple) else item

    return replace(
        program,
        inputs=tuple(replace(item, name=new(item.name)) for item in program.inputs),
        state=tuple(replace(item, name=new(item.name)) for item in program.state),
        constants=tuple(replace(item, name=new(item.name)) for item in program.constants),
        nodes=tuple(
            replace(
                node,
                name=new(node.name),
                args=value(node.args),
                kwargs=tuple((key, value(item)) for key, item in node.kwargs),
            )
            for node in program.nodes
        ),
        output=value(program.output),
        writes=tuple((new(target), new(source)) for target, source in program.writes),
    )
