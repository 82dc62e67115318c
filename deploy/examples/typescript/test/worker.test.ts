/** The worker against a cluster that is played: what it says when, and what it no longer says once it has lost its lease. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Cluster, monotonic, Unreachable } from "../src/cluster.js";
import { type Granted, KEPT, type Lease, tail } from "../src/lease.js";
import { Retry, type Work, Worker } from "../src/worker.js";

const GRANTED: Granted = {
  lease: "lse_1",
  firing: "frg_a",
  schedule: "a/b",
  uid: "u",
  revision: 1,
  queue: "batch",
  nominal: "2026-01-01T00:00:00Z",
  run: 0,
  kind: "scheduled",
  cause: null,
  attempt: 1,
  fencing_token: 7,
  begun_at: "2026-01-01T00:00:00Z",
  until: "2026-01-01T00:01:00Z",
  deadline: "2026-01-01T00:15:00Z",
  traceparent: "00-1-1-01",
  labels: {},
  payload: { n: 1 },
};
const LOST: Answer = [409, { code: "lease_lost", detail: "another attempt began" }];
const KEPT_ON: Answer = [200, { until: "", deadline: "", stop: false }];
const STOP: Answer = [200, { until: "", deadline: "", stop: true }];
const SETTLED: Answer = [200, { firing: "frg_a", attempt: 1, state: "as settled", retry_at: null }];
const UNAVAILABLE: Answer = [503, { code: "no_quorum" }];
const ONCE: Answer[] = [[200, [GRANTED]], [200, []]];
const WITHIN = 30_000;
/** Three heartbeats in it leave half a second each for a busy machine. */
const TTL = 1_500;

type Answer = readonly [status: number, body: unknown];
type Verb = "lease" | "heartbeat" | "settle";

/** A node that answers each verb with the next of its answers, and with the last of them for ever. */
class Played {
  readonly said: { verb: string; body: Record<string, unknown>; key: unknown }[] = [];
  /** Milliseconds that a verb takes to be answered. */
  readonly slow: Record<string, number> = {};
  url = "";
  readonly server: Server;

  constructor(answers: Record<string, Answer[]>) {
    this.server = createServer(async (request, response) => {
      let text = "";
      for await (const part of request.setEncoding("utf8")) text += part;
      const verb = request.url?.split("/").at(-1) ?? "";
      this.said.push({ verb, body: JSON.parse(text), key: request.headers["idempotency-key"] });
      await sleep(this.slow[verb] ?? 0);
      const list = answers[verb] ?? [];
      const [status, body] = (list.length > 1 ? list.shift() : list[0]) ?? [404, {}];
      response.writeHead(status).end(JSON.stringify(body));
    });
  }

  bodies(verb: Verb): Record<string, unknown>[] {
    return this.said.filter((one) => one.verb === verb).map((one) => one.body);
  }

