"""``subgraphs.json`` in the public Fuser's schema: one entry for each distinct region, with its count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kab_fuser.region_source import region_source
from kagent_bench.model.program import GET_ITEM, references

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kab_fuser.partition import Region
    from kab_fuser.signature import Signature
    from kagent_bench.model.program import Input, Node, Program

_MATRIX_RANK = 4
_TYPES = (
    ("convolution", "conv"),
    ("addmm", "linear"),
    ("mm", "matmul"),
    ("bmm", "matmul"),
    ("_softmax", "softmax"),
    ("_log_softmax", "softmax"),
    ("native_layer_norm", "norm"),
)
_NAMES = {"convolution": "conv", "addmm": "linear", "native_layer_norm": "layer_norm", "_softmax": "softmax"}
"""What the public Fuser calls these operators."""


def subgraphs_text(
    module: Program, regions: Sequence[tuple[Region, Signature]], roots: Mapping[str, str]
) -> str:
    """Return the file's text, the same for the same arguments.

    Args:
        module: the module's program, whose parameters are named.
        regions: each region with its signature, in order.
        roots: what a value is a view of, by the value's name.
    """
    weights = {item.name: item for item in module.state}
    entries: dict[str, dict[str, Any]] = {}
    for region, signature in regions:
        known = entries.get(signature.name)
        if known is not None:
            known["count"] += 1
            continue
        entries[signature.name] = _entry(region, signature, weights, roots)
    return json.dumps(list(entries.values()), indent=2) + "\n"


def _entry(
    region: Region, signature: Signature, weights: Mapping[str, Input], roots: Mapping[str, str]
) -> dict[str, Any]:
    calls = [node for node in region.calls if node.operator != GET_ITEM]
    inputs = [item for item in region.program.inputs if roots.get(item.name, item.name) not in weights]
    used = {
        root: weights[root]
        for item in region.program.inputs
        if (root := roots.get(item.name, item.name)) in weights
    }
    shapes = [list(item.facts.shape) if item.facts else [] for item in inputs]
    outputs = [
        list(facts.shape)
        for name in references(region.program.output)
        if (facts := region.program.facts()[name]) is not None
    ]
    original = {
        weights[name].paths[0] if weights[name].paths else name: list(item.facts.shape)
        for name, item in used.items()
        if item.facts is not None
    }
    entry: dict[str, Any] = {
        "id": f"region_{signature.name}",
        "type": _type(calls),
        "data_layout": "NCHW" if any(len(shape) == _MATRIX_RANK for shape in shapes) else None,
        "dtype": next((item.facts.dtype for item in region.program.inputs if item.facts), None),
        "ops": [_operation(node) for node in calls],
    }
    if len(shapes) == 1:
        entry["input_shape"] = shapes[0]
    else:
        entry["inputs"] = shapes
    entry["output_shape"] = outputs[0] if len(outputs) == 1 else outputs
    entry["weights_fused"] = original or None
    entry["weights_original"] = original or None
    entry["count"] = 1
    entry["where"] = ", ".join(dict.fromkeys(node.where for node in calls if node.where)) or "Model.forward"
    entry["source"] = {"module": "Model", "code": region_source(signature.program)}
    return entry


def _type(calls: list[Node]) -> str:
    words = {node.operator.split(".")[1] for node in calls}
    head = next((kind for base, kind in _TYPES if base in words), None)
    if head is None:
        reduces = words & {"sum", "mean", "amax", "amin", "var_mean", "var", "prod", "linalg_vector_norm"}
        head = "reduction" if reduces else "pointwise"
    return head if len(calls) == 1 else f"{head}_fused"


def _operation(node: Node) -> dict[str, Any]:
    base = node.operator.split(".")[1]
    found: dict[str, Any] = {"op": _NAMES.get(base, base.strip("_"))}
    if base == "convolution":
        _, _, bias, stride, padding, dilation, transposed, output_padding, groups = node.args
        found |= {
            "stride": _plain(stride),
            "padding": _plain(padding),
            "dilation": _plain(dilation),
            "groups": _plain(groups),
            "transposed": _plain(transposed),
            "output_padding": _plain(output_padding),
            "bias": bias is not None,
        }
    return found


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
