"""Timing on a GPU: tricks with clocks, streams and repeated calls are told, honest look-alikes are timed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kagent_bench.report.speed import speed_of
from tests.benchmarks.timing_side_by_side import Bench, bench, tensor_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.evaluate.timing.conductor import TimingOutcome
    from kagent_bench.model.case import Case

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]
_PROBE = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
ELEMENTS = 48 << 20
"""Single precision elements: about 100 us of a large card, far above what launching costs."""
CASE = tensor_case("relu.default", [(ELEMENTS,)], "float32")
_HONEST = """import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=inside)


def _relu(x, y=None):
    y = torch.empty_like(x) if y is None else y
    _kernel[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096)
    return y


"""
CHEATS = {
    "elapsed_time_divided": """_true = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, end: _true(self, end) / 20


def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "elapsed_time_constant": """torch.cuda.Event.elapsed_time = lambda self, end: 0.005


def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "events_recorded_late": """_true = torch.cuda.Event.record
_waiting = []


def _record(self, *args):
    if _waiting:
        _true(_waiting.pop(), *args)
        return _true(self, *args)
    _waiting.append(self)


torch.cuda.Event.record = _record


def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "side_stream": """_stream = torch.cuda.Stream()


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    with torch.cuda.stream(_stream):
        _relu(x, y)
    return y
""",
    "streams_left_current": """_streams = [torch.cuda.Stream(), torch.cuda.Stream()]


def relu__default_kernel_impl(x):
    _streams.reverse()
    torch.cuda.set_stream(_streams[0])
    return _relu(x)
""",
    "thread": """import threading


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    threading.Thread(target=lambda: (torch.cuda.set_device(x.device), _relu(x, y))).start()
    return y
""",
    "one_launch_for_all_calls": """_owed = []


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _owed.append((x, y))
    if len(_owed) % 4 == 0:
        for given, out in _owed:
            _relu(given, out)
        _owed.clear()
    return y
""",
    "honest_only_at_first": """_calls = 0
_last = None


def relu__default_kernel_impl(x):
    global _calls, _last
    _calls += 1
    if _calls < 4:
        _last = _relu(x)
    return _last
""",
    "remembered_by_pointer": """_known = {}


def relu__default_kernel_impl(x):
    if x.data_ptr() not in _known:
        _known[x.data_ptr()] = _relu(x)
    return _known[x.data_ptr()]
""",
    "graph_of_old_contents": """_graph = None


def relu__default_kernel_impl(x):
    global _graph, _given, _out
    if _graph is None:
        _given, _out = x.clone(), torch.empty_like(x)
        _relu(_given, _out)
        torch.cuda.synchronize()
        _graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(_graph):
            _relu(_given, _out)
    _graph.replay()
    return _out
""",
    "nothing": """def relu__default_kernel_impl(x):
    return torch.empty_like(x)
""",
    "cheap_after_the_first_turn": """_calls = 0


def relu__default_kernel_impl(x):
    global _calls
    _calls += 1
    if _calls < 20:
        return _relu(x)
    y = torch.empty_like(x)
    half = x.numel() // 2
    _relu(x[:half], y[:half])
    return y
""",
}
HONEST = {
    "plain": """def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "graph_that_recomputes": """_graphs = {}


def relu__default_kernel_impl(x):
    if x.data_ptr() not in _graphs:
        out = torch.empty_like(x)
        _relu(x, out)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            _relu(x, out)
        _graphs[x.data_ptr()] = graph, out
    graph, out = _graphs[x.data_ptr()]
    graph.replay()
    return out
""",
    "joined_stream": """_stream = torch.cuda.Stream()


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_stream):
        _relu(x, y)
    torch.cuda.current_stream().wait_stream(_stream)
    return y
""",
    "autotuned": """@triton.autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 8192})], key=["n"])
@triton.jit
def _tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=at < n)


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
""",
    "output_buffer_rewritten": """_out = {}


def relu__default_kernel_impl(x):
    if x.shape not in _out:
        _out[x.shape] = torch.empty_like(x)
    return _relu(x, _out[x.shape])
""",
    "keeps_lines_in_cache": """@triton.jit
def _sticky(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, eviction_policy="evict_last")
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=at < n)


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _sticky[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096)
    return y
""",
    "slow_first_call": """import time

_calls = 0


