/**
 * A lease in hand: kept by heartbeats, counted by the holder's own clock, settled once.
 *
 * The holder counts on its monotonic clock, from before it asked. So it always believes that its lease ends a little earlier
 * than the cluster does, and stops before another may begin. Wall clocks, which people and NTP move, decide nothing here.
 *
 *     asked ──────▶ granted       ttl after "asked" the lease is lost …
 *                       beat ──────▶ 200        … unless a heartbeat is answered; then ttl after that was sent …
 *                                                                        … and never after the deadline
 */

import { type Cluster, monotonic, Problem, Unreachable } from "./cluster.js";

/** Bytes of an output, and of an error, that the cluster keeps: the last ones. */
export const KEPT = 16 * 1024;

/** A lease as the cluster grants it. */
export interface Granted {
  readonly lease: string;
  readonly firing: string;
  readonly schedule: string;
  readonly uid: string;
  readonly revision: number;
  readonly queue: string;
  readonly nominal: string;
  readonly run: number;
  readonly kind: string;
  readonly cause: string | null;
  readonly attempt: number;
  /** Give it to whatever the work writes to, and let that refuse an older one. */
  readonly fencing_token: number;
  readonly begun_at: string;
  readonly until: string;
  readonly deadline: string;
  readonly traceparent: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly payload: unknown;
}

/** What a holder reports. */
export type Outcome = "succeeded" | "failed" | "retry" | "cancelled";

/** The work must stop: somebody asked for it, or the lease is lost and another may have begun. */
export class Stopped extends Error {}

/** The lease was not ours any more; what was done under it counts for nothing. */
export class Lost extends Error {}

/** One lease and its heartbeats. Times are milliseconds of `monotonic`. */
export class Lease {
  readonly granted: Granted;
  readonly #cluster: Cluster;
  readonly #ttl: number;
  readonly #deadline: number;
  readonly #stop = new AbortController();
  #sent: number;
  #lost: string | null = null;
  #timers: NodeJS.Timeout[] = [];

  constructor(cluster: Cluster, granted: Granted, askedAt: number, ttl: number) {
    this.granted = granted;
    this.#cluster = cluster;
    this.#ttl = ttl;
    this.#sent = askedAt;
    // Two instants of the cluster's clock: their distance holds on ours as well.
    this.#deadline = askedAt + (Date.parse(granted.deadline) - Date.parse(granted.begun_at));
    this.#plan();
  }

  /**
   * Fires when the work must stop; give it to `fetch`, to child processes, to whatever can be cut off. Its reason is `Stopped`.
   */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** When it is lost, if nothing more is heard. */
  ends(): number {
    return Math.min(this.#sent + this.#ttl, this.#deadline);
  }

  /** Why it is lost, if it is. The clock is asked each time: after a pause of this process no timer has run yet. */
  lost(): string | null {
    return this.#lost ?? (monotonic() >= this.ends() ? "its time is over" : null);
  }

  /**
   * To be called by the work wherever it can stop; throws `Stopped`. Work that cannot stop is wasted, since its outcome is
   * refused; what it *writes* must be fenced.
   */
  check(): void {
    const lost = this.lost();
    if (lost !== null) throw new Stopped(`the lease is lost: ${lost}`);
    this.signal.throwIfAborted();
  }

  /** Reports the outcome; the state of the firing now. Throws `Lost`. */
  async settle(outcome: Outcome, said: { output?: string; error?: string; retryAfter?: string } = {}): Promise<string> {
    const lost = this.lost();
    if (lost !== null) throw new Lost(lost);
    const body = {
      outcome,
      output: tail(said.output ?? ""),
      error: tail(said.error ?? ""),
      retry_after: said.retryAfter ?? null,
    };
    try {
      const answer = await this.#cluster.post(this.#path("settle"), body, this.ends());
      return String((answer as { state: unknown }).state);
    } catch (error) {
      if (error instanceof Problem && error.code === "lease_lost") throw new Lost(error.message);
      if (error instanceof Unreachable) throw new Lost(`settled perhaps: ${error.message}`);
      throw error;
    }
  }

  /** No more heartbeats. One may be waiting for its answer; nobody needs that any more, so nobody waits for it. */
  close(): void {
    this.#timers.forEach(clearTimeout);
    this.#lost ??= "it is closed";
  }

  /** Heartbeats, three in a ttl, so that two may be lost. A long poll may have used up the first third already. */
  #plan(): void {
    this.#timers.forEach(clearTimeout);
    if (this.#lost !== null) return;
    const at = (instant: number, act: () => void) => setTimeout(act, Math.max(0, instant - monotonic()));
    this.#timers = [
      at(this.#sent + this.#ttl / 3, () => void this.#beat()),
      at(this.ends(), () => this.#lose("its time is over")),
    ];
  }

  async #beat(): Promise<void> {
    const sent = monotonic();
    try {
      const answer = await this.#cluster.post(this.#path("heartbeat"), { ttl: span(this.#ttl) }, this.ends());
      this.#sent = sent;
      if ((answer as { stop: unknown }).stop === true) this.#stop.abort(new Stopped("asked to stop"));
      this.#plan();
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : String(error));
    }
  }

  #lose(why: string): void {
    if (this.#lost !== null) return;
    this.#timers.forEach(clearTimeout);
    this.#lost = why;
    this.#stop.abort(new Stopped(`the lease is lost: ${why}`));
  }

  #path(verb: string): string {
    return `/v1/leases/${this.granted.lease}/${verb}`;
  }
}

/** A duration as the cluster reads it. */
export function span(millis: number): string {
  return `${Math.round(millis)}ms`;
}

/** The end of a text, within what is kept. A character that the cut goes through is left out. */
export function tail(text: string): string {
  const bytes = Buffer.from(text);
  let from = Math.max(0, bytes.length - KEPT);
  while (from > 0 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return bytes.toString("utf8", from);
}
