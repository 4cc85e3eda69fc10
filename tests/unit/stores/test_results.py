"""The results store: crash-safe, resumable, one process at a time."""

from __future__ import annotations

import json
import math
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.errors import HarnessFault, InputError, UsageError
from kagent_bench.model.record import CaseRecord
from kagent_bench.model.verdict import CaseStatus
from kagent_bench.stores.results import ResultsStore, read_records
from kagent_bench.stores.run_file import (
    KernelFile,
    RunFile,
    RunState,
    SelectedCase,
    SelectedOperator,
    read_run,
)

if TYPE_CHECKING:
    from pathlib import Path


def make_record(key: str = "k1", **changes: object) -> CaseRecord:
    """Return a passed record with some fields changed."""
    fields: dict[str, Any] = {
        "key": key,
        "op_name": "relu.default",
        "case_id": "c1",
        "kernel_sha256": "ab",
        "status": CaseStatus.PASSED,
        "dtype": "float32",
        "origin": "direct",
        "held_out": False,
        "call": "(T([4], f32),)",
        "device": "cpu (Triton interpreter)",
    }
    return CaseRecord(**{**fields, **changes})


def make_run(**changes: object) -> RunFile:
    """Return a run file of one operator with some fields changed."""
    case = SelectedCase(id="c1", dtype="float32", origin="direct", held_out=False, key="k1")
    fields: dict[str, Any] = {
        "kab_version": "0.1.0",
        "created": "2026-01-01T00:00:00Z",
        "finished": None,
        "state": RunState.RUNNING,
        "command": ("kab", "evaluate"),
        "fingerprint": "f",
        "suite_name": "smoke",
        "suite_sha256": "s",
        "settings": {"selection": {"suite": "smoke"}},
        "device": {"kind": "cpu", "name": "cpu", "interpreter": True},
        "selection": (SelectedOperator(op_name="relu.default", kind="value", cases=(case,)),),
        "kernels": {"relu.default": KernelFile(path="a.py", sha256="ab")},
    }
    return RunFile(**{**fields, **changes})


def test_records_survive_reopening(tmp_path: Path) -> None:
    """What was appended is known to the next process, by key."""
    with ResultsStore.open(tmp_path / "run") as store:
        store.append(make_record("k1"))
        store.append(make_record("k2", status=CaseStatus.FAILED, reason="wrong"))
    with ResultsStore.open(tmp_path / "run") as store:
        assert ["k1", "k2"] == list(store.known)
        assert make_record("k1") == store.known["k1"]


def test_a_torn_last_line_is_healed(tmp_path: Path) -> None:
    """A half-written line is ignored, cut off, and does not spoil the next record."""
    with ResultsStore.open(tmp_path) as store:
        store.append(make_record("k1"))
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(b'{"key": "k2", "op_na')
    assert (make_record("k1"),) == read_records(tmp_path)
    with ResultsStore.open(tmp_path) as store:
        store.append(make_record("k3"))
    assert ["k1", "k3"] == [record.key for record in read_records(tmp_path)]


