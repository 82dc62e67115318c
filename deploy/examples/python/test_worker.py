"""The worker against a cluster that is played: what it says when, and what it no longer says once it has lost its lease."""

import io
import json
import threading
import time
import unittest
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import worker
from cluster import Cluster, Problem, Unreachable
from lease import KEPT, Granted, Lease, tail
from worker import Options, Retry, Worker

GRANTED = {
    "lease": "lse_1", "firing": "frg_a", "schedule": "a/b", "uid": "u", "revision": 1, "queue": "batch",
    "nominal": "2026-01-01T00:00:00Z", "run": 0, "kind": "scheduled", "cause": None, "attempt": 1, "fencing_token": 7,
    "begun_at": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:01:00Z", "deadline": "2026-01-01T00:15:00Z",
    "traceparent": "00-1-1-01", "labels": {}, "payload": {"n": 1},
}
LOST = (409, {"code": "lease_lost", "detail": "another attempt began"})
KEPT_ON = (200, {"until": "", "deadline": "", "stop": False})
STOP = (200, {"until": "", "deadline": "", "stop": True})
SETTLED = (200, {"firing": "frg_a", "attempt": 1, "state": "as settled", "retry_at": None})
UNAVAILABLE = (503, {"code": "no_quorum"})
WITHIN = 30.0
TTL = 1.5
"""Seconds. Three heartbeats in it leave half a second each for a busy machine."""

Answer = tuple[int, Any]


