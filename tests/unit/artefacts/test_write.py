"""Setup: what is written, that it is idempotent, and that staleness and edits are noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kagent_bench.artefacts.manifest import (
    Manifest,
    check_manifest,
    installed_versions,
    manifest_text,
    read_manifest,
    require_manifest,
)
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.artefacts.write import SetupResult, write_artefacts
from kagent_bench.errors import InputError, UsageError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.identity import digest
from kagent_bench.model.progress import Silent
from kagent_bench.model.selection import Selection
from kagent_bench.suites.smoke import SmokeSuite

TOLERANCE = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2, "complex64": 2e-6}


def _selection(*names: str, sha256: str = "a" * 64) -> Selection:
    items = SmokeSuite().operators(SuiteRequest())
    chosen = tuple(item for item in items if not names or str(item.operator) in names)
    return Selection(suite="smoke", suite_sha256=sha256, operators=chosen)


def _setup(base: Path, selection: Selection) -> SetupResult:
    return write_artefacts(base, selection, TOLERANCE, Silent())


def _times(base: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in base.rglob("*")}


def test_second_setup_changes_nothing(tmp_path: Path) -> None:
    """A second setup changes neither bytes nor times, of files and of folders."""
    base = tmp_path / "new" / "kernels"
    first = _setup(base, _selection())
    before = _times(base)
    second = _setup(base, _selection())
    n_files = 2 * len(_selection().operators) + 1
    assert (n_files, 0, 0) == (first.written, first.refreshed, first.unchanged)
    assert (0, 0, n_files) == (second.written, second.refreshed, second.unchanged)
    assert before == _times(base)
    assert () == check_manifest(base, _selection())


def test_kernels_are_not_touched(tmp_path: Path) -> None:
    """Whatever else lies in an operator folder keeps its bytes and time."""
    folder = tmp_path / "relu.default".replace(".", "__")
    folder.mkdir()
    kernel = folder / "relu__default_implementation.py"
    kernel.write_text("mine = 1\n")
    before = kernel.stat().st_mtime_ns
    _setup(tmp_path, _selection())
    assert ("mine = 1\n", before) == (kernel.read_text(), kernel.stat().st_mtime_ns)


def test_edited_artefact_is_named_and_refreshed(tmp_path: Path) -> None:
    """An edited or deleted artefact is named with its path; the next setup refreshes just that."""
    selection = _selection("relu.default")
    _setup(tmp_path, selection)
    problem = tmp_path / "relu__default" / "problem.md"
    problem.write_text("easier")
    (tmp_path / "relu__default" / "test_relu__default.py").unlink()
    findings = check_manifest(tmp_path, selection)
    assert ["edited", "missing"] == [finding.kind for finding in findings]
    assert str(problem) == findings[0].subject
    with pytest.raises(UsageError, match=r"problem\.md was edited"):
        require_manifest(tmp_path, selection)
    again = _setup(tmp_path, selection)
    assert (1, 1, 1) == (again.written, again.refreshed, again.unchanged)
    assert () == check_manifest(tmp_path, selection)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"suite_sha256": "b" * 64}, "stale"),
        ({"suite": "other"}, "stale"),
    ],
)
def test_changed_suite_is_stale(tmp_path: Path, change: dict[str, str], kind: str) -> None:
    """A changed or other suite is named as stale."""
    _setup(tmp_path, _selection())
    findings = check_manifest(tmp_path, replace(_selection(), **change))  # type: ignore[arg-type]
    assert [kind] == [finding.kind for finding in findings]


def test_changed_version_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artefacts of another torch are named as stale with both versions."""
    _setup(tmp_path, _selection())
    monkeypatch.setattr("kagent_bench.artefacts.manifest.installed_versions", lambda: {"torch": "99.0"})
    (finding,) = check_manifest(tmp_path, _selection())
    assert "stale" == finding.kind
    assert "installed is 99.0" in finding.detail


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 2}', '{"schema_version": 1}'])
def test_broken_manifest_is_named_and_replaced(tmp_path: Path, text: str) -> None:
    """A file that is no manifest is a finding, and the next setup says that it replaced it."""
    (tmp_path / "manifest.json").write_text(text)
    assert ["unreadable"] == [finding.kind for finding in check_manifest(tmp_path, _selection())]
    result = _setup(tmp_path, _selection())
    assert 1 == len(result.warnings)
    assert "manifest.json" in result.warnings[0]
    assert () == check_manifest(tmp_path, _selection())


