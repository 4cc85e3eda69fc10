"""Foreign text is shown, never obeyed."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.report.escape import (
    csv_cell,
    markdown_block,
    markdown_code,
    markdown_text,
    one_line,
    printable,
)

ANYTHING = st.text(st.characters(), max_size=60)


@given(text=ANYTHING)
def test_printable_text_can_be_written_anywhere(text: str) -> None:
    """No escape sequence, no other control character and nothing that UTF-8 lacks is left."""
    shown = printable(text)
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert shown == shown.encode().decode()


@given(text=ANYTHING)
def test_a_cell_stays_one_cell(text: str) -> None:
    """No text ends its table cell or its line."""
    for cell in (markdown_text(text), markdown_code(text)):
        assert "\n" not in cell
        assert cell.count("|") == cell.count("\\|")


@given(text=ANYTHING)
def test_a_block_is_ended_by_its_own_fence_only(text: str) -> None:
    """The fence is longer than every run of backticks in the text."""
    first, *body, last = markdown_block(text, "")
    assert first == last
    assert all(last not in line for line in body)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "=HYPERLINK(1)"])
def test_a_formula_is_text(text: str) -> None:
    """A spreadsheet gets an apostrophe before what it would compute."""
    assert csv_cell(text).startswith("'")


def test_numbers_and_nothing_are_bare() -> None:
    """A negative number is no formula; None is an empty cell."""
    assert ["-1.5", "3", "True", "", "inf"] == [csv_cell(x) for x in (-1.5, 3, True, None, float("inf"))]


@given(cells=st.lists(ANYTHING, min_size=1, max_size=4))
def test_csv_rows_stay_rows(cells: list[str]) -> None:
    """Whatever a cell holds, a CSV reader sees one row with as many cells."""
    text = io.StringIO()
    csv.writer(text).writerow([csv_cell(cell) for cell in cells])
    rows = list(csv.reader(io.StringIO(text.getvalue())))
    assert [[csv_cell(cell) for cell in cells]] == rows


def test_one_line_keeps_words() -> None:
    """Line ends become blanks."""
    assert "a b c" == one_line("a\n b\tc ")
