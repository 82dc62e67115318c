"""Signatures against the table that the TypeScript example is held to as well."""

import json
import unittest
from pathlib import Path
from typing import Any

from signature import Refused, key, sign, verify

VECTORS = json.loads((Path(__file__).parent.parent / "vectors.json").read_text())


def is_genuine(vector: dict[str, Any]) -> bool:
    names = {"webhook-id": "id", "webhook-timestamp": "timestamp", "webhook-signature": "signature"}
    headers = {header: vector[name] for header, name in names.items()}
    try:
        verify([key(secret) for secret in vector["secrets"]], headers, vector["body"].encode(), vector["now"])
    except Refused:
        return False
    return True


class Signatures(unittest.TestCase):
    def test_the_table_of_signatures(self) -> None:
        for vector in VECTORS["signatures"]:
            with self.subTest(vector["name"]):
                self.assertEqual(is_genuine(vector), vector["genuine"])

    def test_a_secret_that_is_none_is_refused_at_start(self) -> None:
        for vector in VECTORS["refused_secrets"]:
            with self.subTest(vector["name"]), self.assertRaises(ValueError):
                key(vector["secret"])

    def test_a_signature_of_ours_is_the_one_of_standard_webhooks(self) -> None:
        first = VECTORS["signatures"][0]
        made = sign(key(first["secrets"][0]), first["id"], int(first["timestamp"]), first["body"].encode())
        self.assertEqual(made, first["signature"])

    def test_headers_that_are_not_there_are_refused(self) -> None:
        with self.assertRaises(Refused):
            verify([b"key"], {}, b"", 0)
