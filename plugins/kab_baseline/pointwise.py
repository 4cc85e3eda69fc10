"""The pointwise frame: one program for each block of elements of the broadcast shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kab_baseline.assembly import assemble
from kab_baseline.definition import Pointwise, Result, Variant
from kab_baseline.expression import Writer
from kab_baseline.layout import indented, wrap
from kab_baseline.primitives import trace
from kab_baseline.signature import Parameter, Signature, Writes

if TYPE_CHECKING:
    import torch.fx

BLOCK = 1024
"""Elements of one program: eight for each thread of four warps."""


def supports(definition: Pointwise, signature: Signature) -> bool:
    """Whether an overload has the arguments that the definition's formulas name, and one result."""
    if signature.n_results != 1 or len(signature.outs) > 1:
        return False
    wanted = {name for variant in definition.variants for name in variant.operand_names()}
    tensors = {item.name for item in signature.inputs if item.is_tensor or item.is_maybe_tensor}
    typed = all(
        item.is_tensor or item.is_maybe_tensor or item.type in _NUMBER_TYPES
        for item in signature.inputs
        if item.name in wanted
    )
    conditions = " ".join(variant.when for variant in definition.variants)
    ignored = {item.name for item in signature.inputs} - wanted - {*definition.ignores}
    heeded = all(re.search(rf"\b{name}\b", conditions) for name in ignored)
    return typed and heeded and wanted <= signature.names and bool(tensors & wanted)


_NUMBER_TYPES = frozenset({"number", "float", "int", "bool", "Optional[number]", "Optional[float]"})


def write(definition: Pointwise, signature: Signature) -> str:
    """Return the kernel file of an overload."""
    kernels, body = parts(definition, signature)
    return assemble(signature, definition.summary, kernels, body, constants={"BLOCK": BLOCK})


def parts(definition: Pointwise, signature: Signature) -> tuple[list[str], str]:
    """Return the kernels of an overload and the body of its host function."""
    kernels: list[str] = []
    runs: list[tuple[str, str]] = []
    for variant in definition.variants:
        overload = _Overload(definition, signature, variant)
        kernels.append(overload.kernel())
        runs.append((variant.when, overload.host()))
    if len(runs) == 1:
        body = runs[0][1]
    else:
        body = ""
        for position, (when, text) in enumerate(runs):
            head = "else:" if not when else f"{'if' if position == 0 else 'elif'} {when}:"
            body += f"{head}\n{indented(text, 4)}\n"
    return kernels, body.rstrip()


