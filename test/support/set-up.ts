import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "..", "..");

/** `scripts/setup.mjs` made node_modules as the lockfile has it: then it finds nothing to install in a copy. */
async function isSetUp(): Promise<boolean> {
  const stamp = await readFile(path.join(ROOT, "node_modules", ".weir-setup"), "utf8").catch(() => "");
  const lock = await readFile(path.join(ROOT, "package-lock.json"));
  const wanted = createHash("sha256").update(lock).update(`\n${process.platform} ${process.arch}`);
  return stamp.trim() === `${wanted.digest("hex")} full`;
}

/** For a test that runs the setup in a copy of the clone: why it cannot; false: it can. */
export const skipUnlessSetUp: string | false = (await isSetUp())
  ? false
  : "node_modules was not made by `npm test` or `npm start`";
