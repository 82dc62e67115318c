/**
 * What a receiver must remember: the highest fencing token of each schedule, and the firings that it has done.
 *
 * Two things go wrong with every sender that tries again. The same firing arrives twice, since an answer was lost: the second
 * time it is not done. And a sender that was stopped for a minute wakes up and sends what another has sent since: its fencing
 * token is older than one already seen, and it is refused.
 *
 * This one remembers in a file, for one process. Where the work is a write to a database, keep both there and in the same
 * transaction as the work: then there is no moment in which one is written and the other not.
 *
 * The tokens of a schedule fence its firings against each other. That is what you want of a schedule that does not overlap
 * itself (`overlap`: `skip`, `queue_one`, `queue_all`, `replace`, `terminate`). With `allow`, two firings may be on their way
 * at once and overtake each other; then fence by firing: pass the firing where `admit` asks for the schedule.
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";

/** Firings remembered as done, the oldest forgotten first. More than can be on their way, at 60 bytes each. */
export const REMEMBERED = 1_000;

/**
 * What to do with a delivery.
 *
 * - `new`: do it, then say `finish` or `forget`.
 * - `done`: it was done; answer as if it had been done now.
 * - `in_hand`: it is being done; 503, so that the sender asks again later.
 * - `stale`: a newer token has been seen; 409. The sender has lost its right and nobody waits for its answer.
 */
export type Verdict = "new" | "done" | "in_hand" | "stale";

interface Held {
  tokens: Record<string, number>;
  done: string[];
}

/** Lets each firing through once, and no sender that was overtaken. */
export class Gate {
  readonly #file: string;
  readonly #inHand = new Set<string>();
  readonly #tokens: Map<string, number>;
  /** A set keeps the order of arrival. */
  readonly #done: Set<string>;

  constructor(file: string) {
    this.#file = file;
    const held: Held = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { tokens: {}, done: [] };
    this.#tokens = new Map(Object.entries(held.tokens));
    this.#done = new Set(held.done);
  }

  /**
   * Judges a delivery, and takes it in hand when it is new.
   *
   * `firing` must be the signed `webhook-id`. It is looked at first: a recorded delivery, repeated with a token made up to be
   * the highest, then moves nothing.
   */
  admit(schedule: string, firing: string, fencingToken: number): Verdict {
    if (this.#done.has(firing)) return "done";
    if (fencingToken < (this.#tokens.get(schedule) ?? 0)) return "stale";
    if (this.#inHand.has(firing)) return "in_hand";
    this.#tokens.set(schedule, fencingToken);
    // On disk before the work begins: a restart must not make an old sender acceptable again.
    this.#write();
    this.#inHand.add(firing);
    return "new";
  }

  /** It is done, and must not be done again. */
  finish(firing: string): void {
    this.#done.add(firing);
    for (const oldest of this.#done) {
      if (this.#done.size <= REMEMBERED) break;
      this.#done.delete(oldest);
    }
    this.#write();
    this.#inHand.delete(firing);
  }

  /** It could not be done: the next attempt may try. */
  forget(firing: string): void {
    this.#inHand.delete(firing);
  }

  /** Whole or not at all: written beside, synced, renamed. Nothing else runs meanwhile, so no other write comes between. */
  #write(): void {
    const held: Held = { tokens: Object.fromEntries(this.#tokens), done: [...this.#done] };
    const beside = `${this.#file}.new`;
    const out = openSync(beside, "w");
    try {
      writeSync(out, JSON.stringify(held));
      fsyncSync(out);
    } finally {
      closeSync(out);
    }
    renameSync(beside, this.#file);
  }
}
