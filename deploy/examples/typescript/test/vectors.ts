/** The tables that the Python example is held to as well. */

import { readFileSync } from "node:fs";

interface Vectors {
  signatures: {
    name: string;
    secrets: string[];
    id: string;
    timestamp: string;
    signature: string;
    body: string;
    now: number;
    genuine: boolean;
  }[];
  refused_secrets: { name: string; secret: string }[];
  gate: {
    name: string;
    steps: { schedule: string; firing: string; fencing_token: number; verdict: string; then?: "finish" | "forget" }[];
  }[];
}

/** From the folder of the examples, over its name in the environment when this one was built elsewhere. */
const examples = process.env["EXAMPLES"] ?? new URL("../../..", import.meta.url).pathname;

export const vectors = JSON.parse(readFileSync(`${examples}/vectors.json`, "utf8")) as Vectors;
