"""Cutting a program into regions that one kernel can do, the rest staying views or calls of the library.

A call joins the region of a value that it uses wherever one kernel can still do all of it, because a value that does
not leave its kernel saves a write and a read. Regions are convex: contracted to single calls they leave no cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kab_baseline.regions.analysis import VIEWS, analyse
from kab_baseline.regions.attention import SOFTMAX, find_attention
from kab_baseline.regions.axes import Unfusable
from kab_baseline.regions.single import write_single
from kab_fuser.attention import attention_calls
from kab_fuser.library import computes
from kagent_bench.model.case import ITEM_BYTES
from kagent_bench.model.program import GET_ITEM, Input, Node, NodeRef, Program, references

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kagent_bench.model.program import TensorFacts

MAX_CALLS = 48
"""Calls of one region; a kernel that does more is slow to compile and hard to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Calls that one kernel does."""

    calls: tuple[Node, ...]
    program: Program
    """The region by itself: what comes from outside are its arguments, what leaves it its results."""
    single: bool
    """Whether it is one call that only an operator's own kernel can do."""
    is_attention: bool = False
    """Whether it is all of an attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A program as regions and single calls, in an order in which they can run."""

    items: tuple[Region | Node, ...]
    decisions: tuple[str, ...]
    """What was joined, and why not, in words."""

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions, in order."""
        return tuple(item for item in self.items if isinstance(item, Region))


@dataclass(slots=True)
class _Growing:
    """A region that still grows."""

    names: list[str] = field(default_factory=list)


FASTER = "products are the library's here (--products)"
PRODUCTS = frozenset(
    [
        "aten.mm.default",
        "aten.bmm.default",
        "aten.addmm.default",
        "aten.baddbmm.default",
        "aten.convolution.default",
    ]
)


def partition(
    program: Program,
    origin: Mapping[str, str],
    opaque: frozenset[str],
    *,
    products: bool = True,
    apart: frozenset[str] = frozenset(),
) -> Partition:
    """Return the regions of a program.

    Args:
        program: in finer calls.
        origin: the module's call of each.
        opaque: the module's calls that stay with the library.
        products: whether regions may have matrix products and convolutions; an attention is one region either way.
        apart: the module's softmaxes whose attention is not to be one region.
    """
    return _Partitioner(program, origin, opaque, products=products).run(apart)


class _Partitioner:
    def __init__(
        self, program: Program, origin: Mapping[str, str], opaque: frozenset[str], *, products: bool
    ) -> None:
        self._program = program
        self._nodes = {node.name: node for node in program.nodes}
        self._place = {node.name: index for index, node in enumerate(program.nodes)}
        self._users = users_of(program)
        self._refs = {node.name: tuple(node.refs()) for node in program.nodes}
        self._facts = program.facts()
        self._origin = origin
        self._opaque = opaque
        self._left = frozenset() if products else PRODUCTS
        self._region: dict[str, _Growing] = {}
        self._regions: list[_Growing] = []
        self._decisions: list[str] = []
        self._singles: set[str] = set()
        self._attentions: list[_Growing] = []

    def run(self, apart: frozenset[str]) -> Partition:
        for names in attention_calls(self._program, self._users):
            if not {self._origin.get(name, "") for name in names} & (self._opaque | apart):
                self._claim(names)
        for node in self._program.nodes:
            if node.name not in self._region:
                self._consider(node)
        for region in self._regions:
            self._settle(region)
        return Partition(items=self._ordered(), decisions=tuple(self._decisions))

    def _claim(self, names: tuple[str, ...]) -> None:
        """Make an attention one region: its scores, larger than all else, never leave the kernel."""
        calls = [self._nodes[name] for name in names]
        where = next(node.name for node in calls if node.operator == SOFTMAX)
        try:
            find_attention(region_program(self._program, calls, self._users))
        except Unfusable as error:
            self._decisions.append(f"the attention of {where} is no region: {error}")
            return
        if not self._acyclic(frozenset(names)):
            self._decisions.append(f"the attention of {where} is no region: a call outside lies between")
            return
        region = _Growing(names=list(names))
        self._attentions.append(region)
        self._region |= dict.fromkeys(names, region)
        inside = [name for name in names if any(user in names for user in self._users[name])]
        saved = 2 * sum(map(self._bytes, inside))
        self._decisions.append(f"the attention of {where} is one region: saves {saved} bytes of traffic")

    def _consider(self, node: Node) -> None:
        if self._origin.get(node.name) in self._opaque:
            return
        if node.operator in self._left:
            self._decisions.append(f"{node.name} ({node.operator}) stays with the library: {FASTER}")
            return
        is_view = _is_view(node)
        if not is_view and not computes(node.operator) and not _is_plain_copy(node):
            return
        sources = [self._region[name] for name in dict.fromkeys(node.refs()) if name in self._region]
        regions = [
            item for item in {id(item): item for item in sources}.values() if item not in self._attentions
        ]
        why = ""
        for target in sorted(regions, key=lambda item: -self._place[item.names[-1]]):
            joined = [*target.names, node.name]
            why = self._refusal(joined)
            if not why:
                self._join(target, node)
                self._merge(target, [item for item in regions if item is not target])
                return
        if is_view or _is_plain_copy(node):
            return
        why_alone = self._refusal([node.name])
        if why_alone:
            self._alone(node, why_alone)
            return
        if why:
            self._decisions.append(f"{node.name} starts a region: {why}")
        region = _Growing()
        self._regions.append(region)
        self._join(region, node)

    def _alone(self, node: Node, why: str) -> None:
        try:
            write_single(self._alone_program(node))
        except Unfusable as error:
            self._decisions.append(f"{node.name} ({node.operator}) stays with the library: {why}; {error}")
            return
        self._singles.add(node.name)
        self._decisions.append(f"{node.name} ({node.operator}) is a kernel by itself: {why}")

    def _alone_program(self, node: Node) -> Program:
        takers = [
            self._nodes[name]
            for name in self._users[node.name]
            if name in self._nodes and self._nodes[name].operator == GET_ITEM
        ]
        return region_program(self._program, [node, *takers], self._users)

    def _join(self, region: _Growing, node: Node) -> None:
        saved = sum(self._bytes(name) for name in dict.fromkeys(node.refs()) if name in region.names)
        if region.names and saved:
            self._decisions.append(f"{node.name} joins {region.names[0]}: saves {2 * saved} bytes of traffic")
        region.names.append(node.name)
        self._region[node.name] = region

    def _bytes(self, name: str) -> int:
        known = self._facts.get(name)
        return known.numel * ITEM_BYTES[known.dtype] if known else 0

    def _merge(self, target: _Growing, others: list[_Growing]) -> None:
        for other in others:
            names = sorted([*target.names, *other.names], key=self._place.__getitem__)
            if self._refusal(names):
                continue
            self._decisions.append(f"the regions of {other.names[0]} and {target.names[0]} become one")
            target.names = names
            self._regions.remove(other)
            for name in other.names:
                self._region[name] = target

    def _refusal(self, names: list[str]) -> str:
        """Return why some calls cannot be one region; empty if they can."""
        if len(names) > MAX_CALLS:
            return f"more than {MAX_CALLS} calls"
        calls = [self._nodes[name] for name in sorted(names, key=self._place.__getitem__)]
        try:
            # While it grows, what will leave the region is not known: only the last value is asked for.
            analyse(region_program(self._program, calls, self._users, last_only=True))
        except Unfusable as error:
            return str(error)
        if len(names) > 1 and not self._acyclic(frozenset(names)):
            return "a call outside lies between its calls"
        return ""

    def _acyclic(self, trial: frozenset[str]) -> bool:
        """Return whether contracting the trial and the other regions leaves an order in which all can run."""
        group: dict[str, object] = {}
        for region in (*self._regions, *self._attentions):
            for name in region.names:
                group[name] = id(region)
        for name in trial:
            group[name] = "trial"
        return _topological(self._refs, group) is not None

    def _settle(self, region: _Growing) -> None:
        """Take calls off the end until the region is one kernel with all that leaves it."""
        calls = sorted(region.names, key=self._place.__getitem__)
        while calls and _is_view(self._nodes[calls[-1]]) and self._nodes[calls[-1]].operator != GET_ITEM:
            calls.pop()
        while calls:
            try:
                analyse(region_program(self._program, [self._nodes[name] for name in calls], self._users))
            except Unfusable as error:
                self._decisions.append(f"{calls[-1]} leaves the region of {calls[0]}: {error}")
                calls.pop()
            else:
                break
        for name in set(region.names) - set(calls):
            del self._region[name]
            node = self._nodes[name]
            if not _is_view(node) and computes(node.operator):
                alone = _Growing(names=[name])
                if not self._final_refusal([name]):
                    self._region[name] = alone
                else:
                    self._alone(node, "it cannot stay in its region")
        region.names = calls

    def _final_refusal(self, names: list[str]) -> str:
        try:
            analyse(region_program(self._program, [self._nodes[name] for name in names], self._users))
        except Unfusable as error:
            return str(error)
        return ""

    def _ordered(self) -> tuple[Region | Node, ...]:
        group: dict[str, object] = {name: id(region) for name, region in self._region.items()}
        for name in self._singles:
            for taker in self._alone_program(self._nodes[name]).nodes:
                group[taker.name] = name
        order = _topological(self._refs, group)
        assert order is not None
        items: list[Region | Node] = []
        for names in order:
            first = names[0]
            calls = [self._nodes[name] for name in names]
            if first in self._region or first in self._singles:
                items.append(
                    Region(
                        calls=tuple(calls),
                        program=region_program(self._program, calls, self._users),
                        single=first in self._singles,
                        is_attention=self._region.get(first) in self._attentions,
                    )
                )
            else:
                items += calls
        return tuple(items)


def _topological(refs: Mapping[str, tuple[str, ...]], group: Mapping[str, object]) -> list[list[str]] | None:
    """Return the groups of calls in an order in which they can run, None if there is none.

    Args:
        refs: the calls in order, each with the values that it uses.
        group: of calls that belong together, by name.
    """
    place = {name: index for index, name in enumerate(refs)}
    key = {name: group.get(name, name) for name in refs}
    members: dict[object, list[str]] = {}
    for name in refs:
        members.setdefault(key[name], []).append(name)
    needs: dict[object, set[object]] = {
        name: {key[ref] for node in nodes for ref in refs[node] if ref in key} - {name}
        for name, nodes in members.items()
    }
    order: list[list[str]] = []
    waiting = sorted(members, key=lambda name: place[members[name][0]])
    done: set[object] = set()
    while waiting:
        ready = next((name for name in waiting if needs[name] <= done), None)
        if ready is None:
            return None
        waiting.remove(ready)
        done.add(ready)
        order.append(members[ready])
    return order


def users_of(program: Program) -> dict[str, list[str]]:
    """Return the calls that use each value; the empty name for the program's own result."""
    users: dict[str, list[str]] = {}
    for node in program.nodes:
        users.setdefault(node.name, [])
        for name in dict.fromkeys(node.refs()):
            users.setdefault(name, []).append(node.name)
    for name in references(program.output):
        users.setdefault(name, []).append("")
    return users


