"""The kernel store: its layout, what it reads, what it refuses, and that a cut-off promotion is seen as one."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.errors import HarnessFault, InputError
from kagent_bench.hooks.protocols import Attempt
from kagent_bench.model.identity import source_digest
from kagent_bench.model.kernel import Provenance
from kagent_bench.model.names import OperatorName
from kagent_bench.stores.kernels import KernelState, KernelStore
from kagent_bench.stores.provenance import StoredProvenance, decode_provenance, encode_provenance

ADD_ = OperatorName("add_", "Tensor")
RELU = OperatorName("relu", "default")
SOURCE = "def relu__default_kernel_impl(self):\n    return 'promoted'\n"


def _provenance(operator: OperatorName = RELU, source: str = SOURCE, *, verified: bool = True) -> Provenance:
    return Provenance(
        operator=operator,
        sha256=source_digest(source.encode()),
        generator="fake",
        generator_version="1",
        problem_sha256="ab" * 32,
        created="2026-01-02T03:04:05+00:00",
        verified=verified,
        details={"model": "none", "cost": 0.5},
    )


def _write(base: Path, operator: OperatorName, name: str, text: str) -> Path:
    path = base / operator.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _load_as_backendbench(base: Path, folder: str) -> ModuleType:
    """Load a folder by BackendBench's rule: first by name of the files that start and end as they should."""
    names = [entry.name for entry in (base / folder).iterdir()]
    chosen = min(
        name for name in names if name.startswith(f"{folder}_implementation") and name.endswith(".py")
    )
    spec = importlib.util.spec_from_file_location(f"op_{folder}", base / folder / chosen)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_promoted_kernel_is_found(tmp_path: Path) -> None:
    """A promoted kernel is found again with its hash, its provenance and nothing to warn of."""
    store = KernelStore(tmp_path)
    promoted = store.promote(RELU, SOURCE, _provenance())
    assert promoted == store.find(RELU)
    assert tmp_path / "relu__default" / "relu__default_implementation.py" == promoted.path
    assert SOURCE.encode() == store.read_source(promoted)
    assert _provenance() == store.provenance(RELU)
    assert KernelState.OURS is store.state(RELU)
    assert () == store.warnings


def test_layout_loads_by_backendbench_rule(tmp_path: Path) -> None:
    """A promoted kernel is the one that BackendBench takes, under the function name it asks for."""
    _write(tmp_path, RELU, "relu__default_implementation_v1.py", "relu__default_kernel_impl = 'v1'\n")
    store = KernelStore(tmp_path)
    store.promote(RELU, SOURCE, _provenance())
    store.add_attempt(RELU, Attempt(source="x", verdict="incorrect", feedback="no"), {"generator": "fake"})
    module = _load_as_backendbench(tmp_path, "relu__default")
    assert "promoted" == getattr(module, RELU.kernel_function)(None)


def test_layout_loads_in_backendbench(tmp_path: Path) -> None:
    """BackendBench's own DirectoryBackend loads what the store writes."""
    backends = pytest.importorskip(
        "BackendBench.backends", reason="BackendBench is not installed", exc_type=ImportError
    )
    torch = pytest.importorskip("torch")
    KernelStore(tmp_path).promote(RELU, SOURCE, _provenance())
    source = "def add___Tensor_kernel_impl(self, other, *, alpha=1):\n    return 'in place'\n"
    KernelStore(tmp_path).promote(ADD_, source, _provenance(ADD_, source))
    backend = backends.DirectoryBackend(str(tmp_path))
    assert "promoted" == backend[torch.ops.aten.relu.default](None)
    assert "in place" == backend[torch.ops.aten.add_.Tensor](None, None)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("v2", "v1"), "v1"),
        (("v2", "v10"), "v10"),
        (("v1", ""), ""),
    ],
)
def test_several_files(tmp_path: Path, names: tuple[str, ...], chosen: str) -> None:
    """Of several kernel files the one that BackendBench takes is read, with a warning that names the others."""
    for name in names:
        ending = f"_{name}" if name else ""
        _write(
            tmp_path,
            RELU,
            f"relu__default_implementation{ending}.py",
            f"relu__default_kernel_impl = {name!r}",
        )
    store = KernelStore(tmp_path)
    kernel = store.find(RELU)
    assert kernel is not None
    module = _load_as_backendbench(tmp_path, "relu__default")
    assert chosen == module.relu__default_kernel_impl
    assert Path(str(module.__file__)) == kernel.path
    assert 1 == len(store.warnings)
    assert "left out" in store.warnings[0]


def test_single_odd_file_is_taken(tmp_path: Path) -> None:
    """One kernel file of any ending is taken as it is, in silence, and counts as somebody's own."""
    path = _write(tmp_path, ADD_, "add___Tensor_implementation_v7.py", "x = 1\n")
    store = KernelStore(tmp_path)
    kernel = store.find(ADD_)
    assert kernel is not None
    assert path == kernel.path
    assert source_digest(b"x = 1\n") == kernel.sha256
    assert KernelState.FOREIGN is store.state(ADD_)
    assert () == store.warnings


def test_operators_skips_strays_with_warnings(tmp_path: Path) -> None:
    """Folders without a kernel are no operators; stray files and unreadable folder names only warn."""
    _write(tmp_path, RELU, "relu__default_implementation.py", "x = 1\n")
    _write(tmp_path, RELU, "results.json", '{"correct": true, "speedup": 50}')
    (tmp_path / "sin__default").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "abs").mkdir()
    (tmp_path / "abs" / "abs_implementation.py").write_text("x = 1\n")
    (tmp_path / "loose.py").write_text("x = 1\n")
    (tmp_path / "manifest.json").write_text("{}")
    store = KernelStore(tmp_path)
    assert (RELU,) == store.operators()
    assert 2 == len(store.warnings)
    assert "abs__default" in store.warnings[0]
    assert "loose.py" in store.warnings[1]