  keys(verb: Verb): unknown[] {
    return this.said.filter((one) => one.verb === verb).map((one) => one.key);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

async function play(t: TestContext, answers: Partial<Record<Verb, Answer[]>> = {}): Promise<Played> {
  const node = new Played({ lease: [...ONCE], heartbeat: [KEPT_ON], settle: [SETTLED], ...answers });
  node.server.listen(0, "127.0.0.1");
  await once(node.server, "listening");
  node.url = `http://127.0.0.1:${(node.server.address() as AddressInfo).port}`;
  t.after(() => node.close());
  return node;
}

/** Runs a worker until it has done one firing; what it complained of. */
async function run(t: TestContext, work: Work, nodes: Played[], ttl = TTL): Promise<string> {
  const heard: string[] = [];
  t.mock.method(console, "error", (line: unknown) => void heard.push(String(line)));
  t.mock.method(console, "log", () => {});
  const options = { queue: "batch", name: "host/1", ttl, wait: 0 };
  const worker: Worker = new Worker(new Cluster(nodes.map((node) => node.url), "t"), options, (granted, lease) => {
    worker.drain();
    return work(granted, lease);
  });
  await worker.run();
  return heard.join("\n");
}

/** Work that only ends when it must. */
async function untilStopped(_: Granted, lease: Lease): Promise<string> {
  await sleep(WITHIN, null, { signal: lease.signal });
  return "was never stopped";
}

test("what succeeds is settled with its output", async (t) => {
  const node = await play(t);
  await run(t, async (granted) => `did ${JSON.stringify(granted.payload)}`, [node]);
  assert.deepEqual(node.bodies("lease")[0], { worker: "host/1", max: 1, ttl: "1500ms", wait: "0ms" });
  const expected = { outcome: "succeeded", output: 'did {"n":1}', error: "", retry_after: null };
  assert.deepEqual(node.bodies("settle"), [expected]);
});

test("an exception fails, and Retry says when", async (t) => {
  const cases = [[new Error("no"), "failed", null], [new Retry("not now", "30s"), "retry", "30s"]] as const;
  for (const [error, outcome, after] of cases) {
    const node = await play(t);
    await run(t, () => Promise.reject(error), [node]);
    const said = node.bodies("settle")[0];
    assert.deepEqual([said?.["outcome"], said?.["retry_after"]], [outcome, after]);
  }
});

test("heartbeats keep a lease beyond its ttl", async (t) => {
  const node = await play(t);
  const work: Work = async (_, lease) => {
    const until = monotonic() + 1.2 * TTL;
    while (monotonic() < until) {
      lease.check();
      await sleep(5);
    }
    return "";
  };
  await run(t, work, [node]);
  assert.equal(node.bodies("settle")[0]?.["outcome"], "succeeded");
});

test("who is asked to stop settles as cancelled", async (t) => {
  const node = await play(t, { heartbeat: [KEPT_ON, STOP] });
  await run(t, untilStopped, [node]);
  assert.deepEqual(node.bodies("settle").map((body) => body["outcome"]), ["cancelled"]);
});

test("who has lost the lease stops and says nothing", async (t) => {
  const node = await play(t, { heartbeat: [LOST] });
  assert.match(await run(t, untilStopped, [node]), /lease is lost/);
  assert.deepEqual(node.bodies("settle"), []);
});

test("who hears nothing counts the lease down by himself", async (t) => {
  const node = await play(t, { heartbeat: [UNAVAILABLE] });
  const began = monotonic();
  await run(t, untilStopped, [node], 300);
  assert(monotonic() - began >= 300 - 5, "not before its time");
  assert.deepEqual(node.bodies("settle"), []);
});

test("a lease is counted from before it was asked for", async (t) => {
  const node = await play(t, { heartbeat: [UNAVAILABLE] });
  node.slow["lease"] = (TTL * 2) / 3;
  let worked = Infinity;
  const timed: Work = (granted, lease) => {
    const began = monotonic();
    return untilStopped(granted, lease).finally(() => (worked = monotonic() - began));
  };
  await run(t, timed, [node]);
  assert(worked < (TTL * 2) / 3, "the last third, not a ttl from the answer on");
});

test("no heartbeat carries a lease beyond its deadline", async (t) => {
  const short = { ...GRANTED, deadline: "2026-01-01T00:00:02Z" };
  const node = await play(t, { lease: [[200, [short]], [200, []]] });
  const began = monotonic();
  await run(t, untilStopped, [node]);
  assert.deepEqual(node.bodies("settle"), []);
  assert(monotonic() - began >= 2_000 - 5, "but it does carry it up to there");
});

test("a settle that comes too late is a complaint and no crash", async (t) => {
  const node = await play(t, { settle: [LOST] });
  assert.match(await run(t, async () => "", [node]), /lease_lost/);
});

test("an answer that was lost is asked for again with the same key on the next node", async (t) => {
  const [first, second] = [await play(t, { settle: [UNAVAILABLE] }), await play(t, { lease: [[200, []]] })];
  await run(t, async () => "", [first, second], WITHIN);
  assert.equal(first.bodies("settle").length, 1);
  assert.deepEqual(first.keys("settle"), second.keys("settle"));
});

test("a node that is down is passed over", async (t) => {
  const down = await play(t);
  down.close();
  const up = await play(t);
  await run(t, async () => "", [down, up], WITHIN);
  assert.equal(up.bodies("settle").length, 1);
});

test("a wrong token ends the worker", async (t) => {
  const node = await play(t, { lease: [[401, { code: "unauthenticated", detail: "no such token" }]] });
  const options = { queue: "batch", name: "host/1", ttl: 5_000, wait: 0 };
  const worker = new Worker(new Cluster([node.url], "wrong"), options, async () => "");
  await worker.run();
  assert.equal(worker.refused?.message, "401 unauthenticated: no such token");
});

test("patience ends at the instant that was named", async (t) => {
  const node = await play(t, { lease: [UNAVAILABLE] });
  const asking = new Cluster([node.url], null).post("/lease", {}, monotonic() + 200);
  await assert.rejects(asking, Unreachable);
  assert.equal(new Set(node.keys("lease")).size, 1, "all tries are one request");
});

test("the tail ends at the bound and cuts no character", () => {
  assert.equal(tail("short"), "short");
  assert.equal(tail(`x${"é".repeat(KEPT)}y`), `${"é".repeat(KEPT / 2 - 1)}y`);
});
