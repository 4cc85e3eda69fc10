"""Taking parts before computing: the part of a pointwise call is the call on parts.

A chunk or slice between two pointwise calls would end a region: one kernel has one shape. Taken first, it is a view of
what comes from outside, and the calls are one kernel. Nothing is computed twice and no number changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from kab_baseline.regions.axes import Unfusable
from kab_baseline.regions.formulas import find_formula
from kab_fuser.simplify import value_with_names, with_names
from kab_fuser.tensor_facts import facts_of, meta_of, unique
from kagent_bench.evaluate.modules.interpret import find_operator
from kagent_bench.model.case import SymbolSpec
from kagent_bench.model.program import GET_ITEM, Node, NodeRef, Program, references

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.program import TensorFacts

_SPLITS = frozenset(["aten.split_with_sizes.default", "aten.split.Tensor"])
_PARTS = frozenset(["aten.slice.Tensor", "aten.select.int"])


@dataclass(slots=True)
class Narrowing:
    """A program in which parts are taken as early as that makes regions larger."""

    program: Program
    origin: dict[str, str]
    """The module's call of each node; new nodes are added."""
    _taken: set[str] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the names that are taken."""
        self._taken = set(self.program.facts())

    def run(self) -> Program:
        """Return the program."""
        while True:
            found = self._find()
            if found is None:
                return self.program
            self._apply(*found)

    def _find(self) -> tuple[Node, tuple[Node, ...]] | None:
        """Return the last pointwise call of which only parts are used, with the calls that take these."""
        users: dict[str, list[Node]] = {}
        for node in self.program.nodes:
            for name in dict.fromkeys(node.refs()):
                users.setdefault(name, []).append(node)
        facts = self.program.facts()
        returned = set(references(self.program.output))
        for node in reversed(self.program.nodes):
            takers = users.get(node.name, [])
            if node.name in returned or not takers or not _is_pointwise(node, facts):
                continue
            if not all(taker.operator in _SPLITS | _PARTS for taker in takers):
                continue
            parts = [part for taker in takers for part in _parts_of(taker, users)]
            whole = facts[node.name]
            assert whole is not None
            known = [facts[part.name] for part in parts]
            if sum(item.numel for item in known if item is not None) > whole.numel:
                continue
            if all(any(_has_formula(user, facts) for user in users.get(part.name, [])) for part in parts):
                return node, tuple(takers)
        return None

    def _apply(self, node: Node, takers: tuple[Node, ...]) -> None:
        facts = self.program.facts()
        users: dict[str, list[Node]] = {taker.name: [] for taker in takers if taker.operator in _SPLITS}
        for item in self.program.nodes:
            if item.operator == GET_ITEM and next(item.refs()) in users:
                users[next(item.refs())].append(item)
        made: list[Node] = []
        new: dict[str, str] = {}
        gone = {node.name, *(taker.name for taker in takers)}
        for taker in takers:
            operands = {
                name: self._part(taker, node, name, facts[name], made) for name in dict.fromkeys(node.refs())
            }
            for item in users.get(taker.name, [taker]):
                index = item.args[1] if item.operator == GET_ITEM else 0
                assert isinstance(index, int)
                gone.add(item.name)
                call = self._call(node, {name: pieces[index] for name, pieces in operands.items()})
                made.append(call)
                new[item.name] = call.name
        nodes: list[Node] = []
        for item in self.program.nodes:
            if item is node:
                nodes += made
            elif item.name not in gone:
                nodes.append(with_names(item, new))
        output = value_with_names(self.program.output, new)
        self.program = replace(self.program, nodes=tuple(nodes), output=output)

    def _part(
        self, taker: Node, node: Node, name: str, known: TensorFacts | None, made: list[Node]
    ) -> list[Node | str]:
        """Take the parts of an operand, broadcast to the call's shape first; a single number stays."""
        assert known is not None
        whole = node.results[0]
        assert whole is not None
        if not known.shape:
            return [name] * max(1, len(taker.results))
        if known.shape != whole.shape:
            meta = meta_of(known).expand(whole.shape)
            operand = self._node(
                f"{name}_wide", "aten.expand.default", (NodeRef(name=name), whole.shape), meta
            )
            self.origin[operand.name] = self.origin.get(node.name, "")
            made.append(operand)
            name, known = operand.name, facts_of(meta)
        args = (NodeRef(name=name), *taker.args[1:])
        metas = find_operator(taker.operator)(meta_of(known), *taker.args[1:], **dict(taker.kwargs))
        base = taker.operator.split(".")[1]
        call = self._node(f"{name}_{base}", taker.operator, args, metas, kwargs=taker.kwargs)
        self.origin[call.name] = self.origin.get(taker.name, "")
        made.append(call)
        if taker.operator not in _SPLITS:
            return [call]
        pieces: list[Node | str] = []
        for index, meta in enumerate(metas):
            piece = self._node(f"{name}_{index}", GET_ITEM, (NodeRef(name=call.name), index), meta)
            self.origin[piece.name] = self.origin.get(taker.name, "")
            made.append(piece)
            pieces.append(piece)
        return pieces

    def _call(self, node: Node, pieces: Mapping[str, Node | str]) -> Node:
        """Return the call on parts."""
        names = {name: piece if isinstance(piece, str) else piece.name for name, piece in pieces.items()}
        facts = self.program.facts()
        metas: dict[str, torch.Tensor] = {}
        for name, piece in pieces.items():
            known = facts[name] if isinstance(piece, str) else piece.results[0]
            assert known is not None
            metas[names[name]] = meta_of(known)
        moved = with_names(node, names)
        args = [_with_metas(value, metas) for value in moved.args]
        kwargs = {key: _with_metas(value, metas) for key, value in moved.kwargs}
        meta = find_operator(node.operator)(*args, **kwargs)
        name = unique(f"{node.name}_part", self._taken)
        self.origin[name] = self.origin.get(node.name, "")
        return replace(moved, name=name, results=(facts_of(meta),))

    def _node(self, name: str, operator: str, args: Any, meta: Any, *, kwargs: Any = ()) -> Node:
        metas = meta if isinstance(meta, list | tuple) else (meta,)
        return Node(
            name=unique(name, self._taken),
            operator=operator,
            args=args,
            kwargs=kwargs,
            results=tuple(facts_of(item) for item in metas),
        )


def _parts_of(taker: Node, users: Mapping[str, list[Node]]) -> list[Node]:
    """Return the calls that stand for the parts which a call takes."""
    return users.get(taker.name, []) if taker.operator in _SPLITS else [taker]


def _is_pointwise(node: Node, facts: Mapping[str, TensorFacts | None]) -> bool:
    return len(node.results) == 1 and _has_formula(node, facts, reduces=False)


def _has_formula(node: Node, facts: Mapping[str, TensorFacts | None], *, reduces: bool = True) -> bool:
    if node.operator == GET_ITEM:
        return False
    try:
        formula = find_formula(node, facts)
    except Unfusable:
        return False
    return formula is not None and (reduces or formula.rows is None)


def _with_metas(value: Any, metas: Mapping[str, torch.Tensor]) -> Any:
    """Return an argument with tensors without memory for references, and torch's own objects for symbols."""
    if isinstance(value, NodeRef):
        return metas[value.name]
    if isinstance(value, SymbolSpec):
        return "meta" if value.kind == "device" else getattr(torch, value.name)
    return [_with_metas(item, metas) for item in value] if isinstance(value, tuple) else value
