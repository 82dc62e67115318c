"""The gate against the table that the TypeScript example is held to as well, and the receiver over a real socket."""

import http.client
import json
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import receiver
from gate import REMEMBERED, Gate, Verdict
from receiver import Receiver
from signature import sign

VECTORS = json.loads((Path(__file__).parent.parent / "vectors.json").read_text())
KEY = b"a key of a test"


class Gates(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "gate.json"

    def test_the_table_of_the_gate(self) -> None:
        for case in VECTORS["gate"]:
            self.file.unlink(missing_ok=True)
            gate = Gate(self.file)
            for number, step in enumerate(case["steps"]):
                with self.subTest(case["name"], step=number):
                    verdict = gate.admit(step["schedule"], step["firing"], step["fencing_token"])
                    self.assertEqual(verdict, Verdict(step["verdict"]))
                if then := step.get("then"):
                    getattr(gate, then)(step["firing"])

    def test_a_restart_forgets_neither_tokens_nor_firings(self) -> None:
        before = Gate(self.file)
        before.admit("a/b", "frg_a", 20)
        before.finish("frg_a")
        before.admit("a/b", "frg_b", 21)
        after = Gate(self.file)
        self.assertEqual(after.admit("a/b", "frg_a", 22), Verdict.DONE)
        self.assertEqual(after.admit("a/b", "frg_b", 20), Verdict.STALE)
        self.assertEqual(after.admit("a/b", "frg_b", 22), Verdict.NEW, "it was in hand, not done")

    def test_what_is_remembered_has_a_bound(self) -> None:
        self.file.write_text(json.dumps({"tokens": {}, "done": [f"frg_{number}" for number in range(REMEMBERED)]}))
        gate = Gate(self.file)
        for firing in ["frg_x", "frg_y"]:
            gate.admit("a/b", firing, 1)
            gate.finish(firing)
        self.assertEqual(gate.admit("a/b", "frg_2", 9_999), Verdict.DONE)
        self.assertEqual(gate.admit("a/b", "frg_1", 9_999), Verdict.NEW, "the oldest are forgotten")


class Receivers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.server = Receiver(("127.0.0.1", 0), [KEY], Gate(Path(folder.name) / "gate.json"))
        threading.Thread(target=self.server.serve_forever, args=(0.01,)).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.work = self.enterContext(mock.patch.object(receiver, "work"))
        self.connection = http.client.HTTPConnection(*self.server.server_address)
        self.addCleanup(self.connection.close)

    def deliver(
        self, firing: str, token: int, body: bytes = b"{}", sent: bytes | None = None, more: dict[str, str] | None = None
    ) -> int:
        stamp = int(time.time())
        headers = {
            "webhook-id": firing, "webhook-timestamp": str(stamp), "webhook-signature": sign(KEY, firing, stamp, body),
            "idempotency-key": firing, "campanile-firing": firing, "campanile-schedule": "a/b",
            "campanile-nominal": "2026-01-01T00:00:00Z", "campanile-attempt": "1", "campanile-fencing-token": str(token),
        }
        headers.update(more or {})
        # One connection for all: an answer that left bytes behind would spoil the next.
        self.connection.request("POST", "/hook", body if sent is None else sent, headers)
        with self.connection.getresponse() as response:
            response.read()
            return response.status

    def deliver_beside(self, firing: str, token: int) -> int:
        """The same over a connection of its own."""
        used, self.connection = self.connection, http.client.HTTPConnection(*self.server.server_address)
        try:
            return self.deliver(firing, token)
        finally:
            self.connection.close()
            self.connection = used

    def test_a_firing_is_done_once_however_often_it_comes(self) -> None:
        self.assertEqual([self.deliver("frg_a", token) for token in (1, 1, 2)], [204, 204, 204])
        self.assertEqual(self.work.call_count, 1)

    def test_a_body_that_was_tampered_with_is_401_and_not_done(self) -> None:
        self.assertEqual(self.deliver("frg_a", 1, b'{"pay": 1}', b'{"pay": 9}'), 401)
        self.assertEqual(self.deliver("frg_a", 1, more={"campanile-firing": "frg_b"}), 400)
        self.assertEqual(self.deliver("frg_a", 1, more={"idempotency-key": "frg_b"}), 400)
        self.work.assert_not_called()

    def test_an_older_token_is_409(self) -> None:
        self.assertEqual([self.deliver("frg_b", 20), self.deliver("frg_a", 10)], [204, 409])

    def test_work_that_failed_is_500_and_done_by_the_next_attempt(self) -> None:
        self.work.side_effect = [OSError("the disk is full"), None]
        with mock.patch("sys.stderr"):
            self.assertEqual([self.deliver("frg_a", 1), self.deliver("frg_a", 2)], [500, 204])

    def test_a_firing_that_is_being_done_is_503(self) -> None:
        statuses: list[int] = []
        # The second attempt comes while the work of the first goes on.
        self.work.side_effect = lambda _: statuses.append(self.deliver_beside("frg_a", 2))
        self.assertEqual(self.deliver("frg_a", 1), 204)
        self.assertEqual(statuses, [503])
        self.assertEqual(self.work.call_count, 1)

    def test_what_is_no_delivery_is_refused(self) -> None:
        for name, value in {
            "campanile-fencing-token": str(2**53), "campanile-attempt": "one", "campanile-schedule": "",
        }.items():
            with self.subTest(name):
                self.assertEqual(self.deliver("frg_a", 1, more={name: value}), 400)
        self.assertEqual(self.deliver("frg_a", 1, b"{no json"), 400)
        self.assertEqual(self.deliver("frg_a", 1, b""), 204, "a schedule need not have a payload")

    def test_a_body_without_end_is_refused_before_it_is_read(self) -> None:
        self.connection.request("POST", "/", headers={"content-length": str(10**12)})
        self.assertEqual(self.connection.getresponse().status, 413)