def test_no_manifest(tmp_path: Path) -> None:
    """A folder without a manifest is not set up; an operator that is not in it neither."""
    assert ["absent"] == [finding.kind for finding in check_manifest(tmp_path / "none", _selection())]
    _setup(tmp_path, _selection("relu.default"))
    findings = check_manifest(tmp_path, _selection("relu.default", "add.Tensor"))
    assert [("not_set_up", "add.Tensor")] == [(finding.kind, finding.subject) for finding in findings]


def test_setups_add_up(tmp_path: Path) -> None:
    """Operators of an earlier setup of the same suite stay; those of a changed suite go, which is said."""
    _setup(tmp_path, _selection("relu.default"))
    result = _setup(tmp_path, _selection("add.Tensor"))
    assert () == result.warnings
    assert () == check_manifest(tmp_path, _selection("relu.default", "add.Tensor"))
    result = _setup(tmp_path, _selection("mm.default", sha256="c" * 64))
    assert ["mm.default"] == list(read_manifest(tmp_path).operators)
    assert "2 operators" in result.warnings[0]
    assert (tmp_path / "relu__default" / "problem.md").is_file()


def test_unwritable_folder_is_an_input_error(tmp_path: Path) -> None:
    """A base folder that is a file is the user's mistake."""
    base = tmp_path / "file"
    base.write_text("")
    with pytest.raises(InputError, match="file"):
        _setup(base, _selection("relu.default"))


def test_manifest_round_trip() -> None:
    """Reading undoes writing."""
    manifest = Manifest(
        suite="s",
        suite_sha256="0",
        versions=installed_versions(),
        tolerance=TOLERANCE,
        operators={"relu.default": {"problem.md": "1"}},
    )
    assert manifest == Manifest.from_json(json.loads(manifest_text(manifest)))


def test_held_out_cases_leave_no_trace(tmp_path: Path) -> None:
    """No artefact names a held-out case; every development case is in both."""
    selection = _selection()
    _setup(tmp_path, selection)
    held_out = [case.id for item in selection.operators for case in item.cases if case.held_out]
    shown = [case.id for item in selection.operators for case in item.cases if not case.held_out]
    assert held_out
    problems = "".join(path.read_text() for path in tmp_path.rglob("problem.md"))
    tests = "".join(path.read_text() for path in tmp_path.rglob("test_*.py"))
    assert [] == [case_id for case_id in held_out if case_id in problems + tests]
    assert [] == [case_id for case_id in shown if case_id not in problems or case_id not in tests]


def test_problem_identity_follows_its_content() -> None:
    """The hash of a problem is the same for the same content, and another for other cases or tolerances."""
    (item,) = _selection("relu.default").operators
    problem = build_problem(item, TOLERANCE)
    assert problem.sha256 == build_problem(item, dict(reversed(TOLERANCE.items()))).sha256
    others = [
        build_problem(replace(item, cases=item.cases[1:]), TOLERANCE),
        build_problem(replace(item, kind="random"), TOLERANCE),
        build_problem(item, {**TOLERANCE, "float32": 1e-3}),
    ]
    if item.cases[0].held_out:
        others = others[1:]
    assert problem.sha256 not in {other.sha256 for other in others}


def test_statement_says_what_must_be_known() -> None:
    """The statement holds schema, documentation, contract, tolerance, file and function names."""
    (item,) = _selection("add.Tensor").operators
    statement = build_problem(item, TOLERANCE).statement
    for words in (
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "documentation of `torch.add`",
        "no result may share memory with an argument",
        "def add__Tensor_kernel_impl(self, other, *, alpha=1):",
        "`add__Tensor_implementation.py`",
        "| float16 | 0.002 |",
        "T([33, 31], f32)",
        "It may not compute",
    ):
        assert words in statement
    assert "complex64" not in statement


def test_setup_result_json(tmp_path: Path) -> None:
    """The JSON form holds the counts, the folder and the operators."""
    data = json.loads(json.dumps(_setup(tmp_path, _selection("relu.default")).to_json()))
    assert (3, ["relu.default"], str(tmp_path)) == (data["written"], data["operators"], data["base_dir"])


def test_digest_of_manifest_is_stable(tmp_path: Path) -> None:
    """Two setups of one selection in two places write the same manifest: no path and no time is in it."""
    _setup(tmp_path / "a", _selection())
    _setup(tmp_path / "b", _selection())
    texts = [(tmp_path / name / "manifest.json").read_text() for name in ("a", "b")]
    assert digest(texts[0]) == digest(texts[1])
