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

export const vectors = JSON.parse(
  readFileSync(new URL("../../../vectors.json", import.meta.url), "utf8"),
) as Vectors;
