"""A cluster as a worker sees it: several addresses, any of which answers, and POST with patience."""

import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

PATIENCE = 5.0
"""Seconds that one node may take. A paused machine keeps its connections and says nothing."""
LONGEST_PAUSE = 2.0


class Problem(Exception):
    """The cluster said no, and would say it again."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code


class Unreachable(Exception):
    """No node has answered in time. Whether the last request was carried out is not known."""


class Cluster:
    """Its addresses, and the one that answered last. Threads may share it."""

    def __init__(self, endpoints: list[str], token: str | None) -> None:
        self._endpoints = [endpoint.rstrip("/") for endpoint in endpoints]
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self._at = 0
        # A cluster is reached directly: a proxy of the environment would cut long polls off.
        self._http = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def post(self, path: str, body: dict[str, Any], until: float, patience: float = PATIENCE) -> Any:
        """What a node answers, of whichever node, until an instant of `time.monotonic`.

        All tries carry one key, so a request that was carried out before its answer was lost is not carried out again.
        """
        request_key = str(uuid.uuid4())
        pause, said = 0.05, "the time was over before it was sent"
        while (left := until - time.monotonic()) > 0:
            at = self._at
            try:
                return self._once(self._endpoints[at], path, body, request_key, min(patience, left))
            except _Again as error:
                said = f"{self._endpoints[at]}: {error}"
            # Another thread may have turned away from this one meanwhile; turning twice would come back to it.
            if self._at == at:
                self._at = (at + 1) % len(self._endpoints)
            # Not all workers of a cluster at the same instant.
            time.sleep(max(0.0, min(pause * random.uniform(0.5, 1.0), until - time.monotonic())))
            pause = min(pause * 2, LONGEST_PAUSE)
        raise Unreachable(said)

    def _once(self, endpoint: str, path: str, body: dict[str, Any], request_key: str, patience: float) -> Any:
        headers = {**self._headers, "idempotency-key": request_key}
        request = urllib.request.Request(endpoint + path, json.dumps(body).encode(), headers, method="POST")
        try:
            with self._http.open(request, timeout=patience) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                # 503: no leader now. 504: it may have been carried out. 429: slower. All of them pass.
                if error.code >= 500 or error.code in (408, 425, 429):
                    raise _Again(str(error.code)) from None
                raise _problem(error.code, error.read()) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            # Refused, reset, timed out, or broken off in the middle of the answer.
            raise _Again(str(error)) from None


class _Again(Exception):
    """Nothing that the next try could not mend."""


def _problem(status: int, body: bytes) -> Problem:
    try:
        said = json.loads(body)
        return Problem(status, str(said["code"]), str(said.get("detail", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Problem(status, "unknown", body[:200].decode(errors="replace"))
