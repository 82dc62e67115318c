/**
 * The signature of a delivery, as Standard Webhooks has it (https://www.standardwebhooks.com).
 *
 * It proves that who holds the secret wrote *this id, this timestamp and this body*, and no other header: `Campanile-*`
 * headers are as trustworthy as the connection is, so take deliveries over https. It does not stop a repetition within the
 * tolerance; `gate.ts` does, by the id.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Seconds that the clocks of sender and receiver may differ. An older delivery may be a recorded one. */
export const TOLERANCE = 5 * 60;

/** Names in lower case, as node has them. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Not from who holds the secret, or not from now. The answer is 401, and no word more. */
export class Refused extends Error {}

/** The key in a secret: `whsec_` and base64, as the cluster was given it. */
export function key(secret: string): Buffer {
  if (!secret.startsWith(PREFIX)) throw new Error(`a secret begins with ${PREFIX}`);
  const text = secret.slice(PREFIX.length);
  // Buffer passes over what is not base64, and would make a weaker key of it.
  if (!BASE64.test(text)) throw new Error("what follows whsec_ is not base64");
  if (text === "") throw new Error("the secret is empty");
  return Buffer.from(text, "base64");
}

/** One signature, as it stands in the header. */
export function sign(key: Buffer, webhookId: string, timestamp: number, body: Uint8Array): string {
  const mac = createHmac("sha256", key).update(`${webhookId}.${timestamp}.`).update(body);
  return `v1,${mac.digest("base64")}`;
}

/**
 * The `webhook-id` of a genuine delivery; throws `Refused`.
 *
 * While a secret is replaced the sender signs with both, and a receiver may know both: one match is enough. The body is the
 * bytes that arrived; parsed and written again they are other bytes. `now` is in seconds.
 */
export function verify(keys: readonly Buffer[], headers: Headers, body: Uint8Array, now: number): string {
  const webhookId = headers["webhook-id"] ?? "";
  const stamp = headers["webhook-timestamp"] ?? "";
  const given = headers["webhook-signature"] ?? "";
  if (webhookId === "" || given === "" || !/^[0-9]{1,12}$/.test(stamp)) {
    throw new Refused("a header of the signature is missing or no such thing");
  }
  const timestamp = Number(stamp);
  if (Math.abs(now - timestamp) > TOLERANCE) throw new Refused("the timestamp is too far from now");
  // Each key is held against each signature, and in constant time: how long it takes must not tell how much was right.
  // Versions other than v1 (v1a is the public-key one) are not ours to judge, so they do not count.
  const expected = keys.map((key) => Buffer.from(sign(key, webhookId, timestamp, body)));
  const candidates = given.split(" ").filter((one) => one.startsWith("v1,")).map((one) => Buffer.from(one));
  const matches = expected.flatMap((right) => candidates.map((one) => isEqual(right, one)));
  if (!matches.includes(true)) throw new Refused("no signature matches");
  return webhookId;
}

/** The length of a signature is no secret. */
function isEqual(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