def test_missing_base_is_an_input_error(tmp_path: Path) -> None:
    """A missing base folder is the user's mistake, named with what to do."""
    store = KernelStore(tmp_path / "none")
    for read in (store.operators, lambda: store.find(RELU)):
        with pytest.raises(InputError, match="none cannot be read") as caught:
            read()
        assert "--base-dir" in caught.value.hint


def test_symbolic_link_out_is_read_and_said(tmp_path: Path) -> None:
    """A kernel that is a link is hashed by what is read; a link out of the folder is said."""
    outside = tmp_path / "elsewhere.py"
    outside.write_text("x = 2\n")
    base = tmp_path / "kernels"
    (base / RELU.folder).mkdir(parents=True)
    (base / RELU.folder / "relu__default_implementation.py").symlink_to(outside)
    store = KernelStore(base)
    kernel = store.find(RELU)
    assert kernel is not None
    assert source_digest(b"x = 2\n") == kernel.sha256
    assert "outside the kernels folder" in store.warnings[0]
    store.promote(RELU, SOURCE, _provenance())
    assert "x = 2\n" == outside.read_text()


def test_dangling_link_counts_as_missing(tmp_path: Path) -> None:
    """A kernel file that cannot be read is no kernel, and is said."""
    (tmp_path / RELU.folder).mkdir()
    (tmp_path / RELU.folder / "relu__default_implementation.py").symlink_to(tmp_path / "gone.py")
    store = KernelStore(tmp_path)
    assert store.find(RELU) is None
    assert any("counts as missing" in text for text in store.warnings)


def test_nothing_is_written_through_a_linked_folder(tmp_path: Path) -> None:
    """An operator folder that leads out of the base folder is not written to."""
    outside = tmp_path / "outside"
    outside.mkdir()
    base = tmp_path / "kernels"
    base.mkdir()
    (base / RELU.folder).symlink_to(outside)
    with pytest.raises(InputError, match="symbolic link"):
        KernelStore(base).promote(RELU, SOURCE, _provenance())
    assert [] == list(outside.iterdir())


def test_changed_kernel_is_foreign(tmp_path: Path) -> None:
    """A kernel that was edited after its promotion is somebody's own work, and is not read as the found one."""
    store = KernelStore(tmp_path)
    kernel = store.promote(RELU, SOURCE, _provenance())
    kernel.path.write_text(SOURCE + "# better\n")
    assert KernelState.FOREIGN is store.state(RELU)
    with pytest.raises(InputError, match="changed while"):
        store.read_source(kernel)


def test_cut_off_promotion_is_not_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A promotion that dies between its two files leaves the former kernel, known as ours."""
    store = KernelStore(tmp_path)
    former = store.promote(RELU, SOURCE, _provenance())
    newer = SOURCE.replace("promoted", "newer")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kagent_bench.stores.kernels.write_text", die)
    with pytest.raises(KeyboardInterrupt):
        store.promote(RELU, newer, _provenance(source=newer))
    assert former == store.find(RELU)
    assert KernelState.CUT_OFF is store.state(RELU)


def test_wrong_provenance_is_refused(tmp_path: Path) -> None:
    """A provenance of another source is a fault of the harness and leaves nothing behind."""
    with pytest.raises(HarnessFault):
        KernelStore(tmp_path).promote(RELU, SOURCE, replace(_provenance(), sha256="0" * 64))
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema_version": 99}', "\udcff"])
def test_broken_provenance_is_named(tmp_path: Path, text: str) -> None:
    """A provenance that cannot be read counts as none, with a warning that names the file."""
    store = KernelStore(tmp_path)
    kernel = store.promote(RELU, SOURCE, _provenance())
    (kernel.path.parent / "provenance.json").write_bytes(text.encode(errors="surrogateescape"))
    assert store.provenance(RELU) is None
    assert KernelState.FOREIGN is store.state(RELU)
    assert "provenance.json" in store.warnings[0]


def test_attempts_are_numbered(tmp_path: Path) -> None:
    """Attempts keep their order and their words; a half-written one is left out and its number not reused."""
    store = KernelStore(tmp_path)
    first = Attempt(source="a = 1\n", verdict="incorrect", feedback="wrong at 3")
    second = Attempt(source="a = 2\n", verdict="correct", feedback="")
    store.add_attempt(RELU, first, {"generator": "fake"})
    (tmp_path / RELU.folder / "attempts" / "002.py").write_text("half")
    store.add_attempt(RELU, second, {"generator": "fake"})
    stored = store.attempts(RELU)
    assert [first, second] == [item.attempt for item in stored]
    assert [1, 3] == [item.number for item in stored]
    assert {"generator": "fake"} == stored[0].origin


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
SCALARS = (
    st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)


@given(
    provenance=st.builds(
        Provenance,
        operator=st.builds(OperatorName, NAMES, NAMES),
        sha256=st.text(),
        generator=st.text(),
        generator_version=st.text(),
        problem_sha256=st.text(),
        created=st.text(),
        verified=st.booleans(),
        attempts=st.integers(0, 100),
        duration_s=st.floats(0, 1e6),
        details=st.dictionaries(st.text(), SCALARS, max_size=3),
    ),
    replaces=st.none() | st.text(),
)
def test_provenance_round_trip(provenance: Provenance, replaces: str | None) -> None:
    """Decoding undoes encoding."""
    stored = StoredProvenance(provenance=provenance, replaces=replaces)
    assert stored == decode_provenance(encode_provenance(stored))