def region_program(
    program: Program, calls: Iterable[Node], users: Mapping[str, list[str]], *, last_only: bool = False
) -> Program:
    """Return some calls as a program of their own.

    Args:
        program: the whole.
        calls: the calls, in order.
        users: of the whole.
        last_only: whether only the last value is returned.
    """
    nodes = tuple(calls)
    inside = {node.name for node in nodes}
    facts = program.facts()
    outside = [name for node in nodes for name in node.refs() if name not in inside]
    inputs = tuple(Input(name=name, facts=facts[name]) for name in dict.fromkeys(outside))
    leaving = [node.name for node in nodes if any(user not in inside for user in users[node.name])]
    if last_only:
        leaving = [node.name for node in nodes if not any(user in inside for user in users[node.name])][-1:]
        if nodes and len(nodes[-1].results) > 1:
            leaving = []
    output = tuple(NodeRef(name=name) for name in leaving)
    return Program(
        inputs=inputs,
        state=(),
        constants=(),
        nodes=nodes,
        output=output[0] if len(output) == 1 else output,
    )


def _is_view(node: Node) -> bool:
    if node.operator == GET_ITEM:
        return True
    base = node.operator.split(".")[1]
    return base in VIEWS


def _is_plain_copy(node: Node) -> bool:
    return node.operator in {"aten.clone.default", "aten._to_copy.default"}


def facts_of(program: Program, name: str) -> TensorFacts:
    """Return what is known of a value that is one tensor."""
    known = program.facts()[name]
    assert known is not None
    return known
