"""A worker of a queue: lease, heartbeat in the background, settle.

    python3 worker.py --queue batch --endpoint http://node1:7700 --endpoint http://node2:7700 --token-file admin.token

Change `work`. SIGTERM drains: what is in hand is finished and settled, nothing new is leased.
"""

import argparse
import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from cluster import PATIENCE, Cluster, Problem, Unreachable
from lease import Granted, Lease, Lost, Stopped, span


class Retry(Exception):
    """Raised by the work: not now. After `after` ("30s"), or after what the schedule's `retry` says."""

    def __init__(self, why: str, after: str | None = None) -> None:
        super().__init__(why)
        self.after = after


def work(granted: Granted, lease: Lease) -> str:
    """What this worker is for. Returns its output; an exception is a failure for good, `Retry` one that may pass.

    A firing may come again when an answer was lost: use `granted["firing"]` as the key of whatever must not be done twice,
    and `granted["fencing_token"]` against a holder that was overtaken.
    """
    lease.check()
    return f"{granted['schedule']} at {granted['nominal']}: {json.dumps(granted['payload'])}"


@dataclass(frozen=True)
class Options:
    """What a worker is told."""

    queue: str
    name: str
    ttl: float
    """Seconds after which a silent holder has lost its lease: how long a dead worker holds its firing up."""
    wait: float
    """Seconds of a long poll. They count against the first ttl, so less than half of it."""


class Worker:
    """Takes one firing after another. Each thread of `run` holds one lease at most."""

    def __init__(self, cluster: Cluster, options: Options) -> None:
        self._cluster = cluster
        self._options = options
        self.drain = threading.Event()
        self.refused: Problem | None = None
        """Why it gave up: a wrong token, a queue that is not there."""

    def run(self) -> None:
        while not self.drain.is_set():
            # Before the request: this is where the lease begins to be counted.
            asked_at = time.monotonic()
            try:
                for granted in self._lease(asked_at):
                    self._do(granted, asked_at)
            except Unreachable as error:
                complain(f"no node answers: {error}")
            except Problem as problem:
                self.refused = problem
                self.drain.set()

    def _lease(self, asked_at: float) -> list[Granted]:
        options = self._options
        body = {"worker": options.name, "max": 1, "ttl": span(options.ttl), "wait": span(options.wait)}
        # An answer later than a ttl would bring leases that are lost already.
        until = asked_at + options.ttl
        path = f"/v1/queues/{options.queue}/lease"
        granted: list[Granted] = self._cluster.post(path, body, until, options.wait + PATIENCE)
        return granted

    def _do(self, granted: Granted, asked_at: float) -> None:
        with Lease(self._cluster, granted, asked_at, self._options.ttl) as lease:
            try:
                state = self._settle(granted, lease)
            except Lost as lost:
                return complain(f"{lease.firing}: the lease is lost, the outcome is not ours to say: {lost}")
        said = {"firing": lease.firing, "nominal": granted["nominal"], "attempt": granted["attempt"], "state": state}
        print(json.dumps(said), flush=True)

    def _settle(self, granted: Granted, lease: Lease) -> str:
        try:
            output = work(granted, lease)
        except Stopped as stopped:
            return lease.settle("cancelled", error=str(stopped))
        except Retry as retry:
            return lease.settle("retry", error=str(retry), retry_after=retry.after)
        except Exception as error:
            return lease.settle("failed", error=repr(error))
        return lease.settle("succeeded", output)


def complain(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description="A worker of a Campanile queue.")
    options.add_argument("--queue", required=True)
    options.add_argument("--endpoint", action="append", required=True, help="a node; name all of them")
    options.add_argument("--token-file", type=Path)
    options.add_argument("--concurrency", type=int, default=1, help="firings at a time")
    options.add_argument("--ttl", type=float, default=60, help="seconds of a lease, 1 to 3600")
    options.add_argument("--wait", type=float, default=20, help="seconds of a long poll, 0 to 60")
    given = options.parse_args()
    if given.wait > given.ttl / 2:
        options.error("--wait must be at most half of --ttl: a lease is counted from before it was asked for")
    token = given.token_file.read_text().strip() if given.token_file else None
    name = f"{socket.gethostname()}/{os.getpid()}"
    worker = Worker(Cluster(given.endpoint, token), Options(given.queue, name, given.ttl, given.wait))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.drain.set())
    threads = [threading.Thread(target=worker.run) for _ in range(given.concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if worker.refused:
        sys.exit(f"refused: {worker.refused}")


if __name__ == "__main__":
    main()
