"""A lease in hand: kept by heartbeats, counted by the holder's own clock, settled once.

The holder counts on its monotonic clock, from before it asked. So it always believes that its lease ends a little earlier
than the cluster does, and stops before another may begin. Wall clocks, which people and NTP move, decide nothing here.

    asked ──────▶ granted       ttl after "asked" the lease is lost …
                      beat ──────▶ 200        … unless a heartbeat is answered; then ttl after that was sent …
                                                                       … and never after the deadline
"""

import threading
import time
from datetime import datetime
from typing import Any, Self, TypedDict

from cluster import Cluster, Problem, Unreachable

KEPT = 16 * 1024
"""Bytes of an output, and of an error, that the cluster keeps: the last ones."""


class Granted(TypedDict):
    """A lease as the cluster grants it."""

    lease: str
    firing: str
    schedule: str
    uid: str
    revision: int
    queue: str
    nominal: str
    run: int
    kind: str
    cause: str | None
    attempt: int
    fencing_token: int
    """Give it to whatever the work writes to, and let that refuse an older one."""
    begun_at: str
    until: str
    deadline: str
    traceparent: str
    labels: dict[str, str]
    payload: Any


class Stopped(Exception):
    """The work must stop: somebody asked for it, or the lease is lost and another may have begun."""


class Lost(Exception):
    """The lease was not ours any more; what was done under it counts for nothing."""


class Lease:
    """One lease and the thread that keeps it."""

    def __init__(self, cluster: Cluster, granted: Granted, asked_at: float, ttl: float) -> None:
        self.granted = granted
        self.firing = granted["firing"]
        self._cluster = cluster
        self._ttl = ttl
        # Two instants of the cluster's clock: their distance holds on ours as well.
        whole = datetime.fromisoformat(granted["deadline"]) - datetime.fromisoformat(granted["begun_at"])
        self._deadline = asked_at + whole.total_seconds()
        self._sent = asked_at
        self._lost: str | None = None
        self._stop_asked = False
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A heartbeat may be waiting for its answer; nobody needs that any more, so nobody waits for it.
        self._over.set()

    def ends(self) -> float:
        """When it is lost, on the monotonic clock, if nothing more is heard."""
        return min(self._sent + self._ttl, self._deadline)

    def lost(self) -> str | None:
        """Why it is lost, if it is. The clock is asked each time: after a pause of this process nobody has told us yet."""
        return self._lost or ("its time is over" if time.monotonic() >= self.ends() else None)

    def check(self) -> None:
        """To be called by the work wherever it can stop.

        Raises `Stopped`. Work that cannot stop is wasted, since its outcome is refused; what it *writes* must be fenced.
        """
        if lost := self.lost():
            raise Stopped(f"the lease is lost: {lost}")
        if self._stop_asked:
            raise Stopped("asked to stop")

    def settle(self, outcome: str, output: str = "", error: str = "", retry_after: str | None = None) -> str:
        """Reports the outcome; the state of the firing now. Raises `Lost`."""
        if lost := self.lost():
            raise Lost(lost)
        body = {"outcome": outcome, "output": tail(output), "error": tail(error), "retry_after": retry_after}
        try:
            answer = self._cluster.post(self._path("settle"), body, until=self.ends())
            return str(answer["state"])
        except Problem as problem:
            if problem.code != "lease_lost":
                raise
            raise Lost(str(problem)) from None
        except Unreachable as unheard:
            raise Lost(f"settled perhaps: {unheard}") from None

    def _keep(self) -> None:
        """Heartbeats, three in a ttl, so that two may be lost. A long poll may have used up the first third already."""
        while not self._over.wait(max(0.0, self._sent + self._ttl / 3 - time.monotonic())):
            sent = time.monotonic()
            try:
                answer = self._cluster.post(self._path("heartbeat"), {"ttl": span(self._ttl)}, until=self.ends())
            except (Problem, Unreachable) as error:
                self._lost = str(error)
                return
            self._sent = sent
            self._stop_asked = self._stop_asked or answer["stop"]

    def _path(self, verb: str) -> str:
        return f"/v1/leases/{self.granted['lease']}/{verb}"


def span(seconds: float) -> str:
    """A duration as the cluster reads it."""
    return f"{round(seconds * 1000)}ms"


def tail(text: str) -> str:
    """The end of a text, within what is kept."""
    return text.encode(errors="replace")[-KEPT:].decode(errors="ignore")
