"""Smaller calls of the same sort: equal sizes stay equal, layouts stay what they are."""

from __future__ import annotations

import pytest

from kagent_bench.model.names import OperatorName
from kagent_bench.suites.aten import aten_schemas
from kagent_bench.suites.trace.call import TracedCall
from kagent_bench.suites.trace.grammar import parse_arguments
from kagent_bench.suites.trace.notation import arguments_text
from kagent_bench.suites.trace.reduce import reductions


def _reduced(name: str, text: str) -> list[tuple[str, bool]]:
    operator = OperatorName.parse(name)
    call = TracedCall(operator=operator, arguments=parse_arguments(text)[0], count=1)
    found = reductions(call, aten_schemas()[operator])
    return [(arguments_text(item.call.arguments), item.alike) for item in found]


def test_products_of_matrices() -> None:
    """Equal sizes stay equal and different ones different; what is transposed stays so."""
    assert [
        ("((T([2, 96], f16), T([96, 4096], f16, [1, 96])), {})", True),
        ("((T([2, 33], f16), T([33, 34], f16, [1, 33])), {})", True),
        ("((T([1, 3], f16), T([3, 1], f16, [1, 3])), {})", False),
        ("((T([1, 3], f16), T([3, 1], f16, [1, 3])), {})", False),
    ] == _reduced("mm.default", "((T([1024, 96], f16), T([96, 4096], f16, [1, 96])), {})")


def test_convolutions_in_groups() -> None:
    """Groups are a size, windows and steps are none; channels that come last stay last."""
    text = (
        "((T([64, 40, 56, 56], f16, [125440, 1, 2240, 40]), T([40, 1, 3, 3], f16), None, [1, 1], [1, 1], [1, 1],"
        " False, [0, 0], 40), {})"
    )
    smaller = (
        "((T([2, 33, 34, 34], f16, [38148, 1, 1122, 33]), T([33, 1, 3, 3], f16), None, [1, 1], [1, 1], [1, 1],"
        " False, [0, 0], 33), {})"
    )

    assert (smaller, True) in _reduced("convolution.default", text)


def test_gaps_and_repeated_memory() -> None:
    """Rows that are a third of their memory, and elements that are seen again and again, stay so."""
    text = "((T([2, 100, 48], f32, [14400, 144, 1]), T([2, 100, 48], f32, [48, 0, 1])), {'alpha': 64})"

    assert (
        "((T([2, 34, 33], f32, [3366, 99, 1]), T([2, 34, 33], f32, [33, 0, 1])), {'alpha': 64})",
        True,
    ) == _reduced("add.Tensor", text)[0]


def test_a_batch_as_large_as_the_channels() -> None:
    """The weight of a convolution has no batch, whatever its first size is."""
    text = (
        "((T([64, 64, 8, 8], f16), T([64, 3, 16, 16], f16), T([64, 3, 3, 3], f16), [64], [2, 2], [1, 1], [1, 1],"
        " False, [0, 0], 1, [True, True, True]), {})"
    )

    smaller = (
        "((T([2, 64, 8, 8], f16), T([2, 3, 16, 16], f16), T([64, 3, 3, 3], f16), [64], [2, 2], [1, 1], [1, 1],"
        " False, [0, 0], 1, [True, True, True]), {})"
    )

    assert (smaller, True) == _reduced("convolution_backward.default", text)[0]


WINDOWS = {
    "convolution_backward.default": (
        "((T([2, 8, 74, 76], f16), T([2, 6, 148, 152], f16), *, [2, 2], [1, 1], [1, 1], False, &), {})",
        "((T([2, 8, 4, 4], f16), T([2, 6, 8, 8], f16), *, [2, 2], [1, 1], [1, 1], False, &), {})",
    ),
    "convolution_backward.default of a transposed one": (
        "((T([2, 6, 149, 153], f16, [136782, 1, 918, 6]), T([2, 8, 74, 76], f16), *, [2, 2], [1, 1], [1, 1], True, &), {})",
        "((T([2, 6, 9, 9], f16, [486, 1, 54, 6]), T([2, 8, 4, 4], f16), *, [2, 2], [1, 1], [1, 1], True, &), {})",
    ),
    "max_pool2d_with_indices_backward.default": (
        "((T([1, 9, 160, 239], f16), T([1, 9, 320, 479], f16), [2, 2], [], [0, 0], [1, 1], False, T([1, 9, 160, 239], i64)), {})",
        "((T([1, 9, 4, 4], f16), T([1, 9, 8, 9], f16), [2, 2], [], [0, 0], [1, 1], False, T([1, 9, 4, 4], i64)), {})",
    ),
    "reflection_pad2d_backward.default": (
        "((T([3, 64, 518, 518], f16), T([3, 64, 512, 512], f16), [3, 3, 3, 3]), {})",
        "((T([2, 64, 10, 10], f16), T([2, 64, 4, 4], f16), [3, 3, 3, 3]), {})",
    ),
}
"""A call and one over a smaller image; ``*`` stands for a weight and its bias, ``&`` for what else there is."""


@pytest.mark.parametrize("name", WINDOWS)
def test_images_of_fewer_windows(name: str) -> None:
    """Gradients have a place for each window, in both directions of a convolution; what pads has steps of one."""
    weight, rest = "T([8, 6, 3, 3], f16), [0]", "[0, 0], 1, [True, True, False]"
    text, smaller = (text.replace("*", weight).replace("&", rest) for text in WINDOWS[name])

    assert (smaller, True) in _reduced(name.partition(" ")[0], text)
