/** A cluster as a worker sees it: several addresses, any of which answers, and POST with patience. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds that one node may take. A paused machine keeps its connections and says nothing. */
export const PATIENCE = 5_000;
const LONGEST_PAUSE = 2_000;

/** The cluster said no, and would say it again. */
export class Problem extends Error {
  constructor(readonly status: number, readonly code: string, detail: string) {
    super(`${status} ${code}: ${detail}`);
  }
}

/** No node has answered in time. Whether the last request was carried out is not known. */
export class Unreachable extends Error {}

/** Nothing that the next try could not mend. */
class Again extends Error {}

/** Milliseconds of a clock that nobody moves. */
export function monotonic(): number {
  return performance.now();
}

/** Its addresses, and the one that answered last. */
export class Cluster {
  readonly #endpoints: readonly string[];
  readonly #headers: Record<string, string> = { "content-type": "application/json" };
  #at = 0;

  constructor(endpoints: readonly string[], token: string | null) {
    this.#endpoints = endpoints.map((endpoint) => endpoint.replace(/\/+$/, ""));
    if (token !== null) this.#headers["authorization"] = `Bearer ${token}`;
  }

  /**
   * What a node answers, of whichever node, until an instant of `monotonic`.
   *
   * All tries carry one key, so a request that was carried out before its answer was lost is not carried out again.
   */
  async post(path: string, body: object, until: number, patience: number = PATIENCE): Promise<unknown> {
    const requestKey = randomUUID();
    let pause = 50;
    let said = "the time was over before it was sent";
    for (let left; (left = until - monotonic()) > 0; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      const at = this.#at;
      const endpoint = this.#endpoints[at] ?? "";
      try {
        return await this.#once(endpoint + path, body, requestKey, Math.min(patience, left));
      } catch (error) {
        if (!(error instanceof Again)) throw error;
        said = `${endpoint}: ${error.message}`;
      }
      // Another request may have turned away from this one meanwhile; turning twice would come back to it.
      if (this.#at === at) this.#at = (at + 1) % this.#endpoints.length;
      // Not all workers of a cluster at the same instant.
      await sleep(Math.max(0, Math.min(pause * (0.5 + Math.random() / 2), until - monotonic())));
    }
    throw new Unreachable(said);
  }

  async #once(url: string, body: object, requestKey: string, patience: number): Promise<unknown> {
    const headers = { ...this.#headers, "idempotency-key": requestKey };
    const signal = AbortSignal.timeout(Math.ceil(patience));
    let status: number, text: string;
    try {
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
      status = response.status;
      text = await response.text();
    } catch (error) {
      // Refused, reset, timed out, or broken off in the middle of the answer.
      throw new Again(why(error));
    }
    // 503: no leader now. 504: it may have been carried out. 429: slower. All of them pass.
    if (status >= 500 || [408, 425, 429].includes(status)) throw new Again(String(status));
    const said: unknown = parsed(text);
    if (status >= 200 && status < 300) {
      if (said === undefined) throw new Again("an answer that is no JSON");
      return said;
    }
    const { code, detail } = (said ?? {}) as { code?: unknown; detail?: unknown };
    throw new Problem(status, String(code ?? "unknown"), String(detail ?? text.slice(0, 200)));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` says only that it failed; what failed is the cause. */
function why(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
