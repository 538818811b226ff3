import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

/** The version of this Weir, as its package.json has it. */
export function readVersion(): string {
  const file = path.join(import.meta.dirname, "..", "..", "package.json");
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, "utf8"))).version;
}