@given(cut=st.integers(min_value=0))
def test_any_cut_loses_at_most_one_record(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """Whichever byte a crash ends the file at, all whole lines before it are kept."""
    folder = tmp_path_factory.mktemp("run")
    with ResultsStore.open(folder) as store:
        for number in range(3):
            store.append(make_record(f"k{number}"))
    path = folder / "results.jsonl"
    content = path.read_bytes()[: cut % (path.stat().st_size + 1)]
    path.write_bytes(content)
    with ResultsStore.open(folder) as store:
        assert content.count(b"\n") == len(store.known)
        store.append(make_record("last"))
    assert content.count(b"\n") + 1 == len(read_records(folder))


def test_a_corrupt_middle_line_is_named(tmp_path: Path) -> None:
    """A broken whole line is an error that names file and line."""
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"results\.jsonl, line 1"):
        read_records(tmp_path)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """Two processes never write to one run folder; the message names it."""
    code = (
        "import sys; from pathlib import Path; from kagent_bench.stores.results import ResultsStore\n"
        "store = ResultsStore.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert "open\n" == other.stdout.readline()
        with pytest.raises(UsageError, match=r"another process is using .*\.lock"):
            ResultsStore.open(tmp_path)
        other.kill()
        other.wait()
        ResultsStore.open(tmp_path).close()


def test_reading_takes_no_lock(tmp_path: Path) -> None:
    """A report can be made while the run goes on."""
    with ResultsStore.open(tmp_path) as store:
        store.write_run(make_run())
        store.append(make_record())
        assert make_run() == read_run(tmp_path)
        assert (make_record(),) == read_records(tmp_path)


def test_threads_never_mix_lines(tmp_path: Path) -> None:
    """Records appended by several threads are all whole."""
    with ResultsStore.open(tmp_path) as store:

        def work(worker: int) -> None:
            for number in range(50):
                store.append(make_record(f"{worker}-{number}", detail="x" * 500))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 200 == len({record.key for record in read_records(tmp_path)})


def test_the_seed_is_private_and_stays(tmp_path: Path) -> None:
    """The run's secret is drawn once, readable by its owner only, and the same after reopening."""
    with ResultsStore.open(tmp_path) as store:
        seed = store.seed
    assert 32 == len(seed)
    assert 0o600 == stat.S_IMODE((tmp_path / "secret").stat().st_mode)
    with ResultsStore.open(tmp_path) as store:
        assert seed == store.seed


def test_results_without_their_seed_are_refused(tmp_path: Path) -> None:
    """Results whose inputs cannot be made again are not gone on with."""
    with ResultsStore.open(tmp_path) as store:
        store.append(make_record())
    (tmp_path / "secret").unlink()
    with pytest.raises(InputError, match="secret is missing"):
        ResultsStore.open(tmp_path)


def test_appending_to_a_closed_store_fails(tmp_path: Path) -> None:
    """A record is never lost silently."""
    store = ResultsStore.open(tmp_path)
    store.close()
    with pytest.raises(HarnessFault, match="closed"):
        store.append(make_record())


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing write is a harness fault, and the file ends with a whole line."""
    import os

    real = os.write
    with ResultsStore.open(tmp_path) as store:
        store.append(make_record("k1"))
        answers = iter([10])

        def write(descriptor: int, data: bytes) -> int:
            for limit in answers:
                return real(descriptor, bytes(data)[:limit])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", write)
        with pytest.raises(HarnessFault, match="No space left"):
            store.append(make_record("k2"))
    assert ["k1"] == [record.key for record in read_records(tmp_path)]
    assert (tmp_path / "results.jsonl").read_bytes().endswith(b"\n")


def test_an_unknown_schema_is_refused(tmp_path: Path) -> None:
    """A run of another version is an error that says which."""
    data = {**make_run().to_json(), "schema_version": 99}
    (tmp_path / "run.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="schema version 99"):
        read_run(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"schema_version": 1}'])
def test_a_broken_run_file_is_named(tmp_path: Path, content: str) -> None:
    """A run file that is not one is an error that names it."""
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json"):
        read_run(tmp_path)


def test_the_run_file_round_trips(tmp_path: Path) -> None:
    """``run.json`` gives back what was written, without a temporary file left behind."""
    run = make_run(state=RunState.FINISHED, finished="2026-01-01T00:01:00Z", warnings=("w",))
    with ResultsStore.open(tmp_path) as store:
        store.write_run(run)
    assert run == read_run(tmp_path)
    assert {".lock", "results.jsonl", "run.json", "secret"} == {path.name for path in tmp_path.iterdir()}


@given(value=st.floats(width=64) | st.none())
def test_any_error_size_round_trips(value: float | None) -> None:
    """Infinities and NaN are stored as valid JSON and come back."""
    text = json.dumps(make_record(max_abs_error=value).to_json(), allow_nan=False)
    read = CaseRecord.from_json(json.loads(text)).max_abs_error
    assert value == read or (
        value is not None and read is not None and math.isnan(value) and math.isnan(read)
    )


def test_a_killed_process_loses_nothing_that_it_stored(tmp_path: Path) -> None:
    """After SIGKILL in the middle of appending, every announced record is there and the folder is free."""
    code = """
import sys
from pathlib import Path
from kagent_bench.model.record import CaseRecord
from kagent_bench.stores.results import ResultsStore
record = CaseRecord.from_json(__import__("json").loads(sys.argv[2]))
from dataclasses import replace
with ResultsStore.open(Path(sys.argv[1])) as store:
    number = 0
    while True:
        store.append(replace(record, key=f"k{number}"))
        print(f"k{number}", flush=True)
        number += 1
"""
    record = json.dumps(make_record(detail="x" * 2000).to_json())
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), record], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        announced = [process.stdout.readline().strip() for _ in range(50)]
        process.kill()
        process.wait()
    with ResultsStore.open(tmp_path) as store:
        assert set(announced) <= set(store.known)
        store.append(make_record("next"))
    assert "next" == read_records(tmp_path)[-1].key
