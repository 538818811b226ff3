import path from "node:path";
import { pathToFileURL } from "node:url";

/** Test files that run one after another in a process; paths from the root of the checkout. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

/** A start, reading the code, and its first, slow calls cost a process a second. With more of them the last group would end later. */
const MOST_FILES = 24;
/** Most of what its files take is the work of processes that they start, which goes on side by side. */
const E2E = "e2e";
const MOST_E2E_FILES = 3;
/**
 * Folders whose groups take longest, so that none of them runs when all others are over. The first one's mostly waits for a broker, and
 * does so beside what is busy.
 */
const FIRST = ["ownership", "fuzz", E2E, "zoo", "chaos", "bad-input", "support", "soak", "integration"];
/** All other folders share processes. */
const OTHERS = "others";

/**
 * Divides test files among processes.
 * @returns each file once, in the order in which they are to begin; no two groups of one name
 */
export function groupsOf(files: readonly string[]): Group[] {
  return [...Map.groupBy(files, roomOf)]
    .toSorted(([one], [other]) => rankOf(one) - rankOf(other))
    .flatMap(([room, members]) => divided(room, members, room === E2E ? MOST_E2E_FILES : MOST_FILES));
}

function rankOf(room: string): number {
  return room === OTHERS ? FIRST.length : FIRST.indexOf(room);
}

/** `test/a/b/c.test.ts` is of `a`. */
function roomOf(file: string): string {
  const [, folder = ""] = path.posix.dirname(file).split("/");
  return FIRST.includes(folder) ? folder : OTHERS;
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
