"""Programs as data: names, the JSON form, and manifests of what stays with the library."""

from __future__ import annotations

import json

import pytest

from kagent_bench.model.case import LiteralValues, StorageSpec, SymbolSpec, TensorSpec
from kagent_bench.model.eager_manifest import declared_eager
from kagent_bench.model.names import ModuleName, OperatorName, name_from_folder, parse_name
from kagent_bench.model.program import Constant, Input, Module, Node, NodeRef, Program, TensorFacts
from kagent_bench.model.program_json import decode_module, encode_module

FACTS = TensorFacts(dtype="float32", shape=(2, 3), stride=(3, 1))
MODULE = Module(
    name=ModuleName("3_Name"),
    program=Program(
        inputs=(Input(name="x", facts=FACTS), Input(name="n", facts=None)),
        state=(Input(name="w", facts=FACTS, paths=("a.w", "b.w")),),
        constants=(
            Constant(
                name="c",
                storage=StorageSpec(dtype="uint8", numel=2, rule=LiteralValues(data=b"\1\2")),
                tensor=TensorSpec(storage=0, shape=(2,), stride=(1,)),
            ),
        ),
        nodes=(
            Node(
                name="cat",
                operator="aten.cat.default",
                args=((NodeRef(name="x"), NodeRef(name="w")), float("-inf")),
                kwargs=(("dtype", SymbolSpec(kind="dtype", name="float16")),),
                results=(FACTS, None),
                where="a",
                line="3: x",
            ),
        ),
        output=(NodeRef(name="cat"), None, 2.5),
        writes=(("w", "cat"),),
    ),
    source="class Model: pass\n",
    init=(1, (2, 3), "x", None),
    init_kwargs=(("bias", False),),
    notes=("recorded by dispatch trace",),
)


def test_json_keeps_a_module() -> None:
    """A module comes back from its JSON text as it was."""
    assert MODULE == decode_module(json.loads(json.dumps(encode_module(MODULE))))


def test_another_format_is_refused() -> None:
    """A module of an unknown format is an error."""
    with pytest.raises(ValueError, match="format"):
        decode_module({**encode_module(MODULE), "format": 99})


@pytest.mark.parametrize("name", [ModuleName("1_a__b_"), OperatorName("add_", "Tensor")])
def test_names_come_back_from_text_and_folder(name: ModuleName | OperatorName) -> None:
    """Names of both kinds survive as text and as folder."""
    assert name == parse_name(str(name))
    assert name == name_from_folder(name.folder)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b'EAGER = ("b", "a")\n', ("a", "b")),
        (b'EAGER = "linear"\n', ("linear",)),
        (b"EAGER = [open('x')]\n", ()),
        (b'if True:\n    EAGER = ("a",)\n', ()),
        (b'EAGER = ("a", 3)\n', ("a",)),
        (b"not python (", ()),
        (b"x" * 10 + b"\0", ()),
    ],
)
def test_manifests_are_read_and_never_run(source: bytes, expected: tuple[str, ...]) -> None:
    """Only a literal at the top of the file declares; anything else declares nothing."""
    assert expected == declared_eager(source)
