"""The grammar of traced calls: what is read, what is refused and where, and that writing is its inverse."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.model.case import ITEM_BYTES, SymbolSpec
from kagent_bench.suites.trace.call import Arguments, SparseTensor, TracedTensor
from kagent_bench.suites.trace.grammar import MAX_DEPTH, parse_arguments
from kagent_bench.suites.trace.notation import arguments_text
from kagent_bench.suites.trace.words import GrammarError

HALF = TracedTensor((2, 3), "float16")
READ: dict[str, Any] = {
    "T([2, 3], f16)": HALF,
    "T((2, 3), f16)": HALF,
    "T([2,3],f16)": HALF,
    "T([2, 3], torch.float16)": HALF,
    "T(shape=[2, 3], dtype=f16)": HALF,
    "T([2, 3], f16, device='cuda')": HALF,
    "T(torch.Size([2, 3]), 'f16', None, 'cuda:0')": HALF,
    "T([2, 3], f16, stride=(1, 2))": TracedTensor((2, 3), "float16", (1, 2)),
    "T([2, 3], f16, [1, 2])": TracedTensor((2, 3), "float16", (1, 2)),
    "T((2, 3), f16, stride=[1, 2])": TracedTensor((2, 3), "float16", (1, 2)),
    "T([4], i64, stride=(0,))": TracedTensor((4,), "int64", (0,)),
    "T([], b8)": TracedTensor((), "bool"),
    "T([0, 3], bf16)": TracedTensor((0, 3), "bfloat16"),
    "T([4], f8e4m3fn)": TracedTensor((4,), "float8_e4m3fn"),
    "ST([5, 2], f32, torch.sparse_coo, True, 3)": SparseTensor(
        (5, 2), "float32", "sparse_coo", coalesced=True, nnz=3
    ),
    "ST([5, 2], f32, torch.sparse_coo, is_coalesced=False)": SparseTensor(
        (5, 2), "float32", "sparse_coo", coalesced=False
    ),
    "f16": SymbolSpec(kind="dtype", name="float16"),
    "torch.bool": SymbolSpec(kind="dtype", name="bool"),
    "torch.strided": SymbolSpec(kind="layout", name="strided"),
    "torch.channels_last": SymbolSpec(kind="memory_format", name="channels_last"),
    "torch.device('cpu')": SymbolSpec(kind="device", name="cpu"),
    "device(type='cuda', index=1)": SymbolSpec(kind="device", name="target"),
    "inf": math.inf,
    "-inf": -math.inf,
    "float('-inf')": -math.inf,
    "-3": -3,
    "1e-05": 1e-05,
    "(1+2j)": 1 + 2j,
    "2j": 2j,
    "None": None,
    "True": True,
    "'mean'": "mean",
    r'"it\'s \x41\n"': "it's A\n",
    "[1, [None, T([2, 3], f16)], ()]": (1, (None, HALF), ()),
}
"""What one argument says, by its text."""


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    """Every spelling that known files use."""
    arguments, comment = parse_arguments(f"(({text},), {{'key': {text}}})  # a comment")

    assert Arguments((READ[text],), (("key", READ[text]),)) == arguments
    assert "a comment" == comment


def test_no_arguments_and_no_keywords() -> None:
    """Empty brackets, and a call without the dictionary."""
    assert (Arguments(()), "") == parse_arguments("((), {})")
    assert (Arguments((1,)), "") == parse_arguments("((1,),)")


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "expected '(', not the end"),
        ("((1,), {}", 10, "expected ')', not the end"),
        ("((1 2), {})", 5, "expected ',', not '2'"),
        ("((1,), {}) 7", 12, "after the end"),
        ("((x,), {})", 3, "unknown name 'x'"),
        ("((__import__('os').system('true'),), {})", 3, "unknown name '__import__'"),
        ("((T([2], f17),), {})", 3, "unknown dtype 'f17'"),
        ("((T([2, 3], f16, [1]),), {})", 3, "2 sizes but 1 strides"),
        ("((T([-2], f16),), {})", 3, "whole numbers from 0"),
        ("((T([99999999999, 99999999999], f16),), {})", 3, "no memory holds"),
        ("((T([2]),), {})", 3, "needs a dtype"),
        ("((T([2], 'f17'),), {})", 3, "needs a dtype"),
        ("((T([\uff12], f16),), {})", 6, "expected a value"),
        ("((torch.device('gpu'),), {})", 3, "unknown device 'gpu'"),
        ("(('open,), {})", 3, '"\'"'),
        ("((1,), {'a': 1, 'a': 2})", 17, "given twice"),
        ("((1,), {a: 1})", 9, "a name in quotes"),
        ("((\0,), {})", 3, "'\\x00'"),
        ("((1; 2,), {})", 4, "expected ',', not ';'"),
        (f"(({'9' * 500},), {{}})", 3, "500 letters"),
        (r"(('\q',), {})", 3, "unknown escape"),
        (f"(({'[' * 100_000},), {{}})", 3 + MAX_DEPTH, f"more than {MAX_DEPTH} deep"),
    ],
)
def test_what_is_refused(text: str, column: int, words: str) -> None:
    """Anything else is an error that says what and where; nothing is evaluated, however deep or long."""
    with pytest.raises(GrammarError) as caught:
        parse_arguments(text)

    assert words in str(caught.value)
    assert column == caught.value.column


@given(st.text(alphabet="()[]{},:='\"\\#TSf16x.-+ 0129ej\0é", max_size=60))
def test_any_text_ends(text: str) -> None:
    """A text is a call or a grammar error, never anything else."""
    column = 1
    try:
        parse_arguments(text)
    except GrammarError as error:
        column = error.column

    assert 1 <= column <= len(text) + 1


SIZES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
DTYPES = st.sampled_from(sorted(ITEM_BYTES))
TENSORS = st.one_of(
    st.builds(TracedTensor, SIZES, DTYPES),
    SIZES.flatmap(
        lambda shape: st.builds(
            TracedTensor, st.just(shape), DTYPES, st.tuples(*[st.integers(0, 7) for _ in shape])
        )
    ),
    st.builds(
        SparseTensor, SIZES, DTYPES, st.just("sparse_csr"), st.booleans(), st.none() | st.integers(0, 9)
    ),
)
SYMBOLS = st.one_of(
    DTYPES.map(lambda name: SymbolSpec(kind="dtype", name=name)),
    st.sampled_from(["strided", "sparse_coo"]).map(lambda name: SymbolSpec(kind="layout", name=name)),
    st.sampled_from(["target", "cpu", "meta"]).map(lambda name: SymbolSpec(kind="device", name=name)),
)
VALUES = st.recursive(
    st.one_of(
        TENSORS,
        SYMBOLS,
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.text(max_size=8),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)
KEYWORDS = st.dictionaries(st.sampled_from(["alpha", "dtype", "out"]), VALUES, max_size=2)


@given(st.lists(VALUES, max_size=4), KEYWORDS)
def test_writing_and_reading_back(args: list[Any], kwargs: dict[str, Any]) -> None:
    """Arbitrary nested arguments come back as they were, NaN and signs of zero too."""
    written = Arguments(tuple(args), tuple(kwargs.items()))

    read, comment = parse_arguments(arguments_text(written))

    assert repr(written) == repr(read)
    assert "" == comment
