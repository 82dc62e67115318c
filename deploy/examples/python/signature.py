"""The signature of a delivery, as Standard Webhooks has it (https://www.standardwebhooks.com).

It proves that who holds the secret wrote *this id, this timestamp and this body*, and no other header: `Campanile-*` headers
are as trustworthy as the connection is, so take deliveries over https. It does not stop a repetition within the
tolerance; `gate.py` does, by the id.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping

PREFIX = "whsec_"
TOLERANCE = 5 * 60
"""Seconds that the clocks of sender and receiver may differ. An older delivery may be a recorded one."""


class Refused(Exception):
    """Not from who holds the secret, or not from now. The answer is 401, and no word more."""


def key(secret: str) -> bytes:
    """The key in a secret: `whsec_` and base64, as the cluster was given it."""
    if not secret.startswith(PREFIX):
        raise ValueError(f"a secret begins with {PREFIX}")
    try:
        found = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("what follows whsec_ is not base64") from None
    if not found:
        raise ValueError("the secret is empty")
    return found


def sign(key: bytes, webhook_id: str, timestamp: int, body: bytes) -> str:
    """One signature, as it stands in the header."""
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def verify(keys: Iterable[bytes], headers: Mapping[str, str], body: bytes, now: float) -> str:
    """The `webhook-id` of a genuine delivery.

    `headers` has names in lower case. While a secret is replaced the sender signs with both, and a receiver may know both:
    one match is enough. The body is the bytes that arrived; parsed and written again they are other bytes.
    """
    webhook_id = headers.get("webhook-id", "")
    stamp = headers.get("webhook-timestamp", "")
    given = headers.get("webhook-signature", "")
    # `isdecimal` alone takes the digits of other scripts, and int() them too.
    if not webhook_id or not given or not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12):
        raise Refused("a header of the signature is missing or no such thing")
    timestamp = int(stamp)
    if abs(now - timestamp) > TOLERANCE:
        raise Refused("the timestamp is too far from now")
    # Each key is held against each signature, and in constant time: how long it takes must not tell how much was right.
    # Versions other than v1 (v1a is the public-key one) are not ours to judge, so they do not count.
    expected = [sign(key, webhook_id, timestamp, body).encode() for key in keys]
    candidates = [one.encode() for one in given.split(" ") if one.startswith("v1,")]
    matches = [hmac.compare_digest(right, one) for right in expected for one in candidates]
    if not any(matches):
        raise Refused("no signature matches")
    return webhook_id
