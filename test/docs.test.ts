import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..");
const PAGES = [...globSync("*.md", { cwd: ROOT }), ...globSync("docs/*.md", { cwd: ROOT })];
const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;
/** A file of the project in backticks: `core/history.ts`, `test/layers.test.ts`. */
const FILE = /`([\w./*-]+\.(?:ts|mjs|sql|j2|cjs))`/g;

/** As GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

test("each link of the documentation leads somewhere", () => {
  const dead = PAGES.flatMap((page) =>
    [...read(page).matchAll(LINK)].flatMap(([link, path = "", anchor]) => {
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, target))) return [`${page}: ${link}`];
      const isThere = anchor === undefined || anchorsOf(read(target)).includes(anchor);
      return isThere ? [] : [`${page}: ${link}`];
    }),
  );
  assert.deepEqual(dead, []);
});

test("each file that the documentation names is there", () => {
  const files = globSync("{src,test,bench,scripts,migrations,prompts}/**/*", { cwd: ROOT }).map(
    (file) => `/${file.replaceAll("\\", "/")}`,
  );
  const isThere = (name: string): boolean =>
    existsSync(join(ROOT, name)) ||
    files.some((file) => file.endsWith(`/${name}`)) ||
    // A pattern, or a name to be chosen.
    /[*]|NAME|NNNN|a\/b/.test(name);
  const unknown = PAGES.flatMap((page) =>
    [...read(page).matchAll(FILE)].flatMap(([, name = ""]) => (isThere(name) ? [] : [`${page}: ${name}`])),
  );
  assert.deepEqual(unknown, []);
});

/** What a diff of a page says of one file. */
interface Change {
  readonly file: string;
  readonly isNew: boolean;
  readonly added: string[];
  readonly removed: string[];
}

/** Up to the name of what is exported. */
const EXPORT = /^export (?:const|(?:async )?function) \w+/;

/** A file begins with its path in a comment: `// src/a.ts`, `{# prompts/a.j2`; behind a `+` it is new. */
function changesIn(page: string): Change[] {
  const changes: Change[] = [];
  for (const [, diff = ""] of page.matchAll(/^```diff\n(.*?)^```$/gms))
    for (const line of diff.split("\n")) {
      const [, sign = "", text = ""] = /^([+-]?)\s*(.*)$/.exec(line) ?? [];
      const file = /^(?:\/\/|\{#) ([\w./-]+\/[\w.-]+\.\w+)/.exec(text)?.[1];
      if (file !== undefined) changes.push({ file, isNew: sign === "+", added: [], removed: [] });
      else if (sign !== "" && text !== "") changes.at(-1)?.[sign === "+" ? "added" : "removed"].push(text);
    }
  return changes;
}

/** What is not so, a line each. */
function untrueOf({ file, isNew, added, removed }: Change): string[] {
  if (!existsSync(join(ROOT, file))) return [`${file}: is not there`];
  const source = read(file);
  const lines = new Set(source.split("\n").map((line) => line.trim()));
  // A new file is shown in part: what it exports is there.
  const missing = isNew
    ? added.flatMap((line) => EXPORT.exec(line)?.[0] ?? []).filter((line) => !source.includes(line))
    : added.filter((line) => !lines.has(line));
  return [...missing, ...removed.filter((line) => lines.has(line))].map((line) => `${file}: ${line}`);
}

test("the diffs of the page for whoever adds something are true", () => {
  const changes = changesIn(read("docs/extend.md"));
  const untrue = changes.flatMap(untrueOf);
  assert.deepEqual(untrue, []);
  assert.deepEqual(
    changes.filter(({ isNew }) => !isNew).map(({ file }) => file),
    [
      "src/config/tool-names.ts",
      "src/tools/tools.ts",
      "src/admin/commands/commands.ts",
      "src/platforms/platforms.ts",
      "test/platforms/contract.test.ts",
    ],
  );
});

test("README and ARCHITECTURE are read in minutes", () => {
  const words = (page: string): number => read(page).split(/\s+/).length;
  assert.ok(words("README.md") <= 1500, "README.md");
  assert.ok(words("ARCHITECTURE.md") <= 1800, "ARCHITECTURE.md");
  assert.ok(words("README.md") + words("ARCHITECTURE.md") <= 3400, "README.md and ARCHITECTURE.md");
});