class Played(ThreadingHTTPServer):
    """A node that answers each verb with the next of its answers, and with the last of them for ever."""

    daemon_threads = True

    def __init__(self, answers: dict[str, list[Answer]]) -> None:
        super().__init__(("127.0.0.1", 0), Node)
        self.answers = answers
        self.slow: dict[str, float] = {}
        """Seconds that a verb takes to be answered."""
        self.said: list[tuple[str, dict[str, Any], str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def bodies(self, verb: str) -> list[dict[str, Any]]:
        return [body for said, body, _ in self.said if said == verb]

    def keys(self, verb: str) -> list[str]:
        return [key for said, _, key in self.said if said == verb]


class Node(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Played)
        verb = self.path.rpartition("/")[2]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(self.server.slow.get(verb, 0))
        self.server.said.append((verb, body, self.headers["idempotency-key"]))
        answers = self.server.answers[verb]
        status, answer = answers.pop(0) if len(answers) > 1 else answers[0]
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


class Workers(unittest.TestCase):
    def play(self, **answers: list[Answer]) -> Played:
        usual: dict[str, list[Answer]] = {
            "lease": [(200, [GRANTED]), (200, [])], "heartbeat": [KEPT_ON], "settle": [SETTLED],
        }
        node = Played(usual | answers)
        self.addCleanup(node.server_close)
        self.addCleanup(node.shutdown)
        return node

    def run_worker(self, work: Callable[[Granted, Lease], str], *nodes: str, ttl: float = TTL) -> str:
        """Until it has asked for a second lease; what it complained of."""
        it = Worker(Cluster(list(nodes), "t"), Options("batch", "host/1", ttl, 0.0))
        heard = io.StringIO()

        def work_once(granted: Granted, lease: Lease) -> str:
            it.drain.set()
            return work(granted, lease)

        with mock.patch.object(worker, "work", work_once), redirect_stderr(heard), redirect_stdout(io.StringIO()):
            thread = threading.Thread(target=it.run)
            thread.start()
            thread.join(WITHIN)
        self.assertFalse(thread.is_alive(), "it drains")
        return heard.getvalue()

    def test_what_succeeds_is_settled_with_its_output(self) -> None:
        node = self.play()
        self.run_worker(lambda granted, _: f"did {granted['payload']}", node.url)
        self.assertEqual(node.bodies("lease")[0], {"worker": "host/1", "max": 1, "ttl": "1500ms", "wait": "0ms"})
        expected = {"outcome": "succeeded", "output": "did {'n': 1}", "error": "", "retry_after": None}
        self.assertEqual(node.bodies("settle"), [expected])

    def test_an_exception_fails_and_retry_says_when(self) -> None:
        for error, outcome, after in [(OSError("no"), "failed", None), (Retry("not now", "30s"), "retry", "30s")]:
            with self.subTest(outcome):
                node = self.play()
                self.run_worker(mock.Mock(side_effect=error), node.url)
                said = node.bodies("settle")[0]
                self.assertEqual((said["outcome"], said["retry_after"]), (outcome, after))

    def test_heartbeats_keep_a_lease_beyond_its_ttl(self) -> None:
        node = self.play()

        def long_work(_: Granted, lease: Lease) -> str:
            until = time.monotonic() + 1.2 * TTL
            while time.monotonic() < until:
                lease.check()
                time.sleep(0.005)
            return ""

        self.run_worker(long_work, node.url)
        self.assertEqual(node.bodies("settle")[0]["outcome"], "succeeded")

    def test_who_is_asked_to_stop_settles_as_cancelled(self) -> None:
        node = self.play(heartbeat=[KEPT_ON, STOP])
        self.run_worker(until_stopped, node.url)
        self.assertEqual([body["outcome"] for body in node.bodies("settle")], ["cancelled"])

    def test_who_has_lost_the_lease_stops_and_says_nothing(self) -> None:
        node = self.play(heartbeat=[LOST])
        complaint = self.run_worker(until_stopped, node.url)
        self.assertEqual(node.bodies("settle"), [])
        self.assertIn("lease is lost", complaint)

    def test_who_hears_nothing_counts_the_lease_down_by_itself(self) -> None:
        node = self.play(heartbeat=[UNAVAILABLE])
        began = time.monotonic()
        self.run_worker(until_stopped, node.url, ttl=0.3)
        self.assertGreaterEqual(time.monotonic() - began, 0.3)
        self.assertEqual(node.bodies("settle"), [])

    def test_a_lease_is_counted_from_before_it_was_asked_for(self) -> None:
        node = self.play(heartbeat=[UNAVAILABLE])
        node.slow["lease"] = TTL * 2 / 3
        worked: list[float] = []

        def timed(granted: Granted, lease: Lease) -> str:
            began = time.monotonic()
            try:
                return until_stopped(granted, lease)
            finally:
                worked.append(time.monotonic() - began)

        self.run_worker(timed, node.url)
        self.assertLess(worked[0], TTL * 2 / 3, "the last third, not a ttl from the answer on")

    def test_no_heartbeat_carries_a_lease_beyond_its_deadline(self) -> None:
        short = {**GRANTED, "deadline": "2026-01-01T00:00:02Z"}
        node = self.play(lease=[(200, [short]), (200, [])])
        began = time.monotonic()
        self.run_worker(until_stopped, node.url)
        self.assertEqual(node.bodies("settle"), [])
        self.assertGreaterEqual(time.monotonic() - began, 2, "but it does carry it up to there")

    def test_a_settle_that_comes_too_late_is_a_complaint_and_no_crash(self) -> None:
        node = self.play(settle=[LOST])
        self.assertIn("lease_lost", self.run_worker(lambda *_: "", node.url))

    def test_an_answer_that_was_lost_is_asked_for_again_with_the_same_key_on_the_next_node(self) -> None:
        first, second = self.play(settle=[UNAVAILABLE]), self.play(lease=[(200, [])])
        self.run_worker(lambda *_: "", first.url, second.url, ttl=WITHIN)
        self.assertEqual(len(first.bodies("settle")), 1)
        self.assertEqual(first.keys("settle"), second.keys("settle"))

    def test_a_node_that_is_down_is_passed_over(self) -> None:
        down = self.play()
        down.shutdown()
        down.server_close()
        up = self.play()
        self.run_worker(lambda *_: "", down.url, up.url, ttl=WITHIN)
        self.assertEqual(len(up.bodies("settle")), 1)

    def test_a_wrong_token_ends_the_worker(self) -> None:
        node = self.play(lease=[(401, {"code": "unauthenticated", "detail": "no such token"})])
        it = Worker(Cluster([node.url], "wrong"), Options("batch", "host/1", 5, 0))
        it.run()
        self.assertIsInstance(it.refused, Problem)
        self.assertEqual(str(it.refused), "401 unauthenticated: no such token")

    def test_patience_ends_at_the_instant_that_was_named(self) -> None:
        node = self.play(lease=[UNAVAILABLE])
        with self.assertRaises(Unreachable):
            Cluster([node.url], None).post("/lease", {}, time.monotonic() + 0.2)
        self.assertGreater(len(set(node.keys("lease"))), 0)
        self.assertEqual(len(set(node.keys("lease"))), 1, "all tries are one request")


class Outputs(unittest.TestCase):
    def test_the_tail_ends_at_the_bound_and_cuts_no_character(self) -> None:
        self.assertEqual(tail("short"), "short")
        long = "é" * KEPT
        self.assertEqual(tail("x" + long + "y"), "é" * (KEPT // 2 - 1) + "y")


def until_stopped(_: Granted, lease: Lease) -> str:
    """Work that only ends when it must."""
    until = time.monotonic() + WITHIN
    while time.monotonic() < until:
        lease.check()
        time.sleep(0.005)
    return "was never stopped"
