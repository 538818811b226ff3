/** `npm run test:all`: runs all test files, or those that match the given patterns, in the processes of `groups.ts`. */
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { pipeline } from "node:stream/promises";
import { run, type RunOptions } from "node:test";
import { spec } from "node:test/reporters";
import { entryOf, groupsOf } from "./groups.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
/** A group leaves its processor idle while it waits for its database, its model server or a deadline. */
const GROUPS_PER_PROCESSOR = 2;
/** More than a group takes with its daemons and their databases. */
const GROUP_BYTES = 1_000_000_000;
const AT_ONCE = Math.max(
  2,
  Math.min(
    GROUPS_PER_PROCESSOR * availableParallelism(),
    Math.floor(process.availableMemory() / GROUP_BYTES),
  ),
);
const FILE_TIMEOUT_MS = 600_000;
const GROUP_TIMEOUT_MS = 3 * FILE_TIMEOUT_MS;

const given = process.argv.slice(2);
const patterns = given.length === 0 ? ["test/**/*.test.ts"] : given;
const files = globSync(patterns, { cwd: ROOT }).map((file) => file.replaceAll(path.sep, "/"));
if (files.length === 0) throw new Error(`No test file matches ${patterns.join(" ")}`);

const folder = mkdtempSync(path.join(tmpdir(), "weir-groups-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Ends the tests' processes as well; a second signal ends only this one.
const stopped = new AbortController();
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => {
    process.exitCode = code;
    stopped.abort();
  });
}

const entries = groupsOf(files.toSorted()).map((group) => {
  const entry = path.join(folder, `${group.name}.mjs`);
  writeFileSync(entry, entryOf(group, ROOT, FILE_TIMEOUT_MS));
  return entry;
});
/** Node's types lack the path. */
const options: RunOptions & { globalSetupPath: string } = {
  cwd: ROOT,
  files: entries,
  concurrency: AT_ONCE,
  timeout: GROUP_TIMEOUT_MS,
  signal: stopped.signal,
  globalSetupPath: path.join(import.meta.dirname, "global-setup.ts"),
};
const results = run(options);
results.on("test:summary", ({ success }) => {
  if (!success) process.exitCode ??= 1;
});
await pipeline(results, new spec(), process.stdout);
