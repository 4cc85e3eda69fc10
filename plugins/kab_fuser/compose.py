"""Putting a module together again: the authored kernels, ``kernel_function``, ``ModelNew`` and a self-test in one file.

Everything is written from the program: parameters in the module's order and names, calls of regions and of the
library in an order in which they can run. There is no second truth.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

from kab_baseline.layout import wrap
from kab_fuser.library import computes
from kab_fuser.merge import Merged
from kab_fuser.partition import Region
from kab_fuser.source_text import call_line, device_text, program_function, returned_text, value_text
from kagent_bench.model.case import LiteralValues
from kagent_bench.model.parameters import parameters_of
from kagent_bench.model.program import NodeRef, references

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kab_fuser.lower import Lowered
    from kab_fuser.partition import Partition
    from kagent_bench.model.case import Case
    from kagent_bench.model.parameters import Parameters
    from kagent_bench.model.program import Constant, Input, Module

ENTRY = "kernel_function"
_EAGER_NOTE = "# Calls of the module that stay with the library; `reference` below has their names.\n"
SHOWN_LINE = 96
"""Characters of the user's line that a comment quotes."""


def compose(
    module: Module,
    case: Case,
    lowered: Lowered,
    cut: Partition,
    sources: Mapping[int, str],
    names: Mapping[int, str],
    eager: Mapping[str, str],
) -> str:
    """Return the text of the composed file.

    Args:
        module: the problem.
        case: its case, for the self-test's shapes.
        lowered: its program in finer calls.
        cut: the regions.
        sources: kernel file of each region, by its place among the regions.
        names: what each region's function is called; regions with one signature share one.
        eager: the module's calls that stay with the library, each with the reason.
    """
    merged = Merged()
    for index, region in enumerate(cut.regions):
        name = names[index]
        if all(names[other] != name for other in range(index)):
            merged.add(sources[index], ENTRY, name, name)
        del region
    program = module.program
    body = _body(module, lowered, cut, names, eager)
    parameters = parameters_of(program, case)
    given = [*parameters.names, *(item.name for item in program.state)]
    parts = [
        _head(module, cut, names, eager),
        "\n".join(["import torch", *(line for line in merged.imports if line != "import torch")]) + "\n",
        f"{_EAGER_NOTE}EAGER = {_tuple(sorted(eager))}\n",
        merged.text(),
        "".join(_constant(item) for item in program.constants),
        wrap(f"def {ENTRY}", given, ":") + "\n" + _indented([*parameters.unpacked, *body]),
        _reference(module, parameters),
        _class(module),
        _self_test(module, case),
    ]
    return "\n\n".join(part.strip("\n") + "\n" for part in parts if part.strip()).replace(
        "\n\n\n\n", "\n\n\n"
    )


def _head(module: Module, cut: Partition, names: Mapping[int, str], eager: Mapping[str, str]) -> str:
    lines = [f'"""{module.name.stem}: {len(set(names.values()))} kernels for the module\'s calls.', ""]
    for index, region in enumerate(cut.regions):
        words = ", ".join(
            dict.fromkeys(_word(node.operator) for node in region.calls if node.operator != "getitem")
        )
        lines.append(f"- {names[index]}: {words}")
    for name, why in sorted(eager.items()):
        lines.append(f"- {name} stays with the library: {why}")
    return "\n".join(lines) + '\n"""\n'


def _word(operator: str) -> str:
    return operator.split(".")[1]


def _body(
    module: Module,
    lowered: Lowered,
    cut: Partition,
    names: Mapping[int, str],
    eager: Mapping[str, str],
) -> list[str]:
    program = module.program
    device = device_text(program)
    lines: list[str] = [f"{item.name} = {item.name}_values({device})" for item in program.constants]
    index = 0
    last = ""
    for item in cut.items:
        calls = item.calls if isinstance(item, Region) else (item,)
        note = next((node.line for node in calls if node.line), "")
        if note and note != last:
            lines.append(f"# line {note[:SHOWN_LINE]}")
            last = note
        if isinstance(item, Region):
            given = ", ".join(entry.name for entry in item.program.inputs)
            lines.append(f"{_targets(item.program.output)} = {names[index]}({given})")
            index += 1
            continue
        owner = lowered.origin.get(item.name, "")
        stays = computes(item.operator) and owner in eager
        lines.append(call_line(item, device) + ("  # the library's" if stays else ""))
    outputs = (
        list(lowered.program.output)
        if isinstance(lowered.program.output, tuple)
        else [lowered.program.output]
    )
    for (target, _), value in zip(program.writes, outputs[lowered.n_outputs :], strict=True):
        lines.append(f"{target}.copy_({value_text(value, device)})")
    flat = tuple(dict.fromkeys(references(program.output)))
    final = dict(zip(flat, outputs[: lowered.n_outputs], strict=True))
    lines.append(f"return {returned_text(_replaced(program.output, final))}")
    return lines


