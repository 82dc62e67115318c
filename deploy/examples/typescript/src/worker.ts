/**
 * A worker of a queue: lease, heartbeat in the background, settle.
 *
 *     node dist/src/worker.js --queue batch --endpoint http://node1:7700 --endpoint http://node2:7700 --token-file admin.token
 *
 * Change `work`. SIGTERM drains: what is in hand is finished and settled, nothing new is leased.
 */

import { readFileSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { argv, pid } from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { Cluster, monotonic, PATIENCE, Problem, Unreachable } from "./cluster.js";
import { type Granted, Lease, Lost, span, Stopped } from "./lease.js";

/** Thrown by the work: not now. After `after` ("30s"), or after what the schedule's `retry` says. */
export class Retry extends Error {
  constructor(why: string, readonly after?: string) {
    super(why);
  }
}

/**
 * What a worker is for. Returns its output; an exception is a failure for good, `Retry` one that may pass.
 *
 * It must let go of the event loop now and then (`await`), or no heartbeat is sent. A firing may come again when an answer
 * was lost: use `granted.firing` as the key of whatever must not be done twice, and `granted.fencing_token` against a
 * holder that was overtaken.
 */
export type Work = (granted: Granted, lease: Lease) => Promise<string>;

async function work(granted: Granted, lease: Lease): Promise<string> {
  lease.check();
  return `${granted.schedule} at ${granted.nominal}: ${JSON.stringify(granted.payload)}`;
}

/** What a worker is told. */
export interface Options {
  readonly queue: string;
  readonly name: string;
  /** Milliseconds after which a silent holder has lost its lease: how long a dead worker holds its firing up. */
  readonly ttl: number;
  /** Milliseconds of a long poll. They count against the first ttl, so less than half of it. */
  readonly wait: number;
}

/** Takes one firing after another. Each call of `run` holds one lease at most. */
export class Worker {
  /** Why it gave up: a wrong token, a queue that is not there. */
  refused: Problem | null = null;
  #draining = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly options: Options,
    private readonly work: Work,
  ) {}

  drain(): void {
    this.#draining = true;
  }

  async run(): Promise<void> {
    while (!this.#draining) {
      // Before the request: this is where the lease begins to be counted.
      const askedAt = monotonic();
      try {
        for (const granted of await this.#lease(askedAt)) await this.#do(granted, askedAt);
      } catch (error) {
        if (error instanceof Unreachable) {
          console.error(`no node answers: ${error.message}`);
        } else if (error instanceof Problem) {
          this.refused = error;
          this.drain();
        } else {
          throw error;
        }
      }
    }
  }

  async #lease(askedAt: number): Promise<Granted[]> {
    const { queue, name, ttl, wait } = this.options;
    const body = { worker: name, max: 1, ttl: span(ttl), wait: span(wait) };
    // An answer later than a ttl would bring leases that are lost already.
    return (await this.cluster.post(`/v1/queues/${queue}/lease`, body, askedAt + ttl, wait + PATIENCE)) as Granted[];
  }

  async #do(granted: Granted, askedAt: number): Promise<void> {
    const lease = new Lease(this.cluster, granted, askedAt, this.options.ttl);
    const { firing, nominal, attempt } = granted;
    try {
      const state = await this.#settle(granted, lease);
      console.log(JSON.stringify({ firing, nominal, attempt, state }));
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      console.error(`${firing}: the lease is lost, the outcome is not ours to say: ${error.message}`);
    } finally {
      lease.close();
    }
  }

  async #settle(granted: Granted, lease: Lease): Promise<string> {
    let output: string;
    try {
      output = await this.work(granted, lease);
    } catch (error) {
      // What was cut off by the signal throws the signal's reason, or an error of its own that means the same.
      if (error instanceof Stopped || lease.signal.aborted) {
        return await lease.settle("cancelled", { error: String(lease.signal.reason ?? error) });
      }
      if (error instanceof Retry) {
        const { message, after } = error;
        return await lease.settle("retry", after === undefined ? { error: message } : { error: message, retryAfter: after });
      }
      return await lease.settle("failed", { error: String(error) });
    }
    return await lease.settle("succeeded", { output });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      queue: { type: "string" },
      endpoint: { type: "string", multiple: true, default: [] },
      "token-file": { type: "string" },
      concurrency: { type: "string", default: "1" },
      /** Seconds of a lease, 1 to 3600, and of a long poll, 0 to 60. */
      ttl: { type: "string", default: "60" },
      wait: { type: "string", default: "20" },
    },
  });
  const [ttl, wait] = [Number(values.ttl) * 1000, Number(values.wait) * 1000];
  if (values.queue === undefined || values.endpoint.length === 0) misused("--queue and --endpoint are needed");
  if (!(wait <= ttl / 2)) {
    misused("--wait must be at most half of --ttl: a lease is counted from before it was asked for");
  }
  const tokenFile = values["token-file"];
  const token = tokenFile === undefined ? null : readFileSync(tokenFile, "utf8").trim();
  const options = { queue: values.queue, name: `${hostname()}/${pid}`, ttl, wait };
  const worker = new Worker(new Cluster(values.endpoint, token), options, work);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => worker.drain());
  await Promise.all(Array.from({ length: Number(values.concurrency) }, () => worker.run()));
  if (worker.refused !== null) {
    console.error(`refused: ${worker.refused.message}`);
    process.exitCode = 1;
  }
}

function misused(why: string): never {
  console.error(why);
  process.exit(2);
}

// Started, not imported by a test; the path that node was given may lead over a link.
if (fileURLToPath(import.meta.url) === realpathSync(argv[1] ?? ".")) await main();
