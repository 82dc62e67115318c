/** Signatures against the table of all examples. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { key, Refused, sign, verify } from "../src/signature.js";
import { vectors } from "./vectors.js";

for (const vector of vectors.signatures) {
  test(`signature: ${vector.name}`, () => {
    const { id, timestamp, signature, body, now } = vector;
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    const judge = () => verify(vector.secrets.map(key), headers, Buffer.from(body), now);
    if (vector.genuine) assert.equal(judge(), id);
    else assert.throws(judge, Refused);
  });
}

for (const { name, secret } of vectors.refused_secrets) {
  test(`a secret that is none is refused at start: ${name}`, () => {
    assert.throws(() => key(secret));
  });
}

test("a signature of ours is the one of Standard Webhooks", () => {
  const [first] = vectors.signatures;
  assert(first);
  const made = sign(key(first.secrets[0] ?? ""), first.id, Number(first.timestamp), Buffer.from(first.body));
  assert.equal(made, first.signature);
});

test("headers that are not there are refused", () => {
  assert.throws(() => verify([Buffer.from("key")], {}, Buffer.alloc(0), 0), Refused);
});