def _replaced(output: Any, final: Mapping[str, Any]) -> Any:
    if isinstance(output, NodeRef):
        return final[output.name]
    return tuple(_replaced(item, final) for item in output) if isinstance(output, tuple) else output


def _targets(output: Any) -> str:
    if isinstance(output, tuple):
        return ", ".join(item.name for item in output)
    return str(output.name)


def _constant(item: Constant) -> str:
    rule = item.storage.rule
    assert isinstance(rule, LiteralValues)
    data = base64.b64encode(zlib.compress(rule.data, 9)).decode()
    pieces = "\n".join(f'    "{data[start : start + 100]}"' for start in range(0, len(data), 100)) or '    ""'
    return f'''

{item.name.upper()}_DATA = (
{pieces}
)


def {item.name}_values(device):
    """A tensor that the module's code holds in itself."""
    import base64
    import zlib

    data = bytearray(zlib.decompress(base64.b64decode({item.name.upper()}_DATA)))
    flat = torch.frombuffer(data, dtype=torch.{item.storage.dtype})
    return flat.to(device).as_strided({item.tensor.shape}, {item.tensor.stride}, {item.tensor.offset})
'''


def _reference(module: Module, parameters: Parameters) -> str:
    program = module.program
    constants = [f"{item.name} = {item.name}_values({device_text(program)})" for item in program.constants]
    head, _, rest = program_function(program, "reference", parameters, constants).partition("\n")
    return f'{head}\n    """The module as PyTorch\'s own calls, for the self-test only."""\n{rest}'


def _class(module: Module) -> str:
    weights = "".join(f'            self.get_place("{item.paths[0]}"),\n' for item in module.program.state)
    return f'''ORIGINAL = {module.source!r}


class ModelNew(torch.nn.Module):
    """The module for KernelBench: constructor, parameters and buffers of the original, the kernels in `forward`."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        original = {{}}
        exec(compile(ORIGINAL, "original.py", "exec"), original)
        self.__dict__.update(original["Model"](*args, **kwargs).__dict__)

    def get_place(self, path):
        owner, _, name = path.rpartition(".")
        return getattr(self.get_submodule(owner), name)

    def forward(self, *args):
        return {ENTRY}(
            *args,
{weights}        )
'''


def _self_test(module: Module, case: Case) -> str:
    program = module.program
    leaves = iter(program.inputs)
    given = [_argument(value, leaves) for value in case.args]
    given += [_argument(None, iter([item])) for item in program.state]
    rows = "".join(f"        {text},\n" for text in given)
    return f'''def arguments(device):
    """Random tensors as the module takes them, and its other arguments."""

    def made(dtype, shape, stride):
        value = torch.empty_strided(shape, stride, dtype=dtype, device=device)
        return value.uniform_(0.1, 1.0) if dtype.is_floating_point else value.zero_()

    return [
{rows}    ]


def self_test(device):
    """Compare the kernels with the module on random arguments; returns the largest difference."""
    with torch.random.fork_rng(), torch.no_grad():
        results = []
        for function in (reference, {ENTRY}):
            torch.manual_seed(0)
            results.append(torch.utils._pytree.tree_leaves(function(*arguments(device))))
    pairs = [pair for pair in zip(*results) if isinstance(pair[0], torch.Tensor)]
    return max((float((left.double() - right.double()).abs().max()) for left, right in pairs), default=0.0)


if __name__ == "__main__":
    print("largest difference:", self_test("cuda" if torch.cuda.is_available() else "cpu"))
'''


def _argument(value: Any, leaves: Iterator[Input]) -> str:
    """Return the source of an argument of the self-test."""
    if isinstance(value, tuple):
        return f"[{', '.join(_argument(item, leaves) for item in value)}]"
    facts = next(leaves).facts
    return repr(value) if facts is None else f"made(torch.{facts.dtype}, {facts.shape}, {facts.stride})"


def _tuple(items: list[str]) -> str:
    inside = ", ".join(f'"{item}"' for item in items)
    return f"({inside},)" if len(items) == 1 else f"({inside})"


def _indented(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines) + "\n"
