"""A receiver of Campanile's webhooks: verifies the signature, refuses stale senders, does each firing once.

    python3 receiver.py --listen 127.0.0.1:8080 --secret-file billing-hook.secret --state receiver.json

What it answers, and what the cluster makes of it:

    204  done, now or before                    the firing has succeeded
    400  not what Campanile sends               the firing has failed
    401  signature or timestamp are wrong       the firing has failed
    409  the fencing token is older             nothing: that sender has lost its right
    413  too long                               the firing has failed
    500  the work failed                        tried again, by the schedule's `retry`
    503  the same firing is being done          tried again, after `Retry-After`

Change `work`. It must end within the `timeout` of the schedule's webhook; what takes longer belongs in a queue (`worker.py`).
"""

import argparse
import json
import signal
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gate import Gate, Verdict
from signature import Refused, key, verify

LONGEST = 512 * 1024
"""Bytes of a body. Campanile's payloads end at 256 KiB."""
LARGEST_TOKEN = 2**53 - 1


@dataclass(frozen=True)
class Delivery:
    """A firing as it arrived."""

    firing: str
    schedule: str
    nominal: str
    """When it should have happened, not when it arrived."""
    attempt: int
    fencing_token: int
    payload: Any
    """The JSON of the schedule's payload; `None` without one."""


def work(delivery: Delivery) -> None:
    """What this receiver is for. An exception means: try it again later."""
    print(json.dumps({"firing": delivery.firing, "nominal": delivery.nominal, "attempt": delivery.attempt}), flush=True)


def read(webhook_id: str, headers: dict[str, str], body: bytes) -> Delivery:
    """The delivery in a genuine request; `ValueError` when it is none of Campanile's."""
    firing = headers.get("campanile-firing", "")
    # Only the id is signed; the two headers that repeat it must not say something else.
    if firing != webhook_id or headers.get("idempotency-key") != webhook_id:
        raise ValueError("the firing is not the one that was signed")
    schedule = headers.get("campanile-schedule", "")
    if not schedule:
        raise ValueError("no schedule")
    return Delivery(
        firing=firing,
        schedule=schedule,
        nominal=headers.get("campanile-nominal", ""),
        attempt=number(headers, "campanile-attempt"),
        fencing_token=number(headers, "campanile-fencing-token"),
        payload=json.loads(body) if body else None,
    )


def number(headers: dict[str, str], name: str) -> int:
    text = headers.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and int(text) <= LARGEST_TOKEN):
        raise ValueError(f"{name} is no number")
    return int(text)


class Receiver(ThreadingHTTPServer):
    """The server, with what all its connections share."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], keys: list[bytes], gate: Gate) -> None:
        super().__init__(address, Connection)
        self.keys = keys
        self.gate = gate

    def answer(self, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        """The status for a request, and a word for the log of the sender."""
        try:
            webhook_id = verify(self.keys, headers, body, time.time())
        except Refused:
            return 401, "not signed"
        try:
            delivery = read(webhook_id, headers, body)
        except ValueError as error:
            return 400, str(error)
        match self.gate.admit(delivery.schedule, delivery.firing, delivery.fencing_token):
            case Verdict.DONE:
                return 204, ""
            case Verdict.STALE:
                return 409, "a newer fencing token has been seen"
            case Verdict.IN_HAND:
                return 503, "this firing is being done"
            case Verdict.NEW:
                return self.do(delivery)

    def do(self, delivery: Delivery) -> tuple[int, str]:
        try:
            work(delivery)
        except Exception as error:
            self.gate.forget(delivery.firing)
            print(f"{delivery.firing}: {error!r}", file=sys.stderr, flush=True)
            return 500, "the work failed"
        self.gate.finish(delivery.firing)
        return 204, ""


class Connection(BaseHTTPRequestHandler):
    """One sender's connection. It stays open between firings, as the cluster likes it."""

    protocol_version = "HTTP/1.1"
    # A sender that begins a request and falls silent would hold a thread for ever.
    timeout = 60

    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            return self.reply(411, "say the length", keep=False)
        if len(length) > 9 or int(length) > LONGEST:
            return self.reply(413, "too long", keep=False)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return self.reply(400, "the body broke off", keep=False)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.reply(*self.server.answer(headers, body))

    # The method is the schedule's choice.
    do_PUT = do_PATCH = do_DELETE = do_GET = do_POST

    def reply(self, status: int, word: str, keep: bool = True) -> None:
        self.send_response(status)
        if status == 503:
            self.send_header("retry-after", "1")
        if not keep:
            self.send_header("connection", "close")
            self.close_connection = True
        if status != 204:
            self.send_header("content-type", "text/plain")
            self.send_header("content-length", str(len(word)))
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(word.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Silent: what was done is said by `work`."""


def main() -> None:
    options = argparse.ArgumentParser(description="A receiver of Campanile's webhooks.")
    options.add_argument("--listen", default="127.0.0.1:8080", help="host:port; port 0 takes a free one")
    options.add_argument("--secret-file", type=Path, action="append", required=True,
                         help="a whsec_ secret in each line; while one is replaced, both")
    options.add_argument("--state", type=Path, default=Path("receiver.json"), help="what it remembers")
    given = options.parse_args()
    host, _, port = given.listen.rpartition(":")
    keys = [key(line) for file in given.secret_file for line in file.read_text().split()]
    if not keys:
        options.error("no secret in the files")
    server = Receiver((host, int(port)), keys, Gate(given.state))
    # `shutdown` waits for the loop that this very thread runs, so another must call it.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on http://{host}:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