def relu__default_kernel_impl(x):
    global _calls
    _calls += 1
    if _calls == 1:
        time.sleep(2)
    return _relu(x)
""",
}
BUSY = """import threading
import time

_called = [0.0]
_threads = []


def _keep_busy(device):
    torch.cuda.set_device(device)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        while True:
            if time.perf_counter() - _called[0] > 4e-4:
                torch.cuda._sleep({cycles})
                stream.synchronize()
            else:
                time.sleep(5e-5)


def relu__default_kernel_impl(x):
    if not _threads:
        _threads.append(threading.Thread(target=_keep_busy, args=(x.device,), daemon=True))
        _threads[0].start()
    y = _relu(x)
    _called[0] = time.perf_counter()
    return y
"""
"""A kernel whose thread keeps the device busy while nothing is asked of it: in eager's turns."""
PERSISTING = """import ctypes


class _Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("n_bytes", ctypes.c_size_t),
        ("hit_ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
        ("padding", ctypes.c_char * 36),
    ]


def relu__default_kernel_impl(x):
    driver = ctypes.CDLL("libcuda.so.1")
    limit = ctypes.c_size_t()
    assert driver.cuCtxGetLimit(ctypes.byref(limit), ctypes.c_int(6)) == 0
    if limit.value == 0:
        assert driver.cuCtxSetLimit(ctypes.c_int(6), ctypes.c_size_t(32 << 20)) == 0
        window = _Window(x.data_ptr(), x.numel() * 4, 1.0, 2, 0)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        assert driver.cuStreamSetAttribute(stream, ctypes.c_int(1), ctypes.byref(window)) == 0
    return _relu(x)
"""
"""A kernel that asks for its input to stay in the last-level cache from call to call."""
FITS_IN_CACHE = tensor_case("relu.default", [(4 << 20,)], "float32")
FASTEST, SLOWEST = 0.7, 1.6
"""Between which an honest relu that reads and writes everything once lies, against eager's."""


@pytest.fixture(scope="module")
def session() -> Iterator[Bench]:
    """Start the evaluator on the device."""
    if subprocess.run([sys.executable, "-c", _PROBE], check=False).returncode:
        pytest.skip("no CUDA device")
    with bench() as started:
        yield started


def _time(session: Bench, source: str, case: Case = CASE) -> TimingOutcome:
    (timed,) = session.times(case, _HONEST + source, 1)
    return timed.outcome


def _ratio(session: Bench, source: str, case: Case) -> float:
    """Return the speedup over eager; 0 for a kernel that is told for what it is."""
    outcome = _time(session, source, case)
    if outcome.status:
        return 0.0
    assert outcome.timing is not None, outcome.untimed
    speed = speed_of(outcome.timing)
    assert speed.ratio is not None
    return speed.ratio.value


@pytest.mark.parametrize("name", CHEATS)
def test_a_trick_gives_no_time(session: Bench, name: str) -> None:
    """What a kernel does to clocks and calls ends it, or changes nothing for the better."""
    outcome = _time(session, CHEATS[name])
    assert outcome.status in {"rejected", "failed"}, outcome


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_is_timed(session: Bench, name: str) -> None:
    """Graphs, streams that are joined, autotuning and caches of memory get their true time."""
    outcome = _time(session, HONEST[name])
    assert outcome.status == "", outcome
    assert outcome.timing is not None, outcome.untimed
    speed = speed_of(outcome.timing)
    assert speed.ratio is not None
    assert FASTEST < speed.ratio.value < SLOWEST
    assert "implausible" not in speed.notes


@pytest.mark.parametrize("cycles", [100_000, 4_000_000, 20_000_000])
def test_keeping_the_device_busy_in_eagers_turns_gains_nothing(session: Bench, cycles: int) -> None:
    """Two processes' kernels do not run at the same time, and a slice of time does not end within a short call."""
    honest = _ratio(session, HONEST["plain"], FITS_IN_CACHE)
    assert _ratio(session, BUSY.format(cycles=cycles), FITS_IN_CACHE) < 1.05 * honest


def test_lines_that_were_made_to_persist_are_emptied_from_the_cache(session: Bench) -> None:
    """An input that stays in the cache from call to call would be read at several times the memory's speed."""
    honest = _ratio(session, HONEST["plain"], FITS_IN_CACHE)
    assert 0.8 * honest < _ratio(session, PERSISTING, FITS_IN_CACHE) < 1.1 * honest
