"""The local executor: a thread for each worker of this machine, each with processes of its own."""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kagent_bench.hooks.protocols import JobT, ResultT


class LocalExecutor:
    """Runs jobs on this machine."""

    def map(
        self, work: Callable[[int, JobT], ResultT], jobs: Iterable[JobT], *, n_workers: int
    ) -> Iterator[ResultT]:
        """Run ``work(worker_index, job)`` for every job; see ``hooks.protocols.Executor``."""
        free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for worker in range(n_workers):
            free.put(worker)

        def run(job: JobT) -> ResultT:
            worker = free.get()
            try:
                return work(worker, job)
            finally:
                free.put(worker)

        pool = ThreadPoolExecutor(max_workers=n_workers, thread_name_prefix="kab-worker")
        try:
            for future in as_completed([pool.submit(run, job) for job in jobs]):
                yield future.result()
        finally:
            # A running job is not waited for: its processes are stopped by whoever owns them.
            pool.shutdown(wait=False, cancel_futures=True)
