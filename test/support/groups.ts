import path from "node:path";
import { pathToFileURL } from "node:url";

/** Test files that run one after the other in a process; paths from the root of the checkout. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

/** More of them save little more, and who waits for the last group would wait longer. */
const MOST_FILES = 12;
/** Most of what its files take is the work of processes that they start: side by side they are over sooner. */
const APART = "e2e";

/**
 * Divides test files among processes. The files of a folder below `test/` share some, which spares each of them a start, reading
 * the code, and its first, slow calls. Those that take longest come first.
 * @returns each file once; no two groups of one name
 */
export function groupsOf(files: readonly string[]): Group[] {
  const { apart = [], shared = [] } = Object.groupBy(files, (file) =>
    folderOf(file) === APART ? "apart" : "shared",
  );
  return [
    ...divided(APART, apart, 1),
    ...[...Map.groupBy(shared, folderOf)].flatMap(([folder, members]) =>
      divided(folder, members, MOST_FILES),
    ),
  ];
}

/** `test/a/b/c.test.ts` is of `a`, and `test/c.test.ts` of `test`. */
function folderOf(file: string): string {
  const [root = "", folder] = path.posix.dirname(file).split("/");
  return folder ?? root;
}

/** As evenly as it can be. */
function divided(folder: string, files: readonly string[], most: number): Group[] {
  const count = Math.ceil(files.length / most);
  return Array.from({ length: count }, (_, index) => ({
    name: `${folder}-${index + 1}`,
    files: files.slice((index * files.length) / count, ((index + 1) * files.length) / count),
  }));
}

const FOLLOW = pathToFileURL(path.join(import.meta.dirname, "follow-tests.ts")).href;

/** The text of a module that runs the files: each is a test of that name, with those of the file in it. */
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
`;
}
