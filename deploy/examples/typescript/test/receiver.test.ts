/** The gate against the table of all examples, and the receiver over a real socket. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { Gate, REMEMBERED } from "../src/gate.js";
import { receiver, type Work } from "../src/receiver.js";
import { sign } from "../src/signature.js";
import { vectors } from "./vectors.js";

const KEY = Buffer.from("a key of a test");

function file(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "gate-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "gate.json");
}

for (const { name, steps } of vectors.gate) {
  test(`gate: ${name}`, (t) => {
    const gate = new Gate(file(t));
    for (const step of steps) {
      assert.equal(gate.admit(step.schedule, step.firing, step.fencing_token), step.verdict, JSON.stringify(step));
      if (step.then !== undefined) gate[step.then](step.firing);
    }
  });
}

test("a restart forgets neither tokens nor firings", (t) => {
  const where = file(t);
  const before = new Gate(where);
  before.admit("a/b", "frg_a", 20);
  before.finish("frg_a");
  before.admit("a/b", "frg_b", 21);
  const after = new Gate(where);
  assert.equal(after.admit("a/b", "frg_a", 22), "done");
  assert.equal(after.admit("a/b", "frg_b", 20), "stale");
  assert.equal(after.admit("a/b", "frg_b", 22), "new", "it was in hand, not done");
});

test("what is remembered has a bound", (t) => {
  const where = file(t);
  const done = Array.from({ length: REMEMBERED }, (_, number) => `frg_${number}`);
  writeFileSync(where, JSON.stringify({ tokens: {}, done }));
  const gate = new Gate(where);
  for (const firing of ["frg_x", "frg_y"]) {
    gate.admit("a/b", firing, 1);
    gate.finish(firing);
  }
  assert.equal(gate.admit("a/b", "frg_2", 9_999), "done");
  assert.equal(gate.admit("a/b", "frg_1", 9_999), "new", "the oldest are forgotten");
});

interface Sent {
  body?: string;
  signedBody?: string;
  headers?: Record<string, string>;
}

type Deliver = (firing: string, token: number, sent?: Sent) => Promise<number>;

/** A running receiver, and a sender that keeps one connection to it. */
async function start(t: TestContext, work: Work): Promise<Deliver> {
  const server = receiver([KEY], new Gate(file(t)), work);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  t.after(() => {
    agent.destroy();
    server.close();
    server.closeAllConnections();
  });
  return async (firing, token, { body = "{}", signedBody = body, headers = {} } = {}) => {
    const stamp = Math.floor(Date.now() / 1000);
    const ours = {
      "webhook-id": firing,
      "webhook-timestamp": String(stamp),
      "webhook-signature": sign(KEY, firing, stamp, Buffer.from(signedBody)),
      "idempotency-key": firing,
      "campanile-firing": firing,
      "campanile-schedule": "a/b",
      "campanile-nominal": "2026-01-01T00:00:00Z",
      "campanile-attempt": "1",
      "campanile-fencing-token": String(token),
      "content-length": String(Buffer.byteLength(body)),
    };
    const outgoing = request({ port, host: "127.0.0.1", method: "POST", agent, headers: { ...ours, ...headers } });
    outgoing.end(body);
    const [response] = await once(outgoing, "response");
    response.resume();
    await once(response, "end");
    return response.statusCode;
  };
}

test("a firing is done once however often it comes", async (t) => {
  const work = t.mock.fn<Work>(async () => {});
  const deliver = await start(t, work);
  assert.deepEqual([await deliver("frg_a", 1), await deliver("frg_a", 1), await deliver("frg_a", 2)], [204, 204, 204]);
  assert.equal(work.mock.callCount(), 1);
});

test("what was tampered with is refused and not done", async (t) => {
  const work = t.mock.fn<Work>(async () => {});
  const deliver = await start(t, work);
  assert.equal(await deliver("frg_a", 1, { body: '{"pay": 9}', signedBody: '{"pay": 1}' }), 401);
  assert.equal(await deliver("frg_a", 1, { headers: { "campanile-firing": "frg_b" } }), 400);
  assert.equal(await deliver("frg_a", 1, { headers: { "idempotency-key": "frg_b" } }), 400);
  assert.equal(work.mock.callCount(), 0);
});

test("an older token is 409", async (t) => {
  const deliver = await start(t, async () => {});
  assert.deepEqual([await deliver("frg_b", 20), await deliver("frg_a", 10)], [204, 409]);
});

test("work that failed is 500 and done by the next attempt", async (t) => {
  t.mock.method(console, "error", () => {});
  const work = t.mock.fn<Work>(async () => {});
  work.mock.mockImplementationOnce(async () => {
    throw new Error("the disk is full");
  });
  const deliver = await start(t, work);
  assert.deepEqual([await deliver("frg_a", 1), await deliver("frg_a", 2)], [500, 204]);
});

test("a firing that is being done is 503", async (t) => {
  const statuses: number[] = [];
  // The second attempt comes while the work of the first goes on.
  const work = t.mock.fn<Work>(async () => void statuses.push(await deliver("frg_a", 2)));
  const deliver = await start(t, work);
  assert.equal(await deliver("frg_a", 1), 204);
  assert.deepEqual(statuses, [503]);
  assert.equal(work.mock.callCount(), 1);
});

test("what is no delivery is refused", async (t) => {
  const deliver = await start(t, async () => {});
  const wrong = { "campanile-fencing-token": String(2 ** 53), "campanile-attempt": "one", "campanile-schedule": "" };
  for (const [name, value] of Object.entries(wrong)) {
    assert.equal(await deliver("frg_a", 1, { headers: { [name]: value } }), 400, name);
  }
  assert.equal(await deliver("frg_a", 1, { body: "{no json" }), 400);
  assert.equal(await deliver("frg_a", 1, { body: "" }), 204, "a schedule need not have a payload");
});

test("a body that is too long is refused before it is read", async (t) => {
  const deliver = await start(t, async () => {});
  assert.equal(await deliver("frg_a", 1, { body: "x".repeat(600_000) }), 413);
});
