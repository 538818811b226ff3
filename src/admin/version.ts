import { readFileSync } from "node:fs";
import path from "node:path";

/** The version of this Weir, as its package.json has it. Without zod: it would be half of what `weir --help` reads. */
export function readVersion(): string {
  const file = path.join(import.meta.dirname, "..", "..", "package.json");
  const manifest: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest)
    return String(manifest.version);
  throw new Error(`${file} names no version.`);
}
