"""Texts of strangers are parsed, by several threads too."""

from __future__ import annotations

import gc
import threading
import time
import warnings
from pathlib import Path

import pytest

from kagent_bench.model import python_text
from kagent_bench.model.python_text import parse_python


@pytest.mark.parametrize(
    "text", ["def f(:", "x = '\0'", b"x = '\xff'", "(" * 10_000 + ")" * 10_000, "-" * 100_000 + "1"]
)
def test_what_python_cannot_read_is_a_syntax_error(text: str | bytes) -> None:
    """Whatever Python itself raises."""
    with pytest.raises(SyntaxError):
        parse_python(text)


def test_a_strange_escape_warns_nobody() -> None:
    """And the filters stay as they were."""
    before = list(warnings.filters)

    parse_python("x = '\\d'")

    assert before == warnings.filters


class _Slow:
    """Garbage that hands the processor on while it is collected, which may be in the middle of parsing."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0)


def test_threads_do_not_disturb_each_other() -> None:
    """Where CPython counts for all of them together."""
    text = Path(python_text.__file__).read_text()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(100):
                _Slow()
                parse_python(text)
        except BaseException as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    former = gc.get_threshold()
    gc.set_threshold(20)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*former)

    assert [] == errors