class _Overload:
    """One variant of one overload: which arguments are tensors, which are numbers, and the two texts."""

    def __init__(self, definition: Pointwise, signature: Signature, variant: Variant) -> None:
        self.definition = definition
        self.signature = signature
        self.variant = variant
        self.names = variant.operand_names()
        by_name = {item.name: item for item in signature.inputs}
        given = [by_name[name] for name in self.names]
        self.tensors = [item for item in given if item.is_tensor or item.is_maybe_tensor]
        self.numbers = [item for item in given if item not in self.tensors]
        suffix = f"_{variant.name}" if variant.name else ""
        self.kernel_name = f"{signature.operator.base.strip('_')}{suffix}_kernel"

    @property
    def graph(self) -> torch.fx.Graph:
        return trace(self.variant.body, self.names)

    @property
    def rounds_operands(self) -> bool:
        """Whether operands go through the promoted type, so that a comparison sees what eager sees."""
        return self.variant.result is Result.BOOL and len(self.names) > 1

    def may_be_number(self, item: Parameter) -> bool:
        """Whether eager passes a Python number for this tensor: any tensor operand but the first."""
        return item is not self.tensors[0] and item.name not in self.definition.unpromoted

    def kernel(self) -> str:
        """Return the source of the kernel."""
        arguments = ["out_ptr", *(self._pointer(item) for item in self.tensors)]
        arguments += [f"{item.name}_bits" for item in self.numbers]
        arguments += [
            "n_elements",
            "shape",
            "out_strides",
            *(f"{item.name}_strides" for item in self.tensors),
        ]
        flags = [f"{item.name.upper()}_IS_NUMBER" for item in self.tensors if self.may_be_number(item)]
        arguments += [f"{name}: tl.constexpr" for name in (*flags, *self._types(), "BLOCK")]
        rounding = ".to(OPERAND).to(COMPUTE)" if self.rounds_operands else ""
        lines = [
            "element = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)",
            "in_bounds = element < n_elements",
            *(self._load(item) + rounding for item in self.tensors),
            *(f"{item.name} = number({item.name}_bits, COMPUTE){rounding}" for item in self.numbers),
        ]
        graph = self.graph
        writer = Writer()
        for node in graph.nodes:
            if node.op == "placeholder":
                writer.bind(node, node.target)
        writer.write(node for node in graph.nodes if node.op == "call_function")
        (value,) = next(node for node in graph.nodes if node.op == "output").args[0]
        lines += writer.lines
        lines.append(f"result = {self._result(writer.text(value), value)}")
        lines.append(
            "tl.store(out_ptr + offsets(element, shape, out_strides), result.to(out_ptr.dtype.element_ty), mask=in_bounds)"
        )
        head = wrap(f"def {self.kernel_name}", arguments, ":")
        return "@triton.jit\n" + head + "\n" + indented("\n".join(lines), 4)

    def _types(self) -> tuple[str, ...]:
        return ("COMPUTE", "OPERAND", "RESULT") if self.rounds_operands else ("COMPUTE", "RESULT")

    def _result(self, text: str, value: object) -> str:
        if not hasattr(value, "users"):
            return f"tl.full((BLOCK,), {text}, COMPUTE).to(RESULT)"
        atom = text if text.isidentifier() else f"({text})"
        return f"{atom}.to(RESULT)"

    def _pointer(self, item: Parameter) -> str:
        return item.name if self.may_be_number(item) else f"{item.name}_ptr"

    def _load(self, item: Parameter) -> str:
        name = item.name
        if self.may_be_number(item):
            return f"{name} = load({name}, element, in_bounds, shape, {name}_strides, {name.upper()}_IS_NUMBER, COMPUTE)"
        cast = " != 0" if name in self.definition.unpromoted else ".to(COMPUTE)"
        return f"{name} = tl.load({name}_ptr + offsets(element, shape, {name}_strides), mask=in_bounds){cast}"

    def host(self) -> str:
        """Return the host code: promote, allocate, launch, return."""
        tensors = [item.name for item in self.tensors]
        lines = self._dtype_lines()
        for condition, message in self.definition.checks:
            lines += [f"if {condition}:", f'    raise RuntimeError("{message}")']
        lines += self._allocation(tensors)
        launch = ["out", *(self._source(item) for item in self.tensors)]
        for item in self.numbers:
            value = self.definition.numbers.get(item.name, item.name)
            launch.append(f"number_bits({value}, compute)")
        launch += ["out.numel()", "*flatten(" + ", ".join(["shape", *self._views()]) + ")"]
        launch += [
            f"{item.name.upper()}_IS_NUMBER=not isinstance({item.name}, torch.Tensor)"
            for item in self.tensors
            if self.may_be_number(item)
        ]
        launch.append("COMPUTE=compute")
        launch += ["OPERAND=TRITON_DTYPES[dtype]"] if self.rounds_operands else []
        launch += [f"RESULT=TRITON_DTYPES[{self._result_name()}]", "BLOCK=BLOCK"]
        lines.append("if out.numel():")
        lines.append(wrap(f"{self.kernel_name}[(triton.cdiv(out.numel(), BLOCK),)]", launch, "", indent=4))
        lines.append(f"return {self._returned()}")
        return "\n".join(lines)

    def _dtype_lines(self) -> list[str]:
        operands = [item.name for item in self.tensors if item.name not in self.definition.unpromoted]
        operands += [item.name for item in self.numbers if item.name in self.definition.promotes]
        if self.definition.dtype:
            common = self.definition.dtype
        elif len(operands) == 1:
            common = f"{operands[0]}.dtype"
        elif len(operands) == 2:  # noqa: PLR2004 - what torch.result_type takes
            common = f"torch.result_type({', '.join(operands)})"
        else:
            common = f"common_dtype({', '.join(operands)})"
        lines = [f"dtype = {common}"]
        if self.variant.result is Result.FLOAT:
            lines += ["if not dtype.is_floating_point:", "    dtype = torch.get_default_dtype()"]
        lines.append("compute = compute_dtype(dtype)")
        return lines

    def _result_name(self) -> str:
        return "torch.bool" if self.variant.result is Result.BOOL else "dtype"

    def _allocation(self, tensors: list[str]) -> list[str]:
        dtype = self._result_name()
        first = tensors[0]
        writes = self.signature.writes
        lines = []
        if len(tensors) == 1:
            lines.append(f"shape = tuple({first}.shape)")
        else:
            lines.append(f"shape = broadcast_shape({', '.join(tensors)})")
        if writes is Writes.SELF:
            if len(tensors) > 1:
                lines += [
                    f"if shape != tuple({first}.shape):",
                    f'    raise RuntimeError(f"output with shape {{list({first}.shape)}} doesn\'t match {{list(shape)}}")',
                ]
            lines.append(f"out = {first}")
        elif writes is Writes.NEW and len(tensors) == 1 and not self.definition.contiguous:
            lines.append(f"out = torch.empty_like({first}, dtype={dtype})")
        else:
            tuple_text = ", ".join(tensors) + ("," if len(tensors) == 1 else "")
            if self.definition.contiguous:
                lines.append("strides = contiguous_strides(shape, range(len(shape) - 1, -1, -1))")
            else:
                lines.append(f"strides = result_strides(shape, ({tuple_text}))")
            if writes is Writes.NEW:
                lines.append(
                    f"out = torch.empty_strided(shape, strides, dtype={dtype}, device={first}.device)"
                )
            else:
                lines.append(f"resize_result({self.signature.outs[0].name}, shape, strides)")
                if self.signature.outs[0].name != "out":
                    lines.append(f"out = {self.signature.outs[0].name}")
        return lines

    def _returned(self) -> str:
        return "out"

    def _source(self, item: Parameter) -> str:
        return f"source_of({item.name}, compute)" if self.may_be_number(item) else item.name

    def _views(self) -> list[str]:
        return ["out.stride()", *(f"view_strides({item.name}, shape)" for item in self.tensors)]
