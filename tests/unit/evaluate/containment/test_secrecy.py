"""The basis on which secrecy is claimed."""

from __future__ import annotations

from pathlib import Path

from kagent_bench.evaluate.containment.report import Ledger
from kagent_bench.evaluate.containment.secrecy import look_outside, verify


def test_nothing_tried_is_nothing_claimed() -> None:
    """Without a secret to try there is no secrecy."""
    assert "no secret path" in verify(look_outside(()), Ledger())


def test_a_missing_secret_proves_nothing(tmp_path: Path) -> None:
    """That a file cannot be opened means little if it never existed."""
    assert f"{tmp_path / 'gone'} does not exist" in verify(look_outside([tmp_path / "gone"]), Ledger())


def test_what_can_be_reached_is_named(tmp_path: Path) -> None:
    """A secret that opens, and a folder that can be written to, are told, and the trial leaves no file."""
    secret = tmp_path / "seed"
    secret.write_text("x")
    reason = verify(look_outside([secret]), Ledger())
    assert f"{secret} can be opened" in reason
    assert f"the folder of {secret} can be written to" in reason
    assert [secret] == list(tmp_path.iterdir())
