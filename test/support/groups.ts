import path from "node:path";
import { pathToFileURL } from "node:url";

/** Test files that run one after another in a process; paths from the root of the checkout. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

/** A larger group saves little more, and would prolong the wait for the last one. */
const MOST_FILES = 12;
/** Files that mostly wait for processes which they start: in parallel they finish sooner. */
const APART = "e2e";
/**
 * Folders with the slowest groups, which start first so that none is left at the end. The first one mostly waits for a
 * broker, which goes well with busy ones.
 */
const FIRST = ["cluster", APART, "zoo", "chaos", "bad-input", "support", "soak", "integration"];

/**
 * Divides test files among processes. Files of a folder below `test/` share some, which saves each a start, loading the
 * code, and its first, slow calls.
 * @returns each file once, in starting order; group names are unique
 */
export function groupsOf(files: readonly string[]): Group[] {
  return [...Map.groupBy(files, folderOf)]
    .toSorted(([one], [other]) => rankOf(one) - rankOf(other))
    .flatMap(([folder, members]) => divided(folder, members, folder === APART ? 1 : MOST_FILES));
}

function rankOf(folder: string): number {
  const rank = FIRST.indexOf(folder);
  return rank < 0 ? FIRST.length : rank;
}

/** `test/a/b/c.test.ts` belongs to `a`, and `test/c.test.ts` to `test`. */
function folderOf(file: string): string {
  const [root = "", folder] = path.posix.dirname(file).split("/");
  return folder ?? root;
}

/** As evenly as possible. */
function divided(folder: string, files: readonly string[], most: number): Group[] {
  const count = Math.ceil(files.length / most);
  return Array.from({ length: count }, (_, index) => ({
    name: `${folder}-${index + 1}`,
    files: files.slice((index * files.length) / count, ((index + 1) * files.length) / count),
  }));
}

/** Time for a process to end by itself after its tests, ms. */
const LEFT_OPEN_MS = 30_000;

const FOLLOW = pathToFileURL(path.join(import.meta.dirname, "follow-tests.ts")).href;

/** The text of a module that runs the files: each is a test of that name, containing the file's own. */
export function entryOf({ files }: Group, root: string, timeoutMs: number): string {
  const pairs = files.map((file) => [file, pathToFileURL(path.join(root, file)).href]);
  return `await import(${JSON.stringify(FOLLOW)});
const { test } = await import("node:test");
// What a test waits for may be a timer that keeps no process alive.
const alive = setInterval(() => {}, 60_000);
for (const [name, url] of ${JSON.stringify(pairs)})
  await test(name, { timeout: ${timeoutMs} }, async () => {
    await import(url);
  });
clearInterval(alive);
// Fires only where something keeps the process: what a test that failed has left open is told, and not waited for.
setTimeout(() => {
  console.error("left open by a test of this group:", process.getActiveResourcesInfo().join(", "));
  process.exit(1);
}, ${LEFT_OPEN_MS}).unref();
`;
}
