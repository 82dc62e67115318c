"""What a receiver must remember: the highest fencing token of each schedule, and the firings that it has done.

Two things go wrong with every sender that tries again. The same firing arrives twice, since an answer was lost: the second
time it is not done. And a sender that was stopped for a minute wakes up and sends what another has sent since: its fencing
token is older than one already seen, and it is refused.

This one remembers in a file, for one process. Where the work is a write to a database, keep both there and in the same
transaction as the work: then there is no moment in which one is written and the other not.

The tokens of a schedule fence its firings against each other. That is what you want of a schedule that does not overlap
itself (`overlap`: `skip`, `queue_one`, `queue_all`, `replace`, `terminate`). With `allow`, two firings may be on their way
at once and overtake each other; then fence by firing: pass the firing where `admit` asks for the schedule.
"""

import json
import os
import threading
from enum import Enum
from pathlib import Path

REMEMBERED = 1_000
"""Firings remembered as done, the oldest forgotten first. More than can be on their way, at 60 bytes each."""


class Verdict(Enum):
    """What to do with a delivery."""

    NEW = "new"
    """Do it, then say `finish` or `forget`."""
    DONE = "done"
    """It was done: answer as if it had been done now."""
    IN_HAND = "in_hand"
    """Another thread is at it: 503, so that the sender asks again later."""
    STALE = "stale"
    """A newer token has been seen: 409. The sender has lost its right and nobody waits for its answer."""


class Gate:
    """Lets each firing through once, and no sender that was overtaken. Threads share it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._in_hand: set[str] = set()
        held = json.loads(file.read_text()) if file.exists() else {"tokens": {}, "done": []}
        self._tokens: dict[str, int] = held["tokens"]
        # A dict keeps the order of arrival, which a set does not.
        self._done: dict[str, None] = dict.fromkeys(held["done"])

    def admit(self, schedule: str, firing: str, fencing_token: int) -> Verdict:
        """Judges a delivery, and takes it in hand when it is new.

        `firing` must be the signed `webhook-id`. It is looked at first: a recorded delivery, repeated with a token
        made up to be the highest, then moves nothing.
        """
        with self._lock:
            if firing in self._done:
                return Verdict.DONE
            if fencing_token < self._tokens.get(schedule, 0):
                return Verdict.STALE
            if firing in self._in_hand:
                return Verdict.IN_HAND
            self._tokens[schedule] = fencing_token
            # On disk before the work begins: a restart must not make an old sender acceptable again.
            self._write()
            self._in_hand.add(firing)
            return Verdict.NEW

    def finish(self, firing: str) -> None:
        """It is done, and must not be done again."""
        with self._lock:
            self._done[firing] = None
            while len(self._done) > REMEMBERED:
                del self._done[next(iter(self._done))]
            self._write()
            self._in_hand.discard(firing)

    def forget(self, firing: str) -> None:
        """It could not be done: the next attempt may try."""
        with self._lock:
            self._in_hand.discard(firing)

    def _write(self) -> None:
        """Whole or not at all: written beside, synced, renamed."""
        beside = self._file.with_suffix(".new")
        with beside.open("w") as out:
            json.dump({"tokens": self._tokens, "done": list(self._done)}, out)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(self._file)
