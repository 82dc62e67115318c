/**
 * A receiver of Campanile's webhooks: verifies the signature, refuses stale senders, does each firing once.
 *
 *     node dist/src/receiver.js --listen 127.0.0.1:8080 --secret-file billing-hook.secret --state receiver.json
 *
 * What it answers, and what the cluster makes of it:
 *
 *     204  done, now or before                    the firing has succeeded
 *     400  not what Campanile sends               the firing has failed
 *     401  signature or timestamp are wrong       the firing has failed
 *     409  the fencing token is older             nothing: that sender has lost its right
 *     413  too long                               the firing has failed
 *     500  the work failed                        tried again, by the schedule's `retry`
 *     503  the same firing is being done          tried again, after `Retry-After`
 *
 * Change `work`. It must end within the `timeout` of the schedule's webhook; what takes longer belongs in a queue (`worker.ts`).
 */

import { readFileSync, realpathSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { Gate } from "./gate.js";
import { type Headers, key, Refused, verify } from "./signature.js";

/** Bytes of a body. Campanile's payloads end at 256 KiB. */
const LONGEST = 512 * 1024;

/** A firing as it arrived. */
export interface Delivery {
  readonly firing: string;
  readonly schedule: string;
  /** When it should have happened, not when it arrived. */
  readonly nominal: string;
  readonly attempt: number;
  readonly fencingToken: number;
  /** The JSON of the schedule's payload; `null` without one. */
  readonly payload: unknown;
}

/** What a receiver is for. An exception means: try it again later. */
export type Work = (delivery: Delivery) => Promise<void>;

async function work(delivery: Delivery): Promise<void> {
  const { firing, nominal, attempt } = delivery;
  console.log(JSON.stringify({ firing, nominal, attempt }));
}

/** A status, and a word for the log of the sender. */
type Answer = readonly [status: number, word: string];

/** The server; the caller lets it listen. */
export function receiver(keys: readonly Buffer[], gate: Gate, work: Work): Server {
  const server = createServer((request, response) => {
    const headers = one(request);
    const refused = lengthRefused(headers);
    if (refused !== null) return reply(response, refused);
    receive(request)
      .then((body) => answer(headers, body))
      .then((answer) => reply(response, answer))
      // The sender went away in the middle of its body, or the disk of the gate is full.
      .catch((error: unknown) => {
        console.error(error);
        reply(response, [500, "the receiver failed"]);
      });
  });
  // A sender that begins a request and falls silent would hold its connection for ever.
  server.requestTimeout = 60_000;
  return server;

  async function answer(headers: Headers, body: Buffer): Promise<Answer> {
    let delivery: Delivery;
    try {
      delivery = read(verify(keys, headers, body, Date.now() / 1000), headers, body);
    } catch (error) {
      return error instanceof Refused ? [401, "not signed"] : [400, String(error)];
    }
    switch (gate.admit(delivery.schedule, delivery.firing, delivery.fencingToken)) {
      case "done":
        return [204, ""];
      case "stale":
        return [409, "a newer fencing token has been seen"];
      case "in_hand":
        return [503, "this firing is being done"];
      case "new":
        return await carryOut(delivery);
    }
  }

  async function carryOut(delivery: Delivery): Promise<Answer> {
    try {
      await work(delivery);
    } catch (error) {
      gate.forget(delivery.firing);
      console.error(`${delivery.firing}: ${error}`);
      return [500, "the work failed"];
    }
    gate.finish(delivery.firing);
    return [204, ""];
  }
}

/** The delivery in a genuine request; throws when it is none of Campanile's. */
function read(webhookId: string, headers: Headers, body: Buffer): Delivery {
  // Only the id is signed; the two headers that repeat it must not say something else.
  if (headers["campanile-firing"] !== webhookId || headers["idempotency-key"] !== webhookId) {
    throw new Error("the firing is not the one that was signed");
  }
  const schedule = headers["campanile-schedule"] ?? "";
  if (schedule === "") throw new Error("no schedule");
  return {
    firing: webhookId,
    schedule,
    nominal: headers["campanile-nominal"] ?? "",
    attempt: number(headers, "campanile-attempt"),
    fencingToken: number(headers, "campanile-fencing-token"),
    payload: body.length === 0 ? null : JSON.parse(body.toString("utf8")),
  };
}

function number(headers: Headers, name: string): number {
  const text = headers[name] ?? "";
  if (!/^[0-9]{1,16}$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Error(`${name} is no number`);
  return Number(text);
}

/** Why a body is not even read. What is read is no longer than it was said to be: node sees to that. */
function lengthRefused(headers: Headers): Answer | null {
  if (headers["transfer-encoding"] !== undefined) return [411, "say the length"];
  return Number(headers["content-length"] ?? 0) > LONGEST ? [413, "too long"] : null;
}

async function receive(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

/** Each header as one text; of ours none may come twice. */
function one(request: IncomingMessage): Headers {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, value?.toString()]));
}

function reply(response: ServerResponse, [status, word]: Answer): void {
  if (response.headersSent) return;
  if (status === 503) response.setHeader("retry-after", "1");
  // The body that was not read would stand before the next request of this connection.
  if (status === 411 || status === 413) response.setHeader("connection", "close");
  response.writeHead(status).end(status === 204 ? undefined : word);
}

function main(): void {
  const { values } = parseArgs({
    options: {
      listen: { type: "string", default: "127.0.0.1:8080" },
      "secret-file": { type: "string", multiple: true, default: [] },
      state: { type: "string", default: "receiver.json" },
    },
  });
  // A secret in each line; while one is replaced, both.
  const secrets = values["secret-file"].flatMap((file) => readFileSync(file, "utf8").split(/\s+/).filter(Boolean));
  if (secrets.length === 0) {
    console.error("--secret-file with a secret is needed");
    process.exit(2);
  }
  const colon = values.listen.lastIndexOf(":");
  const host = values.listen.slice(0, colon);
  const server = receiver(secrets.map(key), new Gate(values.state), work);
  server.listen(Number(values.listen.slice(colon + 1)), host, () => {
    console.log(`listening on http://${host}:${(server.address() as AddressInfo).port}`);
  });
  process.once("SIGTERM", () => {
    server.close();
    server.closeIdleConnections();
  });
}

// Started, not imported by a test; the path that node was given may lead over a link.
if (fileURLToPath(import.meta.url) === realpathSync(argv[1] ?? ".")) main();
