"""Facts from ATen schemas, and the documentation that is found for an operator."""

from __future__ import annotations

import pytest

from kagent_bench.artefacts.documentation import find_documentation
from kagent_bench.artefacts.schema import read_schema
from kagent_bench.errors import InputError
from kagent_bench.model.names import OperatorName


@pytest.mark.parametrize(
    ("name", "signature", "writes", "out", "returns", "returns_written"),
    [
        ("add.Tensor", "self, other, *, alpha=1", (), False, ("",), False),
        ("add_.Tensor", "self, other, *, alpha=1", ("self",), False, ("self",), True),
        ("add.out", "self, other, *, alpha=1, out", ("out",), True, ("out",), True),
        (
            "max.dim_max",
            "self, dim, keepdim=False, *, max, max_values",
            ("max", "max_values"),
            True,
            ("max", "max_values"),
            True,
        ),
        ("view.default", "self, size", (), False, ("self",), False),
        ("split.Tensor", "self, split_size, dim=0", (), False, ("self",), False),
        ("_foreach_add_.Scalar", "self, scalar", ("self",), False, (), False),
        ("gelu.default", "self, *, approximate='none'", (), False, ("",), False),
    ],
)
def test_read_schema(
    name: str,
    signature: str,
    writes: tuple[str, ...],
    out: bool,  # noqa: FBT001 - a parameter of the test
    returns: tuple[str, ...],
    returns_written: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Signature, written arguments and aliasing of returns are those of the schema."""
    schema = read_schema(OperatorName.parse(name))
    assert (signature, writes, out) == (schema.signature, schema.writes, schema.out)
    assert (returns, returns_written) == (schema.returns, schema.returns_written)


def test_unknown_operator_is_an_input_error() -> None:
    """An operator that the installed torch lacks is named, with the version."""
    with pytest.raises(InputError, match=r"aten\.no_such_thing\.default"):
        read_schema(OperatorName("no_such_thing", "default"))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add.Tensor", "torch.add"),
        ("add_.Tensor", "torch.add"),
        ("_softmax.default", "torch.nn.functional.softmax"),
        ("special_erfcx.default", "torch.special.erfcx"),
        ("linalg_vector_norm.default", "torch.linalg.vector_norm"),
        ("native_layer_norm.default", "torch.nn.functional.layer_norm"),
        ("view.default", "torch.Tensor.view"),
        ("threshold_backward.default", None),
    ],
)
def test_find_documentation(name: str, function: str | None) -> None:
    """The documentation is that of the public function, None where there is none."""
    found = find_documentation(OperatorName.parse(name))
    assert function == (None if found is None else found.function)
    assert found is None or len(found.text) > 50
