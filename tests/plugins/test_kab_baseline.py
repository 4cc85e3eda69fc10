"""The baseline generator's texts: deterministic, self-contained, right in signature, and honest about limits."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kab_baseline import primitives as p
from kab_baseline import registry
from kab_baseline.expression import Writer
from kab_baseline.generator import BaselineGenerator
from kab_baseline.primitives import trace
from kab_baseline.row_schedule import schedule
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, Generator, Problem
from kagent_bench.model.names import OperatorName

ALLOWED_IMPORTS = {"itertools", "math", "struct", "torch", "triton", "triton.language"}


def _request(name: str) -> GenerationRequest:
    problem = Problem(
        operator=OperatorName.parse(name), statement="", test_source="", cases=(), sha256="0" * 64
    )

    def judge(source: str) -> Attempt:
        raise AssertionError(source)

    return GenerationRequest(problem=problem, device="cpu", tolerance={}, judge=judge)


def _write(name: str) -> str:
    source = registry.write(OperatorName.parse(name))
    assert source is not None
    return source


def test_is_a_generator() -> None:
    """The generator fulfils the protocol."""
    assert isinstance(BaselineGenerator(), Generator)


def test_supports_hundreds_of_overloads() -> None:
    """The registry covers elementwise operators, reductions, products and copies."""
    names = {str(operator) for operator in registry.supported()}
    assert names >= {
        "add.Tensor",
        "add_.Tensor",
        "add.out",
        "relu.default",
        "sum.dim_IntList",
        "_softmax.default",
    }
    assert names >= {
        "mm.default",
        "addmm.default",
        "cat.default",
        "native_layer_norm.default",
        "cumsum.default",
    }
    assert len(names) > 600


@pytest.mark.parametrize(
    "name", ["add.Tensor", "_softmax.default", "addmm.default", "cat.default", "mse_loss.default"]
)
def test_same_request_same_bytes(name: str) -> None:
    """Two requests give the same text."""
    generator = BaselineGenerator()
    assert generator.generate(_request(name)).source == generator.generate(_request(name)).source


@pytest.mark.parametrize("name", ["_linalg_svd.default", "no_such_operator.default", "add.no_such_overload"])
def test_unsupported_operator_is_a_reason(name: str) -> None:
    """What has no formula is answered with a reason, not with an exception."""
    result = BaselineGenerator().generate(_request(name))
    assert result.source is None
    assert result.reason == "unsupported"
    assert name in result.detail


def test_every_text_is_self_contained() -> None:
    """Every kernel file parses, imports only torch and triton, and exports the kernel function."""
    for operator in registry.supported():
        tree = ast.parse(_write(str(operator)))
        imports = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert imports <= ALLOWED_IMPORTS, operator
        assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree)), operator
        assert operator.kernel_function in functions, operator
        assert any(name.endswith("_kernel") for name in functions), operator


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("add.Tensor", "def add__Tensor_kernel_impl(self, other, *, alpha=1):"),
        ("clamp.default", "def clamp__default_kernel_impl(self, min=None, max=None):"),
        ("gelu.default", "def gelu__default_kernel_impl(self, *, approximate='none'):"),
        ("add.out", "def add__out_kernel_impl(self, other, *, alpha=1, out):"),
    ],
)
def test_signature_is_the_schema(name: str, definition: str) -> None:
    """Positional arguments, keyword-only arguments and defaults are those of the schema."""
    assert definition in _write(name)


def test_softmax_takes_three_passes() -> None:
    """A reduction that depends on another one belongs to a later pass."""

    def softmax(self: object) -> object:
        grown = p.exp(self - p.row_max(self))
        return grown / p.row_sum(grown)

    plan = schedule(trace(softmax, ("self",)), frozenset({"self"}))
    assert plan.n_passes == 2
    assert [node.name for node in plan.reductions(0)] == ["row_max"]
    assert [node.name for node in plan.reductions(1)] == ["row_sum"]


_LEAVES = st.sampled_from(["x", "y", "z"]) | st.integers(1, 9).map(float)
_TREES = st.recursive(
    _LEAVES, lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "/"]), inner, inner), max_leaves=12
)


def _evaluate(tree: object, values: dict[str, object]) -> object:
    if isinstance(tree, tuple):
        sign, left, right = tree
        a, b = _evaluate(left, values), _evaluate(right, values)
        functions = {
            "+": lambda: a + b,  # type: ignore[operator]
            "-": lambda: a - b,  # type: ignore[operator]
            "*": lambda: a * b,  # type: ignore[operator]
            "/": lambda: a / b,  # type: ignore[operator]
        }
        return functions[sign]()
    return values[tree] if isinstance(tree, str) else tree


@given(_TREES)
def test_written_expression_means_the_graph(tree: object) -> None:
    """Inlining and dropped parentheses do not change the value of an expression."""
    values: dict[str, object] = {"x": 1.25, "y": -0.75, "z": 3.5}
    try:
        expected = _evaluate(tree, values)
    except ZeroDivisionError:
        return

    def body(x: object, y: object, z: object) -> object:
        return _evaluate(tree, {"x": x, "y": y, "z": z})

    graph = trace(body, ("x", "y", "z"))
    writer = Writer()
    for node in graph.nodes:
        if node.op == "placeholder":
            writer.bind(node, str(node.target))
    writer.write(node for node in graph.nodes if node.op == "call_function")
    (value,) = next(node for node in graph.nodes if node.op == "output").args[0]
    scope = dict(values)
    exec("\n".join([*writer.lines, f"result = {writer.text(value)}"]), scope)  # noqa: S102 - text written above
    assert expected == scope["result"]
