"""The layout of a new root."""

from __future__ import annotations

from pathlib import Path

import pytest

from kagent_bench.evaluate.containment.layout import follow, lay_out


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with a real folder, a file in it, links to both, and a missing name."""
    root = tmp_path.resolve()
    (root / "real" / "deep").mkdir(parents=True)
    (root / "real" / "file").write_text("x")
    (root / "absolute").symlink_to(root / "real")
    (root / "relative").symlink_to("absolute")
    (root / "loop").symlink_to("loop")
    return root


def test_links_on_the_way_are_made_again(tree: Path) -> None:
    """A path through links is bound where it really is, and each link is kept with its own target."""
    layout = lay_out((tree / "relative" / "deep",))
    assert (str(tree / "real" / "deep"),) == layout.binds
    expected = {str(tree / "relative"): "absolute", str(tree / "absolute"): str(tree / "real")}
    assert expected == dict(layout.links)


def test_what_lies_in_another_path_is_not_bound_again(tree: Path) -> None:
    """Nested and repeated paths become one bind; links inside it are there already."""
    layout = lay_out((tree / "real" / "deep", tree / "real", tree / "real" / "file", tree / "real"))
    assert (str(tree / "real"),) == layout.binds
    assert () == layout.links


def test_files_get_files_to_mount_on(tree: Path) -> None:
    """A file is bound on a file, below folders that come parents first."""
    layout = lay_out((tree / "real" / "file",))
    assert (str(tree / "real" / "file"),) == layout.files
    assert str(tree / "real") == layout.folders[-1]
    assert sorted(layout.folders, key=len) == list(layout.folders)


def test_missing_paths_are_left_out(tree: Path) -> None:
    """A path that does not exist needs nothing."""
    assert () == lay_out((tree / "nothing" / "here",)).binds


def test_a_circle_of_links_ends(tree: Path) -> None:
    """A link to itself is given up, as the kernel does."""
    assert str(tree / "loop") == follow(str(tree / "loop"), {})
